package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestStampFollowsWhatMatters(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum", "cmd/controlplane/main.go", "internal/x/x.go",
		"internal/x/x_test.go"} {
		write(t, dir, name, "one")
	}
	p := program{name: "controlplane", sources: []string{"cmd/controlplane"}}
	stamp := func(version string) string {
		s, err := stampOf(dir, p, version)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := stamp("go1")
	for _, name := range []string{"internal/x/x.go", "cmd/controlplane/main_test.go"} {
		write(t, dir, name, "two")
		if stamp("go1") != before {
			t.Errorf("%s is not part of the program", name)
		}
	}
	if stamp("go2") == before {
		t.Error("another compiler makes another program")
	}
	for _, name := range []string{"go.mod", "go.sum", "cmd/controlplane/main.go"} {
		write(t, dir, name, "two")
		if stamp("go1") == before {
			t.Errorf("%s is part of the program", name)
		}
		write(t, dir, name, "one")
	}
}

// TestAProgramOfAnotherModuleFollowsThatModule: a change of the devstack's own modules does not compile it again.
func TestAProgramOfAnotherModuleFollowsThatModule(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum", "other/go.mod", "other/go.sum"} {
		write(t, dir, name, "one")
	}
	stamp := func() string {
		s, err := stampOf(dir, program{name: "other", module: "other"}, "go1")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := stamp()
	write(t, dir, "go.sum", "two")
	if stamp() != before {
		t.Error("the devstack's modules are no part of it")
	}
	write(t, dir, "other/go.sum", "two")
	if stamp() == before {
		t.Error("its own modules are")
	}
}

func TestFindSource(t *testing.T) {
	root := t.TempDir()
	write(t, root, "e2e/devstack/go.mod", module+"\n\ngo 1.26\n")
	want := filepath.Join(root, "e2e", "devstack")
	for _, from := range []string{".", "e2e", "e2e/devstack", "e2e/devstack/internal"} {
		dir := filepath.Join(root, from)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Chdir(dir)
		if got, err := findSource(""); err != nil || got != want {
			t.Errorf("from %s: want %s, got %s, %v", from, want, got, err)
		}
	}
	if _, err := findSource(root); err == nil {
		t.Error("want a folder refused that is not the module")
	}
}

func TestOneProgramOrAll(t *testing.T) {
	for _, p := range programs() {
		if got, err := chosen(p.name); err != nil || len(got) != 1 || got[0].name != p.name {
			t.Errorf("%s: got %v, %v", p.name, got, err)
		}
	}
	if all, err := chosen(""); err != nil || len(all) != len(programs()) {
		t.Errorf("want all, got %d, %v", len(all), err)
	}
	if _, err := chosen("minikube"); err == nil {
		t.Error("want an unknown name refused")
	}
}

func TestCheckFreeNamesBothNumbers(t *testing.T) {
	if err := checkFree(1, t.TempDir()); err != nil {
		t.Errorf("want a byte to be free, got %v", err)
	}
	err := checkFree(1<<60, t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "needs 1073741824.0 GB") || !strings.Contains(err.Error(), "GB free") {
		t.Errorf("want to be told what is needed and what is there, got %v", err)
	}
}

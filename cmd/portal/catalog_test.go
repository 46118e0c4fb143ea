package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// run gives what the command prints, and its error.
func run(args ...string) (string, error) {
	cmd, out := root(), &bytes.Buffer{}
	cmd.SetOut(out)
	cmd.SetArgs(args)
	err := cmd.Execute()
	return out.String(), err
}

func TestExamplesHaveNoProblems(t *testing.T) {
	for _, flags := range [][]string{nil, {"--all"}} {
		example, err := run(append([]string{"catalog", "example"}, flags...)...)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "catalog.yaml")
		if err := os.WriteFile(file, []byte(example), 0o600); err != nil {
			t.Fatal(err)
		}
		said, err := run("catalog", "check", file)
		if err != nil || !strings.HasPrefix(said, "No problems: ") {
			t.Errorf("example %v: got %q, %v", flags, said, err)
		}
	}
}

func TestCatalogCheckListsEveryProblem(t *testing.T) {
	file := filepath.Join(t.TempDir(), "catalog.yaml")
	example, _ := run("catalog", "example")
	wrong := strings.NewReplacer("title: CPU only", "titel: CPU only", "port: 8000", "port: 0").Replace(example)
	if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := run("catalog", "check", file)
	if err == nil {
		t.Fatal("no problem was found")
	}
	for _, want := range []string{file + ": line 10: sizes[0].titel: unknown name", "images[3].port", "images[4].port"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in:\n%v", want, err)
		}
	}
	if _, err := run("catalog", "check", filepath.Join(t.TempDir(), "nothing.yaml")); err == nil {
		t.Error("a file that is not there is a problem")
	}
}

package chromium

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

func TestFind(t *testing.T) {
	cases := map[string]struct {
		there []string
		want  string
	}{
		"both":    {[]string{"chromium", "chromium-headless-shell"}, "chromium-headless-shell"},
		"desktop": {[]string{"chromium"}, "chromium"},
		"neither": {nil, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("PATH", dir)
			for _, program := range c.there {
				if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			got, err := Find()
			if c.want == "" {
				if err == nil {
					t.Errorf("want an error, got %q", got)
				}
				return
			}
			if want := filepath.Join(dir, c.want); err != nil || got != want {
				t.Errorf("want %q, got %q, %v", want, got, err)
			}
		})
	}
}

// TestABrowserEndsWithItsScript: what a script has started ends with the context too.
func TestABrowserEndsWithItsScript(t *testing.T) {
	dir := t.TempDir()
	program, started := filepath.Join(dir, "browser"), filepath.Join(dir, "started")
	script := "#!/bin/sh\nsleep 600 &\necho $! > " + started + "\nwait\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	run := Command(ctx, program)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	child := 0
	waittest.For(t, "the script has started something", func() bool {
		text, err := os.ReadFile(started)
		if err != nil {
			return false
		}
		child, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	cancel()
	_ = run.Wait()
	waittest.For(t, "what it started has ended", func() bool {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		return err != nil || strings.Contains(string(state), ") Z ") // nobody may be there who takes note of its end
	})
}

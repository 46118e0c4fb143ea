package chromium

import (
	"os"
	"path/filepath"
	"testing"
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

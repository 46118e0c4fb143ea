package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestALogoIsReadAtTheStart: one that is not there, or runs something, is a problem of the configuration.
func TestALogoIsReadAtTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	logo := filepath.Join(dir, "logo.svg")
	for content, want := range map[string]string{"": "branding.logo: ",
		`<svg><script/></svg>`: "logo.svg has the element <script>", `<svg/>`: ""} {
		_ = os.Remove(logo)
		if content != "" {
			if err := os.WriteFile(logo, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		problems := Branding{Logo: logo, Color: "#7a0019"}.problems()
		if want == "" && len(problems) > 0 || want != "" && (len(problems) != 1 ||
			!strings.Contains(problems[0].Error(), want)) {
			t.Errorf("%q: want %q, got %v", content, want, problems)
		}
	}
}

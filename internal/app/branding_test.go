package app

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/config"
)

// TestASitesOwnLook: its logo and color are on the page of the sign-in and on error pages, and come from the portal
// itself.
func TestASitesOwnLook(t *testing.T) {
	logo := filepath.Join(t.TempDir(), "logo.svg")
	if err := os.WriteFile(logo, []byte(`<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h8v8z"/></svg>`),
		0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *config.Config) { c.Branding = config.Branding{Logo: logo, Color: "#7a0019"} })
	for _, path := range []string{"/signin", "/nowhere"} {
		page := w.browser().get(path).page(t)
		src := page.Find("img.gp-logo").AttrOr("src", "")
		sheet := page.Find("link[rel=stylesheet]").Last().AttrOr("href", "")
		if !strings.HasPrefix(src, "/branding/logo-") || !strings.HasPrefix(sheet, "/branding/style-") {
			t.Fatalf("%s: want logo and sheet, got %q and %q", path, src, sheet)
		}
		for address, kind := range map[string]string{src: "image/svg+xml", sheet: "text/css; charset=utf-8"} {
			answer := w.browser().get(address)
			if h := answer.header; answer.status != http.StatusOK || h.Get("Content-Type") != kind ||
				h.Get("X-Content-Type-Options") != "nosniff" ||
				!strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
				t.Errorf("%s: got %d %v", address, answer.status, h)
			}
		}
	}
}

package news

import (
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Every release is newer than the one after it, and every entry is there in each language of the portal.
func TestNewsAreCompleteAndInOrder(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for n, r := range All() {
		if r.Version == "" || seen[r.Version] || r.Date.IsZero() || len(r.Entries) == 0 {
			t.Errorf("release %d: want a version of its own, a date and entries, got %q", n, r.Version)
		}
		seen[r.Version] = true
		if n > 0 && !All()[n-1].Date.After(r.Date) {
			t.Errorf("%s: want it before %s", r.Version, All()[n-1].Version)
		}
		for _, e := range r.Entries {
			if !strings.HasPrefix(e.Href, "/") {
				t.Errorf("%s: want a page, got %q", r.Version, e.Href)
			}
			for _, lang := range i18n.Languages {
				if text := e.Texts[lang.String()]; text.Title == "" || len([]rune(text.Title)) > 60 || text.Words == "" {
					t.Errorf("%s %s: want a short title and words in %s", r.Version, e.Href, lang)
				}
			}
		}
	}
	if !Unread(nil) || Unread([]string{"tour", Mark()}) {
		t.Error("want the newest unread until it is acknowledged")
	}
}

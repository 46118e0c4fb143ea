package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestAMemberWithTwoRolesIsOneRow: both roles are named there, each with what gives it.
func TestAMemberWithTwoRolesIsOneRow(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	groups := w.Site.Directory.Tenants[0].Groups
	groups[identity.Developer] = append(groups[identity.Developer], "vision-lead")
	doc := read(t, w.Get(webtest.Dora, "/team/vision"), http.StatusOK)
	seen := 0
	part(doc, "member").Each(func(_ int, s *goquery.Selection) {
		if text := textOf(s); strings.Contains(text, "Ben Brandt") {
			seen++
			for _, want := range []string{"developer: group", "team owner: group", "vision-lead"} {
				if !strings.Contains(text, want) {
					t.Errorf("want %q, got %q", want, text)
				}
			}
		}
	})
	if seen != 1 {
		t.Errorf("want Ben in one row, got %d", seen)
	}
}

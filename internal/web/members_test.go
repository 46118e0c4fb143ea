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

// TestWhatMembersDo: how many workloads of the team each member runs is for all of the team to see; when somebody was
// here is for those who manage it.
func TestWhatMembersDo(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	row := func(who identity.Person) string {
		doc := read(t, w.Get(who, "/team/vision"), http.StatusOK)
		return textOf(part(doc, "member").FilterFunction(func(_ int, s *goquery.Selection) bool {
			return strings.Contains(textOf(s), "Anna Albers")
		}))
	}
	if got := row(webtest.Ben); !strings.Contains(got, "2") || !strings.Contains(got, "3 h ago") {
		t.Errorf("want two running workloads and when she was seen, got %q", got)
	}
	if got := row(webtest.Anna); !strings.Contains(got, "2") || strings.Contains(got, "ago") {
		t.Errorf("want no colleague to see when she was here, got %q", got)
	}
}

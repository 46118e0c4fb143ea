package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestTheGroupsOfATeamAreInTheList: the first two, developers' first, and how many more; a dash where there is neither
// a group nor a quota.
func TestTheGroupsOfATeamAreInTheList(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for name, groups := range map[string]map[identity.Role][]string{"big": {identity.Owner: {"big-lead", "big-dev"},
		identity.Developer: {"big-dev", "big-guests", "big-students"}}, "bare": {}} {
		if _, err := w.Tenants.Save(context.Background(), w.Actor(webtest.Dora), tenant.Draft{New: true, Name: name,
			Title: name, Groups: groups, Note: "for the test"}); err != nil {
			t.Fatal(err)
		}
	}
	rows := part(read(t, w.Get(webtest.Dora, "/admin/tenants"), http.StatusOK), "tenant")
	for name, want := range map[string]string{"big": "big-dev, big-guests +2", "bare": "–",
		"Vision": "vision-dev, vision-lead"} {
		row := rows.FilterFunction(func(_ int, s *goquery.Selection) bool { return textOf(s.Find("th a")) == name })
		got := strings.Join(strings.Fields(row.Find("td").Eq(1).Text()), " ")
		if got != want {
			t.Errorf("%s: want the groups %q, got %q", name, want, got)
		}
	}
}

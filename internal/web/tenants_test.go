package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/budget"
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

// TestPeopleWithoutARole are those whom somebody has to let in, counted by themselves.
func TestPeopleWithoutARole(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Dora, "/admin/people?role=none"), http.StatusOK)
	wantText(t, doc, "person", webtest.Nemo.Name)
	if rows, without := part(doc, "person").Length(), part(doc, "no-role").Length(); rows != without || rows == 0 {
		t.Errorf("want only people without a role, got %d of %d", without, rows)
	}
	wantText(t, read(t, w.Get(webtest.Dora, "/admin/people"), http.StatusOK), "without-role", "Without a role 1")
	if doc.Find(`.gp-filter a[href="/admin/people"]`).Length() != 1 {
		t.Error("want the way to all of them")
	}
	wantAbsent(t, read(t, w.Get(webtest.Dora, "/admin/people?role=none&q=anna"), http.StatusOK), "person")
}

// TestPeopleWithoutARoleComeFirst, then who was here last; somebody disabled waits for nothing.
func TestPeopleWithoutARoleComeFirst(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.ManyPeople()
	gone := webtest.Nemo
	gone.ID, gone.Subject, gone.Name, gone.Email = "gone", "gone", "Gone Gast", "gone@example.org"
	gone.SeenAt = gone.SeenAt.Add(-1000 * time.Hour)
	if err := w.SavePerson(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	wantRedirect(t, w.Post(webtest.Dora, "/admin/people/gone/disable", url.Values{"note": {"left"}}))
	names := func(query string) []string {
		return part(read(t, w.Get(webtest.Dora, "/admin/people"+query), http.StatusOK), "person").Map(
			func(_ int, s *goquery.Selection) string { return textOf(s.Find("th a").First()) })
	}
	if got := textOf(part(read(t, w.Get(webtest.Dora, "/admin/people"), http.StatusOK), "without-role")); got !=
		"Without a role" {
		t.Errorf("want no number of what was not counted, got %q", got)
	}
	if got := names(""); !slices.Equal(got[:3], []string{webtest.Nemo.Name, "guest-00", "guest-43"}) {
		t.Errorf("want who has no role, then the last ones here, got %q", got[:3])
	}
	if got := names("?p=3"); len(got) == 0 || got[len(got)-1] != gone.Name {
		t.Errorf("want who was disabled among all others, got %q", got)
	}
	if got := names("?sort=name"); got[0] != webtest.Anna.Name {
		t.Errorf("want them by name, got %q", got[0])
	}
}

// TestOnlyWhoWasHereLatelyIsLookedAtForARole: of fifty; everybody would be too many to read for one page.
func TestOnlyWhoWasHereLatelyIsLookedAtForARole(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for i := range 100 {
		p := webtest.Anna
		p.ID, p.Subject = identity.PersonID(fmt.Sprintf("p-%03d", i)), fmt.Sprintf("s-%03d", i)
		p.Name, p.Email, p.SeenAt = p.Subject, p.Subject+"@example.org", webtest.Now
		if err := w.SavePerson(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	doc := read(t, w.Get(webtest.Dora, "/admin/people"), http.StatusOK)
	if first := textOf(part(doc, "person").First()); strings.Contains(first, webtest.Nemo.Name) {
		t.Errorf("want somebody seen now, got %q", first)
	}
	last := read(t, w.Get(webtest.Dora, "/admin/people?p=5"), http.StatusOK)
	wantText(t, last, "person", webtest.Nemo.Name)
	wantText(t, read(t, w.Get(webtest.Dora, "/admin/people?role=none"), http.StatusOK), "person", webtest.Nemo.Name)
}

// TestHowATeamIsDoingStandsAboveItsForm: who is in it, what runs, and its budget, each with the way there.
func TestHowATeamIsDoingStandsAboveItsForm(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Dora, "/admin/tenants/edit?name=vision"), http.StatusOK)
	wantText(t, doc, "members", "2")
	wantText(t, doc, "running", "3", "1 queued · 1 failed")
	wantText(t, doc, "budget", "Budget", "No limit")
	for test, want := range map[string]string{"members": "/team/vision", "budget": "/admin/budgets/vision"} {
		if got := part(doc, test).Find("a").AttrOr("href", ""); got != want {
			t.Errorf("%s leads to %q", test, got)
		}
	}
	draft := budget.Draft{Unit: "EUR", Amount: 500_00, AtLimit: budget.Approval}
	if _, err := w.BudgetService.Set(context.Background(), w.Actor(webtest.Dora), "vision", draft); err != nil {
		t.Fatal(err)
	}
	doc = read(t, w.Get(webtest.Dora, "/admin/tenants/edit?name=vision"), http.StatusOK)
	wantText(t, doc, "budget", "November 2026", "of €500.00 spent or committed")
	wantAbsent(t, read(t, w.Get(webtest.Dora, "/admin/tenants/edit"), http.StatusOK), "standing") // a new one
}

package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

func TestStorage(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/storage"), http.StatusOK)
	if n := part(doc, "volume-row").Length(); n != 3 {
		t.Errorf("want three, got %d", n)
	}
	used := doc.Find("#volume-train-resnet-home")
	if got := textOf(In(used, "volume-user")); got != "train-resnet" || In(used, "volume-delete").Length() != 0 {
		t.Errorf("what is in use says by whom and cannot be deleted, got %q", got)
	}
	wantText(t, read(t, w.Get(webtest.Anna, "/storage/datasets-kept/delete"), http.StatusOK), "ask",
		"200 GiB of Anna Albers, permanently")
	if got := w.Post(webtest.Anna, "/storage/train-resnet-home/delete", nil).Code; got != http.StatusConflict {
		t.Errorf("storage in use: want 409, got %d", got)
	}
	if to := wantRedirect(t, w.Post(webtest.Anna, "/storage/datasets-kept/delete", nil)); to != "/storage" ||
		!w.Volume("datasets-kept").Deleted {
		t.Error("kept storage can be deleted")
	}
}

func TestFleetNamesHoldersToTheirOwn(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	titles := func(html string) string { return html }
	anna, dora := titles(w.Get(webtest.Anna, "/fleet").Body.String()), titles(w.Get(webtest.Dora, "/fleet").Body.String())
	for _, c := range []struct {
		who, page, holder string
		want              bool
	}{
		{"Anna", anna, "train-resnet, Anna Albers, until", true}, {"Anna", anna, "render-farm, Ben Brandt", true},
		{"Anna", anna, "asr-train", false}, {"Anna", anna, "Olaf", false}, {"Anna", anna, "job-7", false},
		{"Anna", anna, "allocated to another team", true}, {"Dora", dora, "asr-train, Olaf Oster", true},
		{"Dora", dora, "allocated to batch/job-7", true},
	} {
		if strings.Contains(c.page, c.holder) != c.want {
			t.Errorf("%s: want %q on the page to be %v", c.who, c.holder, c.want)
		}
	}
	doc := read(t, w.Get(webtest.Anna, "/fleet"), http.StatusOK)
	bars := part(doc, "fleet-bar")
	if bars.Length() != 5 {
		t.Errorf("one bar for each resource of each model: want 5, got %d", bars.Length())
	}
	for _, words := range []string{"MIG slice 10 GB", "1g.10gb", "MIG slice 40 GB"} { // catalog titles, and a profile
		if !strings.Contains(textOf(bars), words) {
			t.Errorf("want %q, got %q", words, textOf(bars))
		}
	}
	few := webtest.Busy(t)
	few.Site.Catalog.Sizes = slices.Clone(few.Site.Catalog.Sizes)
	for i := range few.Site.Catalog.Sizes {
		few.Site.Catalog.Sizes[i].Tenants = []string{"speech"}
	}
	told := textOf(part(read(t, few.Get(webtest.Anna, "/fleet"), http.StatusOK), "fleet-bar"))
	if strings.Contains(told, "MIG slice 10 GB") || !strings.Contains(told, "1g.10gb") {
		t.Errorf("want no title of a size of other teams, got %q", told)
	}
	if got := textOf(doc.Find("#node-gpu-06")); !strings.Contains(got, "cordoned") ||
		!strings.Contains(got, "0 of 4 available") ||
		!strings.Contains(got, "is unhealthy") {
		t.Errorf("a cordoned node has nothing free and says why, got %q", got)
	}
	reasons := doc.Find("#node-gpu-06 [data-test=warning]")
	if folded := reasons.ParentsFiltered("details").Find("[data-test=warning]"); reasons.Length() != 2 ||
		folded.Length() != 1 {
		t.Errorf("want one reason in view and one folded, got %d and %d", reasons.Length(), folded.Length())
	}
	if closed := part(doc, "cell-blocked").Length(); closed != 3 || part(doc, "cell-broken").Length() != 1 {
		t.Errorf("want three cards of the cordoned node closed and the ill one broken, got %d and %d", closed,
			part(doc, "cell-broken").Length())
	}
	if n := doc.Find("#node-gpu-01").Find(`[data-test="cell-used"]`).Length(); n != 2 {
		t.Errorf("want two cells held, got %d", n)
	}
	var cards []string
	doc.Find("#node-gpu-01").Find(`[data-test="physical-card"]`).Each(func(_ int, s *goquery.Selection) {
		cards = append(cards, strings.Join(s.ChildrenFiltered("span").Map(func(_ int, s *goquery.Selection) string {
			return s.Text()
		}), " | "))
	})
	want := []string{"Card 1: NVIDIA H100 80GB HBM3 | 1g.10gb at 0, unused at 1–3, 3g.40gb at 4–7 | Room for: 1g.10gb " +
		"(1, 2, 3), 2g.20gb (2)",
		"Card 2: NVIDIA H100 80GB HBM3 | MIG is enabled without any slice. | Nothing more fits.",
		"Card 3: model unknown | Does not respond: fell off the bus or needs a reset."}
	if diff := cmp.Diff(want, cards); diff != "" {
		t.Errorf("the layout in words (-want +got):\n%s", diff)
	}
	if got := textOf(doc.Find("#node-gpu-03").Find(`[data-test="physical-card"]`)); !strings.Contains(got,
		"layout unknown") {
		t.Errorf("want a card that is not cut to say so, got %q", got)
	}
	if n := doc.Find("#node-gpu-02").Find(`[data-test="layout"]`).Length(); n != 0 {
		t.Error("want no layout where no agent tells")
	}
}

func TestLicenses(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/licenses"), http.StatusOK)
	wantText(t, doc, "seats", "3 of 4 available", "1 in use")
	wantAbsent(t, doc, "seat")
	wantText(t, read(t, w.Get(webtest.Dora, "/licenses"), http.StatusOK), "seat", "Vision", "render-farm", "Ben Brandt")
}

func TestTeam(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Ben, "/team"), http.StatusOK)
	if got := textOf(part(doc, "role").First()); !strings.Contains(got, "Team owner") || !strings.Contains(got, "you") ||
		!strings.Contains(got, "vision-lead") {
		t.Errorf("want the owners' group, and that Ben is one, got %q", got)
	}
	if n := part(doc, "team").Length(); n != 1 {
		t.Errorf("want one team, got %d", n)
	}
	if n := part(read(t, w.Get(webtest.Eli, "/team"), http.StatusOK), "team").Length(); n != 2 {
		t.Errorf("an auditor sees both, got %d", n)
	}
}

func TestATokenIsShownOnce(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Post(webtest.Anna, "/account/tokens", url.Values{"name": {"evening batch"}, "lasts": {"30d"}}),
		http.StatusOK)
	secret := textOf(part(doc, "token-secret").Find("code"))
	credential, ok := identity.ParseCredential(strings.TrimPrefix(secret, identity.TokenPrefix))
	if !ok || !strings.HasPrefix(secret, identity.TokenPrefix) {
		t.Fatalf("want a token, got %q", secret)
	}
	tokens := func() []identity.Token {
		list, err := w.TokensOf(t.Context(), webtest.Anna.ID)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	made := tokens()[0] // the newest
	if !credential.Matches(made.SecretHash) || made.Person != webtest.Anna.ID ||
		made.ExpiresAt.Sub(made.CreatedAt).Hours() != 720 {
		t.Errorf("the hash of it is kept for Anna for 30 days, got %+v", made)
	}
	if strings.Contains(w.Get(webtest.Anna, "/account").Body.String(), credential.Secret) {
		t.Error("the secret is shown a second time")
	}
	for name, bad := range map[string]url.Values{"no name": {"lasts": {"30d"}},
		"for ever": {"name": {"x"}, "lasts": {"9999d"}}, "no time": {"name": {"x"}, "lasts": {"soon"}},
		"too long a name": {"name": {strings.Repeat("x", 61)}, "lasts": {"7d"}}} {
		t.Run(name, func(t *testing.T) {
			doc := read(t, w.Post(webtest.Anna, "/account/tokens", bad), http.StatusUnprocessableEntity)
			wantAbsent(t, doc, "token-secret")
		})
	}
	if got := w.Post(webtest.Ben, "/account/tokens/"+made.ID+"/revoke", nil).Code; got != http.StatusNotFound {
		t.Errorf("another's token does not exist: want 404, got %d", got)
	}
	wantRedirect(t, w.Post(webtest.Anna, "/account/tokens/"+made.ID+"/revoke", nil))
	if len(tokens()) != 1 {
		t.Error("it was revoked")
	}
}

func TestALargeFleetShowsTroubleFirstAndFindsTheRest(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	s := w.Inventory("local")
	for i := range 250 {
		n := s.Nodes[0]
		n.Name, n.Warnings, n.Ready, n.Cordoned = fmt.Sprintf("big-%03d", i), nil, i != 249, false
		s.Nodes = append(s.Nodes, n)
	}
	w.PutInventory(s)
	rows := func(path string) []string {
		var names []string
		doc := read(t, w.Get(webtest.Anna, path), http.StatusOK)
		part(doc, "node-row").Each(func(_ int, row *goquery.Selection) { names = append(names, row.AttrOr("id", "")) })
		return names
	}
	names := rows("/fleet")
	if len(names) != page.RowsPerPage || !slices.Contains(names, "node-big-249") {
		t.Errorf("want a page of nodes and the broken one among them, got %d: %v", len(names), names)
	}
	next := rows("/fleet?nodes-local-p=2")
	if len(next) != page.RowsPerPage || slices.ContainsFunc(next, func(id string) bool {
		return slices.Contains(names,
			id)
	}) {
		t.Errorf("want another page of nodes, got %d: %v", len(next), next)
	}
	if names := rows("/fleet?nodes-local-sort=node"); names[0] != "node-big-000" {
		t.Errorf("want them by name, got %v", names)
	}
	if names := rows("/fleet?q=BIG-17"); len(names) != 10 || names[0] != "node-big-170" {
		t.Errorf("want the ten that match, got %v", names)
	}
}

func TestFleetIsFilteredByCardAndState(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	rows := func(path string) int {
		return part(read(t, w.Get(webtest.Anna, path), http.StatusOK), "node-row").Length()
	}
	all := rows("/fleet")
	for path, want := range map[string]int{"/fleet?model=A40+12Q": 1, "/fleet?state=trouble": 1,
		"/fleet?model=A40+12Q&state=trouble": 0, "/fleet?model=%3Cb%3E": 0, "/fleet?state=odd": all} {
		if got := rows(path); got != want {
			t.Errorf("%s: want %d nodes, got %d", path, want, got)
		}
	}
	if free := rows("/fleet?state=free"); free == 0 || free >= all {
		t.Errorf("want some of %d nodes to have something free, got %d", all, free)
	}
}

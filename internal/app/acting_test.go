package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/serve"
)

// seeing is an administrator's browser that sees the portal as somebody else.
func (w *world) seeing(subject string) *browser {
	w.t.Helper()
	b := w.signedIn(admin)
	if a := b.post("/admin/people/"+w.personID(subject)+"/see", url.Values{}); a.status != http.StatusSeeOther {
		w.t.Fatalf("%d %s", a.status, a.body)
	}
	return b
}

// TestSeeingThePortalAsSomebodyElse shows what they see, changes nothing, opens no notebook and shows no token.
func TestSeeingThePortalAsSomebodyElse(t *testing.T) {
	w := newWorld(t)
	item, token := w.running(developer, "vision"), w.token(developer)
	b := w.seeing(developer)
	for _, path := range []string{"/", "/start", "/account", "/team", "/team/vision", "/workloads/" + string(item.ID)} {
		a := b.get(path)
		banner := a.page(t).Find("[data-test=impersonation]").Text()
		if a.status != http.StatusOK || !strings.Contains(banner, "as Dora Dev") || !strings.Contains(banner, "Adam Admin") {
			t.Errorf("%s: %d, banner %q", path, a.status, banner)
		}
		if id, _, _ := strings.Cut(token, "."); strings.Contains(a.body, id) {
			t.Errorf("%s shows a token", path)
		}
	}
	if a := b.get("/admin/tenants"); a.status != http.StatusNotFound {
		t.Errorf("the administrator's own rights are still there: %d", a.status)
	}
	if a := b.get("/gateway/authorize?workload=" + item.Name + "&return=/&state=" +
		gatewayState); a.status != http.StatusNotFound {
		t.Errorf("the notebook opens: %d", a.status)
	}
	before, tried := len(w.events()), 0
	for _, route := range w.routes() {
		method, pattern, _ := strings.Cut(route, " ")
		if method == http.MethodGet || pattern == "/impersonation/end" || pattern == "/signout" ||
			pattern == serve.BackChannelPath || pattern == endpointkey.AnswerPath { // of no person
			continue
		}
		if a := b.do(method, w.fillMissing(pattern), url.Values{}); a.status != http.StatusForbidden ||
			!strings.Contains(a.body, "read-only") {
			t.Errorf("%s: %d", route, a.status)
		}
		tried++
	}
	refused := w.events(audit.ImpersonationRefused)
	if len(refused) != tried || refused[0].ActorName != "Adam Admin" || refused[0].BehalfName != "Dora Dev" ||
		refused[0].Detail.Args["Call"] == "" {
		t.Errorf("want each of the %d in the audit with both names, got %d: %+v", tried, len(refused), refused)
	}
	before += tried
	if now, err := w.store.Workload(t.Context(), item.ID); err != nil || now.Version != 1 || len(w.events()) != before {
		t.Errorf("something changed: version %d, %v, %d events", now.Version, err, len(w.events())-before)
	}
	if a := b.post("/impersonation/end", url.Values{}); a.status != http.StatusSeeOther {
		t.Errorf("it does not end: %d", a.status)
	}
	if a := b.get("/admin/tenants"); a.status != http.StatusOK ||
		a.page(t).Find("[data-test=impersonation]").Length() > 0 {
		t.Errorf("the administrator is not themselves again: %d", a.status)
	}
	for _, kind := range []audit.Kind{audit.ImpersonationBegun, audit.ImpersonationEnded} {
		if got := w.events(kind); len(got) != 1 || got[0].ActorName != "Adam Admin" || got[0].BehalfName != "Dora Dev" ||
			got[0].Address == "" {
			t.Errorf("%s: want one event that names both, got %+v", kind, got)
		}
	}
}

// TestSeeingEndsByItself after half an hour, once, and when the administrator is none any more.
func TestSeeingEndsByItself(t *testing.T) {
	w := newWorld(t)
	b := w.seeing(developer)
	w.clock.pass(29 * time.Minute)
	if a := b.get("/"); a.page(t).Find("[data-test=impersonation]").Length() != 1 {
		t.Error("it ended too soon")
	}
	w.clock.pass(2 * time.Minute)
	for range 2 {
		if a := b.get("/admin/tenants"); a.status != http.StatusOK {
			t.Errorf("want the administrator themselves, got %d", a.status)
		}
	}
	if got := w.events(audit.ImpersonationEnded); len(got) != 1 {
		t.Errorf("want one event, got %v", got)
	}
	b = w.seeing(developer)
	p := w.person(admin)
	p.Groups = []string{"vision-devs"}
	if err := w.store.SavePerson(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if a := b.get("/"); a.page(t).Find("[data-test=impersonation]").Length() != 0 {
		t.Error("somebody who is no administrator any more still sees as another")
	}
}

// TestWhomNobodySeesAs: administrators, oneself, who is shut out, and through a second pair of eyes.
func TestWhomNobodySeesAs(t *testing.T) {
	w := newWorld(t)
	second := identity.Person{ID: "p-second", Issuer: "x", Subject: "second", Name: "Second Admin",
		Groups: []string{"admins"}, SeenAt: w.clock.now()}
	out := identity.Person{ID: "p-out", Issuer: "x", Subject: "out", Name: "Out", SeenAt: w.clock.now()}
	for _, p := range []identity.Person{second, out} {
		if err := w.store.SavePerson(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.store.Disable(t.Context(), out.ID, "", audit.By(w.actorOf(admin), audit.PersonDisabled,
		w.clock.now())); err != nil {
		t.Fatal(err)
	}
	b := w.signedIn(admin)
	for id, want := range map[string]int{"p-second": http.StatusForbidden,
		string(w.person(admin).ID): http.StatusForbidden, "p-out": http.StatusForbidden, "p-nobody": http.StatusNotFound} {
		if a := b.post("/admin/people/"+id+"/see", url.Values{}); a.status != want {
			t.Errorf("%s: want %d, got %d", id, want, a.status)
		}
	}
	if a := w.seeing(developer).post("/admin/people/"+w.personID(other)+"/see",
		url.Values{}); a.status != http.StatusForbidden {
		t.Errorf("from one to the next: %d", a.status)
	}
	if a := w.call(w.token(admin), http.MethodPost, "/admin/people/"+w.personID(other)+"/see",
		nil); a.status != http.StatusForbidden {
		t.Errorf("with a token: %d", a.status)
	}
	page := b.get("/admin/people").page(t)
	if n := page.Find("[data-test=person]:contains('Second Admin') [data-test=see-as]").Length(); n != 0 ||
		page.Find("[data-test=see-as]").Length() == 0 {
		t.Error("want the button beside those as whom one can see, and nobody else")
	}
}

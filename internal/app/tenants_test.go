package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// switchOff saves a team as it is, switched off.
func (w *world) switchOff(name string) {
	w.t.Helper()
	e, err := w.tenants.Entry(w.actorOf(admin), name)
	if err != nil {
		w.t.Fatal(err)
	}
	d := tenant.Draft{Name: name, Title: e.Title, Groups: e.Groups, Quota: e.Quota, Disabled: true, Base: e.Version()}
	if _, err := w.tenants.Save(w.t.Context(), w.actorOf(admin), d); err != nil {
		w.t.Fatal(err)
	}
}

// tenantVersion is the newest version of what was saved about a team.
func (w *world) tenantVersion(name string) int64 {
	list, _ := w.store.TenantRevisions(w.t.Context(), name, 0, 1)
	if len(list) == 0 {
		return 0
	}
	return list[0].Version
}

// membership is a person and a role of team vision: one that nobody has yet, or one that can be taken.
func (w *world) membership(given bool) url.Values {
	w.t.Helper()
	subject := fmt.Sprintf("member-%d", w.next())
	p := identity.Person{ID: identity.NewPersonID(w.provider.Issuer(), subject), Issuer: w.provider.Issuer(),
		Subject: subject, Name: "A Member", SeenAt: w.clock.now()}
	if err := w.store.SavePerson(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
	for _, team := range []string{"vision", "speech"} {
		if given {
			if err := w.tenants.AddMember(w.t.Context(), w.actorOf(admin), team, p.ID, identity.Developer); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	return url.Values{"person": {string(p.ID)}, "role": {string(identity.Developer)}}
}

// TestATeamMadeByHand goes the whole way: an administrator makes a team, its owner adds somebody, who starts something;
// switched off it starts nothing and keeps what runs.
func TestATeamMadeByHand(t *testing.T) {
	w := newWorld(t)
	boss, dora := w.token(admin), w.signedIn(developer)
	made := w.call(boss, http.MethodPost, "/api/v1/tenants", map[string]any{"name": "robots", "title": "Robots",
		"groups": map[string]any{"owner": []string{"gpu-*-leads"}}, "quota": map[string]int{"cpu": 2}})
	if made.status != http.StatusCreated {
		t.Fatalf("%d %s", made.status, made.body)
	}
	lead := w.person(other)
	lead.Groups = append(lead.Groups, "gpu-robots-leads")
	leader := w.actor(lead, identity.ViaSession)
	if !leader.In("robots", identity.Owner) {
		t.Fatalf("the pattern gives no role: %v", leader.Tenants)
	}
	if a := dora.get("/team/robots"); a.status != http.StatusNotFound {
		t.Errorf("a stranger sees the team: %d", a.status)
	}
	if err := w.tenants.AddMember(t.Context(), leader, "robots", w.person(developer).ID, identity.Developer); err != nil {
		t.Fatal(err)
	}
	started := dora.post("/start", url.Values{"tenant": {"robots"}, "kind": {"notebook"}, "size": {"cpu"},
		"image": {"jupyterlab"}, "lease": {"1h"}})
	if started.status != http.StatusSeeOther || !strings.HasPrefix(started.header.Get("Location"), "/workloads/") {
		t.Fatalf("a new member starts nothing: %d %s", started.status, started.body)
	}
	w.switchOff("robots")
	refused := dora.post("/start", url.Values{"tenant": {"robots"}, "kind": {"notebook"}, "size": {"cpu"},
		"image": {"jupyterlab"}, "lease": {"1h"}})
	if refused.status != http.StatusUnprocessableEntity || !strings.Contains(refused.body, "Robots is disabled") {
		t.Errorf("want the reason, got %d", refused.status)
	}
	if a := dora.get("/team"); !strings.Contains(a.body, "Running workloads continue until they are stopped") {
		t.Error("the team page does not say that it is switched off")
	}
	if a := dora.get(started.header.Get("Location")); a.status != http.StatusOK {
		t.Errorf("what runs is gone: %d", a.status)
	}
	for kind, want := range map[audit.Kind]int{audit.TenantSaved: 2, audit.MemberAdded: 1, audit.RequestRefused: 1} {
		if got := w.events(kind); len(got) != want || got[0].Tenant != "robots" {
			t.Errorf("%s: want %d events of the team, got %v", kind, want, got)
		}
	}
	if err := w.tenants.RemoveMember(t.Context(), leader, "robots", w.person(developer).ID,
		identity.Developer); err != nil {
		t.Fatal(err)
	}
	member := string(w.person(developer).ID)
	for what, c := range map[string]struct{ got, want []audit.Change }{
		"made": {w.events(audit.TenantSaved)[1].Changes, []audit.Change{{Field: "groups.owner", New: "gpu-*-leads"},
			{Field: "quota.cpu", New: "2"}, {Field: "title", New: "Robots"}}},
		"disabled": {w.events(audit.TenantSaved)[0].Changes,
			[]audit.Change{{Field: "disabled", Old: "false", New: "true"}}},
		"a member": {w.events(audit.MemberAdded)[0].Changes, []audit.Change{{Field: "member.developer", New: member}}},
		"one less": {w.events(audit.MemberRemoved)[0].Changes, []audit.Change{{Field: "member.developer", Old: member}}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
}

// TestATeamOfTheConfigurationIsChangedInParts: what is left as it is goes on following the configuration, and comes
// back when it is taken out.
func TestATeamOfTheConfigurationIsChangedInParts(t *testing.T) {
	w := newWorld(t)
	a := w.actorOf(admin)
	e, err := w.tenants.Save(t.Context(), a, tenant.Draft{Name: "vision", Title: "Vision",
		Groups: map[identity.Role][]string{identity.Developer: {"vision-devs"}, identity.Owner: {"new-owners"}},
		Quota:  map[string]int{"cpu": 1}})
	if err != nil {
		t.Fatal(err)
	}
	if e.QuotaOf("cpu") != 1 || e.QuotaOf("h100") != 1000 || w.actorOf(owner).Member("vision") ||
		!w.actorOf(developer).Member("vision") {
		t.Errorf("got %+v, and the owner of before is %v", e.Tenant, w.actorOf(owner).Tenants)
	}
	if _, listed := e.Newest.Saved.Groups[identity.Developer]; listed || e.Newest.Saved.Title != nil {
		t.Errorf("what did not change was saved: %+v", e.Newest.Saved)
	}
	if _, err := w.tenants.Save(t.Context(), a, tenant.Draft{Name: "vision", Base: 0}); !fault.Is(err, fault.Conflict) {
		t.Errorf("want a conflict for an old version, got %v", err)
	}
	if e, err = w.tenants.Save(t.Context(), a, tenant.Draft{Name: "vision", Title: "Vision", Base: 1}); err != nil ||
		e.QuotaOf("cpu") != 1000 || !w.actorOf(owner).Member("vision") {
		t.Errorf("want the configuration's back, got %+v, %v", e.Tenant, err)
	}
}

// TestARoleThatIsTakenIsGoneAtOnce: also in a page that was open, and for a token (T-AUTHZ-1, T-OIDC-3).
func TestARoleThatIsTakenIsGoneAtOnce(t *testing.T) {
	w := newWorld(t)
	w.signedIn(closed)
	clara := w.person(closed).ID
	if err := w.tenants.AddMember(t.Context(), w.actorOf(owner), "vision", clara, identity.Owner); err != nil {
		t.Fatal(err)
	}
	page, token := w.signedIn(closed), w.token(closed)
	item := w.running(developer, "vision")
	if a := page.get("/workloads/" + string(item.ID)); a.status != http.StatusOK {
		t.Fatalf("an owner by hand sees nothing: %d", a.status)
	}
	if a := page.post("/team/vision/members/"+string(clara)+"/owner/remove",
		url.Values{}); a.status != http.StatusSeeOther || a.header.Get("Location") != "/team" {
		t.Fatalf("one cannot leave: %d %s", a.status, a.header.Get("Location"))
	}
	if a := page.post("/workloads/"+string(item.ID)+"/stop", url.Values{}); a.status != http.StatusNotFound {
		t.Errorf("the open page still stops: %d", a.status)
	}
	if a := w.call(token, http.MethodGet, "/api/v1/workloads/"+string(item.ID), nil); a.status != http.StatusNotFound {
		t.Errorf("the token still reads: %d", a.status)
	}
	if err := w.tenants.RemoveMember(t.Context(), w.actorOf(owner), "vision", clara, identity.Owner); !fault.Is(err,
		fault.NotFound) {
		t.Errorf("twice: want not found, got %v", err)
	}
}

// TestAnApproverByHandWhoLosesTheRole decides nothing any more, though the request was open in front of them (T-APPR).
func TestAnApproverByHandWhoLosesTheRole(t *testing.T) {
	w := newWorld(t)
	w.signedIn(other)
	otto := w.person(other).ID
	pending := w.pending(developer, "vision")
	if err := w.tenants.AddMember(t.Context(), w.actorOf(admin), "vision", otto, identity.Approver); err != nil {
		t.Fatal(err)
	}
	b := w.signedIn(other)
	if a := b.get("/approvals/" + string(pending.ID)); a.status != http.StatusOK {
		t.Fatalf("the approver sees nothing: %d", a.status)
	}
	if err := w.tenants.RemoveMember(t.Context(), w.actorOf(admin), "vision", otto, identity.Approver); err != nil {
		t.Fatal(err)
	}
	if a := b.post("/approvals/"+string(pending.ID)+"/approve", url.Values{"seen": {"1"}}); a.status < 400 {
		t.Errorf("still approves: %d", a.status)
	}
	if r, err := w.store.Request(t.Context(), pending.ID); err != nil || r.State != request.Pending {
		t.Errorf("want it pending, got %s, %v", r.State, err)
	}
}

// TestTokensOfMembersAreEndedByOwnersOnly also checks that an owner reaches no token of somebody else's team.
func TestTokensOfMembersAreEndedByOwnersOnly(t *testing.T) {
	w := newWorld(t)
	mine, foreign := w.token(developer), w.token(other)
	id := func(token string) string {
		name, _, _ := strings.Cut(strings.TrimPrefix(token, identity.TokenPrefix), ".")
		return name
	}
	b := w.signedIn(owner)
	if page := b.get("/team/vision").body; !strings.Contains(page, id(mine)) || strings.Contains(page, id(foreign)) ||
		strings.Contains(page, mine) {
		t.Error("want the member's token without its secret, and no other team's")
	}
	if a := b.post("/team/vision/tokens/"+id(foreign)+"/revoke", url.Values{}); a.status != http.StatusNotFound {
		t.Errorf("a foreign token: %d", a.status)
	}
	if a := w.signedIn(developer).post("/team/vision/tokens/"+id(mine)+"/revoke",
		url.Values{}); a.status != http.StatusForbidden {
		t.Errorf("a developer: %d", a.status)
	}
	if a := b.post("/team/vision/tokens/"+id(mine)+"/revoke", url.Values{}); a.status != http.StatusSeeOther {
		t.Errorf("the owner: %d", a.status)
	}
	for token, want := range map[string]int{mine: http.StatusUnauthorized, foreign: http.StatusOK} {
		if a := w.call(token, http.MethodGet, "/api/v1/me", nil); a.status != want {
			t.Errorf("want %d, got %d", want, a.status)
		}
	}
}

// TestDefaultsOfATeamFillTheForm that starts something.
func TestDefaultsOfATeamFillTheForm(t *testing.T) {
	w := newWorld(t)
	b := w.signedIn(owner)
	if a := b.post("/team/vision/defaults", url.Values{"size": {"nothing"}}); a.status != http.StatusUnprocessableEntity {
		t.Errorf("an unknown size: %d", a.status)
	}
	if a := b.post("/team/vision/defaults", url.Values{"size": {"h100"},
		"lease": {"5h"}}); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	form := w.signedIn(developer).get("/start").page(t)
	if v, _ := form.Find("[name=size][checked]").Attr("value"); v != "h100" {
		t.Errorf("want the team's size, got %q", v)
	}
	if v, _ := form.Find("[name=lease]").Attr("value"); v != "5h" {
		t.Errorf("want the team's length, got %q", v)
	}
}

// TestWhoNamesApprovers: the platform does, and where it lets owners do it, never for themselves, and what they grant
// does not count for their own requests (T-APPR).
func TestWhoNamesApprovers(t *testing.T) {
	w := newWorld(t)
	w.signedIn(other)
	w.signedIn(owner)
	otto, ownerID := w.person(other).ID, w.person(owner).ID
	members := "/api/v1/tenants/vision/members"
	add := func(as string, person identity.PersonID) answer {
		return w.call(w.token(as), http.MethodPost, members, map[string]any{"person": person, "role": "approver"})
	}
	for name, a := range map[string]answer{"an owner": add(owner, otto), "themself": add(owner, ownerID)} {
		if a.status != http.StatusForbidden {
			t.Errorf("%s: want 403, got %d %s", name, a.status, a.body)
		}
	}
	if a := add(admin, w.person(admin).ID); a.status != http.StatusForbidden ||
		!strings.Contains(a.body, "You cannot make yourself") {
		t.Errorf("an administrator for themself: want 403, got %d %s", a.status, a.body)
	}
	w.wantRefusedNaming(map[string]int{"Otto Other tenant.approvers_platform": 1, "Olga Owner tenant.approver_self": 1,
		"Adam Admin tenant.approver_self": 1})
	for range 40 {
		add(owner, otto)
	}
	w.clock.pass(time.Minute)
	if err := w.refusals.Flush(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	w.wantRefusedNaming(map[string]int{"Otto Other tenant.approvers_platform": 41, "Olga Owner tenant.approver_self": 1,
		"Adam Admin tenant.approver_self": 1})
	if a := add(admin, otto); a.status >= 300 {
		t.Fatalf("an administrator: %d %s", a.status, a.body)
	}
	if a := w.call(w.token(owner), http.MethodDelete, members+"/"+string(otto)+"/approver", nil); a.status != 403 {
		t.Errorf("an owner takes the role: want 403, got %d %s", a.status, a.body)
	}
	page := w.signedIn(owner).get("/team/vision?q=" + url.QueryEscape(w.person(other).Name))
	if !strings.Contains(page.body, "Only administrators add or remove team approvers") ||
		strings.Contains(page.body, `<option value="approver"`) {
		t.Error("want the page of the members to say who names approvers, and to offer no such role")
	}
	if e := w.events(audit.MemberAdded); len(e) != 1 || e[0].Actor != w.person(admin).ID {
		t.Errorf("want one grant on record, by the administrator, got %+v", e)
	}
}

// wantRefusedNaming asks for how often whose naming as approver was refused and why, by the record: each in one row and
// at most one more of the minute, and never also as refused access.
func (w *world) wantRefusedNaming(want map[string]int) {
	w.t.Helper()
	rows, got := w.events(audit.MemberRefused), map[string]int{}
	for _, e := range rows {
		detail, more := e.Detail, 1
		if detail.ID == "audit.refused_more" {
			more, _ = strconv.Atoi(fmt.Sprint(detail.Args["Count"]))
			detail = textOf(detail.Args["Reason"])
		}
		if e.Tenant != "vision" || e.Actor == "" {
			w.t.Errorf("want the team and who did it, got %+v", e)
		}
		got[fmt.Sprint(detail.Args["Name"], " ", textOf(detail.Args["Reason"]).ID)] += more
	}
	if diff := cmp.Diff(want, got); diff != "" || len(rows) > 2*len(want) {
		w.t.Errorf("%d rows (-want +got):\n%s", len(rows), diff)
	}
	if n := len(w.events(audit.AccessRefused)); n != 0 {
		w.t.Errorf("it is %d times in the record as refused access too", n)
	}
}

// TestOwnersNameApproversWhereTheSiteLetsThem, and then approve nothing of their own through them.
func TestOwnersNameApproversWhereTheSiteLetsThem(t *testing.T) {
	w := newWorld(t, func(c *config.Config) { c.OwnersNameApprovers = true })
	w.signedIn(other)
	otto := w.person(other).ID
	if err := w.tenants.AddMember(t.Context(), w.actorOf(owner), "vision", w.person(owner).ID,
		identity.Approver); !fault.Is(err, fault.Forbidden) {
		t.Errorf("themself: want it refused, got %v", err)
	}
	if err := w.tenants.AddMember(t.Context(), w.actorOf(owner), "vision", otto, identity.Approver); err != nil {
		t.Fatal(err)
	}
	own, theirs := w.pending(owner, "vision"), w.pending(developer, "vision")
	approve := func(r request.Request) answer {
		return w.call(w.token(other), http.MethodPost, "/api/v1/requests/"+string(r.ID)+"/approve", seenOf(r))
	}
	if a := approve(own); a.status != http.StatusForbidden || !strings.Contains(a.body, "Your approver role comes from") {
		t.Errorf("a request of who granted the role: want 403 and the reason, got %d %s", a.status, a.body)
	}
	if a := approve(theirs); a.status != http.StatusOK {
		t.Errorf("a colleague's: want 200, got %d %s", a.status, a.body)
	}
	list := w.call(w.token(owner), http.MethodGet, "/api/v1/tenants/vision/members", nil)
	if !strings.Contains(list.body, `"notFor":["`+string(w.person(owner).ID)+`"]`) {
		t.Errorf("want the list to say for whom the role does not count, got %s", list.body)
	}
}

package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func TestYesBut(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	asked := read(t, w.Get(webtest.Carla, "/approvals/r-anna1"), http.StatusOK)
	wantText(t, asked, "less", "Requested: 4h", "As requested: Whole H100")
	more := read(t, w.Post(webtest.Carla, "/approvals/r-anna1/approve", url.Values{"lease": {"9h"}, "note": {"kept"},
		"seen": {"1"}}),
		http.StatusUnprocessableEntity)
	wantText(t, more, "form-errors", "4 h was requested")
	if _, open := part(more, "less").Attr("open"); !open || more.Find("textarea[name=note]").Text() != "kept" {
		t.Error("what was typed stays and is shown")
	}
	wantRedirect(t, w.Post(webtest.Carla, "/approvals/r-anna1/approve", url.Values{"size": {"mig-1g.10gb"},
		"lease": {"2h"}, "note": {"A slice first."}, "seen": {"1"}}))
	r := w.Request("r-anna1")
	if work := w.Work(r.Workload); r.State != request.Approved || work.Size.Name != "mig-1g.10gb" ||
		work.Lease.Until.Sub(work.Lease.From) != 2*time.Hour {
		t.Errorf("want a slice for two hours, got %s %s %v", r.State, work.Size.Name, work.Lease)
	}
	doc := read(t, w.Get(webtest.Anna, "/requests/r-anna1"), http.StatusOK)
	wantText(t, doc, "request-verdict", "approved it with changes; requested: Whole H100", "4 h", "A slice first.")
	wantText(t, doc, "approval-steps", "Approved with changes")
	last := w.Record()[len(w.Record())-2]
	if last.Kind != "request.approved" || last.Detail.ID != "request.granted_less" {
		t.Errorf("the record says what was changed, got %+v", last)
	}
}

// What the quota refuses cannot be approved, also not by its key; as soon as the team stops something the open page
// offers it.
func TestTheQuotaStandsInTheWayOfAnApproval(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Carla, "/approvals/r-olaf1"), http.StatusOK)
	yes := part(doc, "approve")
	if yes.AttrOr("aria-disabled", "") != "true" || yes.AttrOr("type", "") != "button" {
		t.Error("the quota is used up: want no approval")
	}
	wantText(t, doc, "quota-short", "Not enough quota", "once the team stops a workload")
	wantText(t, doc, "quota", "1 of 1 used, 2 after", "1 over the quota")
	wantAbsent(t, doc, "less", "raise-quota")
	admin := read(t, w.Get(webtest.Dora, "/approvals/r-olaf1"), http.StatusOK)
	if to := part(admin, "raise-quota").AttrOr("href", ""); to != "/admin/tenants/edit?name=speech" {
		t.Errorf("an administrator is led to the quota, got %q", to)
	}
	events, _ := follow(t, w, webtest.Carla, "page=approvals&id=r-olaf1&seen=1")
	next(t, events)
	held := w.Works()[slices.IndexFunc(w.Works(), func(h workload.Workload) bool {
		return h.Tenant == "speech" && h.Size.Name == "h100"
	})]
	held.Desired, held.State = workload.WantStopped, workload.Ended
	w.PutWork(held)
	w.Hub.Publish(live.Change{Topic: live.TopicWorkload, ID: string(held.ID), Tenant: "speech"})
	if got := next(t, events).fragments(t)["approval-decide"]; !strings.Contains(got, `data-test="approve"`) ||
		strings.Contains(got, "aria-disabled") || strings.Contains(got, "quota-short") {
		t.Errorf("want it to be possible now, got %.600s", got)
	}
	wantAbsent(t, read(t, w.Get(webtest.Carla, "/approvals/r-anna1"), http.StatusOK), "quota-short", "less-approve")
}

func TestAnAskerChangesARequest(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	before := read(t, w.Get(webtest.Carla, "/approvals/r-anna1"), http.StatusOK)
	wantAbsent(t, before, "stale")
	seen, _ := before.Find("#decide input[name=seen]").Attr("value")
	if seen != "1" {
		t.Fatalf("the form carries what it shows, got %q", seen)
	}

	page := read(t, w.Get(webtest.Anna, "/requests/r-anna1"), http.StatusOK)
	if to, _ := part(page, "edit").Attr("href"); to != "/requests/r-anna1/edit" {
		t.Errorf("the asker is led to the form, got %q", to)
	}
	form := read(t, w.Get(webtest.Anna, "/requests/r-anna1/edit"), http.StatusOK)
	if got, _ := part(form, "edit-lease").Attr("value"); got != "4h" {
		t.Errorf("it begins with what was asked, got %q", got)
	}
	bad := read(t, w.Post(webtest.Anna, "/requests/r-anna1/edit", url.Values{"lease": {"soon"}, "reason": {"other words"},
		"seen": {seen}}), http.StatusUnprocessableEntity)
	wantText(t, bad, "form-errors", "Enter a duration")
	if bad.Find("textarea[name=reason]").Text() != "other words" {
		t.Error("what was typed stays")
	}
	wantRedirect(t, w.Post(webtest.Anna, "/requests/r-anna1/edit", url.Values{"size": {"h100"}, "lease": {"6h"},
		"reason": {"other words"}, "seen": {seen}}))
	if r := w.Request("r-anna1"); r.State != request.Pending || r.Spec.Lease.String() != "6h" ||
		r.Spec.Reason != "other words" {
		t.Errorf("want it changed, got %+v", r.Spec)
	}

	stale := read(t, w.Post(webtest.Carla, "/approvals/r-anna1/approve", url.Values{"seen": {seen}}), http.StatusConflict)
	wantText(t, stale, "form-errors", "has changed since you saw it")
	if now, _ := stale.Find("#decide input[name=seen]").Attr("value"); now == seen ||
		w.Request("r-anna1").State != request.Pending {
		t.Error("nothing was decided, and the page that comes back is the one of now")
	}
	// what the stream of the open page draws
	open := read(t, w.Get(webtest.Carla, "/approvals/r-anna1?seen="+seen), http.StatusOK)
	wantText(t, open, "stale", "has changed")
	if still, _ := open.Find("#decide input[name=seen]").Attr("value"); still != seen {
		t.Errorf("an open form never comes to mean another version, got %q", still)
	}
	for _, who := range []struct {
		name   string
		status int
	}{{"ben", http.StatusForbidden}, {"olaf", http.StatusNotFound}} {
		person := webtest.Ben
		if who.name == "olaf" {
			person = webtest.Olaf
		}
		if got := w.Get(person, "/requests/r-anna1/edit").Code; got != who.status {
			t.Errorf("%s opens the form: want %d, got %d", who.name, who.status, got)
		}
		if got := w.Post(person, "/requests/r-anna1/edit", url.Values{"lease": {"1h"}}).Code; got != who.status {
			t.Errorf("%s sends it: want %d, got %d", who.name, who.status, got)
		}
	}
	wantRedirect(t, w.Post(webtest.Anna, "/requests/r-anna1/edit", url.Values{"size": {"mig-1g.10gb"}}))
	if r := w.Request("r-anna1"); r.State != request.Approved {
		t.Errorf("a slice needs nobody: want it approved, got %s", r.State)
	}
	if got := w.Get(webtest.Anna, "/requests/r-anna1/edit").Code; got != http.StatusConflict {
		t.Errorf("what is decided stays: want 409, got %d", got)
	}
}

func TestSeveralAtOnce(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	plain := read(t, w.Get(webtest.Carla, "/approvals"), http.StatusOK)
	if ticks := part(plain, "tick"); ticks.Length() != 2 || ticks.Filter("[checked]").Length() != 0 {
		t.Fatalf("want two boxes, none ticked, got %d", ticks.Length())
	}
	all, _ := part(plain, "tick-all").Attr("href")
	doc := read(t, w.Get(webtest.Carla, all), http.StatusOK)
	form := url.Values{"verb": {"approve"}, "note": {"for the demo"}}
	for _, node := range part(doc, "tick").Filter("[checked]").Nodes {
		for _, a := range node.Attr {
			if a.Key == "value" {
				form.Add("request", a.Val)
			}
		}
	}
	stream, _ := doc.Find("body").Attr("data-live-url")
	if u, _ := url.Parse(stream); u.Query().Get("tick") != "r-olaf1,r-anna1" {
		t.Errorf("the stream ticks those and no others, got %s", stream)
	}
	done := read(t, w.Post(webtest.Carla, "/approvals/bulk", form), http.StatusOK)
	got := map[string]string{}
	for i := range part(done, "outcome").Nodes {
		row := part(done, "outcome").Eq(i)
		who, _, _ := strings.Cut(textOf(row), " ·")
		got[who] = textOf(row.Find("[data-test=state]"))
	}
	if len(got) != 2 || !strings.Contains(got["Anna Albers"], "Approved") ||
		!strings.Contains(got["Olaf Oster"], "Your team uses 1 of 1") {
		t.Errorf("want one granted and one not, each with its reason, got %v", got)
	}
	if w.Request("r-anna1").Decision.Note != "for the demo" || w.Request("r-olaf1").State != request.Pending {
		t.Error("the note is written down; what could not be granted still waits")
	}
	again := read(t, w.Post(webtest.Carla, "/approvals/bulk", form), http.StatusOK)
	wantText(t, again, "outcomes", "already decided: approved")

	form.Set("verb", "reject")
	wantText(t, read(t, w.Post(webtest.Anna, "/approvals/bulk", form), http.StatusOK), "outcomes", "Not decided",
		"No request with this number", "You cannot decide your own")
	if w.Request("r-olaf1").State != request.Pending {
		t.Error("nobody is turned down by somebody without the right")
	}
	for name, wrong := range map[string]url.Values{"nothing ticked": {"verb": {"approve"}},
		"no verb": {"request": {"r-olaf1@1"}}} {
		if got := w.Post(webtest.Carla, "/approvals/bulk", wrong).Code; got != http.StatusUnprocessableEntity {
			t.Errorf("%s: want 422, got %d", name, got)
		}
	}
}

// TestADelegation is found, named, decides with the rights of the other, and is ended.
func TestADelegation(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	const path = "/approvals/delegations"
	wantText(t, read(t, w.Get(webtest.Anna, path), http.StatusOK), "why-not", "You are not an approver yourself")
	if got := w.Post(webtest.Anna, path, url.Values{"person": {string(webtest.Ben.ID)}, "from": {"2026-11-21"},
		"until": {"2026-11-22"}}).Code; got != http.StatusForbidden {
		t.Errorf("who decides nothing names nobody: want 403, got %d", got)
	}
	wantText(t, read(t, w.Get(webtest.Carla, path+"?find=zz"), http.StatusOK), "delegation-nobody", "zz")
	found := read(t, w.Get(webtest.Carla, path+"?find=ben%40"), http.StatusOK)
	wantText(t, found, "delegation-who", "Ben Brandt", "ben@example.org")

	form := url.Values{"find": {"ben"}, "person": {string(webtest.Ben.ID)}, "from": {"soon"}, "until": {"2026-11-22"}}
	wantText(t, read(t, w.Post(webtest.Carla, path, form), http.StatusUnprocessableEntity), "form-errors",
		"year-month-day")
	form.Set("from", "2026-11-21")
	self := url.Values{"find": {"carla"}, "person": {string(webtest.Carla.ID)}, "from": {"2026-11-21"},
		"until": {"2026-11-22"}}
	wantText(t, read(t, w.Post(webtest.Carla, path, self), http.StatusUnprocessableEntity), "form-errors",
		"You cannot be your own delegate")
	wantAbsent(t, read(t, w.Get(webtest.Ben, "/approvals/r-olaf1"), http.StatusNotFound), "approve")
	wantRedirect(t, w.Post(webtest.Carla, path, form))

	periods, err := w.Store.Delegations(t.Context(), webtest.Now)
	if err != nil || len(periods) != 1 {
		t.Fatalf("want one period, got %v, %v", periods, err)
	}
	p := periods[0]
	if p.From != webtest.Now || p.Until != time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC) {
		t.Errorf("from now to the end of the last day, got %v", p)
	}
	wantText(t, read(t, w.Get(webtest.Carla, path), http.StatusOK), "delegation-mine", "Ben Brandt", "now")
	others := read(t, w.Get(webtest.Ben, path), http.StatusOK)
	wantText(t, others, "delegation-others", "Carla Conti", "Until 23 Nov 2026", "ends in 1 d 12 h", "Times in UTC")
	if got := textOf(part(others, "delegation-others")); strings.Contains(got, "21 Nov") {
		t.Errorf("a beginning that has passed says nothing, got %q", got)
	}
	if to := part(others, "delegation-open").AttrOr("href", ""); to != "/approvals" {
		t.Errorf("want the way to what may be decided, got %q", to)
	}
	wantText(t, read(t, w.Get(webtest.Ben, "/approvals"), http.StatusOK), "inbox", "Anna Albers", "Olaf Oster")

	wantRedirect(t, w.Post(webtest.Ben, "/approvals/r-anna1/approve", url.Values{"note": {"fine"}, "seen": {"1"}}))
	doc := read(t, w.Get(webtest.Anna, "/requests/r-anna1"), http.StatusOK)
	wantText(t, doc, "request-verdict", "Ben Brandt, as delegate of Carla Conti, approved it")

	if got := w.Post(webtest.Ben, path+"/"+p.ID+"/end", nil).Code; got != http.StatusNotFound {
		t.Errorf("another's period: want 404, got %d", got)
	}
	wantRedirect(t, w.Post(webtest.Carla, path+"/"+p.ID+"/end", nil))
	if got := w.Post(webtest.Ben, "/approvals/r-olaf1/approve", nil).Code; got != http.StatusNotFound {
		t.Errorf("it is over: want 404, got %d", got)
	}
}

// TestADelegationDecidesNeitherOwnRequest: not the one of the delegate, not the one of the person.
func TestADelegationDecidesNeitherOwnRequest(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Away(webtest.Carla, webtest.Anna)
	w.Away(webtest.Carla, webtest.Ben)
	if got := w.Post(webtest.Anna, "/approvals/r-anna1/approve", nil).Code; got != http.StatusForbidden {
		t.Errorf("the delegate's own: want 403, got %d", got)
	}
	r := w.Request("r-anna1")
	r.Asker, r.AskerName = webtest.Carla.ID, webtest.Carla.Name
	w.PutRequest(r)
	if got := w.Post(webtest.Ben, "/approvals/r-anna1/approve", nil).Code; got != http.StatusForbidden {
		t.Errorf("that of the one they stand in for: want 403, got %d", got)
	}
	if w.Request("r-anna1").State != request.Pending {
		t.Error("it still waits")
	}
}

// TestWhatAnApproverKnows: how the asker and others fared, and when it escalates.
func TestWhatAnApproverKnows(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	r := w.Request("r-olaf1")
	r.Decision.Steps = []policy.Step{{From: []identity.Approvers{{Role: identity.Approver}},
		After: catalog.Duration(2 * time.Hour), Then: []identity.Approvers{{Role: identity.Admin}}}}
	r.Decision.Since = webtest.Now.Add(-time.Hour)
	w.PutRequest(r)
	doc := read(t, w.Get(webtest.Carla, "/approvals/r-olaf1"), http.StatusOK)
	wantText(t, doc, "approval-steps", "If undecided by", "13:00", "administrator")
	wantText(t, doc, "similar", "Anna Albers", "Carla Conti rejected it", "Carla Conti approved it")
	wantText(t, doc, "asker-history", "0 requests granted in the last 30 days")
	wantText(t, read(t, w.Get(webtest.Carla, "/approvals/r-anna1"), http.StatusOK), "asker-history",
		"One request granted in the last 30 days, for €15.60")
	w.Clock = webtest.Now.Add(2 * time.Hour)
	wantText(t, read(t, w.Get(webtest.Carla, "/approvals/r-olaf1"), http.StatusOK), "approval-steps",
		"it can also be decided by: administrator")
}

// TestARequestIsGivenAway to another approver, who reads why; it can be taken back, and nobody gives it to the asker
// (T-APPR).
func TestARequestIsGivenAway(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	page := read(t, w.Get(webtest.Carla, "/approvals/r-anna1"), http.StatusOK)
	to, _ := part(page, "reassign").Attr("href")
	ask := read(t, w.Get(webtest.Carla, to), http.StatusOK)
	wantText(t, ask, "reassign-form", "Dora")
	// a card without a title had swallowed this on every page that asks
	wantText(t, ask, "ask-lead", "You can take it back until it is decided")
	if strings.Contains(part(ask, "reassign-form").Text(), "Anna") || strings.Contains(part(ask, "reassign-form").Text(),
		"Ben") {
		t.Error("want those alone who may decide it")
	}
	for why, form := range map[string]url.Values{"other approver": {"person": {string(webtest.Anna.ID)}, "reason": {"x"},
		"seen": {"1"}}, "Give a short reason": {"person": {string(webtest.Dora.ID)}, "seen": {"1"}},
		"Choose": {"reason": {"x"}, "seen": {"1"}}} {
		if bad := read(t, w.Post(webtest.Carla, to, form), http.StatusUnprocessableEntity); !strings.Contains(
			strings.ReplaceAll(part(bad, "form-errors").Text(), "another", "other"), why) {
			t.Errorf("want %q, got %q", why, part(bad, "form-errors").Text())
		}
	}
	read(t, w.Post(webtest.Carla, to, url.Values{"person": {string(webtest.Dora.ID)}, "reason": {"x"}, "seen": {"7"}}),
		http.StatusConflict)
	wantRedirect(t, w.Post(webtest.Carla, to, url.Values{"person": {string(webtest.Dora.ID)},
		"reason": {"You know that cluster."}, "seen": {"1"}}))

	own := read(t, w.Get(webtest.Carla, "/approvals/r-anna1"), http.StatusOK)
	wantAbsent(t, own, "approve", "reassign")
	wantText(t, own, "why-not", "Dora")
	theirs := read(t, w.Get(webtest.Dora, "/approvals/r-anna1"), http.StatusOK)
	wantText(t, theirs, "given", "Carla Conti asks you", "You know that cluster.")
	wantText(t, theirs, "inbox", "from Carla Conti")
	wantText(t, read(t, w.Get(webtest.Anna, "/requests/r-anna1"), http.StatusOK), "approval-steps", "assigned it to Dora")
	read(t, w.Post(webtest.Carla, "/approvals/r-anna1/approve", url.Values{"seen": {"2"}}), http.StatusConflict)

	wantRedirect(t, w.Post(webtest.Carla, "/approvals/r-anna1/reclaim", nil))
	wantRedirect(t, w.Post(webtest.Carla, "/approvals/r-anna1/reclaim", nil)) // a click that comes twice
	if part(read(t, w.Get(webtest.Carla, "/approvals/r-anna1"), http.StatusOK), "approve").Length() == 0 {
		t.Error("want it to wait for her again")
	}
	var kinds []string
	for _, e := range w.Record() {
		if e.Request == "r-anna1" && (e.Kind == "request.reassigned" || e.Kind == "request.taken_back") {
			kinds = append(kinds, string(e.Kind))
		}
	}
	if strings.Join(kinds, " ") != "request.reassigned request.taken_back" {
		t.Errorf("want each once on record, got %v", kinds)
	}
}

// What waits for a license seat needs nobody's word, and so is in no inbox; who may still say no finds it beside, also
// while the inbox is empty.
func TestWhoeverMayRejectFindsWhatWaitsForASeat(t *testing.T) {
	for name, c := range map[string]struct {
		world func(webtest.Scope) *webtest.World
		rows  int // of the inbox
	}{"beside others": {webtest.Busy, 2}, "in an empty inbox": {webtest.Empty, 0}} {
		t.Run(name, func(t *testing.T) {
			w := c.world(t)
			w.WaitForSeat("r-seat", webtest.Busy(t).Request("r-anna1"))
			doc := read(t, w.Get(webtest.Carla, "/approvals"), http.StatusOK)
			wantText(t, doc, "seat-line", "NVIDIA vWS")
			row := part(doc, "seat-row")
			if rows := part(doc, "inbox-row").Length(); row.Length() != 1 || rows == 0 != (c.rows == 0) {
				t.Errorf("want one that waits for a seat, and it among no others: got %d, and %d in the inbox", row.Length(), rows)
			}
			if part(doc, "inbox").Find("[href='/approvals/r-seat']").Length() != 0 {
				t.Error("it stands among those who need a word")
			}
			detail := read(t, w.Get(webtest.Carla, row.Find("a").AttrOr("href", "")), http.StatusOK)
			if part(detail, "reject").Length() != 1 || part(detail, "approve").Length() != 0 {
				t.Error("want a way to say no, and none to say yes again")
			}
			wantRedirect(t, w.Post(webtest.Carla, "/approvals/r-seat/reject", url.Values{"note": {"Not this week."},
				"seen": {"1"}}))
			if now := w.Request("r-seat"); now.State != request.Rejected {
				t.Errorf("want it rejected, got %s", now.State)
			}
			if part(read(t, w.Get(webtest.Carla, "/approvals"), http.StatusOK), "seat-row").Length() != 0 {
				t.Error("it is still said to wait")
			}
		})
	}
	w := webtest.Empty(t)
	own := webtest.Busy(t).Request("r-anna1")
	own.Asker, own.Decision.Seat = webtest.Carla.ID, &request.SeatWait{Pool: "nvidia-vws", Title: "NVIDIA vWS",
		Since: webtest.Now}
	w.PutRequest(own)
	if part(read(t, w.Get(webtest.Carla, "/approvals"), http.StatusOK), "seat-row").Length() != 0 {
		t.Error("nobody rejects their own: want it not offered")
	}
}

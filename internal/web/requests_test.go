package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func TestARequestIsASentence(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/requests/r-anna1"), http.StatusOK)
	wantText(t, doc, "request-verdict", "Waiting 12 min", "whole-gpus", "Can approve: ", "Carla Conti")
	wantAbsent(t, doc, "approval-steps") // one person decides, who is named already
	wantText(t, doc, "course", "Requested", "21 Nov 2026, 11:48", "Waiting for approval", "Started")
	wantText(t, doc, "estimate", "€15.60")
	wantAbsent(t, doc, "again") // while nobody has decided, one changes it
	wantRedirect(t, w.Post(webtest.Anna, "/requests/r-anna1/withdraw", nil))
	if w.Request("r-anna1").State != request.Withdrawn {
		t.Error("it was taken back")
	}
	doc = read(t, w.Get(webtest.Anna, "/requests/r-anna1"), http.StatusOK)
	again, _ := part(doc, "again").Attr("href")
	if q, _ := url.Parse(again); q.Path != "/start" || q.Query().Get("size") != "h100" || q.Query().Get("lease") != "4h" ||
		!strings.Contains(q.Query().Get("reason"), "street scenes") {
		t.Errorf("asking again begins with what was asked, got %s", again)
	}
	rejected := read(t, w.Get(webtest.Anna, "/requests/r-anna0"), http.StatusOK)
	wantText(t, rejected, "request-verdict", "“Try the 40 GB slice first, please: it was free all week.”",
		"Carla Conti rejected it.")
	wantText(t, rejected, "course", "Requested", "Rejected", "15 Nov 2026, 12:20")
	wantAbsent(t, rejected, "approval-steps") // one person decided, which is said already
	if In(part(rejected, "request-verdict"), "again").Length() != 1 {
		t.Error("want the way on beside what was said")
	}
	if !part(rejected, "instead").HasClass("pf-m-primary") || part(rejected, "again").HasClass("pf-m-primary") {
		t.Error("want what starts at once before what was rejected")
	}
	instead, _ := part(rejected, "instead").Attr("href")
	if q, _ := url.Parse(instead); q.Path != "/start" || q.Query().Get("size") != "mig-3g.40gb" {
		t.Errorf("want the start page with a size that starts now, got %s", instead)
	}
}

// TestWhatHasEndedIsRequestedAgain: of a workload that is over there is nothing to see; one wants another.
func TestWhatHasEndedIsRequestedAgain(t *testing.T) {
	t.Parallel()
	w := sceneWorld(t, "requests", "one, approved")
	doc := read(t, w.Get(webtest.Anna, "/requests/r-anna2"), http.StatusOK)
	wantAbsent(t, doc, "became") // the verdict says it
	wantText(t, doc, "request-verdict", "The workload has ended; it cost €", "Carla Conti approved it.",
		"For the deadline.")
	wantText(t, doc, "course", "Requested", "15 Nov 2026, 12:00", "Approved", "15 Nov 2026, 12:20", "Started", "Ended",
		"15 Nov 2026, 16:20")
	if got := textOf(part(doc, "state").First()); got != "Ended" {
		t.Errorf("want what became of it, got %q", got)
	}
	again := part(doc, "again")
	if href := again.AttrOr("href", ""); !strings.HasPrefix(href, "/start?") || !again.HasClass("pf-m-primary") {
		t.Errorf("want it asked again first, got %q", href)
	}
	if part(doc, "to-workload").HasClass("pf-m-primary") {
		t.Error("the way to what has ended is the main one")
	}
	wantAbsent(t, read(t, w.Get(webtest.Carla, "/requests/r-anna2"), http.StatusOK), "again")
}

// TestTheTimelineSaysWhatIsAwaited: an approver, or a seat; taken back is no failure.
func TestTheTimelineSaysWhatIsAwaited(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	r := w.Request("r-anna1")
	r.ID, r.Decision = "r-seat", request.Decision{Rule: "shares-and-slices",
		Seat: &request.SeatWait{Pool: "nvidia-vws", Title: "NVIDIA vWS", Since: webtest.Now.Add(-time.Hour)}}
	w.PutRequest(r)
	seat := read(t, w.Get(webtest.Anna, "/requests/r-seat"), http.StatusOK)
	wantText(t, seat, "course", "Requested", "Waiting for a seat", "Started")
	wantRedirect(t, w.Post(webtest.Anna, "/requests/r-anna1/withdraw", nil))
	withdrawn := part(read(t, w.Get(webtest.Anna, "/requests/r-anna1"), http.StatusOK), "course")
	done := withdrawn.Find(".gp-step--done")
	if done.Length() != 2 || !strings.Contains(textOf(done.Last()), "Withdrawn") {
		t.Errorf("want it requested and withdrawn, both done, got %q", textOf(withdrawn))
	}
}

// TestPendingRequestsAreToldApart: by the reason that each was made for, in a list of several people.
func TestPendingRequestsAreToldApart(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	all := read(t, w.Get(webtest.Carla, "/requests?scope=all"), http.StatusOK).Find("#request-r-anna1")
	if got := textOf(all); !strings.Contains(textOf(In(all, "pending-reason")), "street scenes") ||
		strings.Contains(got, "To decide") {
		t.Errorf("want the reason in place of who decides, got %q", got)
	}
	heads := read(t, w.Get(webtest.Carla, "/requests?scope=all"), http.StatusOK).Find("#requests thead")
	if !strings.Contains(textOf(heads), "Reason") {
		t.Errorf("want a column for it, got %q", textOf(heads))
	}
	mine := read(t, w.Get(webtest.Anna, "/requests"), http.StatusOK).Find("#request-r-anna1")
	if got := textOf(mine); In(mine, "pending-reason").Length() != 0 || !strings.Contains(got, "To decide") {
		t.Errorf("they know why they asked, and want to know who decides, got %q", got)
	}
}

// TestADecisionSaysWhatItTakes: all replicas of a start count; an extension takes nothing that is not held already.
func TestADecisionSaysWhatItTakes(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	r := w.Request("r-anna1")
	r.Spec.Replicas = workload.Range{Min: 2, Max: 2}
	w.PutRequest(r)
	doc := read(t, w.Get(webtest.Carla, "/approvals/r-anna1"), http.StatusOK)
	wantText(t, doc, "quota", "1 of 2 used, 3 after")
	wantText(t, doc, "capacity", "1 of 2 used, 3 after") // it waits for a third
	r = w.Request("r-anna1")
	r.Kind = request.ExtendKind
	w.PutRequest(r)
	for _, bar := range []string{"quota", "capacity"} {
		got := textOf(part(read(t, w.Get(webtest.Carla, "/approvals/r-anna1"), http.StatusOK), bar))
		if strings.Contains(got, "after") || strings.Contains(got, "this one") {
			t.Errorf("an extension takes nothing, got %q", got)
		}
	}
}

// TestTheListLeadsToDecisions: those who can decide a request, and nobody else.
func TestTheListLeadsToDecisions(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	list := read(t, w.Get(webtest.Carla, "/requests?scope=all&by=all"), http.StatusOK)
	for id, want := range map[string]string{"r-anna1": "/approvals/r-anna1", "r-anna0": "/requests/r-anna0"} {
		if href := list.Find("#request-"+id+" a").First().AttrOr("href", ""); href != want {
			t.Errorf("want %s to lead to %s, got %q", id, want, href)
		}
	}
	wantText(t, list, "decide-waiting", "Decide 2 requests")
	if href := part(list, "decide").First().AttrOr("href", ""); !strings.HasPrefix(href, "/approvals/r-") {
		t.Errorf("want each row that waits decided by one click, got %q", href)
	}
	if href := part(list, "decide-waiting").AttrOr("href", ""); href != "/approvals" {
		t.Errorf("want the way to what waits, got %q", href)
	}
	wantAbsent(t, read(t, w.Get(webtest.Carla, "/requests"), http.StatusOK), "decide-waiting")
	asker := read(t, w.Get(webtest.Anna, "/requests?scope=all&by=all"), http.StatusOK)
	wantAbsent(t, asker, "decide-waiting")
	if href := asker.Find("#request-r-anna1 a").First().AttrOr("href", ""); href != "/requests/r-anna1" {
		t.Errorf("want the asker on the page of the request, got %q", href)
	}
}

// TestWhoDecidedIsAskedOfWhatIsDecided: of what waits nobody has decided anything.
func TestWhoDecidedIsAskedOfWhatIsDecided(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for query, shown := range map[string]bool{"": false, "&state=pending": false, "&state=approved": true,
		"&by=rule": true} {
		doc := read(t, w.Get(webtest.Carla, "/requests?scope=all"+query), http.StatusOK)
		if n := part(doc, "filter-by").Length(); n > 0 != shown {
			t.Errorf("%q: want the choice of who decided shown: %t", query, shown)
		}
	}
}

// TestAnApprovedRequestLeadsToItsWorkload: in the list of who asked; others may not see the workload.
func TestAnApprovedRequestLeadsToItsWorkload(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	r := w.Request("r-anna1")
	r.State, r.Workload, r.Decision.ByName = request.Approved, "w-train-resnet", webtest.Carla.Name
	w.PutRequest(r)
	row := In(read(t, w.Get(webtest.Anna, "/requests"), http.StatusOK).Find("#request-r-anna1"), "to-workload")
	if href := row.AttrOr("href", ""); href != "/workloads/w-train-resnet" {
		t.Errorf("want the way to the workload, got %q", href)
	}
	all := read(t, w.Get(webtest.Carla, "/requests?scope=all&by=all"), http.StatusOK).Find("#request-r-anna1")
	if all.Length() != 1 || In(all, "to-workload").Length() != 0 {
		t.Error("want the row without a way to another one's workload")
	}
}

// TestWhoCanDecideIsNamed: not the asker; and where nobody can, that is said.
func TestWhoCanDecideIsNamed(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	r := w.Request("r-anna1")
	r.Asker, r.AskerName = webtest.Carla.ID, webtest.Carla.Name
	w.PutRequest(r)
	doc := read(t, w.Get(webtest.Carla, "/requests/r-anna1"), http.StatusOK)
	wantText(t, doc, "request-verdict", "Can approve: Dora Dahl.")
	r = w.Request("r-olaf1")
	r.Decision.Steps = []policy.Step{{From: []identity.Approvers{{Group: "nobody-is-in-it"}}}}
	w.PutRequest(r)
	wantText(t, read(t, w.Get(webtest.Olaf, "/requests/r-olaf1"), http.StatusOK), "request-verdict",
		"Nobody who has signed in so far can approve it.")
}

func TestListsOfRequests(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	if n := part(read(t, w.Get(webtest.Anna, "/requests"), http.StatusOK), "request-row").Length(); n != 3 {
		t.Errorf("want Anna's three, got %d", n)
	}
	if n := part(read(t, w.Get(webtest.Anna, "/requests?state=rejected"), http.StatusOK), "request-row").Length(); n != 1 {
		t.Errorf("want the rejected one, got %d", n)
	}
	if n := part(read(t, w.Get(webtest.Carla, "/requests?scope=all"), http.StatusOK), "request-row").Length(); n != 4 {
		t.Errorf("an approver sees all four, got %d", n)
	}
	none := read(t, w.Get(webtest.Anna, "/requests?state=expired"), http.StatusOK)
	wantText(t, none, "empty", "No requests")
	if part(none, "filter-state").Length() == 0 {
		t.Error("an empty list keeps its filter")
	}
}

func TestTheInboxShowsWhatADecisionTakes(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Carla, "/approvals"), http.StatusOK)
	if got := textOf(part(doc, "inbox-row").First()); !strings.Contains(got, "Olaf Oster") {
		t.Errorf("who waits longest comes first, got %q", got)
	}
	wantText(t, doc, "approval", "Anna Albers requests") // the other cannot be approved now
	for id, full := range map[string]int{"r-olaf1": 1, "r-anna1": 0} {
		row := doc.Find("[id^=inbox-" + id + "]")
		if got := In(row, "quota-full").Length(); row.Length() != 1 || got != full {
			t.Errorf("%s: want %d warnings that the quota is full, got %d", id, full, got)
		}
	}
	anna := read(t, w.Get(webtest.Carla, "/approvals/r-anna1"), http.StatusOK)
	wantText(t, anna, "approval", "Anna Albers requests Whole H100", "street scenes", "€15.60", "Olaf Oster, team Speech")
	wantText(t, anna, "capacity", "1 of 2 used, 2 after")
	wantText(t, anna, "quota", "1 of 2")
	wantText(t, anna, "asker-history", "Carla Conti rejected it")
	if got, _ := part(anna, "approve").Attr("data-key"); got != "a" {
		t.Errorf("a approves, got %q", got)
	}
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/approvals"), http.StatusOK), "inbox-row", "approve")
}

// Somebody else may decide the oldest while one reads it. The stream of the page stays with the request that is shown,
// or the buttons would come to mean another one.
func TestThePageOfTheInboxStaysWithItsRequest(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Get(webtest.Carla, "/approvals"), http.StatusOK)
	stream, _ := doc.Find("body").Attr("data-live-url")
	if u, _ := url.Parse(stream); u.Query().Get("id") != "r-anna1" || u.Query().Get("page") != "approvals" {
		t.Errorf("want a stream of r-anna1, got %s", stream)
	}
}

func TestDeciding(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	if to := wantRedirect(t, w.Post(webtest.Carla, "/approvals/r-anna1/approve",
		url.Values{"note": {"For today."}, "seen": {"1"}})); to != "/approvals" {
		t.Errorf("want the next one, got %s", to)
	}
	r := w.Request("r-anna1")
	if r.State != request.Approved || r.Decision.Note != "For today." || r.Decision.By != webtest.Carla.ID {
		t.Errorf("want it approved by Carla with a note, got %+v", r.Decision)
	}
	approved := read(t, w.Get(webtest.Anna, "/requests/r-anna1"), http.StatusOK)
	wantText(t, approved, "request-verdict", "Carla Conti approved it", "For today.")
	wantText(t, approved, "to-workload", "Go to the workload")
	wantText(t, approved, "became", "Queued")
	if n := strings.Count(textOf(approved.Find("#request")), "Carla Conti approved it"); n != 1 {
		t.Errorf("want the decision once, got it %d times", n)
	}

	full := read(t, w.Post(webtest.Carla, "/approvals/r-olaf1/approve", url.Values{"note": {"kept note"}, "seen": {"1"}}),
		http.StatusConflict)
	wantText(t, full, "form-errors", "Your team uses 1 of 1")
	if got := full.Find("textarea[name=note]").Text(); got != "kept note" {
		t.Errorf("the note stays, got %q", got)
	}
	wantRedirect(t, w.Post(webtest.Carla, "/approvals/r-olaf1/reject", url.Values{"note": {"Stop one first."},
		"seen": {"1"}}))
	if w.Request("r-olaf1").State != request.Rejected {
		t.Error("it was turned down")
	}
	wantText(t, read(t, w.Get(webtest.Carla, "/approvals/r-olaf1"), http.StatusOK), "why-not", "already decided: rejected")
	wantText(t, read(t, w.Get(webtest.Carla, "/approvals"), http.StatusOK), "empty", "Nothing to approve")
	if got := w.Post(webtest.Anna, "/approvals/r-anna0/approve", nil).Code; got != http.StatusForbidden {
		t.Errorf("nobody decides their own: want 403, got %d", got)
	}
}

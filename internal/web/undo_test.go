package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestADecisionCanBeUndone: without scripts. The page says what was decided and for how long it can be undone; the
// asker reads it; after that time it takes effect, and the button has gone.
func TestADecisionCanBeUndone(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Site.Undo = 10 * time.Second
	yes := url.Values{"note": {"For today."}, "seen": {"1"}}
	if to := wantRedirect(t, w.Post(webtest.Carla, "/approvals/r-anna1/approve?team=vision", yes)); to !=
		"/approvals?team=vision" {
		t.Errorf("the list stays as it was narrowed, got %s", to)
	}
	doc := read(t, w.Get(webtest.Carla, "/approvals"), http.StatusOK)
	wantText(t, doc, "undo-notice", "Approved Whole H100 for Anna Albers.", "10 s", "Undo")
	if n := part(doc, "inbox-row").Length(); n != 1 {
		t.Errorf("what is answered waits no more: want one row, got %d", n)
	}
	if key, _ := part(doc, "undo").Attr("data-key"); key != "u" {
		t.Errorf("u undoes, got %q", key)
	}
	asked := read(t, w.Get(webtest.Anna, "/requests/r-anna1"), http.StatusOK)
	wantText(t, asked, "request-verdict", "Carla Conti approved it.", "unless undone")
	if got := textOf(part(asked, "approval-steps")); strings.Contains(got, "can approve") {
		t.Errorf("it is decided, whoever else could: got %q", got)
	}
	wantAbsent(t, read(t, w.Get(webtest.Dora, "/approvals/r-anna1"), http.StatusOK), "approve", "undo")
	if got := w.Post(webtest.Dora, "/approvals/r-anna1/undo", nil).Code; got != http.StatusForbidden {
		t.Errorf("another approver undoes it: want 403, got %d", got)
	}

	form, _ := part(doc, "undo").Closest("form").Attr("action")
	if to := wantRedirect(t, w.Post(webtest.Carla, form, nil)); to != "/approvals/r-anna1" {
		t.Errorf("the request is shown again, got %s", to)
	}
	wantRedirect(t, w.Post(webtest.Carla, form, nil)) // twice
	back := read(t, w.Get(webtest.Carla, "/approvals/r-anna1"), http.StatusOK)
	wantAbsent(t, back, "undo-notice")
	seen, _ := back.Find("#decide input[name=seen]").Attr("value")
	wantRedirect(t, w.Post(webtest.Carla, "/approvals/r-anna1/approve", url.Values{"seen": {seen}}))

	w.Clock = w.Clock.Add(10 * time.Second)
	wantAbsent(t, read(t, w.Get(webtest.Carla, "/approvals"), http.StatusOK), "undo-notice")
	late := w.Post(webtest.Carla, form, nil)
	if late.Code != http.StatusConflict || !strings.Contains(late.Body.String(), "The undo period is over") {
		t.Errorf("too late: want 409 and what to do, got %d", late.Code)
	}
	if err := w.RequestService.Approvals.ApplyDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := w.Request("r-anna1"); r.State != request.Approved || r.Workload == "" {
		t.Errorf("want it granted, got %s", r.State)
	}
}

// TestSeveralDecisionsAreUndoneOneByOne: of a bulk decision each has a button of its own.
func TestSeveralDecisionsAreUndoneOneByOne(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Site.Undo = 10 * time.Second
	done := read(t, w.Post(webtest.Carla, "/approvals/bulk", url.Values{"verb": {"reject"}, "note": {"not today"},
		"request": {"r-anna1@1", "r-olaf1@1"}}), http.StatusOK)
	if n := part(done, "outcome").Find("[data-test=undo]").Length(); n != 2 {
		t.Fatalf("want an undo for each, got %d", n)
	}
	wantText(t, done, "outcome", "Takes effect in a few seconds.")
	doc := read(t, w.Get(webtest.Carla, "/approvals"), http.StatusOK)
	if n := part(doc, "undo-notice").Length(); n != 2 || doc.Find("[data-key=u]").Length() != 1 {
		t.Errorf("want two notices and one key, got %d", n)
	}
	wantRedirect(t, w.Post(webtest.Carla, "/approvals/r-olaf1/undo", nil))
	if w.Request("r-olaf1").Decision.Deferred != nil || w.Request("r-anna1").Decision.Deferred == nil {
		t.Error("one was undone, and not the other")
	}
}

// many adds requests of Anna's.
func many(w *webtest.World, n int, change func(i int, r *request.Request)) {
	for i := range n {
		r := w.Request("r-anna1")
		r.Key, r.Fingerprint = "", ""
		r.ID = request.ID(fmt.Sprintf("r-many-%02d", i))
		r.CreatedAt = r.CreatedAt.Add(-time.Duration(i+1) * time.Minute)
		change(i, &r)
		w.PutRequest(r)
	}
}

func TestListsOfRequestsAreFilteredAndPaged(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	many(w, 60, func(i int, r *request.Request) {
		if i >= 30 {
			r.State, r.Decision.Steps = request.Approved, nil
		}
		if i == 3 {
			r.Spec.Name = "needle"
		}
	})
	at := func(path string) (rows int, told string) {
		doc := read(t, w.Get(webtest.Carla, "/requests?scope=all"+path), http.StatusOK)
		return part(doc, "request-row").Length(), textOf(doc.Find("[data-filter-count]"))
	}
	for path, want := range map[string]struct {
		rows int
		told string
	}{"": {25, "1–25 of 34 requests"}, "&q=NEEDLE": {1, "one request"}, "&team=speech": {1, "one request"},
		"&by=rule&state=approved": {25, "1–25 of 30 requests"}, "&by=all": {25, "1–25 of 64 requests"},
		"&by=person": {2, "2 requests"}, "&sort=price": {25, "1–25 of 34 requests"}} {
		if rows, told := at(path); rows != want.rows || told != want.told {
			t.Errorf("%q: want %d rows, %q, got %d, %q", path, want.rows, want.told, rows, told)
		}
	}
	doc := read(t, w.Get(webtest.Carla, "/requests?scope=all&team=vision&sort=oldest&by=not-rule"), http.StatusOK)
	next, _ := doc.Find("a[rel=next]").Attr("href")
	if q, _ := url.Parse(next); q.Query().Get("team") != "vision" || q.Query().Get("sort") != "oldest" ||
		q.Query().Get("scope") != "all" || q.Query().Get("cursor") == "" {
		t.Errorf("the next page is of the same list, got %s", next)
	}
	stream, _ := doc.Find("body").Attr("data-live-url")
	if u, _ := url.Parse(stream); u.Query().Get("team") != "vision" || u.Query().Get("sort") != "oldest" ||
		u.Query().Get("by") != "not-rule" {
		t.Errorf("the stream is of the same list, got %s", stream)
	}
	wantText(t, doc, "rules-left-out", "Decided by rules, hidden: 30 requests.")
	show, _ := part(doc, "show-rules").Attr("href")
	all := read(t, w.Get(webtest.Carla, show), http.StatusOK)
	wantAbsent(t, all, "rules-left-out")
	if got := all.Find("form input[name=sort]").AttrOr("value", ""); got != "oldest" {
		t.Errorf("the order stays, got %q", got)
	}
	// those who decide nothing look for their own
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/requests"), http.StatusOK), "rules-left-out")
}

func TestAFilterThatFindsNothingSaysSo(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for _, path := range []string{"/requests?scope=all&sort=price&q=zzz", "/approvals?sort=price&q=zzz"} {
		doc := read(t, w.Get(webtest.Carla, path), http.StatusOK)
		wantText(t, doc, "empty", "No requests match the filter", "Clear filter")
		clear, _ := part(doc, "clear-filter").Attr("href")
		if u, _ := url.Parse(clear); u.Query().Has("q") || u.Query().Get("sort") != "price" {
			t.Errorf("%s: want the filter cleared and the order kept, got %s", path, clear)
		}
		if part(read(t, w.Get(webtest.Carla, clear), http.StatusOK), "empty").Length() > 0 {
			t.Errorf("%s shows nothing", clear)
		}
		if got := part(doc, "filter-text").AttrOr("value", ""); got != "zzz" {
			t.Errorf("what was typed stays, got %q", got)
		}
	}
}

// TestTheInboxKeepsItsFilter: on the way to a request, through a decision and back.
func TestTheInboxKeepsItsFilter(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	many(w, 40, func(int, *request.Request) {})
	doc := read(t, w.Get(webtest.Carla, "/approvals?q=anna&sort=newest"), http.StatusOK)
	rows := part(doc, "inbox-row")
	if rows.Length() != 25 || strings.Contains(textOf(rows), "Olaf") {
		t.Fatalf("want 25 of Anna's, got %d", rows.Length())
	}
	if got := textOf(doc.Find(".gp-pagination__shown")); got != "1–25 of 41 requests" {
		t.Errorf("want the count, got %q", got)
	}
	for _, link := range []string{rows.First().Find("a").AttrOr("href", ""), doc.Find("#decide").AttrOr("action", ""),
		part(doc, "reject").AttrOr("formaction", ""), part(doc, "tick-all").AttrOr("href", "")} {
		if u, _ := url.Parse(link); u.Query().Get("q") != "anna" || u.Query().Get("sort") != "newest" {
			t.Errorf("want the filter kept, got %s", link)
		}
	}
}

package web_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// row is the line of the workload with this name.
func row(doc *goquery.Document, name string) *goquery.Selection {
	return doc.Find(`tr[data-name="` + name + `"]`)
}

func In(s *goquery.Selection, name string) *goquery.Selection {
	return s.Find(`[data-test="` + name + `"]`)
}

func TestHomeShowsWhatIHave(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Get(webtest.Anna, "/"), http.StatusOK)
	running := row(doc, "train-resnet")
	if got := textOf(In(running, "state")); got != "Running" {
		t.Errorf("want Running, got %q", got)
	}
	if got, _ := In(running, "open").Attr("href"); got != "http://train-resnet.localhost:8080/lab" {
		t.Errorf("Open leads to %q", got)
	}
	if got := textOf(In(running, "cost")); got != "€1.65" {
		t.Errorf("three hours at 0.55: want €1.65, got %q", got)
	}
	for _, name := range []string{"sweep-lr", "nb-anna-anna1"} {
		if got := textOf(In(row(doc, name), "cost")); got != "–" {
			t.Errorf("%s: want no cost of what has not started, got %q", name, got)
		}
	}
	if got := textOf(In(row(doc, "sweep-lr"), "state")); !strings.Contains(got, "All nodes are full") {
		t.Errorf("a waiting one says why, got %q", got)
	}
	if n := In(row(doc, "sweep-lr"), "open").Length(); n != 0 {
		t.Error("there is nothing to open yet")
	}
	if got := textOf(In(row(doc, "old-notes"), "resume")); got != "Resume" {
		t.Errorf("a stopped one can be resumed, got %q", got)
	}
	if got := textOf(In(row(doc, "nb-anna-anna1"), "state")); !strings.Contains(got, "Waiting for approval") {
		t.Errorf("a request stands among them, got %q", got)
	}
	if row(doc, "render-farm").Length() != 0 {
		t.Error("a colleague's stands under the team, not here")
	}
	first, _ := doc.Find("tr[data-name]").First().Attr("data-name")
	if first != "vlm-test" {
		t.Errorf("what failed comes first, got %s", first)
	}
	rows := strconv.Itoa(doc.Find("tr[data-name]").Length()) // a start that waits for approval is one of them
	if count := textOf(doc.Find("[data-filter-count]")); count != rows+" entries" {
		t.Errorf("want as many entries as rows, %s, got %q", rows, count)
	}
}

func TestHomeBeginsWithWhatWantsADecision(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Get(webtest.Anna, "/"), http.StatusOK)
	wantAbsent(t, doc, "attention-ending", "attention-failed") // their rows say and offer it
	ending, failed := row(doc, "llm-chat"), row(doc, "vlm-test")
	if got := textOf(In(ending, "lease")); !strings.Contains(got, "38 min") || !strings.Contains(got, "Extend by 8 h") {
		t.Errorf("want the time that is left with the click that adds to it, got %q", got)
	}
	if got := textOf(In(ending, "state")); !strings.Contains(got, "Ends at 12:38 UTC") {
		t.Errorf("want its end, got %q", got)
	}
	if got, _ := In(ending, "extend-now").Closest("form").Attr("action"); got != "/workloads/w-llm-chat/extend" {
		t.Errorf("the button posts to %q", got)
	}
	if got := textOf(In(failed, "state")); !strings.Contains(got, "exited with error 1") {
		t.Errorf("want the reason, got %q", got)
	}
	if got := In(failed, "row-start-again").AttrOr("href", ""); !strings.Contains(got, "replaces=w-vlm-test") {
		t.Errorf("want the start page for one in its place, got %q", got)
	}
	elsewhere := read(t, webtest.Busy(t).Get(webtest.Anna, "/?q=train-resnet"), http.StatusOK)
	wantText(t, elsewhere, "attention-ending", "llm-chat stops in 38 min", "12:38 UTC", "Extend by 8 h")
	wantText(t, elsewhere, "attention-failed", "vlm-test failed", "exited with error 1")
	if lead := textOf(doc.Find(".gp-header")); !strings.Contains(lead, "1 failed") {
		t.Errorf("want the failed one counted, got %q", lead)
	}
	wantAbsent(t, doc, "attention-approvals")
	wantText(t, read(t, webtest.Busy(t).Get(webtest.Carla, "/"), http.StatusOK), "attention-approvals",
		"2 requests wait for your decision", "Available now", "1 free of 2")
	approver := read(t, webtest.Busy(t).Get(webtest.Carla, "/"), http.StatusOK)
	for i, want := range []struct {
		quota string
		full  int
	}{{"1 used of 1", 1}, {"1 used of 2", 0}} {
		line := part(approver, "decide-row").Eq(i)
		if got := In(line, "quota-full").Length(); got != want.full || !strings.Contains(textOf(line), want.quota) {
			t.Errorf("row %d: want the quota %s with %d warnings, got %q", i, want.quota, want.full, textOf(line))
		}
		if b := In(line, "decide"); b.Length() != 1 || b.HasClass("pf-m-primary") {
			t.Errorf("row %d: want the same button in each row", i)
		}
	}
	wantText(t, approver, "decided", "Approved by you", "Rejected by you", "Last week's experiment.")
	wantAbsent(t, doc, "decided") // the page is for something else
}

// TestAGPUWithoutWorkIsMarked: the line of one that did nothing for an hour has the colour of a warning.
func TestAGPUWithoutWorkIsMarked(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Many()
	doc := read(t, w.Get(webtest.Anna, "/"), http.StatusOK)
	for name, idle := range map[string]int{"trial-00": 1, "trial-43": 0, "llm-chat": 0} {
		if got := In(row(doc, name), "use").Find(".gp-spark--warning").Length(); got != idle {
			t.Errorf("%s: want %d marks, got %d", name, idle, got)
		}
	}
}

func TestTheTeamsViewShowsColleagues(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Get(webtest.Anna, "/?scope=team"), http.StatusOK)
	colleague := row(doc, "render-farm")
	if !strings.Contains(textOf(In(colleague, "name")), "Ben Brandt") {
		t.Errorf("want Ben's with his name, got %q", textOf(colleague))
	}
	if In(colleague, "open").Length() != 0 {
		t.Error("it is not shared, so it cannot be opened")
	}
	ben := read(t, webtest.Busy(t).Get(webtest.Ben, "/?scope=team"), http.StatusOK)
	wantAbsent(t, ben, "attention-ending", "attention-failed")
	if In(row(ben, "llm-chat"), "extend-now").Length() != 1 {
		t.Error("an owner extends the leases of the team")
	}
	if got := textOf(In(row(ben, "vlm-test"), "state")); !strings.Contains(got, "exited with error 1") {
		t.Errorf("want the failure of a colleague in its row, got %q", got)
	}
	for name, want := range map[string]string{"render-farm": "Open", "llm-chat": "Try it"} {
		if got := textOf(In(row(ben, name), "open")); got != want {
			t.Errorf("%s: want %q, got %q", name, want, got)
		}
	}
	if own := textOf(In(row(ben, "render-farm"), "name")); !strings.Contains(own, "Ben Brandt") {
		t.Errorf("want the rows of a team to say alike whose each is, got %q", own)
	}
	wantAbsent(t, read(t, webtest.Busy(t).Get(webtest.Ben, "/"), http.StatusOK), "attention-ending", "attention-failed")
	if In(row(ben, "llm-chat"), "open").Length() != 1 {
		t.Error("what is shared can be opened by a colleague")
	}
}

func TestAnEmptyHomeSaysWhatToDo(t *testing.T) {
	t.Parallel()
	w := webtest.Empty(t)
	doc := read(t, w.Get(webtest.Anna, "/"), http.StatusOK)
	wantText(t, doc, "step-size", "Choose a size")
	wantText(t, doc, "step-start", "notebook", "endpoint", "job")
	wantText(t, doc, "step-open", "Jupyter", "address", "log")
	part(doc, "empty").Find("li a").Each(func(_ int, a *goquery.Selection) {
		read(t, w.Get(webtest.Anna, a.AttrOr("href", "")), http.StatusOK)
	})
	if got, _ := part(doc, "empty-start").Attr("href"); got != "/start" {
		t.Errorf("Start leads to %q", got)
	}
	wantAbsent(t, doc, "start-smallest") // nothing is known of a cluster, so nothing is promised
	team := read(t, w.Get(webtest.Anna, "/?scope=team"), http.StatusOK)
	wantText(t, team, "empty", "Your teams have no GPU yet")
	wantAbsent(t, team, "step-size")
	nobody := read(t, w.Get(webtest.Nemo, "/"), http.StatusOK)
	wantText(t, nobody, "empty", "owner to add you")
	wantAbsent(t, nobody, "empty-start", "start")
}

// TestTheLastStartIsRepeatedWithOneClick: the button sends what was sent last. Where somebody has to approve it, the
// filled form comes back, asks for a reason and nothing was sent.
func TestTheLastStartIsRepeatedWithOneClick(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	again := func() url.Values {
		t.Helper()
		sent := url.Values{}
		read(t, w.Get(webtest.Anna, "/"), http.StatusOK).Find("form:has([data-test=repeat]) input").Each(
			func(_ int, s *goquery.Selection) { sent.Add(s.AttrOr("name", ""), s.AttrOr("value", "")) })
		return sent
	}
	last := again() // a whole card
	doc := read(t, w.Post(webtest.Anna, "/start", last), http.StatusUnprocessableEntity)
	wantText(t, doc, "form-errors", "what it is for")
	wantText(t, doc, "verdict", "Needs approval")
	if got := chosen(doc); got != last.Get("size") || got != "h100" {
		t.Errorf("want the form filled with the last start, got %q", got)
	}
	wantRedirect(t, w.Post(webtest.Anna, "/start", form("lease", "2h", "name", "earlier")))
	before := len(w.Works())
	if last = again(); last.Get("size") != "mig-1g.10gb" || last.Get("lease") != "2h" || last.Get("storage") != "10Gi" {
		t.Errorf("want the last start, got %v", last)
	}
	to := wantRedirect(t, w.Post(webtest.Anna, "/start", last))
	if !strings.HasPrefix(to, "/workloads/") || len(w.Works()) != before+1 {
		t.Errorf("want another one like it, got %s and %d", to, len(w.Works())-before)
	}
}

func TestAQuotaIsABarForEachSize(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Get(webtest.Anna, "/"), http.StatusOK)
	bars := part(doc, "quota-bar")
	if bars.Length() != 6 {
		t.Fatalf("want six sizes, got %d", bars.Length())
	}
	if got := textOf(bars.Last()); got != "Whole H100 1 of 2" {
		t.Errorf("want one of two, got %q", got)
	}
}

func TestOutagesAreSaidOnEveryPage(t *testing.T) {
	t.Parallel()
	for _, s := range webtest.Scenes() {
		if s.Name != "cluster and metrics away" {
			continue
		}
		answer, err := s.Render("en", "")
		if err != nil {
			t.Fatal(err)
		}
		doc := read(t, answer, http.StatusOK)
		wantText(t, doc, "strip-cluster", "since 11:35 UTC", "your requests are kept")
		wantText(t, doc, "strip-prometheus", "since 11:56 UTC")
		if got := textOf(In(row(doc, "train-resnet"), "use")); got != "unknown" {
			t.Errorf("a use that nobody measured is unknown, got %q", got)
		}
	}
}

// TestALongListIsFilteredByState: the choices are those of the head with their counts; what waits for an approval is
// with what waits, and nonsense chooses all.
func TestALongListIsFilteredByState(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Many()
	var options []string
	doc := read(t, w.Get(webtest.Anna, "/"), http.StatusOK)
	for _, o := range part(doc, "filter-state").Find("option").EachIter() {
		options = append(options, textOf(o))
	}
	if got, want := strings.Join(options, ", "), "Any state, 52 running, 1 failed, 2 waiting, 11 stopped"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	rows := part(doc, "workload-row")
	if first, next := rows.Eq(0).AttrOr("data-name", ""), rows.Eq(1).AttrOr("data-name", ""); first != "vlm-test" ||
		next != "llm-chat" { // of what runs, its lease ends next
		t.Errorf("want vlm-test and llm-chat first, got %s and %s", first, next)
	}
	if got := textOf(doc.Find("[data-filter-count]")); got != "1–25 of 65" {
		t.Errorf("want workloads counted without the request that waits, got %q", got)
	}
	for state, want := range map[string]string{"stopped": "Stopped", "failed": "Failed"} {
		rows := part(read(t, w.Get(webtest.Anna, "/?state="+state), http.StatusOK), "workload-row")
		for _, r := range rows.EachIter() {
			if got := textOf(In(r, "state")); !strings.HasPrefix(got, want) {
				t.Errorf("%s: got a row %q", state, got)
			}
		}
		if n := map[string]int{"stopped": 11, "failed": 1}[state]; rows.Length() != n {
			t.Errorf("%s: want %d rows, got %d", state, n, rows.Length())
		}
	}
	waiting := read(t, w.Get(webtest.Anna, "/?state=waiting"), http.StatusOK)
	if row(waiting, "sweep-lr").Length() != 1 || row(waiting, "nb-anna-anna1").Length() != 1 ||
		row(waiting, "train-resnet").Length() != 0 {
		t.Errorf("want what waits and no more, got %q", textOf(waiting.Find("#home-list")))
	}
	if n := part(read(t, w.Get(webtest.Anna, "/?state=nonsense"), http.StatusOK), "filter-state").
		Find("[selected]").AttrOr("value", ""); n != "" {
		t.Errorf("want nonsense to choose all, got %q", n)
	}
}

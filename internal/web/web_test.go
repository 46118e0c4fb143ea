package web_test

import (
	"encoding/csv"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// read parses an answer and asks that it has the status.
func read(t *testing.T, answer *httptest.ResponseRecorder, status int) *goquery.Document {
	t.Helper()
	if answer.Code != status {
		t.Fatalf("want status %d, got %d: %.400s", status, answer.Code, answer.Body)
	}
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(answer.Body.String()))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// Part is the element with this data-test.
func part(doc *goquery.Document, name string) *goquery.Selection {
	return doc.Find(`[data-test="` + name + `"]`)
}

// textOf is what a person reads in it, with single spaces.
func textOf(s *goquery.Selection) string { return strings.Join(strings.Fields(s.Text()), " ") }

// wantText asks that an element is there and says all of this.
func wantText(t *testing.T, doc *goquery.Document, name string, words ...string) {
	t.Helper()
	s := part(doc, name)
	if s.Length() == 0 {
		t.Errorf("%s is not on the page", name)
		return
	}
	for _, w := range words {
		if !strings.Contains(textOf(s), w) {
			t.Errorf("%s: want %q, got %q", name, w, textOf(s))
		}
	}
}

func wantAbsent(t *testing.T, doc *goquery.Document, names ...string) {
	t.Helper()
	for _, name := range names {
		if s := part(doc, name); s.Length() > 0 {
			t.Errorf("%s should not be there, it says %q", name, textOf(s))
		}
	}
}

// wantRedirect asks for a 303 and gives where it leads.
func wantRedirect(t *testing.T, answer *httptest.ResponseRecorder) string {
	t.Helper()
	if answer.Code != http.StatusSeeOther {
		t.Fatalf("want a redirect, got %d: %.400s", answer.Code, answer.Body)
	}
	return answer.Header().Get("Location")
}

var bareID = regexp.MustCompile(
	`\b(?:web|home|start|workload|requests?|storage|volume|fleet|licenses|usage|team|account|audit|sizes|offer|capacity|state|role|policy|ui|layout)\.[a-z][a-z_.-]+\b`)

// leftToMakeTest skips what makes hundreds of pages when tests are to be short, as in make check.
func leftToMakeTest(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("makes hundreds of pages: make test runs it")
	}
}

// Every scene in each language: no message without words, no Go formatting slip, one h1, and the language said.
func TestEveryPageInEveryLanguage(t *testing.T) {
	leftToMakeTest(t)
	t.Parallel()
	for _, s := range webtest.Scenes() {
		s.EachLanguage(func(lang string, answer *httptest.ResponseRecorder, err error) {
			t.Run(s.Area+"/"+s.Name+"/"+lang, func(t *testing.T) {
				if err != nil {
					t.Fatal(err)
				}
				doc, err := goquery.NewDocumentFromReader(answer.Body)
				if err != nil {
					t.Fatal(err)
				}
				doc.Find("code, pre, option").Remove()
				if text := doc.Find("body").Text(); strings.Contains(text, "%!") || strings.Contains(text, "<no value>") {
					t.Errorf("a slip in formatting: %.200s", text)
				} else if id := bareID.FindString(text); id != "" && !strings.HasSuffix(id, ".org") {
					t.Errorf("%s has no words", id)
				}
				if n := doc.Find("h1").Length(); n != 1 {
					t.Errorf("want one h1, got %d", n)
				}
				if got, _ := doc.Find("html").Attr("lang"); got != lang {
					t.Errorf("want lang %s, got %s", lang, got)
				}
			})
		})
	}
}

func TestEveryRouteNamesAnAction(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range webtest.Empty(t).Web.Routes() {
		if !slices.Contains(identity.Actions(), r.Action) {
			t.Errorf("%s %s names no known action: %q", r.Method, r.Path, r.Action)
		}
		if r.Method != http.MethodGet && r.Method != http.MethodPost {
			t.Errorf("%s %s: a page knows GET and POST only", r.Method, r.Path)
		}
		if seen[r.Method+r.Path] {
			t.Errorf("%s %s is there twice", r.Method, r.Path)
		}
		seen[r.Method+r.Path] = true
	}
}

// Someone of another team finds nothing of vision's on any page, and no way to change it; neither by its number.
func TestAnotherTeamSeesNothing(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	names := []string{"train-resnet", "llm-chat", "sweep-lr", "render-farm", "Anna", "Ben Brandt", "r-anna1",
		"datasets-kept", "gpu-vision"}
	for _, path := range []string{"/", "/?scope=team", "/?scope=all", "/requests?scope=all", "/storage?scope=team",
		"/fleet", "/licenses", "/team", "/account", "/start"} {
		text := w.Get(webtest.Olaf, path).Body.String()
		for _, name := range names {
			if strings.Contains(text, name) {
				t.Errorf("%s tells Olaf of %s", path, name)
			}
		}
	}
	for _, path := range []string{"/workloads/w-train-resnet", "/workloads/w-train-resnet/objects",
		"/workloads/w-train-resnet/history", "/workloads/w-train-resnet/extend",
		"/workloads/w-train-resnet/delete", "/workloads/w-llm-chat/keys", "/requests/r-anna1",
		"/storage/datasets-kept/delete", "/audit",
		"/live?page=workload&id=w-train-resnet", "/live?page=nothing"} {
		if got := w.Get(webtest.Olaf, path).Code; got != http.StatusNotFound {
			t.Errorf("%s: want 404, got %d", path, got)
		}
	}
	for _, path := range []string{"/workloads/w-train-resnet/stop", "/workloads/w-train-resnet/start",
		"/workloads/w-train-resnet/share", "/workloads/w-train-resnet/extend",
		"/workloads/w-train-resnet/delete", "/storage/datasets-kept/delete", "/requests/r-anna1/withdraw",
		"/approvals/r-anna1/approve", "/account/tokens/kq3vT0x8Yw1mZ4nB/revoke"} {
		if got := w.Post(webtest.Olaf, path, url.Values{"lease": {"1h"}}).Code; got != http.StatusNotFound {
			t.Errorf("POST %s: want 404, got %d", path, got)
		}
	}
}

func TestTheAuditIsForThoseWhoSeeAll(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Eli, "/audit"), http.StatusOK)
	record := w.Record()
	record = record[max(0, len(record)-page.RowsPerPage):]
	rows := len(record) // of the first page, on which the three events of what a rule approved are one row
	for i, e := range record {
		if e.Kind == audit.WorkloadCreated && i >= 2 && record[i-1].Kind == audit.RequestAutoApproved {
			rows -= 2
		}
	}
	if n := part(doc, "event").Length(); n != rows || n == len(record) {
		t.Errorf("want %d events in %d rows, got %d", len(record), rows, n)
	}
	wantText(t, doc, "event", "requested, auto-approved")
	wantText(t, doc, "event-entries", "24, 25, 26")
	wantText(t, doc, "event", "24–26")
	first := part(doc, "event").First()
	if at := first.Find("time").Last(); at.AttrOr("title", "") != "21 Nov 2026, 11:48:00 UTC" || textOf(at) != "11:48" {
		t.Errorf("want the second in the title alone, got %q and %q", at.AttrOr("title", ""), textOf(at))
	}
	day := func(row *goquery.Selection) (string, bool) {
		_, hidden := row.Find("[data-day]").Attr("hidden")
		return textOf(row.Find("[data-day]")), hidden
	}
	if is, hidden := day(first); is != "21 Nov 2026" || hidden {
		t.Errorf("want the day of the first row, got %q, hidden %v", is, hidden)
	}
	if is, hidden := day(part(doc, "event").Eq(1)); is != "21 Nov 2026" || !hidden {
		t.Errorf("want the same day said once, got %q, hidden %v", is, hidden)
	}
	if id := textOf(first.Find("td[data-label=Object] a")); id != "w-sweep-lr" {
		t.Errorf("want what it is about in a column of its own, got %q", id)
	}
	wantAbsent(t, doc, "outcome") // it is told where something was refused or failed
	made := url.Values{"panel": {"workload"}, "subject": {"w-train-resnet"}, "lasts": {"1d"}}
	read(t, w.Post(webtest.Anna, "/embeds", made), http.StatusOK)
	if e := w.Record(); e[len(e)-1].Kind != audit.EmbedCreated || e[len(e)-1].Tenant != "vision" {
		t.Errorf("want the team of a workload with its embed address, got %+v", e[len(e)-1])
	}
	part(doc, "event").Each(func(_ int, row *goquery.Selection) {
		if text := textOf(row); strings.Contains(text, "train-resnet (e-") && !strings.Contains(text, "Vision") {
			t.Errorf("want the team of the workload, got %q", text)
		}
	})
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/"), http.StatusOK), "nav-audit")
	none := read(t, w.Get(webtest.Eli, "/audit?kind=token.revoked"), http.StatusOK)
	wantText(t, none, "empty", "No matches for the filter")
}

func TestAnEventCanBeLookedInto(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	changed := audit.By(w.Actor(webtest.Dora), audit.RulesSaved, webtest.Now).For(webtest.Olaf)
	changed.Changes = []audit.Change{{Field: "whole-gpus.outcome", Old: "approve", New: "<b>refuse</b>"}}
	if err := w.Append(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	doc := read(t, w.Get(webtest.Eli, "/audit?kind=rules.saved"), http.StatusOK)
	wantText(t, doc, "event-change", "whole-gpus.outcome")
	wantText(t, doc, "event-change", "approve")
	wantText(t, doc, "event-change", "<b>refuse</b>")
	wantText(t, doc, "event-behalf", webtest.Olaf.Name)
	if !part(doc, "event").Next().Is("[data-test=event-facts]") {
		t.Error("want what an event opens in the row below it")
	}
	all := read(t, w.Get(webtest.Eli, "/audit?kind=request.submitted"), http.StatusOK)
	wantText(t, all, "event-credential", "nightly training (gpp_q7)")
	for query, want := range map[string]int{"text=refuse": 1, "text=never": 0, "from=2999-01-01": 0, "until=1999-01-01": 0,
		"from=nonsense&kind=rules.saved": 1, "person=" + url.QueryEscape(webtest.Dora.Name): 1} {
		if got := part(read(t, w.Get(webtest.Eli, "/audit?"+query), http.StatusOK), "event").Length(); got != want {
			t.Errorf("%s: want %d events, got %d", query, want, got)
		}
	}
}

func TestTheAuditSaysWhatItIsNarrowedBy(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	seen := audit.Event{Kind: audit.WorkloadObserved, At: webtest.Now, Workload: "w-llm-chat", ActorName: "GPU Portal"}
	if err := w.Append(t.Context(), seen); err != nil {
		t.Fatal(err)
	}
	get := func(query string) *goquery.Document {
		return read(t, w.Get(webtest.Eli, "/audit"+query), http.StatusOK)
	}
	narrowed := get("?category=workloads&kind=workload.created&tenant=vision&from=2026-11-01&cursor=")
	for chip, want := range map[string]string{"kind": "created the workload", "tenant": "Vision", "from": "2026-11-01"} {
		wantText(t, narrowed, "chip-"+chip, want)
	}
	wantAbsent(t, narrowed, "chip-person")
	without := part(narrowed, "chip-tenant").AttrOr("href", "")
	if want := "/audit?category=workloads&from=2026-11-01&kind=workload.created"; without != want {
		t.Errorf("the list without the team: want %s, got %s", want, without)
	}
	if got := part(get("?category=nonsense"), "event").Length(); got != part(get(""), "event").Length() {
		t.Errorf("a category that is none leaves %d events", got)
	}
	for query, want := range map[string]bool{"": false, "?tenant=vision": false, "?status=shown": true,
		"?kind=workload.observed": true, "?workload=w-llm-chat": true, "?category=workloads": false,
		"?category=storage&status=shown": false} {
		if got := strings.Contains(part(get(query), "event").Text(), "status changed"); got != want {
			t.Errorf("%q shows what clusters said: want %t, got %t", query, want, got)
		}
	}
}

func TestTheAuditCanBeTakenAlong(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	whole := w.Get(webtest.Eli, "/audit/export?format=record&kind=token.revoked")
	chain, err := audit.Verify(whole.Body)
	if err != nil || chain.Count != int64(len(w.Record())) {
		t.Errorf("want all %d events, filter or not, got %+v, %v", len(w.Record()), chain, err)
	}
	table := w.Get(webtest.Eli, "/audit/export?format=csv&tenant=vision")
	rows, err := csv.NewReader(table.Body).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows[1:] {
		if row[7] != "vision" {
			t.Errorf("want what the filter chooses, got %v", row)
		}
	}
	if got := table.Header().Get("Content-Disposition"); !strings.HasPrefix(got, `attachment; filename="audit-`) {
		t.Errorf("want a file, got %s", got)
	}
}

func TestSettingsComeBackToThisSiteOnly(t *testing.T) {
	t.Parallel()
	w := webtest.Empty(t)
	cases := map[string]string{
		"/workloads/w-1?x=1": "/workloads/w-1?x=1", "//evil.example.org/": "/", "https://evil.example.org/": "/",
		"/\\evil.example.org": "/", "javascript:alert(1)": "/", "": "/",
	}
	for back, want := range cases {
		if got := wantRedirect(t, w.Post(webtest.Anna, "/settings/theme",
			url.Values{"theme": {"dark"}, "back": {back}})); got != want {
			t.Errorf("back to %q: want %q, got %q", back, want, got)
		}
	}
	answer := w.Post(webtest.Anna, "/settings/language", url.Values{"lang": {"de"}, "back": {"/team"}})
	if cookie := answer.Result().Cookies()[0]; cookie.Name != edge.Language || cookie.Value != "de" || !cookie.HttpOnly ||
		cookie.SameSite != http.SameSiteLaxMode {
		t.Errorf("want an HttpOnly, lax cookie of this host with de, got %v", cookie)
	}
	if got := w.Post(webtest.Anna, "/settings/team", url.Values{"team": {"speech"}}).Code; got != http.StatusNotFound {
		t.Errorf("a team one is not in: want 404, got %d", got)
	}
}

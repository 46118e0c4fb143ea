package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// event is one message of a stream.
type event struct{ name, data string }

// fragments are the parts that a message carries, by id.
func (e event) fragments(t *testing.T) map[string]string {
	t.Helper()
	var list []struct{ ID, HTML string }
	if err := json.Unmarshal([]byte(e.data), &list); err != nil {
		t.Fatalf("%s: %v", e.data, err)
	}
	parts := map[string]string{}
	for _, f := range list {
		parts[f.ID] = f.HTML
	}
	return parts
}

// follow opens the stream of a page; the channel closes when the stream ends.
func follow(t *testing.T, w *webtest.World, p identity.Person, query string) (<-chan event, int) {
	t.Helper()
	server := httptest.NewServer(w.Handler(p, "en"))
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); server.CloseClientConnections(); server.Close() })
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/live?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan event, 16)
	go func() {
		defer close(events)
		defer func() { _ = answer.Body.Close() }()
		lines, e := bufio.NewScanner(answer.Body), event{}
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			switch line := lines.Text(); {
			case strings.HasPrefix(line, "event: "):
				e.name = line[7:]
			case strings.HasPrefix(line, "data: "):
				e.data = line[6:]
			case line == "":
				events <- e
			}
		}
	}()
	return events, answer.StatusCode
}

// next waits for the next message.
func next(t *testing.T, events <-chan event) event {
	t.Helper()
	select {
	case e, ok := <-events:
		if !ok {
			t.Fatal("the stream has ended")
		}
		return e
	case <-time.After(time.Minute):
		t.Fatal("nothing came")
	}
	return event{}
}

// quiet asks that nothing comes for a moment longer than changes are gathered.
func quiet(t *testing.T, events <-chan event, why string) {
	t.Helper()
	select {
	case e := <-events:
		t.Errorf("%s, but got %s %.200s", why, e.name, e.data)
	case <-time.After(400 * time.Millisecond):
	}
}

// The main promise of the page: the asker sees the decision at once, without reloading.
func TestTheAskerSeesTheDecisionAtOnce(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	events, _ := follow(t, w, webtest.Anna, "page=request&id=r-anna1")
	if first := next(t, events).fragments(t); !strings.Contains(first["request"], "Waiting 12 min") {
		t.Errorf("a stream begins with how it is, so that nothing is missed before it: %v", first)
	}
	wantRedirect(t, w.Post(webtest.Carla, "/approvals/r-anna1/approve", url.Values{"note": {"For today."}, "seen": {"1"}}))
	if got := next(t, events).fragments(t)["request"]; !strings.Contains(got, "Carla Conti approved it") ||
		!strings.Contains(got, "For today.") {
		t.Errorf("want the decision, got %.300s", got)
	}
}

func TestTheInboxFillsByItself(t *testing.T) {
	t.Parallel()
	w := webtest.Empty(t)
	events, _ := follow(t, w, webtest.Carla, "page=approvals")
	next(t, events)
	wantRedirect(t, w.Post(webtest.Anna, "/start", form("size", "h100", "lease", "4h", "reason", "the demo")))
	got := next(t, events).fragments(t)
	if !strings.Contains(got["inbox-page"], "the demo") ||
		!strings.Contains(got["nav-waiting"], "One request waits for you") {
		t.Errorf("want the request and its count, got %v", got)
	}
}

// TestTheOutputOfAJobIsReadOn: what it has written since comes by itself; a log that cannot be read leaves the last.
func TestTheOutputOfAJobIsReadOn(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Add(w.Workload("finetune", webtest.Anna, "mig-1g.10gb").Job().Running("gpu-02", 47*time.Minute, 7*time.Hour))
	w.Logs.Written["w-finetune"] = webtest.LinesUntil(w.Clock, "epoch 1/3")
	events, _ := follow(t, w, webtest.Anna, "page=workload&id=w-finetune")
	if first := next(t, events).fragments(t)["workload-start"]; !strings.Contains(first, "Epoch 1 of 3") {
		t.Fatalf("want what it has written, got %.300s", first)
	}
	w.Clock = w.Clock.Add(20 * time.Second)
	w.Logs.Written["w-finetune"] = webtest.LinesUntil(w.Clock, "epoch 2/3")
	w.Hub.Publish(live.Change{Topic: live.TopicMetrics})
	if got := next(t, events).fragments(t)["workload-start"]; !strings.Contains(got, "Epoch 2 of 3") {
		t.Errorf("want what it wrote since, got %.300s", got)
	}
	w.Clock = w.Clock.Add(20 * time.Second)
	delete(w.Logs.Written, "w-finetune")
	w.Hub.Publish(live.Change{Topic: live.TopicMetrics})
	if got, changed := next(t, events).fragments(t)["workload-start"]; changed {
		t.Errorf("want what was read last, got %.300s", got)
	}
}

func TestReadingsComeAloneAndOnlyWhenTheyDiffer(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	events, _ := follow(t, w, webtest.Anna, "page=home")
	next(t, events)
	w.Hub.Publish(live.Change{Topic: live.TopicMetrics})
	quiet(t, events, "nothing is different")
	r := w.Readings["train-resnet-0"]
	r.Live.Devices = []gpumetrics.Device{{Engine: gpumetrics.Reading{Value: 12, At: webtest.Now,
		Source: gpumetrics.Measured}}}
	w.Readings["train-resnet-0"] = r
	w.Hub.Publish(live.Change{Topic: live.TopicMetrics})
	got := next(t, events).fragments(t)
	if len(got) != 1 || !strings.Contains(got["use-w-train-resnet"], "12") {
		t.Errorf("want the one use that changed, got %v", got)
	}
}

func TestAStreamTellsNothingOfOthers(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	events, _ := follow(t, w, webtest.Olaf, "page=home")
	next(t, events)
	wantRedirect(t, w.Post(webtest.Anna, "/workloads/w-train-resnet/stop", nil))
	quiet(t, events, "Olaf is in another team")
}

func TestAStreamEndsWithItsSession(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	events, _ := follow(t, w, webtest.Anna, "page=home")
	next(t, events)
	begun := time.Now()
	w.Dead.Store(true)
	if e := next(t, events); e.name != "reload" {
		t.Errorf("the page is told to load itself, which leads to the sign-in; got %s", e.name)
	}
	if _, open := <-events; open {
		t.Error("then the stream ends")
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("within half a minute, took %s", took)
	}
}

func TestTooManyPages(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for range 3 {
		if _, status := follow(t, w, webtest.Anna, "page=home"); status != http.StatusOK {
			t.Fatalf("want 200, got %d", status)
		}
	}
	if _, status := follow(t, w, webtest.Anna, "page=home"); status != http.StatusTooManyRequests {
		t.Errorf("the fourth of three: want 429, got %d", status)
	}
	if _, status := follow(t, w, webtest.Ben, "page=home"); status != http.StatusOK {
		t.Errorf("others are not held up: want 200, got %d", status)
	}
}

// Whatever a stream draws has its place on the page, or it would be dropped there in silence.
func TestEveryPartHasItsPlaceOnThePage(t *testing.T) {
	t.Parallel()
	pages := map[string]string{"home": "/", "start": "/start", "workload": "/workloads/w-train-resnet",
		"objects": "/workloads/w-train-resnet/objects", "history": "/workloads/w-train-resnet/history",
		"requests": "/requests", "request": "/requests/r-anna1", "storage": "/storage", "fleet": "/fleet",
		"licenses": "/licenses", "team": "/team"}
	for name, path := range pages {
		t.Run(name, func(t *testing.T) {
			w := webtest.Busy(t)
			doc := read(t, w.Get(webtest.Anna, path), http.StatusOK)
			stream, _ := doc.Find("body").Attr("data-live-url")
			u, err := url.Parse(stream)
			if err != nil || u.Query().Get("page") != name {
				t.Fatalf("want a stream of %s, got %q", name, stream)
			}
			events, _ := follow(t, w, webtest.Anna, u.RawQuery)
			for id, html := range next(t, events).fragments(t) {
				if doc.Find("#"+id).Length() != 1 {
					t.Errorf("%s is not on the page once", id)
				}
				if !strings.Contains(strings.SplitN(html, ">", 2)[0], `id="`+id+`"`) {
					t.Errorf("the fragment for %s begins with %.80s", id, html)
				}
			}
		})
	}
}

func TestAnOutageIsToldToOpenPages(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	events, _ := follow(t, w, webtest.Anna, "page=home")
	next(t, events)
	w.SetAway(page.Outage{System: page.PrometheusSystem, Since: webtest.Now})
	if e := next(t, events); e.name != "reload" || e.data != `{"id":"gp-strips"}` {
		t.Errorf("want the strips to be fetched, got %s %s", e.name, e.data)
	}
}

// Something goes away after the page was made and before its stream begins: the page is told all the same, and of
// its end too.
func TestAnOutageBetweenAPageAndItsStream(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	stream := func() string {
		doc := read(t, w.Get(webtest.Anna, "/"), http.StatusOK)
		u, err := url.Parse(doc.Find("body").AttrOr("data-live-url", ""))
		if err != nil || u.Path != "/live" {
			t.Fatalf("want a stream, got %v (%v)", u, err)
		}
		return u.RawQuery
	}
	before := stream()
	w.SetAway(page.Outage{System: page.ClusterSystem, Name: "local", Since: webtest.Now})
	events, _ := follow(t, w, webtest.Anna, before)
	next(t, events)
	if e := next(t, events); e.name != "reload" || e.data != `{"id":"gp-strips"}` {
		t.Errorf("want the strips to be fetched, got %s %s", e.name, e.data)
	}
	events, _ = follow(t, w, webtest.Anna, stream())
	next(t, events)
	w.SetAway()
	if e := next(t, events); e.name != "reload" || e.data != `{"id":"gp-strips"}` {
		t.Errorf("want one more fetch when the cluster is back, got %s %s", e.name, e.data)
	}
}

// Whoever has a page open hears of a node that lost its license, and of its cure, whatever the page shows.
func TestALostLicenseIsToldToOpenPages(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	events, _ := follow(t, w, webtest.Dora, "page=storage")
	next(t, events)
	for _, state := range []license.State{license.Unlicensed, license.Licensed} {
		w.Virtual = map[string][]string{"local": {"vm-1"}}
		w.OnVGPU(license.Device{Cluster: "local", Node: "vm-1", UUID: "a", Index: "0", Model: "NVIDIA A40-12Q",
			State: state, Since: webtest.Now, SeenAt: webtest.Now})
		if err := w.LicenseService.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if e := next(t, events); e.name != "reload" || e.data != `{"id":"gp-strips"}` {
			t.Errorf("%s: want the strips to be fetched, got %s %s", state, e.name, e.data)
		}
	}
}

// The cockpit follows what happens, also to nodes that had no vGPU when it was opened, and stands still when it is told
// to.
func TestTheCockpitRenewsItselfUntilItIsPaused(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Dora, "/licenses"), http.StatusOK)
	u, err := url.Parse(doc.Find("body").AttrOr("data-live-url", ""))
	if err != nil || u.Path != "/live" {
		t.Fatalf("want a stream, got %v", u)
	}
	events, _ := follow(t, w, webtest.Dora, u.RawQuery)
	next(t, events)
	w.Virtual = map[string][]string{"local": {"vm-1"}}
	if err := w.LicenseService.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Hub.Publish(live.Change{Topic: live.TopicLicense})
	if got := next(t, events).fragments(t)["license-nodes"]; !strings.Contains(got, "vm-1") {
		t.Errorf("want the node, got %.300s", got)
	}
	if doc.Find("#license-nodes").Length() != 1 {
		t.Error("the node would have no place on the page")
	}
	href := part(doc, "pause").AttrOr("href", "")
	still := read(t, w.Get(webtest.Dora, href), http.StatusOK)
	if at := still.Find("body").AttrOr("data-live-url", ""); at != "" {
		t.Errorf("a paused page follows %s", at)
	}
	if back := part(still, "go-on").AttrOr("href", ""); back != "/licenses" {
		t.Errorf("want back to the live page, got %q", back)
	}
}

// TestEveryPageThatNamesAStreamHasOne opens the stream that a page asks its browser to follow.
func TestEveryPageThatNamesAStreamHasOne(t *testing.T) {
	t.Parallel()
	streams := 0
	for _, route := range webtest.Empty(t).Web.Routes() {
		if route.Method != http.MethodGet || strings.Contains(route.Path, ":") || route.Path == "/live" {
			continue
		}
		t.Run(route.Path, func(t *testing.T) {
			w := webtest.Busy(t) // one each: a person may have few streams open
			doc, err := goquery.NewDocumentFromReader(w.Get(webtest.Dora, route.Path).Body)
			if err != nil {
				t.Fatal(err)
			}
			address, ok := doc.Find("[data-live-url]").Attr("data-live-url")
			if !ok {
				return
			}
			streams++
			if _, status := follow(t, w, webtest.Dora, strings.TrimPrefix(address, "/live?")); status != http.StatusOK {
				t.Errorf("its stream %s answers %d", address, status)
			}
		})
	}
	if streams < 15 {
		t.Errorf("want the pages that follow something, got %d", streams)
	}
}

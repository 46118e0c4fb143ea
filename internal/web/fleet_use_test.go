package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

func TestTheMapShowsEachNode(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Get(webtest.Anna, "/fleet/use"), http.StatusOK)
	words := map[string]string{}
	part(doc, "heat-node").Each(func(_ int, s *goquery.Selection) {
		label, _ := s.Find("svg").Attr("aria-label")
		words[strings.TrimSpace(s.Find(".gp-heat__name").Text())] = label
	})
	for node, want := range map[string]string{"gpu-01": "cards: 2, use now 9 %; held: 3 of 5, under 5 %: 1, unknown: 0",
		"gpu-03": "use now unknown; held: 1 of 1, under 5 %: 0, unknown: 1", "gpu-06": "no metrics of this node"} {
		if !strings.Contains(words[node], want) {
			t.Errorf("%s: want %q, got %q", node, want, words[node])
		}
	}
	if _, there := words["cpu-01"]; there {
		t.Error("a node without GPUs is no part of the map")
	}
	if n := part(doc, "heat-row").Length(); n != len(words) {
		t.Errorf("want each node in the table too, %d, got %d", len(words), n)
	}
	for node, want := range map[string]string{"gpu-01": ".gp-heat--3, .gp-heat--2, .gp-heat--idle, .gp-heat--free",
		"gpu-03": ".gp-heat--unknown", "gpu-06": ".gp-heat--unknown"} {
		s := doc.Find(fmt.Sprintf(`[data-test=heat-node][href*="node=%s"] path`, node))
		if got := s.Filter(want).Length(); got != s.Length() || got != 1+strings.Count(want, ",") {
			t.Errorf("%s: want %s, got %d of %d", node, want, got, s.Length())
		}
	}
}

// TestWhoHoldsIsSaidToThoseWhoMayKnow: colleagues by name, others as "held" only, and all to auditors.
func TestWhoHoldsIsSaidToThoseWhoMayKnow(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	const path = "/fleet/use?cluster=local&node=gpu-01"
	anna := read(t, w.Get(webtest.Anna, path), http.StatusOK)
	wantSaid(t, anna, "cell-row", "train-resnet · Anna Albers", "63 %", "7.1 GiB of 10 GiB", "nobody", "MIG 1g.10gb")
	wantSaid(t, anna, "others", "Only what you and your teams hold")
	wantSaid(t, read(t, w.Get(webtest.Eli, path), http.StatusOK), "cell-row", "batch/job-7", "train-resnet")
	wantAbsent(t, read(t, w.Get(webtest.Eli, path), http.StatusOK), "others")
	for _, p := range []string{path, "/fleet/use", "/fleet/use?group=team", "/fleet/use?group=model"} {
		for _, name := range []string{"train-resnet", "Anna", "llm-chat", "job-7", "Vision", "render-farm"} {
			if text := w.Get(webtest.Olaf, p).Body.String(); strings.Contains(text, name) {
				t.Errorf("%s tells Olaf of %s", p, name)
			}
		}
	}
}

func TestWhoHoldsAndDoesNotUse(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	shared := w.Work("w-asr-train")
	shared.Size.Technology = catalog.TimeSlicing
	w.PutWork(shared)
	doc := read(t, w.Get(webtest.Dora, "/fleet/use"), http.StatusOK)
	rows := map[string]string{}
	part(doc, "holder").Each(func(_ int, s *goquery.Selection) {
		rows[strings.TrimSpace(s.Find("th a").Text())] = said(s)
	})
	for name, want := range map[string][]string{"train-resnet": {"Anna Albers", "58 %", "€1.65", "€0.69"},
		"llm-chat": {"21 %", "known for 9 h 36 min"}, "render-farm": {"2 %"}} {
		for _, words := range want {
			if !strings.Contains(rows[name], words) {
				t.Errorf("%s: want %q, got %q", name, words, rows[name])
			}
		}
	}
	if shared := rows["asr-train"]; !strings.Contains(shared, "unknown") || strings.Contains(shared, "%") {
		t.Errorf("what a shared card does is nobody's use, got %q", shared)
	}
	teams := read(t, w.Get(webtest.Dora, "/fleet/use?group=team"), http.StatusOK)
	wantSaid(t, teams, "holder", "Vision", "3 workloads", "unknown for 1 of 1")
	wantSaid(t, read(t, w.Get(webtest.Dora, "/fleet/use?group=model"), http.StatusOK), "holder", "H100 80GB", "A40")
}

// TestAPausedPageStaysAsItIs: there is no stream, and a way to go on.
func TestAPausedPageStaysAsItIs(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	live := read(t, w.Get(webtest.Anna, "/fleet/use"), http.StatusOK)
	if _, ok := live.Find("body").Attr("data-live-url"); !ok {
		t.Fatal("the page has a stream")
	}
	href, _ := part(live, "pause").Attr("href")
	still := read(t, w.Get(webtest.Anna, href), http.StatusOK)
	if url, ok := still.Find("body").Attr("data-live-url"); ok && url != "" {
		t.Errorf("a paused page follows %s", url)
	}
	wantSaid(t, still, "stream", "Paused at 12:00 UTC")
	if back, _ := part(still, "go-on").Attr("href"); back != "/fleet/use" {
		t.Errorf("want back to the live page, got %q", back)
	}
}

// TestNothingIsIdleForWantOfAValue: without an answer of Prometheus all is unknown, and nobody's money is said to be
// wasted.
func TestNothingIsIdleForWantOfAValue(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Fleets, w.Used, w.Readings = nil, nil, webtest.Readings{}
	doc := read(t, w.Get(webtest.Dora, "/fleet/use?cluster=local&node=gpu-01"), http.StatusOK)
	wantSaid(t, doc, "heat-unknown", "Prometheus has not answered yet")
	if n := doc.Find("[data-test=heat-node] .gp-heat--idle, [data-test=heat-node] .gp-heat--free").Length(); n > 0 {
		t.Errorf("%d cells look idle or free", n)
	}
	part(doc, "holder").Each(func(_ int, s *goquery.Selection) {
		if !strings.Contains(said(s), "unknown") || s.Find("[data-test=mean]").Text() != "unknown" {
			t.Errorf("want its use unknown, got %q", said(s))
		}
	})

	old := webtest.Busy(t)
	old.Fleets["local"].At = webtest.Now.Add(-7 * time.Minute)
	wantSaid(t, read(t, old.Get(webtest.Anna, "/fleet/use"), http.StatusOK), "heat-unknown", "Unknown for 7 min")
}

// TestTheMapIsDrawnAnewWithNewValues: the map is the same text for everybody until something new is known.
func TestTheMapIsDrawnAnewWithNewValues(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	first := read(t, w.Get(webtest.Anna, "/fleet/use"), http.StatusOK)
	fresh := *w.Fleets["local"]
	fresh.Nodes = fresh.Nodes[:1]
	w.Fleets["local"] = &fresh
	second := read(t, w.Get(webtest.Anna, "/fleet/use"), http.StatusOK)
	label := func(d *goquery.Document) string {
		words, _ := d.Find(`[data-test=heat-node][href*="node=gpu-02"] svg`).Attr("aria-label")
		return words
	}
	if !strings.Contains(label(first), "88 %") || !strings.Contains(label(second), "no metrics") {
		t.Errorf("want the new values, got %q then %q", label(first), label(second))
	}
}

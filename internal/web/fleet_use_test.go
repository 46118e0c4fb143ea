package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestTheMapShowsEachCard: in its place, in words and in the pattern of its color, with what it is cut into.
func TestTheMapShowsEachCard(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Get(webtest.Anna, "/fleet/use"), http.StatusOK)
	words := map[string][]string{}
	part(doc, "map-node").Each(func(_ int, s *goquery.Selection) {
		name, _, _ := strings.Cut(s.AttrOr("aria-label", ""), ":")
		part2(s, "map-card").Each(func(_ int, c *goquery.Selection) {
			words[name] = append(words[name], c.AttrOr("aria-label", ""))
		})
	})
	want := map[string][]string{
		"gpu-01": {"Card 1: 1 × up to 75 %, 1 × idle, 1 × available, 1 × up to 50 %", "Card 2: available",
			"Card 3: broken"},
		"gpu-02": {"Card 1: over 75 %"}, "gpu-03": {"Card 1: no metrics"}, "gpu-04": {"Card 1: idle"},
		"gpu-05": slices.Repeat([]string{"no metrics"}, 8), "gpu-06": slices.Repeat([]string{"unschedulable"}, 4)}
	want["gpu-06"][3] = "broken" // as many as the device plugin has taken away
	for _, node := range []string{"gpu-05", "gpu-06"} {
		for i := range want[node] {
			want[node][i] = fmt.Sprintf("Card %d: %s", i+1, want[node][i])
		}
	}
	if diff := cmp.Diff(want, words); diff != "" {
		t.Errorf("cards by node (-want +got):\n%s", diff)
	}
	var classes []string
	doc.Find("#k-local-0-0 i").Each(func(_ int, s *goquery.Selection) { classes = append(classes, s.AttrOr("class", "")) })
	if want := []string{"3", "idle", "free", "2", "gap"}; !slices.EqualFunc(classes, want, func(class, kind string) bool {
		return strings.Contains(class, "gp-map__part--"+kind+" ")
	}) {
		t.Errorf("want %v, got %v", want, classes)
	}
}

func part2(s *goquery.Selection, test string) *goquery.Selection {
	return s.Find(`[data-test="` + test + `"]`)
}

// TestWhoHoldsIsSaidToThoseWhoMayKnow: colleagues by name, others as "held" only, and all to auditors; no page, part
// or answer to a script tells a stranger a name, and no address offers them what idle GPUs cost others.
func TestWhoHoldsIsSaidToThoseWhoMayKnow(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	const path = "/fleet/use/node?cluster=local&node=gpu-01&card=0"
	anna := read(t, w.Get(webtest.Anna, path), http.StatusOK)
	wantText(t, anna, "gpu-part", "train-resnet", "Anna Albers", "63 %", "7.1 GiB of 10 GiB", "available", "MIG 1g.10gb",
		"allocated to another team")
	wantText(t, anna, "gpu-figure", "3 of 4", "slices allocated", "43 % of the card is not partitioned")
	wantAbsent(t, anna, "quarantine-card", "quarantine-node")
	wantText(t, read(t, w.Get(webtest.Dora, path), http.StatusOK), "gpu", "Quarantine card", "Quarantine node")
	wantText(t, read(t, w.Get(webtest.Anna, "/fleet/use/holders"), http.StatusOK), "others",
		"Only your and your teams")
	wantText(t, read(t, w.Get(webtest.Eli, path), http.StatusOK), "gpu-part", "batch/job-7", "train-resnet")
	wantAbsent(t, read(t, w.Get(webtest.Eli, "/fleet/use/holders"), http.StatusOK), "others")
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/fleet/use"), http.StatusOK), "by-money")
	for _, p := range parts(t, w, webtest.Olaf) {
		answer := w.Get(webtest.Olaf, p)
		if answer.Code != http.StatusOK {
			t.Errorf("%s: %d", p, answer.Code)
		}
		for _, name := range []string{"train-resnet", "Anna", "llm-chat", "job-7", "Vision", "gpu-vision", "render-farm",
			"€"} {
			if name == "€" && strings.HasPrefix(p, "/fleet/use/holders") { // what his own cost
				continue
			}
			if strings.Contains(answer.Body.String(), name) {
				t.Errorf("%s tells Olaf of %s", p, name)
			}
		}
	}
}

// parts are the addresses of the map for a reader: pages, stretches of nodes, their changes, and every card.
func parts(t *testing.T, w *webtest.World, who identity.Person) []string {
	t.Helper()
	var all []string
	for _, by := range []string{"use", "team", "health", "money"} {
		page := "/fleet/use?by=" + by
		all = append(all, page, page+"&ago=3")
		doc := read(t, w.Get(who, page), http.StatusOK)
		part(doc, "map-chunk").Each(func(_ int, s *goquery.Selection) {
			all = append(all, s.AttrOr("data-map-src", ""), s.AttrOr("data-map-changes", ""))
		})
		part(doc, "map-card").Each(func(_ int, s *goquery.Selection) { all = append(all, s.AttrOr("href", "")) })
	}
	if len(all) < 40 {
		t.Fatalf("want the map in its parts, got %v", all)
	}
	return append(all, "/fleet/use/holders", "/fleet/use/holders?group=team", "/fleet/use/holders?group=model")
}

// TestAFaultIsSeenInEveryColoring: a node with a broken card is marked for those who may know, and what cannot be used
// is so by what it costs too.
func TestAFaultIsSeenInEveryColoring(t *testing.T) {
	t.Parallel()
	w := webtest.Mixed(t)
	for _, by := range []string{"use", "money"} {
		doc := read(t, w.Get(webtest.Dora, "/fleet/use?by="+by), http.StatusOK)
		node := part(doc, "map-node").FilterFunction(func(_ int, s *goquery.Selection) bool {
			return strings.HasPrefix(s.AttrOr("aria-label", ""), "gpu-01:")
		})
		if got := node.AttrOr("aria-label", ""); !node.HasClass("gp-map__node--danger") || !strings.Contains(got, "broken") {
			t.Errorf("%s: want the node with a broken card marked, got %q", by, got)
		}
		broken := map[string]string{"use": ".gp-map__part--broken", "money": ".gp-map__part--out"}[by]
		closedOnes := map[string]string{"use": ".gp-map__part--closed", "money": ".gp-map__part--out"}[by]
		if node.Find(broken).Length() == 0 || node.Find(closedOnes).Length() == 0 {
			t.Errorf("%s: want its broken and its quarantined card told apart from what is available", by)
		}
		closed := part(doc, "map-node").FilterFunction(func(_ int, s *goquery.Selection) bool {
			return strings.HasPrefix(s.AttrOr("aria-label", ""), "gpu-06:")
		})
		if !closed.HasClass("gp-map__node--danger") {
			t.Errorf("%s: want a node with a broken card marked, cordoned or not", by)
		}
		silent := part(doc, "map-node").FilterFunction(func(_ int, s *goquery.Selection) bool {
			return strings.HasPrefix(s.AttrOr("aria-label", ""), "a100-4:")
		})
		if n := silent.Find(broken).Length(); n != 8 {
			t.Errorf("%s: want all 8 cards of a node that is not ready broken, those that are held too, got %d", by, n)
		}
		doc.Find("[data-class] .gp-map__count").Each(func(_ int, s *goquery.Selection) {
			if strings.Contains(s.Text(), ".") {
				t.Errorf("%s: cards and slices are whole, got %s", by, s.Text())
			}
		})
	}
}

// TestTheMapByTeam: an auditor sees every team, a developer the own one, and what belongs to no team is told apart.
func TestTheMapByTeam(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for who, want := range map[*identity.Person][]string{&webtest.Eli: {"Speech", "Vision", "outside the portal"},
		&webtest.Anna: {"Vision", "other teams"}} {
		doc := read(t, w.Get(*who, "/fleet/use?by=team"), http.StatusOK)
		wantText(t, doc, "legend", want...)
		if got := doc.Find("#k-local-0-0").AttrOr("aria-label", ""); !strings.Contains(got, "Vision") {
			t.Errorf("%s: want whose the slices are, got %q", who.Name, got)
		}
	}
}

// TestTheMapTellsOnlyWhatHasChanged: the cells that look different since a version that a page has; all of them for
// one that is too old; and that everything must be drawn anew when the cards are others.
func TestTheMapTellsOnlyWhatHasChanged(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/fleet/use"), http.StatusOK)
	chunk := doc.Find("[data-map-src]:has(#k-local-1-0)")
	since, changes := chunk.AttrOr("data-map-drawn", ""), chunk.AttrOr("data-map-changes", "")
	type answer struct {
		Version string
		Reload  bool
		Cards   map[string][]string
	}
	ask := func(since string) (a answer) {
		t.Helper()
		if err := json.Unmarshal(w.Get(webtest.Anna, changes+"&since="+since).Body.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	if got := ask(since); len(got.Cards) > 0 || got.Version != since {
		t.Errorf("nothing has happened, got %+v", got)
	}
	fresh := *w.Fleets["local"]
	fresh.Nodes = slices.Clone(fresh.Nodes)
	idle := fresh.Nodes[1].Cards[0]
	idle.Cells = slices.Clone(idle.Cells)
	idle.Cells[0].Engine.Value = 1
	fresh.Nodes[1].Cards = []gpumetrics.CardUse{idle}
	w.Fleets["local"] = &fresh
	got := ask(since)
	if diff := cmp.Diff(map[string][]string{"k-local-1-0": {"idle"}}, got.Cards); diff != "" || got.Version == since {
		t.Errorf("one card is idle now (-want +got):\n%s", diff)
	}
	known, _, _ := strings.Cut(since, ".")
	if all := ask(known + ".0"); len(all.Cards) < 2 || all.Reload {
		t.Errorf("want every card for a version that nobody remembers, got %+v", all)
	}
	fewer := fresh
	fewer.Nodes = fresh.Nodes[:1]
	snapshot := w.Inventory("local")
	snapshot.Nodes = slices.DeleteFunc(snapshot.Nodes, func(n inventory.Node) bool { return n.Name == "gpu-02" })
	w.PutInventory(snapshot)
	w.Fleets["local"] = &fewer
	if got := ask(since); !got.Reload {
		t.Errorf("a node has gone: want everything drawn anew, got %+v", got)
	}
}

// TestAnHourOfTheLastWeek: what cards did, and nothing of what nobody recorded.
func TestAnHourOfTheLastWeek(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Hours = func(until time.Time) gpumetrics.PastUse {
		if until.Equal(webtest.Now.Add(-3 * time.Hour)) {
			return gpumetrics.NewPastUse(until, map[[2]string]float32{{"GPU-3", ""}: 41})
		}
		return gpumetrics.PastUse{}
	}
	label := func(path string) string {
		return read(t, w.Get(webtest.Anna, path), http.StatusOK).Find("#k-local-1-0").AttrOr("aria-label", "")
	}
	if got := label("/fleet/use?ago=3"); got != "Card 1: up to 50 %" {
		t.Errorf("three hours ago it did 41 %%, got %q", got)
	}
	silent := read(t, w.Get(webtest.Anna, "/fleet/use?ago=4"), http.StatusOK)
	wantText(t, silent, "past-none", "No metrics are stored")
	if n := silent.Find("[data-test=map-card] i:not(.gp-map__part--unknown):not(.gp-map__part--gap)").Length(); n > 0 {
		t.Errorf("%d cells of an hour of which nothing is known look as if something were", n)
	}
}

// TestALargeFleetBeginsWithItsGroups: 400 nodes are strips with counts; a group opens, and draws the nodes that fit;
// the others have an address.
func TestALargeFleetBeginsWithItsGroups(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Crowd(400)
	doc := read(t, w.Get(webtest.Dora, "/fleet/use"), http.StatusOK)
	wantAbsent(t, doc, "map-card")
	if n := part(doc, "map-strip").Length(); n != 4 {
		t.Errorf("want four groups, got %d", n)
	}
	wantText(t, doc, "map-strip", "H200", "160 nodes · 1,280 cards")
	href := doc.Find("[data-test=map-strip]:contains(MIG)").AttrOr("href", "")
	opened := read(t, w.Get(webtest.Dora, href), http.StatusOK)
	drawn, later := part(opened, "map-node").Length(), opened.Find(".gp-map__chunk--later")
	if drawn == 0 || drawn >= 80 || later.Length() == 0 {
		t.Fatalf("want some of 80 nodes, got %d and %d stretches later", drawn, later.Length())
	}
	rest := read(t, w.Get(webtest.Dora, later.First().AttrOr("data-map-src", "")), http.StatusOK)
	if n := part(rest, "map-node").Length(); n == 0 || n+drawn > 80 {
		t.Errorf("want the next nodes, got %d after %d", n, drawn)
	}
	without := read(t, w.Get(webtest.Dora, later.First().Find("a").AttrOr("href", "")), http.StatusOK)
	if without.Find("#"+later.First().AttrOr("id", "")+" [data-test=map-node]").Length() == 0 {
		t.Error("without scripts the link leads to the page that has them")
	}
}

func TestWhoHoldsAndDoesNotUse(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	shared := w.Work("w-asr-train")
	shared.Size.Technology = catalog.TimeSlicing
	w.PutWork(shared)
	doc := read(t, w.Get(webtest.Dora, "/fleet/use/holders"), http.StatusOK)
	rows := map[string]string{}
	part(doc, "holder").Each(func(_ int, s *goquery.Selection) {
		rows[strings.TrimSpace(s.Find("th a").Text())] = textOf(s)
	})
	for name, want := range map[string][]string{"train-resnet": {"Anna Albers", "58 %", "€1.65", "€0.69"},
		"llm-chat": {"21 %", "41 % measured"}, "render-farm": {"2 %"}} {
		for _, words := range want {
			if !strings.Contains(rows[name], words) {
				t.Errorf("%s: want %q, got %q", name, words, rows[name])
			}
		}
	}
	if n := part(doc, "holder-stop").Length(); n != len(rows) {
		t.Errorf("want the stop of each workload for an administrator, got %d of %d", n, len(rows))
	}
	wantAbsent(t, read(t, w.Get(webtest.Eli, "/fleet/use/holders"), http.StatusOK), "holder-stop")
	if shared := rows["asr-train"]; !strings.Contains(shared, "unknown") || strings.Contains(shared, "%") {
		t.Errorf("what a shared card does is nobody's use, got %q", shared)
	}
	teams := read(t, w.Get(webtest.Dora, "/fleet/use/holders?group=team"), http.StatusOK)
	wantText(t, teams, "holder", "Vision", "3 workloads", "unknown")
	if mean := textOf(part(teams, "mean").First()); mean != "27 %" {
		t.Errorf("want a team's mean utilization, as the column says, got %q", mean)
	}
	href := part(teams, "show-workloads").First().AttrOr("href", "")
	vision := read(t, w.Get(webtest.Dora, href), http.StatusOK)
	wantText(t, vision, "chip-team", "Vision")
	part(vision, "holder").Each(func(_ int, s *goquery.Selection) {
		if !strings.Contains(textOf(s), "Vision") {
			t.Errorf("want Vision's workloads alone, got %q", textOf(s))
		}
	})
	if n := part(vision, "holder").Length(); n != 3 {
		t.Errorf("want three workloads, got %d", n)
	}
	all := read(t, w.Get(webtest.Dora, part(vision, "chip-team").AttrOr("href", "")), http.StatusOK)
	if n := part(all, "holder").Length(); n != len(rows) {
		t.Errorf("want all again, got %d of %d", n, len(rows))
	}
	if href := part(vision, "group-team").AttrOr("href", ""); strings.Contains(href, "team=vision") {
		t.Errorf("want all teams, got %q", href)
	}
	if title := textOf(teams.Find("h1")); title != "GPU map" {
		t.Errorf("want the title of the menu, got %q", title)
	}
	wantText(t, read(t, w.Get(webtest.Dora, "/fleet/use/holders?group=model"), http.StatusOK), "holder", "H100 80GB",
		"A40")
}

// TestWhatIsOutOfOrderLooksSo: as many cards as the device plugin has taken away are broken on the map as in the list
// of nodes, and so is a card that the driver has lost.
func TestWhatIsOutOfOrderLooksSo(t *testing.T) {
	t.Parallel()
	w := webtest.Ill(t)
	for _, who := range []identity.Person{webtest.Dora, webtest.Anna} {
		doc := read(t, w.Get(who, "/fleet/use"), http.StatusOK)
		for _, node := range []string{"gpu-06", "gpu-01"} {
			cards := doc.Find(`[data-test=map-node][aria-label^="` + node + `"]`)
			if n := cards.Find(".gp-map__part--broken").Length(); n != 1 {
				t.Errorf("%s, %s: want one broken, got %d", who.Name, node, n)
			}
		}
	}
	row := read(t, w.Get(webtest.Anna, "/fleet?q=gpu-06"), http.StatusOK)
	if n := row.Find("[data-test=cell-broken]").Length(); n != 1 {
		t.Errorf("want one broken in the list, got %d", n)
	}
	if why := textOf(part(row, "warning").First()); strings.Contains(why, "cordon") {
		t.Errorf("want what broke before what the state says, got %q", why)
	}
	wantAbsent(t, row, "node-health")
	seen := read(t, w.Get(webtest.Dora, "/fleet?q=gpu-06"), http.StatusOK)
	health := read(t, w.Get(webtest.Dora, part(seen, "node-health").AttrOr("href", "")), http.StatusOK)
	wantText(t, health, "health-node", "gpu-06")
}

// TestTheListOfNodesSaysTheIsolationOfTheCatalog: where labels do not speak of it, slices are isolated as the size says
// that is one of them; where they contradict it, nobody knows.
func TestTheListOfNodesSaysTheIsolationOfTheCatalog(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	wantText(t, read(t, w.Get(webtest.Anna, "/fleet?q=gpu-01"), http.StatusOK), "resource", "hardware isolation")
	s := w.Inventory("local")
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Name == "gpu-01" {
			n.Labels = map[string]string{"nvidia.com/gpu.product": n.Model, "nvidia.com/mig.capable": "false"}
		}
	}
	w.PutInventory(s)
	wantText(t, read(t, w.Get(webtest.Anna, "/fleet?q=gpu-01"), http.StatusOK), "resource", "isolation unknown")
}

// TestAQuarantineIsNoCleanBill: a card that somebody marked for its errors is not said to have none.
func TestAQuarantineIsNoCleanBill(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Ill(t).Get(webtest.Dora, "/fleet/health"), http.StatusOK)
	row := part(doc, "health-card").FilterFunction(func(_ int, s *goquery.Selection) bool {
		return strings.Contains(textOf(s), "XID 94")
	})
	if got := textOf(row); got == "" || strings.Contains(got, "No known errors") {
		t.Errorf("want its note alone, got %q", got)
	}
}

// TestALostCardLeadsToItsPage: the agent has its number, DCGM its UUID and its error; it is one card, and its page
// says what is the matter with it.
func TestALostCardLeadsToItsPage(t *testing.T) {
	t.Parallel()
	w := webtest.Ill(t)
	doc := read(t, w.Get(webtest.Dora, "/fleet/health"), http.StatusOK)
	if text := textOf(part(doc, "health-cluster")); strings.Contains(text, "Unnumbered") {
		t.Errorf("want every card numbered, got %q", text)
	}
	row := part(doc, "health-card").First()
	wantIn := []string{"Card 3", "GPU-5f0f7a41…", "XID 79"}
	for _, want := range wantIn {
		if !strings.Contains(textOf(row), want) {
			t.Errorf("want %q, got %q", want, textOf(row))
		}
	}
	if In(row, "quarantine-node").Length() != 1 || doc.Find("[data-test=quarantine-node][href*='gpu-01']").Length() != 1 {
		t.Error("want what the remedy begins with beside it, and once")
	}
	href := row.Find("th a").First().AttrOr("href", "")
	card := read(t, w.Get(webtest.Dora, href), http.StatusOK)
	if text := textOf(card.Find("main")); !strings.Contains(text, "XID 79") ||
		!strings.Contains(text, "Card broken") {
		t.Errorf("want its page to say so, got %q", text)
	}
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
	wantText(t, still, "stream", "Paused since 12:00 UTC")
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
	doc := read(t, w.Get(webtest.Dora, "/fleet/use"), http.StatusOK)
	wantText(t, doc, "heat-unknown", "Prometheus has not responded yet")
	if n := doc.Find("[data-test=map-card] :is(.gp-map__part--idle, .gp-map__part--free)").Length(); n > 0 {
		t.Errorf("%d cells look idle or free", n)
	}
	doc = read(t, w.Get(webtest.Dora, "/fleet/use?by=money"), http.StatusOK)
	wantAbsent(t, doc, "legend-sum") // nothing is known to be wasted
	mixed := webtest.Mixed(t)
	money := read(t, mixed.Get(webtest.Dora, "/fleet/use?by=money"), http.StatusOK)
	wantText(t, money, "legend-sum", "At least €", "idle cost in 24 h · most: gpu-02, €")
	dearest := read(t, mixed.Get(webtest.Dora, part(money, "legend-most").AttrOr("href", "")), http.StatusOK)
	if title := textOf(dearest.Find("h1")); title != "Node gpu-02" {
		t.Errorf("want the way to the dearest node, got %q", title)
	}
	card := part(money, "legend-most").AttrOr("data-card", "")
	if node := money.Find("#"+card).Closest("[data-test=map-node]").AttrOr("aria-label", ""); !strings.HasPrefix(node,
		"gpu-02:") {
		t.Errorf("want a card of the dearest node to mark it by, got %q", node)
	}
	broken := read(t, mixed.Get(webtest.Dora, "/fleet/use"), http.StatusOK)
	wantText(t, broken, "legend-most", "nodes with broken GPUs")
	if href := part(broken, "legend-most").AttrOr("href", ""); href != page.FleetHealthPath {
		t.Errorf("want the way to what is broken, got %q", href)
	}
	wantAbsent(t, read(t, mixed.Get(webtest.Anna, "/fleet/use"), http.StatusOK), "legend-most")
	wantText(t, doc, "legend-note", "their idle cost is unknown")
	if href := In(doc.Selection, "legend-note").Find("a").AttrOr("href", ""); href != page.MetricsPath {
		t.Errorf("want the way to the health of metrics, got %q", href)
	}
	use := read(t, webtest.Busy(t).Get(webtest.Dora, "/fleet/use"), http.StatusOK)
	wantAbsent(t, use, "legend-note")
	wantText(t, use, "legend-sum", "GPUs and slices available")
	wantText(t, use, "legend-sum", textOf(use.Find("[data-class=free] .gp-map__count"))+" of ")
	wantText(t, read(t, webtest.Busy(t).Get(webtest.Dora, "/fleet/use?by=health"), http.StatusOK), "legend-sum",
		"GPUs and slices healthy")
	doc = read(t, w.Get(webtest.Dora, "/fleet/use/holders"), http.StatusOK)
	part(doc, "holder").Each(func(_ int, s *goquery.Selection) {
		if !strings.Contains(textOf(s), "unknown") || s.Find("[data-test=mean]").Text() != "unknown" {
			t.Errorf("want its use unknown, got %q", textOf(s))
		}
	})

	old := webtest.Busy(t)
	old.Fleets["local"].At = webtest.Now.Add(-7 * time.Minute)
	wantText(t, read(t, old.Get(webtest.Anna, "/fleet/use"), http.StatusOK), "heat-unknown", "Unknown for 7 min")
}

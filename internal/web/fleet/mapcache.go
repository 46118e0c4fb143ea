package fleet

import (
	"slices"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fleetmap"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/memo"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// mapsCache keeps the maps as they were last joined, with their paints and what was drawn of them: one for all who look
// and may know the same.
type mapsCache struct {
	sync.Mutex
	joined  map[joinKey]*joined
	history map[paintKey][]fleetmap.Paint // the newest last

	money memo.Memo[struct{}, idleMoney]
}

// idleMoney is what the devices of each pod cost for nothing, per device, and the most that any did.
type idleMoney struct {
	spent map[gpumetrics.Pod]usage.Money
	sum   usage.Money // of all that are in the currency of the most
	most  usage.Money
}

type joinKey struct {
	cluster string
	levels  bool // the reader may know how cards are
}

type paintKey struct {
	joinKey
	scheme string
}

// joined is a map with what it was made of, by which it is known to be the newest.
type joined struct {
	*fleetmap.Map
	fleet       *gpumetrics.Fleet
	first       *inventory.Node // nodes of a snapshot that is still the same
	count       int
	quarantined inventory.Quarantine
	at          time.Time

	paints map[string]fleetmap.Paint
	counts map[drawnKey][]fleetmap.Tally
	drawn  map[drawnKey]string
}

type drawnKey struct{ scheme, lang, what string }

// Bounds: versions of a paint from which a page may still ask for changes, and parts that are kept as they were drawn.
const (
	mostVersions = 16
	mostDrawn    = 2048
	mostPaints   = 64
)

func newMapsCache() *mapsCache {
	return &mapsCache{joined: map[joinKey]*joined{}, history: map[paintKey][]fleetmap.Paint{}}
}

// mapOf is the newest map of a cluster, nil where nothing is known of it. Whoever looks gets the same until something
// new is known; nobody changes it.
func (w *Pages) mapOf(k page.Call, cluster string) *joined {
	snapshot, known := w.Snapshots.Snapshot(k.Ctx, cluster)
	fleet := w.Metrics.Fleet(cluster)
	if !known && fleet == nil {
		return nil
	}
	key := joinKey{cluster, w.Quarantine != nil && seesHealth(k)}
	j := &joined{fleet: fleet, count: len(snapshot.Nodes), at: k.Words.Now}
	if j.count > 0 {
		j.first = &snapshot.Nodes[0]
	}
	if w.Quarantine != nil {
		j.quarantined = w.Quarantine.Quarantined(cluster)
	}
	w.maps.Lock()
	defer w.maps.Unlock()
	if old := w.maps.joined[key]; old != nil && old.same(j) {
		return old
	}
	snapshot.Cluster = cluster
	sources := fleetmap.Sources{Inventory: snapshot, Fleet: fleet}
	if key.levels {
		if report, err := w.Quarantine.Report(k.Ctx, k.Actor, cluster); err == nil {
			sources.Levels = levelsOf(report)
		}
	}
	j.Map, j.paints, j.drawn = fleetmap.Join(sources), map[string]fleetmap.Paint{}, map[drawnKey]string{}
	j.counts = map[drawnKey][]fleetmap.Tally{}
	w.maps.joined[key] = j
	return j
}

func (j *joined) same(o *joined) bool {
	return j.fleet == o.fleet && j.first == o.first && j.count == o.count &&
		sameQuarantine(j.quarantined, o.quarantined) &&
		o.at.Sub(j.at) < page.ReadingEvery && !o.at.Before(j.at)
}

func sameQuarantine(a, b inventory.Quarantine) bool {
	if len(a.Nodes) != len(b.Nodes) || len(a.Cards) != len(b.Cards) {
		return false
	}
	for name := range a.Nodes {
		if !b.Nodes[name] {
			return false
		}
	}
	for uuid := range a.Cards {
		if _, there := b.Cards[uuid]; !there {
			return false
		}
	}
	return true
}

func levelsOf(r health.Report) map[string]map[string]health.Level {
	levels := make(map[string]map[string]health.Level, len(r.Nodes))
	for i := range r.Nodes {
		n := &r.Nodes[i]
		levels[n.Name] = make(map[string]health.Level, len(n.Cards))
		for j := range n.Cards {
			levels[n.Name][n.Cards[j].UUID] = n.Cards[j].Level()
			if n.Cards[j].Lost { // the agent, from whom the map has it, cannot read its UUID any more
				levels[n.Name][""] = n.Cards[j].Level()
			}
		}
	}
	return levels
}

// paintOf applies a scheme to a map, once for all who are shown the same.
func (w *Pages) paintOf(k page.Call, j *joined, s scheme) fleetmap.Paint {
	key := paintKey{joinKey{j.Cluster, seesHealth(k)}, s.key}
	w.maps.Lock()
	defer w.maps.Unlock()
	if p, ok := j.paints[s.key]; ok {
		return p
	}
	if len(j.paints) >= mostPaints {
		clear(j.paints)
		clear(j.counts)
	}
	p := j.Paint(s.rule)
	j.paints[s.key] = p
	if len(w.maps.history) > mostPaints {
		clear(w.maps.history)
	}
	history := w.maps.history[key]
	if len(history) == 0 || history[len(history)-1].Version != p.Version {
		w.maps.history[key] = append(history[max(0, len(history)+1-mostVersions):len(history):len(history)], p)
	}
	return p
}

// before is the paint of a version that a page still shows; ok is false when it is too long ago, or was of another
// structure.
func (w *Pages) before(k page.Call, j *joined, s scheme, version string) (fleetmap.Paint, bool) {
	w.maps.Lock()
	defer w.maps.Unlock()
	history := w.maps.history[paintKey{joinKey{j.Cluster, seesHealth(k)}, s.key}]
	i := slices.IndexFunc(history, func(p fleetmap.Paint) bool { return p.Version == version })
	if i < 0 || len(history[i].Colors) != j.Parts {
		return fleetmap.Paint{}, false
	}
	return history[i], true
}

// drawnOnce keeps what is drawn of a map for all who are shown the same.
func (w *Pages) drawnOnce(j *joined, key drawnKey, draw func() string) string {
	w.maps.Lock()
	html, ok := j.drawn[key]
	w.maps.Unlock()
	if ok {
		return html
	}
	html = draw()
	w.maps.Lock()
	defer w.maps.Unlock()
	if len(j.drawn) >= mostDrawn {
		clear(j.drawn)
	}
	j.drawn[key] = html
	return html
}

// countOf is how much of a group has which color.
func (w *Pages) countOf(j *joined, g fleetmap.Group, s scheme, paint fleetmap.Paint) []fleetmap.Tally {
	key := drawnKey{scheme: s.key, what: g.ID}
	w.maps.Lock()
	defer w.maps.Unlock()
	if _, ok := j.counts[key]; !ok {
		j.counts[key] = j.Count(paint, g.Nodes, len(s.colors))
	}
	return j.counts[key]
}

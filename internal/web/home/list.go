package home

import (
	"math"
	"slices"
	"sync"

	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// orders are what the list of workloads can be sorted by.
var orders = []string{string(workload.ByState), string(workload.ByName), string(workload.BySize), byUse,
	string(workload.ByLease), "-" + byCost}

// What the database does not hold: a reading, and money up to now.
const (
	byUse  = "use"
	byCost = "cost"
)

// part is the page of the list that the address asks for.
type part struct {
	items  []workload.Workload
	list   page.List
	total  int                    // rows that the filter leaves
	states map[workload.State]int // of all, whatever the filter leaves
	chosen stateGroup             // that the list shows; "" for all
}

// stateGroup are states that a list is filtered by together, as its head counts them.
type stateGroup string

const (
	groupRunning stateGroup = "running"
	groupFailed  stateGroup = "failed"
	groupWaiting stateGroup = "waiting"
	groupStopped stateGroup = "stopped"
)

var stateGroups = []stateGroup{groupRunning, groupFailed, groupWaiting, groupStopped}

func groupOf(s workload.State) stateGroup {
	switch s {
	case workload.Running:
		return groupRunning
	case workload.Failed:
		return groupFailed
	case workload.Queued, workload.Starting:
		return groupWaiting
	}
	return groupStopped
}

// states are those of a group; nil of none, which filters nothing.
func (g stateGroup) states() (list []workload.State) {
	for _, s := range workload.States() {
		if g != "" && groupOf(s) == g && s != workload.Ended {
			list = append(list, s)
		}
	}
	return list
}

// in counts what of the counts by state is in the group; all of them for none.
func (g stateGroup) in(counts map[workload.State]int) (n int) {
	for s, count := range counts {
		if g == "" || groupOf(s) == g {
			n += count
		}
	}
	return n
}

// everything is how many there are without the filter.
func (p part) everything() int { return stateGroup("").in(p.states) }

// shows reports whether a workload has a row.
func (p part) shows(id workload.ID) bool {
	return slices.ContainsFunc(p.items, func(item workload.Workload) bool { return item.ID == id })
}

func (w *Pages) homeWorkloads(k page.Call, chosen page.Scope) (p part, err error) {
	p.list = page.ListOf(k, "/", orders, "scope", "q", "state")
	if g := stateGroup(k.Get("state")); slices.Contains(stateGroups, g) {
		p.chosen = g
	}
	mine, f := chosen == page.ScopeMine, workload.Filter{Sort: workload.Sort(p.list.Sort), Down: p.list.Down}
	if chosen == page.ScopeTeam {
		f.Tenants = k.Actor.TenantNames()
	}
	if p.states, err = w.Workloads.Count(k.Ctx, k.Actor, mine, f); err != nil {
		return p, err
	}
	counts := p.states
	if f.Text = request.Words(k.Get("q")); len(f.Text) > 0 {
		if counts, err = w.Workloads.Count(k.Ctx, k.Actor, mine, f); err != nil {
			return p, err
		}
	}
	p.total, f.States = p.chosen.in(counts), p.chosen.states()
	p.list = p.list.Within(p.total)
	if p.list.Sort == byUse || p.list.Sort == byCost {
		p.items, err = w.ranked(k, mine, f, p.list)
		return p, err
	}
	f.Limit, f.Offset = page.RowsPerPage, p.list.Offset()
	p.items, err = w.Workloads.Page(k.Ctx, k.Actor, mine, f)
	return p, err
}

// ranked is a page in an order that the database does not hold.
func (w *Pages) ranked(k page.Call, mine bool, f workload.Filter, l page.List) ([]workload.Workload, error) {
	f.Sort, f.Down = workload.ByState, false
	ids, err := w.Workloads.IDs(k.Ctx, k.Actor, mine, f)
	if err != nil {
		return nil, err
	}
	by, err := w.amounts(k, l.Sort, ids)
	if err != nil {
		return nil, err
	}
	places := page.Ranked(l, len(ids), by)
	shown := make([]workload.ID, len(places))
	for i, place := range places {
		shown[i] = ids[place]
	}
	return w.Workloads.Some(k.Ctx, k.Actor, shown)
}

// amounts are what each of some workloads has cost, or how much it uses its GPUs now where that is known.
func (w *Pages) amounts(k page.Call, sort string, ids []workload.ID) (page.Amount, error) {
	if sort == byCost {
		costs, err := w.Workloads.ComparedCosts(k.Ctx, ids)
		return func(i int) (float64, bool) { return float64(costs[i]), true }, err
	}
	uses, err := w.usesNow(k, ids)
	if err != nil {
		return nil, err
	}
	list := uses.of(ids)
	return func(i int) (float64, bool) {
		if math.IsNaN(list[i]) {
			return 0, false
		}
		return list[i], true
	}, nil
}

// uses is how much some workloads use their GPUs.
type uses struct {
	by map[workload.ID]float64

	mu   sync.Mutex
	ids  []workload.ID // that were asked for last, mostly the same again
	list []float64     // of these; NaN where it is not known
}

// of is in the order of the ids. Both lists are shared afterwards and must not be changed.
func (u *uses) of(ids []workload.ID) []float64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.list != nil && slices.Equal(ids, u.ids) {
		return u.list
	}
	u.ids, u.list = ids, make([]float64, len(ids))
	for i, id := range ids {
		use, known := u.by[id]
		if !known {
			use = math.NaN()
		}
		u.list[i] = use
	}
	return u.list
}

// usesNow is how much some workloads use their GPUs, and maybe others.
func (w *Pages) usesNow(k page.Call, ids []workload.ID) (*uses, error) {
	if !k.Actor.SeesAll() {
		running, err := w.Workloads.Running(k.Ctx, k.Actor, ids)
		return w.useOf(running), err
	}
	change, err := w.Workloads.LastChange(k.Ctx)
	if err != nil {
		return nil, err
	}
	return w.usages.Get(change, k.Words.Now, page.ReadingEvery/3, func() (*uses, error) {
		running, err := w.Workloads.Living(k.Ctx, k.Actor, func(r *workload.Workload) bool {
			return r.State == workload.Running
		})
		return w.useOf(running), err
	})
}

// useOf is how much each uses its GPUs now, of those that are measured.
func (w *Pages) useOf(running []*workload.Workload) *uses {
	rank := map[workload.ID]float64{}
	for _, r := range running {
		if now := blocks.MeanEngine(w.Metrics.Live(r.Cluster, r.Namespace, r.Observed.Pod)); now.Known() {
			rank[r.ID] = now.Value
		}
	}
	return &uses{by: rank}
}

// own are the reader's own workloads, for what wants a decision of them wherever the list stands.
func (w *Pages) own(k page.Call, chosen page.Scope, p part) ([]workload.Workload, error) {
	if chosen == page.ScopeMine && p.total == p.everything() && len(p.items) == p.total {
		return p.items, nil
	}
	items, _, err := w.Workloads.List(k.Ctx, k.Actor, true, workload.Filter{Limit: 500})
	return items, err
}

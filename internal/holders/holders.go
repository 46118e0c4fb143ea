// Package holders lists the workloads that hold GPUs now, with how much of the GPUs they use and what the unused part
// costs: Service.List joins workloads, meter intervals and GPU metrics into Holders that the actor may see. The fleet
// map and GET /api/v1/fleet/holders show them.
package holders

import (
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Window is the time over which use and money are looked at.
const Window = usage.EngineWindow

// most keeps an answer from reading everything there is: the newest count.
const most = 5000

// Metrics tells how workloads have used their GPUs in the window: the same numbers that statements are made of.
type Metrics interface {
	Uses(cluster string) usage.EngineUses
}

// Service reads; it changes nothing.
type Service struct {
	Workloads *workload.Service
	Metrics   Metrics
	Now       func() time.Time
}

// Holder is a workload that holds GPUs now.
type Holder struct {
	*workload.Workload           // of all who ask: only read
	Since              time.Time // of this run
	Money              usage.Money
	Use                usage.EngineUse // of its devices in the window
}

// Unused is the part of the money that went for nothing: at a mean use of 30 per cent, 70 per cent of it. ok is false
// where nobody knows the use.
func (h Holder) Unused() (m usage.Money, ok bool) {
	if !h.Use.Known() {
		return usage.Money{}, false
	}
	return usage.Money{Minor: int64(float64(h.Money.Minor) * (1 - h.Use.Mean()/100)), Currency: h.Money.Currency}, true
}

// List is everybody whom the actor may see, newest workload first. Faults: those of workload.Service.Living.
func (s Service) List(ctx context.Context, a identity.Actor) ([]Holder, error) {
	items, err := s.Workloads.Living(ctx, a, func(w *workload.Workload) bool {
		return w.Observed.Node != "" && slices.Contains(holding, w.State) && w.Size.Devices() > 0
	})
	if err != nil {
		return nil, err
	}
	return s.holders(ctx, items[:min(most, len(items))])
}

// holding are the states in which a workload may hold a GPU.
var holding = []workload.State{workload.Running, workload.Starting, workload.Stopping}

func (s Service) holders(ctx context.Context, items []*workload.Workload) ([]Holder, error) {
	uses := map[string]usage.EngineUses{}
	ids := make([]workload.ID, len(items))
	for i, item := range items {
		ids[i] = item.ID
	}
	intervals, err := s.Workloads.Store.Intervals(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]Holder, len(items))
	for i, item := range items {
		if _, ok := uses[item.Cluster]; !ok {
			uses[item.Cluster] = s.Metrics.Uses(item.Cluster)
		}
		out[i] = s.holder(item, intervals[item.ID], uses[item.Cluster])
	}
	return out, nil
}

func (s Service) holder(item *workload.Workload, intervals []usage.Interval, uses usage.EngineUses) Holder {
	h := Holder{Workload: item, Since: item.PlacedAt}
	for _, i := range intervals {
		if i.Until.IsZero() {
			h.Since = i.From
		}
	}
	now := s.Now()
	for _, u := range usage.Uses(intervals, usage.Span{From: now.Add(-Window), Until: now}) {
		h.Money = h.Money.Add(u.Cost())
	}
	if !item.Size.SharesDevice() { // what a device does that others have too is not the workload's use
		h.Use = uses[string(item.ID)]
	}
	return h
}

// Package holders tells who holds GPUs now and how much of them is used: the map of the fleet shows it, and programs
// read it.
package holders

import (
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Window is the time over which use and money are looked at.
const Window = gpumetrics.UseWindow

// most keeps an answer from reading everything there is: the newest count.
const most = 5000

// Metrics tells how pods have used their GPUs.
type Metrics interface {
	Uses(cluster string) gpumetrics.Uses
	// History is the GPU use of the last hour, oldest first, in per cent.
	History(ctx context.Context, cluster, namespace, pod string) []gpumetrics.Point
}

// Service reads; it changes nothing.
type Service struct {
	Workloads *workload.Service
	Metrics   Metrics
	Now       func() time.Time
}

// Holder is a workload that holds GPUs now.
type Holder struct {
	workload.Workload
	Since time.Time // of this run
	Money usage.Money
	// Use is the mean use of its devices; only where Known.
	Use   gpumetrics.Use
	Known bool
}

// Unused is the part of the money that went for nothing: at a mean use of 30 per cent, 70 per cent of it. ok is false
// where nobody knows the use.
func (h Holder) Unused() (m usage.Money, ok bool) {
	if !h.Known {
		return usage.Money{}, false
	}
	return usage.Money{Minor: int64(float64(h.Money.Minor) * (1 - h.Use.Mean/100)), Currency: h.Money.Currency}, true
}

// List is everybody whom the actor may see, newest workload first. Faults: those of workload.Service.List.
func (s Service) List(ctx context.Context, a identity.Actor) ([]Holder, error) {
	var out []Holder
	uses := map[string]gpumetrics.Uses{}
	f := workload.Filter{States: []workload.State{workload.Running, workload.Starting, workload.Stopping}, Limit: 500}
	for {
		items, next, err := s.Workloads.List(ctx, a, false, f)
		if err != nil {
			return nil, err
		}
		page, err := s.page(ctx, items, uses)
		if err != nil {
			return nil, err
		}
		out = append(out, page...)
		if f.Cursor = next; next == "" || len(out) >= most {
			return out, nil
		}
	}
}

func (s Service) page(ctx context.Context, items []workload.Workload, uses map[string]gpumetrics.Uses) (
	[]Holder, error) {
	items = slices.DeleteFunc(items, func(i workload.Workload) bool {
		return i.Size.Devices() == 0 ||
			i.Observed.Node == ""
	})
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
		out[i] = s.holder(ctx, item, intervals[item.ID], uses[item.Cluster])
	}
	return out, nil
}

func (s Service) holder(ctx context.Context, item workload.Workload, intervals []usage.Interval,
	uses gpumetrics.Uses) Holder {
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
	h.Use, h.Known = s.use(ctx, item, uses)
	return h
}

// use is the mean use of a workload's devices in the window; of one that is younger than the steps in which the window
// is looked at, in the last hour. What a device does that others have too is not the workload's use.
func (s Service) use(ctx context.Context, item workload.Workload, uses gpumetrics.Uses) (gpumetrics.Use, bool) {
	if item.Size.SharesDevice() {
		return gpumetrics.Use{}, false
	}
	if use, ok := uses.Of(item.Namespace, item.Observed.Pod); ok {
		return use, true
	}
	sum, n := 0.0, 0
	for _, p := range s.Metrics.History(ctx, item.Cluster, item.Namespace, item.Observed.Pod) {
		if p.Known {
			sum, n = sum+p.Value, n+1
		}
	}
	if n == 0 {
		return gpumetrics.Use{}, false
	}
	return gpumetrics.Use{Mean: sum / float64(n), Known: float64(n) * time.Minute.Hours() / Window.Hours()}, true
}

package webtest

import (
	"context"
	"net/url"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Idle is Prometheus as idle detection asks it.
type Idle struct {
	// Did is what everything that runs did: the highest use of a stretch; nil: nothing is known
	Did  func(until time.Time) float64
	Pod  func(until time.Time) idle.PodUse // the same of CPU and network of a pod
	Away bool                              // it does not answer
}

// idleSource is Prometheus.
type idleSource struct{ world *World }

// Clock is the tests' time.
func (s idleSource) Clock(context.Context) (time.Time, error) { return Now, nil }

// PodUtilization tells of everything that runs.
func (s idleSource) PodUtilization(_ context.Context, _ []string, from, until time.Time, slot,
	_ time.Duration) ([]gpumetrics.PodUtilization, error) {
	prometheus := s.world.Idle
	if prometheus.Away || prometheus.Did == nil {
		return nil, fault.New(fault.Unavailable, i18n.T("gpumetrics.unavailable"))
	}
	var list []gpumetrics.PodUtilization
	for _, w := range s.world.Works() {
		one := gpumetrics.PodUtilization{Namespace: w.Namespace, Pod: w.Name + "-0", UUID: "GPU-" + w.Name}
		for end := from.Add(slot); !end.After(until); end = end.Add(slot) {
			if w.PlacedAt.Before(end) {
				one.Slots = append(one.Slots, gpumetrics.UtilizationSlot{Until: end, Known: slot,
					High: gpumetrics.Reading{Value: prometheus.Did(end), Unit: gpumetrics.Percent, Source: gpumetrics.Measured,
						At: end}})
			}
		}
		list = append(list, one)
	}
	return list, nil
}

// PodUsage tells of the pods of everything that runs.
func (s idleSource) PodUsage(_ context.Context, _ []string, from, until time.Time, slot,
	_ time.Duration) ([]gpumetrics.PodUsage, error) {
	prometheus := s.world.Idle
	if prometheus.Away {
		return nil, fault.New(fault.Unavailable, i18n.T("gpumetrics.unavailable"))
	}
	var list []gpumetrics.PodUsage
	for _, w := range s.world.Works() {
		one := gpumetrics.PodUsage{Namespace: w.Namespace, Pod: w.Name + "-0"}
		for end := from.Add(slot); prometheus.Pod != nil && !end.After(until); end = end.Add(slot) {
			use := prometheus.Pod(end)
			one.Slots = append(one.Slots, gpumetrics.UsageSlot{Until: end, CPU: gpumetrics.Rate{Value: use.CPU, Known: slot},
				Network: gpumetrics.Rate{Value: use.Network, Known: slot}})
		}
		list = append(list, one)
	}
	return list, nil
}

// EndsWhenIdle has what nobody uses stopped after a time, for everybody.
func (w *World) EndsWhenIdle(after time.Duration) {
	check(w.SaveIdleSettings(bg, idle.Revision{Version: 1, AuthorName: "Pat", At: Now.Add(-48 * time.Hour),
		Settings: idle.Settings{All: &idle.Setting{Action: idle.Stop, After: catalog.Duration(after), Below: idle.UsualBelow,
			KeepAlive: catalog.Duration(8 * time.Hour)}}}))
}

// IsIdle says since when a workload's GPU does nothing, and when its owner was warned; zero for not.
func (w *World) IsIdle(id workload.ID, since, warned time.Time) {
	m := idle.Record{Workload: id, Below: idle.UsualBelow, Since: since, Until: have(w.IdleObserved(bg))["local"],
		High: 1.2, MemoryHigh: idle.MemoryChange{MiB: 2, Known: true},
		Generation: w.Work(id).Generation}
	if !warned.IsZero() {
		m = m.Warned(*have(w.IdleSettings(bg)).Settings.All, warned)
	}
	w.putIdleRecord(m)
}

// IsIdleByPods is IsIdle for a share of a card: its pods are judged by thresholds that everybody has from now on.
func (w *World) IsIdleByPods(id workload.ID, since, warned time.Time) {
	of := *have(w.IdleSettings(bg)).Settings.All
	of.CPU, of.Network = idle.UsualCPU, idle.UsualNetwork
	check(w.SaveIdleSettings(bg, idle.Revision{Version: 2, AuthorName: "Pat", At: Now.Add(-24 * time.Hour),
		Settings: idle.Settings{All: &of}}))
	w.SharesItsCard(id)
	w.putIdleRecord(idle.Record{Workload: id, PodBelow: idle.PodUse{CPU: of.CPU, Network: float64(of.Network)},
		PodHigh: idle.PodUse{CPU: 0.013, Network: 321}, Since: since, Until: have(w.IdleObserved(bg))["local"],
		Generation: w.Work(id).Generation}.Warned(of, warned))
}

// SharesItsCard has a workload's card be one that others use as well.
func (w *World) SharesItsCard(id workload.ID) {
	item := w.Work(id)
	item.Size.Technology = catalog.TimeSlicing
	w.PutWork(item)
}

func (w *World) putIdleRecord(m idle.Record) {
	check(w.ChangeIdle(bg, func(tx idle.Tx) error { return tx.SaveIdleRecord(bg, m) }))
}

// IdleLooked says up to when it is known what the GPUs of the cluster did.
func (w *World) IdleLooked(until time.Time) {
	check(w.ChangeIdle(bg, func(tx idle.Tx) error { return tx.SaveIdleObserved(bg, "local", until) }))
}

// idleTried is a form that stops sooner.
var idleTried = url.Values{"base": {"1"}, "for-0": {"all"}, "action-0": {"stop"}, "after-0": {"4h"}, "below-0": {"5"},
	"keepAlive-0": {"8h"}, "for-1": {"teams.vision"}, "action-1": {"warn"}, "after-1": {"2h"}, "below-1": {"10"},
	"keepAlive-1": {""}}

// idling is a world in which one workload is idle and its owner was told, and another one is kept.
func idling(s Scope) *World {
	w := Busy(s)
	w.EndsWhenIdle(6 * time.Hour)
	w.IsIdle("w-train-resnet", Now.Add(-5*time.Hour-10*time.Minute), Now.Add(-8*time.Minute))
	w.Warned("w-train-resnet", audit.WorkloadIdle, Now.Add(-8*time.Minute), notify.Delivery{ID: "n-1", Kind: notify.Idle,
		Person: Anna.ID, Name: Anna.Name, Channel: notify.Mail, State: notify.Sent, Attempts: 1,
		UpdatedAt: Now.Add(-7 * time.Minute)})
	w.Idle.Did = func(time.Time) float64 { return 1.2 }
	return w
}

// idlingPods is a world in which a share of a card is idle by CPU and network of its pod, and its owner was told.
func idlingPods(s Scope) *World {
	w := Busy(s)
	w.EndsWhenIdle(6 * time.Hour)
	w.IsIdleByPods("w-train-resnet", Now.Add(-5*time.Hour-10*time.Minute), Now.Add(-8*time.Minute))
	return w
}

// needed is idling after somebody said that they still need it.
func needed(s Scope) *World {
	w := idling(s)
	w.putIdleRecord(have(w.IdleRecords(bg))["w-train-resnet"].KeepAlive(Now.Add(7*time.Hour), Anna.Name))
	return w
}

// idleUnknown is idling without a Prometheus.
func idleUnknown(s Scope) *World {
	w := idling(s)
	w.Idle.Away = true
	return w
}

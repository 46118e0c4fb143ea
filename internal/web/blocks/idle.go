package blocks

import (
	"math"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// IdleModel says since when a GPU is idle, what follows and when, with the one click that keeps it. nil where there is
// nothing to say: it works, it is not known, or it is idle for less than half of the time after which something
// follows.
func IdleModel(say page.Words, item workload.Workload, is idle.State, change bool) *workloadview.IdleNoticeModel {
	if !is.KeepAliveUntil.IsZero() {
		return &workloadview.IdleNoticeModel{KeptUntil: page.ClockOn(say, is.KeepAliveUntil), KeptBy: is.KeepAliveBy}
	}
	if is.Stale || is.Idle == 0 || is.Warned.IsZero() && 2*is.Idle < is.Setting.After.Std() {
		return nil
	}
	m := &workloadview.IdleNoticeModel{For: say.Duration(is.Idle), Since: page.ClockOn(say, is.Since),
		Below: is.Setting.Below, High: say.Percent(is.High), ByPods: is.ByPods,
		Graph: page.WorkloadPath(item.ID) + "/metrics?range=" + gpumetrics.SpanOver(is.Idle).Name}
	for _, s := range is.Signals() {
		m.Signals = append(m.Signals, workloadview.IdleSignalModel{Name: say.S("idle.signal_" + string(s.Name)),
			High: idleAmount(say, s.Name, s.High), Limit: idleAmount(say, s.Name, s.Below)})
	}
	if !is.StopsAt.IsZero() {
		m.StopsAt = page.ClockOn(say, is.StopsAt)
	}
	if change {
		m.KeepFor, m.Keep = say.Duration(is.Setting.KeepAlive.Std()), page.WorkloadPath(item.ID)+"/keep-alive"
	}
	return m
}

// idleAmount is a value of a signal in its unit; use is rounded up, so that it never reads as less than it was.
func idleAmount(say page.Words, of idle.SignalName, v float64) string {
	switch of {
	case idle.CPUSignal:
		thousandths, digits := math.Ceil(v*1000-1e-6), 3
		if math.Mod(thousandths, 10) == 0 {
			digits = 2
		}
		return say.S("idle.cores", "N", ui.Number(say.Localizer, thousandths/1000, digits))
	case idle.MemorySignal:
		return say.Number(math.Ceil(v)) + " MiB"
	case idle.NetworkSignal:
		return say.Number(math.Ceil(v/100)/10) + " kB/s"
	}
	return say.Percent(v)
}

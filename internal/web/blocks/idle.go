package blocks

import (
	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
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
		Below: is.Setting.Below, High: say.Percent(is.High)}
	if !is.StopsAt.IsZero() {
		m.StopsAt = page.ClockOn(say, is.StopsAt)
	}
	if change {
		m.KeepFor, m.Keep = say.Duration(is.Setting.KeepAlive.Std()), page.WorkloadPath(item.ID)+"/keep-alive"
	}
	return m
}

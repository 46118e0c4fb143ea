package workloads

import (
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// workloadIdle is what the page of a workload says of idle time: nothing while it works, or while nobody knows.
func (w *Pages) workloadIdle(k page.Call, s details) (workloadview.IdleModel, error) {
	m := workloadview.IdleModel{ID: "workload-idle"}
	states, err := w.Idle.States(k.Ctx, s.Workload)
	if err != nil {
		return m, err
	}
	m.Notice = blocks.IdleModel(k.Words, s.Workload, states[s.ID], s.mayChange)
	if m.Notice == nil || states[s.ID].Warned.IsZero() {
		return m, nil
	}
	if s.warnings == nil {
		s.warnings, err = w.Notify.Warnings(k.Ctx, k.Actor, s.ID)
	}
	m.Notice.Items = warningItems(k.Words, s, notify.Idle)
	return m, err
}

func (w *Pages) workloadKeepAlive(c echo.Context) error {
	k := w.CallOf(c)
	id := workload.ID(c.Param("id"))
	if _, err := w.Idle.KeepAlive(k.Ctx, k.Actor, id); err != nil {
		return err
	}
	return w.Done(c, "workload-kept-alive", page.LocalPath(c.FormValue("back"), page.WorkloadPath(id)))
}

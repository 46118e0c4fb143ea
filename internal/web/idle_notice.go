package web

import (
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// workloadIdle is what the page of a workload says of idle time: nothing while it works, or while nobody knows.
func (w *Web) workloadIdle(k call, s seen) (workloadview.IdleModel, error) {
	m := workloadview.IdleModel{ID: "workload-idle"}
	states, err := w.Idle.States(k.ctx, s.Workload)
	if err != nil {
		return m, err
	}
	m.Notice = idleNotice(k.words, s.Workload, states[s.ID], s.change)
	if m.Notice == nil || states[s.ID].Warned.IsZero() {
		return m, nil
	}
	if s.warnings == nil {
		s.warnings, err = w.Notify.Warnings(k.ctx, k.actor, s.ID)
	}
	m.Notice.Items = warningItems(k.words, s, notify.Idle)
	return m, err
}

// idleNotice says since when a GPU is idle, what follows and when, with the one click that keeps it. nil where there is
// nothing to say: it works, it is not known, or it is idle for less than half of the time after which something
// follows.
func idleNotice(say words, item workload.Workload, is idle.State, change bool) *ui.NoticeModel {
	if !is.KeepAliveUntil.IsZero() {
		return &ui.NoticeModel{Kind: ui.Info, Title: say.S("idle.kept", "At", clockOn(say, is.KeepAliveUntil)),
			Body: say.S("idle.kept_body", "Name", is.KeepAliveBy), Test: "idle-kept"}
	}
	if is.Stale || is.Idle == 0 || is.Warned.IsZero() && 2*is.Idle < is.Setting.After.Std() {
		return nil
	}
	n := &ui.NoticeModel{Kind: ui.Warning, Title: say.S("idle.is", "For", say.duration(is.Idle)), Test: "idle",
		Body: say.S("idle.is_body", "Since", clockOn(say, is.Since), "Below", is.Setting.Below, "High", say.percent(is.High))}
	if !is.StopsAt.IsZero() {
		n.Title = say.S("idle.is_stopping", "For", say.duration(is.Idle), "At", clockOn(say, is.StopsAt))
		n.Body += " " + say.S("idle.is_body_stop")
	}
	if change {
		n.Body += " " + say.S("idle.keep_alive_for", "For", say.duration(is.Setting.KeepAlive.Std()))
		n.Actions = []ui.ActionModel{{Post: &ui.PostButtonModel{Action: workloadPath(item.ID) + "/keep-alive",
			Button: ui.ButtonModel{Label: say.S("idle.keep_alive"), Icon: "extend", Kind: ui.Primary, Small: true,
				Test: "keep-alive"}}}}
	}
	return n
}

// clockOn is a time of the day, with the day where it is another one.
func clockOn(say words, t time.Time) string {
	if t.UTC().Truncate(24 * time.Hour).Equal(say.now.UTC().Truncate(24 * time.Hour)) {
		return ui.Clock(t, time.UTC) + " UTC"
	}
	return say.at(t).Exact
}

func (w *Web) workloadKeepAlive(c echo.Context) error {
	k := w.callOf(c)
	id := workload.ID(c.Param("id"))
	if _, err := w.Idle.KeepAlive(k.ctx, k.actor, id); err != nil {
		return err
	}
	return w.done(c, "workload-kept-alive", localPath(c.FormValue("back"), workloadPath(id)))
}

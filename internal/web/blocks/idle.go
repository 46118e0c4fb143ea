package blocks

import (
	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// IdleNotice says since when a GPU is idle, what follows and when, with the one click that keeps it. nil where there is
// nothing to say: it works, it is not known, or it is idle for less than half of the time after which something
// follows.
func IdleNotice(say page.Words, item workload.Workload, is idle.State, change bool) *ui.NoticeModel {
	if !is.KeepAliveUntil.IsZero() {
		return &ui.NoticeModel{Kind: ui.Info, Title: say.S("idle.kept", "At", page.ClockOn(say, is.KeepAliveUntil)),
			Body: say.S("idle.kept_body", "Name", is.KeepAliveBy), Test: "idle-kept"}
	}
	if is.Stale || is.Idle == 0 || is.Warned.IsZero() && 2*is.Idle < is.Setting.After.Std() {
		return nil
	}
	n := &ui.NoticeModel{Kind: ui.Warning, Title: say.S("idle.is", "For", say.Duration(is.Idle)), Test: "idle",
		Body: say.S("idle.is_body", "Since", page.ClockOn(say, is.Since), "Below", is.Setting.Below, "High",
			say.Percent(is.High))}
	if !is.StopsAt.IsZero() {
		n.Title = say.S("idle.is_stopping", "For", say.Duration(is.Idle), "At", page.ClockOn(say, is.StopsAt))
		n.Body += " " + say.S("idle.is_body_stop")
	}
	if change {
		n.Body += " " + say.S("idle.keep_alive_for", "For", say.Duration(is.Setting.KeepAlive.Std()))
		n.Actions = []ui.ActionModel{{Post: &ui.PostButtonModel{Action: page.WorkloadPath(item.ID) + "/keep-alive",
			Button: ui.ButtonModel{Label: say.S("idle.keep_alive"), Icon: "extend", Kind: ui.Primary, Small: true,
				Test: "keep-alive"}}}}
	}
	return n
}

package blocks

import (
	"strconv"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// EndingNotice announces the end of a lease, with the one click that moves it; nil while the end is not near or not
// this person's to move.
func (w *Blocks) EndingNotice(k page.Call, item workload.Workload) *ui.NoticeModel {
	if !item.Ending() || item.Lease.Over(k.Words.Now) || !identity.Can(k.Actor, identity.ChangeWorkload, item.Resource()) {
		return nil
	}
	n := &ui.NoticeModel{Kind: ui.Warning, Test: "attention-ending", Title: k.Words.S("home.ending", "Name", item.Name,
		"In", k.Words.Duration(item.Lease.Left(k.Words.Now))),
		Body: k.Words.S("home.ending_body", "At", ui.Clock(item.Lease.Until, time.UTC)+" UTC")}
	more := ExtendBy(item)
	if more == 0 {
		n.Body = k.Words.S("home.ending_most", "Most", k.Words.Duration(item.Size.MaxLease.Std()))
		return n
	}
	n.Actions = []ui.ActionModel{
		{Post: &ui.PostButtonModel{Action: page.WorkloadPath(item.ID) + "/extend",
			Button: ui.ButtonModel{Label: k.Words.S("home.extend_by", "Duration", k.Words.Duration(more.Std())), Icon: "extend",
				Small: true, Test: "extend-now"},
			Hidden: []ui.HiddenModel{{Name: "lease", Value: more.String()},
				{Name: "key", Value: "extend-" + string(item.ID) + "-" + strconv.FormatInt(item.Lease.Until.Unix(), 36)}}}},
		{Link: &ui.LinkButtonModel{Label: k.Words.S("home.extend_other"), Href: page.WorkloadPath(item.ID) + "/extend",
			Kind: ui.LinkLike, Small: true}},
	}
	return n
}

// ExtendBy is what one click adds: the usual lease of the size, or what its longest lease leaves; 0 when nothing is
// left.
func ExtendBy(item workload.Workload) catalog.Duration {
	more := item.Size.DefaultLease
	if more == 0 {
		more = catalog.Duration(4 * time.Hour)
	}
	if item.Size.MaxLease > 0 {
		more = min(more, item.Size.MaxLease-catalog.Duration(item.Lease.Until.Sub(item.Lease.From)))
	}
	if more < catalog.Duration(10*time.Minute) {
		return 0
	}
	return more / catalog.Duration(time.Minute) * catalog.Duration(time.Minute)
}

// LeaseChange is the whole lease before an extension and after it.
func LeaseChange(say page.Words, r request.Request) string {
	return say.S("requests.leases", "Before", say.Duration(r.Spec.LeaseBefore.Std()), "After",
		say.Duration((r.Spec.LeaseBefore + r.Spec.Lease).Std()))
}

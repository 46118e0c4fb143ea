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
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// EndingModel announces the end of a lease, with the one click that moves it; nil while the end is not near or not this
// person's to move.
func (w *Blocks) EndingModel(k page.Call, item workload.Workload) *workloadview.EndingModel {
	if !item.Ending() || item.Lease.Over(k.Words.Now) || !identity.Can(k.Actor, identity.ChangeWorkload, item.Resource()) {
		return nil
	}
	m := &workloadview.EndingModel{Name: item.Name, In: k.Words.Duration(item.Lease.Left(k.Words.Now)),
		At: ui.Clock(item.Lease.Until, time.UTC) + " UTC", Path: page.WorkloadPath(item.ID) + "/extend"}
	more := ExtendBy(item)
	if more == 0 {
		m.Most = k.Words.Duration(item.Size.MaxLease.Std())
		return m
	}
	m.More, m.Lease = k.Words.Duration(more.Std()), more.String()
	m.Key = "extend-" + string(item.ID) + "-" + strconv.FormatInt(item.Lease.Until.Unix(), 36)
	return m
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

package requests

import (
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// pendingWords say what an approval brings, and when the request expires without one.
var pendingWords = map[request.Kind]string{request.StartKind: "requests.pending_more",
	request.QuotaKind: "requests.pending_quota", request.ExtendKind: "requests.pending_extension",
	request.ResumeKind: "requests.pending_resume", request.ReachKind: "requests.pending_reach"}

// meanwhile says how long a workload runs on while its extension is pending; "" for other requests, and where it does
// not run.
func (w *Pages) meanwhile(k page.Call, r request.Request) string {
	if r.Kind != request.ExtendKind {
		return ""
	}
	item, err := w.Workloads.Get(k.Ctx, k.Actor, r.Workload)
	if err != nil || item.State != workload.Running || item.Lease.Over(k.Words.Now) {
		return ""
	}
	return k.Words.S("requests.meanwhile", "Until", k.Words.At(item.Lease.Until).Exact)
}

// asksFor heads a request for those who decide it.
func asksFor(say page.Words, r request.Request) string {
	if r.Kind == request.ExtendKind || r.Kind == request.ResumeKind || r.Kind == request.ReachKind {
		return r.AskerName + ": " + blocks.RequestName(say, r)
	}
	return say.S("requests.asks", "Name", r.AskerName, "Size", say.SizeTitle(r.Spec.Size))
}

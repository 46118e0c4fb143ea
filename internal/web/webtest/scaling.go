package webtest

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// ByKEDA is the world of Scaling with an endpoint that KEDA scales, up to two fewer than was agreed to, and one of
// which KEDA says why it cannot.
func ByKEDA(s Scope) *World {
	w := Scaling(s)
	for _, name := range []string{"translate", "embed"} {
		e := w.Workload(name, Anna, "mig-1g.10gb").Endpoint().Running("gpu-02", time.Hour, 7*time.Hour).Between(1, 6, 2, 2)
		e.Image.Runtime = &catalog.Runtime{Engine: catalog.VLLM, Autoscaler: catalog.ByKEDA}
		e.Replicas.Ceiling = 4
		e.Replicas.Scaling = autoscale.Policy{Metric: autoscale.Concurrency, Target: 16,
			ScaleDownAfter: autoscale.UsualScaleDownAfter}
		e.Observed.Autoscaler = &workload.Autoscaler{Replicas: 2}
		if name == "embed" {
			e.Observed.Autoscaler.Detail = "Triggers defined in ScaledObject are not working correctly"
		}
		w.Add(e)
	}
	return w
}

// Scaling is a world with an endpoint that scales by itself and needs more replicas than there is room for, and one
// that sleeps.
func Scaling(s Scope) *World {
	w := Busy(s)
	short := w.Workload("assistant", Anna, "mig-1g.10gb").Endpoint().Running("gpu-02", time.Hour, 7*time.Hour).
		Between(1, 4, 3, 3)
	short.Replicas.Scaling = autoscale.Policy{Metric: autoscale.Concurrency, Target: 16,
		ScaleDownAfter: autoscale.UsualScaleDownAfter}
	short.Replicas.Short = i18n.T("replicas.over_quota", "Size", i18n.Literal("MIG 1g.10gb"), "Used", 7, "Limit", 7,
		"Most", 3)
	asleep := w.Workload("summaries", Anna, "mig-1g.10gb").Endpoint().Running("gpu-02", 3*time.Hour, 5*time.Hour).
		Between(0, 2, 1, 0)
	asleep.Replicas.Scaling = autoscale.Policy{ToZeroAfter: autoscale.UsualToZeroAfter}
	asleep.Replicas.Asleep, asleep.Replicas.Held, asleep.State = true, 0, workload.Asleep
	asleep.Reason, asleep.Observed = i18n.T("scaling.asleep"), workload.Observation{At: Now, Generation: 1}
	w.Add(short)
	w.Add(asleep)
	return w
}

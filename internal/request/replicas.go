package request

import (
	"cmp"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// replicas checks between how many replicas an endpoint shall have; the zero Range where nothing was said.
func (c *checker) replicas(d Draft, w Spec) workload.Range {
	one := d.Replicas == nil || *d.Replicas == workload.Range{Min: 1, Max: 1}
	switch {
	case w.Image.NeedsLeaderWorkerSet() && d.Kind == catalog.Endpoint && !one:
		c.problem("replicas", i18n.T("replicas.one_group", "Image", w.Image.Title))
		return workload.Range{}
	case one && d.Kind != catalog.Notebook && (d.Replicas == nil || d.Kind == catalog.Endpoint):
		return c.nodes(d, w)
	case d.Nodes > 1:
		c.problem("nodes", i18n.T("request.nodes_only"))
		return workload.Range{}
	case d.Replicas == nil:
		return workload.Range{}
	}
	r, most := *d.Replicas, cmp.Or(c.offering.Limits.MaxReplicas, DefaultLimits().MaxReplicas)
	switch {
	case d.Kind != catalog.Endpoint:
		c.problem("replicas", i18n.T("replicas.endpoints_only"))
		return workload.Range{}
	case r.Min < 0 || r.Max < max(1, r.Min) || r.Max > most:
		c.problem("replicas", i18n.T("replicas.range", "Most", most))
		return workload.Range{}
	case r.Max > 1:
		c.shared("replicas", w)
	}
	return r
}

// shared refuses what several pods cannot have together.
func (c *checker) shared(field string, w Spec) {
	switch {
	case w.Image.Home != "" && (w.StorageGiB > 0 || w.Volume != ""):
		c.problem(field, i18n.T("replicas.storage"))
	case workload.HasPersonal(w.Mounts):
		c.problem(field, i18n.T("replicas.volumes"))
	case w.Size.LicensePool != "" && w.Size.LicenseKind() == license.SharedVGPU:
		c.problem(field, i18n.T("replicas.shared_vgpu", "Size", w.Size.Called()))
	}
}

// scaling checks how an endpoint scales by itself; the zero Policy where its owner sets the number.
func (c *checker) scaling(d Draft, w Spec) autoscale.Policy {
	typed := autoscale.Typed{}
	if d.Scaling != nil {
		typed = *d.Scaling
	}
	if d.Kind != catalog.Endpoint {
		if !typed.IsZero() {
			c.problem("scaling.metric", i18n.T("replicas.endpoints_only"))
		}
		return autoscale.Policy{}
	}
	p, problems := autoscale.Parse(typed, w.Replicas.ToZero(), w.Image, w.Size)
	for _, wrong := range problems {
		c.problem("scaling."+wrong.Field, wrong.Reason)
	}
	if p.Automatic() && w.Replicas.Most() == w.Replicas.Lowest() {
		c.problem("replicas", i18n.T("scaling.no_room"))
	}
	return p
}

// quotaShort says that the quota has no room for what a spec starts with.
func quotaShort(w Spec, q Quota) fault.Field {
	if n := w.Replicas.Least(); n > 1 {
		return fault.Field{Name: "replicas", Reason: i18n.T("replicas.quota_short", "Size", q.Names(w.Size), "Used", q.Used,
			"Limit", q.Limit, "Replicas", n)}
	}
	return fault.Field{Name: "size", Reason: i18n.T("request.quota_full", "Size", q.Names(w.Size), "Used", q.Used, "Limit",
		q.Limit)}
}

// AtMost is the price of the whole lease with as many replicas as its owner may set.
func (r Request) AtMost() usage.Money {
	if r.EstimateMost.Minor == 0 {
		return r.Estimate
	}
	return r.EstimateMost
}

// atMost is a spec as it is with all the replicas that its owner may set: what rules and approvers decide about.
func (w Spec) atMost() Spec {
	if most := w.Replicas.Most(); most > 1 {
		w.Replicas = workload.Range{Min: most, Max: most}
	}
	return w
}

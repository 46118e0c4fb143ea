package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/serve"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

func (a *App) newDrift() *drift.Service {
	return drift.New(drift.Options{Store: a.store, Changed: a.holdsChanged, Now: a.now, Logger: a.log})
}

// holdsChanged says in the log of every replica what none of them does any more, or does again.
func (a *App) holdsChanged() {
	for _, h := range a.drift.Holds() {
		a.log.Error("nothing is changed in a cluster: it carries more than the database knows", "cluster", h.Cluster,
			"since", h.Since, "cause", string(h.Cause), "see", a.config.URL+page.DifferencesPath)
	}
}

// followDrift loads holds of clusters that other processes begin or end.
func (a *App) followDrift(ctx context.Context) error {
	changed, done := a.publish(ctx, live.TopicDifference)
	defer done()
	return a.drift.Follow(ctx, changed, 30*time.Second)
}

// parts are what /readyz?verbose names: each system beside the database, and since when it is away or held.
func (a *App) parts() []serve.Part {
	since := func(what string, t time.Time) string { return what + " since " + t.UTC().Format(time.RFC3339) }
	problem := func(ok bool, t time.Time) string {
		if ok {
			return ""
		}
		return since("does not answer", t)
	}
	var list []serve.Part
	if a.controller != nil {
		for _, s := range a.controller.Status() {
			list = append(list, serve.Part{Name: "cluster/" + s.Name, Problem: problem(s.OK, s.Since)})
		}
	}
	for name, p := range a.clusters.metrics {
		s := p.Status()
		list = append(list, serve.Part{Name: "prometheus/" + name, Problem: problem(s.OK, s.Since)})
	}
	list = append(list, serve.Part{Name: "oidc", Problem: problem(a.provider.Healthy(), a.provider.Since())})
	for _, h := range a.drift.Holds() {
		list = append(list, serve.Part{Name: "cluster/" + h.Cluster,
			Problem: since("held", h.Since) + fmt.Sprintf(": the database is behind the cluster (%s)", h.Cause)})
	}
	slices.SortStableFunc(list, func(x, y serve.Part) int { return strings.Compare(x.Name, y.Name) })
	return list
}

package app

import (
	"context"
	"fmt"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/live"
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

// notes are what a ready portal says of itself where more than its readiness is asked for.
func (a *App) notes() []string {
	var list []string
	for _, h := range a.drift.Holds() {
		list = append(list, fmt.Sprintf("cluster/%s held since %s: the database is behind the cluster (%s)", h.Cluster,
			h.Since.UTC().Format(time.RFC3339), h.Cause))
	}
	return list
}

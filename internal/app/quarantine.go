package app

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/live"
)

// newQuarantine puts together who calls nodes and cards bad.
func (a *App) newQuarantine() *health.Service {
	sources := map[string]health.Source{}
	for cluster, p := range a.clusters.metrics {
		sources[cluster] = p
	}
	return health.New(health.Options{Store: a.store, Sources: sources, Changed: a.quarantineChanged,
		Recent: a.config.Health.ErrorWindow(), Now: a.now, Logger: a.log})
}

// quarantineChanged: the inventory counts anew, and what waits for a place may find one, or has to look elsewhere.
func (a *App) quarantineChanged() {
	if a.controller != nil {
		a.controller.RefreshQuarantine(context.Background())
	}
}

// followQuarantine loads quarantines that other processes save.
func (a *App) followQuarantine(ctx context.Context) error {
	changed, done := a.publish(ctx, live.TopicQuarantine)
	defer done()
	return a.quarantine.Follow(ctx, changed, 30*time.Second)
}

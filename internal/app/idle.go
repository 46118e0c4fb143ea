package app

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/idle"
)

// watchIdle puts together what looks for GPUs that nobody uses. The controller has it look.
func (a *App) watchIdle() {
	sources := map[string]idle.Source{}
	for cluster, p := range a.clusters.metrics {
		sources[cluster] = p
	}
	a.idle = idle.New(idle.Options{Store: a.store, Sources: sources, Namespaces: a.namespaces, Size: a.sizeKnown,
		Team: a.teamKnown, Quiet: a.quiet(),
		Statements: a.usage, Zone: zone(a.config), Every: a.config.Idle.Every.Std(), Now: a.now,
		Logger: a.log})
}

// quiet moves what nobody asked for out of the quiet hours; nil where the site has none.
func (a *App) quiet() func(time.Time) time.Time {
	hours, ok := a.config.Schedule.Quiet(a.config.TimeZone)
	if !ok {
		return nil
	}
	return func(at time.Time) time.Time {
		if !hours.On(at) {
			return at
		}
		end, _ := hours.Next(at) // config has checked that they end
		return end.At
	}
}

func (a *App) teamKnown(name string) bool {
	_, ok := a.tenants.Directory().ByName(name)
	return ok
}

package app

import "github.com/gpu-portal/gpu-portal/internal/idle"

// watchIdle puts together what looks for GPUs that nobody uses. The controller has it look.
func (a *App) watchIdle() {
	sources := map[string]idle.Source{}
	for cluster, p := range a.clusters.metrics {
		sources[cluster] = p
	}
	a.idle = idle.New(idle.Options{Store: a.store, Sources: sources, Namespaces: a.namespaces, Size: a.sizeKnown,
		Team: a.teamKnown, Statements: a.usage, Zone: zone(a.config), Every: a.config.Idle.Every.Std(), Now: a.now,
		Logger: a.log})
}

func (a *App) teamKnown(name string) bool {
	_, ok := a.tenants.Directory().ByName(name)
	return ok
}

package app

import (
	"github.com/gpu-portal/gpu-portal/internal/advice"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// advise puts together what watches for sizes that do not suit. Each replica with pages asks the metrics for itself: they are the same for all.
func (a *App) advise() {
	sources := map[string]advice.Source{}
	for cluster, p := range a.clusters.metrics {
		sources[cluster] = p
	}
	rule := a.config.Advice.Rule()
	a.collector = advice.NewCollector(advice.CollectorOptions{Sources: sources, Namespaces: a.namespaces, Rule: rule, Now: a.now, Logger: a.log})
	a.advice = advice.New(advice.Options{Store: a.store, Days: a.collector.Days, Rule: rule, Now: a.now,
		Offer: func(tenant string) []catalog.Size { return a.siteNow().CatalogFor(tenant, a.now()).Sizes }})
}

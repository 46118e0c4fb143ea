package app

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/advice"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/usage/recorder"
)

// advise puts together what watches for sizes that do not suit. Each replica with pages asks the metrics for itself:
// they are the same for all.
func (a *App) advise() {
	sources, engines := map[string]advice.Source{}, map[string]recorder.Source{}
	for cluster, p := range a.clusters.metrics {
		sources[cluster], engines[cluster] = p, p
	}
	rule := a.config.Advice.Rule()
	a.collector = advice.NewCollector(advice.CollectorOptions{Sources: sources, Namespaces: a.namespaces, Rule: rule,
		Now: a.now, Logger: a.log})
	record := recorder.Options{Sources: engines, Store: a.store, Namespaces: a.namespaces, Period: recordEvery(rule),
		Zone: zone(a.config), Now: a.now, Logger: a.log}
	a.recorder, a.uses = recorder.New(record), recorder.NewLive(record)
	a.usage.Live = a.uses
	a.advice = advice.New(advice.Options{Store: a.store, Days: a.collector.Days, Rule: rule, Now: a.now,
		Offer: func(tenant string) []catalog.Size { return a.siteNow().CatalogFor(tenant, a.now()).Sizes }})
}

// recordEvery is how much time is recorded at once: an hour, and less where advice is content with less, as in a
// demonstration.
func recordEvery(rule advice.Rule) time.Duration {
	return max(10*time.Second, min(time.Hour, rule.After/4)).Truncate(10 * time.Second)
}

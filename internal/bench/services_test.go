//go:build unix

package bench_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity/delegation"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/logging"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

func (p *portal) budgets(now func() time.Time) *budget.Service {
	return &budget.Service{Store: p.store, Zone: time.UTC, Now: now, NewID: p.newID,
		Money: func() budget.Unit { return "EUR" },
		Tenant: func(name string) (string, bool) {
			t, ok := p.site.Directory.ByName(name)
			return t.Display(), ok
		}}
}

func (p *portal) tenants(now func() time.Time) *tenant.Service {
	return tenant.NewService(tenant.Options{Store: p.store, Initial: p.site.Directory, Now: now,
		Catalog: func() catalog.Catalog { return p.site.Catalog },
		Known:   func(size string) bool { _, ok := p.site.Catalog.Size(size); return ok }})
}

func (p *portal) delegations(now func() time.Time) *delegation.Service {
	return delegation.New(delegation.Options{Store: p.store, Actor: p.site.Directory.Actor,
		Decides: p.requests.Approvals.Decides, Now: now, NewID: p.newID})
}

func (p *portal) usage(t testing.TB, now func() time.Time) *usage.Service {
	return &usage.Service{Store: p.store, Changes: p.store, Live: nothingLive{}, Demand: p.store,
		Prices: p.prices(t, now),
		Fleet: &usage.Fleet{Store: p.store, Zone: time.UTC, Now: now,
			Clusters: func() []string { return p.site.Clusters }}, Zone: time.UTC, Now: now}
}

func (p *portal) prices(t testing.TB, now func() time.Time) *usage.Prices {
	prices := usage.NewPrices(usage.PricesOptions{Store: p.store, Zone: time.UTC, Currency: "EUR",
		Known: func() usage.Known { return usage.Known{} }, Now: now, NewID: p.newID})
	if err := prices.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	return prices
}

// nothingLive knows nothing beyond the record.
type nothingLive struct{}

func (nothingLive) Tails(context.Context) ([]usage.EngineTail, error) { return nil, nil }

func (p *portal) offers(t testing.TB, now func() time.Time) *offer.Service {
	first, wrong := offer.NewInitial(string(catalog.DefaultYAML()), p.site.Pools...)
	if wrong != nil {
		t.Fatal(wrong)
	}
	return offer.New(offer.Options{Store: p.store, Snapshots: p.store, Clusters: p.site.Clusters, Initial: first,
		Now: now})
}

func (p *portal) doctor(now func() time.Time) *doctor.Service {
	return doctor.NewService(doctor.ServiceOptions{Store: p.store, ID: "p-1", Process: doctor.Process{Name: "web-1"},
		Now: now, Levels: logging.NewLevels(logging.Options{Store: p.store, Level: new(slog.LevelVar), Configured: "info",
			Now: now}), Settings: func() (string, error) { return "", nil }, Secrets: func() []string { return nil }})
}

func (p *portal) notices(t testing.TB, bundle *i18n.Bundle, now func() time.Time) *notify.Service {
	words, err := notify.LoadWords(bundle)
	if err != nil {
		t.Fatal(err)
	}
	same := func(_, text string) (string, error) { return text, nil }
	return notify.New(notify.Options{Store: p.store, Actor: p.site.Directory.Actor, Words: words,
		URL: "http://localhost:8080", Language: "en", Now: now, NewID: p.newID, Seal: same, Open: same})
}

// devices is what DCGM tells of the fleet: no error of any card.
type devices struct{ p *portal }

func (d devices) Fleet() *gpumetrics.Fleet { return d.p.metrics.fleet }

func (d devices) Report() gpumetrics.Report { return d.p.metrics.report }

// reportOf is as well as cards can be.
func reportOf(f *gpumetrics.Fleet) (r gpumetrics.Report) {
	for _, n := range f.Nodes {
		for _, c := range n.Cards {
			r.Health = append(r.Health, gpumetrics.Card{UUID: c.UUID, Model: c.Model, Node: n.Name, TellsErrors: true,
				At: f.At})
		}
	}
	return r
}

// fleetOf is what four cards of every node do.
func fleetOf(s inventory.Snapshot) *gpumetrics.Fleet {
	f := &gpumetrics.Fleet{At: s.TakenAt}
	value := func(v float64, unit gpumetrics.Unit) gpumetrics.Reading {
		return gpumetrics.Reading{Value: v, Unit: unit, Source: gpumetrics.Measured, At: s.TakenAt}
	}
	for i, n := range s.Nodes {
		node := gpumetrics.Node{Name: n.Name}
		for c := range 4 {
			node.Cards = append(node.Cards, gpumetrics.CardUse{UUID: fmt.Sprintf("GPU-%d-%d", i, c), Model: n.Model,
				Cells: []gpumetrics.Cell{{Engine: value(float64((i*7+c*31)%100), gpumetrics.Percent),
					Memory: value(40_000, gpumetrics.MiB), Total: value(81_559, gpumetrics.MiB),
					Pods: []gpumetrics.Pod{{Namespace: "batch", Name: fmt.Sprintf("job-%d-%d", i, c)}}}}})
		}
		f.Nodes = append(f.Nodes, node)
	}
	return f
}

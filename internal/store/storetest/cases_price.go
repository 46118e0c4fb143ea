package storetest

import (
	"context"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

func price(id string, from int) usage.Price {
	return usage.Price{ID: id, Kind: usage.PriceCard, Subject: "H100 80GB", Tenant: "vision", Rate: 2_500_420,
		From: later(from), Until: later(9000), Author: "p-root", AuthorName: "Root", At: later(1)}
}

var priceCases = cases{
	"a price comes back as it was written": func(t *testing.T, s *store.Store) {
		ctx, p := context.Background(), price("p-1", 5)
		filled(t, p)
		must(t, s.SavePrices(ctx, []usage.Price{p}, Event(1)))
		open := price("p-2", 5)
		open.Until = usage.Price{}.Until
		must(t, s.SavePrices(ctx, []usage.Price{open}))
		equal(t, usage.PriceList{p, open}, got(s.Prices(ctx))(t))
		fails(t, fault.Conflict, s.SavePrices(ctx, []usage.Price{p}))
		p.ID = "p-\x00"
		fails(t, fault.Invalid, s.SavePrices(ctx, []usage.Price{p}))
	},
	"a price ends once, and never before it began": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		running, coming := price("p-1", 5), price("p-2", 500)
		must(t, s.SavePrices(ctx, []usage.Price{running}))
		must(t, s.SavePrices(ctx, []usage.Price{coming}))
		must(t, s.EndPrice(ctx, "p-1", later(100), Event(1)))
		must(t, s.EndPrice(ctx, "p-2", later(100)))
		running.Until, coming.Until = later(100), later(500)
		equal(t, usage.PriceList{running, coming}, got(s.Prices(ctx))(t))
		for _, id := range []string{"p-1", "p-3", "p-\x00"} {
			fails(t, fault.NotFound, s.EndPrice(ctx, id, later(100)))
		}
		fails(t, fault.NotFound, s.EndPrice(ctx, "p-1", later(200)))
	},
}

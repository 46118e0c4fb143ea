package usage

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var storageBegin = time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC)

// storagePrices is a list with a storage price for all that changes, one for a team that ends, and a price of something
// else.
func storagePrices(r *rand.Rand) PriceList {
	at := func(days int) time.Time { return storageBegin.AddDate(0, 0, r.IntN(days)) }
	return PriceList{
		{ID: "p-1", Kind: PriceStorage, Rate: UnitPrice(r.IntN(20_000)), From: at(10)},
		{ID: "p-2", Kind: PriceStorage, Rate: UnitPrice(r.IntN(20_000)), From: at(60)},
		{ID: "p-3", Kind: PriceStorage, Tenant: "vision", Rate: UnitPrice(r.IntN(20_000)), From: at(60),
			Until: storageBegin.AddDate(0, 0, 61)}, {ID: "p-4", Kind: PriceCPU, Rate: 500, From: at(60)},
	}
}

// storageKept is storage of two teams that grows, goes, and comes back under its name.
func storageKept(r *rand.Rand) (list []StorageInterval) {
	for _, name := range []string{"home", "datasets", "models"} {
		at := storageBegin.Add(time.Duration(r.Int64N(20*24*3600e6)) * time.Microsecond)
		for range 5 {
			k := StorageInterval{Volume: name, Tenant: []string{"vision", "speech"}[r.IntN(2)], Owner: "p-1", OwnerName: "Anna",
				GiB: int64(1 + r.IntN(2000)), From: at}
			at = at.Add(time.Duration(1+r.Int64N(20*24*3600e6)) * time.Microsecond)
			k.Until = at
			list = append(list, k)
			at = at.Add(time.Duration(r.IntN(2)*r.IntN(1e10)) * time.Microsecond)
		}
		if r.IntN(2) == 0 {
			list[len(list)-1].Until = time.Time{}
		}
	}
	return list
}

func storageMinor(lines []Line) (all int64) {
	for _, l := range lines {
		all += l.Cost().Minor
	}
	return all
}

// TestSplitStorageCostsTheWhole: whatever an interval is cut into, and however time is cut into statements, it costs
// what the whole costs, to the minor unit.
func TestSplitStorageCostsTheWhole(t *testing.T) {
	end := storageBegin.AddDate(0, 6, 0)
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		prices, kept := storagePrices(r), storageKept(r)
		whole := prices.Storage(kept, Span{storageBegin, end}, "EUR")
		var split []StorageInterval
		for _, k := range kept {
			until := k.Until
			if until.IsZero() {
				until = end
			}
			middle := k.From.Add(time.Duration(r.Int64N(until.Sub(k.From).Microseconds()+1)) * time.Microsecond)
			first, then := k, k
			first.Until, then.From = middle, middle
			split = append(split, first, then)
		}
		if diff := cmp.Diff(whole, prices.Storage(split, Span{storageBegin, end}, "EUR")); diff != "" {
			t.Fatalf("seed %d: split intervals differ (-want +got)\n%s", seed, diff)
		}
		sum, held := int64(0), GiBTime(0)
		for at := storageBegin; at.Before(end); {
			next := at.Add(time.Duration(1+r.Int64N(30*24*3600e6)) * time.Microsecond)
			if next.After(end) {
				next = end
			}
			lines := prices.Storage(kept, Span{at, next}, "EUR")
			sum += storageMinor(lines)
			held += Statement{Lines: lines}.Total().Storage
			at = next
		}
		if total := (Statement{Lines: whole}).Total(); sum != storageMinor(whole) || held != total.Storage ||
			len(total.Cost) > 0 && total.Cost[0].Minor != sum {
			t.Fatalf("seed %d: statements add up to %d of %d, %d of %d", seed, sum, storageMinor(whole), held, total.Storage)
		}
		for name, key := range Groupings {
			by := int64(0)
			for _, g := range (Statement{Lines: whole}).By(key) {
				by += storageMinor(g.Lines)
			}
			if by != sum {
				t.Fatalf("seed %d by %s: %d of %d", seed, name, by, sum)
			}
		}
	}
}

func TestStorageCosts(t *testing.T) {
	hours := func(n int) time.Time { return storageBegin.Add(time.Duration(n) * time.Hour) }
	price := func(rate UnitPrice, from int) Price { return Price{Kind: PriceStorage, Rate: rate, From: hours(from)} }
	for sentence, c := range map[string]struct {
		prices PriceList
		kept   StorageInterval
		want   int64
		lines  int
	}{
		"a hundred GiB for a month": {PriceList{price(8000, 0)},
			StorageInterval{GiB: 100, From: hours(0), Until: hours(730)}, 800, 1},
		"half a cent is a cent": {PriceList{price(500, 0)}, StorageInterval{GiB: 1, From: hours(0), Until: hours(730)},
			1, 1},
		"less is nothing, and yet a line": {PriceList{price(499, 0)}, StorageInterval{GiB: 1, From: hours(0),
			Until: hours(730)},
			0, 1},
		"what is still there": {PriceList{price(8000, 0)}, StorageInterval{GiB: 100, From: hours(365)}, 400, 1},
		"nothing before there was a price": {PriceList{price(8000, 365)},
			StorageInterval{GiB: 100, From: hours(0), Until: hours(730)}, 400, 1},
		"the price changes while it is there": {PriceList{price(8000, 0), price(16000, 365)},
			StorageInterval{GiB: 100, From: hours(0), Until: hours(730)}, 1200, 2},
		"no price, no line": {nil, StorageInterval{GiB: 100, From: hours(0), Until: hours(730)}, 0, 0},
		"a petabyte for a month costs millions": {PriceList{price(100_000_000, 0)},
			StorageInterval{GiB: 1 << 20, From: hours(0),
				Until: hours(730)}, 104_857_600_000, 1},
	} {
		c.kept.Volume = "home"
		lines := c.prices.Storage([]StorageInterval{c.kept}, Span{hours(0), hours(730)}, "EUR")
		if got := storageMinor(lines); got != c.want || len(lines) != c.lines {
			t.Errorf("%s: want %d in %d lines, got %d in %d", sentence, c.want, c.lines, got, len(lines))
		}
	}
}

func TestStorageInATable(t *testing.T) {
	lines := PriceList{{Kind: PriceStorage, Rate: 8000, From: storageBegin}}.Storage(
		[]StorageInterval{{Volume: "home", Tenant: "vision", Owner: "p-1", OwnerName: "Anna", GiB: 100, From: storageBegin}},
		Span{storageBegin, storageBegin.Add(73 * time.Hour)}, "EUR")
	var file strings.Builder
	if err := (Statement{Month: Month{2026, time.March}, Lines: lines}).ExportCSV(&file); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Split(file.String(), "\n")[1],
		"2026-03,vision,Anna,p-1,home,,storage,storage,,,0,73.000000,0.000000,0.000000,,0.80,EUR,home,100,10.000000,0.08,,,,,,,,,"; got != want {
		t.Errorf("want %s\ngot  %s", want, got)
	}
}

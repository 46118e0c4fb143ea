package usage

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPerHour(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	entry := func(kind PriceKind, subject, tenant string, rate UnitPrice) Price {
		return Price{ID: "p", Kind: kind, Subject: subject, Tenant: tenant, Rate: rate, From: at.Add(-time.Hour)}
	}
	slice := SKU{Size: "mig", Model: "H100", Share: 1.0 / 7, Count: 1, CPUs: 4, MemoryGiB: 16, Agreed: Money{99, "EUR"}}
	two := slice
	two.Size, two.Share, two.Count = "whole", 1, 2
	plain := SKU{Size: "cpu", CPUs: 0.5, MemoryGiB: 1, Agreed: Money{6, "EUR"}}
	card, cpu, memory := entry(PriceCard, "H100", "", 350_000), entry(PriceCPU, "", "", 4200),
		entry(PriceMemory, "", "", 500)
	over, coming := entry(PriceSize, "mig", "", 1000), entry(PriceSize, "mig", "", 2000)
	over.Until, coming.From = at, at.Add(time.Nanosecond)
	newer := entry(PriceSize, "mig", "", 70_000)
	newer.From = at
	cases := map[string]struct {
		list   PriceList
		sku    SKU
		tenant string
		want   int64
	}{
		"no list: what was agreed":            {nil, slice, "vision", 99},
		"a slice costs its share of the card": {PriceList{card}, slice, "vision", 50},
		"two whole cards":                     {PriceList{card}, two, "vision", 700},
		// 50 + 16.8 + 8 = 74.8
		"card, CPUs and memory together": {PriceList{card, cpu, memory}, slice, "vision", 75},
		"another card's price says nothing": {PriceList{entry(PriceCard, "A100", "", 350_000)}, slice, "vision",
			99},
		"CPUs alone do not price a size with a GPU": {PriceList{cpu, memory}, slice, "vision", 99},
		"but one without":           {PriceList{cpu}, plain, "vision", 2}, // 2.1
		"half a cent is rounded up": {PriceList{entry(PriceCPU, "", "", 5000)}, plain, "vision", 3},
		"the size's own price goes first": {PriceList{card, entry(PriceSize, "mig", "", 60_000)}, slice,
			"vision", 60},
		"a team's own price before the one for all": {PriceList{entry(PriceSize, "mig", "vision", 10_000), newer}, slice,
			"vision", 10},
		"which others do not pay": {PriceList{entry(PriceSize, "mig", "vision", 10_000), newer}, slice,
			"speech", 70},
		"a team's own card price": {PriceList{card, entry(PriceCard, "H100", "vision", 700_000)}, slice,
			"vision", 100},
		"of two the one that began last": {PriceList{newer, entry(PriceSize, "mig", "", 60_000)}, slice,
			"vision", 70},
		"what is over or still to come does not count": {PriceList{over, coming}, slice, "vision", 99},
		"a price of nothing is a price":                {PriceList{entry(PriceSize, "mig", "", 0)}, slice, "vision", 0},
		"a storage price is for storage":               {PriceList{entry(PriceStorage, "", "", 10_000)}, plain, "vision", 6},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.list.PerHour(c.sku, c.tenant, at); got != (Money{c.want, "EUR"}) {
				t.Errorf("want %d, got %v", c.want, got)
			}
			made, sum := c.list.Made(c.sku, c.tenant, at), 0.0
			for _, p := range made {
				sum += float64(p.Rate) * p.Amount
			}
			if made[0].Kind != "" && rounded(sum) != c.want || made[0].Kind == "" && c.want != c.sku.Agreed.Minor {
				t.Errorf("want what it is made of to come to %d, got %v", c.want, made)
			}
		})
	}
	if when, then := (PriceList{over, coming}).Next(slice, "vision", at.Add(-time.Minute)); !when.Equal(at) ||
		then.Minor != 99 {
		t.Errorf("it ends at %s, got %s and %v", at, when, then)
	}
	if when, _ := (PriceList{entry(PriceSize, "other", "", 1)}).Next(slice, "vision",
		at.Add(-2*time.Hour)); !when.IsZero() {
		t.Errorf("nothing changes for it, got %s", when)
	}
}

// TestSharesOfACardComeToTheCard: however a card is cut, its slices never cost more than half a minor unit each beside
// what the card does.
func TestSharesOfACardComeToTheCard(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 4))
		parts, rate := 1+r.IntN(9), UnitPrice(r.IntN(1_000_000))
		list := PriceList{{Kind: PriceCard, Subject: "H100", Rate: rate, From: at}}
		sum := int64(0)
		for range parts {
			sum += list.PerHour(SKU{Model: "H100", Share: 1 / float64(parts), Count: 1, Agreed: Money{1, "EUR"}}, "", at).Minor
		}
		if off := 1000*sum - int64(rate); off > int64(500*parts) || off < -int64(500*parts) {
			t.Fatalf("%d parts of %d millis come to %d", parts, rate, sum)
		}
	}
}

// TestMeterCutsAtPriceChanges: whoever looks rarely meters the same money as whoever looks at every moment at which
// something happens.
func TestMeterCutsAtPriceChanges(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 6))
		second := func(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }
		var list PriceList
		for n := range r.IntN(6) {
			p := Price{ID: fmt.Sprint(n), Kind: PriceSize, Subject: "mig", Tenant: []string{"", "vision"}[r.IntN(2)],
				Rate: UnitPrice(1000 * r.IntN(900)), From: second(r.IntN(2000))}
			if r.IntN(2) == 0 {
				p.Until = p.From.Add(time.Duration(r.IntN(1000)) * time.Second)
			}
			list = append(list, p)
		}
		held := Allocation{Workload: "w", Tenant: "vision", Size: "mig", PerHour: Money{75, "EUR"}, Prices: list,
			SKU: SKU{Size: "mig", Agreed: Money{75, "EUR"}}}
		large := held
		large.Size, large.PerHour, large.SKU = "large", Money{150, "EUR"}, SKU{Size: "large"}
		large.PreviousSKU = held.SKU
		from, until := r.IntN(500), 500+r.IntN(1500)
		resized := from + r.IntN(2*(until-from)) // or never
		metered := func(look func(n int) bool) []Interval {
			var all []Interval
			for n := from; n <= until; n++ {
				if n != from && n != until && n != resized && !look(n) {
					continue
				}
				h := held
				if n >= resized {
					h = large
				}
				h.Placed, h.SeenAt = n < until, second(n)
				var open *Interval
				if len(all) > 0 && all[len(all)-1].Until.IsZero() {
					open = &all[len(all)-1]
				}
				for c := Meter(open, h, second(n)); c != nil; c = c.Then {
					i := *c
					i.Then = nil
					if open != nil && i.From.Equal(open.From) {
						all = all[:len(all)-1]
					}
					all = append(all, i)
				}
			}
			return all
		}
		often, rare := metered(func(int) bool { return true }), metered(func(int) bool { return r.IntN(300) == 0 })
		whole := Span{From: start, Until: second(3000)}
		if diff := cmp.Diff(Uses(often, whole), Uses(rare, whole)); diff != "" {
			t.Fatalf("seed %d: (-often +rarely)\n%s\n%v", seed, diff, list)
		}
		sum := time.Duration(0)
		for _, u := range Uses(rare, whole) {
			sum += u.Held
		}
		if want := time.Duration(until-from) * time.Second; sum != want {
			t.Fatalf("seed %d: held for %s, metered %s", seed, want, sum)
		}
	}
}

func TestPriceDraft(t *testing.T) {
	zone := berlin(t)
	now := time.Date(2026, 11, 21, 23, 30, 0, 0, time.UTC) // half past midnight on the 22nd in Berlin
	known := Known{Sizes: []string{"mig"}, Models: []string{"H100"}, Tenants: []string{"vision"}}
	good := PriceDraft{Kind: "card", Subject: "H100", Tenant: "vision", Amount: "2.50", From: "2026-12-01"}
	with := func(change func(*PriceDraft)) PriceDraft { d := good; change(&d); return d }
	bad := map[string]PriceDraft{
		"kind":    with(func(d *PriceDraft) { d.Kind = "gpu" }),
		"subject": with(func(d *PriceDraft) { d.Subject = "A100" }),
		"tenant":  with(func(d *PriceDraft) { d.Tenant = "speech" }),
		"amount":  with(func(d *PriceDraft) { d.Amount = "-1" }),
		"from":    with(func(d *PriceDraft) { d.From = "2026-11-21" }),
	}
	for field, d := range bad {
		if _, fields := d.Price(known, "EUR", zone, now); len(fields) != 1 || fields[0].Name != field {
			t.Errorf("%s: got %v", field, fields)
		}
	}
	if _, fields := (PriceDraft{Kind: "cpu", Subject: "mig", Amount: "1", From: "tomorrow"}).Price(known, "EUR", zone,
		now); len(fields) != 2 {
		t.Errorf("want subject and from, got %v", fields)
	}
	p, fields := good.Price(known, "EUR", zone, now)
	want := Price{Kind: PriceCard, Subject: "H100", Tenant: "vision", Rate: 250_000, From: time.Date(2026, 12, 1, 0, 0, 0,
		0, zone), At: now}
	if diff := cmp.Diff(want, p); diff != "" || fields != nil {
		t.Errorf("%v (-want +got)\n%s", fields, diff)
	}
	for _, from := range []string{"", "2026-11-22"} {
		if p, _ := with(func(d *PriceDraft) { d.From = from }).Price(known, "EUR", zone, now); !p.From.Equal(now) {
			t.Errorf("from %q it counts at once, got %s", from, p.From)
		}
	}
}

func TestRates(t *testing.T) {
	for text, want := range map[string]string{"2.5": "2.50", "2,50": "2.50", "0.0042": "0.0042", " 7 ": "7.00",
		"0": "0.00", "0.00001": "0.00001", "1000000": "1000000.00"} {
		if m, ok := ParseRate(text, "EUR"); !ok || m.Amount("EUR") != want {
			t.Errorf("%q: want %s, got %s, %v", text, want, m.Amount("EUR"), ok)
		}
	}
	for _, text := range []string{"", ".", "1.", ".5", "-1", "+1", "1e3", "1.000001", "1000000.1", "1,000.00",
		"12345678901234567890", "NaN", "0x1"} {
		if m, ok := ParseRate(text, "EUR"); ok {
			t.Errorf("%q was read as %d", text, m)
		}
	}
}

// Two digits were taken for granted: 500 yen read as 5.00, and 0.125 KWD an hour became 0.13.
func TestCurrenciesHaveTheirOwnDigits(t *testing.T) {
	for code, c := range map[string]struct {
		typed, rate, amount, listCost string
		minor                         int64
	}{
		"EUR": {"0.12501", "0.12501", "5.00", "10.00", 500},
		"JPY": {"0.125", "0.125", "500", "1000", 500},
		"KWD": {"0.125001", "0.125001", "0.500", "1.000", 500},
	} {
		rate, ok := ParseRate(c.typed, code)
		if !ok || rate.Amount(code) != c.rate {
			t.Errorf("%s: %q is read as %q, %v", code, c.typed, rate.Amount(code), ok)
		}
		if _, ok := ParseRate(c.typed+"1", code); ok {
			t.Errorf("%s: %q has more digits than are counted", code, c.typed+"1")
		}
		m := Money{Minor: c.minor, Currency: code}
		if m.Amount() != c.amount {
			t.Errorf("%s: want %s, got %s", code, c.amount, m.Amount())
		}
		line := Line{Use: Use{PerHour: m, Held: 2 * time.Hour}}
		if got := focusListCost(line); got != c.listCost {
			t.Errorf("%s: two hours cost %s in FOCUS, want %s", code, got, c.listCost)
		}
	}
	if got := (Money{Minor: -5, Currency: "KWD"}).Amount(); got != "-0.005" {
		t.Errorf("got %s", got)
	}
	if got := UnitPrice(125_000).Amount("KWD"); got != "0.125" {
		t.Errorf("got %s", got)
	}
	list := PriceList{{Kind: PriceSize, Subject: "slice", Rate: 125_000}}
	if got := list.PerHour(SKU{Size: "slice", Agreed: Money{Currency: "KWD"}}, "",
		time.Unix(1, 0)); got.Amount() != "0.125" {
		t.Errorf("want 0.125 KWD an hour, got %s", got)
	}
}

// Storage of 3.3 PiB for a month once overflowed the sum of a statement.
func TestStorageOfManyPebibytes(t *testing.T) {
	const gib = 40 << 20 // 40 PiB
	s := Statement{Lines: []Line{{Use: Use{Volume: "v", GiB: gib, Held: MonthHours * time.Hour}}}}
	if got := s.Total().Storage.Months(); got != gib {
		t.Errorf("want %d GiB-months, got %v", gib, got)
	}
}

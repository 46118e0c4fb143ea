package blocks

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// offerOf is a slice that starts now.
func offerOf(name string, gib float64, cents int64, change ...func(*request.Offer)) request.Offer {
	o := request.Offer{Size: catalog.Size{Name: name, Title: name, Technology: catalog.MIG,
		Isolation:    catalog.IsolationHard,
		Accelerator:  catalog.Accelerator{Vendor: "nvidia", MemoryGiB: gib, Share: 0.25, Count: 1, Resource: "r"},
		PricePerHour: usage.Money{Minor: cents, Currency: "EUR"}},
		Fit: inventory.Fit{Known: true, Free: 1, Total: 2}, Verdict: policy.Verdict{Outcome: policy.Allow}}
	if gib == 0 {
		o.Size.Accelerator, o.Size.Technology = catalog.Accelerator{}, catalog.CPUOnly
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

func taken(o *request.Offer) { o.Fit.Free = 0 }

func asksFirst(o *request.Offer) { o.Verdict.Outcome = policy.Approve }

func refused(o *request.Offer) { o.Verdict.Outcome = policy.Refuse }

func noQuota(o *request.Offer) { o.Problem = i18n.T("request.quota_full") }

func shared(o *request.Offer) {
	o.Size.Technology, o.Size.Isolation = catalog.TimeSlicing, catalog.IsolationNone
}

func unknownMemory(o *request.Offer) { o.Size.Accelerator.MemoryGiB = 0 }

func four(o *request.Offer) { o.Size.Accelerator.Share, o.Size.Accelerator.Count = 1, 4 }

func TestSizesAreGroupedByTheMemoryThatOneGets(t *testing.T) {
	cases := map[string]struct {
		offers       []request.Offer
		chosen, last string
		want         string
	}{
		"nothing is offered": {},
		"one of each class, in their order": {offers: []request.Offer{offerOf("h200", 141, 500), offerOf("h100", 80, 390),
			offerOf("a10", 24, 90), offerOf("mig", 10, 55), offerOf("cpu", 0, 6), offerOf("four", 40, 400, four)},
			want: "cpu:cpu 10:mig 24:a10 80:h100 large:four(2)"},
		"the bounds belong to the smaller class": {offers: []request.Offer{offerOf("a", 10.5, 1), offerOf("b", 24, 1),
			offerOf("c", 24.5, 1), offerOf("d", 80.5, 1)}, want: "24:a(2) 80:c large:d"},
		"the cheapest of those that start now": {offers: []request.Offer{offerOf("dear", 10, 60), offerOf("cheap", 10, 50),
			offerOf("cheaper but taken", 10, 10, taken), offerOf("cheaper but asks", 5, 10, asksFirst)},
			want: "10:cheap(4)"},
		"memory that neighbours can use up comes after memory of its own": {
			offers: []request.Offer{offerOf("turns", 45, 30, shared), offerOf("slice", 40, 165)}, want: "80:slice(2)"},
		"what starts now comes before what does not": {
			offers: []request.Offer{offerOf("turns", 45, 30, shared), offerOf("slice", 40, 165, taken)}, want: "80:turns(2)"},
		"where none starts now, the cheapest that can be requested": {offers: []request.Offer{offerOf("no", 10, 1, refused),
			offerOf("full", 10, 1, noQuota), offerOf("asks", 10, 40, asksFirst), offerOf("taken", 10, 50, taken)},
			want: "10:asks(4)"},
		"the last used stands for its class": {offers: []request.Offer{offerOf("cheap", 10, 50), offerOf("last", 10, 60)},
			last: "last", want: "10:last(2)"},
		"but not where it waits and another one does not": {offers: []request.Offer{offerOf("cheap", 80, 50),
			offerOf("last", 80, 60, asksFirst)}, last: "last", want: "80:cheap(2)"},
		"but not where it cannot be requested": {offers: []request.Offer{offerOf("cheap", 10, 50),
			offerOf("last", 10, 60, noQuota)}, last: "last", want: "10:cheap(2)"},
		"what is chosen stands for its class, though it be refused": {offers: []request.Offer{offerOf("cheap", 10, 50),
			offerOf("last", 10, 60), offerOf("chosen", 10, 70, refused)}, chosen: "chosen", last: "last",
			want: "10:chosen(3)"},
		"unknown memory has no tile beside others": {offers: []request.Offer{offerOf("cpu", 0, 6),
			offerOf("claim", 1, 10, unknownMemory)}, want: "cpu:cpu"},
		"unless it is chosen": {offers: []request.Offer{offerOf("cpu", 0, 6), offerOf("claim", 1, 10, unknownMemory)},
			chosen: "claim", want: "cpu:cpu other:claim"},
		"or there is nothing else": {offers: []request.Offer{offerOf("claim", 1, 10, unknownMemory)}, want: "other:claim"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, tile := range TilesOf(c.offers, c.chosen, c.last) {
				text := string(tile.Class) + ":" + tile.Offer.Size.Name
				if tile.Sizes > 1 {
					text += fmt.Sprintf("(%d)", tile.Sizes)
				}
				got = append(got, text)
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}

// TestATileIsTitledByTheMemoryThatItsSizesHave: "10 to 24 GB" stood over a size of 12 GB, which is too small for who
// needs 20.
func TestATileIsTitledByTheMemoryThatItsSizesHave(t *testing.T) {
	pair := offerOf("pair", 80, 780)
	pair.Size.Accelerator.Share, pair.Size.Accelerator.Count = 1, 2
	few := []request.Offer{offerOf("cpu", 0, 6), offerOf("small", 4.5, 50), offerOf("ten", 10, 55),
		offerOf("vgpu", 12, 45), offerOf("slice", 40, 165), offerOf("whole", 80, 390)}
	for last, offers := range map[string][]request.Offer{"141 GiB": {offerOf("h200", 141, 500)}, "Several GPUs": {pair},
		"Largest": {offerOf("h200", 141, 500), pair}} {
		var got []string
		for _, tile := range TilesOf(append(slices.Clone(few), offers...), "", "") {
			got = append(got, tile.Title(page.Words{Localizer: i18n.MustLoad().For("en")}))
		}
		if want := []string{"CPU only", "4.5 to 10 GiB", "12 GiB", "40 to 80 GiB", last}; !slices.Equal(got, want) {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}

// TestEverySizeOfTheCatalogHasAtMostOneClass: five tiles for a team that has all there is, and none twice.
func TestEverySizeOfTheCatalogHasAtMostOneClass(t *testing.T) {
	var offers []request.Offer
	for _, s := range catalog.EveryRow().Sizes {
		offers = append(offers, request.Offer{Size: s})
	}
	tiles, count := TilesOf(offers, "", ""), 0
	for _, tile := range tiles {
		count += tile.Sizes
		if !slices.Contains(sizeClasses, tile.Class) {
			t.Errorf("%s has no place on the page", tile.Class)
		}
	}
	if len(tiles) != 5 {
		t.Errorf("want five tiles, got %d", len(tiles))
	}
	if count > len(offers) {
		t.Errorf("%d sizes in the tiles of %d that are offered", count, len(offers))
	}
}

func TestTheLowestPriceIsThatOfWhatCanBeRequested(t *testing.T) {
	cases := map[string]struct {
		offers []request.Offer
		want   int64
	}{
		"the lowest":                     {[]request.Offer{offerOf("a", 10, 60), offerOf("b", 10, 50)}, 50},
		"without those that are refused": {[]request.Offer{offerOf("a", 10, 60), offerOf("b", 10, 5, refused)}, 60},
		"of all where all are refused":   {[]request.Offer{offerOf("a", 10, 60, noQuota), offerOf("b", 10, 5, refused)}, 5},
	}
	for name, c := range cases {
		if got := LowestPrice(c.offers).Minor; got != c.want {
			t.Errorf("%s: want %d, got %d", name, c.want, got)
		}
	}
}

func TestWhatAStartBeginsWith(t *testing.T) {
	cpu, small, large := offerOf("cpu", 0, 6), offerOf("small", 10, 55), offerOf("large", 80, 390, asksFirst)
	cases := map[string]struct {
		offers     []request.Offer
		last, want string
	}{
		"the last used":                       {[]request.Offer{cpu, small, large}, "large", "large"},
		"the smallest GPU that starts now":    {[]request.Offer{cpu, large, small}, "", "small"},
		"not the last used without quota":     {[]request.Offer{cpu, small, offerOf("x", 10, 1, noQuota)}, "x", "small"},
		"without a free GPU the first of all": {[]request.Offer{cpu, large}, "", "cpu"},
		"nothing where nothing can be had":    {[]request.Offer{offerOf("x", 10, 1, refused)}, "", ""},
	}
	for name, c := range cases {
		if got := DefaultSize(c.offers, c.last); got != c.want {
			t.Errorf("%s: want %q, got %q", name, c.want, got)
		}
	}
}

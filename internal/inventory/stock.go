package inventory

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/hardware"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Stock says what the physical cards of a snapshot do, by model: how much of them is held, free and broken. A slice
// counts by its compute slices, a share by how many there are. Cards are counted where they can be told, apart from
// what is offered of them, so that the two can be compared. vGPUs are left out: their cards belong to hypervisors.
func Stock(s Snapshot) []usage.Stock {
	models := map[string]*usage.Stock{}
	for _, n := range s.Nodes {
		if virtual, _ := hardware.VGPUType(ParseProduct(n.Model).Card); virtual ||
			n.Labels["nvidia.com/vgpu.present"] == "true" {
			continue // its agent sees vGPUs where others see cards
		}
		one := Snapshot{Nodes: []Node{n}}
		cards, known := n.Cards.Count, n.Cards.Known
		if !known && len(n.Cards.Each) > 0 {
			cards, known = int64(len(n.Cards.Each)), true
		}
		stock(models, Totals(one), ParseProduct(n.Model).Card, cards, known, n.Usable())
	}
	for _, a := range s.Attached {
		stock(models, Totals(Snapshot{Attached: []Attached{a}}), "", 0, false, true)
	}
	list := make([]usage.Stock, 0, len(models))
	for _, m := range models {
		list = append(list, *m)
	}
	slices.SortFunc(list, func(a, b usage.Stock) int { return strings.Compare(a.Model, b.Model) })
	return list
}

// stock adds what a node, or a pool, has. Where partitions exclude each other, what is not held is one rest: free, or
// on a closed node broken.
func stock(models map[string]*usage.Stock, totals []Total, model string, cards int64, known, usable bool) {
	totals = slices.DeleteFunc(totals, func(t Total) bool { return !ofCards(t.Kind) || t.Total == 0 })
	var sum usage.Stock
	upTo, offered := false, int64(0) // in parts
	for _, t := range totals {
		if model == "" {
			model = t.Model
		}
		whole := partsOf(t, cards, known && len(totals) == 1)
		ours, held, free := whole(t.Ours), whole(t.Held()), whole(t.Held()+t.Free)
		sum.Ours, sum.Others, sum.Free, sum.Broken = sum.Ours+ours, sum.Others+held-ours, sum.Free+free-held,
			sum.Broken+whole(t.Total)-free
		offered += whole(t.Total)
		upTo = upTo || t.UpTo
	}
	if sum.Cards = cards * usage.Parts; !known { // cuts of one card are offered as several resources
		sum.Cards = (offered + usage.Parts - 1) / usage.Parts * usage.Parts
	}
	if upTo {
		rest := max(0, sum.Cards-sum.Ours-sum.Others)
		sum.Free, sum.Broken = rest, 0
		if !usable {
			sum.Free, sum.Broken = 0, rest
		}
	}
	if sum == (usage.Stock{}) {
		return
	}
	if models[model] == nil {
		models[model] = &usage.Stock{Model: model}
	}
	m := models[model]
	m.Cards, m.Ours, m.Others, m.Free, m.Broken = m.Cards+sum.Cards, m.Ours+sum.Ours, m.Others+sum.Others, m.Free+sum.Free,
		m.Broken+sum.Broken
}

// ofCards reports whether units of a kind can be told in cards.
func ofCards(k Kind) bool {
	virtual, _ := hardware.VGPUType(k.Model)
	return k.Unit == Card || k.Unit == Slice || k.Unit == Share || k.Unit == VMDevice && !virtual
}

// partsOf gives what so many units of a total are in parts of a card; all of them together are whole cards again,
// whatever a single one rounds to. What one is of a card is told by its profile and replicas; where they do not say,
// and it is the only thing that its node offers, by the cards that are there. Else it is not told, and 0.
func partsOf(t Total, cards int64, only bool) func(units int64) int64 {
	numerator, denominator := int64(1), int64(1)
	told := t.Unit == Card || t.Unit == VMDevice
	if t.Profile != "" {
		numerator, denominator, told = sliceOf(t.Model, t.Profile)
	}
	if t.Unit == Share {
		told = t.Replicas > 0 && (t.Profile == "" || told)
		denominator *= max(1, t.Replicas)
	}
	switch {
	case told:
	case only && t.Total > 0:
		numerator, denominator = cards, t.Total
	default:
		numerator = 0
	}
	return func(units int64) int64 { return units * numerator * usage.Parts / denominator }
}

// amdPartitions are how many partitions a mode makes of a card of the MI300 family: AMD GPU operator, "GPU
// partitioning". CPX is one for each of eight dies.
var amdPartitions = map[string]int64{"spx": 1, "dpx": 2, "tpx": 3, "qpx": 4, "cpx": 8}

// sliceOf is a slice as a fraction of its card: "3g.40gb" is three of an H100's seven.
func sliceOf(model, profile string) (of, all int64, told bool) {
	if mode, _, _ := strings.Cut(strings.ToLower(profile), "_"); amdPartitions[mode] > 0 {
		return 1, amdPartitions[mode], true
	}
	profile = profile[strings.LastIndex(profile, "c.")+1:] // "1c.3g.20gb" is a part of a 3g.20gb
	n, _, ok := strings.Cut(strings.TrimPrefix(profile, "."), "g.")
	of, err := strconv.ParseInt(n, 10, 8)
	if !ok || err != nil || of < 1 {
		return 0, 1, false
	}
	all = int64(hardware.SlicesOf(model))
	return min(of, all), all, true
}

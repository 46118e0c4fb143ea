package sizing

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Propose ranks what is on offer for checked answers.
//
// The order of two sizes does not depend on how much memory is needed, and more memory only takes sizes away: so a
// greater need never gets a smaller size, unless training has become so large that it gets a whole card in place of a
// share.
func Propose(a Answers, offers []Offer) Advice {
	e := EstimateFor(a)
	adv := Advice{Estimate: e, Remarks: remarks(a, e), Ways: Choose(a)}
	most := 0.0
	for _, o := range offers {
		if o.Size.Hidden || !suits(a, e, o.Size) {
			continue
		}
		most = max(most, o.Size.Accelerator.MemoryGiB)
		if o.Size.Accelerator.MemoryGiB >= e.GiB || o.Size.CPUOnly() {
			adv.Proposals = append(adv.Proposals, Proposal{Offer: o, Reasons: reasons(a, e, o), Beware: beware(a, o.Size)})
		}
	}
	slices.SortStableFunc(adv.Proposals, func(x, y Proposal) int { return order(a, x.Offer, y.Offer) })
	if len(adv.Proposals) == 0 {
		adv.Nothing = nothing(e, most)
	}
	return adv
}

func nothing(e Estimate, most float64) i18n.Text {
	if most > 0 && most < e.GiB {
		return i18n.T("sizing.too_large", "Need", ceil(e.GiB), "Largest", most)
	}
	return i18n.T("sizing.nothing")
}

// large is training that keeps whole cards busy: more than half of a common card of 80 GB, or a model of seven billion
// parameters.
func large(a Answers, e Estimate) bool {
	m, _ := ModelNamed(a.Model)
	return (a.Work == Train || a.Work == FineTune) && (e.GiB >= 40 || a.Work == Train && max(m.Billions, a.Billions) >= 7)
}

func whole(s catalog.Size) bool { return s.Accelerator.Share >= 1 }

// rules name what a size must not be. Any that speaks keeps the size out.
var rules = []struct {
	id      string // of the sentence sizing.not.<id>
	name    string
	refuses func(a Answers, e Estimate, s catalog.Size) bool
}{
	{"cpu", "without a GPU only code is written and tests are run", func(a Answers, e Estimate, s catalog.Size) bool {
		return s.CPUOnly() && (!e.Given || a.MemoryGiB > 0 || a.Work != Explore && a.Work != Test)
	}},
	{"large", "large training takes whole cards", func(a Answers, e Estimate, s catalog.Size) bool {
		return large(a, e) &&
			!whole(s)
	}},
	{"alone", "nobody else means a card or a part of one that is kept apart in hardware",
		func(a Answers, _ Estimate, s catalog.Size) bool {
			return a.Sharing == Alone && !s.CPUOnly() && s.Isolation != catalog.IsolationHard && !whole(s)
		}},
	{"strangers", "nothing keeps strangers apart", func(a Answers, _ Estimate, s catalog.Size) bool {
		return a.Sharing == Tenants && (s.Isolation == catalog.IsolationNone || s.Isolation == catalog.IsolationUnknown ||
			s.Isolation == "")
	}},
	// A library or a daemon that caps memory does not hold against someone who means harm; the border of a virtual machine
	// does.
	{"memory", "memory is kept from strangers by hardware or a hypervisor",
		func(a Answers, _ Estimate, s catalog.Size) bool {
			return a.Sharing == Tenants && s.Isolation == catalog.IsolationMemory && s.Technology != catalog.VGPU
		}},
	{"spot", "what can be taken away serves nobody", func(a Answers, _ Estimate, s catalog.Size) bool {
		return s.Preemptible && (a.Work == Inference || a.Lease.Std() > 24*time.Hour)
	}},
	{"draws", "drawing needs a card that draws", func(a Answers, _ Estimate, s catalog.Size) bool {
		return a.Work == Render && (s.Technology == catalog.MIG && !strings.Contains(s.Accelerator.Profile, "gfx") ||
			s.Accelerator.Vendor == "habana")
	}},
	// Turns on a card last milliseconds each (vGPU scheduling: 1 to 2 ms and more), and a neighbour's kernel is waited
	// for.
	{"latency", "steady response times need compute of one's own", func(a Answers, _ Estimate, s catalog.Size) bool {
		return a.Latency && !s.CPUOnly() && !whole(s) && s.Isolation != catalog.IsolationHard
	}},
}

func suits(a Answers, e Estimate, s catalog.Size) bool { return len(refusals(a, e, s)) == 0 }

// refusals are the rules that keep a size out.
func refusals(a Answers, e Estimate, s catalog.Size) []string {
	var ids []string
	for _, r := range rules {
		if r.refuses(a, e, s) {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// liking says how well a technology goes with the work: 0 best, 3 last. What is not listed has 2.
var liking = map[Work]map[catalog.Technology]int{
	Explore: {catalog.MIG: 0, catalog.TimeSlicing: 0, catalog.MPS: 0, catalog.VGPU: 1, catalog.DRA: 1,
		catalog.CPUOnly: 3, catalog.Full: 2},
	Train: {catalog.Full: 0, catalog.DRA: 0, catalog.Passthrough: 0, catalog.MIG: 0, catalog.VGPU: 2, catalog.MPS: 3,
		catalog.TimeSlicing: 3},
	FineTune: {catalog.Full: 0, catalog.DRA: 0, catalog.Passthrough: 0, catalog.MIG: 0, catalog.VGPU: 1, catalog.MPS: 2,
		catalog.TimeSlicing: 3},
	Inference: {catalog.MIG: 0, catalog.MPS: 0, catalog.DRA: 0, catalog.Full: 1, catalog.VGPU: 1, catalog.TimeSlicing: 2},
	Render:    {catalog.VGPU: 0, catalog.Full: 1, catalog.Passthrough: 1, catalog.TimeSlicing: 2},
	Test:      {catalog.TimeSlicing: 0, catalog.MPS: 0, catalog.MIG: 1, catalog.VGPU: 1, catalog.CPUOnly: 3},
}

func likes(w Work, t catalog.Technology) int {
	if n, ok := liking[w][t]; ok {
		return n
	}
	return 2
}

// order: what can be had before what cannot, what suits the work before what only does, what is free now, what is
// cheaper, what is smaller.
func order(a Answers, x, y Offer) int {
	return cmp.Or(
		last(!x.Problem.IsZero(), !y.Problem.IsZero()),
		cmp.Compare(likes(a.Work, x.Size.Technology), likes(a.Work, y.Size.Technology)),
		last(!free(x), !free(y)),
		last(tooShort(a, x.Size), tooShort(a, y.Size)),
		cmp.Compare(x.Size.PricePerHour.Minor, y.Size.PricePerHour.Minor),
		cmp.Compare(x.Size.Accelerator.MemoryGiB, y.Size.Accelerator.MemoryGiB),
		cmp.Compare(x.Size.Name, y.Size.Name),
	)
}

func free(o Offer) bool { return o.Fit.Known && o.Fit.Free > 0 }

func tooShort(a Answers, s catalog.Size) bool { return s.MaxLease > 0 && a.Lease > s.MaxLease }

func last(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return 1
	}
	return -1
}

// reasons say why a size is proposed.
func reasons(a Answers, e Estimate, o Offer) []i18n.Text {
	s := o.Size
	var list []i18n.Text
	if !s.CPUOnly() {
		list = append(list, i18n.T("sizing.enough", "Need", ceil(e.GiB), "Has", s.Accelerator.MemoryGiB))
	}
	apart := a.Sharing == Tenants && s.Isolation == catalog.IsolationHard
	if !apart || s.Technology != catalog.MIG { // whose sentence says the same
		list = append(list, why(s))
	}
	if apart {
		list = append(list, i18n.T("sizing.apart"))
	}
	if large(a, e) {
		list = append(list, i18n.T("sizing.whole"))
	}
	return list
}

// why is a sentence on the technology.
func why(s catalog.Size) i18n.Text {
	switch {
	case whole(s) && s.Devices() > 1:
		return i18n.T("sizing.why.several", "Devices", s.Devices())
	case whole(s):
		return i18n.T("sizing.why.whole")
	}
	switch s.Technology {
	case catalog.MIG, catalog.VGPU, catalog.TimeSlicing, catalog.MPS, catalog.CPUOnly, catalog.DRA:
		return i18n.T("sizing.why." + string(s.Technology))
	}
	return i18n.T("sizing.why.other")
}

// beware says what can go wrong with it.
func beware(a Answers, s catalog.Size) []i18n.Text {
	var list []i18n.Text
	if s.Preemptible {
		list = append(list, i18n.T("sizing.preemptible"))
	}
	if tooShort(a, s) {
		list = append(list, i18n.T("sizing.too_short", "Most", s.MaxLease.String()))
	}
	switch {
	case s.CPUOnly():
	case s.Technology == catalog.MPS:
		list = append(list, i18n.T("sizing.mps_crash"))
	case s.Isolation == catalog.IsolationNone && !whole(s):
		list = append(list, i18n.T("sizing.neighbours"))
	case s.Isolation == catalog.IsolationMemory && a.Work == Inference:
		list = append(list, i18n.T("sizing.compute_shared"))
	}
	if s.LicensePool != "" {
		list = append(list, i18n.T("sizing.license"))
	}
	return list
}

// remarks are what is worth knowing whichever size one takes.
func remarks(a Answers, e Estimate) []i18n.Text {
	var list []i18n.Text
	if large(a, e) {
		list = append(list, i18n.T("sizing.remark.large"))
	} else if a.Work == Train {
		list = append(list, i18n.T("sizing.remark.train"))
	}
	if a.Sharing == Tenants {
		list = append(list, i18n.T("sizing.remark.tenants"))
	}
	if a.Latency {
		list = append(list, i18n.T("sizing.remark.latency"))
	}
	switch a.Work {
	case Inference:
		list = append(list, i18n.T("sizing.remark.inference"), i18n.T("sizing.remark.edge"))
	case Render:
		list = append(list, i18n.T("sizing.remark.vdi"))
	case Test, Explore:
		list = append(list, i18n.T("sizing.remark.old_cards"))
	}
	return append(list, i18n.T("sizing.remark.streams"))
}

func ceil(v float64) float64 { return math.Ceil(v*10) / 10 }

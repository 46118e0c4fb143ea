package advice

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Kind is what is advised.
type Kind string

// The kinds of advice.
const (
	Smaller Kind = "smaller" // a size that costs less, or takes less of a card, would do
	Larger  Kind = "larger"
)

// Why says why there is no advice.
type Why string

// The causes.
const (
	Fits      Why = "fits"       // nothing on offer would suit it better
	NoGPU     Why = "no_gpu"     // there is nothing to measure
	Shared    Why = "shared"     // values of a shared card are not the workload's own
	TooNew    Why = "too_new"    // held for too short a time
	Patchy    Why = "patchy"     // too little of the time was measured
	NoMetrics Why = "unmeasured" // nothing was measured at all
	Over      Why = "over"       // it does not hold anything now
	Unsized   Why = "unsized"    // the catalog does not say how much GPU memory its size has
)

// Sign is what speaks for a larger size.
type Sign string

// The signs.
const (
	OutOfMemory Sign = "out_of_memory" // ended because it used more than its memory; that of the computer, not of the GPU
	MemoryFull  Sign = "memory_full"   // the GPU's memory was full for a good part of the time
	SlowedDown  Sign = "slowed_down"   // the card was busy, and slower than it could be for heat or want of power
)

// Rule is how much has to be known. The other numbers are ours and not anybody's standard; each errs on the side of
// saying nothing.
type Rule struct {
	Window time.Duration // that is looked at
	After  time.Duration // how much of it must be measured before there is any advice
}

// DefaultRule is for a site that says nothing else: a working week shows most of what a notebook does, and three days
// of it are enough to begin with.
func DefaultRule() Rule { return Rule{Window: 14 * 24 * time.Hour, After: 3 * 24 * time.Hour} }

const (
	leastCoverage = 0.8 // of the time held; below that the peak may lie in a gap
	memoryRoom    = 1.2 // a smaller size must have this much more memory than the peak
	memoryThere   = 0.95
	engineRoom    = 0.9  // of what the smaller size can do, that the busiest twentieth may take
	fullOften     = 0.05 // of the measured time
	slowedOften   = 0.1
	busyMean      = 80.0          // per cent: below it a slower card does not matter to anybody
	monthHours    = 730.0         // of a month, as in prices of storage
	mib           = 1.0 / 1024.0  // GiB
	sameShare     = 1.0 - 1.0/256 // less than this part of the GPU counts as less
)

// Advice is what is said of one workload.
type Advice struct {
	Workload *workload.Workload // with the price that its size has now; it is not changed
	Kind     Kind               // "" for none: then Why says why
	Why      Why
	Signs    []Sign
	Size     catalog.Size // what would suit it better; without a name where nothing on offer does
	Saves    usage.Money  // in a month, at as many hours as in the window; below zero where a larger size costs more
	Evidence Evidence
	Rule     Rule
	Put      *Dismissal // who has put it away; nil: nobody
}

// Judge compares a workload with the sizes that its team may have, at the prices that the team pays now. Hours are
// those held in the window.
func Judge(w *workload.Workload, e Evidence, offer []catalog.Size, r Rule) Advice {
	a := Advice{Workload: w, Evidence: e, Rule: r}
	if a.Why = silent(w); a.Why != "" {
		return a
	}
	if killed(w) {
		a.Signs = append(a.Signs, OutOfMemory)
	}
	a.Why = uncertainty(w, e, r)
	if a.Why == "" || a.Why == Patchy { // what was full was full, whatever happened in the gaps
		a.Signs = append(a.Signs, signs(e, r)...)
	}
	switch {
	case len(a.Signs) > 0:
		a.Kind, a.Why = Larger, ""
		a.Size = larger(w.Size, a.Signs, suitable(w, offer))
	case a.Why == "":
		if a.Size = smaller(w.Size, e, suitable(w, offer)); a.Size.Name == "" {
			a.Why = Fits
			return a
		}
		a.Kind = Smaller
	}
	if a.Size.Name != "" {
		a.Saves = saves(w.Size, a.Size, e)
	}
	return a
}

// silent is for what needs no look at the evidence.
func silent(w *workload.Workload) Why {
	switch {
	case !w.Holds():
		return Over
	case w.Size.Devices() == 0:
		return NoGPU
	}
	return ""
}

// uncertainty is why the evidence is not enough.
func uncertainty(w *workload.Workload, e Evidence, r Rule) Why {
	switch {
	case !w.Size.Technology.OwnReadings():
		return Shared
	case w.Size.Accelerator.MemoryGiB <= 0:
		return Unsized
	case e.Held < r.After:
		return TooNew
	case e.Measured <= 0:
		return NoMetrics
	case e.Patchy || e.Measured < r.After || e.Coverage() < leastCoverage:
		return Patchy
	}
	return ""
}

// killed reports whether the program was last ended for using too much memory (package explain).
func killed(w *workload.Workload) bool {
	return slices.Contains([]string{"explain.out_of_memory", "explain.again_memory"}, w.Reason.ID) ||
		slices.Contains([]string{"explain.out_of_memory", "explain.again_memory"}, w.Observed.Reason.ID)
}

func signs(e Evidence, r Rule) []Sign {
	var list []Sign
	if e.Measured >= r.After/2 && e.FullShare() >= fullOften {
		list = append(list, MemoryFull)
	}
	if e.Throttle >= r.After && e.SlowedShare() >= slowedOften && e.Mean >= busyMean {
		list = append(list, SlowedDown)
	}
	return list
}

// suitable are the sizes that somebody could move to without giving up what they were promised: of the same card, on
// the same cluster, not weaker in isolation, and not one that may be taken away or will soon be gone.
func suitable(w *workload.Workload, offer []catalog.Size) (fit []catalog.Size) {
	now := &w.Size
	for i := range offer { // by place: each is half a KiB, and there are many for each workload
		s := &offer[i]
		if s.Name == now.Name || s.Accelerator.Vendor != now.Accelerator.Vendor ||
			s.Accelerator.Model != now.Accelerator.Model || s.Accelerator.MemoryGiB <= 0 || s.CPUOnly() ||
			s.Deprecated != nil || s.Preemptible && !now.Preemptible ||
			strength(s.Isolation) < strength(now.Isolation) || s.PricePerHour.Currency != now.PricePerHour.Currency ||
			!s.OfferedTo(w.Tenant) || !s.OfferedOn(w.Cluster) {
			continue
		}
		fit = append(fit, *s)
	}
	return fit
}

var strengths = []catalog.Isolation{catalog.IsolationUnknown, catalog.IsolationNone, catalog.IsolationMemory,
	catalog.IsolationHard}

func strength(i catalog.Isolation) int { return slices.Index(strengths, i) }

// cards is how many cards' worth of the model a size is.
func cards(s catalog.Size) float64 { return s.Accelerator.Share * float64(max(1, s.Devices())) }

// perDevice is the GPU memory of one device of a size, in GiB.
func perDevice(s catalog.Size) float64 {
	return s.Accelerator.MemoryGiB / float64(max(1, s.Devices()))
}

// smaller is the cheapest size that takes less of the card, costs no more, and has room for what was seen; without a
// name where there is none.
func smaller(now catalog.Size, e Evidence, offer []catalog.Size) catalog.Size {
	busy := e.Busy / 100 * now.Accelerator.Share
	fits := slices.DeleteFunc(slices.Clone(offer), func(s catalog.Size) bool {
		return cards(s) >= cards(now)*sameShare || s.PricePerHour.Minor > now.PricePerHour.Minor ||
			s.Devices() > now.Devices() ||
			e.PeakMiB*mib*memoryRoom > s.Accelerator.MemoryGiB*memoryThere ||
			e.DeviceMiB*mib*memoryRoom > perDevice(s)*memoryThere ||
			busy > cards(s)*engineRoom
	})
	return first(fits)
}

// larger is the cheapest size that has more of what was short.
func larger(now catalog.Size, signs []Sign, offer []catalog.Size) catalog.Size {
	fits := slices.DeleteFunc(slices.Clone(offer), func(s catalog.Size) bool {
		for _, sign := range signs {
			if sign == OutOfMemory && s.SKU().MemoryGiB <= now.SKU().MemoryGiB || sign == MemoryFull &&
				perDevice(s) <= perDevice(now) || sign == SlowedDown && cards(s) <= cards(now) {
				return true
			}
		}
		return false
	})
	return first(fits)
}

// first is the cheapest, and of several the one with the least memory; zero for none.
func first(list []catalog.Size) catalog.Size {
	if len(list) == 0 {
		return catalog.Size{}
	}
	return slices.MinFunc(list, func(a, b catalog.Size) int {
		return cmp.Or(cmp.Compare(a.PricePerHour.Minor, b.PricePerHour.Minor), cmp.Compare(a.Accelerator.MemoryGiB,
			b.Accelerator.MemoryGiB), cmp.Compare(a.Name, b.Name))
	})
}

// saves is the difference of a month in which a workload holds as large a part of the time as in the window.
func saves(now, then catalog.Size, e Evidence) usage.Money {
	hours := monthHours
	if window := e.Until.Sub(e.From); window > 0 && e.Held > 0 {
		hours *= min(1, float64(e.Held)/float64(window))
	}
	month := time.Duration(hours * float64(time.Hour))
	old, next := now.PricePerHour.For(month), then.PricePerHour.For(month)
	return usage.Money{Minor: old.Minor - next.Minor, Currency: now.PricePerHour.Currency}
}

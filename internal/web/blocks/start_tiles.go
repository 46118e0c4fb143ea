package blocks

import (
	"cmp"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// sizeClass groups sizes by the GPU memory that one gets; how a card is shared does not count.
type sizeClass string

const (
	classCPU   sizeClass = "cpu"
	class10    sizeClass = "10"
	class24    sizeClass = "24"
	class80    sizeClass = "80"
	classLarge sizeClass = "large" // more than 80 GiB, or several GPUs
	classOther sizeClass = "other" // the catalog does not say how much memory
)

// sizeClasses is the order on the page.
var sizeClasses = []sizeClass{classCPU, class10, class24, class80, classLarge, classOther}

type classBound struct {
	most  float64
	class sizeClass
}

// classBounds are the largest memory of a class, in GiB, ascending.
var classBounds = []classBound{{10, class10}, {24, class24}, {80, class80}}

// MemoryClass is a class with the least and the most GPU memory, in GiB, that its sizes have.
type MemoryClass struct {
	Class       sizeClass
	Least, Most float64
	// Single and Several say whether there are sizes of one GPU, and of several.
	Single, Several bool
}

// MemoryClasses are the classes of some sizes, as the page orders them.
func MemoryClasses(sizes []catalog.Size) (classes []MemoryClass) {
	for _, class := range sizeClasses {
		if m, ok := memoryOf(class, sizes); ok {
			classes = append(classes, m)
		}
	}
	return classes
}

func memoryOf(class sizeClass, sizes []catalog.Size) (m MemoryClass, found bool) {
	m.Class = class
	for _, s := range sizes {
		if classOf(s) != class {
			continue
		}
		gib := s.Accelerator.MemoryGiB
		if !found || gib < m.Least {
			m.Least = gib
		}
		m.Most, found = max(m.Most, gib), true
		if s.Devices() > 1 {
			m.Several = true
		} else {
			m.Single = true
		}
	}
	return m, found
}

// Title says how much memory the sizes have. Several GPUs have it each, so that the number would say less than the
// name of the class.
func (m MemoryClass) Title(say page.Words) string {
	switch {
	case m.Class == classLarge && m.Several && !m.Single:
		return say.S("start.class.several")
	case m.Class == classLarge && m.Several, m.Class == classCPU, m.Class == classOther:
		return say.S("start.class." + string(m.Class))
	case m.Least == m.Most:
		return say.GiB(m.Most)
	}
	return say.S("start.class_memory", "Least", say.Number(m.Least), "Most", say.GiB(m.Most))
}

// SizeClass is the class of a size: "cpu", "10", "24", "80", "large" or "other".
func SizeClass(s catalog.Size) string { return string(classOf(s)) }

func classOf(s catalog.Size) sizeClass {
	a := s.Accelerator
	switch {
	case s.CPUOnly():
		return classCPU
	case a.Share >= 1 && s.Devices() > 1:
		return classLarge
	case a.MemoryGiB <= 0:
		return classOther
	}
	for _, b := range classBounds {
		if a.MemoryGiB <= b.most {
			return b.class
		}
	}
	return classLarge
}

// SizeTile is one class of sizes with the size that stands for it.
type SizeTile struct {
	MemoryClass
	Offer request.Offer
	Sizes int
}

// Memory is the GPU memory of the size that stands for the class; the title of the class where that is not known.
func (t SizeTile) Memory(say page.Words) string {
	if size := t.Offer.Size; size.Devices() > 0 && size.Accelerator.MemoryGiB > 0 {
		return say.GiB(size.Accelerator.MemoryGiB)
	}
	return t.Title(say)
}

// TilesOf groups what is offered by class. A tile stands for the chosen size where that is one of its class, else for
// the last used where it starts at once, else for the best match. Sizes of unknown memory have a tile only where the
// chosen size is one of them, or nothing else is offered: five tiles are enough to choose from.
func TilesOf(offers []request.Offer, chosen, last string) []SizeTile {
	byClass := map[sizeClass][]request.Offer{}
	for _, o := range offers {
		class := classOf(o.Size)
		byClass[class] = append(byClass[class], o)
	}
	var tiles []SizeTile
	for _, class := range sizeClasses {
		list := byClass[class]
		if len(list) == 0 || class == classOther && len(tiles) > 0 && OfferNamed(list, chosen).Size.Name == "" {
			continue
		}
		sizes := make([]catalog.Size, len(list))
		for i, o := range list {
			sizes[i] = o.Size
		}
		memory, _ := memoryOf(class, sizes)
		tiles = append(tiles, SizeTile{MemoryClass: memory, Offer: bestOf(list, chosen, last), Sizes: len(list)})
	}
	return tiles
}

// bestOf is the size that stands for its class.
func bestOf(list []request.Offer, chosen, last string) request.Offer {
	for _, o := range list {
		if o.Size.Name == chosen {
			return o
		}
	}
	if o := OfferNamed(list, last); o.Size.Name != "" && canRequest(o) && o.StartsNow() {
		return o
	}
	return slices.MinFunc(list, betterMatch)
}

// betterMatch orders sizes of one class: what can be requested, what starts now, what has no drawback, the price.
func betterMatch(a, b request.Offer) int {
	return cmp.Or(falseLast(canRequest(a), canRequest(b)), falseLast(a.StartsNow(), b.StartsNow()),
		cmp.Compare(drawbacks(a.Size), drawbacks(b.Size)),
		cmp.Compare(a.Size.PricePerHour.Minor, b.Size.PricePerHour.Minor))
}

func falseLast(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// drawbacks count what a lower price does not make up for: memory that neighbours can use up, a node that can be taken
// away, a size that is deprecated.
func drawbacks(s catalog.Size) (n int) {
	ownMemory := s.CPUOnly() || s.Accelerator.Share >= 1 || s.Isolation == catalog.IsolationHard ||
		s.Isolation == catalog.IsolationMemory
	for _, drawback := range []bool{!ownMemory, s.Preemptible, s.Deprecated != nil} {
		if drawback {
			n++
		}
	}
	return n
}

// canRequest reports whether the form may be sent for the size.
func canRequest(o request.Offer) bool {
	return o.Problem.IsZero() && o.Verdict.Outcome != policy.Refuse
}

// LowestPrice is the lowest price per hour of the sizes that can be requested; of all where none can.
func LowestPrice(list []request.Offer) (price usage.Money) {
	found := false
	for _, mayBeRefused := range []bool{false, true} {
		for _, o := range list {
			if (mayBeRefused || canRequest(o)) && (!found || o.Size.PricePerHour.Minor < price.Minor) {
				price, found = o.Size.PricePerHour, true
			}
		}
		if found {
			return price
		}
	}
	return price
}

// StartsNow is the size of the smallest GPU class that would start at once.
func StartsNow(offers []request.Offer) (request.Offer, bool) {
	for _, t := range TilesOf(offers, "", "") {
		if t.Class != classCPU && t.Offer.StartsNow() {
			return t.Offer, true
		}
	}
	return request.Offer{}, false
}

// DefaultSize is the last used where it can be requested, else the smallest GPU that starts now, else the first size
// that can be requested.
func DefaultSize(offers []request.Offer, last string) string {
	if o := OfferNamed(offers, last); o.Size.Name != "" && canRequest(o) {
		return last
	}
	if o, ok := StartsNow(offers); ok {
		return o.Size.Name
	}
	for _, o := range offers {
		if canRequest(o) {
			return o.Size.Name
		}
	}
	return ""
}

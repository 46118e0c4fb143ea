package capacity

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/hardware"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// propose writes the size that offers a group: a draft that passes the catalog's checks, for an administrator to look
// over. Nil where a node has no whole share of CPU or memory left to go with it.
func propose(c catalog.Catalog, g *group) *catalog.Size {
	u := g.unit
	cpu, memory, ok := g.room.quantities()
	if !ok {
		return nil
	}
	s := catalog.Size{
		Name: slug(nameOf(u)), Title: titleOf(u), Clusters: []string{g.cluster}, Technology: u.technology,
		Isolation: u.isolation,
		Accelerator: catalog.Accelerator{Vendor: u.vendor, Model: u.model, Profile: u.profile, MemoryGiB: u.memoryGiB,
			Share: u.share, Extra: u.extra, Claim: u.claim},
		CPU: cpu, Memory: memory, SharedMem: sharedMemory(g.room.bytes), PricePerHour: priceOf(c, u),
		LicensePool: licenseOf(c, u), Preemptible: u.preemptible,
		Placement:    catalog.Placement{NodeSelector: u.selector, SchedulerName: u.scheduler, Tolerations: tolerationsFor(g)},
		DefaultLease: catalog.Duration(8 * time.Hour), MaxLease: catalog.Duration(7 * 24 * time.Hour), Order: lastOrder(c) +
			10,
	}
	if u.claim == nil {
		s.Accelerator.Count, s.Accelerator.Resource = 1, u.resource
	}
	if u.technology == catalog.Full {
		s.DefaultLease, s.MaxLease = catalog.Duration(4*time.Hour), catalog.Duration(3*24*time.Hour)
	}
	if (u.technology == catalog.TimeSlicing || u.technology == catalog.MPS) && !u.sharedVGPU() {
		s.Accelerator.Profile = "" // the share has no name of its own
	}
	if g.cluster == "" {
		s.Clusters = nil
	}
	return &s
}

// quantities are whole processors and GiB where there is one, else tenths and half a GiB; less than that is no size.
func (r room) quantities() (cpu, memory string, ok bool) {
	switch {
	case r.milliCPU >= 1000:
		cpu = strconv.FormatInt(r.milliCPU/1000, 10)
	case r.milliCPU >= 100:
		cpu = strconv.FormatInt(r.milliCPU/100*100, 10) + "m"
	}
	switch {
	case r.bytes >= 1<<30:
		memory = strconv.FormatInt(r.bytes>>30, 10) + "Gi"
	case r.bytes >= 512<<20:
		memory = "512Mi"
	}
	return cpu, memory, cpu != "" && memory != ""
}

// sharedMemory is an eighth of the memory: enough for the workers of a data loader, and it counts against the memory.
func sharedMemory(bytes int64) string {
	if gib := bytes >> 33; gib >= 1 {
		return strconv.FormatInt(gib, 10) + "Gi"
	}
	return ""
}

func tolerationsFor(g *group) []catalog.Toleration {
	slices.SortFunc(g.taints, byOrder)
	var list []catalog.Toleration
	for _, t := range g.taints {
		tol := catalog.Toleration{Key: t.Key, Operator: "Exists", Effect: t.Effect}
		if !slices.Contains(list, tol) {
			list = append(list, tol)
		}
	}
	return list
}

func nameOf(u unit) string {
	word := map[catalog.Technology]string{catalog.TimeSlicing: "shared-", catalog.MPS: "mps-", catalog.VGPU: "vgpu-",
		catalog.MIG: "mig-", catalog.DRA: "dra-"}[u.technology]
	what := u.profile
	switch {
	case what == "" || u.technology == catalog.Full:
		what = u.model
	case u.sharedVGPU():
	case u.technology == catalog.TimeSlicing || u.technology == catalog.MPS:
		what += "-" + u.model
	}
	if u.preemptible {
		what += "-spot"
	}
	return word + what
}

func titleOf(u unit) string {
	title := map[catalog.Technology]string{catalog.TimeSlicing: "Shared " + u.model, catalog.MPS: "Shared " + u.model +
		" (MPS)", catalog.VGPU: "vGPU " + u.profile,
		catalog.MIG: "MIG " + u.profile + " of " + u.model, catalog.DRA: strings.TrimSpace("Claimed " + u.model + " " +
			u.profile)}[u.technology]
	if title == "" {
		title = "Whole " + u.model
	}
	if u.sharedVGPU() {
		title = "Shared vGPU " + u.profile
	}
	if u.preemptible {
		title += " (spot)"
	}
	return clip(title, 100)
}

var notInNames = regexp.MustCompile(`[^a-z0-9.]+`)

// slug is a name of a size: small letters, digits, dots and dashes, at most 63.
func slug(text string) string {
	name := notInNames.ReplaceAllString(strings.ToLower(text), "-")
	return strings.Trim(clip(strings.Trim(name, "-."), 63), "-.")
}

func clip(text string, most int) string { return text[:min(len(text), most)] }

// priceOf goes by what the catalog asks for the same card, else for a GiB of GPU memory of any card; 0 in its
// currency where it asks for none.
func priceOf(c catalog.Catalog, u unit) usage.Money {
	var same, any rate
	money := usage.Money{Currency: "EUR"}
	for i, s := range c.Sizes {
		if i == 0 && s.PricePerHour.Currency != "" {
			money.Currency = s.PricePerHour.Currency
		}
		a := s.Accelerator
		if s.CPUOnly() || a.MemoryGiB <= 0 || a.Share <= 0 || s.PricePerHour.Minor <= 0 {
			continue
		}
		if alike(a.Model, u.model) {
			same.add(s.PricePerHour.Minor, a.Share*float64(max(1, a.Count)))
		}
		any.add(s.PricePerHour.Minor, a.MemoryGiB)
	}
	price := any.of(u.memoryGiB)
	if same.amount > 0 {
		price = same.of(u.share)
	}
	money.Minor = int64(math.Round(price))
	return money
}

// rate is an amount of money for an amount of something.
type rate struct{ money, amount float64 }

func (r *rate) add(minor int64, amount float64) {
	r.money, r.amount = r.money+float64(minor), r.amount+amount
}

func (r rate) of(amount float64) float64 {
	if r.amount == 0 {
		return 0
	}
	return r.money / r.amount * amount
}

// alike: catalogs say "H100 80GB" of what drivers call "H100 80GB HBM3".
func alike(ours, theirs string) bool {
	a, b := slug(ours), slug(theirs)
	return a != "" && b != "" && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}

// sharedVGPU reports whether it is a turn on a vGPU.
func (u unit) sharedVGPU() bool {
	virtual, _ := hardware.VGPUType(u.profile)
	return u.technology == catalog.TimeSlicing && virtual
}

// licenseOf is the pool that the site's other vGPUs of the series take a seat of.
func licenseOf(c catalog.Catalog, u unit) string {
	series := catalog.Size{Technology: u.technology, Accelerator: catalog.Accelerator{Profile: u.profile}}.Series()
	for _, s := range c.Sizes {
		if series != "" && s.Series() == series && s.LicensePool != "" {
			return s.LicensePool
		}
	}
	return ""
}

func lastOrder(c catalog.Catalog) int {
	last := 0
	for _, s := range c.Sizes {
		last = max(last, s.Order)
	}
	return last
}

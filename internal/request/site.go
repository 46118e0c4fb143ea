package request

import (
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Site is the configuration that decisions are made by; it is replaced as a whole when the configuration changes.
type Site struct {
	Catalog   catalog.Catalog
	Directory tenant.Directory
	Policy    *policy.Policy
	Pools     []license.Pool
	Clusters  []string
	KServe    []string // clusters that endpoints may run on as InferenceServices of KServe
	JobSet    []string // clusters that jobs may run on as JobSets
	// LeaderWorkerSet are clusters that endpoints may run on in groups of pods
	LeaderWorkerSet []string
	KEDA            []string // clusters that endpoints may be scaled on by KEDA
	Proxied         []string // clusters whose workloads are reached by the API server's proxy
	Limits          Limits
	Mirror          catalog.Mirror   // where images are pulled from
	Scans           catalog.ScanLink // page of an image scanner; "" for none
	// Undo is how long an approver can undo an answer that is given as undoable; 0: such answers take effect at once.
	Undo time.Duration
	// Unlicensed are the nodes of each cluster on which a vGPU has lost its license: new starts of vGPUs avoid them.
	Unlicensed map[string][]string
	Prices     usage.PriceList
	GitImage   string // that clones repositories; "" for none
	// BucketImage copies data sets from object storage; "" for none.
	BucketImage string
	External    bool // endpoints can be reached from outside the company network
}

// CatalogFor is what is on offer at the prices that a team pays now, with the team's own images.
func (s Site) CatalogFor(tenant string, now time.Time) catalog.Catalog {
	priced := s.Catalog
	priced.Images = s.ImagesFor(tenant)
	if len(s.Prices) == 0 {
		return priced
	}
	priced.Sizes = slices.Clone(priced.Sizes)
	for i := range priced.Sizes {
		priced.Sizes[i].PricePerHour = s.Prices.PerHour(priced.Sizes[i].SKU(), tenant, now)
	}
	return priced
}

// ImagesFor are the images of the catalog, and the team's own after them.
func (s Site) ImagesFor(tenant string) []catalog.Image {
	return slices.Concat(s.Catalog.Images, s.Directory.ImagesFor(tenant, s.Catalog))
}

// imageGone is why an image that was asked for once starts nothing new any more; zero where it does. What the catalog
// hides is not looked at: who asked for it in time may be granted it.
func (s Site) imageGone(tenant string, asked catalog.Image) i18n.Text {
	switch {
	case asked.IsCustom():
		return s.CustomGone(tenant, asked)
	case !asked.OfTeam():
		return i18n.Text{}
	}
	c := catalog.Catalog{Images: s.Directory.ImagesFor(tenant, s.Catalog)}
	if now, ok := c.Image(asked.Name); !ok || now.Hidden {
		return i18n.T("request.image_retired", "Name", asked.Called())
	}
	return i18n.Text{}
}

// CustomGone is why a member's own image starts nothing new any more, nor again; zero where it does, and for all other
// images.
func (s Site) CustomGone(tenant string, i catalog.Image) i18n.Text {
	if !i.IsCustom() {
		return i18n.Text{}
	}
	if why := s.Directory.CustomRefused(tenant, i.Reference); !why.IsZero() {
		return i18n.T("request.custom_gone", "Image", i.Title, "Why", why)
	}
	return i18n.Text{}
}

func (s Site) customRefused(tenant string) func(reference string) i18n.Text {
	return func(reference string) i18n.Text { return s.Directory.CustomRefused(tenant, reference) }
}

// avoid are the nodes that a start goes around where it can.
func (s Site) avoid(w Spec) []string {
	if w.Size.Technology != catalog.VGPU {
		return nil
	}
	return s.Unlicensed[w.Cluster]
}

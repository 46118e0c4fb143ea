package offer

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// SizeState is a size as an administrator sees it.
type SizeState struct {
	Size  catalog.Size
	Fit   inventory.Fit // on all clusters together; not known while a cluster of it is not
	InUse int           // living workloads
}

// ImageState is an image as an administrator sees it.
type ImageState struct {
	Image catalog.Image
	InUse int
}

// Overview is the active catalog with what is free and in use of each entry.
type Overview struct {
	Status
	Sizes    []SizeState
	Images   []ImageState
	Findings []Finding
	Gone     []Removal // no longer in the catalog and still held
}

// Overview is for administrators and auditors. Entries that were removed while workloads still use them are in Gone.
func (s *Service) Overview(ctx context.Context, a identity.Actor) (Overview, error) {
	status, err := s.Status(a)
	if err != nil {
		return Overview{}, err
	}
	uses, err := s.o.Store.UseOfCatalog(ctx)
	if err != nil {
		return Overview{}, err
	}
	o := Overview{Status: status, Findings: s.findings(ctx), Gone: removals(status.Catalog, uses)}
	sizes, images := map[string]int{}, map[string]int{}
	for _, u := range uses {
		sizes[u.Size.Name] += u.Count
		images[u.Image.Name] += u.Count
	}
	for _, size := range status.Catalog.Sizes {
		o.Sizes = append(o.Sizes, SizeState{Size: size, Fit: s.fit(ctx, size), InUse: sizes[size.Name]})
	}
	for _, image := range status.Catalog.Images {
		o.Images = append(o.Images, ImageState{Image: image, InUse: images[image.Name]})
	}
	return o, nil
}

// fit adds up what clusters have of a size. One cluster of which nothing is known makes the sum unknown.
func (s *Service) fit(ctx context.Context, size catalog.Size) inventory.Fit {
	sum := inventory.Fit{Known: true}
	for _, name := range s.o.Clusters {
		if !size.OfferedOn(name) {
			continue
		}
		snapshot, ok := s.o.Snapshots.Snapshot(ctx, name)
		fit := s.fits.Fit(snapshot, size)
		if !ok || !fit.Known {
			return inventory.Fit{}
		}
		sum.Total, sum.Free = sum.Total+fit.Total, sum.Free+fit.Free
	}
	return sum
}

// ServingRuntime is a ClusterServingRuntime of KServe that an image may name.
type ServingRuntime struct {
	Cluster string
	inventory.ServingRuntime
}

// ServingRuntimes are those of all clusters where they can be listed, by cluster and name.
func (s *Service) ServingRuntimes(ctx context.Context, a identity.Actor) ([]ServingRuntime, error) {
	if err := permit(a, identity.ReadOffer); err != nil {
		return nil, err
	}
	var list []ServingRuntime
	for _, taken := range s.snapshots(ctx) {
		if taken.ServingRuntimes == nil {
			continue
		}
		for _, r := range *taken.ServingRuntimes {
			list = append(list, ServingRuntime{taken.Cluster, r})
		}
	}
	return list, nil
}

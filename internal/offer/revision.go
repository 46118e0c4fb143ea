package offer

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// Revision is one version of the catalog.
type Revision struct {
	Version    int64  // 1 and up; 0 is the configuration's
	Text       string // YAML; empty in lists
	Author     identity.PersonID
	AuthorName string    // of the author, as it was then
	Note       i18n.Text // the author's own words, or what a quick change did
	At         time.Time // when it was saved; zero for version 0
}

// Use is how many living workloads hold one pair of size and image, as they froze them.
type Use struct {
	Size  catalog.Size
	Image catalog.Image
	Count int
}

// Store keeps revisions. Faults: NotFound for a version that does not exist, Unavailable when the database is away.
type Store interface {
	LatestCatalog(ctx context.Context) (Revision, error)
	Catalog(ctx context.Context, version int64) (Revision, error)
	// Catalogs lists revisions without their texts, newest first; before is a version, 0 for the newest.
	Catalogs(ctx context.Context, before int64, limit int) ([]Revision, error)
	// SaveCatalog keeps a revision, its events and an outbox row in one transaction. Conflict when the version below it
	// is not the newest.
	SaveCatalog(ctx context.Context, r Revision, events ...audit.Event) error
	// UseOfCatalog counts living workloads by what they froze.
	UseOfCatalog(ctx context.Context) ([]Use, error)
}

// Snapshots gives the last known inventory of a cluster; ok is false while there is none.
type Snapshots interface {
	Snapshot(ctx context.Context, cluster string) (s inventory.Snapshot, ok bool)
}

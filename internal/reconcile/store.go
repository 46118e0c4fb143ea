package reconcile

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Store is what the controller needs. Faults: NotFound, Conflict when somebody changed the workload in between (read
// again), Unavailable when the database is away.
type Store interface {
	// Living gives every workload that has not ended, for the first pass and the periodic full comparison.
	Living(ctx context.Context) ([]workload.Workload, error)
	Workload(ctx context.Context, id workload.ID) (workload.Workload, error)
	// SaveObserved writes an advanced workload (which carries the Version it was read at), its events, a change of its
	// meter interval, and an outbox row with the topic "workload", in one transaction; the controller counts on that row
	// when it passes over the echo of its own saves. A nil interval leaves the meter alone; an Interval with a zero Until
	// opens one (at most one is open for a workload, opening twice changes nothing); with Until set it closes the open
	// one. At most one start comes with it: the record is written anew, and a Conflict when it is ready already.
	SaveObserved(ctx context.Context, w workload.Workload, events []audit.Event, meter *usage.Interval,
		starts ...forecast.Start) error
	// Start gives the record of the start that a spec led to.
	Start(ctx context.Context, id workload.ID, generation int64) (forecast.Start, error)
	// OpenIntervals gives the open meter interval of each workload that has one.
	OpenIntervals(ctx context.Context) (map[workload.ID]usage.Interval, error)
	// OpenInterval gives the open meter interval of one workload, nil for none.
	OpenInterval(ctx context.Context, id workload.ID) (*usage.Interval, error)
	// Append adds to the audit record what concerns no row.
	Append(ctx context.Context, events ...audit.Event) error
	SaveSnapshot(ctx context.Context, s inventory.Snapshot) error
	// DeletedVolumes are those whose PVC is still to be removed; PurgeVolume says that it is gone.
	DeletedVolumes(ctx context.Context) ([]workload.Volume, error)
	PurgeVolume(ctx context.Context, name string) error
	Volumes(ctx context.Context, f workload.VolumeFilter) ([]workload.Volume, error)
	// Claims are what was said last of the claims of volumes, by the volume's name; SaveClaim keeps what is said now.
	Claims(ctx context.Context, volumes ...string) (map[string]workload.ClaimState, error)
	SaveClaim(ctx context.Context, volume string, c workload.ClaimState) error
	Volume(ctx context.Context, name string) (workload.Volume, error) // also one that is deleted
	// ClusterSnapshots are the snapshots of volumes on a cluster, also those that are to be removed; PurgeVolumeSnapshot
	// says that one of those is gone. AdoptVolumeSnapshot writes down one that the database does not know.
	ClusterSnapshots(ctx context.Context, cluster string) ([]workload.VolumeSnapshot, error)
	VolumeSnapshot(ctx context.Context, id string) (workload.VolumeSnapshot, error)
	SaveSnapshotState(ctx context.Context, id string, s workload.SnapshotState) error
	PurgeVolumeSnapshot(ctx context.Context, id string) error
	AdoptVolumeSnapshot(ctx context.Context, s workload.VolumeSnapshot, e audit.Event) error
	// Position is where the database is; Link the hash of an audit event, "" for none.
	Position(ctx context.Context) (drift.Position, error)
	Link(ctx context.Context, seq int64) (string, error)
	// Holds are the clusters in which nothing is done. SaveHold does nothing where there is one, EndHold where there is
	// none; each writes the events otherwise.
	Holds(ctx context.Context) ([]drift.Hold, error)
	SaveHold(ctx context.Context, h drift.Hold, events ...audit.Event) error
	EndHold(ctx context.Context, cluster string, events ...audit.Event) error
	// Differences are of all clusters. SaveDifferences replaces those of one and keeps what was decided about them.
	Differences(ctx context.Context) ([]drift.Difference, error)
	SaveDifferences(ctx context.Context, cluster string, found []drift.Difference) error
}

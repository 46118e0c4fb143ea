package webtest

import (
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Drifts is a drift.Store in memory; of the rows it knows none but their versions.
type Drifts struct {
	Held  []drift.Hold
	List  []drift.Difference
	Saved []audit.Event
}

// Restored fills it with what a restored backup leaves: one unknown, one gone, one of another spec, one let go.
func (d *Drifts) Restored() {
	since := Now.Add(-26 * time.Hour)
	seen := func(key, name string) *drift.ClusterState {
		return &drift.ClusterState{ResourceKind: drift.Workload, Key: key, Tenant: "vision", Namespace: "gpu-vision",
			Name: name,
			Kind: "StatefulSet", Objects: []drift.Object{{Kind: "StatefulSet", Name: name, UID: "u-" + name}}, Generation: 1,
			Running: true, Size: "h100", Lease: 8 * time.Hour, Holds: []drift.Amount{{Resource: "nvidia.com/gpu", Count: 1}},
			Node: "node-3", Placed: Now.Add(-3 * time.Hour), Since: Now.Add(-4 * time.Hour), OwnerName: "Anna Berg",
			Spec: &kube.Spec{Owner: "p-anna", Size: &catalog.Size{Name: "h100"}, Image: &catalog.Image{Name: "jupyter"}}}
	}
	row := func(name string) *drift.Row {
		return &drift.Row{Tenant: "vision", Owner: "p-anna", OwnerName: "Anna Berg", Cluster: "local",
			Namespace: "gpu-vision", Name: name, Desired: workload.WantRunning, State: workload.Running, Generation: 1,
			Size: "h100", Since: since, Version: 1}
	}
	stopped := seen("w-3", "segment-lungs")
	stopped.Running, stopped.Generation, stopped.Node = false, 2, ""
	d.Held = []drift.Hold{{Cluster: "local", Since: Now.Add(-12 * time.Minute), Cause: drift.Older, Decided: 1}}
	d.List = []drift.Difference{
		{ID: "d-1", Kind: drift.ClusterOnly, Live: seen("w-1", "train-detector")},
		{ID: "d-2", Kind: drift.DatabaseOnly, Row: row("notebook-of-monday")},
		{ID: "d-3", Kind: drift.Different, Live: stopped, Row: row("segment-lungs"), Fields: []drift.Field{
			{Name: "desired", Database: "running", Cluster: "stopped"}, {Name: "generation", Database: "1", Cluster: "2"}}},
		{
			ID:        "d-4",
			Kind:      drift.ClusterOnly,
			Live:      seen("w-4", "left-behind"),
			Decision:  drift.Release,
			ByName:    "Dora Admin",
			DecidedAt: Now.Add(-4 * time.Minute),
		},
		{ID: "d-5", ResourceKind: drift.Storage, Key: "old-home", Kind: drift.ClusterOnly,
			Live: &drift.ClusterState{ResourceKind: drift.Storage,
				Key: "old-home", Tenant: "vision", Namespace: "gpu-vision", Name: "old-home", GiB: 200, Since: since}},
	}
	for i := range d.List {
		is := &d.List[i]
		is.Cluster, is.Version, is.FoundAt = "local", "1", Now.Add(-12*time.Minute)
		if is.ResourceKind == "" {
			is.ResourceKind, is.Key = drift.Workload, "w-"+is.ID[2:]
		}
	}
}

// Holds implements drift.Store.
func (d *Drifts) Holds(context.Context) ([]drift.Hold, error) { return d.Held, nil }

// Differences implements drift.Store.
func (d *Drifts) Differences(context.Context) ([]drift.Difference, error) {
	return slices.Clone(d.List), nil
}

// Person implements drift.Store.
func (d *Drifts) Person(_ context.Context, id identity.PersonID) (identity.Person, error) {
	return identity.Person{ID: id, Name: "Anna Berg"}, nil
}

// DecideDifferences implements drift.Store.
func (d *Drifts) DecideDifferences(_ context.Context, fn func(drift.Tx) error) error {
	return fn(driftTx{d})
}

type driftTx struct{ *Drifts }

func (t driftTx) Difference(_ context.Context, id string) (drift.Difference, error) {
	for _, d := range t.List {
		if d.ID == id {
			return d, nil
		}
	}
	return drift.Difference{}, fault.New(fault.NotFound, i18n.T("drift.not_found"))
}

func (t driftTx) Workload(_ context.Context, id workload.ID) (workload.Workload, error) {
	for _, d := range t.List {
		if d.Key == string(id) && d.Row != nil {
			return workload.Workload{ID: id, Name: d.Row.Name, Tenant: d.Row.Tenant, Version: d.Row.Version}, nil
		}
	}
	return workload.Workload{}, fault.New(fault.NotFound, i18n.T("workload.not_found"))
}

func (t driftTx) Volume(context.Context, string) (workload.Volume, error) {
	return workload.Volume{}, fault.New(fault.NotFound, i18n.T("volume.not_found"))
}

func (t driftTx) SaveWorkload(context.Context, workload.Workload) error         { return nil }
func (t driftTx) SaveVolume(context.Context, workload.Volume) error             { return nil }
func (t driftTx) ForgetVolume(context.Context, string) error                    { return nil }
func (t driftTx) CloseMeter(context.Context, workload.ID, usage.Interval) error { return nil }

func (t driftTx) SaveDecision(_ context.Context, decided drift.Difference) error {
	for i, d := range t.List {
		if d.ID == decided.ID {
			t.List[i] = decided
		}
	}
	return nil
}

func (t driftTx) EndHold(_ context.Context, cluster string) (bool, error) {
	before := len(t.Held)
	t.Held = slices.DeleteFunc(t.Held, func(h drift.Hold) bool { return h.Cluster == cluster })
	return len(t.Held) < before, nil
}

func (t driftTx) Append(_ context.Context, events ...audit.Event) error {
	t.Saved = append(t.Saved, events...)
	return nil
}

package webtest

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Restored is what a restored backup leaves: one unknown, one gone, one of another spec, one let go.
func (w *World) Restored() {
	check(w.SaveHold(bg, drift.Hold{Cluster: "local", Since: Now.Add(-12 * time.Minute), Cause: drift.Older}))
	w.exec("UPDATE cluster_holds SET decided = 1")
	w.Differ(restored()...)
}

// Differ has these be the differences of the cluster.
func (w *World) Differ(list ...drift.Difference) { check(w.SaveDifferences(bg, "local", list)) }

// Difference is what is known of one.
func (w *World) Difference(id string) drift.Difference { return found(w.Store.Difference(bg, id)) }

func restored() []drift.Difference {
	stopped := inCluster("w-3", "segment-lungs")
	stopped.Running, stopped.Generation, stopped.Node = false, 2, ""
	list := []drift.Difference{
		{ID: "d-1", Kind: drift.ClusterOnly, Live: inCluster("w-1", "train-detector")},
		{ID: "d-2", Kind: drift.DatabaseOnly, Row: inDatabase("notebook-of-monday")},
		{ID: "d-3", Kind: drift.Different, Live: stopped, Row: inDatabase("segment-lungs"), Fields: []drift.Field{
			{Name: "desired", Database: "running", Cluster: "stopped"}, {Name: "generation", Database: "1", Cluster: "2"}}},
		{ID: "d-4", Kind: drift.ClusterOnly, Live: inCluster("w-4", "left-behind"), Decision: drift.Release,
			ByName: "Dora Admin", DecidedAt: Now.Add(-4 * time.Minute)},
		{ID: "d-5", ResourceKind: drift.Storage, Key: "old-home", Kind: drift.ClusterOnly,
			Live: &drift.ClusterState{ResourceKind: drift.Storage, Key: "old-home", Tenant: "vision", Namespace: "gpu-vision",
				Name: "old-home", GiB: 200, Since: Now.Add(-26 * time.Hour)}},
	}
	for i := range list {
		is := &list[i]
		is.Cluster, is.Version, is.FoundAt = "local", "1", Now.Add(-12*time.Minute)
		if is.ResourceKind == "" {
			is.ResourceKind, is.Key = drift.Workload, "w-"+is.ID[2:]
		}
	}
	return list
}

func inCluster(key, name string) *drift.ClusterState {
	return &drift.ClusterState{ResourceKind: drift.Workload, Key: key, Tenant: "vision", Namespace: "gpu-vision",
		Name: name, Kind: "StatefulSet", Objects: []drift.Object{{Kind: "StatefulSet", Name: name, UID: "u-" + name}},
		Generation: 1, Running: true, Size: "h100", Lease: 8 * time.Hour,
		Holds: []drift.Amount{{Resource: "nvidia.com/gpu", Count: 1}}, Node: "node-3", Placed: Now.Add(-3 * time.Hour),
		Since: Now.Add(-4 * time.Hour), OwnerName: Anna.Name, Spec: &kube.Spec{Owner: Anna.ID,
			Size: &catalog.Size{Name: "h100"}, Image: &catalog.Image{Name: "jupyter"}}}
}

func inDatabase(name string) *drift.Row {
	return &drift.Row{Tenant: "vision", Owner: Anna.ID, OwnerName: Anna.Name, Cluster: "local",
		Namespace: "gpu-vision", Name: name, Desired: workload.WantRunning, State: workload.Running, Generation: 1,
		Size: "h100", Since: Now.Add(-26 * time.Hour), Version: 1}
}

// drifted is a busy world after a restore.
func drifted(s Scope) *World {
	w := Busy(s)
	w.Restored()
	w.SetAway(page.Outage{System: page.HeldSystem, Name: "local", Since: Now.Add(-12 * time.Minute)})
	return w
}

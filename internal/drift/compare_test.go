package drift_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var now = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// row is a notebook that runs since an hour, under a lease of eight.
func row(id string) workload.Workload {
	return workload.Workload{
		ID:         workload.ID(id),
		Name:       "nb-" + id,
		Kind:       catalog.Notebook,
		Tenant:     "vision",
		Owner:      "p-dana",
		OwnerName:  "Dana",
		Size:       catalog.Size{Name: "mig"},
		Image:      catalog.Image{Name: "jupyter"},
		Cluster:    "main",
		Namespace:  "gpu-vision",
		Desired:    workload.WantRunning,
		Generation: 1,
		State:      workload.Running,
		Lease:      workload.Lease{From: now.Add(-time.Hour), Until: now.Add(7 * time.Hour)},
		Observed:   workload.Observation{At: now.Add(-10 * time.Minute), PodPresent: true, Node: "n1", Generation: 1},
		Version:    4,
		CreatedAt:  now.Add(-time.Hour),
	}
}

// clusterState is what the cluster has of a row that was carried out.
func clusterState(w workload.Workload) drift.ClusterState {
	return drift.ClusterState{ResourceKind: drift.Workload, Key: string(w.ID), Tenant: w.Tenant, Namespace: w.Namespace,
		Name: w.Name,
		Kind: "StatefulSet", Objects: []drift.Object{{Kind: "StatefulSet", Name: w.Name, UID: "u"}}, Generation: w.Generation,
		Running: w.Desired == workload.WantRunning, Size: w.Size.Name, Lease: w.Lease.Until.Sub(w.Lease.From),
		Holds: []drift.Amount{
			{Resource: "nvidia.com/gpu", Count: 1},
		}, Since: w.CreatedAt, Placed: now.Add(-30 * time.Minute),
		Spec: &kube.Spec{Owner: w.Owner, Size: &w.Size, Image: &w.Image, Volume: w.Volume, StorageGiB: w.StorageGiB,
			CreatedAt: w.CreatedAt}}
}

func rows(list ...workload.Workload) drift.Rows {
	r := drift.Rows{Workloads: map[workload.ID]workload.Workload{}, Volumes: map[string]workload.Volume{}}
	for _, w := range list {
		r.Workloads[w.ID] = w
	}
	return r
}

func claim(name string, gib int) drift.ClusterState {
	return drift.ClusterState{ResourceKind: drift.Storage, Key: name, Tenant: "vision", Namespace: "gpu-vision",
		Name:  name,
		GiB:   gib,
		Since: now, Spec: &kube.Spec{Owner: "p-dana"}}
}

func TestCompare(t *testing.T) {
	with := func(w workload.Workload, fn func(*workload.Workload)) workload.Workload { fn(&w); return w }
	seen := func(s drift.ClusterState, fn func(*drift.ClusterState)) drift.ClusterState { fn(&s); return s }
	volume := workload.Volume{Name: "home", Tenant: "vision", Cluster: "main", GiB: 10, Version: 1}
	shared := workload.Volume{Name: "vision.data", Tenant: "vision", Cluster: "main", GiB: 10, Version: 1,
		Share: workload.TeamShare{Name: "data"}}
	cases := map[string]struct {
		seen    []drift.ClusterState
		rows    []workload.Workload
		volumes []workload.Volume
		want    []string
	}{
		"both agree":           {seen: []drift.ClusterState{clusterState(row("a"))}, rows: []workload.Workload{row("a")}},
		"only in the cluster":  {seen: []drift.ClusterState{clusterState(row("a"))}, want: []string{"workload a cluster []"}},
		"only in the database": {rows: []workload.Workload{row("a")}, want: []string{"workload a database []"}},
		"a row of another cluster": {
			rows: []workload.Workload{with(row("a"), func(w *workload.Workload) { w.Cluster = "west" })},
		},
		"a row that has ended": {
			rows: []workload.Workload{with(row("a"), func(w *workload.Workload) { w.State = workload.Ended })},
		},
		"deleted, and gone already": {
			rows: []workload.Workload{with(row("a"), func(w *workload.Workload) { w.Desired = workload.WantDeleted })},
		},
		"a later spec in the cluster": {rows: []workload.Workload{row("a")},
			seen: []drift.ClusterState{seen(clusterState(row("a")), func(s *drift.ClusterState) {
				s.Generation, s.Running = 2,
					false
			})},
			want: []string{"workload a different [desired generation]"}},
		"a later spec in the database": {
			rows: []workload.Workload{with(row("a"), func(w *workload.Workload) { w.Generation = 3 })},
			seen: []drift.ClusterState{clusterState(row("a"))},
			want: []string{"workload a different [generation]"},
		},
		"the same generation of another history": {rows: []workload.Workload{row("a")},
			seen: []drift.ClusterState{seen(clusterState(row("a")), func(s *drift.ClusterState) { s.Running = false })},
			want: []string{"workload a different [desired]"}},
		"a longer lease": {rows: []workload.Workload{row("a")},
			seen: []drift.ClusterState{seen(clusterState(row("a")), func(s *drift.ClusterState) { s.Lease += time.Hour })},
			want: []string{"workload a different [lease]"}},
		"another size, team and cluster": {
			rows: []workload.Workload{with(row("a"), func(w *workload.Workload) { w.Cluster = "west" })},
			seen: []drift.ClusterState{seen(clusterState(row("a")), func(s *drift.ClusterState) {
				s.Size, s.Tenant = "h100",
					"speech"
			})},
			want: []string{"workload a different [tenant cluster size]"},
		},
		"an ended one that is there": {
			rows: []workload.Workload{with(row("a"), func(w *workload.Workload) { w.State = workload.Ended })},
			seen: []drift.ClusterState{clusterState(row("a"))},
			want: []string{"workload a different [desired]"},
		},
		"what makes the pods is missing": {rows: []workload.Workload{row("a")},
			seen: []drift.ClusterState{seen(clusterState(row("a")), func(s *drift.ClusterState) { s.Kind = "" })},
			want: []string{"workload a database []"}},
		"a claim that nobody knows": {seen: []drift.ClusterState{claim("home", 10)},
			want: []string{"storage home cluster []"}},
		"a claim that is going": {
			seen: []drift.ClusterState{seen(claim("home", 10), func(s *drift.ClusterState) { s.Leaving = true })},
		},
		"the claim of an unknown workload goes with it": {want: []string{"workload a cluster []"},
			seen: []drift.ClusterState{claim("home", 10),
				clusterState(with(row("a"), func(w *workload.Workload) { w.Volume = "home" }))}},
		"storage without a claim": {volumes: []workload.Volume{volume}, want: []string{"storage home database []"}},
		"storage of one who starts": {
			volumes: []workload.Volume{{Name: "home", Cluster: "main", Workload: "a", Version: 1}},
			rows:    []workload.Workload{row("a")},
			seen:    []drift.ClusterState{clusterState(row("a"))},
		},
		"storage that is deleted": {
			seen: []drift.ClusterState{claim("home", 10)},
			want: []string{"storage home different [desired]"},
			volumes: []workload.Volume{
				{Name: "home", Tenant: "vision", Cluster: "main", GiB: 10, Deleted: true, Version: 1},
			},
		},
		"a team's volume that grew": {seen: []drift.ClusterState{claim("vision.data", 20)},
			volumes: []workload.Volume{shared},
			want:    []string{"storage vision.data different [gib]"}},
		"a team's volume that is to grow": {
			seen:    []drift.ClusterState{claim("vision.data", 5)},
			volumes: []workload.Volume{shared},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := rows(c.rows...)
			for _, v := range c.volumes {
				r.Volumes[v.Name] = v
			}
			var got []string
			for _, d := range drift.Compare("main", c.seen, r, now) {
				names := []string{}
				for _, f := range d.Fields {
					names = append(names, f.Name)
				}
				got = append(got, fmt.Sprint(d.ResourceKind, " ", d.Key, " ", d.Kind, " ", names))
			}
			if !cmp.Equal(c.want, got) {
				t.Errorf("(-want +got)\n%s", cmp.Diff(c.want, got))
			}
		})
	}
}

// Whatever happened since a backup: what both sides agree on is no difference; adopting everything makes the database
// what the cluster has, and what is applied is newer than anything there. Order does not matter, ids are unique.
func TestDecisionsSettleEverything(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		cluster, database := map[string]drift.ClusterState{}, map[string]workload.Workload{}
		for i := range r.IntN(9) {
			w := row(fmt.Sprint("w", i))
			w.Generation, w.Desired = 1+r.Int64N(4), []workload.Desired{workload.WantRunning, workload.WantStopped}[r.IntN(2)]
			if r.IntN(4) > 0 {
				database[string(w.ID)] = w
			}
			if r.IntN(3) == 0 { // later specs that the backup does not have
				w.Generation += r.Int64N(3)
				w.Desired = []workload.Desired{workload.WantRunning, workload.WantStopped}[r.IntN(2)]
			}
			if r.IntN(4) > 0 {
				cluster[string(w.ID)] = clusterState(w)
			}
		}
		compare := func() []drift.Difference {
			var seen []drift.ClusterState
			for _, s := range cluster {
				seen = append(seen, s)
			}
			var list []workload.Workload
			for _, w := range database {
				list = append(list, w)
			}
			return drift.Compare("main", seen, rows(list...), now)
		}
		before := compare()
		if !cmp.Equal(before, compare()) {
			t.Fatalf("seed %d: the order of the input matters", seed)
		}
		ids := map[string]bool{}
		for _, d := range before {
			if ids[d.ID] {
				t.Fatalf("seed %d: %s twice", seed, d.ID)
			}
			ids[d.ID] = true
			var w *workload.Workload
			if is, ok := database[d.Key]; ok {
				w = &is
			}
			applied, err := drift.Decide(d, drift.Apply, w, nil, now)
			if err != nil {
				t.Fatal(err)
			}
			if d.Kind == drift.Different && applied.Workload.Generation <= d.Live.Generation &&
				applied.Workload.Generation <= w.Generation && d.Live.Generation >= w.Generation {
				t.Fatalf("seed %d: %s would be applied as generation %d over %d", seed, d.Key, applied.Workload.Generation,
					d.Live.Generation)
			}
			out, err := drift.Decide(d, drift.Adopt, w, nil, now)
			if err != nil {
				t.Fatalf("seed %d: adopt %s: %v", seed, d.Key, err)
			}
			database[d.Key] = *out.Workload
		}
		for _, d := range compare() {
			// a row that had the later spec keeps its number: it is written to the objects as it is
			if d.Kind != drift.Different || !slices.Equal([]string{"generation"}, namesOf(d)) {
				t.Fatalf("seed %d: still different after everything was adopted: %+v", seed, d)
			}
		}
	}
}

func namesOf(d drift.Difference) (names []string) {
	for _, f := range d.Fields {
		names = append(names, f.Name)
	}
	return names
}

func only(t *testing.T, list []drift.Difference) drift.Difference {
	t.Helper()
	if len(list) != 1 {
		t.Fatalf("want one difference, got %+v", list)
	}
	return list[0]
}

func decide(t *testing.T, d drift.Difference, decision drift.Decision, w *workload.Workload) drift.Outcome {
	t.Helper()
	out, err := drift.Decide(d, decision, w, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// An object that nobody knows becomes the row that it was made from, with its storage and the rest of its lease.
func TestAdoptUnknown(t *testing.T) {
	w := row("c")
	w.Volume, w.StorageGiB = "home", 10
	d := only(t, drift.Compare("main", []drift.ClusterState{clusterState(w)}, rows(), now))
	got := decide(t, d, drift.Adopt, nil)
	if is := got.Workload; is.ID != "c" || is.Owner != "p-dana" || is.Tenant != "vision" || is.Size.Name != "mig" ||
		is.Desired != workload.WantRunning || is.Generation != 1 || is.Version != 0 || is.Cluster != "main" ||
		!is.Lease.From.Equal(now.Add(-30*time.Minute)) || !is.Lease.Until.Equal(now.Add(450*time.Minute)) {
		t.Errorf("workload %+v", is)
	}
	if v := got.Volume; v == nil || v.Name != "home" || v.GiB != 10 || v.Workload != "c" || v.Owner != "p-dana" {
		t.Errorf("storage %+v", v)
	}
	if want := []string{"use", "history", "owner_name", "lease_placed"}; !cmp.Equal(want, d.Unknown()) {
		t.Errorf("want %v unknown, got %v", want, d.Unknown())
	}
	d.Live.Spec = nil
	if d.Can(drift.Adopt) || !d.Can(drift.Release) || !d.Can(drift.Apply) {
		t.Error("want what does not say enough not to be adopted")
	}
}

// What is gone from the cluster ends in the database, and is not charged for when nobody knows.
func TestAdoptGone(t *testing.T) {
	w := row("a")
	w.Volume = "home"
	got := decide(t, only(t, drift.Compare("main", nil, rows(w), now)), drift.Adopt, &w)
	if got.Workload.State != workload.Ended || got.Workload.Generation != 2 || got.Detach != "home" {
		t.Errorf("outcome %+v", got)
	}
	want := &usage.Interval{Workload: "a", Until: now.Add(-10 * time.Minute), UnknownUntil: now}
	if !cmp.Equal(want, got.Close) {
		t.Errorf("meter (-want +got)\n%s", cmp.Diff(want, got.Close))
	}
}

// What is let go touches nothing but the row.
func TestRelease(t *testing.T) {
	w := row("a")
	s := clusterState(w)
	if got := decide(t, only(t, drift.Compare("main", []drift.ClusterState{s}, rows(), now)), drift.Release,
		nil); !cmp.Equal(got,
		drift.Outcome{}) {
		t.Errorf("of an unknown one: %+v", got)
	}
	s.Running, s.Generation = false, 2
	got := decide(t, only(t, drift.Compare("main", []drift.ClusterState{s}, rows(w), now)), drift.Release, &w)
	if got.Workload.State != workload.Ended || got.Close == nil {
		t.Errorf("of a known one: %+v", got)
	}
}

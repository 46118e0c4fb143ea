package reconcile_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// replica is a portal's controller on one PostgreSQL server of a pair.
type replica struct {
	*world
	db *store.Store
}

// lead opens a server's database, takes the lead and runs a controller until halt.
func lead(t *testing.T, p *storetest.Pair, server string, cluster *fakeCluster) *replica {
	t.Helper()
	db, err := store.Open(t.Context(), p.Address(server), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	release, ok, _ := db.Lead(ctx)
	if !ok {
		t.Fatal("want the lead")
	}
	o := reconciletest.Options(reconciletest.NewStore(), namespace, reconcile.Cluster{Client: cluster})
	o.Store, o.Changes, o.Every.Compare = db, nil, 100*time.Millisecond
	w := &world{t: t, cluster: cluster, stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		if err := reconcile.New(o).Run(db.Fenced(ctx)); err != nil {
			t.Error(err)
		}
		release()
		_ = db.Close()
	}()
	t.Cleanup(w.halt)
	return &replica{w, db}
}

// ask writes a notebook as a granted request would.
func (r *replica) ask(name string) {
	r.t.Helper()
	nb := notebook(name)
	err := r.db.ChangeExclusively(r.t.Context(), func(tx workload.Tx) error {
		if err := tx.SaveWorkload(r.t.Context(), nb); err != nil {
			return err
		}
		return tx.Append(r.t.Context(), audit.By(identity.System(), audit.WorkloadCreated, time.Now()))
	})
	if err != nil {
		r.t.Fatal(err)
	}
	within(r.t, 2*time.Minute, name+" is made", func() bool { return r.replicas(name) == 1 })
}

func (r *replica) holds(cause drift.Cause, want ...string) []drift.Difference {
	r.t.Helper()
	var got []string
	var list []drift.Difference
	within(r.t, 2*time.Minute, "it is held and tells what differs", func() bool {
		holds, err := r.db.Holds(context.Background())
		if err != nil || len(holds) != 1 || holds[0].Cause != cause {
			return false
		}
		list, _ = r.db.Differences(context.Background())
		got = nil
		for _, d := range list {
			got = append(got, d.Owner().Name+" "+string(d.Kind))
		}
		slices.Sort(got)
		return slices.Equal(want, got)
	})
	return list
}

// T-DB-2: the standby is promoted without the last transactions, then the former primary comes back writable. Either
// time the cluster knows better than the database: nothing is changed, and what is newer is shown, not deleted.
func TestFailoverThatLostTransactions(t *testing.T) {
	p, cluster := storetest.NewPair(t), newFakeCluster()
	first := lead(t, p, storetest.First, cluster)
	first.ask("r-a")
	p.CaughtUp(t)
	p.Stop(t, storetest.Second) // it lags behind from here on
	first.ask("r-c")
	first.halt()
	p.Stop(t, storetest.First)
	p.Start(t, storetest.Second)
	p.Promote(t, storetest.Second)

	objects := cluster.objects(namespace)
	second := lead(t, p, storetest.Second, cluster)
	list := second.holds(drift.Older, "r-c cluster")
	if got := cluster.objects(namespace); !cmp.Equal(objects, got) {
		t.Errorf("objects after the failover (-want +got)\n%s", cmp.Diff(objects, got))
	}
	s := drift.New(drift.Options{Store: second.db, Now: time.Now})
	if _, err := s.Decide(t.Context(), administrator, list[0].ID, drift.Adopt, list[0].Version); err != nil {
		t.Fatal(err)
	}
	within(t, 2*time.Minute, "work goes on", func() bool {
		holds, err := second.db.Holds(context.Background())
		return err == nil && len(holds) == 0
	})
	second.ask("r-e")
	second.halt()

	p.Stop(t, storetest.Second)
	p.Start(t, storetest.First) // writable, and on the old timeline
	objects = cluster.objects(namespace)
	again := lead(t, p, storetest.First, cluster)
	holds := func() bool {
		held, err := again.db.Holds(context.Background())
		return err == nil && len(held) == 1
	}
	within(t, 2*time.Minute, "the former primary is refused", holds)
	within(t, 2*time.Minute, "what it does not know is shown", func() bool {
		list, _ := again.db.Differences(context.Background())
		return slices.ContainsFunc(list, func(d drift.Difference) bool {
			return d.Kind == drift.ClusterOnly && d.Owner().Name == "r-e"
		})
	})
	if got := cluster.objects(namespace); !cmp.Equal(objects, got) {
		t.Errorf("objects after the old one is back (-want +got)\n%s", cmp.Diff(objects, got))
	}
}

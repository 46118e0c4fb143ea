package reconcile_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// BenchmarkReadyToShown: the pods of 700 notebooks become ready one after the other within a minute, and somebody looks
// at each. p50-ms, p99-ms and most-ms are from the moment when the cluster says that a pod is ready to the one when
// whoever looks, told of changes as pages are, reads that it runs; 2 s are asked for 99 of 100. Drawing the page is not
// in it (BenchmarkPages).
func BenchmarkReadyToShown(b *testing.B) {
	for name, address := range map[string]func(testing.TB) string{"PostgreSQL": storetest.Postgres,
		"SQLite": func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "portal.db") }} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				delays := readyToShown(b, address(b), 700, time.Minute)
				slices.Sort(delays)
				ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
				b.ReportMetric(ms(delays[len(delays)/2]), "p50-ms")
				b.ReportMetric(ms(delays[len(delays)*99/100]), "p99-ms")
				b.ReportMetric(ms(delays[len(delays)-1]), "most-ms")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

func readyToShown(b *testing.B, address string, n int, within time.Duration) []time.Duration {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	db, err := store.Open(ctx, address, store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Migrate(ctx); err != nil {
		b.Fatal(err)
	}
	hub := live.NewHub(db, time.Second)
	db.OnCommit(hub.Wake)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() { _ = hub.Run(ctx) })
	release, ok, _ := db.Lead(ctx)
	if !ok {
		b.Fatal("somebody else leads")
	}
	defer release()
	cluster := newFakeCluster()
	o := reconciletest.Options(reconciletest.NewStore(), namespace, reconcile.Cluster{Client: cluster})
	o.Store, o.Changes = db, nil
	group.Go(func() {
		if err := reconcile.New(o).Run(db.Fenced(ctx)); err != nil {
			b.Error(err)
		}
	})

	ready, shown := make([]time.Time, n), make([]time.Time, n)
	var looking sync.WaitGroup
	for i := range n {
		w := notebook(fmt.Sprintf("nb-%d", i))
		err := db.ChangeExclusively(ctx, func(tx workload.Tx) error { return tx.SaveWorkload(ctx, w) })
		if err != nil {
			b.Fatal(err)
		}
		page := hub.Follow(func(c live.Change) bool { return c.Topic == live.TopicWorkload && c.ID == string(w.ID) })
		looking.Go(func() {
			defer page.Close()
			for {
				select {
				case <-ctx.Done():
					return
				case <-page.C:
				}
				if got, err := db.Workload(ctx, w.ID); err == nil && got.State == workload.Running {
					shown[i] = time.Now()
					return
				}
			}
		})
	}
	waittest.Within(b, 5*time.Minute, "all StatefulSets", func() bool {
		sets, err := cluster.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(sets.Items) == n
	})
	began := time.Now()
	for i := range n {
		time.Sleep(time.Until(began.Add(time.Duration(i) * within / time.Duration(n))))
		ready[i] = time.Now()
		cluster.play(b, fmt.Sprintf("nb-%d", i), "node-1", true)
	}
	looking.Wait()
	delays := make([]time.Duration, n)
	for i := range n {
		delays[i] = shown[i].Sub(ready[i])
	}
	return delays
}

package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// largeFleet is 625 nodes with 8 cards of 7 slices each.
func largeFleet() *gpumetrics.Fleet {
	f := &gpumetrics.Fleet{At: webtest.Now}
	value := func(v float64, unit gpumetrics.Unit) gpumetrics.Reading {
		return gpumetrics.Reading{Value: v, Unit: unit, Source: gpumetrics.Measured, At: webtest.Now}
	}
	for i := range 625 {
		n := gpumetrics.Node{Name: fmt.Sprintf("worker-%03d", i)}
		for j := range 8 {
			c := gpumetrics.CardUse{UUID: fmt.Sprintf("GPU-%d-%d", i, j), Model: "NVIDIA H100 80GB HBM3"}
			for k := range 7 {
				c.Cells = append(c.Cells, gpumetrics.Cell{Instance: fmt.Sprint(7 + k), Profile: "1g.10gb", Part: 1.0 / 7, Engine: value(float64((i*j+k*13)%100), gpumetrics.Percent),
					Memory: value(4096, gpumetrics.MiB), Total: value(9728, gpumetrics.MiB), Pods: []gpumetrics.Pod{{Namespace: "batch", Name: fmt.Sprintf("job-%d-%d-%d", i, j, k)}}})
			}
			n.Cards = append(n.Cards, c)
		}
		f.Nodes = append(f.Nodes, n)
	}
	return f
}

// largeWorld is a busy world with such a fleet.
func largeWorld() *webtest.World {
	w := webtest.Busy()
	s := inventory.Snapshot{Cluster: "local", TakenAt: webtest.Now}
	for i := range 625 {
		s.Nodes = append(s.Nodes, inventory.Node{Name: fmt.Sprintf("worker-%03d", i), Ready: true, Model: "NVIDIA-H100-80GB-HBM3", Resources: []inventory.Resource{{Name: "nvidia.com/mig-1g.10gb", Capacity: 56, Allocatable: 56}}})
	}
	w.Snaps["local"], w.Fleets["local"] = s, largeFleet()
	return w
}

// BenchmarkFleetUse answers the page of a fleet of 35,000 slices: with the map that was drawn for this poll already, and with one that has to be drawn.
func BenchmarkFleetUse(b *testing.B) {
	w := largeWorld()
	for _, path := range []string{"/fleet", "/fleet/use", "/fleet/use?cluster=local&node=worker-300"} {
		b.Run(path, func(b *testing.B) {
			w.Get(webtest.Dora, path)
			for b.Loop() {
				if got := w.Get(webtest.Dora, path).Code; got != http.StatusOK {
					b.Fatal(got)
				}
			}
		})
	}
	b.Run("drawn anew", func(b *testing.B) {
		for b.Loop() {
			fresh := *w.Fleets["local"]
			w.Fleets["local"] = &fresh
			answer := w.Get(webtest.Dora, "/fleet/use")
			b.ReportMetric(float64(answer.Body.Len())/1024, "KiB/page")
		}
	})
}

// quietSink takes what a stream sends, and counts it.
type quietSink struct {
	header http.Header
	sent   *atomic.Int64
	bytes  *atomic.Int64
}

func (s *quietSink) Header() http.Header              { return s.header }
func (s *quietSink) WriteHeader(int)                  {}
func (s *quietSink) Flush()                           {}
func (s *quietSink) SetWriteDeadline(time.Time) error { return nil }
func (s *quietSink) Write(data []byte) (int, error) {
	s.sent.Add(1)
	s.bytes.Add(int64(len(data)))
	return len(data), nil
}

// BenchmarkStreams has 5,000 people look at a page while a poll of metrics comes in: what drawing all of them takes of the processor, and what they keep in memory. Every
// part that shows readings looks different each time, which is the worst there can be. cores is for a poll every five seconds. The network is not in it: net/http's own part of a
// connection is about 20 KiB more.
func BenchmarkStreams(b *testing.B) {
	const viewers, perPerson = 5000, 25
	for _, page := range []string{"page=workload&id=w-train-resnet", "page=fleet-use", "page=home"} {
		b.Run(page, func(b *testing.B) {
			w := webtest.Busy()
			before := heap()
			ctx, stop := context.WithCancel(context.Background())
			var group sync.WaitGroup
			defer group.Wait()
			defer stop()
			var sent, bytes atomic.Int64
			for i := range viewers / perPerson {
				p := identity.Person{ID: identity.PersonID(fmt.Sprintf("viewer-%d", i)), Name: "Viewer", Groups: []string{"vision-dev"}}
				handler := w.Handler(p, "en")
				for range perPerson {
					r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/live?"+page, nil)
					group.Go(func() { handler.ServeHTTP(&quietSink{http.Header{}, &sent, &bytes}, r) })
				}
			}
			wait(b, &sent, viewers)
			kept := heap() - before
			used := processorTime()
			for b.Loop() {
				w.Clock = w.Clock.Add(time.Minute)
				want := sent.Load() + viewers
				w.Hub.Publish(live.Change{Topic: "metrics"})
				wait(b, &sent, want)
			}
			perPoll := (processorTime() - used).Seconds() / float64(b.N)
			b.ReportMetric(perPoll/5, "cores")
			b.ReportMetric(float64(kept)/(1<<20), "MiB")
			b.ReportMetric(float64(bytes.Load())/float64(sent.Load())/1024, "KiB/message")
		})
	}
}

func wait(b *testing.B, n *atomic.Int64, want int64) {
	for begun := time.Now(); n.Load() < want; time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > 2*time.Minute {
			b.Fatalf("want %d messages, got %d", want, n.Load())
		}
	}
}

// heap is what is in use after a collection, stacks included.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

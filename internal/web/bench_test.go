package web_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
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
				c.Cells = append(c.Cells, gpumetrics.Cell{Instance: fmt.Sprint(7 + k), Profile: "1g.10gb", Part: 1.0 / 7,
					Engine: value(float64((i*j+k*13)%100), gpumetrics.Percent),
					Memory: value(4096, gpumetrics.MiB), Total: value(9728, gpumetrics.MiB),
					Pods: []gpumetrics.Pod{{Namespace: "batch", Name: fmt.Sprintf("job-%d-%d-%d", i, j, k)}}})
			}
			n.Cards = append(n.Cards, c)
		}
		f.Nodes = append(f.Nodes, n)
	}
	return f
}

// largeWorld is a busy world with such a fleet.
func largeWorld(b *testing.B) *webtest.World {
	b.Helper()
	w := webtest.Busy(b)
	s := inventory.Snapshot{Cluster: "local", TakenAt: webtest.Now}
	for i := range 625 {
		s.Nodes = append(s.Nodes, inventory.Node{Name: fmt.Sprintf("worker-%03d", i), Ready: true,
			Model: "NVIDIA-H100-80GB-HBM3", Resources: []inventory.Resource{{Name: "nvidia.com/mig-1g.10gb", Capacity: 56,
				Allocatable: 56}}})
	}
	w.PutInventory(s)
	w.Fleets["local"] = largeFleet()
	return w
}

// BenchmarkFleetUse answers the page of a fleet of 35,000 slices: with the map that was drawn for this poll already,
// and with one that has to be drawn.
func BenchmarkFleetUse(b *testing.B) {
	w := largeWorld(b)
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

// quietSink takes what a stream sends, and counts the messages that change the page.
type quietSink struct {
	header http.Header
	to     *sinks
}

// sinks are what all streams sent together.
type sinks struct{ drawn, bytes, refused atomic.Int64 }

func (s *quietSink) Header() http.Header              { return s.header }
func (s *quietSink) Flush()                           {}
func (s *quietSink) SetWriteDeadline(time.Time) error { return nil }
func (s *quietSink) WriteHeader(status int) {
	if status != http.StatusOK {
		s.to.refused.Add(1)
	}
}

func (s *quietSink) Write(data []byte) (int, error) {
	if bytes.HasPrefix(data, []byte("event: fragments")) {
		s.to.drawn.Add(1)
		s.to.bytes.Add(int64(len(data)))
	}
	return len(data), nil
}

// BenchmarkStreams has 5,000 people look at a page for a quarter of a minute: three polls of metrics and one beat for
// each of them. cores is what that takes of the processor by those fifteen seconds, however long a busy machine needs
// for it; MiB is what the open pages keep. Every part that shows readings looks different after each poll, which is the
// worst there can be. The network is not in it: net/http's own part of a connection is about 20 KiB more.
func BenchmarkStreams(b *testing.B) {
	const viewers = 5000
	for _, page := range []string{"page=workload&id=w-train-resnet", "page=fleet-use", "page=home&scope=team"} {
		b.Run(page, func(b *testing.B) {
			w := webtest.Busy(b)
			before := heap()
			ctx, stop := context.WithCancel(context.Background())
			var group sync.WaitGroup
			defer group.Wait()
			defer stop()
			var to sinks
			for i := 0; i < viewers; {
				p := identity.Person{ID: identity.PersonID(fmt.Sprintf("viewer-%d", i)), Name: "Viewer",
					Groups: []string{"vision-dev"}}
				handler := w.Handler(p, "en")
				for range min(webtest.MaxStreams, viewers-i) { // more pages of one person would be refused
					r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/live?"+page, nil)
					group.Go(func() { handler.ServeHTTP(&quietSink{http.Header{}, &to}, r) })
					i++
				}
			}
			to.wait(b, viewers)
			kept := heap() - before
			used := processorTime()
			polls := time.NewTicker(5 * time.Second)
			defer polls.Stop()
			for b.Loop() {
				for range 3 {
					<-polls.C
					want := to.drawn.Load() + viewers
					polled(w)
					w.Hub.Publish(live.Change{Topic: live.TopicMetrics})
					to.wait(b, want)
				}
			}
			b.ReportMetric((processorTime()-used).Seconds()/float64(15*b.N), "cores")
			b.ReportMetric(float64(kept)/(1<<20), "MiB")
			b.ReportMetric(float64(to.bytes.Load())/float64(to.drawn.Load())/1024, "KiB/message")
		})
	}
}

// polled gives every device another value, a minute later. A stream that beats meanwhile reads the old maps or the new
// ones.
func polled(w *webtest.World) {
	at := w.Clock.Add(time.Minute)
	readings, fleets := maps.Clone(w.Readings), maps.Clone(w.Fleets)
	for pod, r := range readings {
		r.Live.Devices = slices.Clone(r.Live.Devices)
		for i := range r.Live.Devices {
			e := &r.Live.Devices[i].Engine
			e.Value, e.At = math.Mod(e.Value+7, 100), at
		}
		readings[pod] = r
	}
	for cluster, f := range fleets {
		fresh := *f
		fresh.At = at
		fleets[cluster] = &fresh
	}
	w.Clock, w.Readings, w.Fleets = at, readings, fleets
}

// wait is until so many messages have changed a page. A page that shows nothing that changes gets none: that is a fault
// of the benchmark, and told.
func (s *sinks) wait(b *testing.B, want int64) {
	for begun := time.Now(); s.drawn.Load() < want; time.Sleep(5 * time.Millisecond) {
		if n := s.refused.Load(); n > 0 {
			b.Fatalf("%d of the streams were refused", n)
		}
		if time.Since(begun) > time.Minute {
			b.Fatalf("want %d messages, got %d", want, s.drawn.Load())
		}
	}
}

// heap is what is in use after a collection, stacks included.
func heap() int64 {
	for range 5 { // a stack that was grown for drawing is halved at each
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

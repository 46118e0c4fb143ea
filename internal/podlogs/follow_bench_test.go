package podlogs_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/podlogs"
)

// BenchmarkFollowers lets 500 people follow a log of an API server that answers at once, in the same process.
//
//	p95-first-ms: from the question to the first line
//	streams:      open at the API server while all look; after-streams: when nobody looks any more
func BenchmarkFollowers(b *testing.B) {
	const people = 500
	w := newWorld(b)
	w.log = func(out http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(out, stamp+"first\n")
		out.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	for b.Loop() {
		took, readers := make([]time.Duration, people), make([]*podlogs.Reader, people)
		var all sync.WaitGroup
		for i := range people {
			all.Go(func() {
				who := actor(identity.PersonID(fmt.Sprintf("p-%03d", i)), identity.Owner, "vision")
				begin := time.Now()
				r, err := w.Open(b.Context(), who, "w-1", podlogs.Query{Follow: true})
				if err != nil {
					b.Error(err)
					return
				}
				if _, err := r.Next(); err != nil {
					b.Error(err)
				}
				took[i], readers[i] = time.Since(begin), r
			})
		}
		all.Wait()
		if b.Failed() {
			b.FailNow()
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[people*95/100])/1e6, "p95-first-ms")
		b.ReportMetric(float64(w.open.Load()), "streams")
		for _, r := range readers {
			if err := r.Close(); err != nil {
				b.Error(err)
			}
		}
		until(b, "nothing is followed", func() bool { return w.open.Load() == 0 && w.Following() == 0 })
		b.ReportMetric(float64(w.open.Load()), "after-streams")
	}
}

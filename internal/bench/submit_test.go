//go:build unix

package bench_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/store"
)

// BenchmarkSubmit2000 has two thousand people send one spec each by the API, evenly over some seconds and then all at
// the same moment; it waits for no answer before it sends the next. Every second one names a size that does not exist
// and has to hear so; everybody else gets a workload. p95-ms is what they wait, and calls/s how many are answered when
// all come at once.
func BenchmarkSubmit2000(b *testing.B) {
	l, bounds := scenario(b, "submit")
	for _, database := range slices.Sorted(maps.Keys(databases)) {
		b.Run(database, func(b *testing.B) {
			p := newPortal(b, databases[database](b), l, store.Options{})
			p.fill(b, l)
			tokens := make([]string, l.Submissions)
			for i := range tokens {
				tokens[i] = p.token(b, l.person(i))
			}
			round := 0
			for _, pace := range []struct {
				name   string
				within time.Duration
			}{{"paced", time.Duration(l.Seconds) * time.Second}, {"at-once", 0}} {
				b.Run(pace.name, func(b *testing.B) {
					for range b.N {
						round++
						took, all := p.submit(b, l, tokens, pace.within, round)
						bounds.report(b, pace.name, "p95-ms", float64(percentile(took, 95).Microseconds())/1000)
						if pace.within == 0 {
							bounds.report(b, pace.name, "calls/s", float64(len(took))/all.Seconds())
						}
					}
				})
			}
		})
	}
}

func (p *portal) submit(b *testing.B, l load, tokens []string, within time.Duration,
	round int) (took []time.Duration, all time.Duration) {
	took = make([]time.Duration, len(tokens))
	var group sync.WaitGroup
	var wrong atomic.Int64
	begun := time.Now()
	for i, token := range tokens {
		due := begun.Add(within * time.Duration(i) / time.Duration(len(tokens)))
		time.Sleep(time.Until(due))
		size, want := "mig-1g.10gb", http.StatusCreated
		if i%2 > 0 {
			size, want = "mig-9g.1tb", http.StatusUnprocessableEntity
		}
		body, _ := json.Marshal(map[string]string{"kind": "notebook", "tenant": teamName(i % l.Tenants), "size": size,
			"image": "jupyterlab", "lease": "8h", "storage": "10Gi",
			"reason": "a course", "name": fmt.Sprintf("course-%d-%04d", round, i)})
		group.Go(func() {
			r := httptest.NewRequest(http.MethodPost, "/api/v1/requests", bytes.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+token)
			r.Header.Set("Content-Type", "application/json")
			out := &sink{}
			p.server.ServeHTTP(out, r)
			took[i] = time.Since(due)
			if out.status != want && wrong.Add(1) == 1 {
				b.Errorf("want %d, answered %d", want, out.status)
			}
		})
	}
	group.Wait()
	if n := wrong.Load(); n > 0 {
		b.Errorf("%d of %d answers were not as they should be", n, len(took))
	}
	return took, time.Since(begun)
}

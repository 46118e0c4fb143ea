//go:build unix

package bench_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/gogc"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/store"
)

// navigation is each page that the navigation and its tabs lead to, as who sees most on it; then lists that are sorted
// by what no column of the database holds, and API calls. Their names are what testdata bounds.
var navigation = []struct{ name, path, who string }{
	{"home", "/", "developer"}, {"start", "/start", "developer"}, {"workload", "/workloads/w-00003", "developer"},
	{"requests", "/requests", "developer"}, {"storage", "/storage", "developer"}, {"team", "/team/team-003", "developer"},
	{"usage", "/usage", "developer"}, {"fleet", "/fleet", "developer"}, {"account", "/account", "developer"},
	{"notices", "/account/notifications", "developer"}, {"search", "/search?q=work", "developer"},
	{"approvals", "/approvals", "approver"}, {"delegations", "/approvals/delegations", "approver"},
	{"requests-all", "/requests?scope=all", "approver"},
	{"home-all", "/?scope=all", "admin"}, {"home-cost", "/?scope=all&sort=-cost", "admin"},
	{"home-use", "/?scope=all&sort=use", "admin"},
	{"platform", "/platform", "admin"}, {"fleet-admin", "/fleet", "admin"}, {"fleet-map", "/fleet/use", "admin"},
	{"fleet-holders", "/fleet/use/holders", "admin"}, {"fleet-health", "/fleet/health", "admin"},
	{"licenses", "/licenses", "admin"}, {"sizes", "/admin/sizes", "admin"}, {"images", "/admin/images", "admin"},
	{"prices", "/admin/prices", "admin"}, {"rules", "/admin/rules", "admin"}, {"idle", "/admin/idle", "admin"},
	{"tenants", "/admin/tenants", "admin"}, {"people", "/admin/people", "admin"},
	{"budgets", "/admin/budgets", "admin"},
	{"usage-all", "/usage?scope=all", "admin"}, {"advice", "/usage/advice?scope=all", "admin"},
	{"demand", "/usage/demand", "admin"}, {"reconciliation", "/usage/reconciliation", "admin"},
	{"system", "/admin/system", "admin"}, {"metrics", "/admin/metrics", "admin"},
	{"notifications", "/admin/notifications", "admin"}, {"differences", "/admin/differences", "admin"},
	{"audit", "/audit", "admin"},
	{"api-sizes", "/api/v1/sizes", "token"}, {"api-workloads", "/api/v1/workloads?limit=50", "token"},
}

// BenchmarkPages answers pages and API calls from a full portal, without the network: edge, session, rights, services,
// database, rendering. Some clients ask at the same time. req/s/core is calls by the processor time that this process
// took, so that neighbours on the machine and the other core do not count; what a PostgreSQL server takes is not in it.
// p95-ms is what a caller waits, neighbours included.
func BenchmarkPages(b *testing.B) {
	defer gogc.AtLeast(gogc.Serving)() // as a portal that serves
	l, bounds := scenario(b, "pages")
	for _, database := range slices.Sorted(maps.Keys(databases)) {
		b.Run(database, func(b *testing.B) {
			p := newPortal(b, databases[database](b), l, store.Options{})
			p.fill(b, l)
			developer, approver, admin := l.person(3), l.person(9999), l.person(9998)
			approver.Groups, admin.Groups = []string{"gpu-approvers"}, []string{"gpu-admins"}
			people := map[string]identity.Person{"developer": developer, "approver": approver, "admin": admin}
			token := p.token(b, developer)
			for _, page := range navigation {
				b.Run(page.name, func(b *testing.B) {
					cookie := ""
					if page.who != "token" {
						cookie = p.signIn(b, people[page.who])
					}
					ask := func() *http.Request {
						r := httptest.NewRequest(http.MethodGet, page.path, nil)
						if page.who == "token" {
							r.Header.Set("Authorization", "Bearer "+token)
						} else {
							r.Header.Set("Accept", "text/html")
							r.AddCookie(&http.Cookie{Name: "__Host-gpu-portal", Value: cookie})
						}
						return r
					}
					measure(b, p.server, l.Clients, ask, bounds, page.name)
				})
			}
		})
	}
}

// token makes an API token of someone.
func (p *portal) token(b *testing.B, who identity.Person) string {
	b.Helper()
	c := identity.NewCredential()
	t := identity.Token{ID: c.ID, Name: "bench", SecretHash: c.Hash(), Person: who.ID, CreatedAt: p.began,
		ExpiresAt: p.began.Add(24 * time.Hour), LastUsedAt: p.began.Add(time.Hour)}
	if err := p.store.CreateToken(context.Background(), t, audit.By(identity.Actor{Person: who}, audit.TokenCreated,
		p.began)); err != nil {
		b.Fatal(err)
	}
	return identity.TokenPrefix + c.String()
}

// measure has clients ask until b.N calls are answered.
func measure(b *testing.B, server http.Handler, clients int, ask func() *http.Request, bounds ranges, name string) {
	first := &sink{kept: &bytes.Buffer{}}
	server.ServeHTTP(first, ask()) // what is read once is read before
	if first.status != http.StatusOK {
		b.Fatalf("answered %d", first.status)
	}
	var next atomic.Int64
	took := make([]time.Duration, b.N)
	b.ReportAllocs()
	b.ResetTimer()
	before := processorTime()
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
				out, begun := &sink{}, time.Now()
				server.ServeHTTP(out, ask())
				took[i] = time.Since(begun)
				if out.status != http.StatusOK {
					b.Errorf("answered %d", out.status)
				}
			}
		})
	}
	group.Wait()
	used := processorTime() - before
	b.StopTimer()
	b.ReportMetric(float64(first.bytes)/1024, "KiB/page")
	compressed := first.compressed()
	b.ReportMetric(compressed, "KiB-gzip")
	if compressed > mostCompressed {
		b.Logf("%s: %.0f KiB compressed, more than %d", name, compressed, mostCompressed)
	}
	if b.N < 20 { // go test tries with few first
		return
	}
	bounds.report(b, name, "req/s/core", float64(b.N)/used.Seconds())
	b.ReportMetric(float64(used.Microseconds())/1000/float64(b.N), "cpu-ms/op")
	bounds.report(b, name, "p95-ms", float64(percentile(took, 95).Microseconds())/1000)
}

func percentile(took []time.Duration, p int) time.Duration {
	slices.Sort(took)
	return took[(len(took)-1)*p/100]
}

// processorTime is what this process has used of all cores.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// sink takes an answer and keeps its length.
type sink struct {
	header http.Header
	status int
	bytes  int
	kept   *bytes.Buffer // of what is written; nil for nothing
}

// mostCompressed is how many KiB a page may come to on the network.
const mostCompressed = 120

// compressed is the answer in KiB as a browser would be sent it.
func (s *sink) compressed() float64 {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(s.kept.Bytes())
	_ = z.Close()
	return float64(out.Len()) / 1024
}

func (s *sink) Header() http.Header {
	if s.header == nil {
		s.header = http.Header{}
	}
	return s.header
}

func (s *sink) Write(data []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	s.bytes += len(data)
	if s.kept != nil {
		s.kept.Write(data)
	}
	return len(data), nil
}

func (s *sink) WriteHeader(status int) { s.status = status }

// BenchmarkMemory says what is kept of a full portal while 200 pages are open on it: the heap after a collection. The
// controller's caches are not in it.
func BenchmarkMemory(b *testing.B) {
	l, _ := scenario(b, "pages")
	p := newPortal(b, databases["SQLite"](b), l, store.Options{})
	p.fill(b, l)
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	for i := range 200 {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/live?page=home", nil)
		r.AddCookie(&http.Cookie{Name: "__Host-gpu-portal", Value: p.signIn(b, l.person(i))})
		opened := make(chan struct{})
		group.Go(func() { p.server.ServeHTTP(&streamSink{opened: func() { close(opened) }}, r) })
		<-opened
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "heap-MiB")
	b.ReportMetric(float64(m.Sys-m.HeapReleased)/(1<<20), "taken-MiB")
	b.ReportMetric(0, "ns/op")
}

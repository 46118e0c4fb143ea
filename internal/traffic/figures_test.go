package traffic

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func TestFiguresOfASpan(t *testing.T) {
	span := SpanOf("1h")
	now := noon.Add(30 * time.Second)
	since := span.Since(now)
	if want := noon.Add(-59 * time.Minute); !since.Equal(want) {
		t.Fatalf("want the hour to begin at %v, got %v", want, since)
	}
	var first Histogram
	for range 100 {
		first.Observe(90 * time.Millisecond)
	}
	row := func(at time.Time, revision int, c Counts) Row {
		return Row{Source: Source{Workload: "w-1", Revision: revision}, Step: time.Minute, At: at, Counts: c}
	}
	rows := []Row{row(since.Add(-time.Minute), 1, Counts{Requests: 999}), // before the span
		row(since, 2, Counts{Requests: 120, ClientErrors: 6, ServerErrors: 3, Refused: 3, Prompt: 400, Completion: 200,
			First: first}),
		row(since, 1, Counts{Requests: 60}), row(noon, 1, Counts{Requests: 60})}
	f := newFigures(span, now, rows, []Sample{{At: since, Count: 2, Wanted: 4, Ready: 3, QueueCount: 1, Queue: 7}})
	if f.Total.Requests != 240 || len(f.Points) != 60 {
		t.Fatalf("want 240 requests in 60 points, got %d in %d", f.Total.Requests, len(f.Points))
	}
	p95, _ := first.Quantile(.95)
	p50, _ := first.Quantile(.5)
	want := Point{At: since, Requests: known(3), Errors: known(100.0 * 12 / 180), Tokens: known(10),
		FirstP50: known(p50.Seconds()), FirstP95: known(p95.Seconds()), Wanted: known(2), Ready: known(1.5), Queue: known(7)}
	if diff := cmp.Diff(want, f.Points[0]); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	// the newest minute is half over: its rate is of the time that it had
	want = Point{At: noon, Requests: known(2), Errors: known(0), Tokens: known(0)}
	if diff := cmp.Diff(want, f.Points[59]); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	want = Point{At: noon.Add(-time.Minute), Requests: known(0), Tokens: known(0)} // of nothing there are no quantiles
	if diff := cmp.Diff(want, f.Points[58]); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if len(f.Revisions) != 2 || f.Revisions[0].Number != 1 || f.Revisions[0].Requests != 120 ||
		f.Revisions[1].Requests != 120 {
		t.Errorf("want both revisions with 120 requests, got %+v", f.Revisions)
	}
	if n := len(newFigures(span, noon.Add(5*time.Second), rows, nil).Points); n != 59 {
		t.Errorf("want no point for a minute that has just begun, got %d", n)
	}
}

func TestCostOfAMillionTokens(t *testing.T) {
	for name, c := range map[string]struct {
		counts Counts
		want   int64
		ok     bool
	}{
		"tokens of both kinds": {Counts{Prompt: 1_500_000, Completion: 500_000}, 150, true},
		"few tokens":           {Counts{Prompt: 3}, 100_000_000, true},
		"no tokens":            {Counts{Requests: 5}, 0, false},
	} {
		got, ok := c.counts.PerMillion(usage.Money{Minor: 300, Currency: "EUR"})
		if ok != c.ok || got.Minor != c.want {
			t.Errorf("%s: want %d %v, got %d %v", name, c.want, c.ok, got.Minor, ok)
		}
	}
}

// books is a database of one endpoint, w-1 of team red.
type books struct {
	kind  catalog.WorkloadKind
	asked int
	many  int
}

func (b *books) Workload(_ context.Context, id workload.ID) (workload.Workload, error) {
	return workload.Workload{ID: id, Kind: b.kind, Tenant: "red", Owner: "ada"}, nil
}

func (b *books) TrafficSeries(context.Context, workload.ID, time.Duration, time.Time) ([]Row, error) {
	b.asked++
	return nil, nil
}

func (b *books) TrafficByConsumer(_ context.Context, _ workload.ID, _ time.Duration, _ time.Time,
	most int) ([]Consumer, error) {
	return make([]Consumer, min(b.many, most)), nil
}

func (b *books) Samples(context.Context, workload.ID, time.Duration, time.Time) ([]Sample, error) {
	return nil, nil
}

func TestFiguresAreForThoseWhoMayReadTheEndpoint(t *testing.T) {
	b, now := &books{kind: catalog.Endpoint, many: MostConsumers + 5}, noon
	s := &Service{Store: b, Now: func() time.Time { return now },
		Meters: func(context.Context, ...workload.Workload) (func(time.Time) map[workload.ID]usage.Money, error) {
			return func(at time.Time) map[workload.ID]usage.Money { // 60 an hour since 11 o'clock
				return map[workload.ID]usage.Money{"w-1": {Minor: max(0, int64(at.Sub(noon.Add(-time.Hour)).Minutes())),
					Currency: "EUR"}}
			}, nil
		}}
	ada := identity.Actor{Person: identity.Person{ID: "ada"},
		Tenants: map[string][]identity.Role{"red": {identity.Developer}}, Via: identity.ViaSession}
	stranger := identity.Actor{Person: identity.Person{ID: "eve"},
		Tenants: map[string][]identity.Role{"blue": {identity.Developer}}, Via: identity.ViaSession}
	ctx := context.Background()
	for _, span := range []string{"1h", "24h"} {
		f, err := s.Of(ctx, ada, "w-1", SpanOf(span))
		cost := map[string]int64{"1h": 59, "24h": 60}[span]
		if err != nil || f.Cost.Minor != cost || f.Cost.Currency != "EUR" || len(f.Consumers) != MostConsumers || !f.More {
			t.Errorf("%s: got cost %v of %d consumers, %v", span, f.Cost, len(f.Consumers), err)
		}
	}
	if _, err := s.Of(ctx, ada, "w-1", SpanOf("1h")); err != nil || b.asked != 2 {
		t.Errorf("want who asks again told the same, got %d reads, %v", b.asked, err)
	}
	now = now.Add(FlushEvery)
	if _, err := s.Of(ctx, ada, "w-1", SpanOf("1h")); err != nil || b.asked != 3 {
		t.Errorf("want it read again later, got %d reads, %v", b.asked, err)
	}
	if _, err := s.Of(ctx, stranger, "w-1", SpanOf("1h")); !fault.Is(err, fault.NotFound) {
		t.Errorf("want nothing for strangers, got %v", err)
	}
	b.kind = catalog.Notebook
	if _, err := s.Of(ctx, ada, "w-1", SpanOf("1h")); !fault.Is(err, fault.Conflict) {
		t.Errorf("want a notebook refused, got %v", err)
	}
}

// shelf keeps samples.
type shelf struct {
	list []workload.Workload
	got  map[workload.ID]Sample
}

func (s *shelf) RunningEndpoints(context.Context) ([]workload.Workload, error) { return s.list, nil }

func (s *shelf) AddSamples(_ context.Context, samples map[workload.ID]Sample) error {
	s.got = samples
	return errors.New("full")
}

func TestEndpointsAreLookedAt(t *testing.T) {
	with := func(id workload.ID, cluster string, change func(*workload.Workload)) workload.Workload {
		w := workload.Workload{ID: id, Kind: catalog.Endpoint, Cluster: cluster, Desired: workload.WantRunning,
			Replicas: workload.Replicas{Range: workload.Range{Min: 0, Max: 4}, Wanted: 3}}
		w.Observed.Pods = []workload.Replica{{Pod: "a", Ready: true}, {Pod: "b"}, {Pod: "c", Ready: true}}
		change(&w)
		return w
	}
	k := &shelf{list: []workload.Workload{with("w-1", "west", func(*workload.Workload) {}),
		with("w-asleep", "west", func(w *workload.Workload) { w.Replicas.Asleep, w.Observed.Pods = true, nil }),
		with("w-silent", "west", func(*workload.Workload) {}), with("w-stale", "east", func(*workload.Workload) {})}}
	s := Sampler{Store: k, Now: func() time.Time { return noon.Add(42 * time.Second) },
		Fresh: func(cluster string) bool { return cluster == "west" },
		Queue: func(_ context.Context, w workload.Workload) (float64, bool) { return 6, w.ID == "w-1" }}
	if err := s.Run(context.Background()); err == nil {
		t.Error("want to hear that nothing was kept")
	}
	want := map[workload.ID]Sample{"w-1": {At: noon, Count: 1, Wanted: 3, Ready: 2, QueueCount: 1, Queue: 6},
		"w-asleep": {At: noon, Count: 1}, "w-silent": {At: noon, Count: 1, Wanted: 3, Ready: 2}}
	if diff := cmp.Diff(want, k.got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

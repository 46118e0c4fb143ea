package traffic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ledger is a database that may fail before or after it has taken a batch.
type ledger struct {
	mu         sync.Mutex
	before     error
	after      error
	numbers    map[string]int64
	sums       map[Source]Counts // of the fine step
	rows, most int
}

func newLedger() *ledger { return &ledger{numbers: map[string]int64{}, sums: map[Source]Counts{}} }

func (l *ledger) AddTraffic(_ context.Context, b Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.before != nil {
		return l.before
	}
	if b.Number > l.numbers[b.Process] {
		l.numbers[b.Process] = b.Number
		for _, r := range b.Rows {
			sum := l.sums[r.Source]
			sum.Add(&r.Counts)
			l.sums[r.Source] = sum
		}
	}
	l.rows, l.most = len(b.Rows), max(l.most, len(b.Rows))
	return l.after
}

var (
	noon  = time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)
	byKey = Source{Workload: "w-1", Key: "k-1", Revision: FirstRevision}
)

func okAt(at time.Time) *Outcome {
	return &Outcome{At: at, Status: http.StatusOK, Took: time.Second, Prompt: 2}
}

// TestNothingIsCountedTwiceOrLost: whether a flush fails before or after the database took it, each call is there once.
func TestNothingIsCountedTwiceOrLost(t *testing.T) {
	ctx, l := context.Background(), newLedger()
	r := NewRecorder(RecorderOptions{Store: l, Process: "g-1"})
	other := NewRecorder(RecorderOptions{Store: l, Process: "g-2"})
	want := int64(0)
	for i, failing := range []struct{ before, after error }{{}, {before: errors.New("away")},
		{after: errors.New("no answer")}, {after: errors.New("no answer")}, {before: errors.New("away")}, {}, {}} {
		l.before, l.after = failing.before, failing.after
		for _, one := range []*Recorder{r, other} {
			one.Record(byKey, okAt(noon.Add(time.Duration(i)*time.Minute)))
			want++
			if err := one.Flush(ctx); (err != nil) != (failing.before != nil || failing.after != nil) {
				t.Fatalf("flush %d: got %v", i, err)
			}
		}
	}
	if got := l.sums[byKey]; got.Requests != want || got.Prompt != 2*want {
		t.Errorf("want %d calls once each, got %+v", want, got)
	}
	if err := r.Flush(ctx); err != nil || r.held.Load() != 0 {
		t.Errorf("want nothing left, got %d, %v", r.held.Load(), err)
	}
}

func TestMemoryIsBoundedWhileTheDatabaseIsAway(t *testing.T) {
	ctx, l := context.Background(), newLedger()
	l.before = errors.New("away")
	r := NewRecorder(RecorderOptions{Store: l, Process: "g-1", Most: 20})
	for i := range 30 {
		for minute := range 10 {
			s := byKey
			s.Key = fmt.Sprint("k-", i)
			r.Record(s, okAt(noon.Add(time.Duration(minute)*time.Minute)))
		}
		_ = r.Flush(ctx)
	}
	if held := r.held.Load(); held > 20 {
		t.Errorf("want at most 20 minutes held, got %d", held)
	}
	l.before = nil
	if err := r.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	kept := int64(0)
	for _, c := range l.sums {
		kept += c.Requests
	}
	if kept < 20 || kept > 300 || l.most > 20 {
		t.Errorf("want what there was room for, got %d calls in at most %d rows", kept, l.most)
	}
	late := Source{Workload: "w-1", Key: "late", Revision: 1}
	r.Record(late, okAt(noon))
	if err := r.Flush(ctx); err != nil || l.sums[late].Requests != 1 {
		t.Errorf("want calls counted again, got %+v, %v", l.sums[late], err)
	}
}

func TestSourcesWithoutCallsAreForgotten(t *testing.T) {
	ctx, l := context.Background(), newLedger()
	r := NewRecorder(RecorderOptions{Store: l, Process: "g-1"})
	r.Record(byKey, okAt(noon))
	for range idleFlushes + 2 {
		if err := r.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := r.cells.Load(byKey); ok {
		t.Error("want a source forgotten that nobody calls")
	}
	r.Record(byKey, okAt(noon))
	if err := r.Flush(ctx); err != nil || l.sums[byKey].Requests != 2 {
		t.Errorf("want it counted again, got %+v, %v", l.sums[byKey], err)
	}
}

func TestCallsAreCountedWhileOthersFlush(t *testing.T) {
	ctx, l := context.Background(), newLedger()
	r := NewRecorder(RecorderOptions{Store: l, Process: "g-1"})
	var calls sync.WaitGroup
	for i := range 8 {
		calls.Go(func() {
			for n := range 500 {
				s := byKey
				s.Key = fmt.Sprint("k-", (i+n)%3)
				r.Record(s, okAt(noon))
				if n%50 == 0 {
					_ = r.Flush(ctx)
				}
			}
		})
	}
	calls.Wait()
	if err := r.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	all := int64(0)
	for _, c := range l.sums {
		all += c.Requests
	}
	if all != 4000 {
		t.Errorf("want 4000 calls, got %d", all)
	}
}

func TestRowsAreInEveryStepAndSummed(t *testing.T) {
	person := Source{Workload: "w-1", Person: "p-1", Revision: 1}
	at := noon.Add(16 * time.Minute)
	got := Rows([]Row{{Source: person, At: at, Counts: Counts{Requests: 1}},
		{Source: byKey, At: at, Counts: Counts{Requests: 2}},
		{Source: byKey, At: at.Add(time.Minute), Counts: Counts{Requests: 4}}})
	row := func(s Source, step Step, minutes int, n int64) Row {
		return Row{Source: s, Step: step.Long, At: noon.Add(time.Duration(minutes) * time.Minute),
			Counts: Counts{Requests: n}}
	}
	all := Source{Workload: "w-1", Revision: 1}
	want := []Row{row(all, Fine, 16, 3), row(all, Fine, 17, 4), row(all, Coarse, 15, 7),
		row(person, Fine, 16, 1), row(person, Coarse, 15, 1),
		row(byKey, Fine, 16, 2), row(byKey, Fine, 17, 4), row(byKey, Coarse, 15, 6)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

// BenchmarkRecord is what a call pays for being counted.
func BenchmarkRecord(b *testing.B) {
	r := NewRecorder(RecorderOptions{Store: newLedger(), Process: "g-1"})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		o := okAt(noon)
		for pb.Next() {
			r.Record(byKey, o)
		}
	})
}

// BenchmarkFlush10000 writes down what 10,000 keys did in a minute, without the database.
func BenchmarkFlush10000(b *testing.B) {
	l := newLedger()
	b.ReportAllocs()
	for range b.N {
		r := NewRecorder(RecorderOptions{Store: l, Process: "g-1"})
		for i := range 10_000 {
			s := byKey
			s.Key = fmt.Sprint("k-", i)
			r.Record(s, okAt(noon))
		}
		_ = Rows(r.take())
	}
}

package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// written is what came into the record, and a clock.
type written struct {
	mu   sync.Mutex
	at   time.Time
	rows []string
	err  error
}

func (r *written) now() time.Time { return r.at }

func (r *written) write(_ context.Context, events ...Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		row := e.Address + " " + e.Detail.ID
		if n := e.Detail.Args["Count"]; n != nil {
			row += fmt.Sprintf(" %v %s", n, e.Detail.Args["Reason"].(i18n.Text).ID)
		}
		r.rows = append(r.rows, row)
	}
	return r.err
}

func refusal(address, why string) Event {
	return Event{Kind: SignInRefused, Address: address, Detail: i18n.T(why),
		Changes: []Change{{Field: AskedSize, New: "cpu"}}}
}

func TestTheFirstIsWrittenAndTheRestIsCounted(t *testing.T) {
	ctx := t.Context()
	r := &written{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	fold := NewAggregator(r.now, r.write)
	var group sync.WaitGroup
	for range 300 {
		group.Go(func() { _ = fold.Note(ctx, "192.0.2.1", "a", refusal("192.0.2.1", "a")) })
	}
	group.Wait()
	if err := fold.Note(ctx, "192.0.2.1", "b", refusal("192.0.2.1", "b")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"192.0.2.1 a", "192.0.2.1 b"}, r.rows); diff != "" {
		t.Fatalf("at once (-want +got):\n%s", diff)
	}
	if err := fold.Flush(ctx, false); err != nil || len(r.rows) != 2 {
		t.Errorf("before the minute is over: %v, %v", r.rows, err)
	}
	r.at = r.at.Add(aggregationWindow)
	if err := fold.Flush(ctx, false); err != nil || len(r.rows) != 3 || r.rows[2] != "192.0.2.1 audit.refused_more 299 a" {
		t.Errorf("after a minute: %v, %v", r.rows, err)
	}
	r.at = r.at.Add(aggregationWindow)
	if err := fold.Flush(ctx, false); err != nil || len(r.rows) != 3 || len(fold.open)+len(fold.groups) != 0 {
		t.Errorf("what is quiet is kept: %v, %v, %v", fold.open, fold.groups, err)
	}
}

func TestWhatIsLeftIsWrittenAtTheEnd(t *testing.T) {
	r := &written{at: time.Now()}
	fold := NewAggregator(r.now, r.write)
	for range 3 {
		_ = fold.Note(t.Context(), "p", "a", refusal("p", "a"))
	}
	if err := fold.Flush(t.Context(), true); err != nil || len(r.rows) != 2 || r.rows[1] != "p audit.refused_more 2 a" {
		t.Errorf("%v %v", r.rows, err)
	}
}

// TestMemoryAndRecordAreBounded: of one who is refused in ever new ways, and of many.
func TestMemoryAndRecordAreBounded(t *testing.T) {
	r := &written{at: time.Now()}
	fold := NewAggregator(r.now, r.write)
	for i := range 1000 {
		_ = fold.Note(t.Context(), "one", fmt.Sprint(i), refusal("one", "a"))
	}
	if len(fold.open) != maxKeysPerGroup+1 || len(r.rows) != maxKeysPerGroup+1 {
		t.Errorf("of one: %d keys, %d rows", len(fold.open), len(r.rows))
	}
	for i := range maxKeys + 500 {
		_ = fold.Note(t.Context(), fmt.Sprint("many-", i), "a", refusal("many", "a"))
	}
	if len(fold.open) > maxKeys+1 || len(r.rows) > maxKeys+1 {
		t.Errorf("of many: %d keys, %d rows", len(fold.open), len(r.rows))
	}
	r.err = errors.New("away")
	if err := NewAggregator(r.now, r.write).Note(t.Context(), "x", "a", refusal("x", "a")); err == nil {
		t.Error("want to hear that nothing was written")
	}
}

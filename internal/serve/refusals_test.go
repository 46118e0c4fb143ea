package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// record is what was written, and a clock.
type record struct {
	mu   sync.Mutex
	at   time.Time
	rows []string
	err  error
}

func (r *record) now() time.Time { return r.at }

func (r *record) write(_ context.Context, events ...audit.Event) error {
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

func TestRefusalsFillNoRecord(t *testing.T) {
	ctx := t.Context()
	r := &record{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	refused := newRefusals(r.now, r.write)
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() { _ = refused.note(ctx, "192.0.2.1", i18n.T("a")) })
	}
	group.Wait()
	// the second and third are neighbours
	for _, address := range []string{"192.0.2.2", "2001:db8::1", "2001:db8::ffff", "2001:db8:0:1::1"} {
		if err := refused.note(ctx, address, i18n.T("b")); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"192.0.2.1 a", "192.0.2.2 b", "2001:db8::1 b", "2001:db8:0:1::1 b"}
	if diff := cmp.Diff(want, r.rows); diff != "" {
		t.Fatalf("at once (-want +got):\n%s", diff)
	}
	if err := refused.flush(ctx, false); err != nil || len(r.rows) != 4 {
		t.Errorf("before the minute is over: %v, %v", r.rows, err)
	}
	r.rows = nil
	if err := refused.flush(ctx, true); err != nil || len(r.rows) != 2 { // the order of addresses is anybody's
		t.Errorf("at the end: want what is left of two addresses, got %v, %v", r.rows, err)
	}
	for _, row := range r.rows {
		if row != "192.0.2.1 signin.refused_more 99 a" && row != "2001:db8::ffff signin.refused_more 1 b" {
			t.Errorf("got %q", row)
		}
	}
	r.at = r.at.Add(refusalWindow)
	if err := refused.flush(ctx, false); err != nil || len(refused.open) != 0 {
		t.Errorf("quiet addresses are kept: %v, %v", refused.open, err)
	}
}

func TestRefusalsFromEverywhere(t *testing.T) {
	r := &record{at: time.Now()}
	refused := newRefusals(r.now, r.write)
	for i := range mostAddresses + 500 {
		_ = refused.note(t.Context(), fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), i18n.T("a"))
	}
	if len(refused.open) > mostAddresses+1 || len(r.rows) != mostAddresses+1 {
		t.Errorf("want memory and record bounded, got %d addresses and %d rows", len(refused.open), len(r.rows))
	}
	r.err = errors.New("away")
	if err := newRefusals(r.now, r.write).note(t.Context(), "192.0.2.1", i18n.T("a")); err == nil {
		t.Error("want to hear that nothing was written")
	}
}

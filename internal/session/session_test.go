package session

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// visits keeps what was written, unless it is away.
type visits struct {
	at   []time.Time
	away bool
}

func (v *visits) SaveVisits(_ context.Context, list []workload.Visit) error {
	if v.away {
		return errors.New("away")
	}
	for _, one := range list {
		if one.Workload == "w-1" && one.Person == "p-dana" {
			v.at = append(v.at, one.At)
		}
	}
	return nil
}

// TestWhoHasASessionIsInside: it is written down often enough that they always count as inside, and no more once the
// session may not go on. What could not be written is tried again at the next look.
func TestWhoHasASessionIsInside(t *testing.T) {
	now, reason, v := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Reason(""), &visits{}
	check := Present(func(context.Context) Reason { return reason }, v, "p-dana", "w-1", func() time.Time { return now })
	begin := now
	look := func(n int) {
		for range n {
			if got := check(t.Context()); got != reason {
				t.Fatalf("want the check's own word %q, got %q", reason, got)
			}
			now = now.Add(3 * time.Second)
		}
	}
	look(40)
	last := begin
	for _, at := range v.at {
		if at.Sub(last) >= workload.Inside/2 {
			t.Errorf("nobody was inside from %s to %s", last, at)
		}
		last = at
	}
	if len(v.at) < 4 || len(v.at) > 6 {
		t.Errorf("want one each 20 s of two minutes, got %v", v.at)
	}
	v.away = true
	look(10)
	v.away = false
	before := len(v.at)
	look(1)
	if len(v.at) != before+1 {
		t.Error("want what could not be written tried again")
	}
	reason = NoLonger
	kept := slices.Clone(v.at)
	now = now.Add(time.Hour)
	look(10)
	if !slices.Equal(v.at, kept) {
		t.Errorf("who may not go on is not inside, got %v", v.at[len(kept):])
	}
	if Present(check, nil, "p-dana", "w-1", nil)(t.Context()) != NoLonger {
		t.Error("want the check alone where nobody notes visits")
	}
}

package usage

import (
	"context"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// counting gives a line for each time it was asked.
type counting struct {
	Store
	asked  int
	change int64
}

func (c *counting) LastChange(context.Context) (int64, error) { return c.change, nil }

func (c *counting) Statement(_ context.Context, f Filter) (Statement, error) {
	c.asked++
	return Statement{Lines: []Line{{Use: Use{Workload: "w-1", Tenant: "vision", PerHour: Money{Minor: 100,
		Currency: "EUR"},
		Held: time.Duration(c.asked) * time.Hour}, Devices: 1, Owner: f.Owner}}}, nil
}

func TestEverybodysStatementIsSharedUntilSomethingChanges(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	store := &counting{}
	s := &Service{Store: store, Changes: store, Zone: time.UTC, Now: func() time.Time { return now }}
	admin := identity.Actor{Person: identity.Person{ID: "p-1"}, Global: []identity.Role{identity.Admin}}
	read := func(want int, why string, scope Scope) {
		t.Helper()
		st, err := s.Statement(t.Context(), admin, scope, s.Month())
		if err != nil {
			t.Fatal(err)
		}
		hours := time.Duration(want) * time.Hour
		if got := st.Total().GPU[0].Time; got != hours || st.Grouped("team")[0].GPU[0].Time != hours ||
			st.OfKind(Kind{}).GPU[0].Time != hours {
			t.Errorf("%s: want %d h, got %v", why, want, got)
		}
	}
	read(1, "the first", All)
	read(1, "nothing has changed", All)
	read(2, "one's own is not everybody's", Mine)
	store.change++
	read(3, "something was written", All)
	read(3, "nothing has changed", All)
	now = now.Add(statementsLast)
	read(4, "what runs costs more", All)
	now = now.Add(-time.Minute)
	read(5, "the clock was set back", All)
}

package drift_test

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/drift"
)

func TestBehind(t *testing.T) {
	at := drift.Position{Database: "a", Epoch: 3, Audit: 10, Link: "x", Outbox: 20}
	change := func(fn func(*drift.Position)) drift.Position { p := at; fn(&p); return p }
	cases := map[string]struct {
		database drift.Position
		link     string // of the database's event 10
		want     drift.Cause
	}{
		"the same": {at, "x", ""},
		"the database went on": {
			drift.Position{Database: "a", Epoch: 4, Audit: 12, Link: "z", Outbox: 25},
			"x",
			"",
		},
		"an older audit record":         {change(func(p *drift.Position) { p.Audit = 9 }), "", drift.Older},
		"an older outbox":               {change(func(p *drift.Position) { p.Outbox = 19 }), "x", drift.Older},
		"an older epoch":                {change(func(p *drift.Position) { p.Epoch = 2 }), "x", drift.Older},
		"as long, with another history": {change(func(p *drift.Position) { p.Link = "y" }), "y", drift.Diverged},
		"longer, with another history": {
			change(func(p *drift.Position) { p.Audit, p.Outbox = 90, 90 }),
			"y",
			drift.Diverged,
		},
		"another database, much longer": {
			drift.Position{Database: "b", Epoch: 9, Audit: 99, Outbox: 99},
			"x",
			drift.Other,
		},
		"a database in which nothing was": {drift.Position{Database: "a", Epoch: 9}, "", drift.Older},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := drift.Divergence(c.database, drift.Checkpoint{Position: at}, c.link); got != c.want {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}

func TestMarkAsAnnotation(t *testing.T) {
	m := drift.Checkpoint{Position: drift.Position{Database: "a", Epoch: 3, Audit: 10, Link: "x", Outbox: 20},
		At: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)}
	if got, err := drift.ParseCheckpoint(m.String()); err != nil || got != m {
		t.Errorf("want %+v, got %+v, %v", m, got, err)
	}
	for _, text := range []string{"", "{}", "x", `{"database":"a","audit":-1}`, `[1]`} {
		if got, err := drift.ParseCheckpoint(text); err == nil {
			t.Errorf("%q: want it refused, got %+v", text, got)
		}
	}
}

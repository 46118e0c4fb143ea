package storetest

import (
	"context"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func unknown(key, version string) drift.Difference {
	return drift.Difference{ID: "d-" + key, Cluster: "west", ResourceKind: drift.Workload, Key: key,
		Kind: drift.ClusterOnly,
		Live: &drift.ClusterState{ResourceKind: drift.Workload, Key: key, Name: "nb-ä", Since: later(1),
			Objects: []drift.Object{}},
		Version: version, FoundAt: later(2)}
}

var driftCases = cases{
	"a position moves with what is committed, and its link names the history": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		first := got(s.Position(ctx))(t)
		if first.Database == "" || first.Audit != 0 || first.Link != "" {
			t.Fatalf("an empty database is at %+v", first)
		}
		must(t, s.Append(ctx, Event(1)))
		must(t, s.Append(ctx, Event(2)))
		second := got(s.Position(ctx))(t)
		if second.Database != first.Database || second.Audit != 2 || !second.Covers(first) || first.Covers(second) {
			t.Errorf("after two events: %+v, before: %+v", second, first)
		}
		equal(t, second.Link, got(s.Link(ctx, 2))(t))
		equal(t, "", got(s.Link(ctx, 3))(t))
		must(t, s.Migrate(ctx))
		equal(t, second, got(s.Position(ctx))(t))
		release, ok, _ := s.Lead(ctx)
		if !ok {
			t.Fatal("want the lead")
		}
		defer release()
		equal(t, second.Epoch+1, got(s.Position(ctx))(t).Epoch)
	},
	"a hold is one, and ends once": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		h := drift.Hold{Cluster: "west", Since: later(1), Cause: drift.Older,
			Checkpoint: drift.Checkpoint{
				Position: drift.Position{Database: "x", Audit: 9},
				At:       later(0),
			}, Database: drift.Position{Audit: 3}}
		must(t, s.SaveHold(ctx, h, Event(1)))
		again := h
		again.Cause = drift.Diverged
		must(t, s.SaveHold(ctx, again, Event(2)))
		equal(t, []drift.Hold{h}, got(s.Holds(ctx))(t))
		must(t, s.EndHold(ctx, "east", Event(3)))
		must(t, s.EndHold(ctx, "west", Event(4)))
		must(t, s.EndHold(ctx, "west", Event(5)))
		equal(t, 0, len(got(s.Holds(ctx))(t)))
		equal(t, 2, len(got(events(s))(t)))
	},
	"what is seen replaces what was, and a decision stays": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		a, b := unknown("a", "1"), unknown("b", "1")
		must(t, s.SaveDifferences(ctx, "west", []drift.Difference{a, b}))
		equal(t, []drift.Difference{a, b}, got(s.Differences(ctx))(t))
		last := got(s.LastChange(ctx))(t)
		must(t, s.SaveDifferences(ctx, "west", []drift.Difference{a, b}))
		must(t, s.SaveDifferences(ctx, "east", nil))
		equal(t, last, got(s.LastChange(ctx))(t))
		decideAs := func(d drift.Difference, decision drift.Decision) drift.Difference {
			d.Decision, d.By, d.ByName, d.DecidedAt = decision, "p-ada", "Ada", later(3)
			must(t, s.DecideDifferences(ctx, func(tx drift.Tx) error { return tx.SaveDecision(ctx, d) }))
			return d
		}
		a, b = decideAs(a, drift.Release), decideAs(b, drift.Adopt)
		newer := func(d drift.Difference) drift.Difference { return unknown(d.Key, "2") }
		must(t, s.SaveDifferences(ctx, "west", []drift.Difference{newer(a), newer(b)}))
		a.Version = "2"
		b = unknown("b", "2")
		equal(t, []drift.Difference{a, b}, got(s.Differences(ctx))(t))
		must(t, s.SaveDifferences(ctx, "west", []drift.Difference{b}))
		equal(t, []drift.Difference{b}, got(s.Differences(ctx))(t))
	},
	"nothing is granted in a cluster that is held, but an administrator's decision is written": func(t *testing.T,
		s *store.Store) {
		ctx := context.Background()
		w := Workload("w-1")
		w.Cluster = "west"
		save := func(w workload.Workload) error {
			return s.ChangeExclusively(ctx, func(tx workload.Tx) error { return tx.SaveWorkload(ctx, w) })
		}
		must(t, save(w))
		must(t, s.SaveHold(ctx, drift.Hold{Cluster: "west", Since: later(1), Cause: drift.Older}))
		w = got(s.Workload(ctx, w.ID))(t)
		if err := save(w); !fault.Is(err, fault.Unavailable) {
			t.Errorf("want a spec refused as unavailable, got %v", err)
		}
		other := Workload("w-2")
		other.Cluster = "east"
		must(t, save(other))
		must(t, s.DecideDifferences(ctx, func(tx drift.Tx) error {
			return tx.SaveWorkload(ctx, w)
		}))
		must(t, s.EndHold(ctx, "west", Event(5)))
		must(t, save(got(s.Workload(ctx, w.ID))(t)))
	},
}

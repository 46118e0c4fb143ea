package storetest

import (
	"context"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/store"
)

func quarantined(kind health.Kind, name string) health.Quarantine {
	return health.Quarantine{Target: health.Target{Cluster: "west", Kind: kind, Name: name}, Node: "node-1",
		Note: "XID 79 — fällt vom Bus", By: "p-ada", ByName: "Ada Lovelace", At: later(3)}
}

var markCases = cases{
	"a quarantine stays until it ends, and its place has one": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		node, card := quarantined(health.Node, "node-1"), quarantined(health.Card, "GPU-1")
		filled(t, node)
		must(t, s.SaveQuarantine(ctx, card, Event(1)))
		must(t, s.SaveQuarantine(ctx, node, Event(2), Event(3)))
		equal(t, []health.Quarantine{node, card}, got(s.Quarantines(ctx))(t))
		again := card
		again.ByName, again.At = "Somebody else", later(9)
		must(t, s.SaveQuarantine(ctx, again, Event(4))) // the same note: nothing happens
		equal(t, []health.Quarantine{node, card}, got(s.Quarantines(ctx))(t))
		again.Note, again.Node = "another", "node-2"
		must(t, s.SaveQuarantine(ctx, again, Event(4)))
		equal(t, []health.Quarantine{node, again}, got(s.Quarantines(ctx))(t))
		equal(t, 4, len(got(events(s))(t)))
		must(t, s.DeleteQuarantine(ctx, node.Target, Event(5)))
		must(t, s.DeleteQuarantine(ctx, node.Target, Event(6)))
		must(t, s.DeleteQuarantine(ctx, health.Target{Cluster: "west", Kind: health.Card, Name: "GPU-\x00"}))
		equal(t, []health.Quarantine{again}, got(s.Quarantines(ctx))(t))
		equal(t, 5, len(got(events(s))(t)))
		equal(t, live.Change{Seq: 4, Topic: live.TopicQuarantine, ID: "node-1"}, got(s.ChangesAfter(ctx, 3, 10))(t)[0])
	},
	"a quarantine that is no text is not kept": func(t *testing.T, s *store.Store) {
		bad := quarantined(health.Node, "node-1")
		bad.Note = "a\x00b"
		if err := s.SaveQuarantine(context.Background(), bad, Event(1)); err == nil {
			t.Error("want it refused")
		}
		equal(t, 0, len(got(events(s))(t)))
	},
}

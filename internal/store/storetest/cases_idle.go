package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func idleRecord(id string) idle.Record {
	return idle.Record{Workload: workload.ID(id), Generation: 3, Below: 5, Since: later(1), High: 1.25, WarnedAt: later(2),
		StopsAt: later(3), KeepAliveUntil: later(4), KeepAliveBy: "Ada Lovelace",
		PodBelow: idle.PodUse{CPU: 0.05, Network: 10000}, PodHigh: idle.PodUse{CPU: 0.013, Network: 321},
		MemoryHigh: idle.MemoryChange{MiB: 3, Known: true}}
}

func idleSettings(version int64) idle.Revision {
	of := idle.Setting{Action: idle.Stop, After: catalog.Duration(4 * time.Hour), Below: 5, CPU: 0.05, Network: 10000,
		KeepAlive: catalog.Duration(8 * time.Hour)}
	return idle.Revision{Version: version, Settings: idle.Settings{All: &of, Sizes: map[string]idle.Setting{"h100": of},
		Teams: map[string]idle.Setting{"vision": {Action: idle.Off}}},
		Author: "p-ada", AuthorName: "Ada Lovelace", At: later(5)}
}

var idleCases = cases{
	"idle settings follow one another": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		equal(t, idle.Revision{}, got(s.IdleSettings(ctx))(t))
		r := idleSettings(1)
		filled(t, r)
		must(t, s.SaveIdleSettings(ctx, r, Event(1)))
		equal(t, r, got(s.IdleSettings(ctx))(t))
		if err := s.SaveIdleSettings(ctx, idleSettings(1), Event(2)); !fault.Is(err, fault.Conflict) {
			t.Errorf("the second of two that follow the same one: want a conflict, got %v", err)
		}
		must(t, s.SaveIdleSettings(ctx, idleSettings(2)))
	},
	"an idle record is kept whole, and replaced": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		saveWorkload(t, s, Workload("w-1"))
		saveWorkload(t, s, Workload("w-2"))
		m := idleRecord("w-1")
		must(t, s.ChangeIdle(ctx, func(tx idle.Tx) error {
			if err := tx.SaveIdleObserved(ctx, "west", later(9)); err != nil {
				return err
			}
			if err := tx.SaveIdleRecord(ctx, idle.Record{Workload: "w-2"}); err != nil {
				return err
			}
			return tx.SaveIdleRecord(ctx, m, Event(1))
		}))
		equal(t, map[workload.ID]idle.Record{"w-1": m, "w-2": {Workload: "w-2"}}, got(s.IdleRecords(ctx))(t))
		equal(t, map[workload.ID]idle.Record{"w-1": m}, got(s.IdleRecords(ctx, "w-1", "w-none"))(t))
		equal(t, map[string]time.Time{"west": later(9)}, got(s.IdleObserved(ctx))(t))
		m.Since, m.KeepAliveBy = time.Time{}, ""
		must(t, s.ChangeIdle(ctx, func(tx idle.Tx) error {
			if err := tx.SaveIdleObserved(ctx, "west", later(10)); err != nil {
				return err
			}
			if err := tx.DeleteIdleRecords(ctx, "w-2", "w-none"); err != nil {
				return err
			}
			return tx.SaveIdleRecord(ctx, m)
		}))
		equal(t, map[workload.ID]idle.Record{"w-1": m}, got(s.IdleRecords(ctx))(t))
		equal(t, map[string]time.Time{"west": later(10)}, got(s.IdleObserved(ctx))(t))
	},
	"a record of a workload that there is none of is refused": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		err := s.ChangeIdle(ctx, func(tx idle.Tx) error { return tx.SaveIdleRecord(ctx, idleRecord("w-none"), Event(1)) })
		if err == nil || fault.As(err).Kind == fault.Internal {
			t.Errorf("want a fault that somebody can understand, got %v", err)
		}
	},
}

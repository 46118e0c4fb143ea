package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/advice"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func dismissal(id string) advice.Dismissal {
	return advice.Dismissal{Workload: workload.ID(id), Kind: advice.Smaller, Size: "mig-10gb", Author: "p-ada",
		Name: "Ada Lovelace", At: later(9)}
}

var adviceCases = cases{
	"advice that was put away stays so until it is shown again": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		saveWorkload(t, s, Workload("w-1"))
		d := dismissal("w-1")
		filled(t, d)
		must(t, s.SaveDismissal(ctx, d, Event(1)))
		equal(t, map[workload.ID]advice.Dismissal{"w-1": d}, got(s.Dismissals(ctx))(t))
		d.Kind, d.Size, d.Name = advice.Larger, "", "Somebody else"
		must(t, s.SaveDismissal(ctx, d))
		equal(t, map[workload.ID]advice.Dismissal{"w-1": d}, got(s.Dismissals(ctx))(t))
		must(t, s.DeleteDismissal(ctx, "w-1", Event(2)))
		must(t, s.DeleteDismissal(ctx, "w-1", Event(3)))
		must(t, s.DeleteDismissal(ctx, "w-\x00"))
		equal(t, map[workload.ID]advice.Dismissal{}, got(s.Dismissals(ctx))(t))
	},
	"advice for a workload that there is none of is not put away": func(t *testing.T, s *store.Store) {
		if err := s.SaveDismissal(context.Background(), dismissal("w-none"), Event(1)); err == nil ||
			fault.As(err).Kind == fault.Internal {
			t.Errorf("want a fault that somebody can understand, got %v", err)
		}
	},
	"names that ended are known with the last time": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for i, id := range []string{"w-1", "w-2", "w-3"} {
			w := Workload(id)
			w.Name, w.Volume, w.State, w.Desired, w.UpdatedAt = "same", "", workload.Ended, workload.WantDeleted, later(10*i)
			saveWorkload(t, s, w)
		}
		living := Workload("w-4")
		living.UpdatedAt = later(50)
		saveWorkload(t, s, living)
		equal(t, map[advice.Name]time.Time{{Cluster: "west", Namespace: "gpu-vision", Name: "same"}: later(20)},
			got(s.NamesEnded(ctx, later(10)))(t))
		equal(t, map[advice.Name]time.Time{}, got(s.NamesEnded(ctx, later(21)))(t))
	},
}

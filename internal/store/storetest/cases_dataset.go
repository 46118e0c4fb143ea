package storetest

import (
	"context"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func datasetOf(team, name string) workload.Dataset {
	return workload.Dataset{Team: team, Name: name, Title: "ImageNet 2012", Note: "For research alone.",
		Source: workload.DatasetSource{Volume: "data", Claim: "archive", Cluster: "west", SubPath: "images/2012"},
		By:     "p-ada", ByName: "Ada Lovelace", CreatedAt: later(0), UpdatedAt: later(1)}
}

var datasetCases = cases{
	"a data set is kept whole, changed by its version, and of one team alone": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		change := func(fn func(workload.Tx) error) error { return s.ChangeExclusively(ctx, fn) }
		save := func(d workload.Dataset) error {
			return change(func(tx workload.Tx) error { return tx.SaveDataset(ctx, d) })
		}
		one, other := datasetOf("vision", "imagenet"), datasetOf("speech", "imagenet")
		must(t, save(one))
		must(t, save(other))
		must(t, save(datasetOf("vision", "coco")))
		fails(t, fault.Conflict, save(one))
		one.Version, other.Version = 1, 1
		filled(t, one)
		equal(t, one, got(s.Dataset(ctx, "vision", "imagenet"))(t))
		names := func(teams []string) string {
			var list []string
			for _, d := range got(s.Datasets(ctx, teams))(t) {
				list = append(list, d.Team+"/"+d.Name)
			}
			return strings.Join(list, " ")
		}
		equal(t, "speech/imagenet vision/coco vision/imagenet", names(nil))
		equal(t, "vision/coco vision/imagenet", names([]string{"vision", "none"}))
		equal(t, "", names([]string{}))

		one.Title = "ImageNet"
		must(t, save(one))
		fails(t, fault.Conflict, save(one)) // another was faster
		equal(t, "ImageNet", got(s.Dataset(ctx, "vision", "imagenet"))(t).Title)
		equal(t, other, got(s.Dataset(ctx, "speech", "imagenet"))(t))
		remove := func() error { return change(func(tx workload.Tx) error { return tx.DeleteDataset(ctx, one) }) }
		fails(t, fault.Conflict, remove())
		one.Version = 2
		must(t, remove())
		_, err := s.Dataset(ctx, "vision", "imagenet")
		fails(t, fault.NotFound, err)
		equal(t, other, got(s.Dataset(ctx, "speech", "imagenet"))(t))
		changes := got(s.ChangesAfter(ctx, 0, 10))(t)
		equal(t, live.Change{Seq: changes[len(changes)-1].Seq, Topic: live.TopicTenant, ID: "vision", Tenant: "vision"},
			changes[len(changes)-1])
	},
	"who has a data set is told by its name in the team, until they have ended": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for id, change := range map[string]func(*workload.Workload){
			"w-1": func(*workload.Workload) {},
			"w-2": func(w *workload.Workload) { w.State, w.Desired = workload.Stopped, workload.WantStopped },
			"w-3": func(w *workload.Workload) { w.State = workload.Ended },
			"w-4": func(w *workload.Workload) { w.Mounts[0].Dataset = "coco" },
			"w-5": func(w *workload.Workload) { w.Mounts[0].Dataset = "" },
			"w-6": func(w *workload.Workload) { w.Tenant = "speech" },
		} {
			w := Workload(id)
			w.Mounts = []workload.Mount{datasetOf("vision", "imagenet").Mounted(workload.Volume{})}
			change(&w)
			must(t, decide(s, func(tx request.Tx) error { return tx.SaveWorkload(ctx, w) }))
		}
		equal(t, "w-1 w-2", idsOf(got(s.WithDataset(ctx, "vision", "imagenet"))(t), workloadID))
	},
}

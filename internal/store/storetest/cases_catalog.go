package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Revision is one with every field set.
func Revision(version int64) offer.Revision {
	return offer.Revision{Version: version, Text: "sizes: # größer\n- name: cpu\n", Author: "p-ada",
		AuthorName: "Ada Lovelace",
		Note:       i18n.T("offer.note.hide", "Title", "CPU"), At: later(int(version))}
}

var catalogCases = cases{
	"revisions come back as they were written, the highest counts, lists are without texts": func(t *testing.T,
		s *store.Store) {
		ctx := context.Background()
		_, err := s.LatestCatalog(ctx)
		fails(t, fault.NotFound, err)
		filled(t, Revision(1))
		for version := range int64(3) {
			must(t, s.SaveCatalog(ctx, Revision(version+1)))
		}
		equal(t, Revision(3), got(s.LatestCatalog(ctx))(t))
		equal(t, Revision(2), got(s.Catalog(ctx, 2))(t))
		_, err = s.Catalog(ctx, 4)
		fails(t, fault.NotFound, err)
		bare := func(version int64) offer.Revision { r := Revision(version); r.Text = ""; return r }
		equal(t, []offer.Revision{bare(3), bare(2)}, got(s.Catalogs(ctx, 0, 2))(t))
		equal(t, []offer.Revision{bare(1)}, got(s.Catalogs(ctx, 2, 2))(t))
	},
	"a revision comes with its event and a change, or not at all": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		must(t, s.SaveCatalog(ctx, Revision(1), Event(1)))
		equal(t, []live.Change{{Seq: 1, Topic: live.TopicCatalog, ID: "1"}}, got(s.ChangesAfter(ctx, 0, 10))(t))
		fails(t, fault.Invalid, s.SaveCatalog(ctx, Revision(2), audit.Event{ActorName: "\x00"}))
		fails(t, fault.Invalid, s.SaveCatalog(ctx, offer.Revision{Version: 2, Text: "\x00", At: later(1)}))
		equal(t, int64(1), got(s.LatestCatalog(ctx))(t).Version)
	},
	"of those who follow the same revision one wins, and none is skipped": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		fails(t, fault.Conflict, s.SaveCatalog(ctx, Revision(2)))
		must(t, s.SaveCatalog(ctx, Revision(1)))
		errs := make([]error, 8)
		var group sync.WaitGroup
		for i := range errs {
			group.Go(func() { errs[i] = s.SaveCatalog(ctx, Revision(2), Event(i)) })
		}
		group.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
				continue
			}
			fails(t, fault.Conflict, err)
		}
		equal(t, 1, won)
		items, _, err := s.Events(ctx, audit.Filter{})
		must(t, err)
		equal(t, 1, len(items))
	},
	"what living workloads hold is counted by what they froze": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for i, size := range []string{"a", "a", "b", "b"} {
			w := Workload(fmt.Sprint("w-", i))
			w.Size = Size(size)
			if i == 3 {
				w.State = workload.Ended
			}
			saveWorkload(t, s, w)
		}
		uses := got(s.UseOfCatalog(ctx))(t)
		slices.SortFunc(uses, func(a, b offer.Use) int { return b.Count - a.Count })
		image := Workload("w").Image
		equal(t, []offer.Use{{Size: Size("a"), Image: image, Count: 2}, {Size: Size("b"), Image: image, Count: 1}}, uses)
		w := Workload("w-0")
		w.Version, w.State, w.Size = 1, workload.Ended, Size("a")
		saveWorkload(t, s, w)
		for _, u := range got(s.UseOfCatalog(ctx))(t) {
			equal(t, 1, u.Count)
		}
	},
}

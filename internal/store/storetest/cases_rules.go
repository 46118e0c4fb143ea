package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// RulesRevision is one with every field set.
func RulesRevision(version int64) policy.Revision {
	return policy.Revision{Version: version, Text: "- name: größer\n", Author: "p-ada", AuthorName: "Ada Lovelace",
		Note: i18n.T("policy.reverted", "Version", "1"), At: later(int(version))}
}

var rulesCases = cases{
	"rules come back as they were written, the highest counts, lists are without texts": func(t *testing.T,
		s *store.Store) {
		ctx := context.Background()
		_, err := s.LatestRules(ctx)
		fails(t, fault.NotFound, err)
		filled(t, RulesRevision(1))
		for version := range int64(3) {
			must(t, s.SaveRules(ctx, RulesRevision(version+1)))
		}
		equal(t, RulesRevision(3), got(s.LatestRules(ctx))(t))
		equal(t, RulesRevision(2), got(s.RulesAt(ctx, 2))(t))
		_, err = s.RulesAt(ctx, 4)
		fails(t, fault.NotFound, err)
		bare := func(version int64) policy.Revision { r := RulesRevision(version); r.Text = ""; return r }
		equal(t, []policy.Revision{bare(3), bare(2)}, got(s.RulesRevisions(ctx, 0, 2))(t))
		equal(t, []policy.Revision{bare(1)}, got(s.RulesRevisions(ctx, 2, 2))(t))
	},
	"rules come with their event and a change, or not at all": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		must(t, s.SaveRules(ctx, RulesRevision(1), Event(1)))
		equal(t, []live.Change{{Seq: 1, Topic: live.TopicRules, ID: "1"}}, got(s.ChangesAfter(ctx, 0, 10))(t))
		fails(t, fault.Invalid, s.SaveRules(ctx, RulesRevision(2), audit.Event{ActorName: "\x00"}))
		equal(t, int64(1), got(s.LatestRules(ctx))(t).Version)
	},
	"of those who follow the same rules one wins": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		fails(t, fault.Conflict, s.SaveRules(ctx, RulesRevision(2)))
		must(t, s.SaveRules(ctx, RulesRevision(1)))
		errs := make([]error, 8)
		var group sync.WaitGroup
		for i := range errs {
			group.Go(func() { errs[i] = s.SaveRules(ctx, RulesRevision(2), Event(i)) })
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
	},
	"requests are found by time, by size, and by whether their workload holds something": func(t *testing.T,
		s *store.Store) {
		for i, size := range []string{"a", "b", "a"} {
			r, w := Request(fmt.Sprintf("r-%d", i)), Workload(fmt.Sprintf("w-%d", i))
			r.Spec.Size.Name, r.CreatedAt, w.Request = size, later(i), string(r.ID)
			if i == 1 {
				w.Desired, w.State = workload.WantStopped, workload.Stopped
			}
			saveRequest(t, s, r)
			saveWorkload(t, s, w)
		}
		for want, f := range map[string]request.Filter{"r-2 r-1": {Since: later(1)}, "r-2 r-0": {Size: "a"},
			"r-2 r-0 ": {Holding: true}, "r-2": {Holding: true, Since: later(1)}} {
			items, _, err := s.Requests(context.Background(), f)
			must(t, err)
			if want == "r-2 r-0 " {
				want = "r-2 r-0"
			}
			equal(t, want, idsOf(items, func(r request.Request) string { return string(r.ID) }))
		}
	},
}

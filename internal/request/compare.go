package request

import (
	"context"
	"reflect"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
)

// Comparison is what other rules would have said to what was asked in the last days, and to what runs. Requests that
// were refused at once are in it where a rule refused them; where quota, seats or budget did, no rule helps.
type Comparison struct {
	Seen    int  // requests of the last days
	Unknown int  // of them, those from before facts were kept: nobody can tell
	Capped  bool // there were more than are looked at
	Differ  []Difference
	Running int // workloads that hold something now
	// of them, those whose request would now be refused or need more. They go on: rules decide requests, not what runs
	Hit []Difference
}

// Difference is one request that would have been decided differently. Was is what the rules said then.
type Difference struct {
	Request  Request
	Was, Now policy.Verdict
}

// mostCompared bounds how many requests are looked at.
const mostCompared = 20_000

// Compare tries rules on the requests of the last 30 days, with the facts as they were, and on the requests of
// everything that holds a GPU now. It writes nothing.
func (s *Service) Compare(ctx context.Context, a identity.Actor, p *policy.Policy) (Comparison, error) {
	var c Comparison
	if err := identity.Known(a); err != nil {
		return c, err
	}
	if !identity.Can(a, identity.ChangeRules, identity.Resource{}) {
		return c, fault.New(fault.NotFound, i18n.T("problem.no_page"))
	}
	capped, err := s.each(ctx, Filter{Since: s.Now().Add(-HistoryDays * 24 * time.Hour)}, func(r Request) {
		if r.Kind == QuotaKind || r.Kind == ResumeKind { // rules say nothing of those unless they are asked for
			return
		}
		c.Seen++
		if d, differs, known := differ(r, p); !known {
			c.Unknown++
		} else if differs {
			c.Differ = append(c.Differ, d)
		}
	})
	if err != nil {
		return c, err
	}
	cappedToo, err := s.eachRefusal(ctx, func(r Request) {
		if r.Decision.Rule == "" {
			return
		}
		c.Seen++
		if d, differs, known := differ(r, p); known && differs {
			c.Differ = append(c.Differ, d)
		}
	})
	if err != nil {
		return c, err
	}
	c.Capped = capped || cappedToo
	_, err = s.each(ctx, Filter{Holding: true}, func(r Request) {
		c.Running++
		if d, differs, known := differ(r, p); known && differs && stricter(d) {
			c.Hit = append(c.Hit, d)
		}
	})
	return c, err
}

// each reads a list to its end, or to as many as are looked at.
func (s *Service) each(ctx context.Context, f Filter, do func(Request)) (capped bool, err error) {
	f.Limit = comparedAtOnce
	return pages(do, func(cursor string) ([]Request, string, error) {
		f.Cursor = cursor
		return s.Store.Requests(ctx, f)
	})
}

// eachRefusal does the same with what was refused at once in the last days.
func (s *Service) eachRefusal(ctx context.Context, do func(Request)) (capped bool, err error) {
	since := s.Now().Add(-HistoryDays * 24 * time.Hour)
	return pages(do, func(cursor string) ([]Request, string, error) {
		return s.Store.Refusals(ctx, since, cursor, comparedAtOnce)
	})
}

const comparedAtOnce = 500

func pages(do func(Request), read func(cursor string) ([]Request, string, error)) (capped bool, err error) {
	cursor := ""
	for n := 0; n < mostCompared; n += comparedAtOnce {
		items, next, err := read(cursor)
		if err != nil {
			return false, err
		}
		for _, r := range items {
			do(r)
		}
		if cursor = next; next == "" {
			return false, nil
		}
	}
	return true, nil
}

// differ puts a request to other rules; known is false where its facts were not kept.
func differ(r Request, p *policy.Policy) (d Difference, differs, known bool) {
	if r.Decision.Facts == nil {
		return d, false, false
	}
	d = Difference{Request: r, Was: policy.Verdict{Outcome: policy.Allow, Rule: r.Decision.Rule},
		Now: p.Decide(*r.Decision.Facts)}
	if r.State == "" { // refused at once
		d.Was.Outcome = policy.Refuse
	} else if steps := r.Steps(); len(steps) > 0 {
		d.Was.Outcome, d.Was.Steps = policy.Approve, steps
	}
	same := d.Was.Outcome == d.Now.Outcome && (len(d.Was.Steps) == 0 || reflect.DeepEqual(d.Was.Steps, d.Now.Steps))
	return d, !same, true
}

// stricter reports whether the other rules ask for more: a refusal for anything, an approval for what started at once,
// more steps than before.
func stricter(d Difference) bool {
	rank := map[policy.Outcome]int{policy.Allow: 0, policy.Approve: 1, policy.Refuse: 2}
	was, now := rank[d.Was.Outcome], rank[d.Now.Outcome]
	return now > was || now == was && len(d.Now.Steps) > len(d.Was.Steps)
}

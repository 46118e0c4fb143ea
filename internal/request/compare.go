package request

import (
	"context"
	"reflect"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Comparisons tries rules and quotas on what was asked in the last days, with the facts as they were, and on what runs.
// It writes nothing.
type Comparisons struct {
	*core
	store comparisonStore
}

type comparisonStore interface {
	// Holdings counts what a tenant holds.
	Holdings(ctx context.Context, tenant string) ([]workload.Holding, error)
	Requests(ctx context.Context, f Filter) ([]Request, string, error)
	// Refusals lists what was refused when it was sent since a time, newest first; cursor is what the last page gave as
	// next.
	Refusals(ctx context.Context, since time.Time, cursor string, limit int) ([]Refused, string, error)
}

// Compared is a request, or a Refused, that other rules or quotas are tried on.
type Compared struct {
	Request   ID // "" for what was refused: it became no request
	Kind      Kind
	AskerName string
	Spec      Spec
	AskedAt   time.Time
}

func (r Request) compared() Compared { return Compared{r.ID, r.Kind, r.AskerName, r.Spec, r.CreatedAt} }

func (r Refused) compared() Compared { return Compared{"", r.Kind, r.AskerName, r.Spec, r.At} }

// Comparison is what other rules would have said to what was asked in the last days, and to what runs. What was refused
// when it was sent is in it where a rule refused it; where quota, seats or budget did, no rule helps.
type Comparison struct {
	Seen    int  // starts and extensions of the last days
	Capped  bool // there were more than are looked at
	Differ  []Difference
	Running int // workloads that hold something now
	// Stricter are those of them that would now be refused or need another approval. They go on: rules decide requests,
	// not what runs.
	Stricter []Difference
}

// Difference is one request that other rules would decide differently. Was is the decision then.
type Difference struct {
	Compared
	Was, Now policy.Verdict
}

// mostCompared bounds how many requests are looked at.
const mostCompared = 20_000

// Rules tries rules on the requests of the last 30 days, and on those of everything that holds a GPU now.
func (s *Comparisons) Rules(ctx context.Context, a identity.Actor, p *policy.Policy) (Comparison, error) {
	var c Comparison
	if err := identity.Known(a); err != nil {
		return c, err
	}
	if !identity.Can(a, identity.ChangeRules, identity.Resource{}) {
		return c, fault.New(fault.NotFound, i18n.T("problem.no_page"))
	}
	differ := func(d Difference, differs bool) {
		c.Seen++
		if differs {
			c.Differ = append(c.Differ, d)
		}
	}
	capped, err := s.each(ctx, Filter{Since: s.since()}, func(r Request) {
		if r.Decision.Facts != nil { // rules are not asked about resumes, nor about quotas unless they speak of them
			differ(r.under(p))
		}
	})
	if err != nil {
		return c, err
	}
	cappedToo, err := s.eachRefusal(ctx, func(r Refused) {
		if r.Rule != "" {
			differ(r.under(p))
		}
	})
	if err != nil {
		return c, err
	}
	c.Capped = capped || cappedToo
	_, err = s.each(ctx, Filter{Holding: true}, func(r Request) {
		c.Running++
		if r.Decision.Facts == nil {
			return
		}
		if d, differs := r.under(p); differs && stricter(d) {
			c.Stricter = append(c.Stricter, d)
		}
	})
	return c, err
}

func (s *Comparisons) since() time.Time { return s.now().Add(-HistoryDays * 24 * time.Hour) }

// each reads a list to its end, or to as many as are looked at.
func (s *Comparisons) each(ctx context.Context, f Filter, do func(Request)) (capped bool, err error) {
	f.Limit = comparedAtOnce
	return pages(do, func(cursor string) ([]Request, string, error) {
		f.Cursor = cursor
		return s.store.Requests(ctx, f)
	})
}

// eachRefusal does the same with what was refused when it was sent in the last days.
func (s *Comparisons) eachRefusal(ctx context.Context, do func(Refused)) (capped bool, err error) {
	since := s.since()
	return pages(do, func(cursor string) ([]Refused, string, error) {
		return s.store.Refusals(ctx, since, cursor, comparedAtOnce)
	})
}

const comparedAtOnce = 500

func pages[Item any](do func(Item), read func(cursor string) ([]Item, string, error)) (capped bool, err error) {
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

// under puts a request that rules decided to other rules.
func (r Request) under(p *policy.Policy) (d Difference, differs bool) {
	was := policy.Verdict{Outcome: policy.Allow, Rule: r.Decision.Rule}
	if steps := r.Steps(); len(steps) > 0 {
		was.Outcome, was.Steps = policy.Approve, steps
	}
	return difference(r.compared(), was, p.Decide(*r.Decision.Facts))
}

// under puts what a rule refused to other rules.
func (r Refused) under(p *policy.Policy) (d Difference, differs bool) {
	return difference(r.compared(), policy.Verdict{Outcome: policy.Refuse, Rule: r.Rule}, p.Decide(r.Facts))
}

func difference(c Compared, was, now policy.Verdict) (d Difference, differs bool) {
	same := was.Outcome == now.Outcome && (len(was.Steps) == 0 || reflect.DeepEqual(was.Steps, now.Steps))
	return Difference{Compared: c, Was: was, Now: now}, !same
}

// stricter reports whether the other rules ask for more: a refusal for anything, an approval for what started at once,
// more steps than before.
func stricter(d Difference) bool {
	rank := map[policy.Outcome]int{policy.Allow: 0, policy.Approve: 1, policy.Refuse: 2}
	was, now := rank[d.Was.Outcome], rank[d.Now.Outcome]
	return now > was || now == was && len(d.Now.Steps) > len(d.Was.Steps)
}

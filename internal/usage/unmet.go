package usage

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// UnmetReason is why a request was not fulfilled.
type UnmetReason string

// The reasons.
const (
	UnmetQuota     UnmetReason = "quota"     // the team's quota is full
	UnmetNone      UnmetReason = "none"      // the team may not hold the size, or no cluster has it
	UnmetSeats     UnmetReason = "seats"     // no license seat is left
	UnmetBudget    UnmetReason = "budget"    // the team's budget does not reach
	UnmetRule      UnmetReason = "rule"      // a rule refuses it
	UnmetWithdrawn UnmetReason = "withdrawn" // its asker took it back while it waited
	UnmetExpired   UnmetReason = "expired"   // nobody decided in time
)

// UnmetReasons lists every reason in the order of tables.
func UnmetReasons() []UnmetReason {
	return []UnmetReason{UnmetQuota, UnmetNone, UnmetSeats, UnmetBudget, UnmetRule, UnmetWithdrawn, UnmetExpired}
}

// refusalReasons are the sentences of refusals that are for want of something. What was typed wrong is no unmet demand;
// every other sentence is a rule's own.
var refusalReasons = map[string]UnmetReason{
	"request.quota_full": UnmetQuota, "request.size_not_allowed": UnmetNone, "request.size_nowhere": UnmetNone,
	"request.no_seat": UnmetSeats,
	"budget.over":     UnmetBudget, "policy.refuse": UnmetRule,
}

// UnmetReasonOf says which want a refusal is for; false for a mistake in a form.
func UnmetReasonOf(sentence i18n.Text) (UnmetReason, bool) {
	reason, ok := refusalReasons[sentence.ID]
	if !ok && sentence.ID == i18n.Literal("own words").ID {
		return UnmetRule, true
	}
	return reason, ok
}

// UnmetRequest is a request that was refused, withdrawn or expired.
type UnmetRequest struct {
	At     time.Time
	Person string // id
	Tenant string // for which it was asked; "" where the asker was no member of it
	Size   string
	Reason UnmetReason
	Waited time.Duration // of what was withdrawn or expired
}

// RetryWindow is how long a further try of the same person for the same size belongs to the one before: who presses the
// button three times wants one GPU.
const RetryWindow = time.Hour

// UnmetDemand is demand for a size that was not met for one reason.
type UnmetDemand struct {
	Size     string
	Reason   UnmetReason
	Count    int // further tries left out
	Attempts int // every try
	People   int
	Tenants  []string      // that asked, by name
	Longest  time.Duration // that somebody waited; 0 for what was refused at once
}

// CountUnmet counts by size and reason, most first. A try within an hour of one that counts is a further try, for
// whatever reason it failed, and goes to the reason of that one.
func CountUnmet(misses []UnmetRequest) []UnmetDemand {
	list := slices.Clone(misses)
	slices.SortStableFunc(list, func(a, b UnmetRequest) int {
		return cmp.Or(strings.Compare(a.Size, b.Size), strings.Compare(a.Person, b.Person), a.At.Compare(b.At))
	})
	type key struct {
		size   string
		reason UnmetReason
	}
	found, people, tenants := map[key]*UnmetDemand{}, map[key]map[string]bool{}, map[key]map[string]bool{}
	var counted UnmetRequest
	for n, m := range list {
		further := n > 0 && m.Size == counted.Size && m.Person == counted.Person && m.At.Sub(counted.At) < RetryWindow
		if !further {
			counted = m
		}
		k := key{m.Size, counted.Reason}
		if found[k] == nil {
			found[k], people[k] = &UnmetDemand{Size: k.size, Reason: k.reason}, map[string]bool{}
			tenants[k] = map[string]bool{}
		}
		u := found[k]
		if !further {
			u.Count++
		}
		u.Attempts++
		u.Longest = max(u.Longest, m.Waited)
		people[k][m.Person] = true
		if m.Tenant != "" {
			tenants[k][m.Tenant] = true
		}
	}
	unmet := make([]UnmetDemand, 0, len(found))
	for k, u := range found {
		u.People, u.Tenants = len(people[k]), slices.Sorted(maps.Keys(tenants[k]))
		unmet = append(unmet, *u)
	}
	order := UnmetReasons()
	slices.SortFunc(unmet, func(a, b UnmetDemand) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Size, b.Size),
			cmp.Compare(slices.Index(order, a.Reason), slices.Index(order, b.Reason)))
	})
	return unmet
}

// UnmetStore lists who did not get what they asked for in a span. Faults: Unavailable when the database is away.
type UnmetStore interface {
	UnmetRequests(ctx context.Context, s Span) ([]UnmetRequest, error)
}

// UnmetDemand is the demand of a month that was not met, as far as the month is over. It is for those who see
// everybody's usage; for others it does not exist.
func (s *Service) UnmetDemand(ctx context.Context, a identity.Actor, m Month) ([]UnmetDemand, error) {
	if err := identity.Known(a); err != nil {
		return nil, err
	}
	whole := m.Span(s.Zone)
	if !slices.Contains(Scopes(a), All) || whole.From.After(s.Now()) {
		return nil, notFound()
	}
	misses, err := s.Demand.UnmetRequests(ctx, whole.To(s.Now()))
	return CountUnmet(misses), err
}

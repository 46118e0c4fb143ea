package usage

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// MissReason is why somebody did not get what they asked for.
type MissReason string

// The reasons.
const (
	MissQuota     MissReason = "quota"     // the team's quota is full
	MissNone      MissReason = "none"      // the team may not hold the size, or no cluster has it
	MissSeats     MissReason = "seats"     // no license seat is left
	MissBudget    MissReason = "budget"    // the team's budget does not reach
	MissRule      MissReason = "rule"      // a rule refuses it
	MissWithdrawn MissReason = "withdrawn" // its asker took it back while it waited
	MissExpired   MissReason = "expired"   // nobody decided in time
)

// MissReasons are all of them, in the order of lists.
func MissReasons() []MissReason {
	return []MissReason{MissQuota, MissNone, MissSeats, MissBudget, MissRule, MissWithdrawn, MissExpired}
}

// refusals are the sentences of refusals that are for want of something. What was typed wrong is no unmet demand; every
// other sentence is a rule's own.
var refusals = map[string]MissReason{
	"request.quota_full": MissQuota, "request.size_not_allowed": MissNone, "request.size_nowhere": MissNone,
	"request.no_seat": MissSeats,
	"budget.over":     MissBudget, "policy.refuse": MissRule,
}

// Refused says which want a refusal is for; false for a mistake in a form.
func Refused(sentence i18n.Text) (MissReason, bool) {
	reason, ok := refusals[sentence.ID]
	if !ok && sentence.ID == i18n.Literal("own words").ID {
		return MissRule, true
	}
	return reason, ok
}

// Miss is somebody who did not get what they asked for.
type Miss struct {
	At     time.Time
	Person string // id
	Size   string
	Reason MissReason
	Waited time.Duration // of what was withdrawn or expired
}

// Again is how long a further try of the same person for the same size belongs to the one before: who presses the
// button three times wants one GPU.
const Again = time.Hour

// Unmet is demand for a size that was not met for one reason.
type Unmet struct {
	Size     string
	Reason   MissReason
	Count    int // further tries left out
	Attempts int // every try
	People   int
	Longest  time.Duration // that somebody waited; 0 for what was refused at once
}

// CountUnmet counts by size and reason, most first. A try within an hour of one that counts is a further try, for
// whatever reason it failed, and goes to the reason of that one.
func CountUnmet(misses []Miss) []Unmet {
	list := slices.Clone(misses)
	slices.SortStableFunc(list, func(a, b Miss) int {
		return cmp.Or(strings.Compare(a.Size, b.Size), strings.Compare(a.Person, b.Person), a.At.Compare(b.At))
	})
	type key struct {
		size   string
		reason MissReason
	}
	found, people := map[key]*Unmet{}, map[key]map[string]bool{}
	var counted Miss
	for n, m := range list {
		further := n > 0 && m.Size == counted.Size && m.Person == counted.Person && m.At.Sub(counted.At) < Again
		if !further {
			counted = m
		}
		k := key{m.Size, counted.Reason}
		if found[k] == nil {
			found[k], people[k] = &Unmet{Size: k.size, Reason: k.reason}, map[string]bool{}
		}
		u := found[k]
		if !further {
			u.Count++
		}
		u.Attempts++
		u.Longest = max(u.Longest, m.Waited)
		people[k][m.Person] = true
	}
	unmet := make([]Unmet, 0, len(found))
	for k, u := range found {
		u.People = len(people[k])
		unmet = append(unmet, *u)
	}
	order := MissReasons()
	slices.SortFunc(unmet, func(a, b Unmet) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Size, b.Size),
			cmp.Compare(slices.Index(order, a.Reason), slices.Index(order, b.Reason)))
	})
	return unmet
}

// Misses is who did not get what they asked for in a span. Faults: Unavailable when the database is away.
type Misses interface {
	Misses(ctx context.Context, s Span) ([]Miss, error)
}

// Unmet is the demand of a month that was not met, as far as the month is over. It is for those who see everybody's
// usage; for others it does not exist.
func (s *Service) Unmet(ctx context.Context, a identity.Actor, m Month) ([]Unmet, error) {
	if err := identity.Known(a); err != nil {
		return nil, err
	}
	whole := m.Span(s.Zone)
	if !slices.Contains(Scopes(a), All) || whole.From.After(s.Now()) {
		return nil, fault.New(fault.NotFound, i18n.T("usage.not_found"))
	}
	misses, err := s.Misses.Misses(ctx, whole.To(s.Now()))
	return CountUnmet(misses), err
}

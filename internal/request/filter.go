package request

import (
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Filter chooses requests and their order; Cursor is what another page gave as next or previous.
type Filter struct {
	Asker   identity.PersonID // "" for anyone
	About   workload.ID       // that is to be extended or resumed, or came of it; "" for any
	Tenants []string          // nil for all; an empty list for none
	States  []State           // empty for all
	Inbox   *Inbox            // only what it holds; nil for all
	Sort    Sort              // "" for Newest
	// Decider narrows to what a rule or a person decided; "" for all.
	Decider Decider
	// DeferredBy narrows to those with an answer of this person that has not taken effect yet; "" for all.
	DeferredBy identity.PersonID
	// DueAt narrows to those with a deferred answer that takes effect then or before; zero for all.
	DueAt   time.Time
	Since   time.Time // asked then or later; zero for all
	Holding bool      // only those whose workload holds something now
	Seat    bool      // only those that wait for nothing but a license seat
	Size    string    // name of the size; "" for all
	// Text are words in lower case: each is in the name, the asker's name, the team or the size, or is the id.
	Text   []string
	Cursor string
	Limit  int
}

// Sort is the order of a list, with the id as tie-breaker.
type Sort string

// The orders: by the time when it was asked, by the estimated price, by the length of the lease.
const (
	Newest  Sort = "newest"
	Oldest  Sort = "oldest"
	Dearest Sort = "price"
	Longest Sort = "lease"

	Cheapest Sort = "cheapest"
	Shortest Sort = "shortest"
)

// Sorts lists every order.
func Sorts() []Sort { return []Sort{Newest, Oldest, Dearest, Cheapest, Longest, Shortest} }

// Decider is a rule or a person that decided requests, to filter by.
type Decider string

// The deciders. NotRule is what a person decided, what waits, and what ended without a decision.
const (
	DeciderRule   Decider = "rule"
	DeciderPerson Decider = "person"
	NotRule       Decider = "not-rule"
)

// Decider says who decided the request: "" where nobody did.
func (r Request) Decider() Decider {
	switch {
	case r.Decision.By != "":
		return DeciderPerson
	case r.State == Approved:
		return DeciderRule
	}
	return ""
}

// Page is a part of a list. Total counts the whole list, Before what stands ahead of the page; both count no further
// than MostCounted+1, which means more than MostCounted.
type Page struct {
	Items  []Request
	Next   string // cursor of the page after it; "" where it is the last
	Prev   string // cursor of the page before it; "" where it is the first
	Total  int
	Before int
}

// MostCounted bounds what counting a list may cost.
const MostCounted = 10_000

// mostWords bounds what a search may cost.
const mostWords = 8

// Words splits the text of a search field for Filter.Text.
func Words(typed string) []string {
	words := strings.Fields(strings.ToLower(typed))
	return words[:min(len(words), mostWords)]
}

// Inbox is what waits for somebody's decision: pending requests that ask one of the approvers
// who has not decided yet, and that Self has not decided either.
type Inbox struct {
	Self      identity.PersonID
	Approvers []ApproverID
	Now       time.Time
}

// ApproverID is a person whose approval may be asked for: oneself, or a delegator.
type ApproverID struct {
	Person identity.PersonID
	Keys   []string
	// Granted are those for whose requests a principal does not count, because they granted it; see
	// identity.Actor.PrincipalsFor.
	Granted map[string][]identity.PersonID
}

// ApproverOf is somebody with the keys that count for some requests at least.
func ApproverOf(a identity.Actor) ApproverID {
	v := ApproverID{Person: a.Person.ID, Keys: a.PrincipalsFor(""), Granted: map[string][]identity.PersonID{}}
	for _, k := range v.Keys {
		if chain := a.Granted[k]; len(chain) > 0 {
			v.Granted[k] = chain
		}
	}
	return v
}

// Holds reports whether a request is in the inbox; the store says the same in SQL.
func (in Inbox) Holds(r Request) bool {
	deciders := r.Deciders()
	if r.State != Pending || slices.Contains(deciders, in.Self) {
		return false
	}
	asked := r.asked(in.Now)
	return slices.ContainsFunc(in.Approvers, func(v ApproverID) bool {
		return !slices.Contains(deciders, v.Person) &&
			slices.ContainsFunc(v.Keys, func(k string) bool {
				return slices.Contains(asked, k) && !slices.Contains(v.Granted[k], r.Asker)
			})
	})
}

// inboxOf is what waits for the actor.
func inboxOf(a identity.Actor, now time.Time) Inbox {
	in := Inbox{Self: a.Person.ID, Now: now}
	for _, v := range append([]identity.Actor{a}, a.Delegators...) {
		if !v.Person.Disabled {
			in.Approvers = append(in.Approvers, ApproverOf(v))
		}
	}
	return in
}

// Scope says whose requests a list shows.
type Scope string

// The scopes: one's own, those waiting for one's decision, those that one may read and that wait for nothing but a
// license seat, all that one may read.
const (
	ScopeMine    Scope = "mine"
	ScopeInbox   Scope = "inbox"
	ScopeSeat    Scope = "seat"
	ScopeVisible Scope = "all"
)

// visible narrows a filter to what the actor may see.
func visible(wanted, allowed []string) []string {
	if wanted == nil {
		return allowed
	}
	both := []string{}
	for _, w := range wanted {
		for _, t := range allowed {
			if w == t {
				both = append(both, w)
			}
		}
	}
	return both
}

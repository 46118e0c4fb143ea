package license

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Source is a license server, or whatever a site keeps its licenses in. A failure is an error whose text is for the
// log; a Failure says what people read.
type Source interface {
	// Name is what pools call it in their Server.
	Name() string
	// Fetch reads everything there is. It changes nothing, and gives up when the context ends.
	Fetch(ctx context.Context) (Answer, error)
}

// DefaultPollInterval is how often license servers are asked where no setting says otherwise.
const DefaultPollInterval = time.Minute

// Answer is the last whole answer of a license server, and since when it gives none.
type Answer struct {
	Source   string    `json:"source"`
	At       time.Time `json:"at"` // of the last whole answer; zero while there was none
	Features []Feature `json:"features,omitempty"`
	// Leases are who holds what, where the source tells; LeasesKnown is false where it only counts.
	Leases      []Lease `json:"leases,omitempty"`
	LeasesKnown bool    `json:"leasesKnown,omitempty"`
	// TriedAt is when it was last asked, and Failed why that gave nothing; zero when it was answered.
	TriedAt time.Time `json:"triedAt"`
	Failed  i18n.Text `json:"failed"`
	Since   time.Time `json:"since"` // from when on it has failed
}

// Feature is one entitlement as a license server reports it.
type Feature struct {
	Name      string    `json:"name"`
	Product   string    `json:"product,omitempty"`
	Reference string    `json:"reference,omitempty"`
	Total     int       `json:"total"`
	InUse     int       `json:"inUse"`
	From      time.Time `json:"from"`
	Until     time.Time `json:"until"`
}

// Lease is one lease in use. No server knows of pods: Client is a machine's host name.
type Lease struct {
	ID      string    `json:"id,omitempty"`
	Feature string    `json:"feature"`
	Client  string    `json:"client"`
	Count   int       `json:"count"`
	Until   time.Time `json:"until"`
}

// Failure is an error with a sentence for people about a source.
type Failure struct {
	Why   i18n.Text
	Cause error
}

func (f *Failure) Error() string { return f.Why.ID + ": " + f.Cause.Error() }
func (f *Failure) Unwrap() error { return f.Cause }

// Of tells whether a lease or feature of this name belongs to the pool.
func (p Pool) Of(feature string) bool {
	return SameFeature(p.Feature, feature)
}

func (a Answer) entitlements(p Pool) []Entitlement {
	var list []Entitlement
	for _, f := range a.Features {
		if p.Of(f.Name) {
			list = append(list, Entitlement{Pool: p.Name, Reference: f.Reference, Seats: f.Total, From: f.From, Until: f.Until,
				Origin: FromServer, At: a.At})
		}
	}
	return list
}

// InUse is how many seats of the pool are leased, as the source counts; false where it says nothing of it.
func (a Answer) InUse(p Pool) (int, bool) {
	used, found := 0, false
	for _, f := range a.Features {
		if p.Of(f.Name) {
			used, found = used+f.InUse, true
		}
	}
	return used, found && !a.At.IsZero()
}

// leases of the pool.
func (a Answer) leases(p Pool) []Lease {
	var list []Lease
	for _, l := range a.Leases {
		if p.Of(l.Feature) {
			list = append(list, l)
		}
	}
	return list
}

// Merge is what was last known of a source and what it says now. A failed try keeps what was said before, with its age.
func (a Answer) Merge(next Answer, err error, now time.Time) Answer {
	if err == nil {
		next.Source, next.TriedAt, next.Failed, next.Since = a.Source, now, i18n.Text{}, time.Time{}
		if next.At.IsZero() {
			next.At = now
		}
		return next
	}
	out := a
	out.TriedAt = now
	if a.Since.IsZero() {
		out.Since = now
	}
	out.Failed = WhyOf(err)
	return out
}

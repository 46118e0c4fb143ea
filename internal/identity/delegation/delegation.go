package delegation

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Delegation is how long somebody decides in somebody else's place. It counts from From on and not any more at Until.
type Delegation struct {
	ID           string
	Person       identity.PersonID // whose rights they are
	Name         string            // of the person, as it is now
	Delegate     identity.PersonID
	DelegateName string
	From         time.Time
	Until        time.Time
	CreatedAt    time.Time
}

// Counts reports whether it is on at a time.
func (p Delegation) Counts(now time.Time) bool {
	return p.Person != p.Delegate && !now.Before(p.From) && now.Before(p.Until)
}

// Draft is what somebody asks for. A From that has passed means now.
type Draft struct {
	Delegate identity.PersonID
	From     time.Time
	Until    time.Time
}

const (
	most    = 20                   // periods that somebody may have open
	longest = 366 * 24 * time.Hour // of one
)

// check turns a draft into a period, beside those that the person has open.
func check(d Draft, a identity.Actor, stand identity.Person, have []Delegation, now time.Time) (Delegation, error) {
	if d.From.Before(now) {
		d.From = now
	}
	problem := func(field, id string, args ...any) (Delegation, error) {
		return Delegation{}, fault.InvalidFields([]fault.Field{{Name: field, Reason: i18n.T(id, args...)}})
	}
	switch {
	case d.Delegate == a.Person.ID:
		return problem("person", "delegation.self")
	case stand.ID == "" || stand.Disabled:
		return problem("person", "delegation.unknown")
	case !d.Until.After(d.From):
		return problem("until", "delegation.over")
	case d.Until.Sub(d.From) > longest:
		return problem("until", "delegation.too_long", "Days", int(longest.Hours()/24))
	case len(have) >= most:
		return problem("person", "delegation.too_many", "Count", most)
	}
	for _, p := range have {
		if p.Delegate == d.Delegate && p.From.Before(d.Until) && d.From.Before(p.Until) {
			return problem("person", "delegation.twice", "Name", stand.Name)
		}
	}
	return Delegation{Person: a.Person.ID, Name: a.Person.Name, Delegate: stand.ID, DelegateName: stand.Name, From: d.From,
		Until: d.Until, CreatedAt: now}, nil
}

package standin

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Period is how long somebody decides in somebody else's place. It counts from From on and not any more at Until.
type Period struct {
	ID        string
	Person    identity.PersonID // whose rights they are
	Name      string            // of the person, as it is now
	StandIn   identity.PersonID
	StandName string
	From      time.Time
	Until     time.Time
	CreatedAt time.Time
}

// Counts reports whether it is on at a time.
func (p Period) Counts(now time.Time) bool {
	return p.Person != p.StandIn && !now.Before(p.From) && now.Before(p.Until)
}

// Draft is what somebody asks for. A From that has passed means now.
type Draft struct {
	StandIn identity.PersonID
	From    time.Time
	Until   time.Time
}

const (
	most    = 20                   // periods that somebody may have open
	longest = 366 * 24 * time.Hour // of one
)

// check turns a draft into a period, beside those that the person has open.
func check(d Draft, a identity.Actor, stand identity.Person, have []Period, now time.Time) (Period, error) {
	if d.From.Before(now) {
		d.From = now
	}
	problem := func(field, id string, args ...any) (Period, error) {
		return Period{}, fault.InvalidFields([]fault.Field{{Name: field, Reason: i18n.T(id, args...)}})
	}
	switch {
	case d.StandIn == a.Person.ID:
		return problem("person", "standin.self")
	case stand.ID == "" || stand.Disabled:
		return problem("person", "standin.unknown")
	case !d.Until.After(d.From):
		return problem("until", "standin.over")
	case d.Until.Sub(d.From) > longest:
		return problem("until", "standin.too_long", "Days", int(longest.Hours()/24))
	case len(have) >= most:
		return problem("person", "standin.too_many", "Count", most)
	}
	for _, p := range have {
		if p.StandIn == d.StandIn && p.From.Before(d.Until) && d.From.Before(p.Until) {
			return problem("person", "standin.twice", "Name", stand.Name)
		}
	}
	return Period{Person: a.Person.ID, Name: a.Person.Name, StandIn: stand.ID, StandName: stand.Name, From: d.From,
		Until: d.Until, CreatedAt: now}, nil
}

package workload

import (
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/schedule"
)

// CalendarDays is how far a calendar looks ahead.
const CalendarDays = 60

// mostEntries is how many stops and starts of one workload a calendar has.
const mostEntries = 200

// Entry is an event of a calendar: a stop, a start or the end of a lease.
type Entry struct {
	Workload Workload
	Kind     EntryKind
	At       time.Time
}

// EntryKind is what happens at an Entry.
type EntryKind string

// The kinds of entry.
const (
	EntryStop     EntryKind = "stop"
	EntryStart    EntryKind = "start"
	EntryLeaseEnd EntryKind = "lease_end"
)

// Calendar is what the clock does with the actor's own workloads in the next weeks: stops and starts of their
// schedules, and the ends of leases.
func (s *Service) Calendar(ctx context.Context, a identity.Actor) ([]Entry, error) {
	if err := identity.Known(a); err != nil {
		return nil, err
	}
	now := s.Now()
	var all []Entry
	for f := (Filter{Limit: 500}); ; {
		items, next, err := s.List(ctx, a, true, f)
		if err != nil {
			return nil, err
		}
		for _, w := range items {
			all = append(all, w.entries(s.PlanOf(w), now)...)
		}
		if f.Cursor = next; next == "" {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return a.At.Compare(b.At) })
	return all, nil
}

func (w Workload) entries(p Plan, now time.Time) []Entry {
	if w.Desired == WantDeleted || w.State == Ended || w.Over() || w.Lease.Over(now) {
		return nil
	}
	var list []Entry
	until := now.AddDate(0, 0, CalendarDays)
	if w.Lease.Until.Before(until) {
		until = w.Lease.Until
		list = append(list, Entry{w, EntryLeaseEnd, w.Lease.Until})
	}
	if !p.Says() {
		return list
	}
	on := w.Desired == WantRunning
	for _, c := range p.calendar.Between(now.Add(time.Second), until, mostEntries) {
		switch {
		case c.On == on || c.On && p.Hours.StopOnly || !c.On && w.Schedule.KeptUntil.After(c.At):
			continue
		case c.On:
			list = append(list, Entry{w, EntryStart, c.At})
		default:
			list = append(list, Entry{w, EntryStop, c.At})
		}
		on = c.On
	}
	return list
}

// ICS writes entries for other programs; pages are the address below which workloads are read.
func ICS(entries []Entry, pages string, say func(i18n.Text) string, now time.Time) string {
	events := make([]schedule.Event, len(entries))
	for i, e := range entries {
		w := e.Workload
		events[i] = schedule.Event{ID: string(w.ID) + "-" + string(e.Kind) + "-" + e.At.UTC().Format("20060102"), At: e.At,
			Summary: say(i18n.T("schedule.calendar_"+string(e.Kind), "Name", w.Name)),
			URL:     pages + "/workloads/" + string(w.ID)}
	}
	return schedule.ICS(say(i18n.T("schedule.calendar")), now, events)
}

// Changes are the stops and starts of hours with the holidays of a team.
func Changes(t schedule.Team, from time.Time, days, most int) []schedule.Change {
	if t.Hours == nil {
		return nil
	}
	c, err := schedule.New(*t.Hours, t.Holidays)
	if err != nil {
		return nil
	}
	return c.Between(from, from.AddDate(0, 0, days), most)
}

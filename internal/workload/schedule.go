package workload

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/schedule"
)

// ScheduleMode is whose working hours a workload follows: its own, its team's, or none.
type ScheduleMode string

// The modes.
const (
	TeamHours ScheduleMode = ""     // its team's, where that has any
	OwnHours  ScheduleMode = "own"  // its own
	NoHours   ScheduleMode = "none" // it is neither stopped nor started by the clock
)

// Schedule stops and starts a workload by working hours.
type Schedule struct {
	Mode  ScheduleMode    `json:"mode,omitempty"`
	Hours *schedule.Hours `json:"hours,omitempty"` // of OwnHours
	Since time.Time       `json:"since,omitzero"`  // when somebody said so
	// KeptUntil: whoever needs it keeps it on; nothing is stopped by the clock before
	KeptUntil time.Time `json:"keptUntil,omitzero"`
	Followed  Followed  `json:"followed,omitzero"`
}

// Followed is up to which change a schedule has been carried out, with the starts that failed since.
type Followed struct {
	Print      string    `json:"print,omitempty"` // of the calendar: another one begins anew
	At         time.Time `json:"at,omitzero"`     // up to which change
	On         bool      `json:"on,omitempty"`    // whether it was to run then
	Generation int64     `json:"generation,omitempty"`
	// Tries are the starts that failed since At, RetryAt when it is tried again, zero for not any more; Problem is why
	Tries   int       `json:"tries,omitempty"`
	RetryAt time.Time `json:"retryAt,omitzero"`
	Problem i18n.Text `json:"problem,omitzero"`
	Warned  time.Time `json:"warned,omitzero"` // the stop that was announced last
}

const (
	// scheduleWarning is how long before a stop by the clock people are told whose work would be lost.
	scheduleWarning = 15 * time.Minute
	// A start that failed is tried again after these times, the last of them again and again up to scheduleTries.
	scheduleRetry, scheduleRetryMost = 2 * time.Minute, 30 * time.Minute
	scheduleTries                    = 12
)

// Plan is the effective schedule of a workload; none where Hours is nil.
type Plan struct {
	Mode  ScheduleMode
	Hours *schedule.Hours
	// Unknown: there is no such zone any more, and nothing is concluded
	Unknown  bool
	calendar schedule.Calendar
	since    time.Time
}

// Plan is what the schedule of a workload says, with its team's. A job has none: a stopped one is over.
func (w Workload) Plan(team schedule.Team) Plan {
	p := Plan{Mode: w.Schedule.Mode, since: w.CreatedAt}
	switch {
	case w.IsJob() || p.Mode == NoHours:
		return p
	case p.Mode == OwnHours:
		p.Hours = w.Schedule.Hours
	default:
		p.Hours = team.Hours
	}
	if p.Hours == nil {
		return p
	}
	for _, at := range []time.Time{w.Schedule.Since, team.Since} {
		if at.After(p.since) {
			p.since = at
		}
	}
	var err error
	p.calendar, err = schedule.New(*p.Hours, team.Holidays)
	p.Unknown = err != nil
	return p
}

// Says reports whether there is something to follow.
func (p Plan) Says() bool { return p.Hours != nil && !p.Unknown }

// Location is the zone of the plan; UTC where that is not known.
func (p Plan) Location() *time.Location {
	if !p.Says() {
		return time.UTC
	}
	return p.calendar.Location()
}

// Coming is the next stop and the next start by schedule.
type Coming struct {
	Stop, Start schedule.Change // At is zero for none
	// Skips is the stop that is left out, because somebody keeps it on; zero for none
	Skips time.Time
}

// Coming are the next stop and the next start, as far as the lease goes.
func (w Workload) Coming(p Plan, now time.Time) (c Coming) {
	if !p.Says() || w.Desired == WantDeleted || w.State == Ended {
		return c
	}
	next, _ := p.calendar.NextTo(false, now)
	if w.Schedule.KeptUntil.After(now) && next.At.Before(w.Schedule.KeptUntil) {
		c.Skips = next.At
		next, _ = p.calendar.NextTo(false, w.Schedule.KeptUntil.Add(-time.Second))
	}
	if !next.At.IsZero() && next.At.Before(w.Lease.Until) {
		c.Stop = next
	}
	from := now
	if w.Schedule.KeptUntil.After(from) { // it runs through
		from = w.Schedule.KeptUntil
	}
	if start, ok := p.calendar.NextTo(true, from); ok && !p.Hours.StopOnly && start.At.Before(w.Lease.Until) {
		c.Start = start
	}
	return c
}

// CanSkip reports whether the next stop by the clock can be left out.
func (w Workload) CanSkip(p Plan, now time.Time) bool {
	c := w.Coming(p, now)
	return w.Desired == WantRunning && !c.Stop.At.IsZero() && c.Skips.IsZero()
}

// SkipStop leaves out the next scheduled stop: the workload runs until the stop after that.
func SkipStop(p Plan) Change {
	return func(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
		c := w.Coming(p, now)
		switch {
		case !c.Skips.IsZero():
			return w, nil, nil
		case !w.CanSkip(p, now):
			return w, nil, fault.New(fault.Conflict, i18n.T("schedule.nothing_to_skip"))
		}
		w.Schedule.KeptUntil, w.UpdatedAt = c.Stop.At.Add(24*time.Hour), now
		if start, ok := p.calendar.NextTo(true, c.Stop.At); ok {
			w.Schedule.KeptUntil = start.At
		}
		return w, []audit.Event{changed(w, a, audit.ScheduleSkipped, now, i18n.T("schedule.kept_until", "Until",
			stamp(w.Schedule.KeptUntil)), audit.Changed("schedule.keptUntil", "", stamp(w.Schedule.KeptUntil)))}, nil
	}
}

// StopAsPlanned takes SkipStop back.
func StopAsPlanned(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
	was := w.Schedule.KeptUntil
	if !was.After(now) {
		return w, nil, nil
	}
	w.Schedule.KeptUntil, w.UpdatedAt = time.Time{}, now
	return w, []audit.Event{changed(w, a, audit.ScheduleSkipped, now, i18n.Text{},
		audit.Changed("schedule.keptUntil", stamp(was), ""))}, nil
}

// SetSchedule sets whose working hours a workload follows. They count from their next change on: the setting alone
// neither stops nor starts it.
func SetSchedule(mode ScheduleMode, hours *schedule.Hours) Change {
	return func(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
		switch {
		case w.State == Ended || w.Desired == WantDeleted:
			return w, nil, gone()
		case w.IsJob():
			return w, nil, fault.New(fault.Conflict, i18n.T("schedule.job"))
		}
		was := w.Schedule
		w.Schedule = Schedule{Mode: mode, Since: now.UTC()}
		if mode == OwnHours {
			w.Schedule.Hours = hours
		}
		changes := audit.Diff(was.flat(), w.Schedule.flat())
		if len(changes) == 0 {
			w.Schedule = was
			return w, nil, nil
		}
		w.UpdatedAt = now
		return w, []audit.Event{changed(w, a, audit.ScheduleSet, now, i18n.Text{}, changes)}, nil
	}
}

// flat is what the record compares.
func (s Schedule) flat() map[string]any {
	mode := string(s.Mode)
	if s.Mode == TeamHours {
		mode = "team"
	}
	return map[string]any{"schedule": map[string]any{"mode": mode, "hours": s.Hours.Flat()}}
}

// step is what the clock asks for now.
type step int

const (
	stay step = iota
	stopNow
	startNow
	warnNow
	leaveNow // the line for license seats, where it may wait since a start
)

// follow says what is due by the clock, and how far the plan is carried out then. What somebody did by hand since a
// change counts more than it, until the next one. A change that was missed is made up for where it is the last one:
// what lies before it is past.
func (w Workload) follow(p Plan, now time.Time) (Schedule, step) {
	s := w.Schedule
	if !p.Says() {
		if p.Hours == nil {
			s.Followed, s.KeptUntil = Followed{}, time.Time{}
		}
		return s, stay
	}
	f := &s.Followed
	if print := p.calendar.Print(); f.Print != print {
		*f = p.begin(*f, w.Generation, print)
	}
	last, _ := p.calendar.Last(now)
	manual := w.Generation != f.Generation && w.UpdatedAt.After(last.At)
	due := last.At.After(f.At) || last.On != f.On // the rules of a zone may have moved a change behind what was done
	switch {
	case due:
		f.At, f.On, f.Generation = last.At.UTC(), last.On, w.Generation
		f.Tries, f.RetryAt, f.Problem = 0, time.Time{}, i18n.Text{}
		switch {
		case manual:
		case last.On && !p.Hours.StopOnly && w.CanStart() && !w.Lease.Over(now):
			return s, startNow
		case !last.On && w.CanStop() && !s.KeptUntil.After(last.At):
			return s, stopNow
		case !last.On && w.CanStart() && w.Size.LicensePool != "":
			return s, leaveNow
		}
	case !f.RetryAt.IsZero() && (!w.CanStart() || w.Lease.Over(now) || w.Generation != f.Generation):
		f.Tries, f.RetryAt, f.Problem = 0, time.Time{}, i18n.Text{} // somebody was faster, or it is too late
	case !f.RetryAt.IsZero() && !now.Before(f.RetryAt):
		return s, startNow
	}
	f.Generation = w.Generation
	if stop := w.Coming(p, now).Stop.At; !stop.IsZero() && stop.Sub(now) <= scheduleWarning && !f.Warned.Equal(stop) &&
		w.Kind == catalog.Notebook && w.StopLoses(now) {
		f.Warned = stop.UTC()
		return s, warnNow
	}
	return s, stay
}

// begin is how far another plan than before is carried out: up to when somebody said so, or up to the last change of
// the one before. What is said takes effect at the next change.
func (p Plan) begin(was Followed, generation int64, print string) Followed {
	at := p.since
	if was.At.After(at) {
		at = was.At
	}
	if was.Print != "" {
		generation = was.Generation
	}
	return Followed{Print: print, At: at.UTC(), On: p.calendar.On(at), Generation: generation}
}

// failed notes a start that could not be.
func (f Followed) failed(why i18n.Text, now time.Time) Followed {
	f.Tries++
	f.Problem, f.RetryAt = why, now.Add(min(scheduleRetry<<(f.Tries-1), scheduleRetryMost)).UTC()
	if f.Tries >= scheduleTries {
		f.RetryAt = time.Time{}
	}
	return f
}

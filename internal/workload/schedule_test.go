package workload

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/schedule"
)

// clocked is a workload whose schedule is carried out as Service does, without a store.
type clocked struct {
	t    *testing.T
	w    Workload
	team schedule.Team
	now  time.Time
	full bool // a start finds no quota
	did  []string
}

func at(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		panic(err)
	}
	return t
}

func newClocked(t *testing.T, begin string) *clocked {
	hours := schedule.Office("Europe/Berlin")
	c := &clocked{t: t, now: at(begin)}
	c.team = schedule.Team{Hours: &hours}
	c.w = Workload{ID: "w-1", Kind: catalog.Notebook, Desired: WantRunning, State: Running, Generation: 1,
		CreatedAt: c.now, UpdatedAt: c.now, Lease: Lease{From: c.now, Until: c.now.AddDate(0, 2, 0)}}
	return c
}

// until lets time pass, with a look every so often.
func (c *clocked) until(end string, every time.Duration) {
	c.t.Helper()
	for stop := at(end); c.now.Before(stop); {
		c.now = c.now.Add(every)
		if c.now.After(stop) {
			c.now = stop
		}
		c.look()
	}
}

func (c *clocked) look() {
	for range 2 { // the second time there is nothing to do
		next, do := c.w.follow(c.w.Plan(c.team), c.now)
		say := func(word string) { c.did = append(c.did, c.now.Format("01-02 15:04 ")+word) }
		switch do {
		case stopNow:
			say("stop")
			c.do(Stop)
		case startNow:
			if c.full {
				next.Followed = next.Followed.failed(i18n.T("request.quota_full"), c.now)
				say("no start")
			} else {
				say("start")
				c.do(Start)
			}
		case warnNow:
			say("warn")
		}
		c.w.Schedule = next
		c.w.Schedule.Followed.Generation = c.w.Generation
	}
}

func (c *clocked) do(change Change) {
	c.t.Helper()
	w, _, err := change(c.w, identity.System(), c.now)
	if err != nil {
		c.t.Fatal(err)
	}
	c.w = w
	c.w.State = Stopped
	if w.Desired == WantRunning {
		c.w.State = Running
	}
}

func (c *clocked) want(lines ...string) {
	c.t.Helper()
	if !slices.Equal(c.did, lines) {
		c.t.Errorf("want\n%s\ngot\n%s", strings.Join(lines, "\n"), strings.Join(c.did, "\n"))
	}
	c.did = nil
}

// TestTheClockAcrossADaylightChange: a week in Berlin with the last weekend of March in it. In UTC the morning comes an
// hour earlier after it.
func TestTheClockAcrossADaylightChange(t *testing.T) {
	c := newClocked(t, "2026-03-26 12:00")
	c.until("2026-03-31 23:59", 5*time.Minute)
	c.did = slices.DeleteFunc(c.did, func(l string) bool { return strings.HasSuffix(l, "warn") })
	c.want("03-26 18:00 stop", "03-27 07:00 start", "03-27 18:00 stop", "03-30 06:00 start", "03-30 17:00 stop",
		"03-31 06:00 start", "03-31 17:00 stop")
}

// TestWhoSaysOtherwiseWinsUntilTheNextChange: a start by hand at night stays, a stop by hand stays until the morning,
// and a change that was missed does not undo what was done by hand after it.
func TestWhoSaysOtherwiseWinsUntilTheNextChange(t *testing.T) {
	c := newClocked(t, "2026-03-02 12:00")
	c.until("2026-03-02 20:00", time.Minute)
	c.want("03-02 17:45 warn", "03-02 18:00 stop")
	c.do(Start)
	c.until("2026-03-03 17:00", time.Minute)
	c.want()
	c.until("2026-03-03 18:30", time.Minute)
	c.want("03-03 17:45 warn", "03-03 18:00 stop")
	c.until("2026-03-04 10:00", time.Minute)
	c.want("03-04 07:00 start")
	c.do(Stop)
	c.until("2026-03-05 06:59", time.Minute)
	c.want()
	c.until("2026-03-05 07:01", time.Minute)
	c.want("03-05 07:00 start")
	c.until("2026-03-05 17:00", time.Minute)
	c.now = at("2026-03-05 18:20") // nobody leads for over an hour, and somebody stops and starts it by hand
	c.do(Stop)
	c.do(Start)
	c.now = at("2026-03-05 18:40")
	c.until("2026-03-06 06:00", time.Minute)
	c.want()
}

// TestNobodyLeadsForAWhile: what was missed is made up for once; of several changes only the last one is.
func TestNobodyLeadsForAWhile(t *testing.T) {
	c := newClocked(t, "2026-03-02 12:00")
	c.now = at("2026-03-02 19:10")
	c.look()
	c.want("03-02 19:10 stop")
	c.now = at("2026-03-04 07:30") // a start, a stop and a start
	c.look()
	c.want("03-04 07:30 start")
	c.now = at("2026-03-06 03:00")
	c.look()
	c.want("03-06 03:00 stop")
}

// TestWhatSomebodyEndedStaysEnded, as do a lease that is over and a job.
func TestWhatSomebodyEndedStaysEnded(t *testing.T) {
	for name, change := range map[string]func(*Workload){
		"deleted":       func(w *Workload) { w.Desired = WantDeleted },
		"ended":         func(w *Workload) { w.Desired, w.State = WantDeleted, Ended },
		"lease is over": func(w *Workload) { w.Lease.Until = at("2026-03-03 01:00") },
		"a job":         func(w *Workload) { w.Kind = catalog.Job },
		"nothing":       func(w *Workload) { w.Schedule.Mode = NoHours },
		"only stops": func(w *Workload) {
			h := schedule.Office("Europe/Berlin")
			h.StopOnly = true
			w.Schedule.Mode, w.Schedule.Hours = OwnHours, &h
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClocked(t, "2026-03-02 20:00")
			c.do(Stop)
			change(&c.w)
			c.until("2026-03-05 23:00", 10*time.Minute)
			c.want()
		})
	}
}

// TestKeepOnTonight: the stop of this evening is left out, that of tomorrow is not.
func TestKeepOnTonight(t *testing.T) {
	c := newClocked(t, "2026-03-06 12:00") // a Friday
	c.look()
	if c.w.CanSkip(c.w.Plan(schedule.Team{}), c.now) {
		t.Error("without hours there is nothing to skip")
	}
	c.do(SkipStop(c.w.Plan(c.team)))
	if k := c.w.Schedule.KeptUntil; !k.Equal(at("2026-03-09 07:00")) {
		t.Errorf("kept until %s", k)
	}
	if is := c.w.Coming(c.w.Plan(c.team), c.now); !is.Skips.Equal(at("2026-03-06 18:00")) ||
		!is.Stop.At.Equal(at("2026-03-09 18:00")) || !is.Start.At.Equal(at("2026-03-10 07:00")) {
		t.Errorf("comes %+v", is)
	}
	c.until("2026-03-09 17:00", 5*time.Minute)
	c.want()
	c.until("2026-03-09 18:30", 5*time.Minute)
	c.want("03-09 17:45 warn", "03-09 18:00 stop")
	c.until("2026-03-10 12:00", 5*time.Minute)
	c.do(SkipStop(c.w.Plan(c.team)))
	c.do(StopAsPlanned)
	c.until("2026-03-10 18:30", 5*time.Minute)
	c.want("03-10 07:00 start", "03-10 17:45 warn", "03-10 18:00 stop")
}

// TestAStartThatCannotBe is tried again, later and later, and not any more in the evening.
func TestAStartThatCannotBe(t *testing.T) {
	c := newClocked(t, "2026-03-02 12:00")
	c.until("2026-03-02 23:00", time.Minute)
	c.did, c.full = nil, true
	c.until("2026-03-03 08:30", time.Minute)
	c.want("03-03 07:00 no start", "03-03 07:02 no start", "03-03 07:06 no start", "03-03 07:14 no start",
		"03-03 07:30 no start", "03-03 08:00 no start", "03-03 08:30 no start")
	c.until("2026-03-03 17:00", time.Minute)
	if n := len(c.did); n != scheduleTries-7 || c.w.Schedule.Followed.Problem.IsZero() {
		t.Errorf("%d more tries, and it says %v", n, c.w.Schedule.Followed.Problem)
	}
	c.did = nil
	c.until("2026-03-04 06:59", time.Minute)
	c.want()
	c.full = false
	c.until("2026-03-04 07:10", time.Minute)
	c.want("03-04 07:00 start")
}

// TestAZoneThatChangesItsRules: a clock that is moved moves what is ahead; what was done is not done again, and where
// it makes it an hour of work again, it runs again.
func TestAZoneThatChangesItsRules(t *testing.T) {
	for _, c := range []struct {
		name, zone string // in which Berlin's hours are from now on
		want       []string
	}{
		{"the same", "Europe/Berlin", []string{"03-03 07:00 start"}},
		{"an hour later", "Europe/London", []string{"03-03 08:00 start"}},
		{"an hour earlier", "Europe/Kyiv", []string{"03-03 06:00 start"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := newClocked(t, "2026-03-02 12:00")
			is.until("2026-03-02 19:30", time.Minute)
			is.did = nil
			is.moved(c.zone)
			is.until("2026-03-03 09:00", time.Minute)
			is.want(c.want...)
		})
	}
	is := newClocked(t, "2026-03-02 12:00")
	is.until("2026-03-02 18:10", time.Minute)
	is.did = nil
	is.moved("Europe/London") // where it is 18:10, with 50 minutes to go
	is.until("2026-03-02 20:00", time.Minute)
	is.want("03-02 18:11 start", "03-02 18:45 warn", "03-02 19:00 stop")
}

// moved gives the zone other rules: the plan keeps its print, as it does when the data of zones are newer.
func (c *clocked) moved(zone string) {
	before := c.w.Plan(c.team).calendar.Print()
	hours := schedule.Office(zone)
	c.team.Hours = &hours
	if c.w.Schedule.Followed.Print != before {
		c.t.Fatal("the plan was not followed")
	}
	c.w.Schedule.Followed.Print = c.w.Plan(c.team).calendar.Print()
}

// TestAnotherPlanCountsFromItsNextChange: who says in the evening, or on what has become a holiday, that it shall run
// by day is not stopped for it.
func TestAnotherPlanCountsFromItsNextChange(t *testing.T) {
	c := newClocked(t, "2026-03-02 21:00")
	c.team.Since = at("2026-03-02 21:05")
	c.until("2026-03-03 10:00", time.Minute)
	c.want()
	c.team.Holidays, c.team.Since = []schedule.Holiday{{Date: "2026-03-03", Name: "Today"}}, time.Time{}
	c.until("2026-03-04 10:00", time.Minute)
	c.want()
	c.until("2026-03-04 18:10", time.Minute)
	c.want("03-04 17:45 warn", "03-04 18:00 stop")
	c.team.Holidays = nil
	c.until("2026-03-04 23:00", time.Minute)
	c.do(SetSchedule(NoHours, nil))
	c.until("2026-03-06 10:00", time.Minute)
	c.want()
	hours := schedule.Office("Nowhere/Else") // a zone that the rules of the world do not have any more
	c.do(SetSchedule(OwnHours, &hours))
	if p := c.w.Plan(c.team); !p.Unknown || p.Says() {
		t.Error("a zone that is not there is followed")
	}
	c.until("2026-03-09 10:00", time.Minute)
	c.want()
}

package app

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/api"
	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/schedule"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// passTo lets time pass up to a moment.
func (w *world) passTo(at time.Time) {
	w.t.Helper()
	w.clock.pass(at.Sub(w.clock.now()))
}

// ticks has the clock looked at, twice: the second time there is nothing to do.
func (w *world) ticks() {
	w.t.Helper()
	for range 2 {
		if err := w.workloads.FollowSchedules(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
}

// settles has the cluster have done what was wanted of a workload.
func (w *world) settles(id workload.ID) workload.Workload {
	w.t.Helper()
	now, err := w.store.Workload(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	now.State = map[workload.Desired]workload.State{workload.WantRunning: workload.Running,
		workload.WantStopped: workload.Stopped}[now.Desired]
	w.save(func(tx request.Tx) error { return tx.SaveWorkload(w.t.Context(), now) })
	now.Version++
	return now
}

// TestTheClockStopsAndStarts: a workload with office hours in Berlin goes through a weekend in which the clocks there
// are changed. It is stopped and started through the same paths as by a person: without quota it says why and is tried
// again; what somebody deleted stays deleted.
func TestTheClockStopsAndStarts(t *testing.T) {
	w := newWorld(t)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	// the Friday before the last Sunday of the next March
	year := w.clock.now().Year() + 1
	sunday := time.Date(year, time.March, 31, 0, 0, 0, 0, berlin)
	for sunday.Weekday() != time.Sunday {
		sunday = sunday.AddDate(0, 0, -1)
	}
	at := func(days, hour, minute int) time.Time {
		return time.Date(year, time.March, sunday.Day()+days, hour, minute, 0, 0, berlin)
	}
	w.passTo(at(-2, 12, 0))
	item, err := w.store.Workload(t.Context(), w.running(developer, "vision").ID)
	if err != nil {
		t.Fatal(err)
	}
	item.Lease.Until = at(30, 0, 0)
	w.save(func(tx request.Tx) error { return tx.SaveWorkload(t.Context(), item) })
	path := "/api/v1/workloads/" + string(item.ID) + "/schedule"
	office := map[string]any{"zone": "Europe/Berlin", "holidays": true, "windows": []map[string]any{
		{"days": []string{"mon", "tue", "wed", "thu", "fri"}, "from": "08:00", "until": "19:00"}}}
	set := answered[api.Schedule](t, w.call(w.token(developer), http.MethodPut, path,
		map[string]any{"mode": "own", "hours": office}), http.StatusOK)
	if set.NextStop == nil || !set.NextStop.Equal(at(-2, 19, 0)) || set.NextStart == nil ||
		!set.NextStart.Equal(at(1, 8, 0)) || set.NextStart.Sub(*set.NextStop) != 60*time.Hour {
		t.Fatalf("want Friday 19:00 and Monday 8:00, 60 hours apart, got %v %v", set.NextStop, set.NextStart)
	}
	wants := func(want workload.Desired, when string) workload.Workload {
		t.Helper()
		w.ticks()
		now := w.settles(item.ID)
		if now.Desired != want {
			t.Fatalf("%s: want it %s, it is %s", when, want, now.Desired)
		}
		return now
	}
	w.passTo(at(-2, 18, 59))
	wants(workload.WantRunning, "before the stop")
	w.passTo(at(-2, 19, 0).Add(time.Second))
	if is := wants(workload.WantStopped, "Friday evening"); is.Reason.ID != "schedule.stopped" {
		t.Errorf("it says %v", is.Reason)
	}
	w.passTo(at(1, 7, 59))
	wants(workload.WantStopped, "an hour after it would be by the clocks of Friday, less a minute")
	w.passTo(at(1, 8, 0).Add(time.Second))
	wants(workload.WantRunning, "Monday morning")
	ics := w.call(w.token(developer), http.MethodGet, "/api/v1/calendar", nil)
	for _, line := range []string{"BEGIN:VCALENDAR", "DTSTART:" + at(1, 19, 0).UTC().Format("20060102T150405Z")} {
		if ics.status != http.StatusOK || !strings.Contains(ics.body, line) {
			t.Errorf("the calendar lacks %s: %d %s", line, ics.status, ics.body)
		}
	}

	// no quota on Tuesday morning: it says why, once on record, and starts when there is some again
	w.passTo(at(1, 19, 0).Add(time.Minute))
	wants(workload.WantStopped, "Monday evening")
	limit := func(n int) {
		t.Helper()
		if a := w.call(w.token(admin), http.MethodPut, "/api/v1/tenants/vision", map[string]any{"title": "Vision",
			"base": w.tenantVersion("vision"), "quota": map[string]int{item.Size.Name: n}}); a.status != http.StatusOK {
			t.Fatal(a.status, a.body)
		}
	}
	limit(0)
	w.passTo(at(2, 8, 0).Add(time.Second))
	wants(workload.WantStopped, "without quota")
	is := answered[api.Schedule](t, w.call(w.token(developer), http.MethodGet, path, nil), http.StatusOK)
	if is.Problem == "" || is.RetryAt == nil {
		t.Errorf("want it to say why, and when it is tried again, got %+v", is)
	}
	w.clock.pass(3 * time.Minute)
	w.ticks()
	if n := len(w.events(audit.ScheduleMissed)); n != 1 {
		t.Errorf("the record has it %d times", n)
	}
	limit(1000)
	w.clock.pass(10 * time.Minute)
	wants(workload.WantRunning, "with quota again")

	// nor is anything started for somebody who is shut out
	leaver := w.personID(developer)
	ban := func(verb string) {
		t.Helper()
		if a := w.call(w.token(admin), http.MethodPost, "/api/v1/people/"+leaver+"/"+verb,
			map[string]any{"note": "a test"}); a.status != http.StatusOK {
			t.Fatal(verb, a.status, a.body)
		}
	}
	w.passTo(at(2, 19, 0).Add(time.Minute))
	wants(workload.WantStopped, "Tuesday evening")
	ban("disable")
	w.passTo(at(3, 8, 0).Add(time.Minute))
	if is := wants(workload.WantStopped, "while its owner is shut out"); is.Schedule.Followed.Problem.ID !=
		"schedule.owner_gone" {
		t.Errorf("it says %v", is.Schedule.Followed.Problem)
	}
	ban("enable")
	w.clock.pass(10 * time.Minute)
	wants(workload.WantRunning, "with its owner back")

	// keep it on for an evening, and end it permanently
	kept := answered[api.Schedule](t, w.call(w.token(developer), http.MethodPost, path+"/skip", nil), http.StatusOK)
	if kept.Skips == nil || !kept.Skips.Equal(at(3, 19, 0)) || kept.KeptUntil == nil ||
		!kept.KeptUntil.Equal(at(4, 8, 0)) {
		t.Errorf("kept %+v", kept)
	}
	w.passTo(at(3, 23, 0))
	wants(workload.WantRunning, "kept on")
	w.passTo(at(4, 19, 5))
	wants(workload.WantStopped, "the evening after")
	if a := w.call(w.token(developer), http.MethodDelete, strings.TrimSuffix(path, "/schedule"),
		nil); a.status != http.StatusOK {
		t.Fatal(a.status, a.body)
	}
	w.passTo(at(5, 8, 30))
	w.ticks()
	if now, err := w.store.Workload(t.Context(), item.ID); err != nil || now.Desired != workload.WantDeleted {
		t.Errorf("what somebody ended is %s, %v", now.Desired, err)
	}
	if stops, starts := len(w.events(audit.ScheduleStopped)), len(w.events(audit.ScheduleStarted)); stops != 4 ||
		starts != 3 {
		t.Errorf("%d stops and %d starts are on record", stops, starts)
	}
}

// TestATeamsHours: members read them, owners set them, and a workload may say that it has none.
func TestATeamsHours(t *testing.T) {
	w := newWorld(t)
	dev, lead := w.token(developer), w.token(owner)
	const path = "/api/v1/tenants/vision/schedule"
	body := map[string]any{"hours": map[string]any{"zone": "Europe/Berlin", "holidays": true,
		"windows": []map[string]any{{"days": []string{"mon"}, "from": "08:00", "until": "19:00"}}},
		"holidays": []map[string]any{{"date": "2027-03-29", "name": "Easter Monday"}}}
	if a := w.call(dev, http.MethodPut, path, body); a.status != http.StatusForbidden {
		t.Errorf("a developer: %d", a.status)
	}
	answered[api.TeamSchedule](t, w.call(lead, http.MethodPut, path, body), http.StatusOK)
	year := answered[api.TeamSchedule](t, w.call(dev, http.MethodGet, path+"?from=2027-03-15T00:00:00Z&days=28", nil),
		http.StatusOK)
	var got []string
	for _, c := range year.Changes {
		got = append(got, c.At.Format("01-02 15:04"))
	}
	if want := "03-15 07:00 03-15 18:00 03-22 07:00 03-22 18:00 04-05 06:00 04-05 17:00"; strings.Join(got, " ") != want {
		t.Errorf("want %s, got %v", want, got)
	}
	item := w.running(developer, "vision")
	one := "/api/v1/workloads/" + string(item.ID) + "/schedule"
	if s := answered[api.Schedule](t, w.call(dev, http.MethodGet, one, nil), http.StatusOK); s.Mode != "team" ||
		s.Hours == nil {
		t.Errorf("it follows %+v", s)
	}
	none := w.call(dev, http.MethodPut, one, map[string]any{"mode": "none"})
	if s := answered[api.Schedule](t, none, http.StatusOK); s.Mode != "none" || s.Hours != nil || s.NextStop != nil {
		t.Errorf("without hours it is %+v", s)
	}
	for _, zone := range []string{"Europe/Atlantis", "Local", ""} {
		a := w.call(dev, http.MethodPut, one, map[string]any{"mode": "own", "hours": map[string]any{"zone": zone,
			"windows": []map[string]any{{"days": []string{"mon"}, "from": "08:00", "until": "19:00"}}}})
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "schedule.zone") {
			t.Errorf("zone %q: %d %s", zone, a.status, a.body)
		}
	}
}

// TestAScheduledStartWaitsForASeat: in the morning it gets into the line of a full license pool, as when its owner
// starts it, and in the evening it gives its place up: nothing starts at night.
func TestAScheduledStartWaitsForASeat(t *testing.T) {
	w := newWorld(t, queueing, func(c *config.Config) { c.LicensePools[0].Seats = 1 })
	w.token(developer) // the clock starts for people whom the portal knows
	old, err := w.vgpu(developer, "old")
	if err != nil || old.State != request.Approved {
		t.Fatalf("want it to run, got %s, %v", old.State, err)
	}
	w.gone(old.Workload)
	if taker, err := w.vgpu(owner, "taker"); err != nil || taker.State != request.Approved {
		t.Fatalf("want it to take the seat, got %s, %v", taker.State, err)
	}
	noon := w.clock.now().UTC().Truncate(24 * time.Hour).Add(36 * time.Hour)
	item, err := w.store.Workload(t.Context(), old.Workload)
	if err != nil {
		t.Fatal(err)
	}
	item.Lease.Until = noon.Add(30 * 24 * time.Hour)
	w.save(func(tx request.Tx) error { return tx.SaveWorkload(t.Context(), item) })
	hours := schedule.Hours{Zone: "UTC", Windows: []schedule.Window{{Days: schedule.Week(), From: 12 * 60,
		Until: 20 * 60}}}
	w.passTo(noon.Add(-time.Hour))
	if _, err := w.workloads.SetSchedule(t.Context(), w.actorOf(developer), item.ID, workload.OwnHours,
		&hours); err != nil {
		t.Fatal(err)
	}
	for at, want := range []int{0, 1, 1, 0} {
		w.passTo(noon.Add([]time.Duration{-time.Minute, time.Minute, 7 * time.Hour, 8*time.Hour + time.Minute}[at]))
		w.ticks()
		line, err := w.store.SeatLine(t.Context())
		now, readErr := w.store.Workload(t.Context(), item.ID)
		if err != nil || readErr != nil || len(line) != want || now.Desired != workload.WantStopped {
			t.Errorf("%d: want %d in the line, got %v; it is %s; %v %v", at, want, line, now.Desired, err, readErr)
		}
	}
}

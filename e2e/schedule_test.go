package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/e2e/stack"
)

// schedulePatience covers the minute that a window ends at, twice over on a busy machine.
const schedulePatience = 10 * time.Minute

// TestAScheduleStopsAndStarts: somebody starts a notebook with hours of its own, that end in two minutes and begin again
// one minute later. It is kept on once, stopped by the clock, and started by it again, without anybody. The team's
// owner sets office hours, whose stops and starts stay at the same time of day across the last Sunday of March.
func TestAScheduleStopsAndStarts(t *testing.T) {
	own := ownPortal(t, "schedule", func(o *stack.PortalOptions) { o.Change = outside })
	shared := portal
	portal = own
	t.Cleanup(func() { portal = shared })

	dana := as(t, "dana")
	item := dana.running("mig-1g.10gb", map[string]any{"name": "by-day", "lease": "12h"})
	path := "/workloads/" + str(item["id"])
	p := signIn(t, "dana", look{})
	p.open(path)
	p.sees("[data-test=schedule-none]")
	p.click("[data-test=schedule-change]")
	p.selects("[data-test=hours-mode]", "own")
	p.fill("[data-test=hours-zone]", "Europe/Atlantis")
	p.expecting("422")
	p.click("[data-test=schedule-save]")
	p.reads("main", "Enter a time zone such as Europe/Berlin.")
	p.accessible()
	p.shot("form")

	// by the clocks of a zone without daylight time; a window that ends soon, and one that begins a minute later
	zone := time.FixedZone("Asia/Seoul", 9*3600)
	stops := time.Now().In(zone).Truncate(time.Minute).Add(3 * time.Minute)
	starts := stops.Add(time.Minute)
	clock := func(at time.Time) string { return at.Format("15:04") }
	week := []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}
	set := dana.ok(http.StatusOK, http.MethodPut, path+"/schedule", map[string]any{"mode": "own", "hours": map[string]any{
		"zone": "Asia/Seoul", "windows": []map[string]any{{"days": week, "from": clock(starts), "until": clock(stops)}}}})
	if got, err := time.Parse(time.RFC3339, str(set["nextStop"])); err != nil || !got.Equal(stops) {
		t.Fatalf("want a stop at %s, got %v", stops, set)
	}
	p.open(path)
	p.reads("[data-test=schedule-hours]", "Asia/Seoul")
	p.reads("[data-test=schedule-stop]", stops.Format("15:04"))
	p.click("[data-test=schedule-skip]")
	p.sees("[data-test=schedule-kept]")
	p.accessible()
	p.shot("kept")
	p.click("[data-test=schedule-restore]")
	p.sees("[data-test=schedule-skip]")
	ics := dana.call(http.MethodGet, "/calendar", nil)
	if !strings.Contains(string(ics.Raw), "DTSTART:"+stops.UTC().Format("20060102T150405Z")) {
		t.Errorf("the calendar lacks the stop: %s", ics.Raw)
	}

	dana.until(path, "stopped by the clock", schedulePatience, func(w map[string]any) bool {
		return w["state"] == "stopped" || w["state"] == "stopping"
	})
	if early := time.Until(stops); early > 0 {
		t.Errorf("it was stopped %s too early", early)
	}
	dana.reachesWithin(schedulePatience, str(item["id"]), "running")
	if early := time.Until(starts); early > 0 {
		t.Errorf("it was started %s too early", early)
	}
	p.open(path + "/history")
	p.reads("main", "stopped the workload on schedule")
	p.reads("main", "started the workload on schedule")

	o := signIn(t, "otto", look{})
	o.open("/team/vision")
	o.click("[data-test=tab-settings]")
	o.selects("[data-test=hours-mode]", "own")
	o.fill("[data-test=hours-zone]", "Europe/Berlin")
	o.fill("#holidays", "2027-03-29 Easter Monday")
	o.click("[data-test=team-schedule-save]")
	o.reads("[data-test=team-hours]", "Mon–Fri 08:00–19:00, Europe/Berlin")
	o.accessible()
	o.shot("team")
	year := dana.ok(http.StatusOK, http.MethodGet, "/tenants/vision/schedule?from=2027-03-26T12:00:00Z&days=5", nil)
	var changes []string
	for _, c := range year["changes"].([]any) {
		changes = append(changes, str(c.(map[string]any)["at"]))
	}
	// Friday evening in winter time; Monday is a holiday; Tuesday in summer time
	if got := strings.Join(changes, " "); got != "2027-03-26T18:00:00Z 2027-03-30T06:00:00Z 2027-03-30T17:00:00Z "+
		"2027-03-31T06:00:00Z" {
		t.Errorf("stops and starts at %s", got)
	}
}

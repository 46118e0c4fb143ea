package webtest

import (
	"math"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/traffic"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Called is a world whose model endpoint was called for a day, with keys and by somebody in the browser, and two
// revisions of it in the last hour.
func Called(s Scope) *World {
	w := Keyed(s)
	b := traffic.Batch{Process: "g-1", Number: 1, At: Now}
	begin := Now.Truncate(time.Minute)
	for minutes := 1; minutes <= 24*60; minutes++ {
		if minutes > 60 && minutes%15 != 0 {
			continue
		}
		at := begin.Add(-time.Duration(minutes) * time.Minute)
		calls := 70 * busyness(at)
		if minutes > 60 {
			calls *= 15 // those of a quarter of an hour
		}
		b.Rows = append(b.Rows, called("eeeeeeee", "", minutes, at, calls), called("cccccccc", "", minutes, at, calls/4))
		if minutes%20 == 0 {
			b.Rows = append(b.Rows, called("", Ben.ID, minutes, at, 2), called("dddddddd", "", minutes, at, 4))
		}
	}
	check(w.AddTraffic(bg, b))
	for minutes := range 24 * 60 {
		if minutes > 60 && minutes%15 != 0 {
			continue
		}
		at := begin.Add(-time.Duration(minutes) * time.Minute)
		look := traffic.Sample{At: at, Count: 1, Wanted: 1, Ready: 1,
			QueueCount: 1, Queue: math.Floor(4 * busyness(at))}
		if minutes > 20 && minutes < 28 {
			look.Ready, look.QueueCount, look.Queue = 0, 0, 0
		}
		check(w.AddSamples(bg, map[workload.ID]traffic.Sample{"w-llm-chat": look}))
	}
	return w
}

// busyness is how much of its greatest load an endpoint has: most in the afternoon, least at night.
func busyness(at time.Time) float64 {
	hour := at.Sub(at.Truncate(24 * time.Hour)).Hours()
	return 0.5 + 0.4*math.Cos((hour-14)/12*math.Pi) + float64(Mix(at.Minute()+at.Hour(), 17))/600
}

// called is what came of about so many calls in a minute.
func called(key string, person identity.PersonID, minute int, at time.Time, calls float64) traffic.Row {
	r := traffic.Row{Source: traffic.Source{Workload: "w-llm-chat", Key: key, Person: person, Revision: 1}, At: at}
	if minute < 10 {
		r.Revision = 2
	}
	for i := range int(calls) {
		o := traffic.Outcome{At: at, Status: 200, HasFirst: true, Prompt: 310, Completion: 90 + i%40,
			First: time.Duration(120+7*(i*13%60)) * time.Millisecond, Took: time.Duration(2+i%5) * time.Second}
		switch {
		case minute > 290 && minute < 330 && i%25 == 7, i%400 == 45 && minute%3 == 0: // a model server that restarts
			o = traffic.Outcome{At: at, Status: 502}
		case key == "eeeeeeee" && i%200 == 41:
			o = traffic.Outcome{At: at, Status: 429}
		case i == 3 && minute%17 == 0:
			o = traffic.Outcome{At: at, Status: 404}
		case key == "cccccccc" && i%6 == 0:
			o.Prompt, o.Completion, o.WithoutUsage = 0, 0, true
		}
		r.Count(&o)
	}
	return r
}

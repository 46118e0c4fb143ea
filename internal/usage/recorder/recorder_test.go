package recorder

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

var (
	ten   = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	price = usage.Money{Minor: 100, Currency: "EUR"}
)

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

// card is a size of so many devices.
func card(devices int) catalog.Size {
	return catalog.Size{Name: "card", Technology: catalog.Full, Accelerator: catalog.Accelerator{Count: devices, Share: 1}}
}

func metered(id string, size catalog.Size, from, until int) Metered {
	m := Metered{Interval: usage.Interval{Workload: id, Tenant: "vision", Size: "card", PerHour: price,
		From: ten.Add(minutes(from))}, Namespace: "gpu-vision", Name: "nb", Kind: catalog.Notebook, Size: size}
	if until > 0 {
		m.Until = ten.Add(minutes(until))
	}
	return m
}

func stretch(pod string, mean float64, measured, idle int) gpumetrics.WindowSummary {
	return gpumetrics.WindowSummary{Namespace: "gpu-vision", Pod: pod, EngineMean: gpumetrics.Reading{Value: mean,
		Unit: gpumetrics.Percent, Source: gpumetrics.Measured}, Engine: minutes(measured), Idle: minutes(idle)}
}

func TestAttribute(t *testing.T) {
	hour := usage.Span{From: ten, Until: ten.Add(time.Hour)}
	line := func(measured, busy, idle int) []usage.EngineLine {
		return []usage.EngineLine{{Workload: "w-1", Tenant: "vision", Size: "card", PerHour: price,
			EngineUse: usage.EngineUse{Measured: minutes(measured), Busy: minutes(busy), Idle: minutes(idle)}}}
	}
	shared := card(1)
	shared.Technology = catalog.TimeSlicing
	resized := card(1)
	resized.Name = "other"
	dearer := metered("w-1", card(1), 30, 0)
	dearer.PerHour.Minor = 200
	blank := stretch("nb-0", 0, 60, 60)
	blank.EngineMean = gpumetrics.Reading{Why: gpumetrics.NoValue}
	cases := map[string]struct {
		metered []Metered
		seen    []gpumetrics.WindowSummary
		want    []usage.EngineLine
	}{
		"an hour of one card": {[]Metered{metered("w-1", card(1), -90, 0)},
			[]gpumetrics.WindowSummary{stretch("nb-0", 50, 60, 6)}, line(60, 30, 6)},
		"of two cards one is idle": {[]Metered{metered("w-1", card(2), -90, 0)},
			[]gpumetrics.WindowSummary{stretch("nb-0", 100, 60, 0), stretch("nb-0", 0, 60, 60)}, line(60, 30, 30)},
		"stopped and resumed within the hour": {[]Metered{metered("w-1", card(1), 0, 20),
			metered("w-1", card(1), 40, 0)}, []gpumetrics.WindowSummary{stretch("nb-0", 50, 40, 20)}, line(40, 20, 20)},
		"more samples than time: no more than was held": {[]Metered{metered("w-1", card(1), 0, 30)},
			[]gpumetrics.WindowSummary{stretch("nb-0", 50, 60, 30)}, line(30, 15, 15)},
		"other pods are others": {[]Metered{metered("w-1", card(1), 0, 0)},
			[]gpumetrics.WindowSummary{stretch("nb2-0", 50, 60, 0), stretch("nb-0-0", 50, 60, 0), stretch("nb", 50, 60, 0)},
			nil},
		"nothing was seen": {[]Metered{metered("w-1", card(1), 0, 0)}, nil, nil},
		"a mark for no value": {[]Metered{metered("w-1", card(1), 0, 0)},
			[]gpumetrics.WindowSummary{blank}, nil},
		"a card that others have too": {[]Metered{metered("w-1", shared, 0, 0)},
			[]gpumetrics.WindowSummary{stretch("nb-0", 50, 60, 0)}, nil},
		"two workloads had the name": {[]Metered{metered("w-1", card(1), 0, 20),
			metered("w-2", card(1), 30, 0)}, []gpumetrics.WindowSummary{stretch("nb-0", 50, 60, 0)}, nil},
		"the price changed: which of the samples are which": {[]Metered{metered("w-1", card(1), 0, 30), dearer},
			[]gpumetrics.WindowSummary{stretch("nb-0", 50, 60, 0)}, nil},
		"it has another size now": {[]Metered{metered("w-1", resized, 0, 0)},
			[]gpumetrics.WindowSummary{stretch("nb-0", 50, 60, 0)}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Attribute(c.metered, c.seen, hour)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// site is a Prometheus and a store that remember what they were asked.
type site struct {
	now       time.Time
	watermark time.Time
	metered   []Metered
	asked     []string
	records   []usage.EngineRecord
	down      error
}

func (s *site) EngineWatermark(context.Context, string) (time.Time, error) { return s.watermark, nil }

func (s *site) MeteredOn(context.Context, string, usage.Span) ([]Metered, error) {
	return s.metered, nil
}

func (s *site) RecordEngine(_ context.Context, r usage.EngineRecord) error {
	if !r.Before.Equal(s.watermark) {
		return fmt.Errorf("it goes on from %s, the watermark is %s", r.Before, s.watermark)
	}
	s.records, s.watermark = append(s.records, r), r.Until
	return nil
}

func (s *site) Idling(_ context.Context, _ []string, from, until time.Time, step time.Duration,
	below float64) ([]gpumetrics.WindowSummary, error) {
	s.asked = append(s.asked, fmt.Sprintf("%s + %s by %s below %g", from.Format("02 15:04"), until.Sub(from), step, below))
	return []gpumetrics.WindowSummary{stretch("nb-0", 50, 60, 0)}, s.down
}

func (s *site) recorder(zone *time.Location) *Recorder {
	return New(Options{Sources: map[string]Source{"west": s}, Store: s,
		Namespaces: func() []string { return []string{"gpu-vision"} }, Zone: zone, Now: func() time.Time { return s.now }})
}

func TestRecord(t *testing.T) {
	s := &site{now: ten.Add(5 * time.Minute), watermark: ten.Add(-time.Hour),
		metered: []Metered{metered("w-1", card(1), -2000, 0)}}
	r := s.recorder(time.UTC)
	want := func(asked ...string) {
		t.Helper()
		if diff := cmp.Diff(asked, s.asked); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
		s.asked = nil
	}
	r.Record(t.Context())
	want() // samples of the hour that is just over may still come
	s.now = ten.Add(10 * time.Minute)
	r.Record(t.Context())
	want("20 09:00 + 1h0m0s by 1m0s below 5")
	s.recorder(time.UTC).Record(t.Context()) // after a restart
	want()

	s.now, s.down = ten.Add(130*time.Minute), errors.New("no answer")
	r.Record(t.Context())
	want("20 10:00 + 1h0m0s by 1m0s below 5")
	s.down = nil
	r.Record(t.Context())
	want("20 10:00 + 1h0m0s by 1m0s below 5", "20 11:00 + 1h0m0s by 1m0s below 5")
	if len(s.records) != 3 || len(s.records[2].Lines) != 1 || s.records[2].Lines[0].Busy != 30*time.Minute {
		t.Errorf("want three hours recorded, got %+v", s.records)
	}

	s.metered = nil
	s.now = s.now.Add(time.Hour)
	r.Record(t.Context())
	want() // nobody held anything
	if !s.watermark.Equal(ten.Add(3 * time.Hour)) {
		t.Errorf("the watermark goes on, got %s", s.watermark)
	}
}

// TestRecordAfterALongSilence: what Prometheus may not have any more is not asked for, and the rest a day at a time.
func TestRecordAfterALongSilence(t *testing.T) {
	s := &site{now: ten.Add(30 * time.Minute), metered: []Metered{metered("w-1", card(1), -100_000, 0)}}
	for range 8 {
		s.recorder(time.UTC).Record(t.Context())
	}
	if len(s.asked) != 7*24 || s.asked[0] != "13 10:00 + 1h0m0s by 1m0s below 5" || !s.watermark.Equal(ten) {
		t.Errorf("want a week of hours, got %d from %q, up to %s", len(s.asked), s.asked[:1], s.watermark)
	}
}

// TestRecordSkipsWhatNobodyHeld: of a portal that has just begun, today is told at once and not after the week before
// it; what was held is not skipped.
func TestRecordSkipsWhatNobodyHeld(t *testing.T) {
	s := &site{now: ten.Add(10 * time.Minute), metered: []Metered{metered("w-1", card(1), -90, 0)}}
	s.recorder(time.UTC).Record(t.Context())
	if diff := cmp.Diff([]string{"20 08:00 + 1h0m0s by 1m0s below 5", "20 09:00 + 1h0m0s by 1m0s below 5"},
		s.asked); diff != "" || !s.watermark.Equal(ten) {
		t.Errorf("up to %s (-want +got):\n%s", s.watermark, diff)
	}
	empty := &site{now: ten.Add(10 * time.Minute)}
	empty.recorder(time.UTC).Record(t.Context())
	if len(empty.records) != 1 || !empty.watermark.Equal(ten) {
		t.Errorf("want one step up to the last hour, got %d up to %s", len(empty.records), empty.watermark)
	}
}

// TestRecordCutsMonths: in Nepal a month begins at a quarter past an hour of UTC.
func TestRecordCutsMonths(t *testing.T) {
	zone := time.FixedZone("NPT", 5*3600+45*60)
	begin := usage.Month{Year: 2026, Month: time.December}.Span(zone).From
	s := &site{now: begin.Add(3 * time.Hour), watermark: begin.Truncate(time.Hour),
		metered: []Metered{metered("w-1", card(1), 0, 0)}}
	s.recorder(zone).Record(t.Context())
	if len(s.records) < 2 || !s.records[0].Until.Equal(begin) || s.records[0].Month.String() != "2026-11" ||
		s.records[1].Month.String() != "2026-12" || !s.records[1].From.Equal(begin) {
		t.Errorf("want a cut at %s, got %+v", begin, s.records)
	}
}

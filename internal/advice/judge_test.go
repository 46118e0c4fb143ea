package advice

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// size is one of an A100 of 40 GiB, or a part of one.
func size(name string, technology catalog.Technology, memory, share float64, count int, cents int64) catalog.Size {
	return catalog.Size{Name: name, Title: name, Technology: technology, Isolation: catalog.IsolationHard, CPU: "4",
		Memory: "16Gi",
		Accelerator: catalog.Accelerator{Vendor: "nvidia", Model: "A100 40GB", Count: count, MemoryGiB: memory,
			Share: share},
		PricePerHour: usage.Money{Minor: cents, Currency: "EUR"}}
}

var (
	whole = size("a100", catalog.Full, 40, 1, 1, 200)
	two   = size("a100-x2", catalog.Full, 80, 1, 2, 400)
	half  = size("mig-3g.20gb", catalog.MIG, 20, 3.0/7, 1, 100)
	tenth = size("mig-1g.10gb", catalog.MIG, 10, 1.0/7, 1, 50)
	fifth = size("mig-1g.5gb", catalog.MIG, 5, 1.0/7, 1, 30)
	offer = []catalog.Size{whole, two, half, tenth, fifth}
)

func with(s catalog.Size, change func(*catalog.Size)) catalog.Size {
	change(&s)
	return s
}

func running(s catalog.Size) workload.Workload {
	return workload.Workload{ID: "w-1", Name: "nb", Kind: catalog.Notebook, Tenant: "vision", Cluster: "main",
		Namespace: "gpu-vision", Size: s,
		Desired: workload.WantRunning, State: workload.Running, CreatedAt: now.Add(-30 * day)}
}

// evidence is evidence of a fortnight that was measured as a whole.
func evidence(peakGiB, mean, high float64) Evidence {
	return Evidence{From: now.Add(-14 * day), Until: now, Held: 14 * day, Measured: 14 * day, Devices: 1,
		PeakMiB: peakGiB * 1024, DeviceMiB: peakGiB * 1024, Mean: mean, High: high, Busy: high}
}

func but(e Evidence, change func(*Evidence)) Evidence {
	change(&e)
	return e
}

func TestJudge(t *testing.T) {
	type answer struct {
		Kind  Kind
		Why   Why
		Size  string
		Saves int64
		Signs []Sign
	}
	killedOne := running(whole)
	killedOne.Observed.Reason = i18n.T("explain.again_memory", "Memory", "16Gi")
	stopped := running(whole)
	stopped.Desired, stopped.State = workload.WantStopped, workload.Stopped
	roomier := with(half, func(s *catalog.Size) { s.Name, s.Memory, s.PricePerHour.Minor = "mig-3g-ram", "64Gi", 140 })
	for sentence, c := range map[string]struct {
		w     workload.Workload
		e     Evidence
		offer []catalog.Size
		want  answer
	}{
		"the issue's own example: 6 GiB of 40 go into a tenth, at 1.50 less an hour for a month": {running(whole),
			evidence(6, 3, 10), offer, answer{Kind: Smaller, Size: "mig-1g.10gb", Saves: 150 * 730}},
		"a peak that leaves no room for more is not put into a size that it just fits": {running(whole), evidence(9, 3, 10),
			offer, answer{Kind: Smaller, Size: "mig-3g.20gb", Saves: 100 * 730}},
		"memory alone would fit, the engine would not": {running(whole), evidence(6, 30, 40), offer,
			answer{Why: Fits}},
		"a busy engine goes into a half that can do it": {running(whole), evidence(6, 20, 35), offer,
			answer{Kind: Smaller, Size: "mig-3g.20gb", Saves: 100 * 730}},
		"what is used is kept": {running(whole), evidence(30, 60, 95), offer,
			answer{Why: Fits}},
		"the smallest cannot be smaller": {running(fifth), evidence(1, 1, 5), offer,
			answer{Why: Fits}},
		"half the time held is half the saving": {running(whole),
			but(evidence(6, 3, 10), func(e *Evidence) { e.Held, e.Measured = 7*day, 7*day }), offer,
			answer{Kind: Smaller, Size: "mig-1g.10gb", Saves: 150 * 365}},
		"two cards of which one is used become one": {running(two),
			but(evidence(30, 40, 90), func(e *Evidence) { e.Devices = 2 }), []catalog.Size{whole, two},
			answer{Kind: Smaller, Size: "a100", Saves: 200 * 730}},
		"two cards that are both used stay": {running(two),
			but(evidence(60, 90, 95), func(e *Evidence) { e.Devices, e.DeviceMiB, e.Busy = 2, 30*1024, 190 }),
			[]catalog.Size{whole, two}, answer{Why: Fits}},
		"of a team that may not have the small one": {running(whole), evidence(6, 3, 10),
			[]catalog.Size{whole, with(tenth, func(s *catalog.Size) { s.Tenants = []string{"speech"} })}, answer{Why: Fits}},
		"weaker isolation is no advice": {running(whole), evidence(6, 3, 10),
			[]catalog.Size{whole, with(tenth, func(s *catalog.Size) { s.Isolation = catalog.IsolationNone })},
			answer{Why: Fits}},
		"nor is another card, one that may be taken away, or one that will be gone": {running(whole), evidence(6, 3, 10),
			[]catalog.Size{with(tenth, func(s *catalog.Size) { s.Accelerator.Model = "T4" }),
				with(tenth, func(s *catalog.Size) { s.Preemptible = true }),
				with(tenth, func(s *catalog.Size) { s.Deprecated = &catalog.Deprecation{} }),
				with(tenth, func(s *catalog.Size) { s.Hidden = true }),
				with(tenth, func(s *catalog.Size) { s.Clusters = []string{"west"} })}, answer{Why: Fits}},
		"nor is one that costs more": {running(whole), evidence(6, 3, 10),
			[]catalog.Size{with(tenth, func(s *catalog.Size) { s.PricePerHour.Minor = 201 })}, answer{Why: Fits}},
		"for the same money it still frees a part of the card": {running(whole), evidence(6, 3, 10),
			[]catalog.Size{with(tenth, func(s *catalog.Size) { s.PricePerHour.Minor = 200 })},
			answer{Kind: Smaller, Size: "mig-1g.10gb"}},
		"a shared card's value stands for several": {
			running(with(whole, func(s *catalog.Size) { s.Technology = catalog.TimeSlicing })), evidence(6, 3, 10), offer,
			answer{Why: Shared}},
		"a technology of the site's own is taken for shared": {
			running(with(whole, func(s *catalog.Size) { s.Technology = "hami" })), evidence(6, 3, 10), offer,
			answer{Why: Shared}},
		"two days are not enough": {running(whole),
			but(evidence(6, 3, 10), func(e *Evidence) { e.Held, e.Measured = 2*day, 2*day }), offer, answer{Why: TooNew}},
		"a fifth in the dark is too much": {running(whole),
			but(evidence(6, 3, 10), func(e *Evidence) { e.Measured = 11 * day }), offer, answer{Why: Patchy}},
		"a value that cannot be spoils the rest": {running(whole),
			but(evidence(6, 3, 10), func(e *Evidence) { e.Patchy = true }), offer, answer{Why: Patchy}},
		"nothing measured is nothing known, and not a GPU that nobody uses": {running(whole),
			but(evidence(0, 0, 0), func(e *Evidence) { e.Measured = 0 }), offer, answer{Why: NoMetrics}},
		"a GPU that was measured and never used goes into the cheapest": {running(whole), evidence(0, 0, 0), offer,
			answer{Kind: Smaller, Size: "mig-1g.5gb", Saves: 170 * 730}},
		"a size without its memory in the catalog": {
			running(with(whole, func(s *catalog.Size) { s.Accelerator.MemoryGiB = 0 })), evidence(6, 3, 10), offer,
			answer{Why: Unsized}},
		"no GPU": {running(catalog.Size{Name: "cpu", Technology: catalog.CPUOnly}), evidence(6, 3, 10),
			offer, answer{Why: NoGPU}},
		"what stands still holds nothing": {stopped, evidence(6, 3, 10), offer,
			answer{Why: Over}},
		"a full memory wants a larger one, which costs more": {running(tenth),
			but(evidence(9.7, 30, 50), func(e *Evidence) { e.Full = day }), offer, answer{Kind: Larger, Size: "mig-3g.20gb",
				Saves: -50 * 730, Signs: []Sign{MemoryFull}}},
		"a memory that was full for a moment is well used": {running(tenth),
			but(evidence(9.7, 30, 50), func(e *Evidence) { e.Full = time.Hour }), offer, answer{Why: Fits}},
		"what was full was full, whatever happened in the gaps": {running(tenth),
			but(evidence(9.7, 30, 50), func(e *Evidence) { e.Full, e.Measured = day, 5*day }), offer,
			answer{Kind: Larger, Size: "mig-3g.20gb", Saves: -50 * 730, Signs: []Sign{MemoryFull}}},
		"the largest is full, and there is nothing larger": {running(whole),
			but(evidence(39, 30, 50), func(e *Evidence) { e.Full = day }), offer,
			answer{Kind: Larger, Signs: []Sign{MemoryFull}}},
		"a program ended for its memory wants more of that of the computer, measured or not": {killedOne, Evidence{},
			append([]catalog.Size{roomier}, offer...), answer{Kind: Larger, Size: "mig-3g-ram", Saves: 60 * 730,
				Signs: []Sign{OutOfMemory}}},
		"a card that is busy and slowed down": {running(half),
			but(evidence(10, 85, 99), func(e *Evidence) { e.Throttle, e.Slowed = 14*day, 2*day }), offer,
			answer{Kind: Larger, Size: "a100", Saves: -100 * 730, Signs: []Sign{SlowedDown}}},
		"a card that is slowed down while nobody uses it": {running(half),
			but(evidence(10, 20, 40), func(e *Evidence) { e.Throttle, e.Slowed = 14*day, 2*day }), []catalog.Size{half, whole},
			answer{Why: Fits}},
	} {
		got := Judge(&c.w, c.e, c.offer, DefaultRule())
		if diff := cmp.Diff(c.want, answer{got.Kind, got.Why, got.Size.Name, got.Saves.Minor, got.Signs}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}

// TestSmallerAlwaysHasRoom: whatever is advised has room for what was seen, costs no more, and takes less of the card.
func TestSmallerAlwaysHasRoom(t *testing.T) {
	advised := 0
	for peak := 0.0; peak <= 80; peak += 1.5 {
		for high := 0.0; high <= 100; high += 7 {
			for _, from := range offer {
				e := evidence(min(peak, from.Accelerator.MemoryGiB), high/2, high)
				got := Judge(new(running(from)), e, offer, DefaultRule())
				if got.Kind != Smaller {
					continue
				}
				advised++
				if got.Size.Accelerator.MemoryGiB*1024 <= e.PeakMiB || cards(got.Size) < high/100*from.Accelerator.Share ||
					got.Size.PricePerHour.Minor > from.PricePerHour.Minor || got.Saves.Minor < 0 || cards(got.Size) >= cards(from) {
					t.Errorf("%s with %v GiB at %v %%: %s has no room", from.Name, peak, high, got.Size.Name)
				}
			}
		}
	}
	if advised == 0 {
		t.Error("want advice for some")
	}
}

func known(v float64, unit gpumetrics.Unit) gpumetrics.Reading {
	return gpumetrics.Reading{Value: v, Unit: unit, Source: gpumetrics.Measured, At: now}
}

func use(pod, uuid string, mib, mean, high float64, measured time.Duration) gpumetrics.WindowSummary {
	return gpumetrics.WindowSummary{Namespace: "gpu-vision", Pod: pod, UUID: uuid, MemoryPeak: known(mib, gpumetrics.MiB),
		EngineMean: known(mean, gpumetrics.Percent), EngineHigh: known(high, gpumetrics.Percent),
		Memory: measured, Engine: measured}
}

func TestGather(t *testing.T) {
	midnight := now.Truncate(day)
	days := func(uses ...[]gpumetrics.WindowSummary) (list []Day) {
		for i, u := range uses {
			list = append(list, Day{From: midnight.Add(time.Duration(i-len(uses)) * day),
				Until: midnight.Add(time.Duration(i-len(uses)+1) * day), Uses: u})
		}
		return list
	}
	since := func(from time.Time) []usage.Interval { return []usage.Interval{{From: from}} }
	young := running(whole)
	young.CreatedAt = midnight.Add(-30 * time.Hour)
	endpoint := running(whole)
	endpoint.Kind = catalog.Endpoint
	twice := running(two)
	noMemory := use("nb-0", "A", 1, 1, 1, day)
	noMemory.MemoryPeak = gpumetrics.Reading{Unit: gpumetrics.MiB, Why: gpumetrics.NoValue}
	type brief struct {
		Held, Measured   time.Duration
		Devices          int
		Peak, Device     float64
		Mean, High, Busy float64
		Patchy           bool
	}
	for sentence, c := range map[string]struct {
		w        workload.Workload
		meter    []usage.Interval
		days     []Day
		namesake time.Time
		want     brief
	}{
		"days add up, by the time in them": {running(whole), since(midnight.Add(-2 * day)),
			days([]gpumetrics.WindowSummary{use("nb-0", "A", 1000, 10, 30, day)},
				[]gpumetrics.WindowSummary{use("nb-0", "A", 3000, 40, 20, day/2)}), time.Time{},
			brief{2*day + 12*time.Hour, day * 3 / 2, 1, 3000, 3000, 20, 30, 30, false}},
		"others' pods are others': of another name, another namespace, another kind": {running(whole),
			since(midnight.Add(-day)), days([]gpumetrics.WindowSummary{use("nb-2-0", "A", 9000, 90, 90, day),
				use("anb-0", "A", 9000, 90, 90, day), use("nb-7d9c5b6f7c-5wq8z", "A", 9000, 90, 90, day),
				{Namespace: "gpu-speech", Pod: "nb-0", UUID: "A"}}), time.Time{},
			brief{Held: 36 * time.Hour}},
		"an endpoint's pods have other names": {endpoint, since(midnight.Add(-day)),
			days([]gpumetrics.WindowSummary{use("nb-7d9c5b6f7c-5wq8z", "A", 500, 5, 9, day),
				use("nb-0", "A", 9000, 90, 90, day)}),
			time.Time{},
			brief{36 * time.Hour, day, 1, 500, 500, 5, 9, 9, false}},
		"of two devices the memory is both, and the time that of one": {twice, since(midnight.Add(-day)),
			days([]gpumetrics.WindowSummary{use("nb-0", "A", 1000, 80, 90, day), use("nb-0", "B", 500, 0, 0, day)}), time.Time{},
			brief{36 * time.Hour, day, 2, 1500, 1000, 40, 90, 90, false}},
		"two devices one after the other are one": {running(whole), since(midnight.Add(-day)),
			days([]gpumetrics.WindowSummary{use("nb-0", "A", 1000, 80, 90, day/2), use("nb-0", "B", 500, 0, 10, day/2)}),
			time.Time{},
			brief{36 * time.Hour, day, 1, 1000, 1000, 40, 90, 90, false}},
		"days of before it was made are not its own; the one of its making is, as far as nobody else had its name": {young,
			since(midnight.Add(-30 * time.Hour)), days([]gpumetrics.WindowSummary{use("nb-0", "A", 9000, 90, 90, day)},
				[]gpumetrics.WindowSummary{use("nb-0", "A", 700, 7, 7, day/4)},
				[]gpumetrics.WindowSummary{use("nb-0", "A", 100, 7, 7, day)}),
			time.Time{},
			brief{42 * time.Hour, 30 * time.Hour, 1, 700, 700, 7, 7, 7, false}},
		"with a namesake that ended on that day it is not": {young, since(midnight.Add(-30 * time.Hour)),
			days([]gpumetrics.WindowSummary{use("nb-0", "A", 700, 7, 7, day/4)},
				[]gpumetrics.WindowSummary{use("nb-0", "A", 100, 7, 7, day)}), midnight.Add(-31 * time.Hour),
			brief{42 * time.Hour, day, 1, 100, 100, 7, 7, 7, false}},
		"a value that cannot be is not zero": {running(whole), since(midnight.Add(-day)),
			days([]gpumetrics.WindowSummary{noMemory}),
			time.Time{}, brief{Held: 36 * time.Hour, Devices: 1, Patchy: true}},
		"a meter that ended counts to its end": {running(whole),
			[]usage.Interval{{From: midnight.Add(-20 * day), Until: midnight.Add(-10 * day)},
				{From: midnight.Add(-2 * time.Hour), Until: midnight.Add(-time.Hour), UnknownUntil: midnight}}, nil, time.Time{},
			brief{Held: 3*day + 12*time.Hour + time.Hour}},
	} {
		e := Gather(&c.w, c.meter, c.days, c.namesake, now, 14*day)
		got := brief{e.Held, e.Measured, e.Devices, e.PeakMiB, e.DeviceMiB, e.Mean, e.High, e.Busy, e.Patchy}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}

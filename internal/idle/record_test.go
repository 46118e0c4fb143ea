package idle

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/quick"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const slot = 5 * time.Minute

func slice() workload.Workload {
	return workload.Workload{ID: "w-1", Name: "nb", Namespace: "gpu-vision", Tenant: "vision", Cluster: "main",
		Kind: catalog.Notebook, State: workload.Running, Desired: workload.WantRunning, Generation: 1,
		Size: catalog.Size{Name: "mig-1g.10gb", Technology: catalog.MIG, Accelerator: catalog.Accelerator{Vendor: "nvidia",
			Resource: "nvidia.com/mig-1g.10gb", Count: 1}}}
}

func stopAfter(d time.Duration) Setting {
	return Setting{Action: Stop, After: catalog.Duration(d), Below: 5, KeepAlive: catalog.Duration(d)}
}

func percent(v float64) gpumetrics.Reading {
	return gpumetrics.Reading{Value: v, Unit: gpumetrics.Percent, Source: gpumetrics.Measured}
}

func TestLooks(t *testing.T) {
	until := noon.Add(slot)
	work := func(pod, uuid string, high gpumetrics.Reading, known time.Duration) gpumetrics.PodUtilization {
		return gpumetrics.PodUtilization{Namespace: "gpu-vision", Pod: pod, UUID: uuid,
			Slots: []gpumetrics.UtilizationSlot{{Until: until, High: high, Known: known}}}
	}
	two := slice()
	two.Size.Technology, two.Size.Accelerator.Resource, two.Size.Accelerator.Count = catalog.Full, "nvidia.com/gpu", 2
	shared := slice()
	shared.Size.Technology = catalog.TimeSlicing
	sleeps := slice()
	sleeps.Replicas.Scaling.ToZeroAfter = catalog.Duration(time.Hour)
	cpu := slice()
	cpu.Size = catalog.Size{Name: "cpu", Technology: catalog.CPUOnly}
	for name, c := range map[string]struct {
		of    workload.Workload
		works []gpumetrics.PodUtilization
		want  Observation
	}{
		"all of it measured": {slice(), []gpumetrics.PodUtilization{work("nb-0", "A", percent(3), slot)},
			Observation{High: 3}},
		"the busiest of two counts": {two, []gpumetrics.PodUtilization{work("nb-0", "A", percent(3), slot),
			work("nb-0", "B", percent(80), slot)}, Observation{High: 80}},
		"one of two is missing": {two, []gpumetrics.PodUtilization{work("nb-0", "A", percent(3), slot)},
			Observation{High: 3, Reason: Partly}},
		"a part of the time is missing": {slice(),
			[]gpumetrics.PodUtilization{work("nb-0", "A", percent(3), slot-time.Second)}, Observation{High: 3, Reason: Partly}},
		"a pod that came in place of another": {slice(), []gpumetrics.PodUtilization{work("nb-0", "A", percent(3), slot),
			work("nb-0", "B", percent(1), slot/2)}, Observation{High: 3, Reason: Partly}},
		"nothing measured is not nothing done": {slice(), nil, Observation{Reason: Unmeasured}},
		"no value": {slice(),
			[]gpumetrics.PodUtilization{work("nb-0", "A", gpumetrics.Reading{Unit: gpumetrics.Percent}, slot)},
			Observation{Reason: Unclear}},
		"not a number": {slice(), []gpumetrics.PodUtilization{work("nb-0", "A", percent(math.NaN()), slot)},
			Observation{Reason: Unclear}},
		"somebody else's pod": {slice(), []gpumetrics.PodUtilization{work("nb-2-0", "A", percent(0), slot)},
			Observation{Reason: Unmeasured}},
		"a card that others share, whatever its value says": {shared,
			[]gpumetrics.PodUtilization{work("nb-0", "A", percent(0), slot)},
			Observation{Reason: Shared}},
		"it sleeps when nobody calls it": {sleeps, []gpumetrics.PodUtilization{work("nb-0", "A", percent(0), slot)},
			Observation{Reason: Sleeps}},
		"no GPU": {cpu, []gpumetrics.PodUtilization{work("nb-0", "A", percent(0), slot)}, Observation{Reason: NoGPU}},
	} {
		c.want.From, c.want.Until = noon, until
		if diff := cmp.Diff([]Observation{c.want}, Observe(c.of, stopAfter(time.Hour),
			Measured{Devices: c.works}, noon, until, slot)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestMemoryThatChangesIsUse: of a device that is the workload's own, and of a share where the exporter tells its part.
// The memory of a whole card that others share says nothing of one pod, and what is not measured says nothing at all.
func TestMemoryThatChangesIsUse(t *testing.T) {
	until := noon.Add(slot)
	mib := func(v float64) gpumetrics.Reading {
		return gpumetrics.Reading{Value: v, Unit: gpumetrics.MiB, Source: gpumetrics.Measured}
	}
	none := gpumetrics.Reading{Unit: gpumetrics.MiB, Why: gpumetrics.NoSeries}
	work := func(uuid string, memory gpumetrics.Reading, own bool) gpumetrics.PodUtilization {
		return gpumetrics.PodUtilization{Namespace: "gpu-vision", Pod: "nb-0", UUID: uuid,
			Slots: []gpumetrics.UtilizationSlot{{Until: until, High: percent(1), Known: slot, MemoryChange: memory,
				OwnMemory: own}}}
	}
	calm := []gpumetrics.PodUsage{{Namespace: "gpu-vision", Pod: "nb-0", Slots: []gpumetrics.UsageSlot{{Until: until,
		CPU: gpumetrics.Rate{Value: 0.01, Known: slot}, Network: gpumetrics.Rate{Value: 300, Known: slot}}}}}
	two := slice()
	two.Size.Technology, two.Size.Accelerator.Resource, two.Size.Accelerator.Count = catalog.Full, "nvidia.com/gpu", 2
	shared := slice()
	shared.Size.Technology = catalog.TimeSlicing
	for name, c := range map[string]struct {
		of     workload.Workload
		works  []gpumetrics.PodUtilization
		idle   bool
		memory MemoryChange
	}{
		"a model is loaded, or given back": {slice(), []gpumetrics.PodUtilization{work("A", mib(64), false)}, false,
			MemoryChange{}},
		"less than that is a program that waits": {slice(), []gpumetrics.PodUtilization{work("A", mib(63), false)}, true,
			MemoryChange{63, true}},
		"not measured": {slice(), []gpumetrics.PodUtilization{work("A", none, false)}, true, MemoryChange{}},
		"one of two changes": {two, []gpumetrics.PodUtilization{work("A", mib(0), false), work("B", mib(900), false)}, false,
			MemoryChange{}},
		"one changes and the other is not measured": {two, []gpumetrics.PodUtilization{work("A", none, false),
			work("B", mib(900), false)}, false, MemoryChange{}},
		"one is still and the other is not measured": {two, []gpumetrics.PodUtilization{work("A", none, false),
			work("B", mib(2), false)}, true, MemoryChange{2, false}},
		"a neighbour on a shared card": {shared, []gpumetrics.PodUtilization{work("A", mib(900), false)}, true,
			MemoryChange{}},
		"its own part of a shared card": {shared, []gpumetrics.PodUtilization{work("A", mib(900), true)}, false,
			MemoryChange{}},
		"its own part of a shared card that waits": {shared, []gpumetrics.PodUtilization{work("A", mib(1), true)}, true,
			MemoryChange{1, true}},
	} {
		s := thresholds(stopAfter(time.Hour))
		looks := Observe(c.of, s, Measured{Devices: c.works, Pods: calm}, noon, until, slot)
		m := Accumulate(Record{Until: noon}, c.of, s, looks[0])
		if m.Since.IsZero() == c.idle || m.MemoryHigh != c.memory {
			t.Errorf("%s: want idle %t with %+v, got %+v of %+v", name, c.idle, c.memory, m, looks)
		}
	}
	// a device whose engine nobody measures is not known, whatever its memory does
	work0 := work("A", mib(0), false)
	work0.Slots[0].High, work0.Slots[0].Known = gpumetrics.Reading{Unit: gpumetrics.Percent, Why: gpumetrics.NoSeries}, 0
	alone := Measured{Devices: []gpumetrics.PodUtilization{work0}}
	looks := Observe(slice(), stopAfter(time.Hour), alone, noon, until, slot)
	if looks[0].Reason != Unmeasured {
		t.Errorf("memory alone: want it unmeasured, got %+v", looks)
	}
}

// TestTheHighestChangeIsOfAllTheIdleTime: what is known of a part of it is not known of the whole.
func TestTheHighestChangeIsOfAllTheIdleTime(t *testing.T) {
	w, s := slice(), stopAfter(time.Hour)
	look := func(n int, c MemoryChange) Observation {
		from := noon.Add(time.Duration(n) * slot)
		return Observation{From: from, Until: from.Add(slot), High: 1, Memory: c}
	}
	for name, c := range map[string]struct {
		looks []MemoryChange
		want  MemoryChange
		since time.Time
	}{
		"the highest": {[]MemoryChange{{3, true}, {9, true}, {0, true}}, MemoryChange{9, true}, noon},
		"a gap":       {[]MemoryChange{{3, true}, {}, {4, true}}, MemoryChange{4, false}, noon},
		"a model is loaded": {[]MemoryChange{{3, true}, {4000, true}, {1, true}}, MemoryChange{1, true},
			noon.Add(2 * slot)},
	} {
		m := Record{Until: noon}
		for i, l := range c.looks {
			m = Accumulate(m, w, s, look(i, l))
		}
		if m.MemoryHigh != c.want || !m.Since.Equal(c.since) {
			t.Errorf("%s: want %+v since %v, got %+v since %v", name, c.want, c.since, m.MemoryHigh, m.Since)
		}
	}
}

// quiet folds so many idle stretches, from noon on.
func quiet(w workload.Workload, s Setting, n int) Record {
	m := Record{}
	for i := range n {
		from := noon.Add(time.Duration(i) * slot)
		m = Accumulate(m, w, s, Observation{From: from, Until: from.Add(slot), High: 1, Pod: PodUse{0.01, 300}})
	}
	return m
}

// TestLooksAtPods: what has no device of its own is judged by CPU and network of its pods, where the setting says so.
// Without one of them, or with a part of the time, nothing is known.
func TestLooksAtPods(t *testing.T) {
	until := noon.Add(slot)
	rate := func(v float64) gpumetrics.Rate { return gpumetrics.Rate{Value: v, Known: slot} }
	pod := func(name string, cpu, network gpumetrics.Rate) gpumetrics.PodUsage {
		return gpumetrics.PodUsage{Namespace: "gpu-vision", Pod: name, Slots: []gpumetrics.UsageSlot{{Until: until, CPU: cpu,
			Network: network}}}
	}
	quiet := pod("nb-0", rate(0.01), rate(300))
	is := func(cpu, network float64, r Reason) Observation {
		return Observation{Pod: PodUse{cpu, network}, Reason: r}
	}
	shared := slice()
	shared.Size.Technology = catalog.TimeSlicing
	replicas := cpuOnly()
	replicas.Kind, replicas.Replicas.Wanted = catalog.Endpoint, 2
	first, second := "nb-7d9c5b6f7c-5wq8z", "nb-7d9c5b6f7c-8x2kp"
	sleeps := cpuOnly()
	sleeps.Replicas.Scaling.ToZeroAfter = catalog.Duration(time.Hour)
	on := thresholds(stopAfter(time.Hour))
	for name, c := range map[string]struct {
		of   workload.Workload
		s    Setting
		pods []gpumetrics.PodUsage
		want Observation
	}{
		"a share of a card": {shared, on, []gpumetrics.PodUsage{quiet}, is(0.01, 300, "")},
		"no GPU":            {cpuOnly(), on, []gpumetrics.PodUsage{quiet}, is(0.01, 300, "")},
		"a share, and nobody has set it": {shared, stopAfter(time.Hour), []gpumetrics.PodUsage{quiet},
			Observation{Reason: Shared}},
		"no GPU, and nobody has set it": {cpuOnly(), stopAfter(time.Hour), []gpumetrics.PodUsage{quiet},
			Observation{Reason: NoGPU}},
		"a device of its own is judged by that": {slice(), on, []gpumetrics.PodUsage{quiet},
			Observation{Reason: Unmeasured}},
		"it sleeps by itself": {sleeps, on, []gpumetrics.PodUsage{quiet}, Observation{Reason: Sleeps}},
		"nothing at all":      {shared, on, nil, Observation{Reason: Unmeasured}},
		"no CPU": {shared, on, []gpumetrics.PodUsage{pod("nb-0", gpumetrics.Rate{}, rate(300))},
			is(0, 300, CPUUnmeasured)},
		"no network": {shared, on, []gpumetrics.PodUsage{pod("nb-0", rate(0.01), gpumetrics.Rate{})},
			is(0.01, 0, NetworkUnmeasured)},
		"neither": {shared, on, []gpumetrics.PodUsage{pod("nb-0", gpumetrics.Rate{}, gpumetrics.Rate{})},
			is(0, 0, Unmeasured)},
		"a gap of the CPU": {shared, on, []gpumetrics.PodUsage{pod("nb-0", gpumetrics.Rate{Value: 0.01,
			Known: slot - time.Second}, rate(300))}, is(0.01, 300, Partly)},
		"a gap of the network": {shared, on, []gpumetrics.PodUsage{pod("nb-0", rate(0.01), gpumetrics.Rate{Value: 300,
			Known: slot - time.Second})}, is(0.01, 300, Partly)},
		"a value that cannot be": {shared, on, []gpumetrics.PodUsage{pod("nb-0", rate(math.NaN()), rate(300))},
			is(0, 0, Unclear)},
		"somebody else's pod": {shared, on, []gpumetrics.PodUsage{pod("nb-2-0", rate(0), rate(0))},
			Observation{Reason: Unmeasured}},
		"the busiest of each counts": {replicas, on, []gpumetrics.PodUsage{pod(first, rate(0.01), rate(300)),
			pod(second, rate(0.9), rate(20))}, is(0.9, 300, "")},
		"one of two replicas is missing": {replicas, on, []gpumetrics.PodUsage{pod(first, rate(0.01), rate(300))},
			is(0.01, 300, Partly)},
		"a pod that ended within it": {replicas, on, []gpumetrics.PodUsage{pod(first, rate(0.01), rate(300)),
			pod(second, rate(0.01), rate(300)), pod("nb-7d9c5b6f7c-zzzzz", gpumetrics.Rate{Value: 0.01, Known: slot / 2},
				rate(300))}, is(0.01, 300, Partly)},
	} {
		c.want.From, c.want.Until = noon, until
		got := Observe(c.of, c.s, Measured{Pods: c.pods}, noon, until, slot)
		if diff := cmp.Diff([]Observation{c.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestPodsAreIdleOnlyBelowBoth: CPU and network both have to lie below, all of the time, under the same thresholds.
func TestPodsAreIdleOnlyBelowBoth(t *testing.T) {
	w, s := cpuOnly(), thresholds(stopAfter(time.Hour)) // 0.05 cores, 5 kB/s
	higher := s
	higher.Network = 6000
	look := func(n int, of PodUse, r Reason) Observation {
		from := noon.Add(time.Duration(n) * slot)
		return Observation{From: from, Until: from.Add(slot), Pod: of, Reason: r}
	}
	calm := PodUse{0.01, 300}
	for name, c := range map[string]struct {
		second Observation
		s      Setting
		want   time.Time // idle since, after a third that is calm; zero for not
	}{
		"calm all the time":        {look(1, PodUse{0.02, 100}, ""), s, noon},
		"the CPU works":            {look(1, PodUse{0.05, 0}, ""), s, noon.Add(2 * slot)},
		"the network works":        {look(1, PodUse{0, 5000}, ""), s, noon.Add(2 * slot)},
		"the CPU is not known":     {look(1, calm, CPUUnmeasured), s, noon.Add(2 * slot)},
		"the network is not known": {look(1, calm, NetworkUnmeasured), s, noon.Add(2 * slot)},
		"a restart":                {look(1, calm, Partly), s, noon.Add(2 * slot)},
		"not a number":             {look(1, PodUse{math.NaN(), 0}, ""), s, noon.Add(2 * slot)},
		"other thresholds":         {look(1, calm, ""), higher, noon.Add(2 * slot)},
	} {
		m := Accumulate(Record{Until: noon}, w, s, look(0, calm, ""))
		m = Accumulate(m, w, c.s, c.second)
		m = Accumulate(m, w, s, look(2, calm, ""))
		if !m.Since.Equal(c.want) {
			t.Errorf("%s: want idle since %v, got %v", name, c.want, m.Since)
		}
	}
	late := Accumulate(Accumulate(Record{Until: noon}, w, s, look(0, calm, "")), w, s, look(2, calm, ""))
	if !late.Since.Equal(noon.Add(2 * slot)) {
		t.Errorf("a gap: want the time begun anew, got %v", late.Since)
	}
	m := Accumulate(Record{Until: noon}, w, s, look(0, PodUse{0.01, 400}, ""))
	m = Accumulate(m, w, s, look(1, PodUse{0.03, 9}, ""))
	if (m.PodHigh != PodUse{0.03, 400}) {
		t.Errorf("want the highest of each, got %+v", m.PodHigh)
	}
	off := s
	off.CPU, off.Network = 0, 0
	for name, of := range map[string]Setting{"nobody wants that judged any more": off, "other thresholds": higher} {
		if got := m.Verdict(of, m.Until.Add(time.Minute), time.Hour*24); got != Off {
			t.Errorf("%s: want nothing, got %s", name, got)
		}
	}
	early := s
	early.After = catalog.Duration(2 * slot)
	if got := m.Verdict(early, m.Until.Add(time.Minute), time.Hour); got != Warn {
		t.Errorf("want a warning, got %s", got)
	}
}

// TestWhoIsInsideUses: a terminal, a tunnel or an open connection is use of what is judged by its pods.
func TestWhoIsInsideUses(t *testing.T) {
	s := thresholds(stopAfter(time.Hour))
	for name, c := range map[string]struct {
		last time.Duration // since noon; 0 for never
		want time.Duration // likewise, idle since; -1 for not
	}{
		"nobody ever":   {0, 0},
		"before":        {-time.Hour, 0},
		"in between":    {10 * time.Minute, 11 * time.Minute},
		"still":         {45 * time.Minute, -1},
		"after the end": {50 * time.Minute, -1},
	} {
		w := cpuOnly()
		m := quiet(w, s, 9)
		var last time.Time
		if c.last != 0 {
			last = noon.Add(c.last)
		}
		want := noon.Add(c.want)
		if c.want < 0 {
			want = time.Time{}
		}
		if got := ApplyVisit(m, w, last).Since; !got.Equal(want) {
			t.Errorf("%s: want idle since %v, got %v", name, want, got)
		}
	}
	if w := slice(); !ApplyVisit(quiet(w, s, 9), w, noon.Add(time.Hour)).Since.Equal(noon) {
		t.Error("a window that is open is no work of a GPU")
	}
}

func TestVerdicts(t *testing.T) {
	s := stopAfter(time.Hour) // told after 45 minutes
	told := quiet(slice(), s, 9).Warned(s, noon.Add(46*time.Minute))
	full := quiet(slice(), s, 14)
	full.WarnedAt, full.StopsAt = told.WarnedAt, told.StopsAt
	with := func(m Record, change func(*Record)) Record { change(&m); return m }
	onlyWarn := s
	onlyWarn.Action = Warn
	for name, c := range map[string]struct {
		m     Record
		s     Setting
		after time.Duration // since noon
		want  Action
	}{
		"not idle for long enough":                 {quiet(slice(), s, 8), s, 41 * time.Minute, Off},
		"long enough for a warning":                {quiet(slice(), s, 9), s, 46 * time.Minute, Warn},
		"one warning is enough":                    {told, s, 47 * time.Minute, Off},
		"warned, and idle for all of the time":     {full, s, 71 * time.Minute, Stop},
		"idle for all of the time, and not warned": {quiet(slice(), s, 14), s, 71 * time.Minute, Warn},
		"the time that they were told is not over": {with(full, func(m *Record) { m.StopsAt = noon.Add(80 * time.Minute) }),
			s,
			71 * time.Minute, Off},
		"warned of nothing but idleness": {with(full, func(m *Record) { m.StopsAt = time.Time{} }), s,
			71 * time.Minute, Warn},
		"warned in a former idle time": {with(full, func(m *Record) { m.WarnedAt = noon.Add(-time.Hour) }), s,
			71 * time.Minute, Warn},
		"somebody needs it": {with(full, func(m *Record) { m.KeepAliveUntil = noon.Add(2 * time.Hour) }), s,
			71 * time.Minute, Off},
		"it was needed, and idle time counts anew": {with(full, func(m *Record) {
			m.KeepAliveUntil = noon.Add(40 * time.Minute)
		}),
			s, 71 * time.Minute, Off},
		"nobody looked for a while": {full, s, 90 * time.Minute, Off},
		"the clock was set back":    {full, s, 69 * time.Minute, Off},
		"the threshold is another one now": {full, Setting{Action: Stop, After: s.After, Below: 6}, 71 * time.Minute,
			Off},
		"disabled":               {full, Setting{Action: Off}, 71 * time.Minute, Off},
		"a warning alone, early": {quiet(slice(), onlyWarn, 11), onlyWarn, 56 * time.Minute, Off},
		"a warning alone, once all of it is over":   {quiet(slice(), onlyWarn, 12), onlyWarn, 61 * time.Minute, Warn},
		"a warning alone is never followed by more": {full, onlyWarn, 71 * time.Minute, Off},
		"nothing is known":                          {Record{}, s, 71 * time.Minute, Off},
	} {
		if got := c.m.Verdict(c.s, noon.Add(c.after), 3*slot); got != c.want {
			t.Errorf("%s: want %s, got %s", name, c.want, got)
		}
	}
}

func TestWhatANotebookSaysOfItself(t *testing.T) {
	s, now := stopAfter(time.Hour), noon.Add(46*time.Minute)
	kernel := func(state string, ago time.Duration) workload.Kernel {
		return workload.Kernel{Name: "python3", State: state, LastActivity: now.Add(-ago)}
	}
	said := func(at time.Time, last time.Duration, kernels ...workload.Kernel) *workload.Activity {
		return &workload.Activity{At: at, LastActivity: now.Add(-last), Kernels: kernels}
	}
	for name, c := range map[string]struct {
		said *workload.Activity
		want time.Time // since when it is idle; zero for not
	}{
		"nothing since before": {said(now, 2*time.Hour, kernel("idle", 2*time.Hour)), noon},
		"a kernel at work": {said(now, 2*time.Hour, kernel("idle", 2*time.Hour),
			kernel("busy", 2*time.Hour)), time.Time{}},
		"a kernel that does what nobody can tell": {said(now, 2*time.Hour, kernel("unknown", 2*time.Hour)),
			time.Time{}},
		"somebody ran something": {said(now, time.Hour, kernel("idle", 16*time.Minute)),
			now.Add(-16 * time.Minute)},
		"an open window that asks is no work":             {said(now, 0, kernel("idle", 2*time.Hour)), noon},
		"without kernels somebody does something there":   {said(now, 0), time.Time{}},
		"nothing was heard of it":                         {nil, time.Time{}},
		"nothing was heard of it for a while":             {said(now.Add(-6*time.Minute), 2*time.Hour), time.Time{}},
		"what it says of tomorrow is no word of today":    {said(now.Add(time.Hour), 2*time.Hour), time.Time{}},
		"a kernel whose clock is ahead is taken for work": {said(now, 2*time.Hour, kernel("idle", -time.Hour)), time.Time{}},
	} {
		w := slice()
		w.Image = catalog.Image{Auth: "token", Port: 8888}
		w.Observed.Activity = c.said
		if got := ApplyActivity(quiet(w, s, 9), w, now).Since; !got.Equal(c.want) {
			t.Errorf("%s: want idle since %v, got %v", name, c.want, got)
		}
	}
	other := slice() // no Jupyter server: its engine alone counts
	if got := ApplyActivity(quiet(other, s, 9), other, now).Since; !got.Equal(noon) {
		t.Errorf("want what nobody asks judged by its engine, got %v", got)
	}
}

// world is a history by chance: stretches that are idle, at work, unknown or left out, starts in between, somebody who
// needs it, changes of the setting, and a clock that jumps.
type moment struct {
	look  *Observation // nil: nobody looked
	now   time.Time
	s     Setting
	gen   int64
	needs bool
}

// history has its use in both ways: of a device, and of a pod, whose CPU or network tells it.
func history(r *rand.Rand) []moment {
	s, gen, at := stopAfter(time.Duration(1+r.IntN(6))*10*time.Minute), int64(1), noon
	idler := r.IntN(4) > 0
	var list []moment
	for range 60 {
		reasons := []Reason{NoGPU, Shared, Sleeps, Unmeasured, CPUUnmeasured, NetworkUnmeasured, Partly, Unclear}
		l := Observation{From: at, Until: at.Add(slot), High: float64(r.IntN(4))}
		switch n := r.IntN(24); {
		case n == 0 || !idler && n < 8:
			l.High = 5 + 95*r.Float64()
		case n == 1:
			l.Reason = reasons[r.IntN(len(reasons))]
		}
		m := moment{look: &l, now: l.Until.Add(time.Duration(r.IntN(75)) * time.Second), s: s, gen: gen}
		switch r.IntN(40) {
		case 0:
			m.look = nil
		case 1:
			gen++
			m.gen = gen
		case 2:
			m.needs = true
		case 3:
			s.Below, s.Action = 4+r.IntN(3), Actions()[r.IntN(3)]
		case 4:
			m.now = m.now.Add(time.Duration(r.IntN(48)-24) * time.Hour)
		}
		if m.s = thresholds(m.s); r.IntN(2) == 0 {
			l.Pod.CPU = l.High / 100
		} else {
			l.Pod.Network = l.High * 1000
		}
		list, at = append(list, m), at.Add(slot)
	}
	return list
}

// thresholds has those of a pod beside that of a device, such that one is passed where the other is.
func thresholds(s Setting) Setting {
	s.CPU, s.Network = float64(s.Below)/100, s.Below*1000
	return s
}

// judged are workloads of both kinds.
func judged() []workload.Workload {
	shared := slice()
	shared.Size.Technology = catalog.TimeSlicing
	return []workload.Workload{slice(), shared, cpuOnly()}
}

func cpuOnly() workload.Workload {
	w := slice()
	w.Size = catalog.Size{Name: "cpu", Technology: catalog.CPUOnly}
	return w
}

// TestNothingIsStoppedOnDoubt holds the judge against whoever reads all of the past afresh each time: what is stopped
// was idle without a gap for all of the time under one spec and one threshold, nobody needed it, its owner was told in
// that time, and had as long as they were told.
func TestNothingIsStoppedOnDoubt(t *testing.T) {
	warnings, stops := 0, 0
	holds := func(seed uint64) bool {
		past := history(rand.New(rand.NewPCG(seed, 1)))
		var m Record
		told, kept := time.Time{}, time.Time{}
		for i, now := range past {
			w := judged()[seed%3]
			w.Generation = now.gen
			if now.look != nil {
				if m = Accumulate(m, w, now.s, *now.look); m.KeepAliveUntil.IsZero() {
					kept = time.Time{} // what somebody said of a former spec is over
				}
			}
			if now.needs {
				kept = now.now.Add(now.s.KeepAlive.Std())
				m = m.KeepAlive(kept, "Dana")
			}
			verdict := m.Verdict(now.s, now.now, 3*slot)
			if m.Generation != now.gen {
				verdict = Off // as the service does, which looks once more
			}
			idle := time.Duration(0) // the oracle: backwards from now, as far as nothing speaks against it
			last := i                // what was looked at last; Verdict sees to it that this is not long ago
			for last > 0 && past[last].look == nil {
				last--
			}
			for j := last; j >= 0; j-- {
				p := past[j]
				if p.look == nil || p.look.Reason != "" || p.look.High >= float64(now.s.Below) || p.gen != now.gen ||
					p.s.Below != now.s.Below || j < last && p.needs || p.look.From.Before(kept) {
					break
				}
				idle += slot
			}
			switch verdict {
			case Warn:
				warnings++
				told = now.now
				m = m.Warned(now.s, now.now)
			case Stop:
				stops++
				if idle < now.s.After.Std() || now.s.Action != Stop || now.now.Before(kept) || told.IsZero() ||
					now.now.Sub(told) < now.s.Notice() || told.Before(past[last].look.Until.Add(-idle)) ||
					now.now.Sub(past[last].look.Until) > 3*slot || now.now.Before(past[last].look.Until) {
					t.Errorf("seed %d: stopped at step %d after %s of idle time, told at %v, kept until %v, under %+v", seed, i, idle,
						told, kept, now.s)
					return false
				}
				m, told, kept = Record{}, time.Time{}, time.Time{}
			}
		}
		return true
	}
	if err := quick.Check(holds, &quick.Config{MaxCount: 3000}); err != nil {
		t.Fatal(err)
	}
	if warnings < 100 || stops < 100 {
		t.Errorf("%d warnings and %d ends prove nothing", warnings, stops)
	}
}

// TestABusySampleAlwaysHelps: whoever works more is never stopped earlier.
func TestABusySampleAlwaysHelps(t *testing.T) {
	holds := func(seed uint64) bool {
		r := rand.New(rand.NewPCG(seed, 2))
		past := history(r)
		busy := r.IntN(len(past))
		run := func(extra bool) int {
			var m Record
			for i, now := range past {
				w := judged()[seed%3]
				w.Generation = now.gen
				if now.look != nil {
					l := *now.look
					if extra && i == busy {
						l.High, l.Pod.CPU = 100, 1
					}
					m = Accumulate(m, w, now.s, l)
				}
				switch m.Verdict(now.s, now.now, 3*slot) {
				case Warn:
					m = m.Warned(now.s, now.now)
				case Stop:
					return i
				}
			}
			return len(past)
		}
		return run(true) >= run(false)
	}
	if err := quick.Check(holds, &quick.Config{MaxCount: 2000}); err != nil {
		t.Fatal(err)
	}
}

func TestWhatCountsForWhom(t *testing.T) {
	all := stopAfter(8 * time.Hour)
	s := Settings{All: &all, Sizes: map[string]Setting{"full": {Action: Warn, After: catalog.Duration(time.Hour)}},
		Teams: map[string]Setting{"vision": {Action: Off}}}
	for name, c := range map[string]struct {
		team, size string
		want       Action
	}{"neither": {"speech", "mig", Stop}, "the size's": {"speech", "full", Warn},
		"the team's before the size's": {"vision", "full", Off}} {
		if got := s.Of(c.team, c.size).Action; got != c.want {
			t.Errorf("%s: want %s, got %s", name, c.want, got)
		}
	}
	if (Settings{}).Of("a", "b").On() || (Settings{}).Any() || !s.Any() {
		t.Error("nothing set is off, and one that is on is enough")
	}
}

func TestSlots(t *testing.T) {
	at := func(text string) time.Time { v, _ := time.Parse("15:04:05", text); return v.AddDate(2026, 0, 0) }
	for name, c := range map[string]struct {
		last, now   string
		from, until string // "" for nothing
	}{
		"the one that is just over":  {"12:00:00", "12:07:00", "12:00:00", "12:05:00"},
		"it is not settled yet":      {"12:00:00", "12:05:30", "", ""},
		"all that nobody looked at":  {"11:30:00", "12:07:00", "11:30:00", "12:05:00"},
		"nobody looked for too long": {"09:30:00", "12:07:00", "12:00:00", "12:05:00"},
		"looked at already":          {"12:05:00", "12:07:00", "", ""},
		"the clock was set back":     {"13:05:00", "12:07:00", "", ""},
		"another length than before": {"11:58:00", "12:07:00", "12:00:00", "12:05:00"},
	} {
		from, until, ok := slots(at(c.last), at(c.now), slot)
		if ok != (c.from != "") || ok && (!from.Equal(at(c.from)) || !until.Equal(at(c.until))) {
			t.Errorf("%s: want %q to %q, got %v to %v %v", name, c.from, c.until, from, until, ok)
		}
	}
}

package idle

import (
	"math"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Reason says why the use of a workload is unknown in a stretch of time.
type Reason string

// The causes.
const (
	NoGPU             Reason = "no_gpu"             // there is no device to measure, and CPU and network are not judged
	Shared            Reason = "shared"             // values of a shared card are not the workload's own, likewise
	Sleeps            Reason = "sleeps"             // an endpoint gives its GPU back by itself when nobody calls it
	Unmeasured        Reason = "unmeasured"         // nothing was measured
	CPUUnmeasured     Reason = "cpu_unmeasured"     // of a pod that is judged by CPU and network there is no CPU
	NetworkUnmeasured Reason = "network_unmeasured" // or no network
	Partly            Reason = "partly"             // a device, a pod, or a part of the time is missing
	Unclear           Reason = "unclear"            // a value came that cannot be
)

// PodUse is the CPU and network of a pod: what it used, or a threshold.
type PodUse struct {
	CPU     float64 // cores
	Network float64 // bytes per second, received and sent
}

// below reports whether both lie below their thresholds.
func (u PodUse) below(limit PodUse) bool { return u.CPU < limit.CPU && u.Network < limit.Network }

// most is the higher one of each.
func (u PodUse) most(other PodUse) PodUse {
	return PodUse{max(u.CPU, other.CPU), max(u.Network, other.Network)}
}

// MemoryUsed is the least change of a device's used memory that is use, in MiB: somebody loads a model or allocates
// tensors. It is a guess: more than the few MiB by which a program changes that waits, less than a program takes that
// begins to work. PyTorch takes blocks of 2 and 20 MiB (c10/cuda/CUDACachingAllocator), a CUDA context hundreds.
const MemoryUsed = 64

// MemoryChange is by how much the used memory of a workload's devices changed, that of the device whose changed most.
type MemoryChange struct {
	MiB   float64 // of those that are measured
	Known bool    // all of them are
}

// most is the higher one; of what is known only in part of the time the highest is not known.
func (c MemoryChange) most(other MemoryChange) MemoryChange {
	return MemoryChange{max(c.MiB, other.MiB), c.Known && other.Known}
}

// Observation is the use of a workload in one stretch of time.
type Observation struct {
	From, Until time.Time
	High        float64 // per cent of the busiest device's engine in its busiest sample
	Pod         PodUse  // of the busiest pod, of a workload that is judged by its pods; of each the highest
	// a sign of use where it is known; where it is not, the others decide alone
	Memory MemoryChange
	Reason Reason // "" where all of the stretch is known, but for the memory
}

// Measured is what a cluster's metrics tell of a stretch of time.
type Measured struct {
	Devices []gpumetrics.PodUtilization
	Pods    []gpumetrics.PodUsage
}

// byPods reports whether no device has values that are the workload's own: its pods have.
func byPods(w workload.Workload) bool {
	return w.Size.Devices() == 0 || !w.Size.Technology.OwnReadings()
}

// Unmeasurable is why a workload's use is never judged under a setting, "" where it is.
func Unmeasurable(w workload.Workload, s Setting) Reason {
	switch {
	case byPods(w) && !s.ByPod() && w.Size.Devices() == 0:
		return NoGPU
	case byPods(w) && !s.ByPod():
		return Shared
	case w.Replicas.Scaling.ToZeroAfter > 0:
		return Sleeps
	}
	return ""
}

// Observe cuts what is known of a workload into looks, one for each slot from one moment to another: of its devices, or
// of its pods where no device has values of its own.
func Observe(w workload.Workload, s Setting, of Measured, from, until time.Time, slot time.Duration) []Observation {
	never := Unmeasurable(w, s)
	var looks map[int64]Observation
	switch {
	case never != "":
	case byPods(w):
		looks = observePods(w, of.Pods, slot)
	default:
		looks = observeDevices(w, of.Devices, slot)
	}
	memory := observeMemory(w, of.Devices)
	var list []Observation
	for end := from.Add(slot); !end.After(until); end = end.Add(slot) {
		l, seen := looks[end.UnixMilli()]
		l.Memory = memory[end.UnixMilli()]
		switch {
		case never != "":
			l.Reason = never
		case !seen:
			l.Reason = Unmeasured
		}
		l.From, l.Until = end.Add(-slot), end
		list = append(list, l)
	}
	return list
}

// observeDevices looks at slots by their ends. Every device that a workload's replicas have must have been measured in
// all of a slot, and so must every other one that its pods were seen with: a pod that was replaced may have had another
// card.
func observeDevices(w workload.Workload, works []gpumetrics.PodUtilization, slot time.Duration) map[int64]Observation {
	type sum struct {
		seen, whole int
		high        float64
		unclear     bool
	}
	at := map[int64]sum{}
	for _, d := range works {
		if d.Namespace != w.Namespace || !w.HasPod(d.Pod) {
			continue
		}
		for _, s := range d.Slots {
			if s.High.Why == gpumetrics.NoSeries && s.Known == 0 {
				continue // of its memory alone
			}
			x := at[s.Until.UnixMilli()]
			x.seen++
			if s.Known >= slot {
				x.whole++
			}
			if s.High.Known() && !math.IsNaN(s.High.Value) {
				x.high = max(x.high, s.High.Value)
			} else {
				x.unclear = true
			}
			at[s.Until.UnixMilli()] = x
		}
	}
	looks := make(map[int64]Observation, len(at))
	for end, x := range at {
		l := Observation{High: x.high}
		switch {
		case x.unclear:
			l.Reason = Unclear
		case x.whole < x.seen || x.whole < w.Replicas.Want()*w.Size.Devices():
			l.Reason = Partly
		}
		looks[end] = l
	}
	return looks
}

// observeMemory looks at slots by their ends. The memory of a card that others share says nothing of one pod: it counts
// only where the exporter tells each pod's part.
func observeMemory(w workload.Workload, works []gpumetrics.PodUtilization) map[int64]MemoryChange {
	at, known := map[int64]MemoryChange{}, map[int64]int{}
	for _, d := range works {
		if d.Namespace != w.Namespace || !w.HasPod(d.Pod) {
			continue
		}
		for _, s := range d.Slots {
			if !s.MemoryChange.Known() || byPods(w) && !s.OwnMemory {
				continue
			}
			end := s.Until.UnixMilli()
			known[end]++
			at[end] = MemoryChange{max(at[end].MiB, s.MemoryChange.Value),
				known[end] >= max(1, w.Replicas.Want()*w.Size.Devices())}
		}
	}
	return at
}

// observePods looks at slots by their ends. CPU and network of every pod that a workload wants must have been measured
// in all of a slot, and so must those of every other one that was seen.
func observePods(w workload.Workload, pods []gpumetrics.PodUsage, slot time.Duration) map[int64]Observation {
	type sum struct {
		seen, whole          int
		use                  PodUse
		noCPU, noNet, absurd bool
	}
	at := map[int64]sum{}
	for _, d := range pods {
		if d.Namespace != w.Namespace || !w.HasPod(d.Pod) {
			continue
		}
		for _, s := range d.Slots {
			x := at[s.Until.UnixMilli()]
			x.seen++
			x.noCPU, x.noNet = x.noCPU || s.CPU.Known <= 0, x.noNet || s.Network.Known <= 0
			if s.CPU.Known >= slot && s.Network.Known >= slot {
				x.whole++
			}
			x.absurd = x.absurd || !(s.CPU.Value >= 0) || !(s.Network.Value >= 0)
			x.use = x.use.most(PodUse{s.CPU.Value, s.Network.Value})
			at[s.Until.UnixMilli()] = x
		}
	}
	looks := make(map[int64]Observation, len(at))
	for end, x := range at {
		l := Observation{Pod: x.use}
		switch {
		case x.absurd:
			l.Pod, l.Reason = PodUse{}, Unclear
		case x.noCPU && x.noNet:
			l.Reason = Unmeasured
		case x.noCPU:
			l.Reason = CPUUnmeasured
		case x.noNet:
			l.Reason = NetworkUnmeasured
		case x.whole < x.seen || x.whole < max(1, w.Replicas.Want()):
			l.Reason = Partly
		}
		looks[end] = l
	}
	return looks
}

// Record is the accumulated idle time of one workload.
type Record struct {
	Workload       workload.ID
	Generation     int64        // of the spec that it belongs to: whatever is started anew begins anew
	Below          int          // the threshold that Since is judged by; 0 where PodBelow is
	PodBelow       PodUse       // the thresholds that it is judged by; zero where devices have values of their own
	Since          time.Time    // from when on it was idle without a gap; zero for not
	Until          time.Time    // up to when that is known; the cluster's, kept once for all
	High           float64      // per cent, the highest since Since
	PodHigh        PodUse       // the highest of each since then
	MemoryHigh     MemoryChange // the highest since then
	WarnedAt       time.Time    // of this idle time; zero for not yet
	StopsAt        time.Time    // what the warning said; zero where it said nothing of an end
	KeepAliveUntil time.Time    // somebody still needs it until then
	KeepAliveBy    string       // their name
}

// judgedBy is the record with the thresholds of a setting.
func (m Record) judgedBy(w workload.Workload, s Setting) Record {
	if m.Below, m.PodBelow = s.Below, (PodUse{}); byPods(w) {
		m.Below, m.PodBelow = 0, s.podLimit()
	}
	return m
}

// under reports whether it is judged by the thresholds of a setting.
func (m Record) under(s Setting) bool {
	if m.PodBelow != (PodUse{}) {
		return s.ByPod() && m.PodBelow == s.podLimit()
	}
	return m.Below == s.Below
}

// busy forgets the idle time, with the warning of it.
func (m Record) busy(until time.Time) Record {
	m.Since, m.High, m.PodHigh, m.MemoryHigh, m.Until = time.Time{}, 0, PodUse{}, MemoryChange{}, until
	m.WarnedAt, m.StopsAt = time.Time{}, time.Time{}
	return m
}

// Accumulate adds an observation. One that does not begin where the record ends is a gap.
func Accumulate(m Record, w workload.Workload, s Setting, l Observation) Record {
	if m.Generation != w.Generation {
		m = Record{Workload: w.ID, Generation: w.Generation, Until: m.Until}
	}
	if now := m.judgedBy(w, s); now != m || !m.Until.Equal(l.From) {
		m = now.busy(l.From)
	}
	quiet := l.High < float64(s.Below)
	if byPods(w) {
		quiet = s.ByPod() && l.Pod.below(s.podLimit())
	}
	if l.Reason != "" || !quiet || l.Memory.MiB >= MemoryUsed {
		return m.busy(l.Until)
	}
	if m.Since.IsZero() {
		m.Since, m.MemoryHigh = l.From, l.Memory
	}
	m.Until, m.High, m.PodHigh = l.Until, max(m.High, l.High), m.PodHigh.most(l.Pod)
	m.MemoryHigh = m.MemoryHigh.most(l.Memory)
	return m
}

// ReportsActivity reports whether a workload is a notebook whose server reports activity (gateway.Probe).
func ReportsActivity(w workload.Workload) bool {
	return w.Kind == catalog.Notebook && w.Image.Auth == "token" && w.Image.Port > 0
}

// ApplyActivity adds what a notebook server says of itself: it is in use while a kernel is busy, or does what nobody
// can tell, and since somebody last did something. With kernels it is theirs that counts: an open window keeps asking
// the server, and that alone is no work.
func ApplyActivity(m Record, w workload.Workload, now time.Time) Record {
	if !ReportsActivity(w) || m.Since.IsZero() {
		return m
	}
	a := w.Observed.Activity
	if !a.Fresh(now) {
		return m.busy(m.Until)
	}
	last := a.LastActivity
	for i, k := range a.Kernels {
		if k.State != "idle" {
			return m.busy(m.Until)
		}
		if i == 0 || k.LastActivity.After(last) {
			last = k.LastActivity
		}
	}
	return m.usedUntil(last)
}

// usedUntil is the record of what was in use up to a moment.
func (m Record) usedUntil(last time.Time) Record {
	switch {
	case m.Since.IsZero():
	case last.After(m.Until):
		return m.busy(m.Until)
	case last.After(m.Since):
		m.Since = last
		if m.WarnedAt.Before(last) {
			m.WarnedAt, m.StopsAt = time.Time{}, time.Time{}
		}
	}
	return m
}

// ApplyVisit adds when somebody was inside last: a terminal, a tunnel or a connection through the gateway that is open
// is use of what is judged by its pods. Where devices have values of their own those speak for themselves: an open
// window alone is no work of a GPU.
func ApplyVisit(m Record, w workload.Workload, last time.Time) Record {
	if !byPods(w) || last.IsZero() {
		return m
	}
	return m.usedUntil(last.Add(workload.Inside)) // the next report of one who stays is due within it
}

// from is from when on idle time counts.
func (m Record) from() time.Time {
	if !m.Since.IsZero() && m.KeepAliveUntil.After(m.Since) {
		return m.KeepAliveUntil
	}
	return m.Since
}

// Idle is for how long it has been idle, as far as is known.
func (m Record) Idle() time.Duration {
	if m.Since.IsZero() {
		return 0
	}
	return max(0, m.Until.Sub(m.from()))
}

// Verdict is what is due now. fresh is how old the last look may be: what was idle an hour ago may be at work.
func (m Record) Verdict(s Setting, now time.Time, fresh time.Duration) Action {
	switch {
	case !s.On() || m.Since.IsZero() || !m.under(s):
		return Off
	case now.Before(m.Until) || now.Sub(m.Until) > fresh: // a clock that was set back, or nobody looked
		return Off
	case now.Before(m.KeepAliveUntil) || m.Idle() < s.WarnAfter():
		return Off
	case m.WarnedAt.IsZero() || m.WarnedAt.Before(m.from()) || s.Action == Stop && m.StopsAt.IsZero():
		return Warn
	case s.Action != Stop || m.Idle() < s.After.Std():
		return Off
	case now.Before(m.StopsAt) || now.Sub(m.WarnedAt) < s.Notice(): // nobody has less time than they were told
		return Off
	}
	return Stop
}

// Warned notes a warning.
func (m Record) Warned(s Setting, now time.Time) Record {
	m.WarnedAt, m.StopsAt = now, time.Time{}
	if s.Action == Stop {
		m.StopsAt = latest(m.from().Add(s.After.Std()), now.Add(s.Notice()))
	}
	return m
}

// KeepAlive notes that somebody still needs it.
func (m Record) KeepAlive(until time.Time, name string) Record {
	m = m.busy(m.Until)
	m.KeepAliveUntil, m.KeepAliveBy = until, name
	return m
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

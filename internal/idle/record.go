package idle

import (
	"math"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Reason says why the use of a GPU is unknown in a stretch of time.
type Reason string

// The causes.
const (
	NoGPU      Reason = "no_gpu"     // there is nothing to measure
	Shared     Reason = "shared"     // values of a shared card are not the workload's own
	Sleeps     Reason = "sleeps"     // an endpoint gives its GPU back by itself when nobody calls it
	Unmeasured Reason = "unmeasured" // nothing was measured
	Partly     Reason = "partly"     // a device, or a part of the time, is missing
	Unclear    Reason = "unclear"    // a value came that cannot be
)

// Observation is the use of a workload's GPU in one stretch of time.
type Observation struct {
	From, Until time.Time
	High        float64 // per cent of the busiest device's engine in its busiest sample
	Reason      Reason  // "" where all of the stretch is known
}

// Unmeasurable is why a workload's use can never be judged, "" where it can.
func Unmeasurable(w workload.Workload) Reason {
	switch {
	case w.Size.Devices() == 0:
		return NoGPU
	case !w.Size.Technology.OwnReadings():
		return Shared
	case w.Replicas.Scaling.ToZeroAfter > 0:
		return Sleeps
	}
	return ""
}

// Observe cuts what is known of a workload's devices into looks, one for each slot from one moment to another. Every
// device that its replicas have must have been measured in all of a slot, and so must every other one that its pods
// were seen with: a pod that was replaced may have had another card.
func Observe(w workload.Workload, works []gpumetrics.PodUtilization, from, until time.Time,
	slot time.Duration) []Observation {
	never := Unmeasurable(w)
	type sum struct {
		seen, whole int
		high        float64
		unclear     bool
	}
	at := map[int64]sum{}
	for _, d := range works {
		if never != "" || d.Namespace != w.Namespace || workload.NameOfPod(w.Kind, d.Pod) != w.PodsName() {
			continue
		}
		for _, s := range d.Slots {
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
	var list []Observation
	for end := from.Add(slot); !end.After(until); end = end.Add(slot) {
		x, l := at[end.UnixMilli()], Observation{From: end.Add(-slot), Until: end}
		switch {
		case never != "":
			l.Reason = never
		case x.seen == 0:
			l.Reason = Unmeasured
		case x.unclear:
			l.Reason = Unclear
		case x.whole < x.seen || x.whole < w.Replicas.Want()*w.Size.Devices():
			l.Reason = Partly
		}
		l.High = x.high
		list = append(list, l)
	}
	return list
}

// Record is the accumulated idle time of one workload.
type Record struct {
	Workload       workload.ID
	Generation     int64     // of the spec that it belongs to: whatever is started anew begins anew
	Below          int       // the threshold that Since is judged by
	Since          time.Time // from when on it was idle without a gap; zero for not
	Until          time.Time // up to when that is known; the cluster's, kept once for all
	High           float64   // per cent, the highest since Since
	WarnedAt       time.Time // of this idle time; zero for not yet
	StopsAt        time.Time // what the warning said; zero where it said nothing of an end
	KeepAliveUntil time.Time // somebody still needs it until then
	KeepAliveBy    string    // their name
}

// busy forgets the idle time, with the warning of it.
func (m Record) busy(until time.Time) Record {
	m.Since, m.High, m.WarnedAt, m.StopsAt, m.Until = time.Time{}, 0, time.Time{}, time.Time{}, until
	return m
}

// Accumulate adds an observation. One that does not begin where the record ends is a gap.
func Accumulate(m Record, w workload.Workload, s Setting, l Observation) Record {
	if m.Generation != w.Generation {
		m = Record{Workload: w.ID, Generation: w.Generation, Until: m.Until}
	}
	if m.Below != s.Below || !m.Until.Equal(l.From) {
		m = m.busy(l.From)
		m.Below = s.Below
	}
	if l.Reason != "" || !(l.High < float64(s.Below)) {
		return m.busy(l.Until)
	}
	if m.Since.IsZero() {
		m.Since = l.From
	}
	m.Until, m.High = l.Until, max(m.High, l.High)
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
	switch {
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
	case !s.On() || m.Since.IsZero() || m.Below != s.Below:
		return Off
	case now.Before(m.Until) || now.Sub(m.Until) > fresh: // a clock that was set back, or nobody looked
		return Off
	case now.Before(m.KeepAliveUntil) || m.Idle() < s.warnAfter():
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

package idle

import (
	"math"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Why says why nothing can be said of a stretch of time.
type Why string

// The causes.
const (
	NoGPU      Why = "no_gpu"     // there is nothing to measure
	Shared     Why = "shared"     // values of a shared card are not the workload's own
	Unmeasured Why = "unmeasured" // nothing was measured
	Partly     Why = "partly"     // a device, or a part of the time, is missing
	Unclear    Why = "unclear"    // a value came that cannot be
)

// Whys lists all.
func Whys() []Why { return []Why{NoGPU, Shared, Unmeasured, Partly, Unclear} }

// Look is what one stretch of time says of one workload.
type Look struct {
	From, Until time.Time
	High        float64 // per cent of the busiest device's engine in its busiest sample
	Why         Why     // "" where all of the stretch is known
}

// Judged is why a workload's use can never be judged, "" where it can.
func Judged(w workload.Workload) Why {
	switch {
	case w.Size.Devices() == 0:
		return NoGPU
	case !w.Size.Technology.OwnReadings():
		return Shared
	}
	return ""
}

// SeenOf cuts what is known of a workload's devices into looks, one for each slot from one moment to another. Every
// device that its size has must have been measured in all of a slot, and so must every other one that its pods were
// seen with: a pod that was replaced may have had another card.
func SeenOf(w workload.Workload, works []gpumetrics.Work, from, until time.Time, slot time.Duration) []Look {
	never := Judged(w)
	type sum struct {
		seen, whole int
		high        float64
		unclear     bool
	}
	at := map[int64]sum{}
	for _, d := range works {
		if never != "" || d.Namespace != w.Namespace || workload.NameOfPod(w.Kind, d.Pod) != w.Name {
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
	var list []Look
	for end := from.Add(slot); !end.After(until); end = end.Add(slot) {
		x, l := at[end.UnixMilli()], Look{From: end.Add(-slot), Until: end}
		switch {
		case never != "":
			l.Why = never
		case x.seen == 0:
			l.Why = Unmeasured
		case x.unclear:
			l.Why = Unclear
		case x.whole < x.seen || x.whole < w.Size.Devices():
			l.Why = Partly
		}
		l.High = x.high
		list = append(list, l)
	}
	return list
}

// Mark is what is known of one workload's idle time.
type Mark struct {
	Workload   workload.ID
	Generation int64     // of the spec that it belongs to: whatever is started anew begins anew
	Below      int       // the threshold that Since stands on
	Since      time.Time // from when on it was idle without a gap; zero for not
	Until      time.Time // up to when that is known; the cluster's, kept once for all
	High       float64   // per cent, the highest since Since
	WarnedAt   time.Time // of this idle time; zero for not yet
	StopsAt    time.Time // what the warning said; zero where it said nothing of an end
	KeptUntil  time.Time // somebody still needs it until then
	KeptBy     string    // their name
}

// busy forgets the idle time, with the warning of it.
func (m Mark) busy(until time.Time) Mark {
	m.Since, m.High, m.WarnedAt, m.StopsAt, m.Until = time.Time{}, 0, time.Time{}, time.Time{}, until
	return m
}

// Fold adds one stretch. What does not begin where the mark ends is a gap.
func Fold(m Mark, w workload.Workload, s Setting, l Look) Mark {
	if m.Generation != w.Generation {
		m = Mark{Workload: w.ID, Generation: w.Generation, Until: m.Until}
	}
	if m.Below != s.Below || !m.Until.Equal(l.From) {
		m = m.busy(l.From)
		m.Below = s.Below
	}
	if l.Why != "" || !(l.High < float64(s.Below)) {
		return m.busy(l.Until)
	}
	if m.Since.IsZero() {
		m.Since = l.From
	}
	m.Until, m.High = l.Until, max(m.High, l.High)
	return m
}

// spokenFor is how old a notebook's own word may be: it is asked every few seconds, and written down at least once a
// minute.
const spokenFor = 5 * time.Minute

// Asks reports whether a workload is a notebook server that says itself what it does (gateway.Probe).
func Asks(w workload.Workload) bool {
	return w.Kind == catalog.Notebook && w.Image.Auth == "token" && w.Image.Port > 0
}

// Heed adds what a notebook server says of itself: it is in use while a kernel is busy, or does what nobody can tell,
// and since somebody last did something. With kernels it is theirs that counts: an open window keeps asking the server,
// and that alone is no work.
func Heed(m Mark, w workload.Workload, now time.Time) Mark {
	if !Asks(w) || m.Since.IsZero() {
		return m
	}
	a := w.Observed.Activity
	if a == nil || now.Sub(a.At) > spokenFor || a.At.After(now.Add(spokenFor)) {
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
func (m Mark) from() time.Time {
	if !m.Since.IsZero() && m.KeptUntil.After(m.Since) {
		return m.KeptUntil
	}
	return m.Since
}

// Idle is for how long it has been idle, as far as is known.
func (m Mark) Idle() time.Duration {
	if m.Since.IsZero() {
		return 0
	}
	return max(0, m.Until.Sub(m.from()))
}

// Verdict is what is due now. fresh is how old the last look may be: what was idle an hour ago may be at work.
func (m Mark) Verdict(s Setting, now time.Time, fresh time.Duration) Action {
	switch {
	case !s.On() || m.Since.IsZero() || m.Below != s.Below:
		return Off
	case now.Before(m.Until) || now.Sub(m.Until) > fresh: // a clock that was set back, or nobody looked
		return Off
	case now.Before(m.KeptUntil) || m.Idle() < s.warnAfter():
		return Off
	case m.WarnedAt.IsZero() || m.WarnedAt.Before(m.from()) || s.Action == Stop && m.StopsAt.IsZero():
		return Warn
	case s.Action != Stop || m.Idle() < s.After.Std():
		return Off
	case now.Before(m.StopsAt) || now.Sub(m.WarnedAt) < s.Told(): // nobody has less time than they were told
		return Off
	}
	return Stop
}

// Warned notes a warning.
func (m Mark) Warned(s Setting, now time.Time) Mark {
	m.WarnedAt, m.StopsAt = now, time.Time{}
	if s.Action == Stop {
		m.StopsAt = latest(m.from().Add(s.After.Std()), now.Add(s.Told()))
	}
	return m
}

// Kept notes that somebody still needs it.
func (m Mark) Kept(until time.Time, name string) Mark {
	m = m.busy(m.Until)
	m.KeptUntil, m.KeptBy = until, name
	return m
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

package idle

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// The bounds of a preview: how far back it looks, how much of that one call covers, and how long somebody waits for it.
const (
	Past       = 30 * 24 * time.Hour
	aCall      = 24 * time.Hour
	mostSlots  = 288 // of one call
	pastSlot   = 5 * time.Minute
	patience   = 20 * time.Second
	mostPast   = 2000 // workloads
	leastKnown = 0.5  // of the time that it ran; below that nobody can say that nothing would have happened
)

// PreviewRow is the effect of settings on one workload.
type PreviewRow struct {
	Workload  workload.Workload
	Outcome   Action        // Off where nothing would happen
	At        time.Time     // when it would be stopped, or would have been warned or stopped; zero where nothing would
	Idle      time.Duration // for how long it is idle, or the longest that it was
	Known     float64       // which part of the time is known, 0 to 1
	Reason    Reason        // why nothing can be said of the rest; "" where all is known
	KeptAlive bool          // somebody still needs it: nothing follows now
	Recorded  Recorded      // of the past: what statements say of it
}

// Unknown reports whether nobody can say what would happen.
func (c PreviewRow) Unknown() bool { return c.Outcome == Off && c.Known < leastKnown }

// Tally counts preview rows by outcome.
type Tally struct{ Seen, Warned, Stopped, Unknown int }

func tally(list []PreviewRow) (t Tally) {
	for _, c := range list {
		t.Seen++
		switch {
		case c.Outcome == Stop:
			t.Stopped++
		case c.Outcome == Warn:
			t.Warned++
		case c.Unknown():
			t.Unknown++
		}
	}
	return t
}

// Preview is the effect of settings on what runs and ran. Cases are the affected workloads, and those whose use is
// unknown, affected ones first.
type Preview struct {
	Running      []PreviewRow
	RunningTally Tally
	Unaffected   []PreviewRow // run and are known to be at work, or not idle for long enough: nothing follows
	Past         []PreviewRow
	PastTally    Tally
	From         time.Time // of the past
	Recorded     Recorded  // what statements say of all that ran in the past, affected or not
	Since        time.Time // of Recorded: months are charged as a whole; zero where nothing is recorded
	Capped       bool      // there were more workloads than are looked at
	Unreachable  []string  // clusters whose Prometheus did not tell all
}

// replay is what would have followed from looks that join one another, as if the settings had counted all the time and
// nobody had said that they need it.
func replay(w workload.Workload, s Setting, looks []Observation, slot time.Duration) PreviewRow {
	c := PreviewRow{Workload: w, Outcome: Off}
	m := Record{}
	known := 0
	for _, l := range looks {
		m = Accumulate(m, w, s, l)
		if l.Reason == "" {
			known++
		} else {
			c.Reason = l.Reason
		}
		c.Idle = max(c.Idle, m.Idle())
		if c.Outcome == Stop {
			continue
		}
		switch m.Verdict(s, l.Until, 3*slot) {
		case Warn:
			m = m.Warned(s, l.Until)
			if c.Outcome == Off {
				c.Outcome, c.At = Warn, l.Until
			}
		case Stop:
			c.Outcome, c.At = Stop, l.Until
		}
	}
	if len(looks) > 0 {
		c.Known = float64(known) / float64(len(looks))
	}
	return c
}

// now is what would follow for what runs: it is warned, and where the settings say so stopped once it was told.
func now(w workload.Workload, s Setting, looks []Observation, kept, visited, at time.Time,
	slot time.Duration) PreviewRow {
	c := PreviewRow{Workload: w, Outcome: Off, KeptAlive: at.Before(kept)}
	m, known := Record{}, 0
	for _, l := range looks {
		m = Accumulate(m, w, s, l)
		if l.Reason == "" {
			known++
		} else {
			c.Reason = l.Reason
		}
	}
	if len(looks) > 0 {
		c.Known = float64(known) / float64(len(looks))
	}
	m = ApplyVisit(ApplyActivity(m, w, at), w, visited)
	m.KeepAliveUntil = kept
	c.Idle = m.Idle()
	if !c.KeptAlive && m.Verdict(s, at, max(3*slot, at.Sub(m.Until))) == Warn {
		c.Outcome = s.Action
		c.At = m.Warned(s, at).StopsAt
	}
	return c
}

// Preview says what settings would do. It writes nothing. Invalid with every problem of the settings.
func (s *Service) Preview(ctx context.Context, a identity.Actor, settings Settings) (Preview, error) {
	if err := s.Check(a, settings); err != nil {
		return Preview{}, err
	}
	at := s.o.Now()
	p := Preview{From: at.Add(-Past)}
	running, past, err := s.all(ctx, settings, p.From)
	if err != nil {
		return p, err
	}
	if len(past) > mostPast {
		past, p.Capped = past[:mostPast], true
	}
	records, err := s.o.Store.IdleRecords(ctx)
	if err != nil {
		return p, err
	}
	visits, err := s.o.Store.LastVisits(ctx)
	if err != nil {
		return p, err
	}
	meters, err := s.o.Store.Intervals(ctx, ids(past))
	if err != nil {
		return p, err
	}
	recorded, since, err := s.recorded(ctx, a, p.From, at)
	if err != nil {
		return p, err
	}
	asking, stop := context.WithTimeout(ctx, patience)
	defer stop()
	for cluster, source := range s.o.Sources {
		mine := func(list []workload.Workload) []workload.Workload {
			return slices.DeleteFunc(slices.Clone(list), func(w workload.Workload) bool { return w.Cluster != cluster })
		}
		recent, told := s.recent(asking, source, settings, mine(running), at)
		for _, w := range mine(running) {
			of := settings.Of(w.Tenant, w.Size.Name)
			p.Running = append(p.Running, now(w, of, recent.of(w, of, time.Time{}), records[w.ID].KeepAliveUntil, visits[w.ID],
				at, recent.slot))
		}
		long, all := s.long(asking, source, settings, mine(past), p.From, at)
		for _, w := range mine(past) {
			of := settings.Of(w.Tenant, w.Size.Name)
			c := replay(w, of, whileHeld(long.of(w, of, w.CreatedAt), meters[w.ID], at), long.slot)
			c.Recorded = recorded[w.ID]
			p.Past = append(p.Past, c)
		}
		if !told || !all {
			p.Unreachable = append(p.Unreachable, cluster)
		}
	}
	slices.Sort(p.Unreachable)
	p.Recorded, p.Since = total(p.Past), since
	p.RunningTally, p.PastTally = tally(p.Running), tally(p.Past)
	p.Unaffected = unaffected(p.Running)
	p.Running, p.Past = affected(p.Running), affected(p.Past)
	return p, nil
}

// total is what statements say of all cases.
func total(list []PreviewRow) (sum Recorded) {
	for _, c := range list {
		sum.Measured += c.Recorded.Measured
		sum.Idle += c.Recorded.Idle
		if c.Recorded.Measured > 0 {
			sum.Cost = sum.Cost.Add(c.Recorded.Cost)
		}
	}
	return sum
}

func ids(list []workload.Workload) []workload.ID {
	all := make([]workload.ID, len(list))
	for i, w := range list {
		all[i] = w.ID
	}
	return all
}

// all are the workloads that the settings are about: what runs, and what ran since a time.
func (s *Service) all(ctx context.Context, settings Settings,
	since time.Time) (running, past []workload.Workload, err error) {
	for cursor := ""; len(past) <= mostPast; {
		page, next, err := s.o.Store.Workloads(ctx, workload.Filter{Ended: true, Cursor: cursor, Limit: 500})
		if err != nil {
			return nil, nil, err
		}
		for _, w := range page {
			if of := settings.Of(w.Tenant, w.Size.Name); !of.On() || Unmeasurable(w, of) == NoGPU {
				continue
			}
			if w.State == workload.Running && w.Desired == workload.WantRunning {
				running = append(running, w)
			}
			if w.State != workload.Ended || w.UpdatedAt.After(since) {
				past = append(past, w)
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	return running, past, nil
}

// answers are what Prometheus told of a stretch of time.
type answers struct {
	from, until time.Time
	slot        time.Duration
	measured    map[string]Measured // by namespace
}

// of are the looks at one workload, from when it was made.
func (a answers) of(w workload.Workload, s Setting, made time.Time) []Observation {
	if a.slot == 0 {
		return nil
	}
	looks := Observe(w, s, a.measured[w.Namespace], a.from, a.until, a.slot)
	return slices.DeleteFunc(looks, func(l Observation) bool { return l.From.Before(made) })
}

// whileHeld keeps the looks at times in which a workload held its GPU, by its meter: what stood still was not idle.
func whileHeld(looks []Observation, meter []usage.Interval, at time.Time) []Observation {
	return slices.DeleteFunc(looks, func(l Observation) bool {
		return !slices.ContainsFunc(meter, func(i usage.Interval) bool {
			end := i.Until
			if end.IsZero() {
				end = at
			}
			return !l.From.Before(i.From) && !l.Until.After(end)
		})
	})
}

// cut is a length of slots, whole numbers of the shortest one, of which no more than so many cover a span.
func cut(span, shortest time.Duration) time.Duration {
	return shortest * max(1, (span+mostSlots*shortest-1)/(mostSlots*shortest))
}

// recent asks for as much as the settings look back, with one call.
func (s *Service) recent(ctx context.Context, source Source, settings Settings, items []workload.Workload,
	at time.Time) (answers, bool) {
	span := time.Duration(0)
	for _, w := range items {
		span = max(span, settings.Of(w.Tenant, w.Size.Name).After.Std())
	}
	if len(items) == 0 {
		return answers{}, true
	}
	slot := cut(span+span/8, s.o.Every)
	_, until, _ := slots(time.Time{}, at, slot)
	if slot > s.o.Every { // a long slot that ends long ago would say nothing of now
		_, until, _ = slots(time.Time{}, at, s.o.Every)
	}
	a := answers{from: until.Add(-(span + span/8 + slot - 1) / slot * slot), until: until, slot: slot}
	measured, err := s.ask(ctx, source, judgedByPods(items, settings, items[0].Cluster), a.from, a.until, slot,
		step(min(slot, s.o.Every)))
	a.measured = measured
	return a, err == nil
}

// long asks for all of the past, a day with each call and the newest first. What cannot be had in time is not known;
// all is false then.
func (s *Service) long(ctx context.Context, source Source, settings Settings, items []workload.Workload, from,
	at time.Time) (a answers, all bool) {
	if len(items) == 0 {
		return answers{}, true
	}
	slot := cut(aCall, max(pastSlot, s.o.Every))
	_, until, _ := slots(time.Time{}, at, slot)
	a = answers{until: until, from: until, slot: slot, measured: map[string]Measured{}}
	pods := judgedByPods(items, settings, items[0].Cluster)
	oldest := at
	for _, w := range items {
		if w.CreatedAt.Before(oldest) {
			oldest = w.CreatedAt
		}
	}
	for a.from.After(from) && a.from.After(oldest) {
		begin := a.from.Add(-aCall / slot * slot)
		measured, err := s.ask(ctx, source, pods, begin, a.from, slot, step(min(slot, max(pastSlot, s.o.Every))))
		if err != nil {
			// all of it was wanted: what is missing counts as unknown
			a.from = until.Add(-until.Sub(latest(from, oldest)) / slot * slot)
			return a, false
		}
		for namespace, more := range measured {
			was := a.measured[namespace]
			a.measured[namespace] = Measured{append(was.Devices, more.Devices...), append(was.Pods, more.Pods...)}
		}
		a.from = begin
	}
	return a, true
}

// unaffected are those of which it is known that nothing follows, the longest idle first: what another setting might
// affected.
func unaffected(list []PreviewRow) []PreviewRow {
	list = slices.DeleteFunc(slices.Clone(list), func(c PreviewRow) bool { return c.Outcome != Off || c.Unknown() })
	slices.SortFunc(list, func(a, b PreviewRow) int {
		return cmp.Or(cmp.Compare(b.Idle, a.Idle), cmp.Compare(a.Workload.Name, b.Workload.Name),
			cmp.Compare(a.Workload.ID, b.Workload.ID))
	})
	return list
}

// affected are those that are affected or unknown: what ends first, then what is warned, then what nobody can say, each
// by how long it was idle.
func affected(list []PreviewRow) []PreviewRow {
	list = slices.DeleteFunc(list, func(c PreviewRow) bool { return c.Outcome == Off && !c.Unknown() })
	rank := map[Action]int{Stop: 0, Warn: 1, Off: 2}
	slices.SortFunc(list, func(a, b PreviewRow) int {
		return cmp.Or(cmp.Compare(rank[a.Outcome], rank[b.Outcome]), cmp.Compare(b.Idle, a.Idle),
			cmp.Compare(a.Workload.Name, b.Workload.Name), cmp.Compare(a.Workload.ID, b.Workload.ID))
	})
	return list
}

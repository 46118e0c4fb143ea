package usage

import (
	"context"
	"time"
)

// IdleBelow is the use of a GPU's engine, in per cent, below which it does nothing: a driver with an open context shows
// a per cent or two.
const IdleBelow = 5

// Idle reports whether a use, in per cent, is that of a GPU that does nothing: one rule for the map of the fleet, the
// preview of what is stopped, and statements.
func Idle(percent float64) bool { return percent < IdleBelow }

// EngineWindow is how far back the use of what holds GPUs now is looked at.
const EngineWindow = 24 * time.Hour

// EngineUse is how busy the devices of a line were, as far as somebody measured it: times of one device, with several
// the mean of them. It is told and never charged.
type EngineUse struct {
	Measured time.Duration // of the time held: for how long there are samples
	Busy     time.Duration // the use times that time: an hour at 40 % is 24 minutes
	Idle     time.Duration // of the measured time: for how long the use was below IdleBelow
}

// Add is the sum of two stretches.
func (e EngineUse) Add(f EngineUse) EngineUse {
	return EngineUse{e.Measured + f.Measured, e.Busy + f.Busy, e.Idle + f.Idle}
}

// Within is a use that was measured for no longer than something was held: what is beyond that, by the rounding of
// samples to steps, is taken from all in equal parts.
func (e EngineUse) Within(held time.Duration) EngineUse {
	e.Measured = max(0, e.Measured)
	if e.Measured > held {
		part := float64(max(0, held)) / float64(e.Measured)
		e = EngineUse{max(0, held), time.Duration(part * float64(e.Busy)), time.Duration(part * float64(e.Idle))}
	}
	e.Busy, e.Idle = min(max(0, e.Busy), e.Measured), min(max(0, e.Idle), e.Measured)
	return e
}

// Known reports whether anything was measured.
func (e EngineUse) Known() bool { return e.Measured > 0 }

// Mean is the use in per cent, over what was measured.
func (e EngineUse) Mean() float64 {
	if e.Measured <= 0 {
		return 0
	}
	return min(100, 100*float64(e.Busy)/float64(e.Measured))
}

// EngineUses are the measured utilizations by workload; one that is unknown is not among them.
type EngineUses map[string]EngineUse

// EngineLine is how busy the GPUs of one statement line were.
type EngineLine struct {
	Workload string
	Tenant   string
	Size     string
	PerHour  Money
	EngineUse
}

// EngineRecord is what a cluster's metrics told of a stretch of one month. It goes on from what was recorded before.
type EngineRecord struct {
	Cluster string
	Month   Month
	Before  time.Time // the watermark that it goes on from; zero for none
	From    time.Time // the stretch that was asked for: after Before where a part of the time is lost
	Until   time.Time // its end, and the next watermark
	Lines   []EngineLine
}

// EngineTail is what a cluster's metrics tell of the time after what is recorded. It is read anew as time goes on, and
// never kept.
type EngineTail struct {
	Cluster string
	From    time.Time // the watermark of what is recorded, or the beginning of the month where that is later
	Until   time.Time
	Lines   []TailLine
}

// TailLine is how busy the GPUs of one statement line were since the watermark; it is not recorded yet.
type TailLine struct {
	EngineLine
	Since time.Time // From, or when the line began where that is later
}

// Tails tells of the time that is not recorded yet.
type Tails interface {
	// Tails are those that go on from what is recorded now, one for each cluster that tells any.
	Tails(ctx context.Context) ([]EngineTail, error)
}

// addTails adds to each line of the month what is known of it beyond the record.
func (s *Statement) addTails(tails []EngineTail) {
	type key struct {
		workload, tenant, size string
		perHour                Money
	}
	at := map[key]int{}
	for i, l := range s.Lines {
		if !l.Monthly() {
			at[key{l.Workload, l.Tenant, l.Size, l.PerHour}] = i
		}
	}
	for _, t := range tails {
		for _, live := range t.Lines {
			i, there := at[key{live.Workload, live.Tenant, live.Size, live.PerHour}]
			if !there || t.From.Before(s.Whole.From) || t.From.After(s.Whole.Until) {
				continue
			}
			l := &s.Lines[i]
			if !l.Engine.Known() {
				l.LiveSince = live.Since
			}
			l.Engine = l.Engine.Add(live.EngineUse).Within(l.Held)
		}
	}
}

// CardUse is how busy GPUs were, in hours of whole cards: a seventh of a card for seven hours counts as one. What has
// no GPU is not in it. Where it is not on record any more which part of a card was held, it counts as a whole one.
type CardUse struct {
	Held     float64
	Measured float64
	Busy     float64
	Idle     float64
}

// Known reports whether anything was measured.
func (u CardUse) Known() bool { return u.Measured > 0 }

// Coverage is which part of the time held was measured, 0 to 1.
func (u CardUse) Coverage() float64 { return part(u.Measured, u.Held) }

// Mean is the use in per cent, over what was measured.
func (u CardUse) Mean() float64 { return 100 * part(u.Busy, u.Measured) }

func part(of, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return min(1, of/whole)
}

func (u CardUse) add(l Line) CardUse {
	if l.Devices == 0 {
		return u
	}
	cards := l.Cards
	if cards <= 0 {
		cards = 1
	}
	return CardUse{u.Held + cards*l.Held.Hours(), u.Measured + cards*l.Engine.Measured.Hours(),
		u.Busy + cards*l.Engine.Busy.Hours(), u.Idle + cards*l.Engine.Idle.Hours()}
}

// CardUse gives the busy share of the cards of the line.
func (l Line) CardUse() CardUse { return CardUse{}.add(l) }

// IdleCost is what the time costs in which the line's GPU is known to have been idle: never more than the line costs.
func (l Line) IdleCost() Money {
	if l.Monthly() {
		return Money{Currency: l.PerHour.Currency}
	}
	return Money{Minor: max(0, min(l.Cost().Minor, l.PerHour.For(l.Engine.Idle).Minor)), Currency: l.PerHour.Currency}
}

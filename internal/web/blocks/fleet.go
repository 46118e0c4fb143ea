package blocks

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/holders"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// Oldest is the earlier of two times; the zero time is none.
func Oldest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// HoldersSeen are those that the reader may see, by name. They belong to all who ask and must not be changed.
func (w *Blocks) HoldersSeen(k page.Call) ([]holders.Holder, error) {
	read := func() ([]holders.Holder, error) {
		list, err := holders.Service{Workloads: w.Workloads, Metrics: w.Metrics,
			Now: func() time.Time { return k.Words.Now }}.List(k.Ctx, k.Actor)
		slices.SortFunc(list, func(a, b holders.Holder) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
		})
		return list, err
	}
	if !k.Actor.SeesAll() {
		return read()
	}
	change, err := w.Workloads.LastChange(k.Ctx)
	if err != nil {
		return nil, err
	}
	return w.holders.Get(change, k.Words.Now, page.ReadingEvery/3, read)
}

// IdleDay is what idle GPUs cost in the last day.
type IdleDay struct {
	Cost    usage.Money
	Held    int // workloads that have GPUs
	Unknown int // of these, those whose use nobody knows
}

// IdleCost adds up what the GPUs cost that the reader may see and nobody used.
func (w *Blocks) IdleCost(k page.Call) (d IdleDay, err error) {
	list, err := w.HoldersSeen(k)
	for _, h := range list {
		d.Held++
		if money, known := h.Unused(); known {
			d.Cost = d.Cost.Add(money)
		} else {
			d.Unknown++
		}
	}
	return d, err
}

// Say is the amount, and what it is of.
func (d IdleDay) Say(say page.Words) (value, detail string) {
	switch {
	case d.Held == 0:
		return "–", say.S("platform.nothing_held")
	case d.Unknown == d.Held:
		return say.S("web.unknown"), say.S("platform.no_metrics")
	case d.Unknown > 0:
		return say.Money(d.Cost), say.S("platform.idle_day_part", "Count", d.Held, "Unknown", d.Unknown)
	}
	return say.Money(d.Cost), say.S("platform.idle_day_detail", "Count", d.Held)
}

// KindOfCell says what a cell is drawn as. A device of which nothing is known is unknown also when nobody holds it.
func KindOfCell(c gpumetrics.Cell) string {
	switch v := c.Engine.Value; {
	case !c.Engine.Known():
		return "unknown"
	case usage.Idle(v) && !c.Held():
		return "free"
	case usage.Idle(v):
		return "idle"
	default:
		return fmt.Sprint(min(4, 1+int(v/25)))
	}
}

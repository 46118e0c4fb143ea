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

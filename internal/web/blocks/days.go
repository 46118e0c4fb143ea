package blocks

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// MonthColumns gives a chart of the days of a month those of the span ahead, which are empty, and says which are named.
func MonthColumns(m *ui.ColumnsModel, say page.Words, ahead usage.Span, zone *time.Location) {
	for at := ahead.From; at.Before(ahead.Until); {
		if at = usage.NextDay(at, zone); at.Before(ahead.Until) {
			m.Columns = append(m.Columns, ui.ColumnBarModel{Name: say.Day(at, zone), Total: say.S("usage.not_yet"),
				Empty: true})
		}
	}
	m.Named = NamedDays(len(m.Columns))
}

// NamedDays are those of so many days that are named under a chart: of a month the 1st, 8th, 15th, 22nd and 29th.
func NamedDays(all int) (named []int) {
	step := 7 * ((all + 34) / 35)
	if all < 14 {
		step = max(1, all/4)
	}
	for n := 0; n < all; n += step {
		named = append(named, n)
	}
	return named
}

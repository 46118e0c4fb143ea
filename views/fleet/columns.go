package fleet

import (
	"context"

	"github.com/gpu-portal/gpu-portal/views/ui"
)

// holderColumns are those of the table of holders: owner and size only where a row is one workload.
func holderColumns(ctx context.Context, m HoldersModel) []ui.ColumnModel {
	l := ui.L(ctx)
	columns := []ui.ColumnModel{{Label: m.Head, Sort: true, Width: "wide"}}
	if m.Owners {
		columns = append(columns, ui.ColumnModel{Label: l.S("fleet.use.col_owner"), Sort: true},
			ui.ColumnModel{Label: l.S("requests.col_size"), Sort: true})
	}
	return append(columns, ui.ColumnModel{Label: l.S("fleet.use.col_held_for"), Numeric: true, Sort: true},
		ui.ColumnModel{Label: m.Window, Sort: true},
		ui.ColumnModel{Label: l.S("fleet.use.col_money"), Numeric: true, Sort: true},
		ui.ColumnModel{Label: l.S("fleet.use.col_idle_money"), Numeric: true, Sort: true})
}

package fleet

import (
	"context"

	"github.com/gpu-portal/gpu-portal/views/ui"
)

// holderColumns are those of the table of holders: owner and size only where a row is one workload.
func holderColumns(ctx context.Context, m HoldersModel) []ui.ColumnModel {
	l := ui.L(ctx)
	head := m.List.Head
	columns := []ui.ColumnModel{head("name", ui.ColumnModel{Label: m.Head, Width: "wide"})}
	if m.Owners {
		columns = append(columns, head("owner", ui.ColumnModel{Label: l.S("fleet.use.col_owner")}),
			head("size", ui.ColumnModel{Label: l.S("requests.col_size")}))
	}
	columns = append(columns, head("held", ui.ColumnModel{Label: m.HeldHead, Numeric: true}),
		head("use", ui.ColumnModel{Label: m.Window}),
		head("cost", ui.ColumnModel{Label: l.S("fleet.use.col_money"), Numeric: true}),
		head("idle", ui.ColumnModel{Label: l.S("fleet.use.col_idle_money"), Numeric: true}))
	if len(m.Rows) > 0 && (m.Rows[0].Workloads != "" || len(m.Rows[0].Acts) > 0) {
		columns = append(columns, ui.ColumnModel{Label: l.S("home.col_actions"), Hidden: true, Width: "fit"})
	}
	return columns
}

package home

import (
	"context"

	"github.com/gpu-portal/gpu-portal/views/ui"
)

// columns are the heads of workload.Row.
func columns(ctx context.Context, list ui.ListModel) []ui.ColumnModel {
	l := ui.L(ctx)
	return []ui.ColumnModel{
		list.Head("name", ui.ColumnModel{Label: l.S("home.col_name")}),
		list.Head("state", ui.ColumnModel{Label: l.S("home.col_state"), Width: "state"}),
		list.Head("size", ui.ColumnModel{Label: l.S("home.col_size")}),
		list.Head("use", ui.ColumnModel{Label: l.S("home.col_use")}),
		list.Head("lease", ui.ColumnModel{Label: l.S("home.col_lease")}),
		list.Head("cost", ui.ColumnModel{Label: l.S("home.col_cost"), Numeric: true}),
		{Label: l.S("home.col_actions"), Hidden: true},
	}
}

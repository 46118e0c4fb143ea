package home

import (
	"context"

	"github.com/gpu-portal/gpu-portal/views/ui"
)

// columns are the heads of workload.Row.
func columns(ctx context.Context) []ui.ColumnModel {
	l := ui.L(ctx)
	return []ui.ColumnModel{
		{Label: l.S("home.col_name"), Sort: true}, {Label: l.S("home.col_state"), Sort: true},
		{Label: l.S("home.col_size"), Sort: true},
		{Label: l.S("home.col_use")}, {Label: l.S("home.col_lease")}, {Label: l.S("home.col_cost"), Numeric: true},
		{Label: l.S("home.col_actions"), Hidden: true},
	}
}

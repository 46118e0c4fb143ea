package workload

import (
	"context"

	"github.com/gpu-portal/gpu-portal/views/ui"
)

// tableColumns are the time and each value.
func tableColumns(ctx context.Context, m TableModel) []ui.ColumnModel {
	columns := []ui.ColumnModel{{Label: ui.L(ctx).S("workload.event_time"), Width: "fit"}}
	for _, head := range m.Heads {
		columns = append(columns, ui.ColumnModel{Label: head, Numeric: true})
	}
	return columns
}

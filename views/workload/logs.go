package workload

import (
	"context"

	"github.com/gpu-portal/gpu-portal/views/ui"
)

func eventsTable(ctx context.Context, m EventsModel) ui.TableModel {
	say := ui.L(ctx)
	t := ui.TableModel{ID: "cluster-events", Caption: say.S("workload.events_title"), Compact: true,
		Columns: []ui.ColumnModel{
			{Label: say.S("workload.events_last"), Width: "fit"}, {Label: say.S("workload.events_what"), Width: "wide"},
			{Label: say.S("workload.events_reason")}, {Label: say.S("workload.events_object")},
			{Label: say.S("workload.events_count"), Numeric: true},
			{Label: say.S("workload.events_first"), Width: "fit"},
		}}
	if len(m.Events) == 0 {
		t.Empty = &ui.EmptyStateModel{Title: say.S("workload.events_none"),
			Lines: []string{say.S("workload.events_none_body")}, Level: 3}
	}
	return t
}

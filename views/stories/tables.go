package stories

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/story"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

func uiTableMany(story.Setting) templ.Component {
	return within(ui.Table(ui.TableModel{ID: "workloads", Caption: "Workloads of team Vision",
		Columns: tableColumns}), tableRows("a", "b", "c", "d")...)
}

func uiTableOneWithFilter(story.Setting) templ.Component {
	return stack(
		ui.FilterBar(ui.FilterBarModel{Action: "#", Label: "Filter workloads", Client: "one", Count: "1 of 1",
			Search: &ui.FieldModel{ID: "q", Name: "q", Label: "Search", Kind: ui.SearchField, Placeholder: "Name, size, person"},
			Fields: []ui.FieldModel{{ID: "f-state", Name: "state", Label: "State", Kind: ui.SelectField,
				Options: []ui.OptionModel{{Label: "All"}, {Value: "r", Label: "Running"}}}},
			Switch: &ui.TabsModel{Label: "Whose", Items: []ui.TabModel{{Label: "Mine", Href: "#", Current: true},
				{Label: "Team", Href: "#"}}},
		}),
		within(ui.Table(ui.TableModel{ID: "one", Caption: "My workloads",
			Columns: []ui.ColumnModel{{Label: "Name", Sort: true},
				{Label: "Hours", Numeric: true, Sort: true}}, ClientSort: true, Keys: true}),
			within(ui.Row(ui.RowModel{ID: "one-1"}), ui.Cell(ui.CellModel{Label: "Name", Text: "segmentation", Head: true}),
				ui.Cell(ui.CellModel{Label: "Hours", Text: "8", Numeric: true, Sort: "8"})),
			within(ui.Row(ui.RowModel{ID: "one-2", Selected: true}),
				ui.Cell(ui.CellModel{Label: "Name", Text: "embeddings", Head: true}),
				ui.Cell(ui.CellModel{Label: "Hours", Text: "72", Numeric: true, Sort: "72"})),
		),
		ui.Pagination(ui.PaginationModel{Label: "Pages of workloads", NextURL: "#", Shown: "1–50 of about 2,000"}),
	)
}

func uiTableEmpty(story.Setting) templ.Component {
	return ui.Table(ui.TableModel{ID: "none", Caption: "My workloads",
		Empty: &ui.EmptyStateModel{Icon: "gpu", Title: "Nothing runs here yet",
			Lines: []string{"This is where your notebooks and model endpoints are.",
				"A slice of an H100 with 10 GB is free right now."},
			Actions: []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: "Start a notebook", Href: "#", Kind: ui.Primary}},
				{Link: &ui.LinkButtonModel{Label: "See what is free", Href: "#", Kind: ui.LinkLike}}}}})
}

func uiEmptyStates(story.Setting) templ.Component {
	return list("gp-grid",
		ui.EmptyState(ui.EmptyStateModel{Icon: "requests", Title: "Nothing to approve",
			Lines: []string{"New requests of your teams show up here by themselves."}, Kind: ui.OK}),
		ui.EmptyState(ui.EmptyStateModel{Icon: "search", Title: "No workload fits this filter",
			Actions: []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: "Clear filter", Href: "#", Kind: ui.LinkLike}}}}),
		ui.EmptyState(ui.EmptyStateModel{Icon: "danger", Title: "The list could not be read",
			Lines: []string{"The cluster has not responded since 13:58. Nothing is lost."}, Kind: ui.Danger}),
		ui.EmptyState(ui.EmptyStateModel{Icon: "lock", Title: "Only for platform administrators",
			Lines: []string{"Ask platform@example.org if you need this."}, Kind: ui.Warning}),
	)
}

// tableRow is a workload in a table.
type tableRow struct {
	m    ui.RowModel
	name ui.StackModel
	st   ui.StateModel
	use  ui.SparklineModel
	left ui.MeterModel
	cost string
}

var workloads = map[string]tableRow{
	"a": {ui.RowModel{ID: "w-a"}, ui.StackModel{Title: "segmentation", Href: "#",
		Detail: "MIG slice, 10 GB, hard isolation",
		Icon:   "notebook"}, ui.StateModel{Kind: ui.OK, Word: "Running"}, ui.SparklineModel{Label: "GPU use, last hour",
		Value:  "63 %",
		Values: yesterday, Max: 1}, ui.MeterModel{Label: "Lease", Value: "2 h 10 min", Bare: true,
		Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: .7}}}, "4.96 EUR"},
	"b": {ui.RowModel{ID: "w-b", Kind: ui.Warning}, ui.StackModel{Title: "embeddings", Href: "#",
		Detail: "Whole H100, 80 GB",
		Icon:   "endpoint"}, ui.StateModel{Kind: ui.Warning, Word: "Idle", Detail: "GPU idle for 52 min; stops at 14:10."},
		ui.SparklineModel{Label: "GPU use, last hour", Value: "0 %", Values: []float64{.3, .2, 0, 0, 0, 0}, Max: 1,
			Kind: ui.Warning}, ui.MeterModel{Label: "Lease", Value: "18 min", Bare: true,
			Segments: []ui.SegmentModel{{Fill: ui.FillWarning, Share: .1}}}, "38.20 EUR"},
	"c": {ui.RowModel{ID: "w-c"}, ui.StackModel{Title: longWords, Href: "#", Detail: "Big slice of an H100, 40 GB",
		Icon: "notebook"}, ui.StateModel{Kind: ui.Waiting, Word: "Queued",
		Detail: "Second in line; first one free in about 40 " +
			"min."}, ui.SparklineModel{Label: "GPU use", Value: "–"}, ui.MeterModel{Label: "Lease", Value: "not begun",
		Bare: true},
		"0.00 EUR"},
	"d": {ui.RowModel{ID: "w-d", Kind: ui.Danger}, ui.StackModel{Title: "rapids", Href: "#", Detail: "Shared L4",
		Icon: "notebook"}, ui.StateModel{Kind: ui.Danger, Word: "Failed", Detail: "The image does not exist."},
		ui.SparklineModel{Label: "GPU use", Value: "–"}, ui.MeterModel{Label: "Lease", Value: "ended", Bare: true},
		"0.02 EUR"},
}

const longWords = "finetune-llama-70b-with-long-context-and-a-name-nobody-would-type-by-hand-but-a-program-did-2026-11-21"

var tableColumns = []ui.ColumnModel{{Label: "Workload", SortURL: "#", Sorted: "ascending"},
	{Label: "State", SortURL: "#"},
	{Label: "GPU use"}, {Label: "Lease left"}, {Label: "Cost so far", Numeric: true},
	{Label: "Actions", Hidden: true, Width: "fit"}}

func tableRows(ids ...string) []templ.Component {
	var out []templ.Component
	for _, id := range ids {
		out = append(out, workloads[id].render(id))
	}
	return out
}

func (d tableRow) render(id string) templ.Component {
	cell := func(label string, c templ.Component) templ.Component {
		return within(ui.Cell(ui.CellModel{Label: label}), c)
	}
	return within(ui.Row(d.m),
		within(ui.Cell(ui.CellModel{Label: "Workload", Head: true}), ui.Stack(d.name)),
		cell("State", ui.State(d.st)),
		cell("GPU use", ui.Sparkline(d.use)),
		cell("Lease left", stackSmall(d.left)),
		ui.Cell(ui.CellModel{Label: "Cost so far", Text: d.cost, Numeric: true}),
		within(ui.Cell(ui.CellModel{Actions: true}), ui.Actions(ui.ActionsModel{End: true,
			Items: []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: "Open", Href: "#", Small: true, Kind: ui.Secondary}}}}),
			ui.Menu(ui.MenuModel{Label: "More for " + d.name.Title, IconOnly: true, End: true, Items: []ui.MenuItemModel{
				{Label: "Extend", Icon: "extend", Href: "#"}, {Label: "Share", Icon: "share", Href: "#",
					Why: "Only while it runs."}, {Label: "Stop", Icon: "stop", Danger: true, OpensDialog: "stop-" + id},
			}})))
}

func stackSmall(m ui.MeterModel) templ.Component {
	return list("gp-lease", words(m.Value), ui.Meter(m))
}

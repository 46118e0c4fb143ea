package ui

import (
	"context"
	"io"
	"math"
	"time"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/static"
	"github.com/gpu-portal/gpu-portal/views/story"
)

// list shows several components one under the other, or in a row.
func list(class string, parts ...templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		if _, err := io.WriteString(w, `<div class="`+class+`">`); err != nil {
			return err
		}
		for _, p := range parts {
			if err := p.Render(ctx, w); err != nil {
				return err
			}
		}
		_, err := io.WriteString(w, `</div>`)
		return err
	})
}

func row(parts ...templ.Component) templ.Component   { return list("gp-actions", parts...) }
func stack(parts ...templ.Component) templ.Component { return list("gp-sections", parts...) }

// within puts children into a component that takes them.
func within(outer templ.Component, children ...templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return outer.Render(templ.WithChildren(ctx, templ.Join(children...)), w)
	})
}

func words(s string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, templ.EscapeString(s))
		return err
	})
}

const longWords = "finetune-llama-70b-with-long-context-and-a-name-nobody-would-type-by-hand-but-a-program-did-2026-11-21"

var yaml = `apiVersion: v1
kind: Pod
metadata:
  name: notebook-anna-7f3c
  namespace: team-vision
spec:
  containers:
    - name: notebook
      resources:
        limits:
          nvidia.com/mig-1g.10gb: "1"
`

var yesterday = []float64{.1, .12, .3, .62, .71, .68, .8, .77, .74, math.NaN(), math.NaN(), math.NaN(), .5, .42, .44,
	.61, .72, .7, .66, .69, .63}

func init() {
	story.Add("ui", "Buttons", stack(
		row(
			Button(ButtonModel{Label: "Start notebook", Kind: Primary, Icon: "play"}),
			Button(ButtonModel{Label: "Extend", Kind: Secondary, Icon: "extend"}),
			Button(ButtonModel{Label: "Cancel", Kind: LinkLike}),
			Button(ButtonModel{Label: "Delete", Kind: DangerPrimary, Icon: "trash"}),
			Button(ButtonModel{Label: "Stop", Kind: DangerSecondary, Icon: "stop"}),
			Button(ButtonModel{Label: "More", Kind: Plain, Icon: "more", IconOnly: true}),
			LinkButton(LinkButtonModel{Label: "Open", Href: "#", Kind: Secondary, NewTab: true}),
		),
		row(
			Button(ButtonModel{Label: "Approve", Kind: Primary, Small: true, Shortcut: "a"}),
			Button(ButtonModel{Label: "Reject", Kind: Secondary, Small: true, Shortcut: "r"}),
			Button(ButtonModel{Label: "Starting", Kind: Primary, Busy: true}),
			Button(ButtonModel{Label: "Send", Kind: Primary, Disabled: true}),
			Button(ButtonModel{Label: "Start notebook", Kind: Primary, Why: "Your team's quota of 4 GPUs is used up"}),
		),
	))

	story.Add("ui", "States and badges", stack(
		row(
			State(StateModel{Kind: OK, Word: "Running"}),
			State(StateModel{Kind: Progress, Word: "Starting"}),
			State(StateModel{Kind: Waiting, Word: "Queued"}),
			State(StateModel{Kind: Warning, Word: "Idle"}),
			State(StateModel{Kind: Danger, Word: "Failed"}),
			State(StateModel{Kind: Off, Word: "Stopped"}),
			State(StateModel{Kind: Info, Word: "Planned"}),
			State(StateModel{Kind: Unknown, Word: "Unknown"}),
		),
		State(StateModel{Kind: Waiting, Word: "Queued", Detail: "Second in line for MIG 1g.10gb; first one is free in " +
			"about 40 min."}),
		row(
			Badge(BadgeModel{Word: "hard isolation", Color: "green", Icon: "lock", About: "own memory and compute in hardware"}),
			Badge(BadgeModel{Word: "time-slicing", Color: "orange"}),
			Badge(BadgeModel{Word: "spot"}),
			Badge(BadgeModel{Word: "H100"}),
			Count(CountModel{Count: 3, Words: "3 requests wait for you"}),
			Count(CountModel{Count: 214, Words: "214 requests wait for you"}),
			Count(CountModel{Count: 0}),
		),
	))

	story.Add("ui", "Fields", within(Form(FormModel{Action: "#"}),
		Field(FieldModel{Name: "name", Label: "Name", Value: "segmentation", Hint: "Lower-case letters, digits and dashes.",
			Required: true}),
		Field(FieldModel{Name: "hours", Label: "How long", Kind: NumberField, Value: "8", Unit: "hours", Min: "1", Max: "72",
			Hint: "At most 72 hours; you can extend later."}),
		Field(FieldModel{Name: "image", Label: "Image", Kind: SelectField, Value: "b", Options: []OptionModel{
			{Value: "a", Label: "PyTorch 2.9"}, {Value: "b", Label: "TensorFlow 2.21"}, {Value: "c", Label: "RAPIDS 26.10",
				Disabled: true, Why: "not allowed for your team"},
		}}),
		Field(FieldModel{Name: "why", Label: "Why", Kind: TextareaField, Placeholder: "What will you do with it?",
			Hint: "The approvers read this."}),
		Field(FieldModel{Name: "keep", Label: "Keep my files when it ends", Kind: CheckboxField, Checked: true,
			Hint: "Kept for 30 days under Storage."}),
		Field(FieldModel{Name: "kind", Label: "What do you want to run?", Kind: RadiosField, Value: "notebook",
			Options: []OptionModel{
				{Value: "notebook", Label: "Notebook", Hint: "Jupyter in your browser."},
				{Value: "endpoint", Label: "Inference endpoint", Hint: "A model behind an address that programs can call."},
				{Value: "vm", Label: "Virtual machine", Why: "Not offered on this cluster."},
			}}),
		Field(FieldModel{Name: "teams", Label: "Who may enter", Kind: CheckboxesField,
			Options: []OptionModel{{Value: "1", Label: "Anna Berg", Selected: true}, {Value: "2", Label: "Jonas Wolf"}}}),
		within(FormActions(), Button(ButtonModel{Label: "Send request", Kind: Primary}),
			Button(ButtonModel{Label: "Cancel", Kind: LinkLike})),
	))

	story.Add("ui", "Fields with problems", within(Form(FormModel{Action: "#"}),
		FormErrors(FormErrorsModel{Title: "2 entries need a change.",
			Items: []FormErrorModel{{"p-name", "The name is taken."}, {"p-hours", "At most 72 hours."}}}),
		Field(FieldModel{ID: "p-name", Name: "name", Label: "Name", Value: "segmentation", Error: "The name is taken.",
			Hint: "Lower-case letters, digits and dashes.", Required: true}),
		Field(FieldModel{ID: "p-hours", Name: "hours", Label: "How long", Kind: NumberField, Value: "400", Unit: "hours",
			Error: "At most 72 hours."}),
		Field(FieldModel{ID: "p-image", Name: "image", Label: "Image", Kind: SelectField, Error: "Choose an image.",
			Options: []OptionModel{{Value: "", Label: "Choose …"}}}),
		Field(FieldModel{ID: "p-kind", Name: "kind", Label: "What do you want to run?", Kind: RadiosField,
			Error: "Choose one.", Required: true, Options: []OptionModel{{Value: "n", Label: "Notebook"},
				{Value: "e", Label: "Endpoint"}}}),
		Field(FieldModel{ID: "p-ok", Name: "ok", Label: "I have read the rules of use", Kind: CheckboxField,
			Error: "Please confirm."}),
	))

	story.Add("ui", "Choice of a size", within(Form(FormModel{Action: "#"}),
		Field(FieldModel{ID: "size", Name: "size", Label: "Size", Kind: CardsField, Value: "mig1", Options: []OptionModel{
			{Value: "cpu", Label: "CPU only", Glyph: &ShareGlyphModel{Kind: GlyphCPU}, Facts: []string{"4 cores", "16 GB RAM"},
				Hint: "For writing code before you ask for a GPU.", Aside: "free"},
			{Value: "ts", Label: "Shared L4", Glyph: &ShareGlyphModel{Kind: GlyphTimeSlice},
				Facts: []string{"24 GB, shared by 4", "no isolation"}, Aside: "0.21 EUR/h",
				State: &StateModel{Kind: OK, Word: "3 of 4 free"}},
			{Value: "mig1", Label: "Slice of an H100", Glyph: &ShareGlyphModel{Kind: GlyphSlice, Parts: 7, Filled: 1},
				Facts: []string{"10 GB", "hard isolation", "1/7 of the compute"}, Aside: "0.62 EUR/h",
				State: &StateModel{Kind: OK, Word: "5 of 14 free"}},
			{Value: "mig3", Label: "Big slice of an H100", Glyph: &ShareGlyphModel{Kind: GlyphSlice, Parts: 7, Filled: 3},
				Facts: []string{"40 GB", "hard isolation"}, Aside: "1.86 EUR/h", State: &StateModel{Kind: Waiting,
					Word: "in about 40 min"}},
			{Value: "full", Label: "Whole H100", Glyph: &ShareGlyphModel{Kind: GlyphWhole},
				Facts: []string{"80 GB", "needs approval"}, Aside: "4.10 EUR/h"},
			{Value: "four", Label: "Four H100 with NVLink", Glyph: &ShareGlyphModel{Kind: GlyphSeveral, Count: 4},
				Facts: []string{"4 × 80 GB"}, Aside: "16.40 EUR/h", Why: "Your team may hold 2 whole GPUs at most."},
		}}),
	))

	story.Add("ui", "Share of a card", row(
		ShareGlyph(ShareGlyphModel{Kind: GlyphSlice, Parts: 7, Filled: 1, Label: "1 of 7 slices", Large: true}),
		ShareGlyph(ShareGlyphModel{Kind: GlyphSlice, Parts: 7, Filled: 3, Label: "3 of 7 slices", Large: true}),
		ShareGlyph(ShareGlyphModel{Kind: GlyphTimeSlice, Label: "taking turns with others", Large: true}),
		ShareGlyph(ShareGlyphModel{Kind: GlyphSoft, Parts: 10, Filled: 3, Label: "30 % of the memory, compute shared",
			Large: true}),
		ShareGlyph(ShareGlyphModel{Kind: GlyphWhole, Label: "a whole card", Large: true}),
		ShareGlyph(ShareGlyphModel{Kind: GlyphSeveral, Count: 4, Label: "four whole cards", Large: true}),
		ShareGlyph(ShareGlyphModel{Kind: GlyphCPU, Label: "no GPU", Large: true}),
		ShareGlyph(ShareGlyphModel{Kind: GlyphUnknown, Label: "share not known", Large: true}),
		ShareGlyph(ShareGlyphModel{Kind: GlyphSlice, Parts: 7, Filled: 2, Label: "2 of 7 slices"}),
		ShareGlyph(ShareGlyphModel{Kind: GlyphSeveral, Count: 8, Label: "eight whole cards"}),
	))

	story.Add("ui", "Meters", stack(
		Meter(MeterModel{Label: "Lease", Value: "2 h 10 min left", Segments: []SegmentModel{{Fill: FillUsed, Share: .73}},
			Detail: "Ends today at 14:10"}),
		Meter(MeterModel{Label: "Quota, slices of H100", Value: "6 of 8", Legend: true,
			Segments: []SegmentModel{{FillUsed, .5, "4 in use"}, {FillIdle, .25, "2 idle"},
				{FillThis, .125, "1 this request"}}}),
		Meter(MeterModel{Label: "Fleet, MIG 1g.10gb", Value: "5 free of 28", Large: true, Legend: true,
			Segments: []SegmentModel{{FillUsed, .5, "14 working"}, {FillIdle, .18, "5 idle"}, {FillReserved, .07, "2 reserved"},
				{FillBlocked, .05, "1 cannot be used"}, {FillBroken, .02, "1 broken"}}}),
		Meter(MeterModel{Label: "Budget", Value: "1,950 of 2,000 EUR",
			Segments: []SegmentModel{{Fill: FillWarning, Share: .975}}, Detail: "At this pace used up on 24 November"}),
		Meter(MeterModel{Label: "Nothing used", Value: "0 of 8"}),
	))

	story.AddFunc("ui", "Time, money, age", func(s story.Setting) templ.Component {
		l, now := s.Localizer, story.Now
		return row(
			Time(At(l, now.Add(130*time.Minute), now, time.UTC)),
			Time(At(l, now.Add(-12*time.Minute), now, time.UTC)),
			Time(Exact(l, now, time.UTC)),
			Time(TimeModel{Words: l.S("ui.unknown")}),
			Money(Amount(l, 123456, "EUR")),
			Money(MoneyModel{Amount: Number(l, .62, 2), Currency: "EUR", Per: "/ h"}),
			Age(AgeModel{Source: "Prometheus", Time: At(l, now.Add(-20*time.Second), now, time.UTC)}),
			Age(AgeModel{Source: "Prometheus", Time: At(l, now.Add(-14*time.Minute), now, time.UTC), Old: true}),
		)
	})

	story.Add("ui", "Sparklines", stack(
		row(
			Sparkline(SparklineModel{Label: "GPU use, last hour", Value: "63 %", Values: yesterday, Max: 1}),
			Sparkline(SparklineModel{Label: "GPU use, last hour", Value: "2 %", Values: []float64{.4, .3, .1, .02, .01, .02, .02,
				.01, .02}, Max: 1, Kind: Warning}),
			Sparkline(SparklineModel{Label: "GPU use, last hour", Value: "unknown", Values: []float64{math.NaN(), math.NaN()},
				Max: 1, Kind: Off}),
			Sparkline(SparklineModel{Label: "GPU use, last hour", Value: "100 %", Values: []float64{1}, Max: 1}),
		),
		Sparkline(SparklineModel{Label: "GPU use, last hour", Value: "63 %", Values: percent(yesterday), Max: 100, Unit: "%",
			Large: true, From: "11:00", To: "12:00", Threshold: 5}),
	))

	story.Add("ui", "Copy", stack(
		row(Copy(CopyModel{Value: "wl-7f3c9a", Label: "workload id"}),
			Copy(CopyModel{Value: "GPU-5c0d4bb2-66c8-4c1f-9e0d-7d4a8f9f4f10", Shown: "GPU-5c0d…4f10", Label: "GPU id"})),
		Copy(CopyModel{Value: "curl -H 'Authorization: Bearer …' https://llama.apps.example/v1/chat/completions",
			Label: "command", Block: true}),
	))

	story.Add("ui", "Notices", stack(
		Notice(NoticeModel{Kind: Warning, Title: "No GPU work for 52 min", Body: "segmentation stops at 14:10 so that " +
			"others can use its GPU. Your files stay.", Actions: []ActionModel{
			{Button: &ButtonModel{Label: "Still working", Kind: Secondary, Small: true}},
			{Button: &ButtonModel{Label: "Stop now", Kind: LinkLike, Small: true}}}}),
		Notice(NoticeModel{Kind: Danger, Title: "The image could not be fetched",
			Body: "The registry says that pytorch:2.9 does not exist. Choose another image or ask the platform team."}),
		Notice(NoticeModel{Kind: OK, Title: "Your request was sent", Body: "One of 3 approvers decides, usually within 25 " +
			"min."}),
		Notice(NoticeModel{Kind: Info, Title: "A smaller size would do", Body: "In the last week you used 6 of 80 GB.",
			Items: []string{"Slice of an H100, 10 GB: 0.62 instead of 4.10 EUR/h"}}),
	))

	story.Add("ui", "Strips", stack(
		Strip(StripModel{Kind: Info, Words: "Cluster state from 14:02."}),
		Strip(StripModel{Kind: Warning, Words: "Prometheus does not answer since 14:02. GPU use is not shown; starting and " +
			"stopping work.", Actions: []ActionModel{{Link: &LinkButtonModel{Label: "Metrics health", Href: "#", Kind: LinkLike,
			Small: true}}}}),
		Strip(StripModel{Kind: Danger, Words: "The cluster does not answer since 13:58. Nothing can be started; what runs " +
			"keeps running."}),
		Strip(StripModel{Kind: OK, Words: "The connection is back."}),
	))

	story.Add("ui", "Steps", list("gp-grid",
		within(Card(CardModel{Title: "Starting"}), Steps(StepsModel{Label: "Start of segmentation", Items: []StepModel{
			{Title: "Decided", State: StepDone, TookWords: "at once", Time: &TimeModel{Words: "14:02:10"}},
			{Title: "Created", State: StepDone, TookWords: "1 s", Time: &TimeModel{Words: "14:02:11"}},
			{Title: "Node found", State: StepDone, TookWords: "4 s", Time: &TimeModel{Words: "14:02:15"}},
			{Title: "Image", State: StepCurrent, Took: &TimeModel{Words: "38 s"}, Share: .6,
				Explanation: "8.4 of 14 GB; the first start on this node takes longest."},
			{Title: "Ready", State: StepWaiting},
		}})),
		within(Card(CardModel{Title: "Hanging"}), Steps(StepsModel{Label: "Start of llama", Items: []StepModel{
			{Title: "Decided", State: StepDone, Time: &TimeModel{Words: "13:40"}},
			{Title: "Queued", State: StepStuck, Took: &TimeModel{Words: "22 min"},
				Explanation: "All 28 slices of this kind are held. Two are idle and are taken back at 14:30.",
				Actions:     []ActionModel{{Button: &ButtonModel{Label: "Take a shared L4 now", Small: true}}}},
			{Title: "Ready", State: StepWaiting},
		}})),
		within(Card(CardModel{Title: "Failed"}), Steps(StepsModel{Label: "Start of rapids", Items: []StepModel{
			{Title: "Decided", State: StepDone, Time: &TimeModel{Words: "13:40"}},
			{Title: "Image", State: StepFailed, TookWords: "12 s",
				Explanation: "The registry refuses the image: it does not exist or is not readable for this cluster."},
			{Title: "Ready", State: StepWaiting},
		}})),
	))

	rows := func(ids ...string) []templ.Component {
		cell := func(label string, c templ.Component) templ.Component { return within(Cell(CellModel{Label: label}), c) }
		data := map[string]struct {
			m    RowModel
			name StackModel
			st   StateModel
			use  SparklineModel
			left MeterModel
			cost string
		}{
			"a": {RowModel{ID: "w-a"}, StackModel{Title: "segmentation", Href: "#", Detail: "MIG slice, 10 GB, hard isolation",
				Icon: "notebook"}, StateModel{Kind: OK, Word: "Running"}, SparklineModel{Label: "GPU use, last hour", Value: "63 %",
				Values: yesterday, Max: 1}, MeterModel{Label: "Lease", Value: "2 h 10 min", Bare: true,
				Segments: []SegmentModel{{Fill: FillUsed, Share: .7}}}, "4.96 EUR"},
			"b": {RowModel{ID: "w-b", Kind: Warning}, StackModel{Title: "embeddings", Href: "#", Detail: "Whole H100, 80 GB",
				Icon: "endpoint"}, StateModel{Kind: Warning, Word: "Idle", Detail: "No GPU work for 52 min; stops at 14:10."},
				SparklineModel{Label: "GPU use, last hour", Value: "0 %", Values: []float64{.3, .2, 0, 0, 0, 0}, Max: 1,
					Kind: Warning}, MeterModel{Label: "Lease", Value: "18 min", Bare: true,
					Segments: []SegmentModel{{Fill: FillWarning, Share: .1}}}, "38.20 EUR"},
			"c": {RowModel{ID: "w-c"}, StackModel{Title: longWords, Href: "#", Detail: "Big slice of an H100, 40 GB",
				Icon: "notebook"}, StateModel{Kind: Waiting, Word: "Queued", Detail: "Second in line; first one free in about 40 " +
				"min."}, SparklineModel{Label: "GPU use", Value: "–"}, MeterModel{Label: "Lease", Value: "not begun", Bare: true},
				"0.00 EUR"},
			"d": {RowModel{ID: "w-d", Kind: Danger}, StackModel{Title: "rapids", Href: "#", Detail: "Shared L4",
				Icon: "notebook"}, StateModel{Kind: Danger, Word: "Failed", Detail: "The image does not exist."},
				SparklineModel{Label: "GPU use", Value: "–"}, MeterModel{Label: "Lease", Value: "ended", Bare: true}, "0.02 EUR"},
		}
		var out []templ.Component
		for _, id := range ids {
			d := data[id]
			out = append(out, within(Row(d.m),
				within(Cell(CellModel{Label: "Workload", Head: true}), Stack(d.name)),
				cell("State", State(d.st)),
				cell("GPU use", Sparkline(d.use)),
				cell("Lease left", stackSmall(d.left)),
				Cell(CellModel{Label: "Cost so far", Text: d.cost, Numeric: true}),
				within(Cell(CellModel{Actions: true}), Actions(ActionsModel{End: true,
					Items: []ActionModel{{Link: &LinkButtonModel{Label: "Open", Href: "#", Small: true, Kind: Secondary}}}}),
					Menu(MenuModel{Label: "More for " + d.name.Title, IconOnly: true, End: true, Items: []MenuItemModel{
						{Label: "Extend", Icon: "extend", Href: "#"}, {Label: "Share", Icon: "share", Href: "#",
							Why: "Only while it runs."}, {Label: "Stop", Icon: "stop", Danger: true, OpensDialog: "stop-" + id},
					}})),
			))
		}
		return out
	}
	columns := []ColumnModel{{Label: "Workload", SortURL: "#", Sorted: "ascending"}, {Label: "State", SortURL: "#"},
		{Label: "GPU use"}, {Label: "Lease left"}, {Label: "Cost so far", Numeric: true},
		{Label: "Actions", Hidden: true, Width: "fit"}}
	story.Add("ui", "Table, many", within(Table(TableModel{ID: "workloads", Caption: "Workloads of team Vision",
		Columns: columns}), rows("a", "b", "c", "d")...))
	story.Add("ui", "Table, one, with filter", stack(
		FilterBar(FilterBarModel{Action: "#", Label: "Filter workloads", Client: "one", Count: "1 of 1",
			Search: &FieldModel{ID: "q", Name: "q", Label: "Search", Kind: SearchField, Placeholder: "Name, size, person"},
			Fields: []FieldModel{{ID: "f-state", Name: "state", Label: "State", Kind: SelectField,
				Options: []OptionModel{{Label: "All"}, {Value: "r", Label: "Running"}}}},
			Switch: &TabsModel{Label: "Whose", Items: []TabModel{{Label: "Mine", Href: "#", Current: true},
				{Label: "Team", Href: "#"}}},
		}),
		within(Table(TableModel{ID: "one", Caption: "My workloads", Columns: []ColumnModel{{Label: "Name", Sort: true},
			{Label: "Hours", Numeric: true, Sort: true}}, ClientSort: true, Keys: true}),
			within(Row(RowModel{ID: "one-1"}), Cell(CellModel{Label: "Name", Text: "segmentation", Head: true}),
				Cell(CellModel{Label: "Hours", Text: "8", Numeric: true, Sort: "8"})),
			within(Row(RowModel{ID: "one-2", Selected: true}), Cell(CellModel{Label: "Name", Text: "embeddings", Head: true}),
				Cell(CellModel{Label: "Hours", Text: "72", Numeric: true, Sort: "72"})),
		),
		Pagination(PaginationModel{Label: "Pages of workloads", NextURL: "#", Shown: "1–50 of about 2,000"}),
	))
	story.Add("ui", "Table, empty", Table(TableModel{ID: "none", Caption: "My workloads",
		Empty: &EmptyStateModel{Icon: "gpu", Title: "Nothing runs here yet",
			Lines: []string{"This is where your notebooks and model endpoints are.",
				"A slice of an H100 with 10 GB is free right now."},
			Actions: []ActionModel{{Link: &LinkButtonModel{Label: "Start a notebook", Href: "#", Kind: Primary}},
				{Link: &LinkButtonModel{Label: "See what is free", Href: "#", Kind: LinkLike}}}}}))

	story.Add("ui", "Empty states", list("gp-grid",
		EmptyState(EmptyStateModel{Icon: "requests", Title: "Nothing waits for you",
			Lines: []string{"New requests of your teams show up here by themselves."}, Kind: OK}),
		EmptyState(EmptyStateModel{Icon: "search", Title: "No workload fits this filter",
			Actions: []ActionModel{{Link: &LinkButtonModel{Label: "Clear filter", Href: "#", Kind: LinkLike}}}}),
		EmptyState(EmptyStateModel{Icon: "danger", Title: "The list could not be read",
			Lines: []string{"The cluster does not answer since 13:58. Nothing is lost."}, Kind: Danger}),
		EmptyState(EmptyStateModel{Icon: "lock", Title: "Only for platform administrators",
			Lines: []string{"Ask platform@example.org if you need this."}, Kind: Warning}),
	))

	story.Add("ui", "Dialogs", row(
		Button(ButtonModel{Label: "Delete …", Kind: DangerSecondary, OpensDialog: "delete"}),
		Dialog(DialogModel{ID: "delete", Kind: Danger, Title: "Delete segmentation?",
			Body:  "It runs since 2 h 10 min and worked until now.",
			Loses: []string{"What is in memory: running cells, open kernels", "Files outside of /home/jovyan"},
			Keeps: []string{"Your home volume, 12 GB, for 30 days"},
			Undo:  "The volume can be attached to a new notebook under Storage.", Action: "#",
			Confirm: ButtonModel{Label: "Delete segmentation", Kind: DangerPrimary}}),
		Button(ButtonModel{Label: "Reject …", Kind: Secondary, OpensDialog: "reject"}),
		within(Dialog(DialogModel{ID: "reject", Title: "Reject this request", Action: "#",
			Confirm: ButtonModel{Label: "Reject", Kind: Primary}}),
			Field(FieldModel{ID: "note", Name: "note", Label: "Note to Anna Berg", Kind: TextareaField, Required: true,
				Hint: "She reads this in her request and in the mail."})),
		dialogsFor("a", "b", "c", "d"),
	))

	story.Add("ui", "Tabs and switch", stack(
		Tabs(TabsModel{Label: "Sides of segmentation", Items: []TabModel{{Label: "Overview", Href: "#", Current: true},
			{Label: "Logs", Href: "#"}, {Label: "Events", Href: "#", Count: 3}, {Label: "Access", Href: "#"},
			{Label: "Objects", Href: "#"}, {Label: "History", Href: "#"}}}),
		Switch(TabsModel{Label: "Month", Items: []TabModel{{Label: "Mine", Href: "#", Current: true, Icon: "user"},
			{Label: "Team", Href: "#", Icon: "team"}}}),
	))

	story.Add("ui", "Code", stack(
		Code(CodeModel{ID: "code-1", Title: "Pod", Language: "YAML", Text: yaml}),
		Code(CodeModel{ID: "code-2", Title: "What will be created", Language: "YAML", Text: yaml, Folded: true}),
	))

	story.Add("ui", "Facts", list("gp-grid",
		within(Card(CardModel{ID: "facts", Title: "Details",
			Actions: []ActionModel{{Button: &ButtonModel{Label: "Edit", Kind: LinkLike, Small: true, Icon: "edit"}}}}),
			DefList(DefListModel{Items: []DefModel{
				{Term: "Size", Value: "Slice of an H100, 10 GB"},
				{Term: "Node", Component: Copy(CopyModel{Value: "gpu-node-07", Label: "node name"})},
				{Term: "Isolation", Value: "hard", About: "Own memory and compute in hardware."},
				{Term: "Who may enter", Value: "Anna Berg, Jonas Wolf"},
			}})),
		within(Card(CardModel{Title: "Side by side", Lead: "For wide places."}),
			DefList(DefListModel{Columns: true, Items: []DefModel{
				{Term: "Price", Component: Money(MoneyModel{Amount: "0.62", Currency: "EUR", Per: "per hour"})},
				{Term: "Ends", Value: "today, 14:10"}, {Term: "Rule", Value: "small slices are free to take"},
			}})),
	))

	story.Add("ui", "Tiles", Tiles(TilesModel{Label: "This month", Items: []TileModel{
		{Label: "GPU-hours, whole H100", Value: "1,204", Unit: "h", Detail: "12 % more than in October"},
		{Label: "Cost", Value: "4,936.40", Unit: "EUR", Detail: "of 6,000 EUR budget", Meter: &MeterModel{Label: "Budget",
			Value: "82 %", Bare: true, Segments: []SegmentModel{{Fill: FillUsed, Share: .82}}}},
		{Label: "Held idle", Value: "311", Unit: "h", Detail: "1,275 EUR for nothing", Kind: Warning, Href: "#"},
		{Label: "Waiting for you", Value: "3", Href: "#", Detail: "oldest 12 min"},
	}}))

	story.Add("ui", "Busy", stack(
		row(Busy(BusyModel{Words: "Fetching the image", Since: &TimeModel{Words: "38 s", Machine: "2026-11-21T11:59:22Z",
			Mode: TimeElapsed}, Usual: "usually 2 min"}), Spinner(SpinnerModel{Label: "Loading"})),
		Skeleton(SkeletonModel{Lines: 4, Words: "The list is being fetched"}),
	))

	story.Add("ui", "Menu", row(
		Menu(MenuModel{Label: "Actions", Items: []MenuItemModel{{Label: "This workload"}, {Label: "Extend", Icon: "extend",
			Href: "#"}, {Label: "Share", Icon: "share", Href: "#", Detail: "Let somebody else in"},
			{Label: "Resize", Icon: "sizes", Why: "Only while it is stopped"}, {Label: "Stop", Icon: "stop", Danger: true,
				Action: "#"}}}),
	))

	story.Add("ui", "Page header", Header(HeaderModel{Title: "segmentation", Lead: "Slice of an H100, 10 GB, hard " +
		"isolation · since 2 h 10 min", State: &StateModel{Kind: OK, Word: "Running"},
		Crumbs: []CrumbModel{{"My GPUs", "#"}, {"segmentation", ""}},
		Actions: []ActionModel{{Link: &LinkButtonModel{Label: "Open", Href: "#", Kind: Primary, NewTab: true}},
			{Button: &ButtonModel{Label: "Extend", Icon: "extend"}},
			{Button: &ButtonModel{Label: "Stop", Kind: DangerSecondary}}}}))

	story.Add("ui", "List and detail", Split(SplitModel{List: true, AsideLabel: "Detail",
		Main:  within(Card(CardModel{Title: "Waiting for you"}), words("The list.")),
		Aside: within(Card(CardModel{Title: "Anna Berg asks for a whole H100"}), words("The detail."))}))

	story.Add("ui", "Icons", iconTable())
}

func percent(shares []float64) []float64 {
	out := make([]float64, len(shares))
	for i, v := range shares {
		out[i] = v * 100
	}
	return out
}

func stackSmall(m MeterModel) templ.Component {
	return list("gp-lease", words(m.Value), Meter(m))
}

func dialogsFor(ids ...string) templ.Component {
	var all []templ.Component
	for _, id := range ids {
		all = append(all, Dialog(DialogModel{ID: "stop-" + id, Title: "Stop it?", Action: "#",
			Loses: []string{"What is in memory"}, Confirm: ButtonModel{Label: "Stop", Kind: DangerPrimary}}))
	}
	return templ.Join(all...)
}

func iconTable() templ.Component {
	var all []templ.Component
	for _, name := range static.IconNames() {
		all = append(all, list("gp-icon-sample", Icon(name), words(" "+name)))
	}
	return list("gp-icons", all...)
}

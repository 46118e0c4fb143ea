package workload

import (
	"context"
	"strings"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/markup"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// SizeModel is a size in words, with a picture of its share of a card.
type SizeModel struct {
	Title  string
	Detail string
	Glyph  ui.ShareGlyphModel
}

// Size is a picture with two lines.
func Size(m SizeModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<span class="gp-size" data-test="size">`)
		h.Put(ui.ShareGlyph(m.Glyph))
		h.Raw(`<span class="gp-size__body"><span class="gp-size__title">`)
		h.Text(m.Title)
		h.Raw("</span> ")
		h.Element("span", "gp-size__detail", m.Detail)
		h.Raw("</span></span>")
	})
}

// UseModel is the GPU use of the last hour. ID is its place on the page, where live messages put a fresh one.
type UseModel struct {
	ID    string
	Spark ui.SparklineModel
	// Words stand instead of the line, where there is nothing to draw.
	Words string
}

// Use is a small line, or the words why there is none.
func Use(m UseModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw("<div")
		h.Always("id", m.ID)
		h.Raw(` data-test="use">`)
		if m.Words != "" {
			h.Element("span", "gp-subtle", m.Words)
		} else {
			h.Put(ui.Sparkline(m.Spark))
		}
		h.Raw("</div>")
	})
}

// LeaseModel is how much of the time is left.
type LeaseModel struct {
	// Words say it when nothing runs down: "not started yet".
	Words string
	Left  *ui.TimeModel
	Bar   ui.MeterModel // without segments none is drawn
	// Ends is the end, for the page of one workload.
	Ends *ui.TimeModel
}

// Lease is a bar with what is left over it.
func Lease(m LeaseModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<div data-test="lease">`)
		if m.Left != nil {
			h.Put(ui.Time(*m.Left))
			h.Raw(" ")
			if len(m.Bar.Segments) > 0 {
				h.Put(ui.Meter(m.Bar))
			}
		} else {
			h.Raw(`<span class="gp-subtle">`)
			h.Text(m.Words)
			h.Raw("</span>")
		}
		h.Raw("</div>")
	})
}

// RowModel is one workload, or one request that waits, in the list of the home page.
type RowModel struct {
	ID      string
	Request bool // that waits
	Kind    ui.Kind
	Name    ui.StackModel
	State   ui.StateModel
	// Forecast is when it will be ready; nil for what is not awaited.
	Forecast *ForecastModel
	Size     SizeModel
	Use      UseModel
	Lease    LeaseModel
	// Ending is a lease that ends soon, with the one click that moves it; nil for others.
	Ending *EndingModel
	Cost   string
	// Price is what an hour costs, under the cost.
	Price string
	// Open, Resume and Again are addresses, "" for what cannot be done; the first that can is offered, else a smaller
	// size that can start now, else the way to the page. Again is the start page, filled as what failed was.
	Open   string
	Resume string
	Again  string
}

// OneClickModel is a start that one click sends.
type OneClickModel struct {
	Hidden   []ui.HiddenModel
	Size     string
	Duration string
	Price    string // per hour
}

// Row is one line of the list.
func Row(m RowModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		say := ui.L(h.Context())
		row := ui.RowModel{ID: m.ID, Kind: m.Kind, Test: rowTest(m), Attrs: templ.Attributes{"data-name": m.Name.Title}}
		ui.WriteRow(h, row, func() {
			ui.WriteCell(h, ui.CellModel{Head: true, Label: say.S("home.col_name"), Test: "name"}, ui.Stack(m.Name))
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Label: say.S("home.col_state")}, m.state())
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Label: say.S("home.col_size")}, Size(m.Size))
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Label: say.S("home.col_use")}, Use(m.Use))
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Label: say.S("home.col_lease")}, m.lease())
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Label: say.S("home.col_cost"), Numeric: true}, m.cost())
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Actions: true, Label: say.S("home.col_actions")},
				ui.Actions(ui.ActionsModel{Items: []ui.ActionModel{rowAction(h.Context(), m)}, End: true}))
		})
	})
}

// state has one thing under it, so that rows keep their height when a workload goes on: the place in the queue and the
// time where they are known, else the reason.
func (m RowModel) state() templ.Component {
	state := m.State.Hook("state")
	if m.Forecast == nil || m.Forecast.Place == "" && len(m.Forecast.Words) == 0 {
		return ui.State(state)
	}
	state.Detail = ""
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<div class="gp-state">`)
		h.Put(ui.State(state))
		h.Raw(` <span class="gp-state__detail" data-test="forecast">`)
		h.Text(m.Forecast.Place)
		if m.Forecast.Place != "" && len(m.Forecast.Words) > 0 {
			h.Raw(" · ")
		}
		for _, p := range m.Forecast.Words {
			if p.Time != nil {
				h.Put(ui.Time(*p.Time))
			} else {
				h.Text(p.Words)
			}
		}
		h.Raw("</span></div>")
	})
}

// lease of one that ends soon has the click that moves it in place of a bar that is nearly empty.
func (m RowModel) lease() templ.Component {
	if m.Ending == nil || m.Lease.Left == nil {
		return Lease(m.Lease)
	}
	return markup.Component(func(h *markup.Writer) {
		say, e := ui.L(h.Context()), m.Ending
		h.Raw(`<div class="gp-ending" data-test="lease"><span class="gp-ending__when">`)
		h.Put(ui.Time(*m.Lease.Left))
		h.Raw("</span> ")
		h.Put(ui.PostButton(e.extend(say.S("home.extend_row", "Duration", e.More), ui.LinkLike)))
		h.Raw("</div>")
	})
}

func (m RowModel) cost() templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<span class="gp-two"><span data-test="cost">`)
		h.Text(m.Cost)
		h.Raw("</span> ")
		h.Element("span", "gp-stack__detail", m.Price)
		h.Raw("</span>")
	})
}

func rowTest(m RowModel) string {
	if m.Request {
		return "request-row"
	}
	return "workload-row"
}

func rowAction(ctx context.Context, m RowModel) ui.ActionModel {
	switch {
	case m.Open != "":
		open := ui.LinkButtonModel{Label: ui.L(ctx).S("workload.open"), Href: m.Open, Small: true, Test: "open"}
		if strings.HasPrefix(m.Open, "/") { // a tab of its page
			open.Label = ui.L(ctx).S("workload.tab_try")
		}
		return ui.ActionModel{Link: &open}
	case m.Resume != "":
		return ui.ActionModel{Post: &ui.PostButtonModel{Action: m.Resume, Button: ui.ButtonModel{
			Label: ui.L(ctx).S("workload.resume"), Small: true, Test: "resume"}}}
	case m.Again != "":
		return ui.ActionModel{Link: &ui.LinkButtonModel{Label: ui.L(ctx).S("workload.start_again"), Href: m.Again,
			Small: true, Test: "row-start-again"}}
	}
	if f := m.Forecast; f != nil && f.Instead != nil {
		return ui.ActionModel{Link: &ui.LinkButtonModel{Label: ui.L(ctx).S("forecast.smaller"), Href: f.Instead.Href,
			Small: true, Test: "forecast-instead", Attrs: templ.Attributes{"title": f.Instead.Label}}}
	}
	return ui.ActionModel{Link: &ui.LinkButtonModel{Label: ui.L(ctx).S("workload.details"), Href: m.Name.Href,
		Small: true, Test: "details"}}
}

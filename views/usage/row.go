package usage

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/markup"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// row is a group. A page has dozens, so it is written by hand.
func row(what string, r RowModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		say := ui.L(h.Context())
		ui.WriteRow(h, ui.RowModel{ID: r.ID, Test: "usage-row"}, func() {
			ui.WriteCell(h, ui.CellModel{Head: true, Label: what}, ui.Stack(r.Name))
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Label: say.S("usage.col_hours")}, r.held())
			h.Raw(" ")
			h.Put(use(r.Use))
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Label: say.S("usage.col_share")}, r.share())
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Text: r.Cost, Numeric: true, Label: say.S("usage.cost"), Test: "cost"}, nil)
		})
	})
}

// shown is how many types stand in a row; the others are a click away.
const shown = 3

func (r RowModel) held() templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw("<div>")
		for _, t := range r.Hours[:min(shown, len(r.Hours))] {
			t.write(h)
		}
		if more := len(r.Hours) - shown; more > 0 {
			h.Raw(`<details class="gp-layout" data-test="more-types"><summary>`)
			h.Text(ui.L(h.Context()).S("usage.more_types", "Count", more))
			h.Raw("</summary>")
			for _, t := range r.Hours[shown:] {
				t.write(h)
			}
			h.Raw("</details>")
		}
		if len(r.Hours) == 0 {
			h.Element("span", "gp-subtle", ui.L(h.Context()).S("usage.no_gpu"))
		}
		if r.Unknown != "" {
			h.Raw(`<div class="gp-subtle" data-test="unknown">`)
			h.Text(r.Unknown)
			h.Raw("</div>")
		}
		h.Raw("</div>")
	})
}

func (m HoursModel) write(h *markup.Writer) {
	h.Raw(`<div class="gp-gpu-time">`)
	h.Text(m.Hours)
	h.Raw(` <span class="gp-subtle">`)
	h.Text(m.Kind)
	h.Raw("</span></div> ")
}

// share is a bar and its number; nothing where there is no total.
func (r RowModel) share() templ.Component {
	if r.Share == nil {
		return nil
	}
	return markup.Component(func(h *markup.Writer) {
		say := ui.L(h.Context())
		percent := ui.Percent(say, *r.Share)
		h.Raw("<div>")
		h.Put(ui.Meter(ui.MeterModel{Label: say.S("usage.col_share"), Value: percent, Bare: true,
			Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: *r.Share}}}))
		h.Raw(` <span class="gp-subtle">`)
		h.Text(percent)
		h.Raw("</span></div>")
	})
}

// use is two cells: the mean utilization, and what of the cost is for idle GPUs.
func use(u *UseModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		say := ui.L(h.Context())
		mean := ui.CellModel{Text: "–", Numeric: true, Label: say.S("usage.mean")}
		idle := ui.CellModel{Text: "–", Numeric: true, Label: say.S("usage.col_idle")}
		if u == nil {
			ui.WriteCell(h, mean, nil)
			h.Raw(" ")
			ui.WriteCell(h, idle, nil)
			return
		}
		mean.Text, mean.Test = "", "mean"
		ui.WriteCell(h, mean, markup.Component(func(h *markup.Writer) {
			h.Raw("<div>")
			h.Text(u.Mean)
			if u.Note != "" {
				h.Raw(` <div class="gp-subtle">`)
				h.Text(u.Note)
				h.Raw("</div>")
			}
			h.Raw("</div>")
		}))
		h.Raw(" ")
		idle.Text, idle.Test = u.Idle, "idle"
		ui.WriteCell(h, idle, nil)
	})
}

package requests

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/markup"
	"github.com/gpu-portal/gpu-portal/views/ui"
	"github.com/gpu-portal/gpu-portal/views/workload"
)

// Row is one line. A page has dozens, so it is written by hand.
func Row(r RowModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		say := ui.L(h.Context())
		ui.WriteRow(h, ui.RowModel{ID: "request-" + r.ID, Test: "request-row"}, func() {
			ui.WriteCell(h, ui.CellModel{Head: true, Label: say.S("requests.col_what")}, ui.Stack(r.Name))
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Label: say.S("requests.col_size")}, workload.Size(r.Size))
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Label: say.S("requests.col_state")}, r.state())
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Label: say.S("requests.col_asked")}, ui.Time(r.Asked))
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Label: say.S("requests.col_price"), Numeric: true, Text: r.Estimate}, nil)
		})
	})
}

// state says why it was rejected, and offers to ask again; one that was approved leads to its workload.
func (r RowModel) state() templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<div class="gp-request-state`)
		if r.Decide != "" {
			h.Raw(" gp-request-state--decide")
		}
		h.Raw(`">`)
		h.Put(ui.State(r.State.Hook("state")))
		if r.Note != "" {
			h.Raw(`<div class="gp-request-note"`)
			h.Always("title", r.Note)
			h.Raw(` data-test="rejected-note">`)
			h.Text(r.Note)
			h.Raw("</div>")
		}
		if r.Again != "" {
			h.Put(ui.LinkButton(ui.LinkButtonModel{Label: ui.L(h.Context()).S("requests.again"), Href: r.Again,
				Kind: ui.LinkLike, Small: true, Test: "again"}))
		}
		if r.Decide != "" {
			h.Put(ui.LinkButton(ui.LinkButtonModel{Label: ui.L(h.Context()).S("home.decide"), Href: r.Decide,
				Kind: ui.LinkLike, Small: true, Test: "decide"}))
		}
		if r.Workload != "" {
			h.Put(ui.LinkButton(ui.LinkButtonModel{Label: ui.L(h.Context()).S("requests.to_workload"), Href: r.Workload,
				Kind: ui.LinkLike, Small: true, Test: "to-workload"}))
		}
		h.Raw("</div>")
	})
}

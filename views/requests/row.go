package requests

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/markup"
	"github.com/gpu-portal/gpu-portal/views/ui"
	"github.com/gpu-portal/gpu-portal/views/workload"
)

// Row is one line, with a column of its own for the reason where people have to tell many apart by it, and with one for
// what to do where a row has something. A page has dozens, so it is written by hand.
func Row(r RowModel, reasons, acts bool) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		say := ui.L(h.Context())
		ui.WriteRow(h, ui.RowModel{ID: "request-" + r.ID, Test: "request-row"}, func() {
			ui.WriteCell(h, ui.CellModel{Head: true, Label: say.S("requests.col_what")}, ui.Stack(r.Name))
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Label: say.S("requests.col_size")}, workload.Size(r.Size))
			h.Raw(" ")
			if state := (ui.CellModel{Label: say.S("requests.col_state")}); reasons {
				ui.WriteCell(h, ui.CellModel{Label: say.S("home.col_reason")}, r.why())
				h.Raw(" ")
				ui.WriteCell(h, state, ui.State(r.State.Hook("state")))
			} else {
				ui.WriteCell(h, state, r.stateAndWhy())
			}
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Label: say.S("requests.col_asked")}, ui.Time(r.Asked))
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Label: say.S("requests.col_price"), Numeric: true, Text: r.Estimate}, nil)
			if acts {
				h.Raw(" ")
				ui.WriteCell(h, ui.CellModel{Actions: true, Label: say.S("home.col_actions")}, r.action())
			}
		})
	})
}

// inboxRow is one line of what waits, written by hand as Row; tick is true where several can be decided at once.
func inboxRow(r InboxRowModel, tick bool) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		say := ui.L(h.Context())
		ui.WriteRow(h, ui.RowModel{ID: "inbox-" + r.ID, Selected: r.Selected, Test: "inbox-row"}, func() {
			if tick {
				ui.WriteCell(h, ui.CellModel{Label: say.S("ui.tick_column")}, r.tick())
				h.Raw(" ")
			}
			ui.WriteCell(h, ui.CellModel{Head: true, Label: say.S("requests.col_who")}, r.name())
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Label: say.S("requests.col_asked")}, ui.Time(r.Asked))
		})
	})
}

// name has one more line: that the quota stands against a yes, or else the reason, which tells rows of the same person
// apart.
func (r InboxRowModel) name() templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Put(ui.Stack(r.Name))
		switch {
		case r.Full:
			h.Put(ui.State(ui.StateModel{Kind: ui.Warning, Word: ui.L(h.Context()).S("home.quota_full"),
				Test: "quota-full"}))
		case r.Reason != "":
			h.Raw(`<div class="gp-request-note"`)
			h.Always("title", r.Reason)
			h.Raw(">")
			h.Text(r.Reason)
			h.Raw("</div>")
		}
	})
}

// tick belongs to the form of several.
func (r InboxRowModel) tick() templ.Component {
	return ui.Tick(ui.TickModel{ID: r.ID, Name: "request", Value: r.Tick, Of: r.Asker, Size: r.Size, Ticked: r.Ticked,
		Key: "x"})
}

// why says why it was rejected, or what it is for.
func (r RowModel) why() templ.Component {
	return markup.Component(func(h *markup.Writer) {
		for _, n := range []struct{ words, test string }{{r.Note, "rejected-note"}, {r.Reason, "pending-reason"}} {
			if n.words != "" {
				h.Raw(`<div class="gp-request-note"`)
				h.Always("title", n.words)
				h.Always("data-test", n.test)
				h.Raw(">")
				h.Text(n.words)
				h.Raw("</div>")
			}
		}
	})
}

// stateAndWhy is both in one cell, for a list that has few reasons.
func (r RowModel) stateAndWhy() templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<div class="gp-request-state">`)
		h.Put(ui.State(r.State.Hook("state")))
		h.Put(r.why())
		h.Raw("</div>")
	})
}

// action is what one does next: decide it, ask again, or go to what came of it.
func (r RowModel) action() templ.Component {
	return markup.Component(func(h *markup.Writer) {
		for _, a := range []struct{ href, label, test string }{{r.Decide, "home.decide", "decide"},
			{r.Again, "requests.row_again", "again"},
			{r.Workload, "requests.row_workload", "to-workload"}, {r.Edit, "requests.edit", "edit"}} {
			if a.href != "" {
				label := ui.L(h.Context()).S(a.label)
				h.Put(ui.LinkButton(ui.LinkButtonModel{Label: label, Href: a.href, Small: true, Kind: ui.LinkLike, Test: a.test,
					Attrs: templ.Attributes{"aria-label": label + ": " + r.Name.Title}}))
				return
			}
		}
	})
}

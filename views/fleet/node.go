package fleet

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/markup"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// node is a row of the table of nodes. It is written by hand, with its cells: a page has a drawing for each part of
// each of its cards.
func node(n NodeModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		say := ui.L(h.Context())
		row := ui.RowModel{ID: n.ID, Test: "node-row"}
		if n.Unusable {
			row.Kind = ui.Warning
		}
		ui.WriteRow(h, row, func() {
			ui.WriteCell(h, ui.CellModel{Head: true, Label: say.S("fleet.col_node")},
				ui.Stack(ui.StackModel{Title: n.Name, Detail: n.Detail, Icon: "fleet"}))
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Label: say.S("fleet.col_state")}, n.state())
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Label: say.S("fleet.col_gpus")}, n.gpus())
		})
	})
}

func (n NodeModel) state() templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Put(ui.State(ui.StateModel{Kind: conditionKinds[n.Condition],
			Word: ui.L(h.Context()).S("fleet." + string(n.Condition)), Test: "state"}))
		writeWarnings(h, n.Warnings[:min(1, len(n.Warnings))])
		if more := len(n.Warnings) - 1; more > 0 {
			h.Raw(`<details class="gp-audit"><summary class="gp-audit__summary">`)
			h.Text(ui.L(h.Context()).S("fleet.more_warnings", "Count", more))
			h.Raw(` <span class="pf-v6-screen-reader">`)
			h.Text(n.Name)
			h.Raw("</span></summary>")
			writeWarnings(h, n.Warnings[1:])
			h.Raw("</details>")
		}
		if n.Health != "" {
			h.Raw(`<a class="gp-node-health" data-test="node-health"`)
			h.Always("href", n.Health)
			h.Raw(">")
			h.Text(ui.L(h.Context()).S("health.title"))
			h.Raw(` <span class="pf-v6-screen-reader">`)
			h.Text(n.Name)
			h.Raw("</span></a>")
		}
	})
}

func writeWarnings(h *markup.Writer, list []string) {
	for _, warning := range list {
		h.Raw(`<span class="gp-why" data-test="warning">`)
		h.Text(warning)
		h.Raw("</span>")
	}
}

func (n NodeModel) gpus() templ.Component {
	return markup.Component(func(h *markup.Writer) {
		for _, r := range n.Resources {
			r.write(h)
		}
		h.Raw(" ")
		if n.Layout != nil {
			h.Put(layout(*n.Layout))
		}
	})
}

func (r ResourceModel) write(h *markup.Writer) {
	h.Raw(`<div class="gp-cells" data-test="resource"><span class="gp-stack__detail"`)
	h.Always("title", r.Name)
	h.Raw(">")
	h.Text(r.Words)
	h.Raw("</span> ")
	if len(r.Cells) > 0 {
		h.Raw(`<ul class="gp-cells__row" role="list">`)
		for _, c := range r.Cells {
			c.write(h)
		}
		h.Element("li", "gp-subtle", r.More)
		h.Raw("</ul>")
	}
	h.Raw("</div>")
}

// write draws a part of a card.
func (c CellModel) write(h *markup.Writer) {
	h.Raw(`<li><svg class="gp-cells__cell" viewBox="0 0 18 18" width="18" height="18" role="img"`)
	h.Always("aria-label", c.Words)
	h.Raw(` tabindex="0" data-test="cell-`)
	h.Text(string(c.Kind))
	h.Raw(`"><title>`)
	h.Text(c.Words)
	h.Raw(`</title><rect class="gp-fill--`)
	h.Text(string(c.Kind))
	h.Raw(`" width="18" height="18" rx="3"></rect> `)
	h.RawIf(c.Kind == Broken, `<path class="gp-cells__cross" d="M5 5l8 8M13 5l-8 8"></path>`)
	h.RawIf(c.Kind == Blocked, `<path class="gp-cells__stripes" d="M0 5h18M0 9h18M0 13h18"></path>`)
	h.Raw("</svg></li>")
}

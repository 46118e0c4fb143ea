package ui

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/markup"
)

// Row wraps its cells. As Cell it is written by hand: a page has hundreds of them.
func Row(m RowModel) templ.Component {
	return markup.Around(func(h *markup.Writer, inside func()) { WriteRow(h, m, inside) })
}

// WriteRow is Row within what is written by hand itself.
func WriteRow(h *markup.Writer, m RowModel, cells func()) {
	h.Raw(`<tr class="pf-v6-c-table__tr gp-row`)
	if m.Kind != "" {
		h.Raw(" gp-row--")
		h.Text(string(m.Kind))
	}
	h.RawIf(m.Selected, " gp-row--selected")
	h.Raw(`" role="row"`)
	h.Attr("id", m.ID)
	h.RawIf(m.Selected, ` aria-current="true"`)
	h.Attr("data-filter", m.Filter)
	h.Attr("data-test", m.Test)
	h.Attrs(m.Attrs)
	h.Raw(">")
	cells()
	h.Raw("</tr>")
}

// Cell is a td, or a th when it names the row.
func Cell(m CellModel) templ.Component {
	return markup.Around(func(h *markup.Writer, inside func()) { writeCell(h, m, inside) })
}

// WriteCell is Cell within what is written by hand itself.
func WriteCell(h *markup.Writer, m CellModel, content templ.Component) {
	writeCell(h, m, func() { h.Put(content) })
}

func writeCell(h *markup.Writer, m CellModel, content func()) {
	if m.Head {
		h.Raw(`<th class="pf-v6-c-table__td gp-cell gp-cell--head" scope="row" role="rowheader"`)
	} else {
		h.Raw(`<td class="pf-v6-c-table__td gp-cell`)
		h.RawIf(m.Numeric, " gp-num")
		h.RawIf(m.Actions, " gp-cell--actions")
		h.RawIf(m.Subtle, " gp-subtle")
		h.RawIf(m.Mono, " gp-mono")
		h.Raw(`" role="cell"`)
	}
	h.Attr("data-label", m.Label)
	h.Attr("data-test", m.Test)
	h.Attr("data-value", m.Sort)
	h.Raw(">")
	h.Text(m.Text)
	content()
	if m.Head {
		h.Raw("</th>")
	} else {
		h.Raw("</td>")
	}
}

// Stack is the usual content of the cell that names a row.
func Stack(m StackModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<div class="gp-stack">`)
		if m.Icon != "" {
			h.Raw(`<span class="gp-stack__icon">`)
			icon(h, m.Icon)
			h.Raw("</span>")
		}
		h.Raw(`<div class="gp-stack__body">`)
		if m.Href != "" {
			h.Raw(`<a class="gp-stack__title"`)
			h.URL("href", m.Href)
			h.Raw(">")
			h.Text(m.Title)
			h.Raw("</a> ")
		} else {
			h.Raw(`<span class="gp-stack__title">`)
			h.Text(m.Title)
			h.Raw("</span> ")
		}
		h.Element("span", "gp-stack__detail", m.Detail)
		h.Raw("</div></div>")
	})
}

package ui

import (
	"context"
	"io"

	"github.com/a-h/templ"
)

// Row wraps its cells. As Cell it is written by hand: a page has hundreds of them.
func Row(m RowModel) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		h := markup{w: w}
		h.raw(`<tr class="pf-v6-c-table__tr gp-row`)
		if m.Kind != "" {
			h.raw(" gp-row--")
			h.text(string(m.Kind))
		}
		h.rawIf(m.Selected, " gp-row--selected")
		h.raw(`" role="row"`)
		h.attr("id", m.ID)
		h.rawIf(m.Selected, ` aria-current="true"`)
		h.attr("data-filter", m.Filter)
		h.attr("data-test", m.Test)
		h.attrs(ctx, m.Attrs)
		h.raw(">")
		h.children(ctx)
		h.raw("</tr>")
		return h.err
	})
}

// Cell is a td, or a th when it names the row.
func Cell(m CellModel) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		h := markup{w: w}
		if m.Head {
			h.raw(`<th class="pf-v6-c-table__td gp-cell gp-cell--head" scope="row" role="rowheader"`)
		} else {
			h.raw(`<td class="pf-v6-c-table__td gp-cell`)
			h.rawIf(m.Numeric, " gp-num")
			h.rawIf(m.Actions, " gp-cell--actions")
			h.rawIf(m.Subtle, " gp-subtle")
			h.rawIf(m.Mono, " gp-mono")
			h.raw(`" role="cell"`)
		}
		h.attr("data-label", m.Label)
		h.attr("data-test", m.Test)
		h.attr("data-value", m.Sort)
		h.raw(">")
		h.text(m.Text)
		h.children(ctx)
		if m.Head {
			h.raw("</th>")
		} else {
			h.raw("</td>")
		}
		return h.err
	})
}

package ui

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/markup"
)

// bars are the drawings of all columns, by hand: a chart has some for each of dozens of days.
func (m ColumnsModel) bars() templ.Component {
	return markup.Component(func(h *markup.Writer) {
		top, _ := m.scale().top()
		h.Raw(" ")
		for n := range m.Columns {
			slot := m.slot(n)
			h.Raw(`<g class="gp-columns__one"`)
			h.Always("data-column", m.words(m.Columns[n]))
			h.Raw(`><rect class="gp-columns__slot"`)
			h.Always("x", slot.x)
			h.Raw(` y="0"`)
			h.Always("width", slot.width)
			h.Raw(` height="160"></rect> `)
			for _, l := range m.layers(n, top) {
				h.Raw("<rect")
				h.Always("class", l.class)
				h.Always("x", l.x)
				h.Always("y", l.y)
				h.Always("width", l.width)
				h.Always("height", l.height)
				h.Raw("></rect>")
			}
			h.Raw("</g>")
		}
	})
}

// rows are those of the table that says the same.
func (m ColumnsModel) rows() templ.Component {
	return markup.Component(func(h *markup.Writer) {
		for _, c := range m.Columns {
			if c.Empty {
				continue
			}
			WriteRow(h, RowModel{}, func() {
				WriteCell(h, CellModel{Head: true, Text: c.Name, Label: m.What}, nil)
				for i, words := range c.Words {
					WriteCell(h, CellModel{Text: words, Numeric: true, Label: m.Series[i].Name}, nil)
				}
				h.Raw(" ")
				WriteCell(h, CellModel{Text: c.Total, Numeric: true, Label: m.Label}, nil)
			})
		}
	})
}

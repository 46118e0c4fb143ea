package ui

import (
	"strconv"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/markup"
)

// TickModel is a box that puts a row into the form of several, BulkForm. Name and Value are what the form sends.
type TickModel struct {
	ID, Name, Value string
	Of              string // what it ticks, for screen readers
	Size            string
	Ticked          bool
	Key             string // that ticks it in the current row of a table with keys
	Amount          int    // what Ticked adds up; 0 for nothing
}

// BulkForm is the id of the form of several, of which a page has one.
const BulkForm = "bulk"

// Tick is in the first cell of a row. A page has dozens, so it is written by hand.
func Tick(m TickModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		id := "tick-" + m.ID
		h.Raw(`<input class="gp-tick" type="checkbox" form="` + BulkForm + `"`)
		h.Always("name", m.Name)
		h.Always("id", id)
		h.Always("value", m.Value)
		h.RawIf(m.Ticked, " checked")
		h.Attr("data-key", m.Key)
		if m.Amount > 0 {
			h.Attr("data-amount", strconv.Itoa(m.Amount))
		}
		h.Raw(` data-test="tick"> <label class="pf-v6-screen-reader"`)
		h.Always("for", id)
		h.Raw(">")
		h.Text(L(h.Context()).S("ui.tick", "Name", m.Of, "Size", m.Size))
		h.Raw("</label>")
	})
}

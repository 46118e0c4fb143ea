package audit

import (
	"cmp"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/views/markup"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// row is one event, and below it what is known of it besides. A page has dozens, so it is written by hand.
func row(r RowModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		say := ui.L(h.Context())
		ui.WriteRow(h, ui.RowModel{ID: "event-" + r.Seq, Test: "event"}, func() {
			ui.WriteCell(h, ui.CellModel{Subtle: true, Label: say.S("workload.event_time")}, r.at())
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Head: true, Label: say.S("workload.event_what")}, r.event())
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Label: say.S("audit.col_object")}, r.object())
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Subtle: true, Label: say.S("audit.col_about")}, r.about())
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Text: r.Team, Label: say.S("start.team")}, nil)
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Numeric: true, Subtle: true, Text: cmp.Or(r.Numbers, r.Seq),
				Label: say.S("audit.col_seq")}, nil)
			h.Raw(" ")
			ui.WriteCell(h, ui.CellModel{Actions: true, Label: say.S("audit.more")}, r.opens())
		})
		if r.more() {
			r.writeMore(h)
		}
	})
}

// at is when it was, a day said once; a script does that for the days of the reader's zone.
func (r RowModel) at() templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<span class="gp-audit-at"><span data-day`)
		h.RawIf(r.SameDay, " hidden")
		h.Raw(">")
		h.Put(ui.Time(r.Day))
		h.Raw("</span> ")
		h.Put(ui.Time(r.Time))
		h.Raw("</span>")
	})
}

// event is who did what. The outcome is told only where something was refused or failed.
func (r RowModel) event() templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<span class="gp-audit-line"><span><strong>`)
		h.Text(r.Who)
		h.Raw("</strong> ")
		h.Text(r.What)
		h.Raw("</span> ")
		if r.Outcome.Kind != "" && r.Outcome.Kind != ui.OK {
			h.Put(ui.State(r.Outcome))
			h.Raw(" ")
		}
		h.Raw("</span>")
	})
}

// object is the first id that the event is about.
func (r RowModel) object() templ.Component {
	if len(r.Links) == 0 {
		return nil
	}
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<span class="gp-audit-line">`)
		writeLinks(h, r.Links[:1])
		h.Raw("</span>")
	})
}

// about is the sentence, and the rule that said so.
func (r RowModel) about() templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Text(r.Detail)
		if r.Rule != "" {
			h.RawIf(r.Detail != "", " ")
			h.Text(ui.L(h.Context()).S("audit.by_rule", "Name", r.Rule))
		}
	})
}

func writeLinks(h *markup.Writer, links []LinkModel) {
	for _, l := range links {
		h.Raw("<a")
		h.Always("href", l.Href)
		h.Raw("><code>")
		h.Text(l.Label)
		h.Raw("</code></a>")
	}
}

// opens is the button for what is below the row; nothing where that is nothing.
func (r RowModel) opens() templ.Component {
	if !r.more() {
		return nil
	}
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<details class="gp-audit" data-test="event-more"><summary class="gp-audit__summary">`)
		h.Raw(`<span class="pf-v6-screen-reader">`)
		h.Text(ui.L(h.Context()).S("audit.more"))
		h.Raw(" ")
		h.Text(r.Seq)
		h.Raw("</span></summary></details>")
	})
}

// more reports whether there is something to open.
func (r RowModel) more() bool { return len(r.Facts)+len(r.Changes) > 0 || len(r.Links) > 1 }

// writeMore is a row of its own below the event, as wide as the table; the sheet shows it while the event is open.
func (r RowModel) writeMore(h *markup.Writer) {
	h.Raw(`<tr class="gp-audit-more" role="row" data-test="event-facts"><td colspan="7" role="cell">`)
	h.Put(ui.DefList(ui.DefListModel{Items: r.facts(ui.L(h.Context())), Columns: true}))
	if len(r.Changes) > 0 {
		id := "event-" + r.Seq + "-changes"
		h.Raw(`<p class="gp-audit__title"`)
		h.Always("id", id)
		h.Raw(">")
		h.Text(ui.L(h.Context()).S("audit.changes"))
		h.Raw(`</p><ul class="gp-changes__fields" role="list"`)
		h.Always("aria-labelledby", id)
		h.Raw(">")
		for _, c := range r.Changes {
			c.write(h)
		}
		h.Raw("</ul>")
	}
	h.Raw("</td></tr>")
}

// facts are the ids of an event that has several, for its row names the first, and then what else is known.
func (r RowModel) facts(say *i18n.Localizer) []ui.DefModel {
	items := make([]ui.DefModel, 0, len(r.Facts)+1)
	if len(r.Links) > 1 {
		items = append(items, ui.DefModel{Term: say.S("audit.ids"), Component: markup.Component(func(h *markup.Writer) {
			h.Raw(`<span class="gp-audit-line">`)
			writeLinks(h, r.Links)
			h.Raw("</span>")
		})})
	}
	for _, f := range r.Facts {
		items = append(items, ui.DefModel{Term: say.S("audit." + f.ID), Value: f.Value, Test: "event-" + f.ID})
	}
	return items
}

func (c ChangeModel) write(h *markup.Writer) {
	h.Raw(`<li data-test="event-change"><code>`)
	h.Text(c.Field)
	h.Raw("</code> ")
	if c.Old != "" {
		h.Raw("<del>")
		h.Text(c.Old)
		h.Raw("</del> ")
	}
	h.RawIf(c.Old != "" && c.New != "", `<span aria-hidden="true">→</span> `)
	if c.New != "" {
		h.Raw("<ins>")
		h.Text(c.New)
		h.Raw("</ins>")
	}
	h.Raw("</li>")
}

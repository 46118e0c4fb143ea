package ui

import (
	"strconv"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/markup"
)

// Fill is what a stretch of a bar stands for; it chooses colour and pattern.
type Fill string

// The fills.
const (
	FillUsed     Fill = "used"     // held and working
	FillIdle     Fill = "idle"     // held and not working
	FillThis     Fill = "this"     // what this request would take
	FillReserved Fill = "reserved" // promised to somebody
	FillBlocked  Fill = "blocked"  // there, but cannot be used
	FillBroken   Fill = "broken"   // out of order
	FillFree     Fill = "free"     // the rest; usually not given, it is the ground of the bar
	FillWarning  Fill = "warning"
	FillDanger   Fill = "danger"
)

// MeterModel is a bar: lease left, quota, budget, capacity of one type.
type MeterModel struct {
	// Label says what is measured, Value what it is now: "6 of 8 GPUs". Both are visible unless Bare.
	Label string
	Value string
	// Title is what the label is called by programs; it stands in a tooltip.
	Title string
	// Detail is a line under the bar.
	Detail string
	// Note is a second line there, NoteHref what it leads to.
	Note, NoteHref string
	Segments       []SegmentModel
	// Legend lists the segments that carry words.
	Legend bool
	// Bare draws only the bar, for a cell of a table; label and value are then its accessible name.
	Bare  bool
	Large bool
	ID    string
	Test  string
}

// SegmentModel is a stretch of the bar. Share is between 0 and 1; what goes beyond 1 in sum is cut.
type SegmentModel struct {
	Fill  Fill
	Share float64
	// Words are for the legend and for screen readers: "2 held idle".
	Words string
}

// Hook is the bar with a data-test.
func (m MeterModel) Hook(test string) MeterModel {
	m.Test = test
	return m
}

type bar struct {
	x, width float64
	fill     Fill
}

// bars places the segments on a ground of 1000 units. The sheet draws a fine gap between two.
func (m MeterModel) bars() []bar {
	var out []bar
	at := 0.0
	for _, s := range m.Segments {
		width := min(max(s.Share, 0), 1-at) * 1000
		if width <= 0 {
			continue
		}
		// even the smallest share can be seen
		shown := max(width, 8)
		out = append(out, bar{x: min(at*1000, 1000-shown), width: shown, fill: s.Fill})
		at += width / 1000
	}
	return out
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 32) }

// words are what a screen reader says of the bar.
func (m MeterModel) words(h *markup.Writer) {
	h.Text(m.Label)
	if m.Value != "" {
		h.Raw(": ")
		h.Text(m.Value)
	}
	for _, s := range m.Segments {
		if s.Words != "" {
			h.Raw(", ")
			h.Text(s.Words)
		}
	}
}

// Meter draws the bar on the server.
func Meter(m MeterModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<div class="gp-meter`)
		h.RawIf(m.Bare, " gp-meter--bare")
		h.RawIf(m.Large, " gp-meter--large")
		h.Raw(`"`)
		h.Attr("id", m.ID)
		h.Attr("data-test", m.Test)
		h.Raw(">")
		if !m.Bare {
			h.Raw(`<div class="gp-meter__head"><span class="gp-meter__label"`)
			h.Attr("title", m.Title)
			h.Raw(">")
			h.Text(m.Label)
			h.Raw(`</span> <span class="gp-meter__value">`)
			h.Text(m.Value)
			h.Raw("</span></div>")
		}
		m.bar(h)
		if m.Detail != "" {
			h.Raw(`<div class="gp-meter__detail">`)
			h.Text(m.Detail)
			h.Raw("</div>")
		}
		if m.Note != "" {
			h.Raw(`<div class="gp-meter__detail">`)
			if m.NoteHref != "" {
				h.Raw("<a")
				h.Attr("href", m.NoteHref)
				h.Raw(">")
				h.Text(m.Note)
				h.Raw("</a>")
			} else {
				h.Text(m.Note)
			}
			h.Raw("</div>")
		}
		if m.Legend {
			m.legend(h)
		}
		h.Raw("</div>")
	})
}

func (m MeterModel) bar(h *markup.Writer) {
	h.Raw(`<svg class="gp-meter__bar" role="img" aria-label="`)
	m.words(h)
	h.Raw(`" viewBox="0 0 1000 8" width="100%" height="`)
	if m.Large {
		h.Raw("16")
	} else {
		h.Raw("8")
	}
	h.Raw(`" preserveAspectRatio="none"><rect class="gp-fill--free" width="1000" height="8"></rect> `)
	for _, b := range m.bars() {
		h.Raw(`<rect class="gp-fill--`)
		h.Text(string(b.fill))
		h.Raw(`" x="`)
		h.Number(b.x)
		h.Raw(`" width="`)
		h.Number(b.width)
		h.Raw(`" height="8"></rect>`)
	}
	h.Raw("</svg> ")
}

func (m MeterModel) legend(h *markup.Writer) {
	h.Raw(`<ul class="gp-legend-list" aria-hidden="true">`)
	for _, s := range m.Segments {
		if s.Words == "" {
			continue
		}
		h.Raw("<li>")
		h.Put(swatch(s.Fill))
		h.Raw(" ")
		h.Text(s.Words)
		h.Raw("</li>")
	}
	h.Raw("</ul>")
}

// swatch is the color of a part of a bar, in what explains it.
func swatch(f Fill) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<svg class="gp-swatch" aria-hidden="true" viewBox="0 0 10 10" width="10" height="10"><rect class="gp-fill--`)
		h.Text(string(f))
		h.Raw(`" width="10" height="10" rx="2"></rect></svg>`)
	})
}

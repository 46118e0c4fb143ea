package ui

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/markup"
)

// TimeMode says how a script keeps a time true after the page was written.
type TimeMode string

// The modes.
const (
	TimeRelative  TimeMode = "relative"  // "in 2 h 10 min", "12 min ago"
	TimePast      TimeMode = "past"      // "now", "12 min ago", never in the future: for what was measured
	TimeCountdown TimeMode = "countdown" // "2 h 10 min", down to nothing
	TimeElapsed   TimeMode = "elapsed"   // "12 min", growing
	TimeFixed     TimeMode = ""          // as written
	TimeLocal     TimeMode = "local"     // the exact time, put into the reader's zone
	TimeClock     TimeMode = "clock"     // likewise, and the time of day alone where that is today's
	TimeDay       TimeMode = "day"       // likewise, the day alone
	TimeOfDay     TimeMode = "time"      // likewise, the time of day alone: for what says its day elsewhere
	TimeSeconds   TimeMode = "seconds"   // likewise, with seconds
)

// TimeModel is a point in time. Machine is RFC 3339, Exact the full time in words, Words what is shown. See At.
type TimeModel struct {
	Machine string
	Exact   string
	Words   string
	Mode    TimeMode
}

// Time shows Words and has the exact time in its title; a script keeps the words true and the title local.
func Time(m TimeModel) templ.Component {
	return markup.Component(func(h *markup.Writer) { m.write(h) })
}

func (m TimeModel) write(h *markup.Writer) {
	if m.Machine == "" {
		h.Raw(`<span class="gp-time">`)
		h.Text(m.Words)
		h.Raw("</span>")
		return
	}
	h.Raw(`<time class="gp-time"`)
	h.Always("datetime", m.Machine)
	h.Always("title", m.Exact)
	h.Attr("data-time", string(m.Mode))
	h.Raw(">")
	h.Text(m.Words)
	h.Raw("</time>")
}

// MoneyModel is an amount with its currency: "12.40" "EUR", and "per hour" where it is a price.
type MoneyModel struct {
	Amount   string
	Currency string
	Per      string
	// About is a short remark: "so far", "estimated".
	About string
}

// Money keeps amount and currency together.
func Money(m MoneyModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<span class="gp-money"><span class="gp-money__amount">`)
		h.Text(m.Amount)
		h.Raw("&nbsp;")
		h.Text(m.Currency)
		h.Raw("</span> ")
		if m.Per != "" {
			h.Element("span", "gp-money__per", m.Per)
			h.Raw(" ")
		}
		h.Element("span", "gp-money__per", m.About)
		h.Raw("</span>")
	})
}

// AgeModel says how old a value from outside is, and where it comes from. Old marks one that is stale. A time without
// words is left out.
type AgeModel struct {
	Source string
	Time   TimeModel
	Old    bool
}

// Age is a quiet line beside a value.
func Age(m AgeModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<span class="gp-age`)
		h.RawIf(m.Old, " gp-age--old")
		h.Raw(`">`)
		if m.Old {
			icon(h, "warning")
			h.Raw(" ")
			h.Text(L(h.Context()).S("ui.stale"))
			h.Raw(": ")
		}
		h.Text(m.Source)
		switch {
		case m.Source != "" && m.Time.Words != "":
			h.Raw(" · ")
		case m.Source != "":
			h.Raw(" ")
		}
		if m.Time.Words != "" {
			m.Time.write(h)
		}
		h.Raw("</span>")
	})
}

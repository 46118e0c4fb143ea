package ui

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/markup"
)

// SparklineModel is a small line of readings, oldest first, evenly spaced. NaN is a reading that is not known: the line
// has a gap there, never a zero.
type SparklineModel struct {
	// Label says what and of when: "GPU use, last hour". Value is the newest reading in words, "63 %", or "unknown since
	// 14:02".
	Label  string
	Value  string
	Values []float64
	// Max is the top of the scale; 0 takes the largest value. Min is its bottom.
	Min float64
	Max float64
	// Threshold draws a fine line, for the limit below which something counts as idle, when it is not 0.
	Threshold float64
	// Large draws a chart with a scale and From and To under it; otherwise a line for a table cell.
	Large bool
	From  string
	To    string
	// Unit stands at the scale of a large chart: "%", "W".
	Unit string
	// Hidden keeps the value for screen readers, when it stands elsewhere.
	HideValue bool
	Kind      Kind
	ID        string
	// frame is the size of a chart's plot, which has no margin.
	frame [2]float64
}

const sparkWidth, sparkHeight = 120.0, 28.0

func (m SparklineModel) size() (w, h float64) {
	if m.frame[0] > 0 {
		return m.frame[0], m.frame[1]
	}
	if m.Large {
		return 600, 120
	}
	return sparkWidth, sparkHeight
}

func (m SparklineModel) top() float64 {
	if m.Max > m.Min {
		return m.Max
	}
	top := m.Min
	for _, v := range m.Values {
		if !math.IsNaN(v) && v > top {
			top = v
		}
	}
	if top == m.Min {
		top = m.Min + 1
	}
	return top
}

// paths are those of a chart.
func (m SparklineModel) paths() (line, area string) {
	l, a := m.curves()
	return string(l), string(a)
}

// curves are the line, and the area under it. A gap ends a run of readings; the next one begins it anew.
func (m SparklineModel) curves() (line, area []byte) {
	w, h := m.size()
	pad := 2.0
	if m.frame[0] > 0 {
		pad = 0
	}
	top := m.top()
	// a single reading is the newest, so it stands at the end
	start, step := w-pad, 0.0
	if len(m.Values) > 1 {
		start, step = pad, (w-2*pad)/float64(len(m.Values)-1)
	}
	line, area = make([]byte, 0, len(m.Values)*11), make([]byte, 0, len(m.Values)*11+30)
	place := func(i int) (x, y float64) {
		return start + float64(i)*step, h - pad - (min(max(m.Values[i], m.Min), top)-m.Min)/(top-m.Min)*(h-2*pad)
	}
	for i := 0; i < len(m.Values); i++ {
		if math.IsNaN(m.Values[i]) {
			continue
		}
		first, y := place(i)
		begin, last := len(line), first
		line = appendPoint(line, 'M', first, y)
		alone := len(line)
		for i+1 < len(m.Values) && !math.IsNaN(m.Values[i+1]) {
			i++
			last, y = place(i)
			line = appendPoint(line, 'L', last, y)
		}
		if len(line) == alone {
			line = append(line, "h.1"...)
			continue
		}
		area = appendPoint(area, 'M', first, h)
		area = append(area, 'L')
		area = append(area, line[begin+1:]...)
		area = appendPoint(area, 'L', last, h)
		area = append(area, 'Z')
	}
	return line, area
}

// appendPoint appends a command of a path, "L12 3.5". A page has thousands.
func appendPoint(to []byte, command byte, x, y float64) []byte {
	to = append(appendTenths(append(to, command), x), ' ')
	return appendTenths(to, y)
}

// appendTenths appends a number that is rounded to one decimal, "3.5" or "12". strconv.AppendFloat, which is right
// for any number of digits, takes a twentieth of the time of a list with curves.
func appendTenths(to []byte, x float64) []byte {
	n := int64(math.Round(x * 10))
	if n < 0 {
		to, n = append(to, '-'), -n
	}
	to = strconv.AppendInt(to, n/10, 10)
	if n%10 != 0 {
		to = append(to, '.', byte('0'+n%10))
	}
	return to
}

func (m SparklineModel) viewBox() string {
	w, h := m.size()
	return fmt.Sprintf("0 0 %.0f %.0f", w, h)
}

func (m SparklineModel) scale(v float64) string {
	return strings.TrimSpace(number(math.Round(v*10)/10) + " " + m.Unit)
}

// Sparkline is drawn on the server.
func Sparkline(m SparklineModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<div class="gp-spark`)
		h.RawIf(m.Large, " gp-spark--large")
		if m.Kind != "" {
			h.Raw(" gp-spark--")
			h.Text(string(m.Kind))
		}
		h.Raw(`"`)
		h.Attr("id", m.ID)
		h.Raw(">")
		if m.Large {
			h.Raw(`<div class="gp-spark__head"><span class="gp-spark__label">`)
			h.Text(m.Label)
			h.Raw(`</span> <span class="gp-spark__value">`)
			h.Text(m.Value)
			h.Raw("</span></div>")
		}
		h.Raw(`<div class="gp-spark__plot">`)
		m.plot(h)
		if m.Large {
			h.Raw(`<span class="gp-spark__max" aria-hidden="true">`)
			h.Text(m.scale(m.top()))
			h.Raw(`</span> <span class="gp-spark__min" aria-hidden="true">`)
			h.Text(m.scale(m.Min))
			h.Raw("</span>")
		}
		h.Raw("</div>")
		if m.Large && (m.From != "" || m.To != "") {
			h.Raw(`<div class="gp-spark__axis" aria-hidden="true"><span>`)
			h.Text(m.From)
			h.Raw("</span> <span>")
			h.Text(m.To)
			h.Raw("</span></div>")
		}
		if !m.Large && m.Value != "" && !m.HideValue {
			h.Raw(`<span class="gp-spark__now" aria-hidden="true">`)
			h.Text(m.Value)
			h.Raw("</span>")
		}
		h.Raw("</div>")
	})
}

// plot is the line with what it stands on.
func (m SparklineModel) plot(h *markup.Writer) {
	w, height := m.size()
	h.Raw(`<svg class="gp-spark__svg" role="img" aria-label="`)
	h.Text(m.Label)
	if m.Value != "" {
		h.Raw(": ")
		h.Text(m.Value)
	}
	h.Raw(`" viewBox="0 0 `)
	h.Fixed(w, 0)
	h.Raw(" ")
	h.Fixed(height, 0)
	h.Raw(`" width="`)
	h.Number(w)
	h.Raw(`" height="`)
	h.Number(height)
	h.Raw(`" preserveAspectRatio="none">`)
	if m.Large {
		h.Raw(`<path class="gp-spark__grid" d="`)
		h.Raw(fmt.Sprintf("M0 .5H%.0fM0 %.1fH%.0fM0 %.1fH%.0f", w, height/2, w, height-0.5, w))
	} else {
		h.Raw(`<path class="gp-spark__base" d="M0 `)
		h.Fixed(height-0.5, 1)
		h.Raw("H")
		h.Fixed(w, 0)
	}
	line, area := m.curves()
	h.Raw(`"></path> <path class="gp-spark__area" d="`)
	h.RawBytes(area)
	h.Raw(`"></path> <path class="gp-spark__line" d="`)
	h.RawBytes(line)
	h.Raw(`"></path> `)
	if m.Threshold != 0 {
		h.Raw(`<path class="gp-spark__threshold" d="M0 `)
		h.Fixed(height-2-(m.Threshold-m.Min)/(m.top()-m.Min)*(height-4), 1)
		h.Raw("H")
		h.Number(w)
		h.Raw(`"></path>`)
	}
	h.Raw("</svg> ")
}

package ui

import (
	"fmt"
	"sync"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/markup"
)

// GlyphKind is how a share of a GPU is made.
type GlyphKind string

// The shares.
const (
	GlyphWhole     GlyphKind = "whole"     // the card is yours
	GlyphSlice     GlyphKind = "slice"     // some of its parts are yours, walled off
	GlyphTimeSlice GlyphKind = "timeslice" // everybody takes turns: hatched
	GlyphSoft      GlyphKind = "soft"      // memory capped, compute shared
	GlyphSeveral   GlyphKind = "several"   // several whole cards
	GlyphCPU       GlyphKind = "cpu"       // no GPU
	GlyphUnknown   GlyphKind = "unknown"
)

// ShareGlyphModel draws a GPU card and how much of it one gets.
type ShareGlyphModel struct {
	Kind GlyphKind
	// Parts is into how many a card is cut, Filled how many one gets: 3 of 7.
	Parts  int
	Filled int
	// Count is the number of whole cards for GlyphSeveral.
	Count int
	// Label says it in words: "3 of 7 slices of an H100". Empty: the picture is decoration beside such words.
	Label string
	Large bool
}

type tile struct{ x, width string }

// slices places the parts side by side in the die, which is 48 units wide and begins at 8.
func (m ShareGlyphModel) slices() (filled, free []tile) {
	all := tiles()[min(max(m.Parts, 1), mostParts)]
	n := min(max(m.Filled, 0), len(all))
	return all[:n], all[n:]
}

// mostParts is how many parts of a card are drawn at most.
const mostParts = 16

// tiles are those of a card in so many parts. They are the same for every card of a list.
var tiles = sync.OnceValue(func() [][]tile {
	all := make([][]tile, mostParts+1)
	const left, span, gap = 8.0, 48.0, 1.2
	for parts := 1; parts <= mostParts; parts++ {
		width := (span - gap*float64(parts-1)) / float64(parts)
		for i := range parts {
			all[parts] = append(all[parts], tile{x: fmt.Sprintf("%.2f", left+float64(i)*(width+gap)),
				width: fmt.Sprintf("%.2f", width)})
		}
	}
	return all
})

// hatch are the strokes of the turns: as many as people share the card, one of them yours.
var hatch = sync.OnceValue(func() (paths []string) {
	for x := -12.0; x < 44; x += 5.5 {
		paths = append(paths, fmt.Sprintf("M%.1f 36 L%.1f 12", 8+x, 8+x+14))
	}
	return paths
})

func (m ShareGlyphModel) size() (width, height string) {
	if m.Large {
		return "96", "64"
	}
	return "48", "32"
}

func (m ShareGlyphModel) more() string { return fmt.Sprintf("×%d", m.Count) }

// ShareGlyph is drawn on the server; every instance stands alone and has no ids.
func ShareGlyph(m ShareGlyphModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		width, height := m.size()
		h.Raw(`<svg class="gp-glyph gp-glyph--`)
		h.Text(string(m.Kind))
		h.Raw(`" viewBox="0 0 72 48"`)
		h.Always("width", width)
		h.Always("height", height)
		if m.Label != "" {
			h.Raw(` role="img"`)
			h.Attr("aria-label", m.Label)
		} else {
			h.Raw(` aria-hidden="true"`)
		}
		h.Raw(` focusable="false">`)
		if m.Kind == GlyphCPU {
			h.Raw(glyphProcessor)
		} else {
			h.RawIf(m.Kind == GlyphSeveral, glyphBehind)
			h.Raw(glyphCard)
			m.die(h)
			h.Raw(" ")
			if m.Kind == GlyphSeveral && m.Count > 0 {
				h.Raw(`<text class="gp-glyph__count" x="32" y="29" text-anchor="middle">`)
				h.Text(m.more())
				h.Raw("</text>")
			}
		}
		h.Raw("</svg>")
	})
}

// What cards have in common.
const (
	glyphProcessor = `<rect class="gp-glyph__card" x="20" y="8" width="32" height="32" rx="4"></rect> ` +
		`<path class="gp-glyph__pins" d="M28 8V3M36 8V3M44 8V3M28 45v-5M36 45v-5M44 45v-5M20 16h-5M20 24h-5M20 32h-5` +
		`M57 16h-5M57 24h-5M57 32h-5"></path> ` +
		`<rect class="gp-glyph__none" x="28" y="16" width="16" height="16" rx="2"></rect>`
	glyphBehind = `<path class="gp-glyph__behind" ` +
		`d="M14 6.5V5a4 4 0 0 1 4-4h46a4 4 0 0 1 4 4v26a4 4 0 0 1-4 4h-1.5"></path>`
	glyphCard = ` <rect class="gp-glyph__card" x="3" y="7" width="58" height="34" rx="4"></rect> ` +
		`<path class="gp-glyph__pins" d="M12 41v4h26v-4M18 41v4M25 41v4M31.5 41v4"></path> `
)

// die is the part of the card that is shared.
func (m ShareGlyphModel) die(h *markup.Writer) {
	switch m.Kind {
	case GlyphWhole, GlyphSeveral:
		h.Raw(`<rect class="gp-glyph__filled" x="8" y="12" width="48" height="24" rx="2"></rect>`)
	case GlyphTimeSlice:
		h.Raw(`<svg x="8" y="12" width="48" height="24" viewBox="8 12 48 24">` +
			`<rect class="gp-glyph__free" x="8" y="12" width="48" height="24" rx="2"></rect> `)
		for _, d := range hatch() {
			h.Raw(`<path class="gp-glyph__hatch" d="`)
			h.Raw(d)
			h.Raw(`"></path>`)
		}
		h.Raw("</svg>")
	case GlyphSoft:
		h.Raw(`<rect class="gp-glyph__free" x="8" y="12" width="48" height="24" rx="2"></rect> ` +
			`<rect class="gp-glyph__filled" x="8" y="12" width="`)
		h.Raw(softWidth(m))
		h.Raw(`" height="24" rx="2"></rect> <path class="gp-glyph__soft" d="`)
		h.Raw(softEdge(m))
		h.Raw(`"></path>`)
	case GlyphUnknown:
		h.Raw(`<rect class="gp-glyph__none" x="8" y="12" width="48" height="24" rx="2"></rect>`)
	default:
		filled, free := m.slices()
		for _, t := range free {
			t.write(h, `<rect class="gp-glyph__free" x="`)
			h.Raw(" ")
		}
		for _, t := range filled {
			t.write(h, `<rect class="gp-glyph__filled" x="`)
		}
	}
}

func (t tile) write(h *markup.Writer, begin string) {
	h.Raw(begin)
	h.Raw(t.x)
	h.Raw(`" y="12" width="`)
	h.Raw(t.width)
	h.Raw(`" height="24" rx="1"></rect>`)
}

func softShare(m ShareGlyphModel) float64 {
	if m.Parts <= 0 {
		return 0.5
	}
	return min(max(float64(m.Filled)/float64(m.Parts), 0), 1)
}

func softWidth(m ShareGlyphModel) string { return fmt.Sprintf("%.1f", 48*softShare(m)) }

func softEdge(m ShareGlyphModel) string { return fmt.Sprintf("M%.1f 10v28", 8+48*softShare(m)) }

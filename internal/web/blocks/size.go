package blocks

import (
	"math"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/hardware"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/ui"
	"github.com/gpu-portal/gpu-portal/views/workload"
)

// SizeModel is a size in words with its picture.
func SizeModel(say page.Words, s catalog.Size) workload.SizeModel {
	return workload.SizeModel{Title: say.SizeTitle(s), Detail: sizeDetail(say, s), Glyph: Glyph(s)}
}

// sizeDetail is "10 GiB · hard isolation", or processor and memory where there is no GPU.
func sizeDetail(say page.Words, s catalog.Size) string {
	if s.Devices() == 0 {
		return say.S("web.cpu_size", "CPU", s.CPU, "Memory", say.Quantity(s.Memory))
	}
	parts := []string{}
	if s.Accelerator.MemoryGiB > 0 {
		parts = append(parts, say.GiB(s.Accelerator.MemoryGiB))
	}
	return strings.Join(append(parts, say.S("web.isolation_"+string(s.Isolation))), " · ")
}

// Glyph draws the share of a card. A picture that would have to guess is the one for unknown.
func Glyph(s catalog.Size) ui.ShareGlyphModel {
	share := s.Accelerator.Share
	switch {
	case s.Devices() == 0:
		return ui.ShareGlyphModel{Kind: ui.GlyphCPU}
	case share >= 1 && s.Devices() > 1:
		return ui.ShareGlyphModel{Kind: ui.GlyphSeveral, Count: s.Devices()}
	case share >= 1:
		return ui.ShareGlyphModel{Kind: ui.GlyphWhole}
	case s.Technology == catalog.TimeSlicing:
		return ui.ShareGlyphModel{Kind: ui.GlyphTimeSlice, Parts: parts(share, 1), Filled: 1}
	case share <= 0:
		return ui.ShareGlyphModel{Kind: ui.GlyphUnknown}
	case s.Technology == catalog.MIG:
		return migGlyph(s)
	case s.Isolation == catalog.IsolationHard:
		return ui.ShareGlyphModel{Kind: ui.GlyphSlice, Parts: parts(share, 1), Filled: 1}
	}
	return ui.ShareGlyphModel{Kind: ui.GlyphSoft, Parts: 100, Filled: int(math.Round(share * 100))}
}

// migGlyph counts compute slices as the profile's name does: 3g of a card of seven. A card that is not known is told
// from the share.
func migGlyph(s catalog.Size) ui.ShareGlyphModel {
	filled := max(1, hardware.ComputeSlices(s.Accelerator.Profile))
	whole, known := hardware.Slices(s.Accelerator.Model)
	if !known {
		whole = hardware.SlicesOf("")
		if parts(s.Accelerator.Share, filled) == 4 {
			whole = 4 // as an A30 has
		}
	}
	return ui.ShareGlyphModel{Kind: ui.GlyphSlice, Parts: max(whole, filled), Filled: filled * s.Devices()}
}

// Parts is into how many a card is cut when so many of them make this share.
func parts(share float64, filled int) int {
	if share <= 0 {
		return filled
	}
	return min(16, max(filled, int(math.Round(float64(filled)/share))))
}

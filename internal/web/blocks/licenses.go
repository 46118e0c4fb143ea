package blocks

import (
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// Mismatches are a sentence for each license pool that does not license the vGPU of its size.
func Mismatches(say page.Words, list []catalog.Mismatch) []string {
	var sentences []string
	for _, m := range list {
		sentences = append(sentences, say.Text(m.Sentence()))
	}
	return sentences
}

// SeatBar draws the seats that are taken, and the one that a request would take.
func SeatBar(say page.Words, s license.Seats, more int) ui.MeterModel {
	whole := float64(max(s.Pool.Seats, s.Used, 1))
	fill := ui.FillUsed
	if s.Free() == 0 {
		fill = ui.FillWarning
	}
	m := ui.MeterModel{Label: s.Pool.Title, Value: say.S("licenses.free_of", "Free", s.Free(), "Seats", s.Pool.Seats),
		Legend: true, Large: more == 0,
		Segments: []ui.SegmentModel{{Fill: fill, Share: float64(s.Used) / whole, Words: say.S("licenses.used", "Count",
			s.Used)}}}
	if more > 0 && s.Free() > 0 {
		m.Segments = append(m.Segments, ui.SegmentModel{Fill: ui.FillThis, Share: float64(more) / whole,
			Words: say.S("start.this_one")})
	}
	return m
}

// SeatsFree says how many are left, or that nobody knows.
func SeatsFree(say page.Words, s license.Seats) string {
	if s.Pool.Unknown {
		return say.S("licenses.unknown_total", "Count", s.Used)
	}
	return say.S("licenses.free_of", "Free", s.Free(), "Seats", s.Pool.Seats)
}

// SeatsTaken says what a start would take, by the counting rule of the pool's product.
func SeatsTaken(say page.Words, n int, s license.Seats) string {
	if n == 0 {
		return say.S("start.seat_together", "Pool", s.Pool.Title)
	}
	if s.Pool.Unknown {
		return say.S("start.seat_unknown", "Count", n, "Pool", s.Pool.Title)
	}
	return say.S("start.seat_after", "Count", n, "Pool", s.Pool.Title, "Free", max(0, s.Free()-n), "Seats", s.Pool.Seats)
}

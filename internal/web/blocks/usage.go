package blocks

import (
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	usageview "github.com/gpu-portal/gpu-portal/views/usage"
)

// CardUse is how busy the GPUs of a sum were, and what the idle ones cost; nothing where there is none.
func CardUse(say page.Words, s usage.Sum) *usageview.UseModel {
	switch {
	case s.Use.Held == 0:
		return nil
	case !s.Use.Known():
		return &usageview.UseModel{Mean: say.S("web.unknown"), Idle: say.S("web.unknown")}
	}
	m := &usageview.UseModel{Mean: say.Percent(s.Use.Mean()), Idle: say.Monies(s.Idle)}
	if c := s.Use.Coverage(); !s.LiveSince.IsZero() {
		m.Note = say.S("usage.live_since", "Time", page.ClockOn(say, s.LiveSince))
	} else if c < page.FullCoverage {
		m.Note = say.S("usage.measured_of", "Share", say.Share(c))
	}
	return m
}

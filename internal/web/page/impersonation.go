package page

import (
	"time"

	"github.com/gpu-portal/gpu-portal/views/layout"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// impersonationStrip stands on every page that somebody sees as somebody else, with the way out.
func impersonationStrip(k Call) []ui.StripModel {
	a := k.Actor
	if a.Impersonator == nil {
		return nil
	}
	return []ui.StripModel{layout.ImpersonationStrip(k.Words.Localizer, layout.ImpersonationModel{Name: a.Person.Name,
		Admin: a.Impersonator.Name, Until: ui.Clock(a.ImpersonationUntil, time.UTC) + " UTC", End: "/impersonation/end"})}
}

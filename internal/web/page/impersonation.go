package page

import (
	"time"

	"github.com/gpu-portal/gpu-portal/views/ui"
)

// impersonationStrip stands on every page that somebody sees as somebody else, with the way out.
func impersonationStrip(k Call) []ui.StripModel {
	a := k.Actor
	if a.Impersonator == nil {
		return nil
	}
	return []ui.StripModel{{Kind: ui.Warning, ID: "strip-impersonation", Test: "impersonation",
		Words: k.Words.S("web.impersonation", "Name",
			a.Person.Name, "Admin", a.Impersonator.Name, "Until", ui.Clock(a.ImpersonationUntil, time.UTC)+" UTC"),
		Actions: []ui.ActionModel{{Post: &ui.PostButtonModel{Action: "/impersonation/end",
			Button: ui.ButtonModel{Label: k.Words.S("web.impersonation_end"), Small: true, Test: "impersonation-end"}}}}}}
}

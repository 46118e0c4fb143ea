package web

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// impersonationStrip stands on every page that somebody sees as somebody else, with the way out.
func impersonationStrip(k call) []ui.StripModel {
	a := k.actor
	if a.Impersonator == nil {
		return nil
	}
	return []ui.StripModel{{Kind: ui.Warning, ID: "strip-impersonation", Test: "impersonation",
		Words: k.words.S("web.impersonation", "Name",
			a.Person.Name, "Admin", a.Impersonator.Name, "Until", ui.Clock(a.ImpersonationUntil, time.UTC)+" UTC"),
		Actions: []ui.ActionModel{{Post: &ui.PostButtonModel{Action: "/impersonation/end",
			Button: ui.ButtonModel{Label: k.words.S("web.impersonation_end"), Small: true, Test: "impersonation-end"}}}}}}
}

// seeAs lets an administrator see the portal as somebody who is none.
func seeAs(k call, seen identity.Actor) *ui.PostButtonModel {
	if !identity.Can(k.actor, identity.Impersonate, identity.Resource{}) || seen.Is(identity.Admin) ||
		seen.Person.Disabled ||
		seen.Person.ID == k.actor.Person.ID {
		return nil
	}
	return &ui.PostButtonModel{Action: peoplePath + "/" + string(seen.Person.ID) + "/see",
		Button: ui.ButtonModel{Label: k.words.S("tenants.see_as"), Kind: ui.Secondary, Small: true, Icon: "eye",
			Test: "see-as"}}
}

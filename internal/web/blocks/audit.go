package blocks

import (
	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// WhoDid is the actor of an event, with the one on whose behalf it was done.
func WhoDid(say page.Words, e audit.Event) string {
	if e.BehalfName == "" {
		return e.ActorName
	}
	return say.S("audit.who_for", "Name", e.ActorName, "For", e.BehalfName)
}

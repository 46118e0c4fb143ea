package page

import (
	"net/url"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// Panel is what a page of another site shows of the portal: without links, forms and scripts.
type Panel struct {
	Title string         // of what it is about; "" for the whole fleet, all licenses
	State *ui.StateModel // nil for what has none
	Body  templ.Component
}

// BuildPanel reads with the rights of the call's actor, who made the panel's address.
type BuildPanel func(k Call, subject string) (Panel, error)

// EmbedPath is the form for an address of a panel.
func EmbedPath(panel embed.Panel, subject string) string {
	q := url.Values{"panel": {string(panel)}}
	if subject != "" {
		q.Set("subject", subject)
	}
	return "/embeds/new?" + q.Encode()
}

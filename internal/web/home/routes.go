package home

import (
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// Routes are the addresses of the area.
func (w *Pages) Routes() []page.Route {
	return []page.Route{
		w.Shows("/", identity.ReadWorkload, w.homePage()),
	}
}

func (w *Pages) homePage() page.Page {
	return page.Page{Name: "home", Build: w.home, Topics: page.Topics{live.TopicWorkload, live.TopicRequest}}
}

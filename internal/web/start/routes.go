package start

import (
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// Routes are the addresses of the area.
func (w *Pages) Routes() []page.Route {
	return []page.Route{
		w.Shows("/start", identity.SubmitRequest, w.startPage()),
		page.Post("/start", identity.SubmitRequest, w.startSubmit),
		page.Get("/start/summary", identity.SubmitRequest, w.startSummary),
		page.Post("/start/summary", identity.SubmitRequest, w.startSummary),
		w.Shows("/start/size", identity.SubmitRequest, w.sizingPage()),
		page.Get("/start/form", identity.SubmitRequest, w.startForm),
		page.Post("/start/form", identity.SubmitRequest, w.startForm),
	}
}

func (w *Pages) startPage() page.Page {
	return page.Page{Name: "start", Build: w.start, Topics: page.Topics{live.TopicInventory, live.TopicWorkload},
		Everyones: true}
}

func (w *Pages) sizingPage() page.Page {
	return page.Page{Name: "sizing", Build: w.sizing}
}

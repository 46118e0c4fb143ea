package requests

import (
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// Routes are the addresses of the area.
func (w *Pages) Routes() []page.Route {
	return []page.Route{
		w.Shows("/requests", identity.ReadRequest, w.requestsPage()),
		w.Shows("/requests/:id", identity.ReadRequest, w.requestPage()),
		w.Shows("/requests/:id/edit", identity.EditRequest, w.requestEditPage()),
		page.Post("/requests/:id/edit", identity.EditRequest, w.requestEdit),
		page.Post("/requests/:id/withdraw", identity.WithdrawRequest, w.requestWithdraw),
		w.Shows("/approvals", identity.DecideRequest, w.approvalsPage()),
		w.Shows("/approvals/:id", identity.DecideRequest, w.approvalsPage()),
		w.Shows("/approvals/delegations", identity.ManageDelegations, w.delegationsPage()),
		page.Post("/approvals/delegations", identity.ManageDelegations, w.delegationCreate),
		page.Post("/approvals/delegations/:id/end", identity.ManageDelegations, w.delegationEnd),
		page.Post("/approvals/bulk", identity.DecideRequest, w.decideSeveral),
		w.Shows("/approvals/:id/reassign", identity.DecideRequest, w.reassignPage()),
		page.Post("/approvals/:id/reassign", identity.DecideRequest, w.reassign),
		page.Post("/approvals/:id/reclaim", identity.DecideRequest, w.reclaim),
		page.Post("/approvals/:id/approve", identity.DecideRequest, w.approve),
		page.Post("/requests/:id/undo-extension", identity.WithdrawRequest, w.extensionUndo),
		page.Post("/approvals/:id/undo", identity.DecideRequest, w.undo),
		page.Post("/approvals/:id/reject", identity.DecideRequest, w.reject),
	}
}

func (w *Pages) requestsPage() page.Page {
	return page.Page{Name: "requests", Build: w.requests, Topics: page.Topics{live.TopicRequest}}
}

func (w *Pages) requestPage() page.Page {
	return page.Page{Name: "request", Build: w.request, Topics: page.Topics{live.TopicRequest, live.TopicWorkload}}
}

func (w *Pages) requestEditPage() page.Page {
	return page.Page{Name: "request-edit", Build: w.requestEditAsk}
}

func (w *Pages) approvalsPage() page.Page {
	return page.Page{Name: "approvals", Build: w.approvals, Topics: page.Topics{live.TopicRequest,
		live.TopicWorkload, live.TopicInventory, live.TopicTenant}, Everyones: true}
}

func (w *Pages) reassignPage() page.Page {
	return page.Page{Name: "reassign", Build: w.reassignAsk}
}

func (w *Pages) delegationsPage() page.Page {
	return page.Page{Name: "delegations", Build: w.delegations}
}

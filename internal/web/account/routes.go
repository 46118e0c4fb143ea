package account

import (
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// Routes are the addresses of the area.
func (w *Pages) Routes() []page.Route {
	return []page.Route{
		w.Shows("/account", identity.ManageTokens, w.accountPage()),
		page.Post("/account/tokens", identity.ManageTokens, w.tokenCreate),
		page.Post("/account/tokens/:id/revoke", identity.ManageTokens, w.tokenRevoke),
		page.Post("/account/sessions/end", identity.ManageTokens, w.sessionsEnd),
		page.Post("/account/sessions/:id/end", identity.ManageTokens, w.sessionEnd),
		w.Shows("/account/notifications", identity.ChangeNotices, w.noticesPage()),
		page.Post("/account/notifications", identity.ChangeNotices, w.noticesChoose),
		page.Post("/account/notifications/test", identity.ChangeNotices, w.noticesTry),
		page.Post("/account/notifications/addresses", identity.ChangeNotices, w.addressEnter),
		page.Post("/account/notifications/addresses/:id/remove", identity.ChangeNotices, w.addressRemove),
		w.Shows("/admin/notifications", identity.ReadDeliveries, w.deliveriesPage()),
		page.Post("/admin/notifications/:id/retry", identity.RetryDelivery, w.deliveryRetry),
	}
}

func (w *Pages) accountPage() page.Page {
	return page.Page{Name: "account", Build: w.account}
}

func (w *Pages) noticesPage() page.Page {
	return page.Page{Name: "notices", Build: w.notices}
}

func (w *Pages) deliveriesPage() page.Page {
	return page.Page{Name: "deliveries", Build: w.deliveries}
}

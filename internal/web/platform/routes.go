package platform

import (
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// Routes are the addresses of the area.
func (w *Pages) Routes() []page.Route {
	return []page.Route{
		w.Shows(page.PlatformPath, identity.ReadPlatform, w.platformPage()),
	}
}

func (w *Pages) platformPage() page.Page {
	return page.Page{Name: "platform", Build: w.platform, Topics: page.Topics{live.TopicWorkload, live.TopicRequest,
		live.TopicInventory, live.TopicQuarantine, live.TopicBudget, live.TopicLicense, live.TopicCatalog, live.TopicRules,
		live.TopicTenant, live.TopicPrices}}
}

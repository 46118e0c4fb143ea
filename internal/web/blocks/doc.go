// Package blocks makes the models that several areas draw: the row of a workload, a size with its picture, bars of
// quota, budget and seats, estimates, the readings of devices. Values of the services in, models of views out, in the
// reader's language.
package blocks

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/holders"
	"github.com/gpu-portal/gpu-portal/internal/memo"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Blocks are those that read from services.
type Blocks struct {
	*page.Frame
	Workloads *workload.Service
	Requests  *request.Service
	Offers    *request.Offers
	Quotas    *request.Quotas
	Budgets   *budget.Service
	Forecasts *forecast.Service // nil: nothing is estimated
	Metrics   Metrics
	AppsURL   func(workloadName string) string // where a workload is opened: http or https; nil: nowhere
	// ExternalURL is where programs outside the company network call an endpoint; nil or "": nowhere
	ExternalURL func(workloadName string) string

	holders memo.Memo[int64, []holders.Holder] // everybody's

	counted counted
	Zone    *time.Location // the site's
}

package cost

import (
	"time"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/ui"
	usageview "github.com/gpu-portal/gpu-portal/views/usage"
)

// demand answers: what did people ask for and not get.
func (w *Pages) demand(k page.Call) (page.View, error) {
	c := w.usageChoice(k)
	unmet, err := w.Usage.UnmetDemand(k.Ctx, k.Actor, c.month)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	m := usageview.DemandModel{Header: ui.HeaderModel{Title: say.S("demand.title"), Lead: say.S("demand.lead", "Zone",
		w.Usage.Zone.String())},
		Months: w.monthSwitch(say, c, page.DemandPath)}
	for _, u := range unmet {
		row := usageview.UnmetModel{Size: w.priceOf(say, usage.PriceSize, u.Size),
			Reason: say.Say(i18n.T("demand.reason_" + string(u.Reason))),
			Count:  say.Number(float64(u.Count)), Attempts: say.Number(float64(u.Attempts)),
			People: say.Number(float64(u.People)), Longest: "–"}
		row.Size.Detail = u.Size
		if u.Longest > 0 {
			row.Longest = say.Duration(u.Longest.Round(time.Minute))
		}
		m.Rows = append(m.Rows, row)
	}
	return page.View{Title: m.Header.Title, Nav: page.DemandPath, Wide: true, Body: usageview.Demand(m),
		Parts: []page.Part{{ID: "usage-demand", Draw: func(page.Words) templ.Component { return usageview.Demand(m) }}}}, nil
}

package web

import (
	"time"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/views/ui"
	usageview "github.com/gpu-portal/gpu-portal/views/usage"
)

const demandPath = "/usage/demand"

// demand answers: what did people ask for and not get.
func (w *Web) demand(k call) (view, error) {
	c := w.usageChoice(k)
	unmet, err := w.Usage.UnmetDemand(k.ctx, k.actor, c.month)
	if err != nil {
		return view{}, err
	}
	say := k.words
	m := usageview.DemandModel{Header: ui.HeaderModel{Title: say.S("demand.title"), Lead: say.S("demand.lead", "Zone",
		w.Usage.Zone.String())},
		Months: w.monthSwitch(say, c, demandPath)}
	for _, u := range unmet {
		row := usageview.UnmetModel{Size: w.priceOf(say, usage.PriceSize, u.Size),
			Reason: say.Say(i18n.T("demand.reason_" + string(u.Reason))),
			Count:  say.number(float64(u.Count)), Attempts: say.number(float64(u.Attempts)),
			People: say.number(float64(u.People)), Longest: "–"}
		row.Size.Detail = u.Size
		if u.Longest > 0 {
			row.Longest = say.duration(u.Longest.Round(time.Minute))
		}
		m.Rows = append(m.Rows, row)
	}
	if len(unmet) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "usage", Title: say.S("demand.empty"), Lines: []string{say.S("demand.empty_why")},
			Level: 2, Test: "empty"}
	}
	return view{title: m.Header.Title, nav: demandPath, wide: true, body: usageview.Demand(m),
		parts: []part{{id: "usage-demand", draw: func(words) templ.Component { return usageview.Demand(m) }}}}, nil
}

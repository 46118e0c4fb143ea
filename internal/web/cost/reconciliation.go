package cost

import (
	"cmp"
	"io"
	"math"
	"net/http"
	"slices"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/ui"
	usageview "github.com/gpu-portal/gpu-portal/views/usage"
)

// reconciliation answers: where did the hours of the cards go that we have.
func (w *Pages) reconciliation(k page.Call) (page.View, error) {
	c := w.usageChoice(k)
	r, err := w.Usage.Fleet.Reconciliation(k.Ctx, k.Actor, c.month)
	if err != nil {
		return page.View{}, err
	}
	say, total := k.Words, r.Total()
	m := usageview.ReconciliationModel{Zone: w.Usage.Zone.String(), Export: c.path(page.ReconciliationPath + "/export"),
		Months: w.monthSwitch(say, c, page.ReconciliationPath)}
	if len(r.Days) > 0 {
		m.Totals, m.Physical, m.Whole = fleetTotals(say, total), fullHours(say, total.Physical), fleetParts(total)
		w.reconciliationRows(k, c, r, &m)
	}
	return page.View{Title: say.S("reconciliation.title"), Nav: page.ReconciliationPath, Wide: true,
		Body: usageview.Reconciliation(m),
		Parts: []page.Part{{ID: "usage-reconciliation", Draw: func(page.Words) templ.Component {
			return usageview.Reconciliation(m)
		}}}}, nil
}

// reconciliationRows are the cards of each model, and the days of all or of those that the address names.
func (w *Pages) reconciliationRows(k page.Call, c usageChoice, r usage.Reconciliation,
	m *usageview.ReconciliationModel) {
	say, cluster, model := k.Words, k.Get("cluster"), k.Get("model")
	for _, d := range r.By(func(d usage.FleetDay) string { return d.Cluster + "\x00" + d.Model }) {
		row := fleetRow(say, say.Card(d.Model), d.FleetTime)
		row.Name.Detail, row.Name.Href = d.Cluster, c.path(page.ReconciliationPath, "cluster", d.Cluster, "model", d.Model)
		m.Models = append(m.Models, row)
	}
	some := usage.Reconciliation{}
	for _, d := range r.Days {
		if d.Cluster == cluster && d.Model == model {
			some.Days = append(some.Days, d)
		}
	}
	if len(some.Days) > 0 {
		r = some
		m.Only = &usageview.OnlyModel{Model: say.Card(model), Cluster: cluster, All: c.path(page.ReconciliationPath)}
	}
	if m.Only == nil && len(r.Reconciled) > 0 {
		m.Matched = matchedRows(say, r)
		m.Gap, m.Causes = gap(say, r.ReconciledTotal()), causes(k, r.ReconciledTotal())
	}
	for _, d := range r.By(func(d usage.FleetDay) string { return d.Day }) {
		m.Days = append(m.Days, fleetRow(say, d.Day, d.FleetTime))
	}
}

// matchedRows are the days with what was charged, and the month.
func matchedRows(say page.Words, r usage.Reconciliation) (rows []usageview.MatchedModel) {
	row := func(name string, m usage.ReconciledDay) usageview.MatchedModel {
		return usageview.MatchedModel{Name: name, Held: cardHours(say, m.Held), Charged: cardHours(say, m.Charged),
			Gap: cardHours(say, m.Difference()), Doubt: cardHours(say, m.Unknown),
			Unseen: cardHours(say, m.Unseen), Rest: cardHours(say, m.Rest())}
	}
	for _, d := range r.ReconciledDays() {
		of := row(d.Day, d)
		none := cardHours(say, 0)
		of.Agrees = of.Gap == none && of.Doubt == none && of.Unseen == none && of.Rest == none
		rows = append(rows, of)
	}
	total := row(say.S("reconciliation.matched_total"), r.ReconciledTotal())
	total.Total = true
	return append(rows, total)
}

// gap is how far what was charged is from what was held, whether somebody should look into it, and where to begin.
func gap(say page.Words, m usage.ReconciledDay) *usageview.GapModel {
	tolerance := say.Percent(100 * usage.ReconciliationTolerance)
	g := &usageview.GapModel{Share: "–", Held: usageHours(say, m.Held), Charged: usageHours(say, m.Charged),
		Verdict: say.S("reconciliation.within", "Share", tolerance), Within: m.WithinTolerance()}
	if !g.Within {
		g.Verdict = say.S("reconciliation.above", "Share", tolerance)
	}
	if m.Held > 0 {
		g.Share = ui.InUnit(say.Localizer, ui.Number(say.Localizer, 100*math.Abs(m.Difference().Hours())/m.Held.Hours(), 1),
			"%")
	}
	switch time := m.Difference(); {
	case cardHours(say, time) == cardHours(say, 0):
		g.Words = say.S("reconciliation.gap_none")
	case time < 0:
		g.Words = say.S("reconciliation.gap_more", "Hours", usageHours(say, -time))
	default:
		g.Words = say.S("reconciliation.gap_less", "Hours", usageHours(say, time))
	}
	return g
}

func usageHours(say page.Words, t usage.CardTime) string {
	return say.S("usage.hours", "Hours", cardHours(say, t))
}

// causes lead from what was held to what was charged, the largest first; those that come to nothing are left out.
func causes(k page.Call, m usage.ReconciledDay) []usageview.CauseModel {
	say := k.Words
	type cause struct {
		cause usageview.Cause
		adds  usage.CardTime
		look  string // where somebody sees and mends it, for those who may see that
	}
	clusters, sizes := page.ClustersPath, "/admin/sizes"
	if !identity.Can(k.Actor, identity.ReadClusters, identity.Resource{}) {
		clusters = ""
	}
	if !identity.Can(k.Actor, identity.ReadOffer, identity.Resource{}) {
		sizes = ""
	}
	all := []cause{{usageview.Doubt, -m.Unknown, clusters}, {usageview.Unseen, m.Unseen, clusters},
		{usageview.Rest, -m.Rest(), sizes}}
	slices.SortStableFunc(all, func(a, b cause) int {
		return cmp.Compare(math.Abs(b.adds.Hours()), math.Abs(a.adds.Hours()))
	})
	list := []usageview.CauseModel{{Cause: usageview.Held, Hours: cardHours(say, m.Held)}}
	for _, c := range all {
		hours := cardHours(say, c.adds)
		if hours == cardHours(say, 0) {
			continue
		}
		if c.adds > 0 {
			hours = "+" + hours
		}
		list = append(list, usageview.CauseModel{Cause: c.cause, Hours: hours, Href: c.look})
	}
	return append(list, usageview.CauseModel{Cause: usageview.Charged, Hours: cardHours(say, m.Charged)})
}

// cardHours are hours of whole cards, with tenths in every cell; what is less than can be shown is 0.0.
func cardHours(say page.Words, t usage.CardTime) string {
	h := t.Hours()
	if h > -0.05 && h < 0.05 {
		h = 0
	}
	return ui.Number(say.Localizer, h, 1)
}

// wholeHours are hours of whole cards without tenths, which the file has; what is less than half an hour is no zero.
func wholeHours(say page.Words, t usage.CardTime) string {
	if t > 0 && t.Hours() < 0.5 {
		return "<" + ui.Number(say.Localizer, 1, 0)
	}
	return ui.Number(say.Localizer, t.Hours(), 0)
}

func fleetRow(say page.Words, name string, t usage.FleetTime) usageview.CardsModel {
	hours := func(t usage.CardTime) string { return wholeHours(say, t) }
	return usageview.CardsModel{Name: ui.StackModel{Title: name}, Whole: fullHours(say, t.Physical), Parts: fleetParts(t),
		Physical: hours(t.Physical),
		Ours:     hours(t.Ours), Others: hours(t.Others), Free: hours(t.Free),
		Broken: hours(t.Broken), Unknown: hours(t.Unknown), Difference: hours(t.Difference())}
}

// fullHours are hours of whole cards, with their unit; hundreds without tenths.
func fullHours(say page.Words, t usage.CardTime) string {
	decimals := 1
	if t.Hours() >= 100 {
		decimals = 0
	}
	return say.S("usage.hours", "Hours", ui.Number(say.Localizer, t.Hours(), decimals))
}

// fleetParts are what the hours of cards went into, in the order of bars; what is nothing is left out.
func fleetParts(t usage.FleetTime) (parts []usageview.PartModel) {
	for _, p := range []struct {
		part usageview.Part
		time usage.CardTime
	}{{usageview.Ours, t.Ours}, {usageview.Others, t.Others}, {usageview.Broken, t.Broken},
		{usageview.Unknown, t.Unknown}, {usageview.Difference, t.Difference()}, {usageview.Free, t.Free}} {
		if p.time > 0 && t.Physical > 0 {
			parts = append(parts, usageview.PartModel{Part: p.part, Share: float64(p.time) / float64(t.Physical)})
		}
	}
	return parts
}

// wholePercents are the shares that parts have of their sum, in whole percent. They add up to 100: what rounding down
// leaves goes to those that lost the most by it.
func wholePercents(parts []int64) []int {
	var sum int64
	for _, p := range parts {
		sum += p
	}
	percents := make([]int, len(parts))
	if sum <= 0 {
		return percents
	}
	left, order := 100, make([]int, len(parts))
	for i, p := range parts {
		order[i], percents[i] = i, int(100*float64(p)/float64(sum))
		left -= percents[i]
	}
	lost := func(i int) float64 { return 100*float64(parts[i])/float64(sum) - float64(percents[i]) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lost(b), lost(a)) })
	for _, i := range order[:max(0, min(left, len(order)))] {
		percents[i]++
	}
	return percents
}

func fleetTotals(say page.Words, t usage.FleetTime) (totals []usageview.TotalModel) {
	percents := wholePercents([]int64{int64(t.Ours), int64(t.Others), int64(t.Broken), int64(t.Unknown),
		int64(t.Difference()), int64(t.Free)})
	for i, total := range []struct {
		part usageview.Part
		time usage.CardTime
	}{{usageview.Physical, t.Physical}, {usageview.Ours, t.Ours}, {usageview.Others, t.Others},
		{usageview.Broken, t.Broken}, {usageview.Unknown, t.Unknown}, {usageview.Difference, t.Difference()},
		{usageview.Free, t.Free}} { // in the order of bars
		m := usageview.TotalModel{Part: total.part, Hours: fullHours(say, total.time)}
		if total.part != usageview.Physical && t.Physical > 0 {
			m.Share = say.Percent(float64(percents[i-1]))
		}
		totals = append(totals, m)
	}
	return totals
}

// reconciliationExport sends the days as a file.
func (w *Pages) reconciliationExport(c echo.Context) error {
	k := w.CallOf(c)
	choice := w.usageChoice(k)
	r, err := w.Usage.Fleet.Reconciliation(k.Ctx, k.Actor, choice.month)
	if err != nil {
		return err
	}
	return sendCSV(c, "fleet-"+choice.month.String(), r.ExportCSV)
}

// sendCSV sends a file for a spreadsheet. A fault on the way cuts the answer off, so that half a file is never taken
// for a whole one.
func sendCSV(c echo.Context, name string, write func(to io.Writer) error) error {
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, "text/csv; charset=utf-8")
	header.Set(echo.HeaderContentDisposition, `attachment; filename="`+name+`.csv"`)
	err := write(c.Response())
	if err != nil && c.Response().Committed {
		panic(http.ErrAbortHandler)
	}
	return err
}

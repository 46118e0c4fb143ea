package cost

import (
	"io"
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

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
	csv := ui.ActionModel{Link: &ui.LinkButtonModel{Label: say.S("usage.export_csv"),
		Href: c.path(page.ReconciliationPath + "/export"), Icon: "download", Test: "export-csv"}}
	m := usageview.ReconciliationModel{Header: ui.HeaderModel{Title: say.S("reconciliation.title"),
		Lead: say.S("reconciliation.lead", "Zone", w.Usage.Zone.String()), Actions: []ui.ActionModel{csv}},
		Months: w.monthSwitch(say, c, page.ReconciliationPath)}
	if len(r.Days) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "fleet", Title: say.S("reconciliation.empty"),
			Lines: []string{say.S("reconciliation.empty_why")}, Level: 2, Test: "empty"}
	} else {
		m.Tiles, m.Whole = fleetTiles(say, total), fleetBar(say, say.S("reconciliation.physical"), total)
		m.Whole.Legend, m.Whole.Large, m.Whole.Test = true, true, "reconciliation-whole"
		w.reconciliationRows(k, c, r, &m)
	}
	return page.View{Title: m.Header.Title, Nav: page.ReconciliationPath, Wide: true, Body: usageview.Reconciliation(m),
		Parts: []page.Part{{ID: "usage-reconciliation", Draw: func(page.Words) templ.Component {
			return usageview.Reconciliation(m)
		}}}}, nil
}

// reconciliationRows are the cards of each model, and the days of all or of those that the address names.
func (w *Pages) reconciliationRows(k page.Call, c usageChoice, r usage.Reconciliation,
	m *usageview.ReconciliationModel) {
	say, cluster, model := k.Words, k.Get("cluster"), k.Get("model")
	for _, d := range r.By(func(d usage.FleetDay) string { return d.Cluster + "\x00" + d.Model }) {
		row := fleetRow(say, d.Model, d.FleetTime)
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
		r, m.Only = some, say.S("reconciliation.only", "Model", model, "Cluster", cluster)
		m.All = &ui.LinkButtonModel{Label: say.S("reconciliation.all"), Href: c.path(page.ReconciliationPath)}
	}
	if m.All == nil && len(r.Reconciled) > 0 {
		m.Matched = matchedRows(say, r)
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
		rows = append(rows, row(d.Day, d))
	}
	total := row(say.S("reconciliation.matched_total"), r.ReconciledTotal())
	total.Total = true
	return append(rows, total)
}

// cardHours are hours of whole cards; what is less than can be shown is 0.
func cardHours(say page.Words, t usage.CardTime) string {
	if h := t.Hours(); h > -0.05 && h < 0.05 {
		return "0"
	}
	return ui.Number(say.Localizer, t.Hours(), 1)
}

func fleetRow(say page.Words, name string, t usage.FleetTime) usageview.CardsModel {
	hours := func(t usage.CardTime) string { return cardHours(say, t) }
	bar := fleetBar(say, name, t)
	bar.Bare = true
	return usageview.CardsModel{Name: ui.StackModel{Title: name}, Bar: bar, Physical: hours(t.Physical),
		Ours: hours(t.Ours), Others: hours(t.Others), Free: hours(t.Free),
		Broken: hours(t.Broken), Unknown: hours(t.Unknown), Difference: hours(t.Difference())}
}

// fleetParts are what the hours of cards went into, in the order of bars.
var fleetParts = []struct {
	name string
	fill ui.Fill
	of   func(usage.FleetTime) usage.CardTime
}{
	{"ours", ui.FillUsed, func(t usage.FleetTime) usage.CardTime { return t.Ours }},
	{"others", ui.FillReserved, func(t usage.FleetTime) usage.CardTime { return t.Others }},
	{"broken", ui.FillBroken, func(t usage.FleetTime) usage.CardTime { return t.Broken }},
	{"unknown", ui.FillBlocked, func(t usage.FleetTime) usage.CardTime { return t.Unknown }},
	{"difference", ui.FillWarning, usage.FleetTime.Difference},
	{"free", ui.FillFree, func(t usage.FleetTime) usage.CardTime { return t.Free }},
}

func fleetBar(say page.Words, label string, t usage.FleetTime) ui.MeterModel {
	m := ui.MeterModel{Label: label, Value: say.S("usage.hours", "Hours", ui.Number(say.Localizer, t.Physical.Hours(), 1))}
	for _, p := range fleetParts {
		if part := p.of(t); part > 0 && t.Physical > 0 {
			share := float64(part) / float64(t.Physical)
			m.Segments = append(m.Segments, ui.SegmentModel{Fill: p.fill, Share: share, Words: say.S("reconciliation."+p.name) +
				" " + say.Percent(100*share)})
		}
	}
	return m
}

func fleetTiles(say page.Words, t usage.FleetTime) ui.TilesModel {
	m := ui.TilesModel{Label: say.S("usage.totals")}
	for _, tile := range []struct {
		name string
		time usage.CardTime
	}{{"physical", t.Physical}, {"held", t.Held()}, {"free", t.Free}, {"broken", t.Broken}, {"unknown", t.Unknown},
		{"difference", t.Difference()}} {
		detail := say.S("reconciliation." + tile.name + "_why")
		if tile.name != "physical" && t.Physical > 0 {
			detail = say.Percent(100*float64(tile.time)/float64(t.Physical)) + " · " + detail
		}
		m.Items = append(m.Items, ui.TileModel{Label: say.S("reconciliation." + tile.name),
			Value: say.S("usage.hours", "Hours", ui.Number(say.Localizer, tile.time.Hours(), 1)), Detail: detail,
			Test: "fleet-" + tile.name})
	}
	return m
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

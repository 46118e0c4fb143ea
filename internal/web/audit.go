package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	auditview "github.com/gpu-portal/gpu-portal/views/audit"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// audit answers: who did what. For those who may not read it the page does not exist.
func (w *Web) audit(k call) (view, error) {
	if !identity.Can(k.actor, identity.ReadAudit, identity.Resource{}) {
		return view{}, fault.New(fault.NotFound, i18n.T("web.no_page"))
	}
	f := auditChoice(k)
	f.Cursor, f.Limit = k.get("cursor"), 100
	events, next, err := w.Events.Events(k.ctx, f)
	if err != nil {
		return view{}, err
	}
	say := k.words
	m := auditview.PageModel{Header: ui.HeaderModel{Title: say.S("audit.title"), Lead: say.S("audit.lead"),
		Actions: auditExports(k)}, Filter: w.auditFilter(k),
		More: ui.PaginationModel{Label: say.S("audit.pages"), NextURL: nextURL("/audit", k.query, next)}}
	for _, e := range events {
		m.Rows = append(m.Rows, auditRow(say, e))
	}
	if f.Text != "" && next != "" {
		m.Further = &ui.NoticeModel{Kind: ui.Info, Title: say.S("audit.further"), Body: say.S("audit.further_why"),
			Test: "further"}
	}
	if len(events) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "audit", Title: say.S("audit.empty"), Lines: []string{say.S("audit.empty_why")},
			Level: 3, Test: "empty"}
	}
	return view{title: m.Header.Title, nav: "/audit", wide: true, body: auditview.Page(m)}, nil
}

// auditChoice is what the address of the page narrows the record to.
func auditChoice(k call) audit.Filter {
	f := audit.Filter{Tenant: k.get("tenant"), Person: strings.TrimSpace(k.get("person")), Workload: k.get("workload"),
		Request: k.get("request"), Text: strings.TrimSpace(k.get("text")),
		From: dayOf(k.get("from")), Until: dayOf(k.get("until"))}
	if !f.Until.IsZero() {
		f.Until = f.Until.AddDate(0, 0, 1) // the day that was named counts
	}
	if kind := audit.Kind(k.get("kind")); slices.Contains(audit.Kinds(), kind) {
		f.Kinds = []audit.Kind{kind}
	}
	return f
}

// dayOf reads a day in UTC; what is none is no limit.
func dayOf(text string) time.Time {
	day, _ := time.Parse(time.DateOnly, text)
	return day
}

// auditKeys are what the address of the page narrows the record by.
var auditKeys = []string{"kind", "tenant", "person", "text", "from", "until", "workload", "request"}

// auditExports: a table of what is shown, and the whole record that proves itself.
func auditExports(k call) []ui.ActionModel {
	table := url.Values{"format": {"csv"}}
	for _, name := range auditKeys {
		if k.get(name) != "" {
			table.Set(name, k.get(name))
		}
	}
	link := func(label, query, test string) ui.ActionModel {
		return ui.ActionModel{Link: &ui.LinkButtonModel{Label: k.words.S(label), Href: "/audit/export?" + query,
			Icon: "download", Test: test}}
	}
	return []ui.ActionModel{link("audit.export_csv", table.Encode(), "export-csv"),
		link("audit.export_record", "format=record", "export-record")}
}

// auditExport sends the record as a file. A fault on the way cuts the answer off, so that half a file is never taken
// for a whole one.
func (w *Web) auditExport(c echo.Context) error {
	k := w.callOf(c)
	if !identity.Can(k.actor, identity.ReadAudit, identity.Resource{}) {
		return fault.New(fault.NotFound, i18n.T("web.no_page"))
	}
	name, kind := "audit-"+w.Now().UTC().Format("2006-01-02"), "text/csv; charset=utf-8"
	whole := k.get("format") == "record"
	if whole {
		name, kind = name+".jsonl", "application/jsonl"
	} else {
		name += ".csv"
	}
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, kind)
	header.Set(echo.HeaderContentDisposition, `attachment; filename="`+name+`"`)
	var err error
	if whole {
		var broken *audit.Break
		if _, err = audit.ExportRecords(k.ctx, w.Events, c.Response()); errors.As(err, &broken) {
			err = nil // the file shows it to whoever verifies it
		}
	} else {
		err = audit.ExportCSV(k.ctx, w.Events, auditChoice(k), k.words.say, c.Response())
	}
	if err != nil && c.Response().Committed {
		panic(http.ErrAbortHandler)
	}
	return err
}

func (w *Web) auditFilter(k call) ui.FilterBarModel {
	say := k.words
	kinds := ui.FieldModel{ID: "audit-kind", Name: "kind", Kind: ui.SelectField, Label: say.S("audit.filter_kind"),
		Value: k.get("kind"), Test: "filter-kind", Options: []ui.OptionModel{{Value: "", Label: say.S("start.any")}}}
	for _, kind := range audit.Kinds() {
		kinds.Options = append(kinds.Options, ui.OptionModel{Value: string(kind), Label: string(kind)})
	}
	teams := ui.FieldModel{ID: "audit-tenant", Name: "tenant", Kind: ui.SelectField, Label: say.S("start.team"),
		Value: k.get("tenant"), Test: "filter-tenant", Options: []ui.OptionModel{{Value: "", Label: say.S("start.any")}}}
	for _, t := range w.Site().Directory.Tenants {
		teams.Options = append(teams.Options, ui.OptionModel{Value: t.Name, Label: t.Display()})
	}
	person := ui.FieldModel{ID: "audit-person", Name: "person", Label: say.S("audit.filter_person"),
		Value: k.get("person"), Short: true, Autocomplete: "off", Test: "filter-person"}
	text := ui.FieldModel{ID: "audit-text", Name: "text", Kind: ui.SearchField, Label: say.S("audit.filter_text"),
		Value: k.get("text"), Placeholder: say.S("audit.filter_text"), MaxLength: 100, Autocomplete: "off",
		Test: "filter-text"}
	day := func(name, label string) ui.FieldModel {
		return ui.FieldModel{ID: "audit-" + name, Name: name, Kind: ui.DateField, Label: say.S(label), Value: k.get(name),
			Test: "filter-" + name}
	}
	m := ui.FilterBarModel{Action: "/audit", Label: say.S("audit.filter"), Search: &text,
		Fields: []ui.FieldModel{kinds, teams, person, day("from", "audit.filter_from"), day("until", "audit.filter_until")}}
	for _, name := range []string{"workload", "request"} {
		if k.get(name) != "" {
			m.Hidden = append(m.Hidden, ui.HiddenModel{Name: name, Value: k.get(name)})
		}
	}
	for _, name := range auditKeys {
		if k.get(name) != "" {
			m.ClearURL = "/audit"
		}
	}
	return m
}

func auditRow(say words, e audit.Event) auditview.RowModel {
	row := auditview.RowModel{Row: ui.RowModel{ID: "event-" + strconv.FormatInt(e.Seq, 10), Test: "event"},
		Seq: strconv.FormatInt(e.Seq, 10), Time: say.at(e.At), Who: ui.StackModel{Title: whoDid(say, e), Detail: e.Address},
		What: say.S("audit." + string(e.Kind)), Detail: say.say(e.Detail), Team: e.Tenant, Rule: e.Rule}
	link := func(label, href string) {
		row.Links = append(row.Links, auditview.LinkModel{Label: label, Href: href})
	}
	if e.Workload != "" {
		link(e.Workload, workloadPath(workload.ID(e.Workload)))
	}
	if e.Request != "" {
		link(e.Request, requestPath(request.ID(e.Request)))
	}
	row.Facts = auditFacts(say, e)
	for _, c := range e.Changes {
		row.Changes = append(row.Changes, auditview.ChangeModel(c))
	}
	return row
}

// whoDid is the actor of an event, with the one on whose behalf it was done.
func whoDid(say words, e audit.Event) string {
	if e.BehalfName == "" {
		return e.Name
	}
	return say.S("audit.who_for", "Name", e.Name, "For", e.BehalfName)
}

// auditFacts are from where and in whose place something was done; what an event does not say is not shown.
func auditFacts(say words, e audit.Event) []ui.DefModel {
	var facts []ui.DefModel
	via := ""
	if e.Via != "" {
		via = say.S("audit.via." + string(e.Via))
	}
	for _, f := range []struct{ label, value, test string }{
		{"audit.behalf", e.BehalfName, "event-behalf"}, {"audit.address", e.Address, "event-address"},
		{"audit.via", via, "event-via"},
		{"audit.credential", e.CredentialOf(), "event-credential"}, {"audit.rule", e.Rule, "event-rule"},
		{"audit.volume", e.Volume, "event-volume"}, {"audit.person", string(e.Actor), "event-person"},
	} {
		if f.value != "" {
			facts = append(facts, ui.DefModel{Term: say.S(f.label), Value: f.value, Test: f.test})
		}
	}
	return facts
}

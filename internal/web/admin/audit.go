package admin

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
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	auditview "github.com/gpu-portal/gpu-portal/views/audit"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// audit answers: who did what. For those who may not read it the page does not exist.
func (w *Pages) audit(k page.Call) (page.View, error) {
	if !identity.Can(k.Actor, identity.ReadAudit, identity.Resource{}) {
		return page.View{}, fault.New(fault.NotFound, i18n.T("web.no_page"))
	}
	f := auditChoice(k)
	f.Cursor, f.Limit = k.Get("cursor"), 100
	events, next, err := w.Events.Events(k.Ctx, f)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	m := auditview.PageModel{Header: ui.HeaderModel{Title: say.S("audit.title"), Lead: say.S("audit.lead"),
		Actions: auditExports(k)}, Filter: w.auditFilter(k),
		More: ui.PaginationModel{Label: say.S("audit.pages"), NextURL: page.NextURL("/audit", k.Query, next)}}
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
	return page.View{Title: m.Header.Title, Nav: "/audit", Wide: true, Body: auditview.Page(m)}, nil
}

// auditChoice is what the address of the page narrows the record to.
func auditChoice(k page.Call) audit.Filter {
	f := audit.Filter{Tenant: k.Get("tenant"), Person: strings.TrimSpace(k.Get("person")), Workload: k.Get("workload"),
		Request: k.Get("request"), Text: strings.TrimSpace(k.Get("text")),
		From: dayOf(k.Get("from")), Until: dayOf(k.Get("until"))}
	if !f.Until.IsZero() {
		f.Until = f.Until.AddDate(0, 0, 1) // the day that was named counts
	}
	if kind := audit.Kind(k.Get("kind")); slices.Contains(audit.Kinds(), kind) {
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
func auditExports(k page.Call) []ui.ActionModel {
	table := url.Values{"format": {"csv"}}
	for _, name := range auditKeys {
		if k.Get(name) != "" {
			table.Set(name, k.Get(name))
		}
	}
	link := func(label, query, test string) ui.ActionModel {
		return ui.ActionModel{Link: &ui.LinkButtonModel{Label: k.Words.S(label), Href: "/audit/export?" + query,
			Icon: "download", Test: test}}
	}
	return []ui.ActionModel{link("audit.export_csv", table.Encode(), "export-csv"),
		link("audit.export_record", "format=record", "export-record")}
}

// auditExport sends the record as a file. A fault on the way cuts the answer off, so that half a file is never taken
// for a whole one.
func (w *Pages) auditExport(c echo.Context) error {
	k := w.CallOf(c)
	if !identity.Can(k.Actor, identity.ReadAudit, identity.Resource{}) {
		return fault.New(fault.NotFound, i18n.T("web.no_page"))
	}
	name, kind := "audit-"+w.Now().UTC().Format("2006-01-02"), "text/csv; charset=utf-8"
	whole := k.Get("format") == "record"
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
		if _, err = audit.ExportRecords(k.Ctx, w.Events, c.Response()); errors.As(err, &broken) {
			err = nil // the file shows it to whoever verifies it
		}
	} else {
		err = audit.ExportCSV(k.Ctx, w.Events, auditChoice(k), k.Words.Text, c.Response())
	}
	if err != nil && c.Response().Committed {
		panic(http.ErrAbortHandler)
	}
	return err
}

func (w *Pages) auditFilter(k page.Call) ui.FilterBarModel {
	say := k.Words
	kinds := ui.FieldModel{ID: "audit-kind", Name: "kind", Kind: ui.SelectField, Label: say.S("audit.filter_kind"),
		Value: k.Get("kind"), Test: "filter-kind", Options: []ui.OptionModel{{Value: "", Label: say.S("start.any")}}}
	for _, kind := range audit.Kinds() {
		kinds.Options = append(kinds.Options, ui.OptionModel{Value: string(kind), Label: string(kind)})
	}
	teams := ui.FieldModel{ID: "audit-tenant", Name: "tenant", Kind: ui.SelectField, Label: say.S("start.team"),
		Value: k.Get("tenant"), Test: "filter-tenant", Options: []ui.OptionModel{{Value: "", Label: say.S("start.any")}}}
	for _, t := range w.Site().Directory.Tenants {
		teams.Options = append(teams.Options, ui.OptionModel{Value: t.Name, Label: t.Display()})
	}
	person := ui.FieldModel{ID: "audit-person", Name: "person", Label: say.S("audit.filter_person"),
		Value: k.Get("person"), Short: true, Autocomplete: "off", Test: "filter-person"}
	text := ui.FieldModel{ID: "audit-text", Name: "text", Kind: ui.SearchField, Label: say.S("audit.filter_text"),
		Value: k.Get("text"), Placeholder: say.S("audit.filter_text"), MaxLength: 100, Autocomplete: "off",
		Test: "filter-text"}
	day := func(name, label string) ui.FieldModel {
		return ui.FieldModel{ID: "audit-" + name, Name: name, Kind: ui.DateField, Label: say.S(label), Value: k.Get(name),
			Test: "filter-" + name}
	}
	m := ui.FilterBarModel{Action: "/audit", Label: say.S("audit.filter"), Search: &text,
		Fields: []ui.FieldModel{kinds, teams, person, day("from", "audit.filter_from"), day("until", "audit.filter_until")}}
	for _, name := range []string{"workload", "request"} {
		if k.Get(name) != "" {
			m.Hidden = append(m.Hidden, ui.HiddenModel{Name: name, Value: k.Get(name)})
		}
	}
	for _, name := range auditKeys {
		if k.Get(name) != "" {
			m.ClearURL = "/audit"
		}
	}
	return m
}

func auditRow(say page.Words, e audit.Event) auditview.RowModel {
	row := auditview.RowModel{Row: ui.RowModel{ID: "event-" + strconv.FormatInt(e.Seq, 10), Test: "event"},
		Seq: strconv.FormatInt(e.Seq, 10), Time: say.At(e.At), Who: ui.StackModel{Title: blocks.WhoDid(say, e),
			Detail: e.Address},
		What: say.S("audit." + string(e.Kind)), Detail: say.Text(e.Detail), Team: e.Tenant, Rule: e.Rule}
	link := func(label, href string) {
		row.Links = append(row.Links, auditview.LinkModel{Label: label, Href: href})
	}
	if e.Workload != "" {
		link(e.Workload, page.WorkloadPath(workload.ID(e.Workload)))
	}
	if e.Request != "" {
		link(e.Request, page.RequestPath(request.ID(e.Request)))
	}
	row.Facts = auditFacts(say, e)
	for _, c := range e.Changes {
		row.Changes = append(row.Changes, auditview.ChangeModel(c))
	}
	return row
}

// auditFacts are from where and in whose place something was done; what an event does not say is not shown.
func auditFacts(say page.Words, e audit.Event) []ui.DefModel {
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

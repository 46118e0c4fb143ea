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
	f.Cursor, f.Limit = k.Get("cursor"), page.RowsPerPage
	events, next, err := w.Events.Events(k.Ctx, f)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	m := auditview.PageModel{Header: ui.HeaderModel{Title: say.S("audit.title"), Lead: say.S("audit.lead")},
		CSV: auditTable(k), Record: "/audit/export?format=record", Filter: w.auditFilter(k),
		Partial: f.Text != "" && next != "", NextURL: page.NextURL("/audit", k.Query, next)}
	for _, e := range events {
		m.Rows = append(m.Rows, auditRow(say, e))
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

// auditTable is the address of what is shown as a file.
func auditTable(k page.Call) string {
	table := url.Values{"format": {"csv"}}
	for _, name := range auditKeys {
		if k.Get(name) != "" {
			table.Set(name, k.Get(name))
		}
	}
	return "/audit/export?" + table.Encode()
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

func (w *Pages) auditFilter(k page.Call) auditview.FilterModel {
	m := auditview.FilterModel{Kind: k.Get("kind"), Team: k.Get("tenant"), Person: k.Get("person"), Text: k.Get("text"),
		From: k.Get("from"), Until: k.Get("until")}
	for _, kind := range audit.Kinds() {
		m.Kinds = append(m.Kinds, string(kind))
	}
	for _, t := range w.Site().Directory.Tenants {
		m.Teams = append(m.Teams, ui.OptionModel{Value: t.Name, Label: t.Display()})
	}
	for _, name := range []string{"workload", "request"} {
		if k.Get(name) != "" {
			m.Hidden = append(m.Hidden, ui.HiddenModel{Name: name, Value: k.Get(name)})
		}
	}
	m.Narrows = slices.ContainsFunc(auditKeys, func(name string) bool { return k.Get(name) != "" })
	return m
}

func auditRow(say page.Words, e audit.Event) auditview.RowModel {
	row := auditview.RowModel{Seq: strconv.FormatInt(e.Seq, 10), Time: say.At(e.At), Who: blocks.WhoDid(say, e),
		Address: e.Address,
		What:    say.S("audit." + string(e.Kind)), Detail: say.Text(e.Detail), Team: e.Tenant, Rule: e.Rule}
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
func auditFacts(say page.Words, e audit.Event) []auditview.FactModel {
	var facts []auditview.FactModel
	via := ""
	if e.Via != "" {
		via = say.S("audit.via." + string(e.Via))
	}
	for _, f := range []auditview.FactModel{{ID: "behalf", Value: e.BehalfName}, {ID: "address", Value: e.Address},
		{ID: "via", Value: via}, {ID: "credential", Value: e.CredentialOf()}, {ID: "rule", Value: e.Rule},
		{ID: "volume", Value: e.Volume}, {ID: "person", Value: string(e.Actor)}} {
		if f.Value != "" {
			facts = append(facts, f)
		}
	}
	return facts
}

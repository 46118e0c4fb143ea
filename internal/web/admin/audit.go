package admin

import (
	"cmp"
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
		Partial: f.Text != "" && next != "" && len(events) < f.Limit, NextURL: page.NextURL("/audit", k.Query, next)}
	titles := map[string]string{} // a team is looked for among all of them
	for len(events) > 0 {
		e := events[0]
		if _, known := titles[e.Tenant]; !known {
			titles[e.Tenant] = w.TeamTitle(e.Tenant)
		}
		if n := actOf(events); n > 0 {
			m.Rows, events = append(m.Rows, actRow(say, events[:n], titles[e.Tenant])), events[n:]
			continue
		}
		m.Rows, events = append(m.Rows, auditRow(say, e, titles[e.Tenant])), events[1:]
	}
	for i := range m.Rows {
		m.Rows[i].SameDay = i > 0 && m.Rows[i].Day.Words == m.Rows[i-1].Day.Words
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
	} else {
		f.Kinds = audit.Category(k.Get("category")).Kinds()
	}
	if auditQuiet(k) {
		f.Without = []audit.Kind{audit.WorkloadObserved}
	}
	return f
}

// auditQuiet reports whether what clusters said of workloads is left out: that is most of the record, and nobody did
// it. Who looks at one workload, or asks for that kind, sees it.
func auditQuiet(k page.Call) bool {
	return k.Get("status") == "" && k.Get("kind") == "" && k.Get("workload") == "" && k.Get("request") == ""
}

// dayOf reads a day in UTC; what is none is no limit.
func dayOf(text string) time.Time {
	day, _ := time.Parse(time.DateOnly, text)
	return day
}

// auditKeys are what the address of the page narrows the record by.
var auditKeys = []string{"category", "kind", "tenant", "person", "text", "from", "until", "workload", "request",
	"status"}

// auditURL is the page with other values; "" takes one out.
func auditURL(k page.Call, values map[string]string) string {
	q := url.Values{}
	for _, name := range auditKeys {
		value, other := values[name]
		if !other {
			value = k.Get(name)
		}
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return "/audit"
	}
	return "/audit?" + q.Encode()
}

// auditTable is the address of what is shown as a file.
func auditTable(k page.Call) string {
	_, query, _ := strings.Cut(auditURL(k, nil), "?")
	return strings.TrimSuffix("/audit/export?format=csv&"+query, "&")
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
	m := auditview.FilterModel{Kind: k.Get("kind"), Categories: auditCategories(k), Chips: auditChips(k, w.TeamTitle),
		Team: k.Get("tenant"), Person: k.Get("person"), Text: k.Get("text"),
		From: k.Get("from"), Until: k.Get("until")}
	kinds := audit.Category(k.Get("category")).Kinds()
	if len(kinds) == 0 || m.Kind != "" && !slices.Contains(kinds, audit.Kind(m.Kind)) {
		kinds = audit.Kinds()
	}
	for _, kind := range kinds {
		m.Kinds = append(m.Kinds, string(kind))
	}
	if auditQuiet(k) {
		m.ShowStatus = auditURL(k, map[string]string{"status": "shown"})
	}
	for _, t := range w.Site().Directory.Tenants {
		m.Teams = append(m.Teams, ui.OptionModel{Value: t.Name, Label: t.Display()})
	}
	for _, name := range []string{"category", "workload", "request", "status"} {
		if k.Get(name) != "" {
			m.Hidden = append(m.Hidden, ui.HiddenModel{Name: name, Value: k.Get(name)})
		}
	}
	m.Narrows = slices.ContainsFunc(auditKeys, func(name string) bool { return k.Get(name) != "" && name != "status" })
	return m
}

// auditCategories are what the record can be narrowed to with one click.
func auditCategories(k page.Call) ui.TabsModel {
	m := ui.TabsModel{Label: k.Words.S("audit.categories")}
	for _, c := range append([]audit.Category{""}, audit.Categories()...) {
		id := cmp.Or(string(c), "all")
		m.Items = append(m.Items, ui.TabModel{Label: k.Words.S("audit.category." + id), Test: "category-" + id,
			Href: auditURL(k, map[string]string{"category": string(c), "kind": ""}), Current: k.Get("category") == string(c)})
	}
	return m
}

// auditChips say what the record is narrowed by, each with the page without it.
func auditChips(k page.Call, teamName func(string) string) []ui.ChipModel {
	say := k.Words
	words := map[string]func(string) string{"tenant": teamName,
		"kind":   func(kind string) string { return say.S("audit." + kind) },
		"status": func(string) string { return say.S("audit.status_shown") }}
	var chips []ui.ChipModel
	for _, c := range []struct{ name, label string }{{"kind", "audit.filter_kind"}, {"tenant", "start.team"},
		{"person", "audit.filter_person"}, {"text", "audit.filter_words"}, {"from", "audit.filter_from"},
		{"until", "audit.filter_until"}, {"workload", "audit.filter_workload"}, {"request", "audit.filter_request"},
		{"status", "audit.filter_status"}} {
		value := k.Get(c.name)
		if value == "" || c.name == "kind" && !slices.Contains(audit.Kinds(), audit.Kind(value)) {
			continue
		}
		if in := words[c.name]; in != nil {
			value = in(value)
		}
		chips = append(chips, ui.ChipModel{Label: say.S(c.label), Value: value, Test: "chip-" + c.name,
			RemoveURL: auditURL(k, map[string]string{c.name: ""})})
	}
	return chips
}

func auditRow(say page.Words, e audit.Event, team string) auditview.RowModel {
	day, at := say.At(e.At), ui.Precise(say.Localizer, e.At, time.UTC)
	day.Words, day.Mode = say.Text(i18n.Date(e.At.UTC())), ui.TimeDay
	at.Words, at.Mode = ui.Clock(e.At, time.UTC), ui.TimeOfDay
	row := auditview.RowModel{Seq: strconv.FormatInt(e.Seq, 10), Day: day, Time: at,
		Who: blocks.WhoDid(say, e), Address: e.Address, What: say.S("audit." + string(e.Kind)),
		Detail: say.Text(e.Detail), Team: team, Rule: e.Rule, Outcome: outcomeState(say, e.Kind.Outcome())}
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

// actOf counts the events, the latest first, that one click of a person wrote: a request, a rule that approved it at
// once, and the workload made of it. 0 where they are no such act, or the decision is not among them.
func actOf(events []audit.Event) int {
	kinds := []audit.Kind{audit.WorkloadCreated, audit.RequestAutoApproved, audit.RequestSubmitted}
	if len(events) < len(kinds) {
		return 0
	}
	last := events[0]
	for i, kind := range kinds {
		e := events[i]
		if e.Kind != kind || e.Request != last.Request || e.Workload != last.Workload && e.Workload != "" ||
			last.At.Sub(e.At) >= time.Second {
			return 0
		}
	}
	return len(kinds)
}

// actRow makes one row of an act: who asked, and what came of it. What it opens names every entry.
func actRow(say page.Words, act []audit.Event, team string) auditview.RowModel {
	created, asked := act[0], act[len(act)-1]
	row, first := auditRow(say, created, team), auditRow(say, asked, team)
	row.What, row.Who, row.Address = say.S("audit.requested_and_created"), first.Who, first.Address
	row.Facts, row.Numbers = first.Facts, first.Seq+"–"+row.Seq
	if created.Rule != "" && asked.Rule == "" {
		row.Facts = append(row.Facts, auditview.FactModel{ID: "rule", Value: created.Rule})
	}
	entries := make([]string, len(act))
	for i, e := range act {
		entries[len(act)-1-i] = strconv.FormatInt(e.Seq, 10)
	}
	row.Facts = append(row.Facts, auditview.FactModel{ID: "entries", Value: strings.Join(entries, ", ")})
	row.Changes = append(first.Changes, row.Changes...)
	return row
}

var auditOutcomes = map[audit.Outcome]ui.Kind{audit.Done: ui.OK, audit.Refused: ui.Warning, audit.Failed: ui.Danger}

func outcomeState(say page.Words, o audit.Outcome) ui.StateModel {
	return ui.StateModel{Kind: auditOutcomes[o], Word: say.S("audit.outcome." + string(o)), Test: "outcome"}
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

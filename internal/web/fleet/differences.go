package fleet

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	differencesview "github.com/gpu-portal/gpu-portal/views/differences"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// goOn is the decision to let work go on; it is none about a difference.
const goOn drift.Decision = "resume"

// allOfThem stands in the path where an id does.
const allOfThem = "all"

// differences answers: what does the database not know of the clusters, or know otherwise.
func (w *Pages) differences(k page.Call) (page.View, error) {
	r, err := w.Drift.Report(k.Ctx, k.Actor)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	m := differencesview.PageModel{
		Header: ui.HeaderModel{Title: say.S("differences.title"), Lead: say.S("differences.lead")},
	}
	decides := identity.Can(k.Actor, identity.DecideDifferences, identity.Resource{})
	for _, name := range clustersOf(r) {
		m.Clusters = append(m.Clusters, w.differencesOf(say, r, name, decides))
	}
	for _, d := range drift.Decisions() {
		m.How = append(m.How, string(d))
	}
	return page.View{Title: m.Header.Title, Nav: page.DifferencesPath, Wide: true, Body: differencesview.Page(m),
			Parts: []page.Part{{ID: "differences", Draw: func(page.Words) templ.Component { return differencesview.List(m) }}}},
		nil
}

// clustersOf are those that are held, or differ, by name.
func clustersOf(r drift.Report) []string {
	var names []string
	for _, h := range r.Holds {
		names = append(names, h.Cluster)
	}
	for _, d := range r.Differences {
		names = append(names, d.Cluster)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (w *Pages) differencesOf(say page.Words, r drift.Report, cluster string,
	decides bool) differencesview.ClusterModel {
	list := r.Of(cluster)
	m := differencesview.ClusterModel{Title: say.S("differences.in", "Cluster", cluster), ID: "cluster-" +
		page.Slug(cluster)}
	for _, h := range r.Holds {
		if h.Cluster == cluster {
			m.Held = heldModel(say, h, list, decides)
		}
	}
	for _, d := range list {
		m.Rows = append(m.Rows, w.differenceRow(say, d, decides))
	}
	return m
}

func heldModel(say page.Words, h drift.Hold, list []drift.Difference, decides bool) *differencesview.HeldModel {
	m := &differencesview.HeldModel{Cause: say.Say(i18n.T("drift.cause."+string(h.Cause), "Cluster", h.Cluster)),
		Since: say.At(h.Since).Exact}
	for _, d := range list {
		if d.Open() {
			m.Open++
		}
	}
	if !decides {
		return m
	}
	values := url.Values{"cluster": {h.Cluster}}.Encode()
	for _, d := range append(drift.Decisions(), goOn) {
		if m.Open > 0 || d == goOn {
			m.Decide = append(m.Decide, differencesview.DecideModel{Decision: string(d),
				Href: page.DifferencesPath + "/" + allOfThem + "/" + string(d) + "?" + values})
		}
	}
	return m
}

func (w *Pages) differenceRow(say page.Words, d drift.Difference, decides bool) differencesview.RowModel {
	p := d.Owner()
	m := differencesview.RowModel{Name: ui.StackModel{Title: p.Name,
		Detail: say.S("differences.resource."+string(d.ResourceKind), "Namespace", p.Namespace)}, Side: sideModel(say, d),
		Holds: holdsOf(say, d), Owner: p.OwnerName}
	if d.Row != nil && d.ResourceKind == drift.Workload {
		m.Name.Href = "/workloads/" + d.Key
	}
	if m.Owner == "" {
		m.Owner = say.S("differences.nobody")
	}
	if p.Tenant != "" {
		m.Owner += " · " + w.TeamTitle(p.Tenant)
	}
	for _, f := range d.Fields {
		m.Fields = append(
			m.Fields,
			say.S("differences.field."+f.Name, "Database", value(say, f.Name, f.Database), "Cluster",
				value(say, f.Name, f.Cluster)),
		)
	}
	if d.Row != nil {
		m.Since = say.At(d.Row.Since)
	}
	if d.Live != nil {
		m.Since = say.At(d.Live.Since)
	}
	if !d.Open() {
		m.Decided = say.S("differences.decided."+string(d.Decision), "Name", d.ByName, "Time", say.At(d.DecidedAt).Exact)
	}
	if !decides || !d.Open() && d.Decision != drift.Release {
		return m
	}
	for _, decision := range drift.Decisions() {
		if d.Can(decision) && d.Decision != decision {
			m.Decide = append(m.Decide, differencesview.DecideModel{Decision: string(decision),
				Href: page.DifferencesPath + "/" + d.ID + "/" + string(decision)})
		}
	}
	return m
}

func sideModel(say page.Words, d drift.Difference) ui.StateModel {
	kind := ui.Warning
	if !d.Open() {
		kind = ui.Off
	}
	return ui.StateModel{Kind: kind, Word: say.S("drift.kind." + string(d.Kind))}
}

// value is one side of a field in words, where there are any.
func value(say page.Words, name, v string) string {
	switch name {
	case "desired":
		return say.S("differences.desired." + v)
	case "lease":
		if length, err := time.ParseDuration(v); err == nil {
			return say.Duration(length)
		}
	}
	return v
}

// holdsOf is what the cluster gives it now; a row without objects holds nothing.
func holdsOf(say page.Words, d drift.Difference) string {
	if d.Live == nil {
		return say.S("differences.holds_nothing")
	}
	var parts []string
	if d.ResourceKind == drift.Storage && d.Live.GiB > 0 {
		parts = append(parts, say.GiB(float64(d.Live.GiB)))
	}
	for _, a := range d.Live.Holds {
		if d.Live.Running {
			parts = append(parts, say.Number(float64(a.Count))+" × "+a.Resource)
		}
	}
	if len(parts) == 0 {
		return say.S("differences.holds_nothing")
	}
	if d.Live.Node != "" {
		parts = append(parts, d.Live.Node)
	}
	return strings.Join(parts, ", ")
}

// differenceAsk says what a decision does before it is taken.
func (w *Pages) differenceAsk(k page.Call) (page.View, error) {
	if !identity.Can(k.Actor, identity.DecideDifferences, identity.Resource{}) {
		return page.View{}, fault.New(fault.NotFound, i18n.T("web.no_page"))
	}
	r, err := w.Drift.Report(k.Ctx, k.Actor)
	if err != nil {
		return page.View{}, err
	}
	id, decision := k.Get("id"), drift.Decision(k.Get("decision"))
	if id == allOfThem {
		return allAsk(k.Words, r, k.Get("cluster"), decision)
	}
	i := slices.IndexFunc(r.Differences, func(d drift.Difference) bool { return d.ID == id })
	if i < 0 || !r.Differences[i].Can(decision) {
		return page.View{}, fault.New(fault.NotFound, i18n.T("drift.not_found"))
	}
	return w.differenceView(k.Words, r.Differences[i], decision), nil
}

func (w *Pages) differenceView(say page.Words, d drift.Difference, decision drift.Decision) page.View {
	row, does := w.differenceRow(say, d, false), string(decision)+"."+string(d.Kind)
	m := differencesview.AskModel{Title: say.S("differences.title_one."+string(decision), "Name", d.Owner().Name),
		Path: page.DifferencesPath, ID: d.ID, Decision: string(decision), Seen: d.Version}
	facts := append([]string{say.S("differences.is", "Side", row.Side.Word, "Holds", row.Holds, "Owner", row.Owner)},
		row.Fields...)
	m.Lead = say.S("differences.does."+does) + " " + say.S("differences.now", "Facts", strings.Join(facts, "; "))
	if decision == drift.Adopt {
		for _, what := range d.Unknown() {
			m.Loses = append(m.Loses, say.S("drift.unknown."+what))
		}
	}
	if decision == drift.Apply && d.Kind == drift.ClusterOnly {
		m.Loses = append(m.Loses, say.S("differences.deletes."+string(d.ResourceKind)))
	}
	return page.View{Title: m.Title, Nav: page.DifferencesPath, Body: differencesview.Ask(m)}
}

// mostDeleted bounds the names of what a decision about all deletes.
const mostDeleted = 10

// deletedBy names what the database does not know, and what of it would go.
func deletedBy(say page.Words, list []drift.Difference) []string {
	var names []string
	for _, d := range list {
		if !d.Open() || !d.Can(drift.Apply) || d.Kind != drift.ClusterOnly {
			continue
		}
		if len(names) == mostDeleted {
			return append(names, "…")
		}
		names = append(names, d.Owner().Name+": "+say.S("differences.deletes."+string(d.ResourceKind)))
	}
	return names
}

func allAsk(say page.Words, r drift.Report, cluster string, decision drift.Decision) (page.View, error) {
	known := decision == goOn || slices.Contains(drift.Decisions(), decision)
	if !known || !slices.Contains(clustersOf(r), cluster) {
		return page.View{}, fault.New(fault.NotFound, i18n.T("drift.not_found"))
	}
	list, open, can := r.Of(cluster), 0, 0
	for _, d := range list {
		if d.Open() {
			open++
			if d.Can(decision) {
				can++
			}
		}
	}
	m := differencesview.AskModel{Title: say.S("differences.title_all."+string(decision), "Cluster", cluster),
		Path: page.DifferencesPath, ID: allOfThem, Decision: string(decision), Seen: drift.Fingerprint(list),
		Cluster: cluster, Lead: say.S("differences.does_all."+string(decision), "Count", can, "Open", open)}
	if decision == drift.Apply {
		m.Loses = deletedBy(say, list)
	}
	return page.View{Title: m.Title, Nav: page.DifferencesPath, Body: differencesview.Ask(m)}, nil
}

// differenceDecide takes a decision that was confirmed.
func (w *Pages) differenceDecide(c echo.Context) error {
	k := w.CallOf(c)
	id, decision, seen := c.Param("id"), drift.Decision(c.Param("decision")), c.FormValue("seen")
	var err error
	switch {
	case id != allOfThem:
		_, err = w.Drift.Decide(k.Ctx, k.Actor, id, decision, seen)
	case decision == goOn:
		err = w.Drift.Resume(k.Ctx, k.Actor, c.FormValue("cluster"), seen)
	default:
		_, err = w.Drift.DecideAll(k.Ctx, k.Actor, c.FormValue("cluster"), decision, seen)
	}
	if err != nil {
		return err
	}
	return w.Done(c, "difference-decided", page.DifferencesPath)
}

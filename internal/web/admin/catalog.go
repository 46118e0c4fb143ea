package admin

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/capacity"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/sizes"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// versionsShown is how many versions the page lists before it asks for older ones.
const versionsShown = 20

// sizesAdmin answers: what is on offer, what do the nodes say to it, who changed it.
func (w *Pages) sizesAdmin(k page.Call) (page.View, error) { return w.catalogView(k, offer.Sizes, nil) }

func (w *Pages) imagesAdmin(k page.Call) (page.View, error) {
	return w.catalogView(k, offer.Images, nil)
}

func catalogPath(list offer.List) string { return "/admin/" + string(list) }

// catalogView draws the page; problem is what came of a change that could not be made.
func (w *Pages) catalogView(k page.Call, list offer.List, problem error) (page.View, error) {
	o, err := w.Catalog.Overview(k.Ctx, k.Actor)
	if err != nil {
		return page.View{}, err
	}
	say, may := k.Words, identity.Can(k.Actor, identity.ChangeOffer, identity.Resource{})
	m := sizes.PageModel{Header: ui.HeaderModel{Title: say.S("sizes.title_" + string(list)), Lead: say.S("sizes.lead")},
		Problem: catalogProblem(say, o, problem), Licenses: blocks.MismatchNotice(say, w.Catalog.Mismatches())}
	if may {
		m.Header.Actions = []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: say.S("sizes.edit"), Href: "/admin/sizes/edit",
			Kind: ui.Secondary, Icon: "edit", Test: "edit"}}}
	}
	for _, l := range offer.Lists() {
		m.Tabs.Items = append(m.Tabs.Items, ui.TabModel{Label: say.S("sizes.title_" + string(l)), Href: catalogPath(l),
			Current: l == list, Test: "tab-" + string(l)})
	}
	m.Tabs.Label = say.S("sizes.tabs")
	m.Table = sizes.TableModel{Images: list == offer.Images, Title: m.Header.Title,
		Filter: ui.FilterBarModel{Action: catalogPath(list), Label: say.S("sizes.filter"), Client: "entries",
			Search: &ui.FieldModel{ID: "entries-filter", Name: "q", Kind: ui.SearchField, Label: say.S("sizes.filter"),
				Placeholder: say.S("sizes.filter")}}}
	if list == offer.Sizes {
		m.Findings, m.Table.Rows = findings(say, o, may), w.sizeRows(say, o, may)
	} else {
		m.Table.Rows = imageRows(say, o, may)
	}
	if m.History, err = w.history(k, o, list); err != nil {
		return page.View{}, err
	}
	v := page.View{Title: m.Header.Title, Nav: catalogPath(list), Wide: true, Body: sizes.Page(m), Parts: []page.Part{
		{ID: "offer-findings", Draw: func(page.Words) templ.Component { return sizes.Findings(m.Findings) }},
		{ID: "offer-entries", Draw: func(page.Words) templ.Component { return sizes.Table(m.Table) }},
		{ID: "offer-history", Draw: func(page.Words) templ.Component { return sizes.History(m.History) }}}}
	return v, nil
}

// catalogProblem says what could not be done, else that the newest version cannot be used, else what is gone and
// still held.
func catalogProblem(say page.Words, o offer.Overview, problem error) *ui.NoticeModel {
	switch {
	case problem != nil:
		f := fault.As(problem)
		n := &ui.NoticeModel{Kind: ui.Danger, Title: say.Text(f.Sentence), Alert: true, Test: "problem"}
		for _, field := range f.Fields {
			n.Items = append(n.Items, say.Text(field.Reason))
		}
		return n
	case len(o.Problems) > 0:
		n := &ui.NoticeModel{Kind: ui.Warning, Title: say.S("sizes.unreadable", "Newest", o.Newest.Version, "Running",
			o.Active.Version), Test: "unreadable"}
		for _, p := range o.Problems[:min(len(o.Problems), 10)] {
			n.Items = append(n.Items, p.Error())
		}
		return n
	case len(o.Gone) > 0:
		n := &ui.NoticeModel{Kind: ui.Info, Title: say.S("sizes.gone"), Test: "gone"}
		for _, r := range o.Gone {
			n.Items = append(n.Items, say.S("sizes.gone_held", "Name", cmp.Or(r.Title, r.Name), "Count", r.Count))
		}
		return n
	}
	return nil
}

// findings are what the nodes have and nobody is offered, and what is offered and no node has.
func findings(say page.Words, o offer.Overview, may bool) sizes.FindingsModel {
	var m sizes.FindingsModel
	for _, f := range o.Findings {
		hidden := []ui.HiddenModel{{Name: "finding", Value: f.Key}, {Name: "base", Value: version(o.Newest)}}
		accept := func(label, icon, test string) ui.ActionModel {
			return ui.ActionModel{Post: &ui.PostButtonModel{Action: "/admin/sizes/accept", Hidden: hidden,
				Button: ui.ButtonModel{Label: label, Icon: icon, Small: true, Test: test}}}
		}
		item := sizes.FindingModel{Notice: ui.NoticeModel{Kind: ui.Info, Body: say.Text(f.Reason), Test: "finding-" +
			string(f.Kind)}}
		switch {
		case f.Kind == capacity.NeverRuns:
			item.Notice.Kind, item.Notice.Title = ui.Warning, say.S("sizes.never", "Size", sizeTitle(o.Catalog, f.Size))
			item.Notice.Actions = []ui.ActionModel{accept(say.S("sizes.hide_it"), "eye", "hide-it")}
		default:
			item.Notice.Title = say.S("sizes.unoffered", "Count", f.Count, "Model", strings.TrimSpace(f.Model+" "+f.Resource),
				"Cluster", f.Cluster)
			if f.Proposal != nil {
				item.Notice.Body = "" // the title says it
				item.Proposal = ui.CodeModel{ID: "proposal-" + f.Key, Title: say.S("sizes.proposal", "Title", f.Proposal.Title,
					"Price", say.MoneyPerHour(f.Proposal.PricePerHour)), Language: "YAML", Text: f.Written(), Folded: true}
				item.Notice.Actions = []ui.ActionModel{accept(say.S("sizes.offer_it"), "plus", "offer-it"),
					{Link: &ui.LinkButtonModel{Label: say.S("sizes.edit_first"), Href: "/admin/sizes/edit?finding=" + f.Key,
						Kind: ui.LinkLike, Small: true, Test: "edit-first"}}}
			}
		}
		if !may {
			item.Notice.Actions = nil
		}
		m.Items = append(m.Items, item)
	}
	return m
}

func sizeTitle(c catalog.Catalog, name string) string {
	if s, ok := c.Size(name); ok {
		return s.Title
	}
	return name
}

func version(r offer.Revision) string { return strconv.FormatInt(r.Version, 10) }

// entryState is on offer, hidden, or deprecated with its successor.
func entryState(say page.Words, hidden bool, d *catalog.Deprecation) ui.StateModel {
	switch {
	case hidden:
		return ui.StateModel{Kind: ui.Off, Word: say.S("sizes.hidden"), Test: "state"}
	case d != nil && d.Successor != "":
		return ui.StateModel{Kind: ui.Warning, Word: say.S("sizes.deprecated"), Detail: say.S("sizes.successor", "Name",
			d.Successor), Test: "state"}
	case d != nil:
		return ui.StateModel{Kind: ui.Warning, Word: say.S("sizes.deprecated"), Test: "state"}
	}
	return ui.StateModel{Kind: ui.OK, Word: say.S("sizes.on_offer"), Test: "state"}
}

func (w *Pages) sizeRows(say page.Words, o offer.Overview, may bool) []sizes.RowModel {
	var rows []sizes.RowModel
	for i, s := range o.Sizes {
		free := say.S("web.unknown")
		if s.Fit.Known {
			free = say.S("start.free_of", "Free", s.Fit.Free, "Total", s.Fit.Total)
		}
		row := sizes.RowModel{Row: ui.RowModel{ID: "size-" + page.Slug(s.Size.Name), Test: "entry",
			Attrs: templ.Attributes{"data-name": s.Size.Name}}, Name: ui.StackModel{
			Title: say.SizeTitle(s.Size), Detail: s.Size.Name},
			State: entryState(say, s.Size.Hidden, s.Size.Deprecated),
			What: ui.StackModel{Title: say.Say(o.Catalog.TechnologyWord(s.Size.Technology)),
				Detail: say.S("web.isolation_" + string(s.Size.Isolation))},
			Mono: s.Size.Accelerator.Resource, Price: say.MoneyPerHour(s.Size.PricePerHour), Who: offeredTo(say, s.Size.Tenants,
				s.Size.Clusters), NoTeam: w.noTeam(say, s.Size), Free: free, InUse: strconv.Itoa(s.InUse)}
		if may {
			row.Menu = entryMenu(say, o, offer.Sizes, s.Size.Name, say.SizeTitle(s.Size), s.Size.Hidden, s.Size.Deprecated, i,
				len(o.Sizes))
		}
		rows = append(rows, row)
	}
	return rows
}

// noTeam is said of a size that nobody could start: quotas are by size, and none names it.
func (w *Pages) noTeam(say page.Words, s catalog.Size) string {
	for _, t := range w.Site().Directory.Tenants {
		if t.QuotaOf(s.Name) > 0 {
			return ""
		}
	}
	return say.S("sizes.no_quota")
}

func offeredTo(say page.Words, tenants, clusters []string) ui.StackModel {
	m := ui.StackModel{Title: say.S("sizes.everyone"), Detail: say.S("sizes.everywhere")}
	if len(tenants) > 0 {
		m.Title = strings.Join(tenants, ", ")
	}
	if len(clusters) > 0 {
		m.Detail = strings.Join(clusters, ", ")
	}
	return m
}

func imageRows(say page.Words, o offer.Overview, may bool) []sizes.RowModel {
	var rows []sizes.RowModel
	for i, s := range o.Images {
		row := sizes.RowModel{Row: ui.RowModel{ID: "image-" + page.Slug(s.Image.Name), Test: "entry",
			Attrs: templ.Attributes{"data-name": s.Image.Name}}, Name: ui.StackModel{
			Title: say.ImageTitle(s.Image), Detail: s.Image.Name},
			State: entryState(say, s.Image.Hidden, s.Image.Deprecated),
			What:  ui.StackModel{Title: say.Say(i18n.T("kind." + string(s.Image.Kind)))}, Mono: s.Image.Reference,
			Who: ui.StackModel{Title: offeredTo(say, s.Image.Tenants, nil).Title}, InUse: strconv.Itoa(s.InUse)}
		if may {
			row.Menu = entryMenu(say, o, offer.Images, s.Image.Name, say.ImageTitle(s.Image), s.Image.Hidden,
				s.Image.Deprecated, i, len(o.Images))
		}
		rows = append(rows, row)
	}
	return rows
}

// entryMenu is the quick changes of one entry.
func entryMenu(say page.Words, o offer.Overview, list offer.List, name, title string, hidden bool,
	d *catalog.Deprecation,
	at, of int) *ui.MenuModel {
	m := &ui.MenuModel{Label: say.S("sizes.change", "Name", title), IconOnly: true, End: true}
	add := func(do offer.Action, icon string) {
		m.Items = append(m.Items, ui.MenuItemModel{Label: say.S("sizes.action_" + string(do)), Icon: icon,
			Action: "/admin/sizes/change", Test: "do-" + string(do), Hidden: []ui.HiddenModel{
				{Name: "action", Value: string(do)}, {Name: "list", Value: string(list)}, {Name: "name", Value: name},
				{Name: "base", Value: version(o.Newest)}}})
	}
	if hidden {
		add(offer.Show, "eye")
	} else {
		add(offer.Hide, "off")
	}
	if d != nil {
		add(offer.Undeprecate, "check")
	} else {
		m.Items = append(m.Items, ui.MenuItemModel{Label: say.S("sizes.action_deprecate"), Icon: "warning",
			Href: "/admin/sizes/deprecate?list=" + string(list) + "&name=" + name, Test: "do-deprecate"})
	}
	if at > 0 {
		add(offer.Up, "up")
	}
	if at < of-1 {
		add(offer.Down, "down")
	}
	return m
}

// history is the versions, newest first.
func (w *Pages) history(k page.Call, o offer.Overview, list offer.List) (sizes.HistoryModel, error) {
	before, _ := strconv.ParseInt(k.Get("before"), 10, 64)
	revisions, more, err := w.Catalog.Revisions(k.Ctx, k.Actor, before, versionsShown)
	if err != nil {
		return sizes.HistoryModel{}, err
	}
	var m sizes.HistoryModel
	for _, r := range revisions {
		row := sizes.VersionModel{Name: ui.StackModel{Title: versionName(k.Words, r), Href: versionPath(r.Version),
			Detail: versionNote(k.Words, r)}, Who: r.AuthorName, When: k.Words.Ago(r.At), Started: !r.At.IsZero()}
		if r.Version == o.Active.Version {
			row.State = &ui.StateModel{Kind: ui.OK, Word: k.Words.S("sizes.counts"), Test: "counts"}
		}
		m.Rows = append(m.Rows, row)
	}
	if more {
		m.Older = catalogPath(list) + "?before=" + version(revisions[len(revisions)-1])
	}
	return m, nil
}

func versionPath(n int64) string { return "/admin/sizes/versions/" + strconv.FormatInt(n, 10) }

func versionName(say page.Words, r offer.Revision) string {
	return say.S("sizes.version", "Version", r.Version)
}

func versionNote(say page.Words, r offer.Revision) string {
	if r.Version == 0 {
		return say.S("sizes.version_first")
	}
	return say.Text(r.Note)
}

// catalogChange makes one quick change.
func (w *Pages) catalogChange(c echo.Context) error {
	k := w.CallOf(c)
	change := offer.Change{Action: offer.Action(c.FormValue("action")), List: offer.List(c.FormValue("list")),
		Name: c.FormValue("name")}
	_, err := w.Catalog.Change(k.Ctx, k.Actor, change, base(c))
	return w.catalogDone(c, k, change.List, err)
}

// catalogAccept does what a finding proposes.
func (w *Pages) catalogAccept(c echo.Context) error {
	k := w.CallOf(c)
	_, err := w.Catalog.Accept(k.Ctx, k.Actor, c.FormValue("finding"), base(c))
	return w.catalogDone(c, k, offer.Sizes, err)
}

func base(c echo.Context) int64 {
	n, err := strconv.ParseInt(c.FormValue("base"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// catalogDone goes back to the list, or shows it with what is wrong.
func (w *Pages) catalogDone(c echo.Context, k page.Call, list offer.List, err error) error {
	p := w.sizesPage()
	if list == offer.Images {
		p = w.imagesPage()
	} else {
		list = offer.Sizes
	}
	if err == nil {
		return w.Done(c, "catalog-saved", catalogPath(list))
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	v, broken := w.catalogView(k, list, err)
	if broken != nil {
		return broken
	}
	return w.Reply(c, k, page.Page{Name: p.Name}, v, page.StatusOf(err))
}

// deprecateAsk asks why an entry goes and what to take instead.
func (w *Pages) deprecateAsk(k page.Call) (page.View, error) {
	return w.deprecateView(k, offer.Change{List: offer.List(k.Get("list")), Name: k.Get("name")}, nil)
}

func (w *Pages) deprecateView(k page.Call, c offer.Change, problem error) (page.View, error) {
	if err := w.Catalog.MayChange(k.Actor); err != nil {
		return page.View{}, err
	}
	s, err := w.Catalog.Status(k.Actor)
	if err != nil {
		return page.View{}, err
	}
	title, others := entriesOf(s.Catalog, c.List, c.Name)
	if title == "" {
		return page.View{}, fault.New(fault.NotFound, i18n.T("offer.no_entry"))
	}
	say, problems := k.Words, page.ProblemsOf(problem)
	wrong := func(name string) string {
		for _, p := range problems {
			if p.Name == name {
				return say.Text(p.Reason)
			}
		}
		return ""
	}
	successor := ui.FieldModel{Name: "successor", Kind: ui.SelectField, Label: say.S("sizes.successor_field"),
		Hint: say.S("sizes.successor_hint"), Value: c.Successor, Error: wrong("successor"), Test: "successor",
		Options: append([]ui.OptionModel{{Value: "", Label: say.S("sizes.no_successor")}}, others...)}
	m := workloadview.AskModel{
		Header: ui.HeaderModel{Title: say.S("sizes.deprecate_title", "Name", title),
			Crumbs: []ui.CrumbModel{{Label: say.S("sizes.title_" + string(c.List)), Href: catalogPath(c.List)},
				{Label: title}}},
		Lead: say.S("sizes.deprecate_lead"), Errors: page.FormErrors(say, problems),
		Form: ui.FormModel{ID: "ask-deprecate", Action: "/admin/sizes/deprecate", Test: "deprecate-form",
			Hidden: []ui.HiddenModel{
				{Name: "list", Value: string(c.List)}, {Name: "name", Value: c.Name}, {Name: "base", Value: version(s.Newest)}}},
		Fields: []ui.FieldModel{{Name: "message", Kind: ui.TextareaField, Rows: 2, Label: say.S("sizes.message"),
			Hint: say.S("sizes.message_hint"), Value: c.Message, Error: wrong("message"), MaxLength: 300, Test: "message"},
			successor},
		Button: ui.ButtonModel{Label: say.S("sizes.action_deprecate"), Kind: ui.Primary, Icon: "warning",
			Test: "deprecate-confirm"},
		Cancel: ui.LinkButtonModel{Label: say.S("web.back"), Href: catalogPath(c.List), Kind: ui.LinkLike},
	}
	v := blocks.AskView(m)
	v.Nav = catalogPath(c.List)
	return v, nil
}

// entriesOf gives the title of one entry of a list, "" for none, and the others to choose from.
func entriesOf(c catalog.Catalog, list offer.List, name string) (title string, others []ui.OptionModel) {
	each := func(n, t string, hidden bool) {
		switch {
		case n == name:
			title = cmp.Or(t, n)
		case !hidden:
			others = append(others, ui.OptionModel{Value: n, Label: t + " (" + n + ")"})
		}
	}
	switch list {
	case offer.Sizes:
		for _, s := range c.Sizes {
			each(s.Name, s.Title, s.Hidden)
		}
	case offer.Images:
		for _, i := range c.Images {
			each(i.Name, i.Title, i.Hidden)
		}
	}
	return title, others
}

func (w *Pages) deprecate(c echo.Context) error {
	k := w.CallOf(c)
	change := offer.Change{Action: offer.Deprecate, List: offer.List(c.FormValue("list")), Name: c.FormValue("name"),
		Message: c.FormValue("message"), Successor: c.FormValue("successor")}
	_, err := w.Catalog.Change(k.Ctx, k.Actor, change, base(c))
	if err == nil {
		return w.Done(c, "catalog-saved", catalogPath(change.List))
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	v, broken := w.deprecateView(k, change, err)
	if broken != nil {
		return err
	}
	return w.Reply(c, k, page.Page{Name: w.deprecatePage().Name}, v, page.StatusOf(err))
}

package admin

import (
	"cmp"
	"slices"
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
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
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
	lead := "sizes.lead"
	if list == offer.Images {
		lead = "sizes.lead_images"
	}
	m := sizes.PageModel{Header: ui.HeaderModel{Title: say.S("sizes.title_" + string(list)), Lead: say.S(lead)},
		List: sizes.List(list), Trouble: catalogTrouble(say, o, problem),
		Licenses: blocks.Mismatches(say, w.Catalog.Mismatches()),
		Table:    sizes.TableModel{List: sizes.List(list), Text: k.Get("q")}}
	if may {
		m.Edit, m.Add = "/admin/sizes/edit", entryPath(list, "", "")
	}
	m.Findings = findings(say, o, list, may)
	if list == offer.Sizes {
		if m.Table.Rows, m.Table.Part, err = w.sizeRows(k, o, may); err != nil {
			return page.View{}, err
		}
	} else {
		m.Table.Rows, m.Table.Part = w.imageRows(k, o, may)
	}
	if here := page.ListOf(k, catalogPath(list), entryOrders, "q").Here(); here != catalogPath(list) {
		for _, row := range m.Table.Rows {
			if row.Change != nil {
				row.Change.Back = here
			}
		}
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

// catalogTrouble is what could not be done, else that the newest version cannot be used, else what is gone and still
// held.
func catalogTrouble(say page.Words, o offer.Overview, problem error) *sizes.TroubleModel {
	switch {
	case problem != nil:
		f := fault.As(problem)
		return &sizes.TroubleModel{Kind: sizes.Failed, Words: say.Text(f.Sentence), Items: reasons(say, f.Fields)}
	case len(o.Problems) > 0:
		m := &sizes.TroubleModel{Kind: sizes.Unreadable, Newest: o.Newest.Version, Running: o.Active.Version}
		for _, p := range o.Problems[:min(len(o.Problems), 10)] {
			m.Items = append(m.Items, p.Error())
		}
		return m
	case len(o.Gone) > 0:
		m := &sizes.TroubleModel{Kind: sizes.Gone}
		for _, r := range o.Gone {
			m.Items = append(m.Items, say.S("sizes.gone_held", "Name", r.Called(), "Count", r.Count))
		}
		return m
	}
	return nil
}

func reasons(say page.Words, fields []fault.Field) (words []string) {
	for _, f := range fields {
		words = append(words, say.Text(f.Reason))
	}
	return words
}

// findings are what the nodes have and nobody is offered, and what is offered and no node has; of images those that no
// runtime of a cluster serves.
func findings(say page.Words, o offer.Overview, list offer.List, may bool) sizes.FindingsModel {
	m := sizes.FindingsModel{List: sizes.List(list)}
	for _, f := range o.Findings {
		if (f.Kind == capacity.Unserved) != (list == offer.Images) {
			continue
		}
		item := sizes.FindingModel{Kind: string(f.Kind), Reason: say.Text(f.Reason), Count: f.Count,
			Model: strings.TrimSpace(f.Model + " " + f.Resource), Cluster: f.Cluster}
		if f.Kind == capacity.Unserved { // the runtime is the cluster's: nothing in the catalog puts it right
			image, _ := o.Catalog.Image(f.Image)
			item.Image = say.ImageTitle(image)
		} else if may {
			item.Accept = &sizes.AcceptModel{Action: "/admin/sizes/accept", Edit: "/admin/sizes/edit?finding=" + f.Key,
				Key: f.Key, Base: version(o.Newest)}
		}
		if f.Kind == capacity.NeverRuns {
			item.Size = sizeTitle(o.Catalog, f.Size)
		} else if f.Proposal != nil {
			item.Proposal = &sizes.ProposalModel{Key: f.Key, Title: f.Proposal.Title,
				Price: say.MoneyPerHour(f.Proposal.PricePerHour), Text: f.Written()}
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

func entryState(hidden bool, d *catalog.Deprecation) (state sizes.State, successor string) {
	switch {
	case hidden:
		return sizes.Hidden, ""
	case d != nil:
		return sizes.Deprecated, d.Successor
	}
	return sizes.OnOffer, ""
}

// entryOrders are what the entries can be sorted by; they open in the order of the catalog, which is that of the start
// page.
var entryOrders = []string{"catalog", "entry", "state", "-price", "-free", "-held"}

// placed is an entry with its place in the catalog.
type placed[T any] struct {
	at    int
	entry T
}

// partOf filters and sorts entries and takes the page that is asked for.
func partOf[T any](k page.Call, list offer.List, all []T, text func(T) string, keys map[string]page.Key[placed[T]]) (
	[]placed[T], ui.ListModel) {
	rows := make([]placed[T], len(all))
	for i, e := range all {
		rows[i] = placed[T]{i, e}
	}
	rows = page.Matching(rows, k.Get("q"), func(p placed[T]) string { return text(p.entry) })
	return page.RowsOf(k.Words, page.ListOf(k, catalogPath(list), entryOrders, "q"),
		k.Words.S("sizes.title_"+string(list)), rows, keys)
}

func sizeKeys(say page.Words, running map[string]int) map[string]page.Key[placed[offer.SizeState]] {
	type row = placed[offer.SizeState]
	return map[string]page.Key[row]{
		"entry": page.ByText(func(p row) string { return say.SizeTitle(p.entry.Size) }),
		"state": page.ByText(func(p row) string {
			state, _ := entryState(p.entry.Size.Hidden, p.entry.Size.Deprecated)
			return string(state)
		}),
		"price": page.ByNumber(func(p row) int64 { return p.entry.Size.PricePerHour.Minor }),
		"free":  page.ByKnown(func(p row) (int, bool) { return p.entry.Fit.Free, p.entry.Fit.Known }),
		"held":  page.ByNumber(func(p row) int { return running[p.entry.Size.Name] }),
	}
}

func imageKeys(say page.Words) map[string]page.Key[placed[offer.ImageState]] {
	type row = placed[offer.ImageState]
	return map[string]page.Key[row]{
		"entry": page.ByText(func(p row) string { return say.ImageTitle(p.entry.Image) }),
		"state": page.ByText(func(p row) string {
			state, _ := entryState(p.entry.Image.Hidden, p.entry.Image.Deprecated)
			return string(state)
		}),
		"held": page.ByNumber(func(p row) int { return p.entry.InUse }),
	}
}

// runningBySize counts the workloads that have their size on a node now; the others keep it without taking anything.
func (w *Pages) runningBySize(k page.Call) (map[string]int, error) {
	items, err := w.Workloads.Living(k.Ctx, k.Actor, func(i *workload.Workload) bool { return i.Metered() > 0 })
	running := map[string]int{}
	for _, item := range items {
		running[item.Size.Name]++
	}
	return running, err
}

func (w *Pages) sizeRows(k page.Call, o offer.Overview, may bool) ([]sizes.RowModel, ui.ListModel, error) {
	say := k.Words
	running, err := w.runningBySize(k)
	if err != nil {
		return nil, ui.ListModel{}, err
	}
	part, list := partOf(k, offer.Sizes, o.Sizes, func(s offer.SizeState) string {
		return strings.Join([]string{s.Size.Name, say.SizeTitle(s.Size), s.Size.Accelerator.Resource}, " ")
	}, sizeKeys(say, running))
	var rows []sizes.RowModel
	for _, p := range part {
		s := p.entry
		free := say.S("web.unknown")
		if s.Fit.Known {
			free = say.S("start.free_of", "Free", s.Fit.Free, "Total", s.Fit.Total)
		}
		row := sizes.RowModel{Slug: page.Slug(s.Size.Name), Name: s.Size.Name, Title: say.SizeTitle(s.Size),
			What: say.Say(o.Catalog.TechnologyWord(s.Size.Technology)), Isolation: string(s.Size.Isolation),
			Price: say.MoneyPerHour(s.Size.PricePerHour),
			Teams: strings.Join(s.Size.Tenants, ", "), Clusters: strings.Join(s.Size.Clusters, ", "),
			NoTeam: !w.anyQuota(s.Size), Free: free, InUse: strconv.Itoa(running[s.Size.Name])}
		if more := s.InUse - running[s.Size.Name]; more > 0 {
			row.Stopped = say.S("sizes.stopped", "Count", more)
		}
		if a := s.Size.Accelerator; a.Model != "" && a.MemoryGiB > 0 {
			row.Card = a.Model + ", " + say.Number(a.MemoryGiB) + " GiB"
		} else {
			row.Card = a.Model
		}
		row.State, row.Successor = entryState(s.Size.Hidden, s.Size.Deprecated)
		if successor, ok := o.Catalog.Size(row.Successor); ok {
			row.Successor = say.SizeTitle(successor)
		}
		if may {
			row.Change = entryChange(o, s.Size.Hidden, s.Size.Deprecated, p.at, len(o.Sizes))
			row.Form, row.Copy = entryPath(offer.Sizes, "name", row.Name), entryPath(offer.Sizes, "like", row.Name)
		}
		rows = append(rows, row)
	}
	return rows, list, nil
}

// anyQuota reports whether anybody could start a size: quotas are by size.
func (w *Pages) anyQuota(s catalog.Size) bool {
	return slices.ContainsFunc(w.Site().Directory.Tenants, func(t tenant.Tenant) bool { return t.QuotaOf(s.Name) > 0 })
}

func (w *Pages) imageRows(k page.Call, o offer.Overview, may bool) ([]sizes.RowModel, ui.ListModel) {
	say := k.Words
	part, list := partOf(k, offer.Images, o.Images, func(s offer.ImageState) string {
		return strings.Join([]string{s.Image.Name, say.ImageTitle(s.Image), s.Image.Reference}, " ")
	}, imageKeys(say))
	var rows []sizes.RowModel
	for _, p := range part {
		s := p.entry
		row := sizes.RowModel{Slug: page.Slug(s.Image.Name), Name: s.Image.Name, Title: say.ImageTitle(s.Image),
			What: say.Say(i18n.T("kind." + string(s.Image.Kind))), Reference: s.Image.Reference,
			Short: blocks.TaggedReference(s.Image.Reference), Scan: w.Site().Scans.Of(s.Image.Reference),
			Teams: strings.Join(s.Image.Tenants, ", "), InUse: strconv.Itoa(s.InUse)}
		row.State, row.Successor = entryState(s.Image.Hidden, s.Image.Deprecated)
		if successor, ok := o.Catalog.Image(row.Successor); ok {
			row.Successor = say.ImageTitle(successor)
		}
		if may {
			row.Change = entryChange(o, s.Image.Hidden, s.Image.Deprecated, p.at, len(o.Images))
			row.Form, row.Copy = entryPath(offer.Images, "name", row.Name), entryPath(offer.Images, "like", row.Name)
		}
		rows = append(rows, row)
	}
	return rows, list
}

// entryChange is the quick changes of one entry.
func entryChange(o offer.Overview, hidden bool, d *catalog.Deprecation, at, of int) *sizes.ChangeModel {
	m := &sizes.ChangeModel{Base: version(o.Newest)}
	add := func(wanted bool, do offer.Action) {
		if wanted {
			m.Actions = append(m.Actions, sizes.Action(do))
		}
	}
	add(hidden, offer.Show)
	add(!hidden, offer.Hide)
	add(d != nil, offer.Undeprecate)
	add(d == nil, offer.Deprecate)
	add(at > 0, offer.Up)
	add(at < of-1, offer.Down)
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
			Detail: versionNote(k.Words, r)}, Who: r.AuthorName, When: k.Words.Ago(r.At), Started: !r.At.IsZero(),
			Counts: r.Version == o.Active.Version}
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
		return w.Done(c, "catalog-saved", page.LocalPath(c.FormValue("back"), catalogPath(list)))
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
	m := sizes.DeprecateModel{List: sizes.List(c.List), Path: catalogPath(c.List), Name: c.Name, Title: title,
		Base: version(s.Newest), Errors: page.FormErrors(say, problems), Others: others,
		Message:   workloadview.FieldModel{Value: c.Message, Error: wrong("message")},
		Successor: workloadview.FieldModel{Value: c.Successor, Error: wrong("successor")}}
	return page.View{Title: say.S("sizes.deprecate_title", "Name", title), Nav: m.Path, Body: sizes.DeprecatePage(m)}, nil
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

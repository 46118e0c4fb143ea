package admin

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/sizes"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// catalogEdit opens the editor with what was saved last, or with a proposal added to it.
func (w *Pages) catalogEdit(k page.Call) (page.View, error) {
	if err := w.Catalog.MayChange(k.Actor); err != nil {
		return page.View{}, err
	}
	d := offer.Draft{}
	if key := k.Get("finding"); key != "" {
		text, base, err := w.Catalog.Proposed(k.Ctx, k.Actor, key)
		if err != nil {
			return page.View{}, err
		}
		d.Text, d.Base = text, base
		c, err := w.Catalog.Check(k.Ctx, k.Actor, text)
		if err != nil {
			return page.View{}, err
		}
		return w.editView(k, d, &ui.NoticeModel{Kind: ui.Info, Title: k.Words.S("sizes.proposal_added"),
			Test: "proposal-added"}, c), nil
	}
	s, err := w.Catalog.Status(k.Actor)
	if err != nil {
		return page.View{}, err
	}
	d.Text, d.Base = s.Newest.Text, s.Newest.Version
	var n *ui.NoticeModel
	if len(s.Problems) > 0 {
		n = &ui.NoticeModel{Kind: ui.Warning, Title: k.Words.S("sizes.unreadable", "Newest", s.Newest.Version, "Running",
			s.Active.Version), Test: "unreadable"}
	}
	return w.editView(k, d, n, offer.Checked{Problems: s.Problems}), nil
}

// editView draws the editor around what was typed.
func (w *Pages) editView(k page.Call, d offer.Draft, notice *ui.NoticeModel, c offer.Checked) page.View {
	say := k.Words
	m := sizes.EditModel{
		Header: ui.HeaderModel{Title: say.S("sizes.edit_title"), Lead: say.S("sizes.edit_lead", "Version", d.Base),
			Crumbs: []ui.CrumbModel{{Label: say.S("sizes.title_sizes"), Href: "/admin/sizes"},
				{Label: say.S("sizes.edit_title")}}},
		Notice: notice, Label: say.S("sizes.text"), Text: strings.ReplaceAll(d.Text, "\r\n", "\n"),
		Form: ui.FormModel{ID: "catalog", Action: "/admin/sizes/edit",
			Hidden: []ui.HiddenModel{{Name: "base", Value: strconv.FormatInt(d.Base, 10)}}, Test: "catalog-form"},
		Note: ui.FieldModel{Name: "note", Label: say.S("sizes.note"), Hint: say.S("sizes.note_hint"), Value: d.Note,
			MaxLength: 200, Autocomplete: "off", Test: "note"},
		Check: ui.ButtonModel{Label: say.S("sizes.check"), Name: "action", Value: "check", Icon: "search", Test: "check"},
		Save: ui.ButtonModel{Label: say.S("sizes.save"), Kind: ui.Primary, Name: "action", Value: "save", Icon: "check",
			Test: "save"},
		Cancel: ui.LinkButtonModel{Label: say.S("sizes.cancel"), Href: "/admin/sizes", Kind: ui.LinkLike},
	}
	lines := strings.Split(strings.TrimSuffix(m.Text, "\n"), "\n")
	for _, p := range c.Problems {
		m.Problems = append(m.Problems, problemModel(say, p, lines))
	}
	if len(c.Problems) > 0 {
		m.Lines = lines
	}
	m.Licenses = blocks.MismatchNotice(say, c.Warnings)
	if len(c.Removals) > 0 {
		m.Confirm = &ui.FieldModel{Name: "confirm", Kind: ui.CheckboxField, Label: say.S("sizes.confirm"), Checked: d.Confirm,
			Test: "confirm"}
	}
	if c.Changes != nil {
		m.Diff = &sizes.DiffModel{Title: say.S("sizes.would_change"), Entries: entryModels(say, c.Changes)}
	}
	return page.View{Title: m.Header.Title, Nav: "/admin/sizes", Wide: true, Body: sizes.Edit(m)}
}

// longestSource is how much of a line stands beside its problem, in characters.
const longestSource = 200

func problemModel(say page.Words, p catalog.Problem, lines []string) sizes.ProblemModel {
	m := sizes.ProblemModel{Line: max(p.Line, 1), Place: say.S("sizes.line", "Line", max(p.Line, 1)), Path: p.Path,
		Words: say.Text(p.Reason())}
	if p.Line > 0 && p.Line <= len(lines) {
		if source := []rune(strings.TrimSpace(lines[p.Line-1])); len(source) > longestSource {
			m.Source = string(source[:longestSource]) + "…"
		} else {
			m.Source = string(source)
		}
	}
	return m
}

func entryModels(say page.Words, changes []offer.EntryChange) []sizes.EntryModel {
	kinds := map[offer.ChangeKind]ui.Kind{offer.Added: ui.OK, offer.Removed: ui.Danger, offer.Changed: ui.Info}
	icons := map[offer.ChangeKind]string{offer.Added: "plus", offer.Removed: "minus", offer.Changed: "edit"}
	var models []sizes.EntryModel
	for _, c := range changes {
		m := sizes.EntryModel{Title: c.Title, Name: c.Name, State: ui.StateModel{Kind: kinds[c.Kind], Icon: icons[c.Kind],
			Word: say.S("sizes.change_" + string(c.Kind))}}
		for _, f := range c.Fields {
			m.Fields = append(m.Fields, sizes.FieldModel{Path: f.Path, Old: f.Old, New: f.New})
		}
		models = append(models, m)
	}
	return models
}

// catalogSave checks what was typed, or saves it; what is wrong comes back with the text.
func (w *Pages) catalogSave(c echo.Context) error {
	k := w.CallOf(c)
	d := offer.Draft{Text: c.FormValue("text"), Base: base(c), Note: c.FormValue("note"),
		Confirm: c.FormValue("confirm") != ""}
	checked, err := w.Catalog.Check(k.Ctx, k.Actor, d.Text)
	if err != nil {
		return err
	}
	if c.FormValue("action") != "save" {
		notice, status := checkNotice(k.Words, checked)
		return w.Reply(c, k, page.Page{Name: w.editPage().Name}, w.editView(k, d, notice, checked), status)
	}
	r, err := w.Catalog.Save(k.Ctx, k.Actor, d)
	if err == nil {
		return w.Done(c, "catalog-saved", versionPath(r.Version))
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	f := fault.As(err)
	notice := &ui.NoticeModel{Kind: ui.Danger, Title: k.Words.Text(f.Sentence), Alert: true, Test: "problem"}
	if len(checked.Problems) == 0 {
		for _, field := range f.Fields {
			notice.Items = append(notice.Items, k.Words.Text(field.Reason))
		}
	}
	if fault.Is(err, fault.Conflict) {
		// saving again takes the other's change back, after a look at it
		if s, err := w.Catalog.Status(k.Actor); err == nil && s.Newest.Version != d.Base {
			notice.Actions = []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: k.Words.S("sizes.see_change"),
				Href: versionPath(s.Newest.Version), NewTab: true, Kind: ui.LinkLike, Test: "see-change"}}}
			d.Base = s.Newest.Version
		}
	}
	return w.Reply(c, k, page.Page{Name: w.editPage().Name}, w.editView(k, d, notice, checked), page.StatusOf(err))
}

func checkNotice(say page.Words, c offer.Checked) (*ui.NoticeModel, int) {
	switch {
	case len(c.Problems) > 0:
		return &ui.NoticeModel{Kind: ui.Danger, Title: say.Text(i18n.T("offer.problems", "Count", len(c.Problems))),
			Alert: true, Test: "problem"}, http.StatusUnprocessableEntity
	case len(c.Removals) > 0:
		n := &ui.NoticeModel{Kind: ui.Warning, Title: say.S("sizes.fine_but"), Alert: true, Test: "removes"}
		for _, r := range c.Removals {
			n.Items = append(n.Items, say.Text(r.Sentence()))
		}
		return n, http.StatusOK
	case len(c.Changes) == 0:
		return &ui.NoticeModel{Kind: ui.OK, Title: say.S("sizes.fine_same"), Alert: true, Test: "fine"}, http.StatusOK
	}
	return &ui.NoticeModel{Kind: ui.OK, Title: say.S("sizes.fine"), Alert: true, Test: "fine"}, http.StatusOK
}

// catalogVersion shows what one version changed.
func (w *Pages) catalogVersion(k page.Call) (page.View, error) { return w.versionView(k, nil) }

func (w *Pages) versionView(k page.Call, problem error) (page.View, error) {
	s, err := w.Catalog.Status(k.Actor) // rights first: for others there is no such page, whatever its number
	if err != nil {
		return page.View{}, err
	}
	n, err := strconv.ParseInt(k.Get("version"), 10, 64)
	if err != nil || n < 0 {
		return page.View{}, fault.New(fault.NotFound, i18n.T("store.no_catalog"))
	}
	r, err := w.Catalog.Revision(k.Ctx, k.Actor, n)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	m := sizes.VersionPageModel{
		Header: ui.HeaderModel{Title: versionName(say, r), Lead: versionNote(say, r),
			Crumbs: []ui.CrumbModel{{Label: say.S("sizes.title_sizes"), Href: "/admin/sizes"}, {Label: versionName(say, r)}}},
		Text: ui.CodeModel{ID: "version-text", Title: say.S("sizes.text"), Language: "YAML", Text: r.Text, Folded: true},
	}
	if r.Version == s.Active.Version {
		m.Header.State = &ui.StateModel{Kind: ui.OK, Word: say.S("sizes.counts"), Test: "counts"}
	}
	if r.Version > 0 {
		m.Facts = []ui.DefModel{{Term: say.S("sizes.col_author"), Value: r.AuthorName},
			{Term: say.S("sizes.col_when"), Component: ui.Time(say.Ago(r.At))}}
		before, err := w.Catalog.Revision(k.Ctx, k.Actor, r.Version-1)
		if err != nil {
			return page.View{}, err
		}
		m.Diff = w.diff(say, before, r)
	}
	if problem != nil {
		m.Problem = catalogProblem(say, offer.Overview{}, problem)
	}
	if r.Version != s.Newest.Version && identity.Can(k.Actor, identity.ChangeOffer, identity.Resource{}) {
		m.Revert = &sizes.RevertModel{Form: ui.FormModel{ID: "revert", Action: versionPath(r.Version) + "/revert",
			Hidden: []ui.HiddenModel{{Name: "base", Value: version(s.Newest)}}, Test: "revert-form"},
			Button: ui.ButtonModel{Label: say.S("sizes.revert", "Version", r.Version), Icon: "undo", Test: "revert"}}
		if problem != nil && fault.As(problem).Sentence.ID == "offer.removes" {
			m.Revert.Confirm = &ui.FieldModel{Name: "confirm", Kind: ui.CheckboxField, Label: say.S("sizes.confirm"),
				Test: "confirm"}
		}
	}
	return page.View{Title: m.Header.Title, Nav: "/admin/sizes", Body: sizes.Version(m)}, nil
}

// diff is what a version changed, by entry where both can be read, and by line.
func (w *Pages) diff(say page.Words, before, after offer.Revision) *sizes.DiffModel {
	m := &sizes.DiffModel{Title: say.S("sizes.changed", "Version", before.Version)}
	if changes, readable := w.Catalog.Differ(before, after); !readable {
		m.Same = say.S("sizes.diff_unreadable")
	} else if m.Entries = entryModels(say, changes); len(changes) == 0 {
		m.Same = say.S("sizes.diff_same")
	}
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	for _, l := range offer.Lines(before.Text, after.Text) {
		m.Lines = append(m.Lines, sizes.LineModel{Op: l.Op, Old: number(l.Old), New: number(l.New), Text: l.Text})
	}
	return m
}

// catalogRevert makes a version the next one.
func (w *Pages) catalogRevert(c echo.Context) error {
	k := w.CallOf(c)
	n, err := strconv.ParseInt(c.Param("version"), 10, 64)
	if err != nil || n < 0 {
		n = -1
	}
	r, err := w.Catalog.Revert(k.Ctx, k.Actor, n, base(c), c.FormValue("confirm") != "")
	if err == nil {
		return w.Done(c, "catalog-saved", versionPath(r.Version))
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	v, broken := w.versionView(k, err)
	if broken != nil {
		return err
	}
	return w.Reply(c, k, page.Page{Name: w.versionPage().Name}, v, page.StatusOf(err))
}

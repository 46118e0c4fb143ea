package admin

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/usage"
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
		return w.editView(k, d, sizes.OutcomeModel{Outcome: sizes.ProposalAdded}, c), nil
	}
	s, err := w.Catalog.Status(k.Actor)
	if err != nil {
		return page.View{}, err
	}
	d.Text, d.Base = s.Newest.Text, s.Newest.Version
	var outcome sizes.OutcomeModel
	if len(s.Problems) > 0 {
		outcome = sizes.OutcomeModel{Outcome: sizes.NewestBroken, Newest: s.Newest.Version, Running: s.Active.Version}
	}
	return w.editView(k, d, outcome, offer.Checked{Problems: s.Problems}), nil
}

// editView draws the editor around what was typed.
func (w *Pages) editView(k page.Call, d offer.Draft, outcome sizes.OutcomeModel, c offer.Checked) page.View {
	say := k.Words
	m := sizes.EditModel{
		Header: ui.HeaderModel{Title: say.S("sizes.edit_title"), Lead: say.S("sizes.edit_lead", "Version", d.Base),
			Crumbs: []ui.CrumbModel{{Label: say.S("sizes.title_sizes"), Href: "/admin/sizes"},
				{Label: say.S("sizes.edit_title")}}},
		Outcome: outcome, Text: strings.ReplaceAll(d.Text, "\r\n", "\n"), Base: strconv.FormatInt(d.Base, 10),
		Note: d.Note, Removes: len(c.Removals) > 0, Confirmed: d.Confirm, Compared: outcome.Compared,
	}
	lines := strings.Split(strings.TrimSuffix(m.Text, "\n"), "\n")
	for _, p := range c.Problems {
		m.Problems = append(m.Problems, problemModel(say, p, lines))
	}
	if len(c.Problems) > 0 {
		m.Lines = lines
	}
	m.Licenses = blocks.Mismatches(say, c.Warnings)
	if c.Changes != nil {
		m.Diff = &sizes.DiffModel{Title: say.S("sizes.would_change"), Entries: w.entryModels(say, c.Changes)}
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

func (w *Pages) entryModels(say page.Words, changes []offer.EntryChange) []sizes.EntryModel {
	var models []sizes.EntryModel
	for _, c := range changes {
		m := sizes.EntryModel{Title: c.Title, Name: c.Name, Change: sizes.Change(c.Kind)}
		for _, f := range c.Fields {
			m.Fields = append(m.Fields, w.fieldChange(say, offer.List(c.List), f))
		}
		models = append(models, m)
	}
	return models
}

// fieldChange names a value as the form of its entry does, and writes a price as money.
func (w *Pages) fieldChange(say page.Words, list offer.List, f offer.FieldChange) sizes.FieldModel {
	m := sizes.FieldModel{Path: f.Path, Old: f.Old, New: f.New}
	path, price := strings.CutSuffix(f.Path, ".minor")
	path, _, _ = strings.Cut(path, "[") // of one of a list
	if !slices.ContainsFunc(offer.FormFields(list), func(known offer.FormField) bool { return known.Path == path }) {
		return m
	}
	m.Label = fieldLabel(say, path)
	if price {
		currency := w.Site().Catalog.Currency()
		m.Old, m.New = hourly(say, f.Old, currency), hourly(say, f.New, currency)
	}
	return m
}

// hourly is a price as it is written in the catalog, in the smallest unit of its currency, as money per hour.
func hourly(say page.Words, minor, currency string) string {
	n, err := strconv.ParseInt(minor, 10, 64)
	if err != nil {
		return minor
	}
	return say.MoneyPerHour(usage.Money{Minor: n, Currency: currency})
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
	if validating, err := w.Validating(c); err != nil {
		return err
	} else if validating {
		var problems []ui.ProblemModel
		for _, p := range checked.Problems {
			problems = append(problems, ui.ProblemModel{Line: max(p.Line, 1), LineOf: "text", Path: p.Path,
				Words: k.Words.Text(p.Reason())})
		}
		return w.Validated(c, "catalog", problems)
	}
	if c.FormValue("action") != "save" {
		outcome, status := checkOutcome(k.Words, checked)
		outcome.Compared, err = w.catalogCompared(k, checked)
		if err != nil {
			return err
		}
		return w.Reply(c, k, page.Page{Name: w.editPage().Name}, w.editView(k, d, outcome, checked), status)
	}
	r, err := w.Catalog.Save(k.Ctx, k.Actor, d)
	if err == nil {
		return w.Done(c, "catalog-saved", versionPath(r.Version))
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	f := fault.As(err)
	outcome := sizes.OutcomeModel{Outcome: sizes.Refused, Words: k.Words.Text(f.Sentence)}
	if len(checked.Problems) == 0 {
		outcome.Items = reasons(k.Words, f.Fields)
	}
	if fault.Is(err, fault.Conflict) {
		// saving again takes the other's change back, after a look at it
		if s, err := w.Catalog.Status(k.Actor); err == nil && s.Newest.Version != d.Base {
			outcome.See, d.Base = versionPath(s.Newest.Version), s.Newest.Version
		}
	}
	return w.Reply(c, k, page.Page{Name: w.editPage().Name}, w.editView(k, d, outcome, checked), page.StatusOf(err))
}

func checkOutcome(say page.Words, c offer.Checked) (sizes.OutcomeModel, int) {
	switch {
	case len(c.Problems) > 0:
		return sizes.OutcomeModel{Outcome: sizes.Refused,
			Words: say.Text(i18n.T("offer.problems", "Count", len(c.Problems)))}, http.StatusUnprocessableEntity
	case len(c.Removals) > 0:
		m := sizes.OutcomeModel{Outcome: sizes.Removes}
		for _, r := range c.Removals {
			m.Items = append(m.Items, say.Text(r.Sentence()))
		}
		return m, http.StatusOK
	case len(c.Changes) == 0:
		return sizes.OutcomeModel{Outcome: sizes.FineSame}, http.StatusOK
	}
	return sizes.OutcomeModel{Outcome: sizes.Fine}, http.StatusOK
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
		Counts: r.Version == s.Active.Version, Text: r.Text,
	}
	if r.Version > 0 {
		at := say.Ago(r.At)
		m.Author, m.At = r.AuthorName, &at
		before, err := w.Catalog.Revision(k.Ctx, k.Actor, r.Version-1)
		if err != nil {
			return page.View{}, err
		}
		m.Diff = w.diff(say, before, r)
	}
	if problem != nil {
		m.Trouble = catalogTrouble(say, offer.Overview{}, problem)
	}
	if r.Version != s.Newest.Version && identity.Can(k.Actor, identity.ChangeOffer, identity.Resource{}) {
		m.Revert = &sizes.RevertModel{Action: versionPath(r.Version) + "/revert", Base: version(s.Newest),
			Version: r.Version, Removes: problem != nil && fault.As(problem).Sentence.ID == "offer.removes"}
	}
	return page.View{Title: m.Header.Title, Nav: "/admin/sizes", Body: sizes.Version(m)}, nil
}

// diff is what a version changed, by entry where both can be read, and by line.
func (w *Pages) diff(say page.Words, before, after offer.Revision) *sizes.DiffModel {
	m := &sizes.DiffModel{Title: say.S("sizes.changed", "Version", before.Version)}
	if changes, readable := w.Catalog.Differ(before, after); !readable {
		m.Same = say.S("sizes.diff_unreadable")
	} else if m.Entries = w.entryModels(say, changes); len(changes) == 0 {
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

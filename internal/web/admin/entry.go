package admin

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"golang.org/x/text/language"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/rules"
	"github.com/gpu-portal/gpu-portal/views/sizes"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

const entryFormPath = "/admin/sizes/form"

// entryPath is the form of an entry; key is "name", or "like" for a new one.
func entryPath(list offer.List, key, name string) string {
	q := url.Values{"list": {string(list)}}
	if name != "" {
		q.Set(key, name)
	}
	return entryFormPath + "?" + q.Encode()
}

// entryEdit opens the form of one entry, or of a new one.
func (w *Pages) entryEdit(k page.Call) (page.View, error) {
	list := offer.List(cmp.Or(k.Get("list"), string(offer.Sizes)))
	f, err := w.Catalog.Form(k.Ctx, k.Actor, list, k.Get("name"), k.Get("like"))
	if err != nil {
		return page.View{}, err
	}
	if f.New {
		f.Name = ""
	}
	return w.entryView(k, typedEntry{Filled: f}), nil
}

// typedEntry is a form with everything that can be said of it.
type typedEntry struct {
	offer.Filled
	note      string
	confirmed bool
	outcome   sizes.OutcomeModel
	fields    []fault.Field
	rest      []sizes.ProblemModel
	checked   offer.Checked
	compared  *rules.ComparedModel
}

func (w *Pages) entryView(k page.Call, s typedEntry) page.View {
	say, list := k.Words, catalogPath(s.List)
	title := say.S("sizes.add_" + string(s.List))
	if !s.New {
		title = say.S("sizes.change", "Name", cmp.Or(s.Values["title"], s.Name))
	}
	m := sizes.FormPageModel{List: sizes.List(s.List), Back: list, Action: entryFormPath,
		Header: ui.HeaderModel{Title: title, Lead: say.S("sizes.form_lead", "Version", s.Base),
			Crumbs: []ui.CrumbModel{{Label: say.S("sizes.title_" + string(s.List)), Href: list}, {Label: title}}},
		Hidden: []ui.HiddenModel{{Name: "list", Value: string(s.List)}, {Name: "base",
			Value: strconv.FormatInt(s.Base, 10)}},
		Errors: page.FormErrors(say, s.fields), Outcome: s.outcome, Problems: s.rest, Others: s.Others,
		Removes: len(s.checked.Removals) > 0, Confirmed: s.confirmed, Compared: s.compared,
		Note: ui.FieldModel{Name: "note", Label: say.S("sizes.note"), Hint: say.S("sizes.note_hint"), Value: s.note,
			Error: page.WrongIn(say, s.fields, "note"), MaxLength: 200, Autocomplete: "off", Test: "note"},
		Sections: w.entrySections(k, s)}
	if s.New {
		m.Hidden = append(m.Hidden, ui.HiddenModel{Name: "like", Value: s.Like},
			ui.HiddenModel{Name: "new", Value: "yes"})
	} else {
		m.Hidden = append(m.Hidden, ui.HiddenModel{Name: "name", Value: s.Name})
	}
	if s.checked.Changes != nil {
		m.Diff = &sizes.DiffModel{Title: say.S("sizes.would_change"), Entries: w.entryModels(say, s.checked.Changes)}
	}
	return page.View{Title: title, Nav: list, Body: sizes.Form(m)}
}

// section is a part of the form: the fields whose paths begin with one of these.
type section struct {
	id    string
	paths []string
}

var entrySections = map[offer.List][]section{
	offer.Sizes: {{"titles", []string{"title"}}, {"gpu", []string{"technology", "isolation", "accelerator."}},
		{"machine", []string{"cpu", "memory", "sharedMemory", "placement."}},
		{"price", []string{"pricePerHour", "licensePool", "defaultLease", "maxLease", "autoExtend", "preemptible"}},
		{"offered", []string{"tenants", "clusters"}}},
	offer.Images: {{"titles", []string{"title"}},
		{"program", []string{"kind", "reference", "command", "args", "env", "runtime."}},
		{"access", []string{"port", "healthPath", "openPath", "tokenEnv", "auth", "ssh.", "ports"}},
		{"storage", []string{"home", "runAsUser", "fsGroup"}}, {"offered", []string{"tenants"}}},
}

func (s section) has(path string) bool {
	return slices.ContainsFunc(s.paths, func(p string) bool {
		return p == path || p == "title" && strings.HasPrefix(path, "titles.") ||
			strings.HasSuffix(p, ".") && strings.HasPrefix(path, p)
	})
}

func (w *Pages) entrySections(k page.Call, s typedEntry) []sizes.SectionModel {
	var list []sizes.SectionModel
	say, runtimes := k.Words, w.runtimes(k, s.List)
	for i, part := range entrySections[s.List] {
		m := sizes.SectionModel{ID: part.id}
		if i == 0 && s.New {
			m.Fields = append(m.Fields, ui.FieldModel{Name: "name", Label: say.S("sizes.field_name"),
				Hint: say.S("sizes.field_name_hint"), Value: s.Name, Error: page.WrongIn(say, s.fields, "name"), Required: true,
				MaxLength: 63, Mono: true, Autocomplete: "off", Test: "name"})
		}
		for _, f := range offer.FormFields(s.List) {
			switch {
			case !part.has(f.Path):
			case strings.HasPrefix(f.Path, "titles."):
				m.Folded = append(m.Folded, w.entryField(say, s, f))
			default:
				m.Fields = append(m.Fields, offerRuntimes(say, w.entryField(say, s, f), runtimes))
			}
		}
		list = append(list, m)
	}
	return list
}

// runtimes are those of the clusters, which an image may name; none where they cannot be listed.
func (w *Pages) runtimes(k page.Call, list offer.List) []offer.ServingRuntime {
	if list != offer.Images {
		return nil
	}
	found, err := w.Catalog.ServingRuntimes(k.Ctx, k.Actor)
	if err != nil {
		return nil // who may not read the offer does not get as far as its form
	}
	return found
}

// offerRuntimes proposes runtimes and their formats while somebody types, and says which there are.
func offerRuntimes(say page.Words, m ui.FieldModel, found []offer.ServingRuntime) ui.FieldModel {
	var names, formats, told []string
	for _, r := range found {
		formats = append(formats, r.Formats...)
		if slices.Contains(names, r.Name) {
			continue
		}
		names = append(names, r.Name)
		key := "sizes.runtime_found"
		if r.Disabled {
			key += "_disabled"
		}
		told = append(told, say.S(key, "Name", r.Name, "Formats", strings.Join(r.Formats, ", ")))
	}
	switch m.Name {
	case "runtime.servingRuntime":
		if m.List = names; len(told) > 0 {
			m.Hint += " " + say.S("sizes.runtimes_found", "Found", strings.Join(told, ", "))
		}
	case "runtime.modelFormat":
		slices.Sort(formats)
		m.List = slices.Compact(formats)
	}
	return m
}

// entryHints are the fields with a hint.
var entryHints = []string{"accelerator.share", "accelerator.resource", "placement.nodeSelector", "licensePool",
	"maxLease", "autoExtend", "preemptible", "tenants", "clusters", "reference", "args", "command", "env",
	"tokenEnv", "home", "ssh.port", "ports", "runtime.servingRuntime", "runtime.modelFormat",
	"sharedMemory", "accelerator.profile"}

// entryNeeded are the fields that every entry of its list has.
var entryNeeded = map[offer.List][]string{
	offer.Sizes:  {"title", "technology", "isolation", "cpu", "memory", "pricePerHour", "defaultLease", "maxLease"},
	offer.Images: {"title", "kind"}} // a ServingRuntime has a reference of its own

func (w *Pages) entryField(say page.Words, s typedEntry, f offer.FormField) ui.FieldModel {
	m := ui.FieldModel{ID: f.Path, Name: f.Path, Value: s.Values[f.Path], Error: page.WrongIn(say, s.fields, f.Path),
		Required: slices.Contains(entryNeeded[s.List], f.Path), Autocomplete: "off", Test: "field-" + f.Path}
	m.Label = fieldLabel(say, f.Path)
	if strings.HasPrefix(f.Path, "titles.") {
		m.MaxLength = 100
		return m
	}
	if slices.Contains(entryHints, f.Path) {
		m.Hint = say.S(fieldKey(f.Path) + "_hint")
	}
	switch f.Kind {
	case offer.FormFlag:
		m.Kind, m.Checked, m.Value = ui.CheckboxField, m.Value == "true", "true"
	case offer.FormNumber:
		m.InputMode, m.Short = "decimal", true
	case offer.FormPrice:
		m.InputMode, m.Short, m.Unit = "decimal", true, say.S("sizes.per_hour", "Currency", w.Site().Catalog.Currency())
	case offer.FormLines, offer.FormLabels, offer.FormPorts:
		m.Kind, m.Rows, m.Mono = ui.TextareaField, max(2, min(8, strings.Count(m.Value, "\n")+2)), true
	}
	if options := w.entryOptions(say, f.Path, m.Value); options != nil {
		m.Kind, m.Options = ui.SelectField, options
	}
	switch f.Path {
	case "cpu", "memory", "sharedMemory", "defaultLease", "maxLease", "accelerator.resource", "accelerator.profile",
		"reference", "healthPath", "openPath", "home", "tokenEnv", "ssh.user", "runtime.servingRuntime",
		"runtime.modelFormat":
		m.Mono = true
	}
	return m
}

// fieldLabel is what the form calls one of its fields.
func fieldLabel(say page.Words, path string) string {
	if tag, title := strings.CutPrefix(path, "titles."); title {
		return say.S("sizes.field_title_in", "Language", i18n.Name(language.Make(tag)))
	}
	return say.S(fieldKey(path))
}

func fieldKey(path string) string {
	return "sizes.field_" + strings.ToLower(strings.ReplaceAll(path, ".", "_"))
}

// entryOptions are what a field can be chosen from; nil for one that is typed. What is written already stays among
// them, so that a form does not lose it.
func (w *Pages) entryOptions(say page.Words, path, now string) []ui.OptionModel {
	var list []ui.OptionModel
	none := func(label string) { list = append(list, ui.OptionModel{Label: label}) }
	add := func(value, label string) { list = append(list, ui.OptionModel{Value: value, Label: label}) }
	choose := func() {
		if now == "" {
			none(say.S("sizes.choose"))
		}
	}
	site := w.Site()
	switch path {
	case "technology":
		choose()
		for _, t := range site.Catalog.KnownTechnologies() {
			add(string(t), say.Say(site.Catalog.TechnologyWord(t)))
		}
	case "isolation":
		choose()
		for _, level := range catalog.IsolationLevels() {
			add(string(level), page.UpperFirst(say.S("web.isolation_"+string(level))))
		}
	case "kind":
		choose()
		for _, kind := range catalog.WorkloadKinds() {
			add(string(kind), say.Say(i18n.T("kind."+string(kind))))
		}
	case "licensePool":
		none(say.S("sizes.no_pool"))
		for _, p := range site.Pools {
			add(p.Name, p.Title)
		}
	case "auth":
		none(say.S("sizes.auth_none"))
		add("token", say.S("sizes.auth_token"))
		add("bearer", say.S("sizes.auth_bearer"))
	default:
		return nil
	}
	if !slices.ContainsFunc(list, func(o ui.OptionModel) bool { return o.Value == now }) {
		add(now, now)
	}
	return list
}

func readEntry(c echo.Context) typedEntry {
	s := typedEntry{note: c.FormValue("note"), confirmed: c.FormValue("confirm") != ""}
	s.List, s.Name, s.Base = offer.List(c.FormValue("list")), strings.TrimSpace(c.FormValue("name")), base(c)
	s.New, s.Like, s.Values = c.FormValue("new") != "", c.FormValue("like"), map[string]string{}
	values, err := c.FormParams()
	if err != nil {
		return s
	}
	for _, f := range offer.FormFields(s.List) {
		if values.Has(f.Path) || f.Kind == offer.FormFlag { // a box that is not ticked is not sent
			s.Values[f.Path] = values.Get(f.Path)
		}
	}
	return s
}

// entrySave checks what was typed, saves it, or shows it as text.
func (w *Pages) entrySave(c echo.Context) error {
	k, s := w.CallOf(c), readEntry(c)
	filled, err := w.Catalog.Form(k.Ctx, k.Actor, s.List, map[bool]string{false: s.Name}[s.New], s.Like)
	if err != nil {
		return err
	}
	s.Others = filled.Others
	validating, err := w.Validating(c)
	if err != nil {
		return err
	}
	text, newest, err := w.Catalog.Written(k.Ctx, k.Actor, s.Form)
	if fault.Is(err, fault.Invalid) {
		s.fields = page.ProblemsOf(err)
		if validating {
			return w.Validated(c, entryForm, page.FieldProblems(k.Words, s.fields))
		}
		return w.entryAgain(c, k, s, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	d := offer.Draft{Text: text, Base: s.Base, Note: s.note, Confirm: s.confirmed}
	if s.checked, err = w.Catalog.Check(k.Ctx, k.Actor, text); err != nil {
		return err
	}
	if validating {
		return w.entryValidated(c, k, s, text)
	}
	action := c.FormValue("action")
	if action == "yaml" {
		d.Base = newest
		return w.Reply(c, k, page.Page{Name: w.editPage().Name},
			w.editView(k, d, sizes.OutcomeModel{Outcome: sizes.FromForm}, s.checked), http.StatusOK)
	}
	var rest []catalog.Problem
	s.fields, rest = s.Problems(text, s.checked.Problems)
	for _, p := range rest {
		s.rest = append(s.rest, problemModel(k.Words, p, strings.Split(text, "\n")))
	}
	if action != "save" {
		return w.entryChecked(c, k, s)
	}
	r, err := w.Catalog.Save(k.Ctx, k.Actor, d)
	if err == nil {
		return w.Done(c, "catalog-saved", versionPath(r.Version))
	}
	return w.entryRefused(c, k, s, err, newest)
}

// entryForm is the id of the form.
const entryForm = "entry"

// entryValidated says what is wrong so far. What the form has no field for is named by its path.
func (w *Pages) entryValidated(c echo.Context, k page.Call, s typedEntry, text string) error {
	fields, rest := s.Problems(text, s.checked.Problems)
	problems := page.FieldProblems(k.Words, fields)
	for _, p := range rest {
		problems = append(problems, ui.ProblemModel{Path: p.Path, Words: k.Words.Text(p.Reason())})
	}
	return w.Validated(c, entryForm, problems)
}

// entryChecked says what saving would change, and what that would have meant.
func (w *Pages) entryChecked(c echo.Context, k page.Call, s typedEntry) error {
	outcome, status := checkOutcome(k.Words, s.checked)
	if s.outcome = outcome; len(s.rest) == 0 && len(s.fields) > 0 {
		s.outcome = sizes.OutcomeModel{} // each stands beside its field
	}
	var err error
	if s.compared, err = w.catalogCompared(k, s.checked); err != nil {
		return err
	}
	return w.entryAgain(c, k, s, status)
}

func (w *Pages) entryRefused(c echo.Context, k page.Call, s typedEntry, err error, newest int64) error {
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	f := fault.As(err)
	if len(s.fields) == 0 || len(s.rest) > 0 {
		s.outcome = sizes.OutcomeModel{Outcome: sizes.Refused, Words: k.Words.Text(f.Sentence)}
		if len(s.checked.Problems) == 0 {
			s.outcome.Items = reasons(k.Words, f.Fields)
		}
	}
	if fault.Is(err, fault.Conflict) { // saving again writes these fields, and keeps the other's change of all else
		s.outcome.See, s.Base = versionPath(newest), newest
	}
	return w.entryAgain(c, k, s, page.StatusOf(err))
}

func (w *Pages) entryAgain(c echo.Context, k page.Call, s typedEntry, status int) error {
	return w.Reply(c, k, page.Page{Name: w.entryPage().Name}, w.entryView(k, s), status)
}

// catalogCompared is what a catalog would have meant for what was asked lately; nil for one that cannot be used or that
// changes nothing.
func (w *Pages) catalogCompared(k page.Call, checked offer.Checked) (*rules.ComparedModel, error) {
	if len(checked.Problems) > 0 || len(checked.Changes) == 0 {
		return nil, nil
	}
	q, err := w.Comparisons.Catalog(k.Ctx, k.Actor, checked.Catalog)
	if err != nil {
		return nil, err
	}
	say := k.Words
	m := &rules.ComparedModel{Other: true,
		Past: rules.VerdictModel{Title: say.S("sizes.again", "Refused", len(q.Refused), "Count", q.Seen),
			Differs: len(q.Refused) > 0 || q.Was != q.Now},
		Running: rules.VerdictModel{Title: say.S("sizes.held", "Count", q.Running)}}
	if q.Running == 0 {
		m.Running.Title = say.S("sizes.held_none")
	}
	if q.Was != q.Now {
		m.Past.Items = append(m.Past.Items, say.S("sizes.again_cost", "Now", say.Money(q.Now), "Was", say.Money(q.Was)))
	}
	if q.Capped {
		m.Past.Items = append(m.Past.Items, say.S("rules.capped", "Count", q.Seen))
	}
	for _, r := range q.Refused[:min(len(q.Refused), mostShown)] {
		m.Rows = append(m.Rows, rules.DifferenceModel{Name: w.comparedName(say, r.Compared),
			Was: ui.StateModel{Kind: ui.OK, Word: say.S("sizes.on_offer")},
			Now: ui.StateModel{Kind: ui.Danger, Word: say.S("sizes.not_again"), Detail: say.Text(r.Why)}})
	}
	if len(q.Refused) > mostShown {
		m.Shown = say.S("rules.shown", "Shown", mostShown, "Count", len(q.Refused))
	}
	return m, nil
}

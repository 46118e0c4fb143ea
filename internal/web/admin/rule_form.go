package admin

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/rules"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

const ruleFormPath = page.RulesPath + "/rule"

func rulePath(name string) string {
	if name == "" {
		return ruleFormPath
	}
	return ruleFormPath + "?name=" + url.QueryEscape(name)
}

// typedRule is one rule as it was typed.
type typedRule struct {
	policy.Rule
	known  string // name of the rule that is changed; "" for a new one
	before string // name of the rule that it stands before; "" for the last place
	base   int64
	note   string
	asCEL  bool
	rows   policy.Condition
	blanks int // rows to fill in
}

// emptyRows are offered where none is filled.
const emptyRows = 1

// mostTerms bounds a form that somebody makes up.
const mostTerms = 60

// ruleEdit opens the form of a rule of what was saved last, or of a new one.
func (w *Pages) ruleEdit(k page.Call) (page.View, error) {
	standing, err := w.Rules.Status(k.Actor)
	if err != nil {
		return page.View{}, err
	}
	tried, _, err := w.Rules.Check(k.Ctx, k.Actor, standing.Newest.Text) // it is for those who may change them
	if err != nil {
		return page.View{}, err
	}
	if tried == nil {
		return page.View{}, fault.New(fault.Conflict, i18n.T("policy.text_unreadable"))
	}
	f := typedRule{known: k.Get("name"), base: standing.Newest.Version, blanks: emptyRows,
		Rule: policy.Rule{When: "true", Outcome: policy.Approve}}
	found := f.known == ""
	list := tried.Rules()
	for i, r := range list {
		if r.Name != f.known {
			continue
		}
		f.Rule, found = r, true
		if i+1 < len(list) {
			f.before = list[i+1].Name
		}
	}
	if !found {
		return page.View{}, fault.New(fault.NotFound, i18n.T("policy.no_such_rule"))
	}
	if f.known == "" && len(list) > 0 {
		f.before = list[0].Name
	}
	rows, plain := policy.ReadCondition(f.When)
	f.rows, f.asCEL = rows, !plain
	return w.ruleView(k, f, nil, nil, false)
}

func readRule(c echo.Context) typedRule {
	base, err := strconv.ParseInt(c.FormValue("base"), 10, 64)
	if err != nil {
		base = -1
	}
	f := typedRule{known: c.FormValue("known"), before: c.FormValue("before"), base: base, note: c.FormValue("note"),
		asCEL: c.FormValue("as") == "cel", blanks: emptyRows}
	f.Name, f.Sentence = strings.TrimSpace(c.FormValue("name")), strings.TrimSpace(c.FormValue("sentence"))
	f.Outcome, f.When = policy.Outcome(c.FormValue("outcome")), strings.ReplaceAll(c.FormValue("when"), "\r\n", "\n")
	if f.Outcome == policy.Approve {
		f.By = identity.Role(c.FormValue("by"))
	}
	for i := range mostTerms {
		n := "-" + strconv.Itoa(i)
		if c.FormValue("action") == "remove"+n {
			continue
		}
		t := policy.Term{Or: c.FormValue("join"+n) == "or", Fact: c.FormValue("fact" + n),
			Op: policy.Op(c.FormValue("op" + n)), Value: strings.TrimSpace(c.FormValue("value" + n))}
		if t.Fact != "" || t.Value != "" {
			f.rows = append(f.rows, t)
		}
	}
	return f
}

// ruleSave checks what was typed, saves it, or shows it in another way.
func (w *Pages) ruleSave(c echo.Context) error {
	k, f := w.CallOf(c), readRule(c)
	standing, err := w.Rules.Status(k.Actor)
	if err != nil {
		return err
	}
	var problems []fault.Field
	if !f.asCEL {
		f.When, problems = f.rows.CEL()
	}
	if validating, err := w.Validating(c); err != nil {
		return err
	} else if validating {
		return w.ruleValidated(c, k, f, standing.Newest.Text, problems)
	}
	switch action := c.FormValue("action"); {
	case strings.HasPrefix(action, "remove-"):
		return w.ruleAgain(c, k, f, nil, nil, false, http.StatusOK)
	case action == "more":
		f.blanks = 3
		return w.ruleAgain(c, k, f, nil, nil, false, http.StatusOK)
	case len(problems) > 0:
		return w.ruleAgain(c, k, f, problems, nil, false, http.StatusUnprocessableEntity)
	case action == "cel":
		f.asCEL = true
		return w.ruleAgain(c, k, f, nil, nil, false, http.StatusOK)
	case action == "rows":
		rows, plain := policy.ReadCondition(f.When)
		f.rows, f.asCEL = rows, !plain
		return w.ruleAgain(c, k, f, nil, nil, false, http.StatusOK)
	}
	text, err := policy.Written(standing.Newest.Text, f.known, f.Rule, f.before)
	if err != nil {
		return err
	}
	d := policy.Draft{Text: text, Base: f.base, Note: f.note}
	if c.FormValue("action") == "yaml" {
		v, err := w.rulesEditor(k, d, nil, false)
		if err != nil {
			return err
		}
		return w.Reply(c, k, page.Page{Name: w.rulesEditPage().Name}, v, http.StatusOK)
	}
	tried, wrong, err := w.Rules.Check(k.Ctx, k.Actor, text)
	if err != nil {
		return err
	}
	for _, p := range wrong {
		problems = append(problems, f.problem(p))
	}
	if len(problems) > 0 {
		return w.ruleAgain(c, k, f, problems, nil, false, http.StatusUnprocessableEntity)
	}
	if c.FormValue("action") != "save" {
		return w.ruleAgain(c, k, f, nil, tried, true, http.StatusOK)
	}
	if _, err = w.Rules.Save(k.Ctx, k.Actor, d); err == nil {
		return w.Done(c, "rules-saved", page.RulesPath)
	}
	if !page.Correctable(err) {
		return err
	}
	if fault.Is(err, fault.Conflict) { // saving again keeps the other's change of the other rules
		f.base = standing.Newest.Version
	}
	return w.ruleAgain(c, k, f, page.ProblemsOf(err), tried, false, page.StatusOf(err))
}

// ruleValidated says what is wrong so far.
func (w *Pages) ruleValidated(c echo.Context, k page.Call, f typedRule, saved string, problems []fault.Field) error {
	if len(problems) == 0 {
		text, err := policy.Written(saved, f.known, f.Rule, f.before)
		if err != nil {
			return err
		}
		_, wrong, err := w.Rules.Check(k.Ctx, k.Actor, text)
		if err != nil {
			return err
		}
		for _, p := range wrong {
			problems = append(problems, f.problem(p))
		}
	}
	return w.Validated(c, "rule-form", page.FieldProblems(k.Words, problems))
}

// problem puts what is wrong with the text beside a field, as far as it is about this rule.
func (f typedRule) problem(p policy.Problem) fault.Field {
	field := fault.Field{Reason: i18n.Literal(p.Error())}
	switch {
	case f.Name == "" || p.Rule == f.Name && strings.Contains(p.Message, "name"):
		field.Name, field.Reason = "name", i18n.Literal(p.Message)
	case p.Rule == f.Name && f.asCEL:
		field.Name, field.Reason = "when", i18n.Literal(p.Message)
	}
	return field
}

func (w *Pages) ruleAgain(c echo.Context, k page.Call, f typedRule, problems []fault.Field, tried *policy.Policy,
	compare bool, status int) error {
	v, err := w.ruleView(k, f, problems, tried, compare)
	if err != nil {
		return err
	}
	return w.Reply(c, k, page.Page{Name: w.rulePage().Name}, v, status)
}

func (w *Pages) ruleView(k page.Call, f typedRule, problems []fault.Field, tried *policy.Policy,
	compare bool) (page.View, error) {
	say := k.Words
	title := say.S("rules.add")
	if f.known != "" {
		title = say.S("rules.change", "Name", f.known)
	}
	standing, err := w.Rules.Status(k.Actor)
	if err != nil {
		return page.View{}, err
	}
	_, plain := policy.ReadCondition(f.When)
	as := "rows"
	if f.asCEL {
		as = "cel"
	}
	m := rules.FormModel{Header: ui.HeaderModel{Title: title, Lead: say.S("rules.edit_lead"),
		Crumbs: []ui.CrumbModel{{Label: say.S("rules.title"), Href: page.RulesPath}, {Label: title}}},
		Errors: page.FormErrors(say, problems), Action: ruleFormPath, Back: page.RulesPath, AsCEL: f.asCEL, Plain: plain,
		Hidden: []ui.HiddenModel{{Name: "base", Value: strconv.FormatInt(f.base, 10)}, {Name: "known", Value: f.known},
			{Name: "as", Value: as}},
		Name: ui.FieldModel{Name: "name", Label: say.S("rules.field_name"), Value: f.Name, Required: true, MaxLength: 60,
			Error: page.WrongIn(say, problems, "name"), Autocomplete: "off", Test: "name"},
		When: ui.FieldModel{Name: "when", Kind: ui.TextareaField, Rows: 4, Mono: true, Label: say.S("rules.cel"),
			Value: f.When, Error: page.WrongIn(say, problems, "when"), Test: "when"},
		Note: ui.FieldModel{Name: "note", Label: say.S("rules.note"), Value: f.note, MaxLength: 300,
			Error: page.WrongIn(say, problems, "note"), Autocomplete: "off", Test: "note"},
		Rows: w.termModels(say, f, problems), Facts: []ui.OptionModel{{Label: say.S("sizes.choose")}}}
	for _, fact := range policy.FactNames() {
		m.Facts = append(m.Facts, ui.OptionModel{Value: fact.Name,
			Label: factLabel(say, fact.Name), Hint: say.Text(fact.Meaning)})
	}
	for _, op := range policy.Ops() {
		m.Ops = append(m.Ops, string(op))
	}
	m.Place, m.Steps, m.Outcome = outcomeFields(say, f, standing)
	if tried != nil {
		m.Examples = examples(say, w.Rules.Policy(), tried)
	}
	if tried != nil && compare {
		c, err := w.Comparisons.Rules(k.Ctx, k.Actor, tried)
		if err != nil {
			return page.View{}, err
		}
		compared := w.comparedModel(say, c)
		m.Compared = &compared
	}
	return page.View{Title: title, Nav: page.RulesPath, Body: rules.Form(m)}, nil
}

// factLabel is a fact in the words of the field.
func factLabel(say page.Words, name string) string {
	return say.S("rules.fact." + strings.ReplaceAll(strings.TrimPrefix(name, "request."), ".", "_"))
}

// knownValues are what a fact can be, to choose from: others can be typed, for the text may have them.
func (w *Pages) knownValues() map[string][]string {
	known := map[string][]string{
		"request.kind": page.IDs([]request.Kind{request.StartKind, request.ExtendKind, request.QuotaKind,
			request.ReachKind}),
		"request.workload":     page.IDs(catalog.WorkloadKinds()),
		"request.model.source": page.IDs(catalog.ModelSources()),
		"request.isolation":    page.IDs(catalog.Isolations())}
	for _, s := range w.Site().Catalog.Sizes {
		known["request.size"] = append(known["request.size"], s.Name)
		if t := string(s.Technology); t != "" && !slices.Contains(known["request.technology"], t) {
			known["request.technology"] = append(known["request.technology"], t)
		}
	}
	for _, t := range w.Site().Directory.Tenants {
		known["request.tenant"] = append(known["request.tenant"], t.Name)
	}
	for _, f := range policy.FactNames() {
		if f.Type == "bool" {
			known[f.Name] = []string{"true", "false"}
		}
	}
	return known
}

func (w *Pages) termModels(say page.Words, f typedRule, problems []fault.Field) []rules.TermModel {
	var list []rules.TermModel
	known := w.knownValues()
	for i, t := range f.rows {
		wrong := func(name string) string { return page.WrongIn(say, problems, name+"-"+strconv.Itoa(i)) }
		list = append(list, rules.TermModel{Or: t.Or, Fact: t.Fact, Op: string(t.Op), Value: t.Value,
			FactError: wrong("fact"), OpError: wrong("op"), Error: wrong("value"), Known: known[t.Fact]})
	}
	blanks := f.blanks
	if len(list) > 0 && blanks == emptyRows {
		blanks = 0 // a button adds more
	}
	return append(list, make([]rules.TermModel, blanks)...)
}

// outcomeFields are before which rule it stands, and what follows of it; steps says that only the text says who
// approves.
func outcomeFields(say page.Words, f typedRule, standing policy.Status) (place ui.FieldModel, steps bool,
	fields []ui.FieldModel) {
	before := []ui.OptionModel{{Label: say.S("rules.place_last")}}
	if saved, problems := policy.Parse(standing.Newest.Text); len(problems) == 0 {
		for _, r := range saved.Rules() {
			if r.Name != f.known {
				before = append(before, ui.OptionModel{Value: r.Name, Label: say.S("rules.place_before", "Name", r.Name)})
			} else if f.Outcome == policy.Approve {
				steps = len(r.Steps) > 0
			}
		}
	}
	choice := func(name, label, now string, options []ui.OptionModel) ui.FieldModel {
		return ui.FieldModel{Name: name, Kind: ui.SelectField, Label: label, Value: now, Options: options, Test: name}
	}
	var outcomes, roles []ui.OptionModel
	for _, o := range []policy.Outcome{policy.Allow, policy.Approve, policy.Refuse} {
		outcomes = append(outcomes, ui.OptionModel{Value: string(o), Label: page.UpperFirst(say.S("rules.outcome_" +
			string(o)))})
	}
	fields = append(fields, choice("outcome", say.S("rules.field_outcome"), string(f.Outcome), outcomes))
	if !steps {
		for _, r := range []identity.Role{identity.Approver, identity.Owner, identity.Admin} {
			roles = append(roles, ui.OptionModel{Value: string(r), Label: page.UpperFirst(say.Say(page.RoleWord(r)))})
		}
		by := choice("by", say.S("rules.field_by"), string(f.By), roles)
		by.Hint = say.S("rules.field_by_hint")
		fields = append(fields, by)
	}
	return choice("before", say.S("rules.place"), f.before, before), steps, append(fields,
		ui.FieldModel{Name: "sentence", Label: say.S("rules.field_sentence"),
			Hint: say.S("rules.field_sentence_hint"), Value: f.Sentence, MaxLength: 500, Autocomplete: "off",
			Test: "sentence"})
}

package admin

import (
	"strconv"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/rules"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

func rulesAt(version int64) string { return page.RulesPath + "/" + strconv.FormatInt(version, 10) }

// outcomeKinds gives each outcome its colour and icon.
var outcomeKinds = map[policy.Outcome]ui.Kind{policy.Allow: ui.OK, policy.Approve: ui.Waiting, policy.Refuse: ui.Danger}

// verdictState is what a rule leads to, with whose approval it needs and which rule it was.
func verdictState(say page.Words, v policy.Verdict, rule bool) ui.StateModel {
	m := ui.StateModel{Kind: outcomeKinds[v.Outcome], Word: say.S("rules.outcome_" + string(v.Outcome))}
	if v.Outcome == policy.Approve {
		m.Word = say.S("rules.outcome_by", "By", v.Who())
	}
	if rule {
		m.Detail = v.Rule
	}
	return m
}

// rulesShow answers: what happens to whom.
func (w *Pages) rulesShow(k page.Call) (page.View, error) {
	standing, err := w.Rules.Status(k.Actor)
	if err != nil {
		return page.View{}, err
	}
	shown, compiled := standing.Active, standing.Policy
	say := k.Words
	m := rules.PageModel{Header: ui.HeaderModel{Title: say.S("rules.title"), Lead: say.S("rules.lead")}}
	if text := k.Get("version"); text != "" {
		version, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return page.View{}, fault.New(fault.NotFound, i18n.T("web.no_page"))
		}
		if shown, err = w.Rules.Revision(k.Ctx, k.Actor, version); err != nil {
			return page.View{}, err
		}
		compiled, _ = policy.Parse(shown.Text)
		m.Header.Crumbs = []ui.CrumbModel{{Label: say.S("rules.title"), Href: page.RulesPath},
			{Label: say.S("rules.version", "Version", version)}}
	}
	m.Shown, m.Running, m.Newest = shown.Version, standing.Active.Version, standing.Newest.Version
	m.Text, m.Unreadable = shown.Text, standing.Unreadable
	for _, p := range standing.Problems {
		m.Problems = append(m.Problems, p.Error())
	}
	if compiled != nil {
		for i, r := range compiled.Rules() {
			m.Rows = append(m.Rows, rules.RowModel{Order: strconv.Itoa(i + 1), Name: r.Name, Words: ruleWords(say, r),
				When: r.When, Outcome: verdictState(say, r.Verdict(), false), Sentence: r.Sentence})
		}
	}
	if identity.Can(k.Actor, identity.ChangeRules, identity.Resource{}) {
		m.Edit, m.Add = page.RulesPath+"/edit", rulePath("")
		for i := range m.Rows {
			if shown.Version == standing.Newest.Version {
				m.Rows[i].Href = rulePath(m.Rows[i].Name)
			}
		}
		if shown.Version != standing.Newest.Version {
			m.Revert = rulesAt(shown.Version) + "/revert"
		}
	}
	before, _ := strconv.ParseInt(k.Get("before"), 10, 64)
	list, more, err := w.Rules.Revisions(k.Ctx, k.Actor, before, 20)
	if err != nil {
		return page.View{}, err
	}
	for _, r := range list {
		m.History = append(m.History, revisionModel(say, r))
	}
	if more {
		m.NextURL = page.RulesPath + "?before=" + strconv.FormatInt(list[len(list)-1].Version, 10)
	}
	return page.View{Title: m.Header.Title, Nav: page.RulesPath, Wide: true, Body: rules.Page(m),
		Parts: []page.Part{{ID: "rules", Draw: func(page.Words) templ.Component { return rules.Page(m) }}}}, nil
}

// RulesStrip tells administrators and auditors on every page that what was saved last does not decide.
func (w *Pages) RulesStrip(k page.Call) []ui.StripModel {
	if w.Rules == nil || !identity.Can(k.Actor, identity.ReadRules, identity.Resource{}) {
		return nil
	}
	now, err := w.Rules.Status(k.Actor)
	if err != nil || len(now.Problems) == 0 {
		return nil
	}
	return []ui.StripModel{rules.BrokenStrip(k.Words.Localizer, rules.BrokenModel{Newest: now.Newest.Version,
		Active: now.Active.Version, None: now.Unreadable})}
}

func revisionModel(say page.Words, r policy.Revision) rules.RevisionModel {
	m := rules.RevisionModel{Title: ui.StackModel{Title: say.S("rules.version", "Version", r.Version),
		Href: rulesAt(r.Version), Detail: say.Text(r.Note)}, Who: r.AuthorName}
	if r.Version == 0 {
		m.Title.Detail = say.S("rules.from_config")
		return m
	}
	m.At, m.Saved = say.Ago(r.At), true
	return m
}

// rulesEdit begins with what was saved last.
func (w *Pages) rulesEdit(k page.Call) (page.View, error) {
	standing, err := w.Rules.Status(k.Actor)
	if err != nil {
		return page.View{}, err
	}
	// it is for those who may change them
	if _, _, err := w.Rules.Check(k.Ctx, k.Actor, standing.Newest.Text); err != nil {
		return page.View{}, err
	}
	return w.rulesEditor(k, policy.Draft{Text: standing.Newest.Text, Base: standing.Newest.Version}, nil, false)
}

// ruleWords are what a built-in rule is about, for those who do not read CEL; "" for rules of the site's own, which
// have a sentence where their author gave one.
func ruleWords(say page.Words, r policy.Rule) string {
	for _, d := range policy.Defaults() {
		if d.Name == r.Name && d.When == r.When {
			return say.S("rules.about." + r.Name)
		}
	}
	return ""
}

// rulesEditor shows a text with everything that can be said of it.
func (w *Pages) rulesEditor(k page.Call, d policy.Draft, cause error, compare bool) (page.View, error) {
	say := k.Words
	m := rules.EditModel{
		Header: ui.HeaderModel{Title: say.S("rules.edit"), Lead: say.S("rules.edit_lead"),
			Crumbs: []ui.CrumbModel{{Label: say.S("rules.title"), Href: page.RulesPath}, {Label: say.S("rules.edit")}}},
		Action: page.RulesPath, Check: page.RulesPath + "/check", Base: d.Base, Text: d.Text, Note: d.Note,
	}
	for _, f := range policy.FactNames() {
		m.Facts = append(m.Facts, rules.FactModel{Name: f.Name, Type: f.Type, Meaning: say.Text(f.Meaning)})
	}
	tried, problems, err := w.Rules.Check(k.Ctx, k.Actor, d.Text)
	if err != nil {
		return page.View{}, err
	}
	var wrong []fault.Field
	for _, p := range problems {
		wrong = append(wrong, fault.Field{Name: "text", Reason: i18n.Literal(p.Error())})
	}
	if len(problems) == 0 && cause != nil {
		wrong = page.ProblemsOf(cause)
	}
	if m.Errors = page.FormErrors(say, wrong); len(problems) > 0 {
		m.TextError = problems[0].Error()
	}
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
	return page.View{Title: m.Header.Title, Nav: page.RulesPath, Body: rules.Edit(m)}, nil
}

func examples(say page.Words, now, then *policy.Policy) []rules.ExampleModel {
	var list []rules.ExampleModel
	for _, e := range policy.Examples() {
		a, b := verdictState(say, now.Decide(e.Facts), true), verdictState(say, then.Decide(e.Facts), true)
		list = append(list, rules.ExampleModel{Title: say.Text(e.Title), Now: a, Then: b, Changed: a != b})
	}
	return list
}

// mostShown is how many differences the preview lists; it counts all.
const mostShown = 50

func (w *Pages) comparedModel(say page.Words, c request.Comparison) rules.ComparedModel {
	m := rules.ComparedModel{
		Past: rules.VerdictModel{Title: say.S("rules.differ", "Differ", len(c.Differ), "Count", c.Seen),
			Body: say.S("rules.no_refused"), Differs: len(c.Differ) > 0},
		Running: rules.VerdictModel{Title: say.S("rules.affected", "Affected", len(c.Stricter), "Count", c.Running),
			Differs: len(c.Stricter) > 0}}
	if len(c.Stricter) > 0 {
		m.Running.Body = say.S("rules.affected_body")
	}
	if c.Capped {
		m.Past.Items = append(m.Past.Items, say.S("rules.capped", "Count", c.Seen))
	}
	m.Rows, m.Affected = w.differenceModels(say, c.Differ), w.differenceModels(say, c.Stricter)
	if len(c.Differ) > mostShown {
		m.Shown = say.S("rules.shown", "Shown", mostShown, "Count", len(c.Differ))
	}
	return m
}

func (w *Pages) differenceModels(say page.Words, list []request.Difference) []rules.DifferenceModel {
	var models []rules.DifferenceModel
	for _, d := range list[:min(len(list), mostShown)] {
		models = append(models, rules.DifferenceModel{
			Name: w.comparedName(say, d.Compared),
			Was:  verdictState(say, d.Was, true), Now: verdictState(say, d.Now, true)})
	}
	return models
}

// comparedName leads to a request; what was refused when it was sent has no page.
func (w *Pages) comparedName(say page.Words, c request.Compared) ui.StackModel {
	r := request.Request{Kind: c.Kind, AskerName: c.AskerName, Spec: c.Spec}
	m := ui.StackModel{Title: r.AskerName + " · " + say.SizeTitle(r.Spec.Size), Detail: w.RequestWhat(say, r)}
	if c.Request != "" {
		m.Href = page.RequestPath(c.Request)
	}
	return m
}

func rulesDraft(c echo.Context) policy.Draft {
	base, err := strconv.ParseInt(c.FormValue("base"), 10, 64)
	if err != nil {
		base = -1
	}
	return policy.Draft{Text: c.FormValue("text"), Base: base, Note: c.FormValue("note")}
}

// rulesCheck writes nothing: it says what the text would do.
func (w *Pages) rulesCheck(c echo.Context) error {
	k := w.CallOf(c)
	if validating, err := w.Validating(c); err != nil {
		return err
	} else if validating {
		return w.rulesValidated(c, k)
	}
	v, err := w.rulesEditor(k, rulesDraft(c), nil, true)
	if err != nil {
		return err
	}
	return w.Reply(c, k, page.Page{Name: w.rulesEditPage().Name}, v, 200)
}

func (w *Pages) rulesValidated(c echo.Context, k page.Call) error {
	_, wrong, err := w.Rules.Check(k.Ctx, k.Actor, rulesDraft(c).Text)
	if err != nil {
		return err
	}
	var problems []ui.ProblemModel
	for _, p := range wrong {
		problems = append(problems, ui.ProblemModel{Line: max(p.Line, 1), LineOf: "text", Path: p.Rule, Words: p.Message})
	}
	return w.Validated(c, "rules-form", problems)
}

func (w *Pages) rulesSave(c echo.Context) error {
	k := w.CallOf(c)
	d := rulesDraft(c)
	_, err := w.Rules.Save(k.Ctx, k.Actor, d)
	return w.rulesSaved(c, k, d, err)
}

func (w *Pages) rulesRevert(c echo.Context) error {
	k := w.CallOf(c)
	version, err := strconv.ParseInt(c.Param("version"), 10, 64)
	if err != nil {
		return fault.New(fault.NotFound, i18n.T("web.no_page"))
	}
	_, err = w.Rules.Revert(k.Ctx, k.Actor, version, rulesDraft(c).Base)
	if err != nil {
		return err
	}
	return w.Done(c, "rules-saved", page.RulesPath)
}

func (w *Pages) rulesSaved(c echo.Context, k page.Call, d policy.Draft, err error) error {
	if err == nil {
		return w.Done(c, "rules-saved", page.RulesPath)
	}
	if !page.Correctable(err) {
		return err
	}
	v, viewErr := w.rulesEditor(k, d, err, false)
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, page.Page{Name: w.rulesEditPage().Name}, v, page.StatusOf(err))
}

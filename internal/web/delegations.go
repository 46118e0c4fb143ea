package web

import (
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/delegation"
	"github.com/gpu-portal/gpu-portal/views/requests"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

const delegationsPath = "/approvals/delegations"

// delegationForm is what was typed: days of the site's calendar, the last one counts as a whole.
type delegationForm struct{ Find, Person, From, Until string }

// draft reads the days; problems name what cannot be read.
func (f delegationForm) draft(zone *time.Location) (delegation.Draft, []fault.Field) {
	d := delegation.Draft{Delegate: identity.PersonID(f.Person)}
	var problems []fault.Field
	day := func(field, text string) time.Time {
		t, err := time.ParseInLocation(time.DateOnly, text, zone)
		if err != nil {
			problems = append(problems, fault.Field{Name: field, Reason: i18n.T("delegation.day_unreadable")})
		}
		return t
	}
	d.From = day("from", f.From)
	if until := day("until", f.Until); !until.IsZero() {
		d.Until = until.AddDate(0, 0, 1)
	}
	if f.Person == "" {
		problems = append(problems, fault.Field{Name: "person", Reason: i18n.T("delegation.choose")})
	}
	return d, problems
}

// delegations answers: who decides in my place while I am away, and for whom do I decide.
func (w *Web) delegations(k call) (view, error) {
	today := w.Now().In(w.Usage.Zone)
	return w.delegationsView(k, delegationForm{Find: strings.TrimSpace(k.get("find")), From: today.Format(time.DateOnly),
		Until: today.AddDate(0, 0, 7).Format(time.DateOnly)}, nil)
}

func (w *Web) delegationsView(k call, form delegationForm, problems []fault.Field) (view, error) {
	say := k.words
	mine, others, err := w.Delegations.List(k.ctx, k.actor)
	if err != nil {
		return view{}, err
	}
	waiting, err := w.waiting(k)
	if err != nil {
		return view{}, err
	}
	m := requests.DelegationsModel{
		Header: ui.HeaderModel{Title: say.S("delegation.title"),
			Tabs: w.requestTabs(k, delegationsPath, waiting)},
		Errors: formErrors(say, problems),
		Search: ui.FormModel{ID: "delegation-search", Action: delegationsPath, Get: true, Test: "delegation-search"},
		Find: ui.FieldModel{ID: "find", Name: "find", Kind: ui.SearchField, Label: say.S("delegation.find"),
			Hint: say.S("delegation.find_hint"), Value: form.Find, MaxLength: 100, Autocomplete: "off", Test: "delegation-find"},
		Go: ui.ButtonModel{Label: say.S("delegation.search"), Icon: "search", Test: "delegation-go"},
	}
	for _, p := range mine {
		row := periodModel(say, p, p.DelegateName)
		row.End = &ui.PostButtonModel{Action: delegationsPath + "/" + p.ID + "/end",
			Button: ui.ButtonModel{Label: say.S("delegation.end"), Kind: ui.DangerSecondary, Small: true,
				Test: "delegation-end"}}
		m.Mine = append(m.Mine, row)
	}
	for _, p := range others {
		m.Others = append(m.Others, periodModel(say, p, p.Name))
	}
	if may := w.Delegations.May(k.actor); may != nil {
		m.Why = say.say(fault.As(may).Sentence)
	} else if form.Find != "" {
		if m.Name, err = w.nameForm(k, form, problems); err != nil {
			return view{}, err
		}
		if m.Name == nil {
			m.Nobody = say.S("delegation.nobody", "Text", form.Find)
		}
	}
	return view{title: m.Header.Title, nav: "/requests", body: requests.Delegations(m)}, nil
}

// nameForm asks which of those who were found, and for how long; nil where nobody was.
func (w *Web) nameForm(k call, form delegationForm, problems []fault.Field) (*requests.NameModel, error) {
	say := k.words
	found, err := w.Delegations.Find(k.ctx, k.actor, form.Find)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	who := ui.FieldModel{ID: "person", Name: "person", Kind: ui.RadiosField, Label: say.S("delegation.who"),
		Value: form.Person, Required: true, Error: wrongIn(say, problems, "person"), Test: "delegation-who"}
	for _, p := range found {
		who.Options = append(who.Options, ui.OptionModel{Value: string(p.ID), Label: p.Name, Hint: p.Email,
			Selected: len(found) == 1})
	}
	return &requests.NameModel{
		Form: ui.FormModel{ID: "delegation-create", Action: delegationsPath,
			Hidden: []ui.HiddenModel{{Name: "find", Value: form.Find}}, Test: "delegation-form"},
		Fields: []ui.FieldModel{who,
			{ID: "from", Name: "from", Kind: ui.DateField, Label: say.S("delegation.first_day"), Value: form.From,
				Error: wrongIn(say, problems, "from"), Required: true, Short: true, Test: "delegation-from"},
			{ID: "until", Name: "until", Kind: ui.DateField, Label: say.S("delegation.last_day"), Value: form.Until,
				Error: wrongIn(say, problems, "until"), Required: true, Short: true, Test: "delegation-until"}},
		Button: ui.ButtonModel{Label: say.S("delegation.create"), Kind: ui.Primary, Icon: "check", Test: "delegation-create"},
	}, nil
}

func periodModel(say words, p delegation.Delegation, name string) requests.DelegationModel {
	m := requests.DelegationModel{Name: name, From: say.at(p.From), Until: say.at(p.Until),
		State: ui.StateModel{Kind: ui.Waiting, Word: say.S("delegation.later"), Test: "state"}}
	if p.Counts(say.now) {
		m.State = ui.StateModel{Kind: ui.OK, Word: say.S("delegation.now"), Test: "state"}
	}
	return m
}

func (w *Web) delegationCreate(c echo.Context) error {
	k := w.callOf(c)
	form := delegationForm{Find: strings.TrimSpace(c.FormValue("find")), Person: c.FormValue("person"),
		From: c.FormValue("from"), Until: c.FormValue("until")}
	d, problems := form.draft(w.Usage.Zone)
	err := fault.InvalidFields(problems)
	if err == nil {
		if _, err = w.Delegations.Create(k.ctx, k.actor, d); err == nil {
			return w.done(c, "delegation-created", delegationsPath)
		}
	}
	if !correctable(err) {
		return err
	}
	v, viewErr := w.delegationsView(k, form, problemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.reply(c, k, page{name: delegationsPage.name}, v, statusOf(err))
}

func (w *Web) delegationEnd(c echo.Context) error {
	k := w.callOf(c)
	if err := w.Delegations.End(k.ctx, k.actor, c.Param("id")); err != nil {
		return err
	}
	return w.done(c, "delegation-ended", delegationsPath)
}

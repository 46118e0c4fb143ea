package web

import (
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/standin"
	"github.com/gpu-portal/gpu-portal/views/requests"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

const standInsPath = "/approvals/stand-ins"

// standInForm is what was typed: days of the site's calendar, the last one counts as a whole.
type standInForm struct{ Find, Person, From, Until string }

// draft reads the days; problems name what cannot be read.
func (f standInForm) draft(zone *time.Location) (standin.Draft, []fault.Field) {
	d := standin.Draft{StandIn: identity.PersonID(f.Person)}
	var problems []fault.Field
	day := func(field, text string) time.Time {
		t, err := time.ParseInLocation(time.DateOnly, text, zone)
		if err != nil {
			problems = append(problems, fault.Field{Name: field, Reason: i18n.T("standin.day_unreadable")})
		}
		return t
	}
	d.From = day("from", f.From)
	if until := day("until", f.Until); !until.IsZero() {
		d.Until = until.AddDate(0, 0, 1)
	}
	if f.Person == "" {
		problems = append(problems, fault.Field{Name: "person", Reason: i18n.T("standin.choose")})
	}
	return d, problems
}

// standIns answers: who decides in my place while I am away, and for whom do I decide.
func (w *Web) standIns(k call) (view, error) {
	today := w.Now().In(w.Usage.Zone)
	return w.standInsView(k, standInForm{Find: strings.TrimSpace(k.get("find")), From: today.Format(time.DateOnly),
		Until: today.AddDate(0, 0, 7).Format(time.DateOnly)}, nil)
}

func (w *Web) standInsView(k call, form standInForm, problems []fault.Field) (view, error) {
	say := k.words
	mine, others, err := w.StandIns.List(k.ctx, k.actor)
	if err != nil {
		return view{}, err
	}
	m := requests.StandInsModel{
		Header: ui.HeaderModel{Title: say.S("standin.title"),
			Crumbs: []ui.CrumbModel{{Label: say.S("requests.inbox"), Href: "/approvals"}, {Label: say.S("standin.title")}}},
		Errors: formErrors(say, problems),
		Search: ui.FormModel{ID: "standin-search", Action: standInsPath, Get: true, Test: "standin-search"},
		Find: ui.FieldModel{ID: "find", Name: "find", Kind: ui.SearchField, Label: say.S("standin.find"),
			Hint: say.S("standin.find_hint"), Value: form.Find, MaxLength: 100, Autocomplete: "off", Test: "standin-find"},
		Go: ui.ButtonModel{Label: say.S("standin.search"), Icon: "search", Test: "standin-go"},
	}
	for _, p := range mine {
		row := periodModel(say, p, p.StandName)
		row.End = &ui.PostButtonModel{Action: standInsPath + "/" + p.ID + "/end",
			Button: ui.ButtonModel{Label: say.S("standin.end"), Kind: ui.DangerSecondary, Small: true, Test: "standin-end"}}
		m.Mine = append(m.Mine, row)
	}
	for _, p := range others {
		m.Others = append(m.Others, periodModel(say, p, p.Name))
	}
	if may := w.StandIns.May(k.actor); may != nil {
		m.Why = say.say(fault.As(may).Sentence)
	} else if form.Find != "" {
		if m.Name, err = w.nameForm(k, form, problems); err != nil {
			return view{}, err
		}
		if m.Name == nil {
			m.Nobody = say.S("standin.nobody", "Text", form.Find)
		}
	}
	return view{title: m.Header.Title, nav: "/approvals", body: requests.StandIns(m)}, nil
}

// nameForm asks which of those who were found, and for how long; nil where nobody was.
func (w *Web) nameForm(k call, form standInForm, problems []fault.Field) (*requests.NameModel, error) {
	say := k.words
	found, err := w.StandIns.Find(k.ctx, k.actor, form.Find)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	who := ui.FieldModel{ID: "person", Name: "person", Kind: ui.RadiosField, Label: say.S("standin.who"),
		Value: form.Person, Required: true, Error: wrongIn(say, problems, "person"), Test: "standin-who"}
	for _, p := range found {
		who.Options = append(who.Options, ui.OptionModel{Value: string(p.ID), Label: p.Name, Hint: p.Email,
			Selected: len(found) == 1})
	}
	return &requests.NameModel{
		Form: ui.FormModel{ID: "standin-create", Action: standInsPath,
			Hidden: []ui.HiddenModel{{Name: "find", Value: form.Find}}, Test: "standin-form"},
		Fields: []ui.FieldModel{who,
			{ID: "from", Name: "from", Kind: ui.DateField, Label: say.S("standin.first_day"), Value: form.From,
				Error: wrongIn(say, problems, "from"), Required: true, Short: true, Test: "standin-from"},
			{ID: "until", Name: "until", Kind: ui.DateField, Label: say.S("standin.last_day"), Value: form.Until,
				Error: wrongIn(say, problems, "until"), Required: true, Short: true, Test: "standin-until"}},
		Button: ui.ButtonModel{Label: say.S("standin.create"), Kind: ui.Primary, Icon: "check", Test: "standin-create"},
	}, nil
}

func periodModel(say words, p standin.Period, name string) requests.StandInModel {
	m := requests.StandInModel{Name: name, From: say.at(p.From), Until: say.at(p.Until),
		State: ui.StateModel{Kind: ui.Waiting, Word: say.S("standin.later"), Test: "state"}}
	if p.Counts(say.now) {
		m.State = ui.StateModel{Kind: ui.OK, Word: say.S("standin.now"), Test: "state"}
	}
	return m
}

func (w *Web) standInCreate(c echo.Context) error {
	k := w.callOf(c)
	form := standInForm{Find: strings.TrimSpace(c.FormValue("find")), Person: c.FormValue("person"),
		From: c.FormValue("from"), Until: c.FormValue("until")}
	d, problems := form.draft(w.Usage.Zone)
	err := fault.InvalidFields(problems)
	if err == nil {
		if _, err = w.StandIns.Create(k.ctx, k.actor, d); err == nil {
			return w.done(c, "standin-created", standInsPath)
		}
	}
	if !correctable(err) {
		return err
	}
	v, viewErr := w.standInsView(k, form, problemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.reply(c, k, page{name: standInsPage.name}, v, statusOf(err))
}

func (w *Web) standInEnd(c echo.Context) error {
	k := w.callOf(c)
	if err := w.StandIns.End(k.ctx, k.actor, c.Param("id")); err != nil {
		return err
	}
	return w.done(c, "standin-ended", standInsPath)
}

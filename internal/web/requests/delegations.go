package requests

import (
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/delegation"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/requests"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

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
func (w *Pages) delegations(k page.Call) (page.View, error) {
	today := w.Now().In(w.Usage.Zone)
	return w.delegationsView(k, delegationForm{Find: strings.TrimSpace(k.Get("find")), From: today.Format(time.DateOnly),
		Until: today.AddDate(0, 0, 7).Format(time.DateOnly)}, nil)
}

func (w *Pages) delegationsView(k page.Call, form delegationForm, problems []fault.Field) (page.View, error) {
	say := k.Words
	mine, others, err := w.Delegations.List(k.Ctx, k.Actor)
	if err != nil {
		return page.View{}, err
	}
	waiting, err := w.Waiting(k)
	if err != nil {
		return page.View{}, err
	}
	m := requests.DelegationsModel{
		Header: ui.HeaderModel{Title: say.S("delegation.title"),
			Tabs: w.RequestTabs(k, page.DelegationsPath, waiting)},
		Errors: page.FormErrors(say, problems), Path: page.DelegationsPath, Find: form.Find,
	}
	for _, p := range mine {
		row := periodModel(say, p, p.DelegateName)
		row.End = page.DelegationsPath + "/" + p.ID + "/end"
		m.Mine = append(m.Mine, row)
	}
	for _, p := range others {
		row := periodModel(say, p, p.Name)
		if row.Now {
			row.Open = page.ApprovalsPath
		}
		m.Others = append(m.Others, row)
	}
	if may := w.Delegations.May(k.Actor); may != nil {
		m.Why = say.Text(fault.As(may).Sentence)
	} else if form.Find != "" {
		if m.Name, err = w.nameForm(k, form, problems); err != nil {
			return page.View{}, err
		}
	}
	return page.View{Title: m.Header.Title, Nav: "/requests", Body: requests.Delegations(m), Waiting: &waiting}, nil
}

// nameForm asks which of those who were found, and for how long; nil where nobody was.
func (w *Pages) nameForm(k page.Call, form delegationForm, problems []fault.Field) (*requests.NameModel, error) {
	say := k.Words
	found, err := w.Delegations.Find(k.Ctx, k.Actor, form.Find)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	m := &requests.NameModel{Person: form.Person, PersonError: page.WrongIn(say, problems, "person"), From: form.From,
		FromError: page.WrongIn(say, problems, "from"), Until: form.Until, UntilError: page.WrongIn(say, problems, "until")}
	for _, p := range found {
		m.Found = append(m.Found, ui.OptionModel{Value: string(p.ID), Label: p.Name, Hint: p.Email,
			Selected: len(found) == 1})
	}
	return m, nil
}

func periodModel(say page.Words, p delegation.Delegation, name string) requests.DelegationModel {
	m := requests.DelegationModel{Name: name, From: say.At(p.From), Until: say.At(p.Until), Now: p.Counts(say.Now)}
	next := p.From
	if m.Now {
		next = p.Until
	}
	m.Left = say.Duration(next.Sub(say.Now))
	return m
}

func (w *Pages) delegationCreate(c echo.Context) error {
	k := w.CallOf(c)
	form := delegationForm{Find: strings.TrimSpace(c.FormValue("find")), Person: c.FormValue("person"),
		From: c.FormValue("from"), Until: c.FormValue("until")}
	d, problems := form.draft(w.Usage.Zone)
	err := fault.InvalidFields(problems)
	if err == nil {
		var made delegation.Delegation
		if made, err = w.Delegations.Create(k.Ctx, k.Actor, d); err == nil {
			return w.Done(c, "delegation-created", page.DelegationsPath, made.ID)
		}
	}
	if !page.Correctable(err) {
		return err
	}
	v, viewErr := w.delegationsView(k, form, page.ProblemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, page.Page{Name: w.delegationsPage().Name}, v, page.StatusOf(err))
}

func (w *Pages) delegationEnd(c echo.Context) error {
	k := w.CallOf(c)
	if err := w.Delegations.End(k.Ctx, k.Actor, c.Param("id")); err != nil {
		return err
	}
	return w.Done(c, "delegation-ended", page.DelegationsPath)
}

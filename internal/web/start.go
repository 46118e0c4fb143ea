package web

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/views/start"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// start answers: what can I get, when, for how much.
func (w *Web) start(k call) (view, error) {
	if len(w.startable(k)) == 0 {
		m := start.PageModel{Header: startHeader(k.words), None: &ui.EmptyStateModel{Icon: "lock",
			Title: k.words.S("start.none"), Test: "start-none",
			Lines: []string{k.words.S("start.none_why")}}}
		return view{title: m.Header.Title, nav: "/start", body: start.Page(m), startOff: true}, nil
	}
	form, err := w.startDefaults(k)
	if err != nil {
		return view{}, err
	}
	return w.startView(k, form, nil)
}

func startHeader(say words) ui.HeaderModel {
	return ui.HeaderModel{Title: say.S("start.title")}
}

// startView draws the page around what was typed; problems stand beside their fields.
func (w *Web) startView(k call, form StartForm, problems []fault.Field) (view, error) {
	m, offers, err := w.startModel(k, form, problems)
	if err != nil {
		return view{}, err
	}
	v := view{title: m.Header.Title, nav: "/start", body: start.Page(m), startOff: true}
	v.parts = freeParts(offers, m.Form.Sizes)
	return v, nil
}

func (w *Web) startModel(k call, form StartForm, problems []fault.Field) (start.PageModel, []request.Offer, error) {
	offers, err := w.Offers.List(k.ctx, k.actor, form.Tenant)
	if err != nil {
		return start.PageModel{}, nil, err
	}
	fields, err := w.startFields(k, form, offers, problems)
	if err != nil {
		return start.PageModel{}, nil, err
	}
	summary, err := w.summary(k, form, offers, wrongIn(k.words, problems, "reason"))
	return start.PageModel{Header: startHeader(k.words), Form: fields, Summary: summary}, offers, err
}

// startDefaults fills the form: what the address asks for, else what was used last, else the smallest that is free.
func (w *Web) startDefaults(k call) (StartForm, error) {
	form := readStartForm(k.query)
	teams := w.startable(k)
	if !offered(teams, form.Tenant) {
		form.Tenant = chooseTeam(k, teams)
	}
	form.Key = w.Requests.NewKey()
	offers, err := w.Offers.List(k.ctx, k.actor, form.Tenant)
	if err != nil {
		return form, err
	}
	last, err := w.lastUsed(k, form.Tenant)
	if err != nil {
		return form, err
	}
	form = w.teamDefaultsIn(form, offers)
	form.Last = orElse(form.Last, last.Size.Name)
	if form.Kind == "" {
		form.Kind = orElse(string(last.Kind), string(catalog.Notebook))
	}
	if form.Size == "" {
		form.Size = defaultSize(offers, last.Size.Name)
	}
	if form.Image == "" && string(last.Kind) == form.Kind {
		form.Image = last.Image.Name
	}
	return w.settle(form, offers), nil
}

func orElse(value, otherwise string) string {
	if value != "" {
		return value
	}
	return otherwise
}

func offered(teams []tenant.Tenant, name string) bool {
	for _, t := range teams {
		if t.Name == name {
			return true
		}
	}
	return false
}

// lastUsed is the last start of a team that the actor sent.
func (w *Web) lastUsed(k call, team string) (request.Spec, error) {
	items, _, err := w.Requests.List(k.ctx, k.actor, request.ScopeMine, request.Filter{Tenants: []string{team}, Limit: 10})
	for _, r := range items {
		if r.Kind == request.StartKind {
			return r.Spec, err
		}
	}
	return request.Spec{}, err
}

// settle gives the fields that hang on others a value that fits: an image of the kind, the size's usual lease.
func (w *Web) settle(form StartForm, offers []request.Offer) StartForm {
	form = w.settleImage(form)
	for _, o := range offers {
		if o.Size.Name == form.Size && form.Lease == "" && o.Size.DefaultLease > 0 {
			form.Lease = o.Size.DefaultLease.String()
		}
	}
	if form.Storage == "" && form.Volume == "" {
		form.Storage = "10Gi"
	}
	return form
}

// images are those that the team may use for this kind.
func (w *Web) images(form StartForm) []catalog.Image {
	var fitting []catalog.Image
	for _, i := range w.Site().ImagesFor(form.Tenant) {
		if string(i.Kind) == form.Kind && i.OfferedTo(form.Tenant) {
			fitting = append(fitting, i)
		}
	}
	return fitting
}

// startSummary answers with the summary of what was typed; without scripts with the whole page.
func (w *Web) startSummary(c echo.Context) error {
	k, form, err := w.startTyped(c)
	if err != nil {
		return err
	}
	if !isFragment(c) {
		return w.startPageFor(c, k, form)
	}
	offers, err := w.Offers.List(k.ctx, k.actor, form.Tenant)
	if err != nil {
		return err
	}
	m, err := w.summary(k, form, offers, "")
	if err != nil {
		return err
	}
	return w.write(c, http.StatusOK, start.Summary(m))
}

// startForm answers with choices and summary, for a change that alters what there is to choose.
func (w *Web) startForm(c echo.Context) error {
	k, form, err := w.startTyped(c)
	if err != nil {
		return err
	}
	if !isFragment(c) {
		return w.startPageFor(c, k, form)
	}
	m, _, err := w.startModel(k, form, nil)
	if err != nil {
		return err
	}
	return w.write(c, http.StatusOK, start.Body(m))
}

func (w *Web) startPageFor(c echo.Context, k call, form StartForm) error {
	v, err := w.startView(k, form, nil)
	if err != nil {
		return err
	}
	return w.reply(c, k, page{name: startPage.name}, v, http.StatusOK)
}

// startTyped reads the form and gives what hangs on other fields a value that fits.
func (w *Web) startTyped(c echo.Context) (call, StartForm, error) {
	k := w.callOf(c)
	values, err := c.FormParams()
	if err != nil {
		return k, StartForm{}, fault.Wrap(fault.Invalid, err, i18n.T("web.unreadable_form"))
	}
	form := readStartForm(values)
	if !offered(w.startable(k), form.Tenant) {
		form.Tenant = chooseTeam(k, w.startable(k))
	}
	return k, w.settleImage(form), nil
}

// settleImage replaces an image of the other kind, after the kind was changed.
func (w *Web) settleImage(form StartForm) StartForm {
	images := w.images(form)
	for _, i := range images {
		if i.Name == form.Image {
			return form
		}
	}
	if len(images) > 0 {
		form.Image = images[0].Name
	}
	return form
}

// startSubmit sends the spec. What cannot be granted comes back with what was typed and the reason beside its field.
func (w *Web) startSubmit(c echo.Context) error {
	k := w.callOf(c)
	values, err := c.FormParams()
	if err != nil {
		return fault.Wrap(fault.Invalid, err, i18n.T("web.unreadable_form"))
	}
	form := readStartForm(values)
	r, err := w.Requests.Submit(k.ctx, k.actor, form.Draft())
	switch {
	case err == nil && r.State == request.Approved && r.Workload != "":
		return w.done(c, "", workloadPath(r.Workload))
	case err == nil:
		return w.done(c, "submitted", requestPath(r.ID))
	case !correctable(err):
		return err
	}
	return w.startAgain(c, k, form, err)
}

// correctable reports whether a person can change something on the form about it.
func correctable(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Invalid || kind == fault.Conflict || kind == fault.Forbidden
}

// statusOf is the status of a form that comes back; serve maps everything else.
func statusOf(err error) int {
	switch fault.KindOf(err) {
	case fault.Conflict:
		return http.StatusConflict
	case fault.Forbidden:
		return http.StatusForbidden
	}
	return http.StatusUnprocessableEntity
}

func (w *Web) startAgain(c echo.Context, k call, form StartForm, cause error) error {
	problems := problemsOf(cause)
	form.Key = w.nextKey(form.Key, cause)
	if teams := w.startable(k); !offered(teams, form.Tenant) {
		if len(teams) == 0 {
			return cause
		}
		form.Tenant = chooseTeam(k, teams)
	}
	v, err := w.startView(k, form, problems)
	if err != nil {
		return err
	}
	return w.reply(c, k, page{name: startPage.name}, v, statusOf(cause))
}

// problemsOf are the field problems of a fault; one without fields concerns the whole form.
func problemsOf(err error) []fault.Field {
	var f *fault.Error
	if !errors.As(err, &f) {
		return nil
	}
	if len(f.Fields) > 0 {
		return f.Fields
	}
	return []fault.Field{{Reason: f.Sentence, See: f.See}}
}

// formErrors sums the problems up, each leading to its field.
func formErrors(say words, problems []fault.Field) ui.FormErrorsModel {
	m := ui.FormErrorsModel{}
	for _, p := range problems {
		m.Items = append(m.Items, ui.FormErrorModel{FieldID: p.Name, Words: say.say(p.Reason)})
		if p.See != "" {
			m.See = &ui.LinkButtonModel{Label: say.S("web.see_earlier"), Href: "/" + p.See, Kind: ui.Secondary, Small: true,
				Test: "see-earlier"}
		}
	}
	m.Title = say.S("web.form_errors", "Count", len(m.Items))
	return m
}

// askErrors are those of a form that makes a request. One that was sent before with other contents can be sent as
// another request: the form that comes back has another key.
func askErrors(say words, problems []fault.Field, form string) ui.FormErrorsModel {
	m := formErrors(say, problems)
	if m.See != nil {
		m.Title = say.S("web.sent_already")
		m.Again = &ui.ButtonModel{Label: say.S("web.send_another"), Kind: ui.Secondary, Small: true, Form: form,
			Test: "send-another"}
	}
	return m
}

// nextKey is the key of a form that comes back: another one where a request was made with it.
func (w *Web) nextKey(key string, cause error) string {
	if fault.As(cause).See != "" {
		return w.Requests.NewKey()
	}
	return key
}

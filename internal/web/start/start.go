package start

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/start"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// start answers: what can I get, when, for how much.
func (w *Pages) start(k page.Call) (page.View, error) {
	if len(w.Startable(k)) == 0 {
		m := start.PageModel{Header: startHeader(k.Words), None: true}
		return page.View{Title: m.Header.Title, Nav: "/start", Body: start.Page(m), StartOff: true}, nil
	}
	form, offers, err := w.startDefaults(k)
	if err != nil {
		return page.View{}, err
	}
	if !k.Query.Has("size") {
		if form, err = w.fitSize(k, form); err != nil {
			return page.View{}, err
		}
	}
	return w.startView(k, form, offers, nil)
}

// fitSize takes the smallest size that has room for the model, where the one in the form has not.
func (w *Pages) fitSize(k page.Call, form blocks.StartForm) (blocks.StartForm, error) {
	if form.Kind != string(catalog.Endpoint) {
		return form, nil
	}
	p, err := w.Requests.Preview(k.Ctx, k.Actor, form.Draft())
	if err == nil && p.Model != nil && !p.Model.Fits() && p.Model.Smallest.Name != "" {
		form.Size = p.Model.Smallest.Name
	}
	return form, err
}

// sizesModel reports whether the field that was changed is one that says how much memory a model needs: then the size
// follows it. A size that somebody chose afterwards stays.
func sizesModel(c echo.Context) bool {
	_, id, _ := strings.Cut(c.Request().Header.Get("HX-Source"), "#") // "input#model.name"
	switch id {
	case "tenant", "image", "model.name", "model.contextLength", "model.quantization", "nodes":
		return true
	}
	return strings.HasPrefix(id, "kind-")
}

func startHeader(say page.Words) ui.HeaderModel {
	return ui.HeaderModel{Title: say.S("start.title")}
}

// startView draws the page around what was typed, with the offers of the form's team; problems stand beside their
// fields.
func (w *Pages) startView(k page.Call, form blocks.StartForm, offers []request.Offer,
	problems []fault.Field) (page.View, error) {
	m, err := w.startModel(k, form, offers, problems)
	if err != nil {
		return page.View{}, err
	}
	v := page.View{Title: m.Header.Title, Nav: "/start", Body: start.Page(m), StartOff: true, Tour: page.TourStart}
	v.Parts = freeParts(offers, m.Form.Sizes)
	return v, nil
}

func (w *Pages) startModel(k page.Call, form blocks.StartForm, offers []request.Offer,
	problems []fault.Field) (start.PageModel, error) {
	p, err := w.Requests.Preview(k.Ctx, k.Actor, form.Draft())
	if err != nil {
		return start.PageModel{}, err
	}
	fields, err := w.startFields(k, form, offers, p.Model, problems)
	if err != nil {
		return start.PageModel{}, err
	}
	summary, err := w.summary(k, form, offers, p, page.WrongIn(k.Words, problems, "reason"))
	return start.PageModel{Header: startHeader(k.Words), Form: fields, Summary: summary}, err
}

// startDefaults fills the form: what the address asks for, else what was used last, else the smallest that is free. The
// offers are those of its team.
func (w *Pages) startDefaults(k page.Call) (blocks.StartForm, []request.Offer, error) {
	form := blocks.ReadStartForm(k.Query)
	teams := w.Startable(k)
	form, _, err := w.like(k, form, true)
	if err != nil {
		return form, nil, err
	}
	if !offered(teams, form.Tenant) {
		form.Tenant = page.ChooseTeam(k, teams)
	}
	form.Key = w.Requests.NewKey()
	offers, err := w.Offers.List(k.Ctx, k.Actor, form.Tenant)
	if err != nil {
		return form, nil, err
	}
	last, err := w.LastUsed(k, form.Tenant)
	if err != nil {
		return form, nil, err
	}
	form = w.TeamDefaultsIn(w.KindOfImage(form), offers)
	form.Last = page.OrElse(form.Last, last.Size.Name)
	if form.Kind == "" {
		form.Kind = page.OrElse(string(last.Kind), string(catalog.Notebook))
	}
	if form.Size == "" {
		form.Size = blocks.DefaultSize(offers, sizeLike(offers, last, form.Kind))
	}
	if form.Image == "" && string(last.Kind) == form.Kind {
		form.Image = last.Image.Like() // a reference of one's own is named anew
	}
	return w.Settle(form, offers), offers, nil
}

// sizeLike is the size that was used last. Other work begins with it only where it would start at once, and a model
// says itself how much it needs.
func sizeLike(offers []request.Offer, last request.Spec, kind string) string {
	if string(last.Kind) != kind && (kind == string(catalog.Endpoint) ||
		!blocks.OfferNamed(offers, last.Size.Name).StartsNow()) {
		return ""
	}
	return last.Size.Name
}

func offered(teams []tenant.Tenant, name string) bool {
	for _, t := range teams {
		if t.Name == name {
			return true
		}
	}
	return false
}

// startSummary answers with the summary of what was typed; without scripts with the whole page.
func (w *Pages) startSummary(c echo.Context) error {
	k, form, err := w.startTyped(c)
	if err != nil {
		return err
	}
	if !page.IsFragment(c) {
		return w.startPageFor(c, k, form)
	}
	offers, err := w.Offers.List(k.Ctx, k.Actor, form.Tenant)
	if err != nil {
		return err
	}
	p, err := w.Requests.Preview(k.Ctx, k.Actor, form.Draft())
	if err != nil {
		return err
	}
	m, err := w.summary(k, form, offers, p, "")
	if err != nil {
		return err
	}
	return w.Write(c, http.StatusOK, start.Summary(m))
}

// startForm answers with choices and summary, for a change that alters what there is to choose.
func (w *Pages) startForm(c echo.Context) error {
	k, form, err := w.startTyped(c)
	if err != nil {
		return err
	}
	if !page.IsFragment(c) {
		return w.startPageFor(c, k, form)
	}
	if sizesModel(c) {
		if form, err = w.fitSize(k, form); err != nil {
			return err
		}
	}
	offers, err := w.Offers.List(k.Ctx, k.Actor, form.Tenant)
	if err != nil {
		return err
	}
	m, err := w.startModel(k, form, offers, nil)
	if err != nil {
		return err
	}
	return w.Write(c, http.StatusOK, start.Body(m))
}

func (w *Pages) startPageFor(c echo.Context, k page.Call, form blocks.StartForm) error {
	return w.startReply(c, k, form, nil, http.StatusOK)
}

// startReply answers with the whole page around what was typed.
func (w *Pages) startReply(c echo.Context, k page.Call, form blocks.StartForm, problems []fault.Field,
	status int) error {
	offers, err := w.Offers.List(k.Ctx, k.Actor, form.Tenant)
	if err != nil {
		return err
	}
	v, err := w.startView(k, form, offers, problems)
	if err != nil {
		return err
	}
	return w.Reply(c, k, page.Page{Name: w.startPage().Name}, v, status)
}

// startTyped reads the form and gives what hangs on other fields a value that fits.
func (w *Pages) startTyped(c echo.Context) (page.Call, blocks.StartForm, error) {
	k := w.CallOf(c)
	values, err := c.FormParams()
	if err != nil {
		return k, blocks.StartForm{}, fault.Wrap(fault.Invalid, err, i18n.T("web.unreadable_form"))
	}
	form := blocks.ReadStartForm(values)
	if !offered(w.Startable(k), form.Tenant) {
		form.Tenant = page.ChooseTeam(k, w.Startable(k))
	}
	return k, w.SettleImage(form), nil
}

// startSubmit sends the spec. What cannot be granted comes back with what was typed and the reason beside its field.
func (w *Pages) startSubmit(c echo.Context) error {
	k := w.CallOf(c)
	values, err := c.FormParams()
	if err != nil {
		return fault.Wrap(fault.Invalid, err, i18n.T("web.unreadable_form"))
	}
	form := blocks.ReadStartForm(values)
	r, err := w.Requests.Submit(k.Ctx, k.Actor, form.Draft())
	switch {
	case err == nil && r.State == request.Approved && r.Workload != "":
		return w.Done(c, "", page.WorkloadPath(r.Workload))
	case err == nil:
		return w.Done(c, "submitted", page.RequestPath(r.ID))
	case !page.Correctable(err):
		return err
	}
	return w.startAgain(c, k, form, err)
}

func (w *Pages) startAgain(c echo.Context, k page.Call, form blocks.StartForm, cause error) error {
	problems := page.ProblemsOf(cause)
	form.Key = w.NextKey(form.Key, cause)
	if teams := w.Startable(k); !offered(teams, form.Tenant) {
		if len(teams) == 0 {
			return cause
		}
		form.Tenant = page.ChooseTeam(k, teams)
	}
	return w.startReply(c, k, form, problems, page.StatusOf(cause))
}

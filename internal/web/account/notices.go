package account

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/account"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// notices answers: what do I hear of, and how.
func (w *Pages) notices(k page.Call) (page.View, error) { return w.noticesView(k, noticesExtra{}) }

// noticesExtra is what a page shows once: what came of a call.
type noticesExtra struct {
	problems []fault.Field
	entry    notify.Entry
	secret   string
	tried    *notify.Delivery
}

func (w *Pages) noticesView(k page.Call, x noticesExtra) (page.View, error) {
	s, err := w.Notify.Settings(k.Ctx, k.Actor)
	if err != nil {
		return page.View{}, err
	}
	m := account.NoticesModel{Header: ui.HeaderModel{Title: k.Words.S("notices.title"), Lead: k.Words.S("notices.lead")},
		Errors: page.FormErrors(k.Words, x.problems), Secret: x.secret, Language: s.Preferences.Language,
		Entry: w.entryModel(k, x), Tried: triedModel(k.Words, x.tried)}
	for _, tag := range i18n.Languages {
		m.Languages = append(m.Languages, ui.OptionModel{Value: tag.String(), Label: i18n.Name(tag)})
	}
	for _, c := range notify.Channels() {
		m.Channels = append(m.Channels, account.ChannelModel{ID: string(c), Reachable: w.reachable(k, s, c)})
		one := &m.Channels[len(m.Channels)-1]
		if c == notify.Mail {
			one.Address = k.Actor.Person.Email
		} else if !one.Reachable {
			one.SetUp = "/account/notifications?add=" + string(c) + "#address-fold"
		}
	}
	concern := notify.KindsFor(k.Actor, w.Approvals.Decides(k.Actor))
	for _, kind := range notify.Kinds() {
		one := account.NoticeKindModel{ID: string(kind), Chosen: page.IDs(s.Preferences.By(kind))}
		if slices.Contains(concern, kind) {
			m.Kinds = append(m.Kinds, one)
		} else {
			m.Others = append(m.Others, one)
		}
	}
	for _, a := range s.Addresses {
		m.Addresses = append(m.Addresses, account.AddressModel{Channel: string(a.Channel), Host: a.Host,
			Team: w.TeamTitle(a.Tenant), Kinds: page.IDs(a.Kinds),
			Remove: "/account/notifications/addresses/" + a.ID + "/remove"})
	}
	return page.View{Title: m.Header.Title, Nav: "/account/notifications", Body: account.Notices(m)}, nil
}

func triedModel(say page.Words, d *notify.Delivery) *account.TriedModel {
	if d == nil {
		return nil
	}
	m := &account.TriedModel{Channel: string(d.Channel), Failed: d.State != notify.Sent}
	if m.Failed {
		m.Why = strings.TrimSpace(blocks.DeliveryProblem(say, *d) + " " + blocks.DeliveryWords(say, *d))
	}
	return m
}

// reachable reports whether there is such a way to the actor.
func (w *Pages) reachable(k page.Call, s notify.Settings, c notify.Channel) bool {
	if c == notify.Mail {
		return w.Notify.HasMail() && k.Actor.Person.Email != ""
	}
	return slices.ContainsFunc(s.Addresses, func(a notify.Address) bool { return a.Tenant == "" && a.Channel == c })
}

func (w *Pages) entryModel(k page.Call, x noticesExtra) account.EntryModel {
	m := account.EntryModel{Channel: string(x.entry.Channel), URLError: page.WrongIn(k.Words, x.problems, "url"),
		Schemes: strings.Join(notify.ChatServices(), ", "), Tenant: x.entry.Tenant, Kinds: page.IDs(x.entry.Kinds)}
	if add := k.Get("add"); m.Channel == "" && (add == string(notify.Chat) || add == string(notify.Webhook)) {
		m.Channel = add // the form is asked for
	}
	for _, t := range w.Site().Directory.Tenants {
		if identity.Can(k.Actor, identity.ChangeNotices, identity.Resource{Tenant: t.Name}) {
			m.Teams = append(m.Teams, ui.OptionModel{Value: t.Name, Label: t.Display()})
		}
	}
	return m
}

// noticesChoose keeps the choice.
func (w *Pages) noticesChoose(c echo.Context) error {
	k := w.CallOf(c)
	form, err := c.FormParams()
	if err != nil {
		return err
	}
	preferences := notify.Preferences{Language: form.Get("language"), Channels: map[notify.Kind][]notify.Channel{}}
	for _, kind := range notify.Kinds() {
		for _, value := range form[string(kind)] {
			preferences.Channels[kind] = append(preferences.Channels[kind], notify.Channel(value))
		}
	}
	if err := w.Notify.Choose(k.Ctx, k.Actor, preferences); err != nil {
		return w.noticesAgain(c, k, noticesExtra{}, err)
	}
	return w.Done(c, "notices-saved", "/account/notifications")
}

// noticesAgain shows the page with what is wrong; other faults go on.
func (w *Pages) noticesAgain(c echo.Context, k page.Call, x noticesExtra, err error) error {
	if !fault.Is(err, fault.Invalid) {
		return err
	}
	x.problems = fault.As(err).Fields
	v, err := w.noticesView(k, x)
	if err != nil {
		return err
	}
	return w.Reply(c, k, w.noticesPage(), v, http.StatusUnprocessableEntity)
}

// noticesTry sends a test and answers with what came of it.
func (w *Pages) noticesTry(c echo.Context) error {
	k := w.CallOf(c)
	d, err := w.Notify.Try(k.Ctx, k.Actor, notify.Channel(c.FormValue("channel")))
	if err != nil {
		return w.noticesAgain(c, k, noticesExtra{}, err)
	}
	v, err := w.noticesView(k, noticesExtra{tried: &d})
	if err != nil {
		return err
	}
	return w.Reply(c, k, w.noticesPage(), v, http.StatusOK)
}

// addressEnter keeps an address. That of a webhook answers with its secret, this once: it belongs into no address and
// no cookie.
func (w *Pages) addressEnter(c echo.Context) error {
	k := w.CallOf(c)
	form, err := c.FormParams()
	if err != nil {
		return err
	}
	e := notify.Entry{Channel: notify.Channel(form.Get("channel")), Tenant: form.Get("tenant"),
		URL: strings.TrimSpace(form.Get("url"))}
	for _, kind := range form["kinds"] {
		e.Kinds = append(e.Kinds, notify.Kind(kind))
	}
	if validating, err := w.Validating(c); err != nil {
		return err
	} else if validating {
		return w.addressValidated(c, k, e)
	}
	secret, err := w.Notify.Enter(k.Ctx, k.Actor, e)
	switch {
	case err != nil:
		return w.noticesAgain(c, k, noticesExtra{entry: e}, err)
	case secret == "":
		return w.Done(c, "address-entered", "/account/notifications")
	}
	v, err := w.noticesView(k, noticesExtra{secret: secret})
	if err != nil {
		return err
	}
	return w.Reply(c, k, w.noticesPage(), v, http.StatusOK)
}

// addressValidated says what is wrong so far.
func (w *Pages) addressValidated(c echo.Context, k page.Call, e notify.Entry) error {
	var problems []ui.ProblemModel
	if err := w.Notify.Check(k.Actor, e); fault.Is(err, fault.Invalid) {
		problems = page.FieldProblems(k.Words, fault.As(err).Fields)
		for i := range problems {
			problems[i].Field = "address-" + problems[i].Field
		}
	} else if err != nil {
		return err
	}
	return w.Validated(c, "address-form", problems)
}

func (w *Pages) addressRemove(c echo.Context) error {
	k := w.CallOf(c)
	if err := w.Notify.Remove(k.Ctx, k.Actor, c.Param("id")); err != nil {
		return err
	}
	return w.Done(c, "address-removed", "/account/notifications")
}

// deliveryStates are those that the filter offers, in the order in which a message comes to them.
var deliveryStates = []notify.State{notify.Due, notify.Sending, notify.Sent, notify.GaveUp}

// deliveries answers: does what people should hear of get to them.
func (w *Pages) deliveries(k page.Call) (page.View, error) {
	if !identity.Can(k.Actor, identity.ReadDeliveries, identity.Resource{}) {
		return page.View{}, fault.New(fault.NotFound, i18n.T("web.no_page"))
	}
	state := notify.State(k.Get("state"))
	if !slices.Contains(deliveryStates, state) {
		state = ""
	}
	list, next, err := w.Notify.History(k.Ctx, k.Actor, state, k.Get("cursor"), page.RowsPerPage)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	m := account.DeliveriesModel{Header: ui.HeaderModel{Title: say.S("notices.admin"), Lead: say.S("notices.admin_lead"),
		Actions: []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: say.S("notices.test"), Href: "/account/notifications",
			Test: "to-test"}}}},
		Mail: w.Notify.HasMail(), Hosts: strings.Join(w.Notify.Hosts(), ", "), State: string(state),
		States: page.IDs(deliveryStates), NextURL: page.NextURL("/admin/notifications", k.Query, next)}
	retries := identity.Can(k.Actor, identity.RetryDelivery, identity.Resource{})
	for _, d := range list {
		row := account.DeliveryModel{Time: say.At(d.CreatedAt), Who: d.Name, ID: d.ID, Kind: string(d.Kind),
			Channel: string(d.Channel), State: string(d.State), Problem: blocks.DeliveryProblem(say, d),
			Tries: strconv.Itoa(d.Attempts), Said: blocks.DeliveryWords(say, d)}
		if d.State == notify.GaveUp && d.Kind != notify.Test && retries {
			row.Retry = "/admin/notifications/" + d.ID + "/retry"
		}
		m.Rows = append(m.Rows, row)
	}
	return page.View{Title: m.Header.Title, Nav: "/admin/notifications", Wide: true, Body: account.Deliveries(m)}, nil
}

// deliveryRetry sends a message once more that had failed.
func (w *Pages) deliveryRetry(c echo.Context) error {
	k := w.CallOf(c)
	if err := w.Notify.Again(k.Ctx, k.Actor, c.Param("id")); err != nil {
		return err
	}
	return w.Done(c, "delivery-retried", "/admin/notifications")
}

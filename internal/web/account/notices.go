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
	say := k.Words
	m := account.NoticesModel{Header: ui.HeaderModel{Title: say.S("notices.title"), Lead: say.S("notices.lead")},
		Errors: page.FormErrors(say, x.problems),
		Form:   ui.FormModel{ID: "notices-form", Action: "/account/notifications", Test: "notices-form"},
		Language: ui.FieldModel{ID: "notices-language", Name: "language", Kind: ui.SelectField,
			Label: say.S("notices.language"), Value: s.Preferences.Language, Short: true, Test: "notices-language"},
		Save:     ui.ButtonModel{Label: say.S("notices.save"), Kind: ui.Primary, Test: "notices-save"},
		TestForm: ui.FormModel{ID: "notices-test-form", Action: "/account/notifications/test"},
		Address:  ui.FormModel{ID: "address-form", Action: "/account/notifications/addresses", Test: "address-form"},
		Enter:    ui.ButtonModel{Label: say.S("notices.enter"), Icon: "plus", Test: "address-enter"}}
	for _, tag := range i18n.Languages {
		m.Language.Options = append(m.Language.Options, ui.OptionModel{Value: tag.String(), Label: i18n.Name(tag)})
	}
	for _, c := range notify.Channels() {
		m.Channels = append(m.Channels, say.S("notices.channel."+string(c)))
		test := ui.ButtonModel{Label: say.S("notices.test_by", "Channel", say.S("notices.channel."+string(c))),
			Name: "channel", Value: string(c), Test: "notices-test-" + string(c)}
		if !w.reachable(k, s, c) {
			test.Why = say.S("notices.no_way_" + string(c))
		}
		m.Tests = append(m.Tests, test)
	}
	for _, kind := range notify.Kinds() {
		line := account.NoticeKindModel{Label: say.S("notices.kind." + string(kind)),
			Hint: say.S("notices.hint." + string(kind))}
		for _, c := range notify.Channels() {
			line.Choices = append(line.Choices, ui.FieldModel{ID: "notice-" + string(kind) + "-" + string(c), Name: string(kind),
				Kind: ui.CheckboxField, Value: string(c), Label: line.Label + ": " + say.S("notices.channel."+string(c)),
				HideLabel: true, Checked: slices.Contains(s.Preferences.By(kind), c), Test: "notice-" + string(kind) + "-" +
					string(c)})
		}
		m.Kinds = append(m.Kinds, line)
	}
	m.Fields = w.addressFields(k, x)
	for _, a := range s.Addresses {
		row := account.AddressModel{Channel: say.S("notices.channel." + string(a.Channel)), Host: a.Host,
			Whose: say.S("notices.mine"), Kinds: say.S("notices.as_chosen"), Action: "/account/notifications/addresses/" + a.ID +
				"/remove",
			Remove: ui.ButtonModel{Label: say.S("notices.remove"), Kind: ui.DangerSecondary, Small: true,
				Test: "address-remove"}}
		if a.Tenant != "" {
			row.Whose = a.Tenant
			row.Kinds = kindNames(say, a.Kinds)
		}
		m.Addresses = append(m.Addresses, row)
	}
	if len(s.Addresses) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "bell", Title: say.S("notices.no_addresses"),
			Lines: []string{say.S("notices.no_addresses_why")}, Level: 3, Test: "empty"}
	}
	if x.secret != "" {
		m.Fresh = &account.FreshModel{Secret: x.secret, Notice: ui.NoticeModel{Kind: ui.OK, Title: say.S("notices.fresh"),
			Body: say.S("notices.fresh_body"), Alert: true, Test: "webhook-fresh"}}
	}
	if d := x.tried; d != nil {
		m.Tried = &ui.NoticeModel{Kind: ui.OK, Title: say.S("notices.tried", "Channel",
			say.S("notices.channel."+string(d.Channel))), Alert: true, Test: "tried"}
		if d.State != notify.Sent {
			m.Tried.Kind, m.Tried.Title = ui.Danger, say.S("notices.tried_in_vain", "Channel",
				say.S("notices.channel."+string(d.Channel)))
			m.Tried.Body = strings.TrimSpace(blocks.DeliveryProblem(say, *d) + " " + blocks.DeliveryWords(say, *d))
		}
	}
	return page.View{Title: m.Header.Title, Nav: "/account/notifications", Body: account.Notices(m)}, nil
}

func kindNames(say page.Words, kinds []notify.Kind) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = say.S("notices.kind." + string(kind))
	}
	return strings.Join(names, ", ")
}

// reachable reports whether there is such a way to the actor.
func (w *Pages) reachable(k page.Call, s notify.Settings, c notify.Channel) bool {
	if c == notify.Mail {
		return w.Notify.HasMail() && k.Actor.Person.Email != ""
	}
	return slices.ContainsFunc(s.Addresses, func(a notify.Address) bool { return a.Tenant == "" && a.Channel == c })
}

func (w *Pages) addressFields(k page.Call, x noticesExtra) []ui.FieldModel {
	say := k.Words
	channel := ui.FieldModel{ID: "address-channel", Name: "channel", Kind: ui.SelectField,
		Label: say.S("notices.col_channel"), Value: string(x.entry.Channel), Test: "address-channel",
		Options: []ui.OptionModel{{Value: string(notify.Webhook), Label: say.S("notices.channel.webhook")},
			{Value: string(notify.Chat), Label: say.S("notices.channel.chat")}}}
	at := ui.FieldModel{ID: "address-url", Name: "url", Label: say.S("notices.url"),
		Hint: say.S("notices.url_hint", "Schemes", strings.Join(notify.ChatServices(), ", ")), MaxLength: 500,
		Autocomplete: "off", Test: "address-url"}
	for _, p := range x.problems {
		if p.Name == "url" {
			at.Error = say.Text(p.Reason)
		}
	}
	whose := ui.FieldModel{ID: "address-tenant", Name: "tenant", Kind: ui.SelectField, Label: say.S("notices.col_whose"),
		Value: x.entry.Tenant, Test: "address-tenant", Options: []ui.OptionModel{{Value: "", Label: say.S("notices.mine")}}}
	for _, t := range w.Site().Directory.Tenants {
		if identity.Can(k.Actor, identity.ChangeNotices, identity.Resource{Tenant: t.Name}) {
			whose.Options = append(whose.Options, ui.OptionModel{Value: t.Name, Label: t.Display()})
		}
	}
	fields := []ui.FieldModel{channel, at}
	if len(whose.Options) == 1 {
		return fields
	}
	kinds := ui.FieldModel{ID: "address-kinds", Name: "kinds", Kind: ui.CheckboxesField,
		Label: say.S("notices.team_kinds"), Hint: say.S("notices.team_kinds_hint"), Test: "address-kinds"}
	for _, kind := range notify.Kinds() {
		kinds.Options = append(kinds.Options, ui.OptionModel{Value: string(kind),
			Label: say.S("notices.kind." + string(kind)), Selected: slices.Contains(x.entry.Kinds, kind)})
	}
	return append(fields, whose, kinds)
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

func (w *Pages) addressRemove(c echo.Context) error {
	k := w.CallOf(c)
	if err := w.Notify.Remove(k.Ctx, k.Actor, c.Param("id")); err != nil {
		return err
	}
	return w.Done(c, "address-removed", "/account/notifications")
}

var deliveryKinds = map[notify.State]ui.Kind{notify.Due: ui.Info, notify.Sending: ui.Info, notify.Sent: ui.OK,
	notify.GaveUp: ui.Danger}

// deliveries answers: does what people should hear of get to them.
func (w *Pages) deliveries(k page.Call) (page.View, error) {
	if !identity.Can(k.Actor, identity.ReadDeliveries, identity.Resource{}) {
		return page.View{}, fault.New(fault.NotFound, i18n.T("web.no_page"))
	}
	state := notify.State(k.Get("state"))
	if _, known := deliveryKinds[state]; !known {
		state = ""
	}
	list, next, err := w.Notify.History(k.Ctx, k.Actor, state, k.Get("cursor"))
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	mail, hosts := say.S("notices.mail_off"), strings.Join(w.Notify.Hosts(), ", ")
	if w.Notify.HasMail() {
		mail = say.S("notices.mail_on")
	}
	if hosts == "" {
		hosts = say.S("notices.every_host")
	}
	choice := ui.FieldModel{ID: "delivery-state", Name: "state", Kind: ui.SelectField, Label: say.S("notices.col_state"),
		Value: string(state), Test: "filter-state", Options: []ui.OptionModel{{Value: "", Label: say.S("start.any")}}}
	for _, s := range []notify.State{notify.Due, notify.Sending, notify.Sent, notify.GaveUp} {
		choice.Options = append(choice.Options, ui.OptionModel{Value: string(s), Label: say.S("notices.state." + string(s))})
	}
	m := account.DeliveriesModel{Header: ui.HeaderModel{Title: say.S("notices.admin"), Lead: say.S("notices.admin_lead"),
		Actions: []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: say.S("notices.test"), Href: "/account/notifications",
			Test: "to-test"}}}},
		Site: []ui.DefModel{{Term: say.S("notices.channel.mail"), Value: mail, Test: "site-mail"},
			{Term: say.S("notices.hosts"), Value: hosts, Test: "site-hosts"}},
		Filter: ui.FilterBarModel{Action: "/admin/notifications", Label: say.S("notices.filter"),
			Fields: []ui.FieldModel{choice}}, More: ui.PaginationModel{Label: say.S("notices.pages"),
			NextURL: page.NextURL("/admin/notifications", k.Query, next)}}
	for _, d := range list {
		row := account.DeliveryModel{Time: say.At(d.CreatedAt), Who: ui.StackModel{Title: d.Name, Detail: d.ID},
			What: say.S("notices.kind." + string(d.Kind)), Channel: say.S("notices.channel." + string(d.Channel)),
			State: ui.StateModel{Kind: deliveryKinds[d.State], Word: say.S("notices.state." + string(d.State)), Test: "state"},
			Tries: strconv.Itoa(d.Attempts), Said: blocks.DeliveryWords(say, d)}
		row.State.Detail = blocks.DeliveryProblem(say, d)
		if d.State == notify.GaveUp && d.Kind != notify.Test && identity.Can(k.Actor, identity.RetryDelivery,
			identity.Resource{}) {
			row.Retry = &account.RetryModel{Action: "/admin/notifications/" + d.ID + "/retry",
				Button: ui.ButtonModel{Label: say.S("notices.retry"), Kind: ui.Secondary, Small: true, Test: "delivery-retry"}}
		}
		m.Rows = append(m.Rows, row)
	}
	if len(list) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "bell", Title: say.S("notices.none"), Lines: []string{say.S("notices.none_why")},
			Level: 3, Test: "empty"}
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

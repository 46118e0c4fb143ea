package web

import (
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	teamview "github.com/gpu-portal/gpu-portal/views/team"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// moreQuota leads from a size of which the team may hold no more to the form that asks for it.
func moreQuota(say words, team, size string) *ui.LinkButtonModel {
	return &ui.LinkButtonModel{Label: say.S("team.more_quota"), Href: teamPath(team) + "/quota?size=" +
		url.QueryEscape(size), Kind: ui.LinkLike, Small: true, Test: "more-quota"}
}

// quotaForm is what was typed to ask for more.
type quotaForm struct{ Size, Amount, Reason, Key string }

// moreQuota begins with one more than the team may hold of the size in the address.
func (w *Web) moreQuota(k call) (view, error) {
	f := quotaForm{Size: k.get("size"), Key: w.Requests.NewKey()}
	if t, ok := w.Site().Directory.ByName(k.get("name")); ok && f.Size != "" {
		f.Amount = strconv.Itoa(t.QuotaOf(f.Size) + 1)
	}
	return w.moreQuotaView(k, f, nil)
}

func (w *Web) moreQuotaView(k call, f quotaForm, problems []fault.Field) (view, error) {
	say, name := k.words, k.get("name")
	t, ok := w.Site().Directory.ByName(name)
	if !ok || !identity.Can(k.actor, identity.SubmitRequest, identity.Resource{Tenant: name}) {
		return view{}, fault.New(fault.NotFound, i18n.T("tenant.not_found"))
	}
	bars, err := w.quotaBars(k, t)
	if err != nil {
		return view{}, err
	}
	title := say.S("team.more_quota")
	size := ui.FieldModel{ID: "size", Name: "size", Kind: ui.SelectField, Label: say.S("team.default_size"), Value: f.Size,
		Error: wrongIn(say, problems, "size"), Test: "size"}
	for _, s := range w.Site().Catalog.Sizes {
		if s.OfferedTo(name) && !s.Hidden {
			size.Options = append(size.Options, ui.OptionModel{Value: s.Name, Label: s.Title + " · " + say.S("team.may_hold",
				"Limit", t.QuotaOf(s.Name))})
		}
	}
	m := teamview.MoreModel{Header: ui.HeaderModel{Title: title, Lead: say.S("team.more_lead"),
		Crumbs: []ui.CrumbModel{{Label: say.S("team.title"), Href: "/team"}, {Label: t.Display(), Href: teamPath(name)},
			{Label: title}}},
		Errors: askErrors(say, problems, "more-quota"), Form: ui.FormModel{ID: "more-quota", Action: teamPath(name) +
			"/quota", Hidden: []ui.HiddenModel{{Name: "key", Value: f.Key}}, Test: "more-quota-form"},
		Fields: []ui.FieldModel{size,
			{ID: "amount", Name: "amount", Kind: ui.NumberField, Label: say.S("team.more_amount"),
				Hint: say.S("team.more_amount_hint"), Value: f.Amount, Error: wrongIn(say, problems, "amount"), Min: "1",
				Short: true, Test: "amount"},
			{ID: "reason", Name: "reason", Kind: ui.TextareaField, Rows: 2, Label: say.S("start.reason"), Value: f.Reason,
				Error: wrongIn(say, problems, "reason"), MaxLength: 500, Test: "reason"}},
		Send:   ui.ButtonModel{Label: say.S("team.more_send"), Kind: ui.Primary, Test: "send"},
		Quotas: teamview.QuotasModel{ID: "quotas", Bars: bars}}
	return view{title: title, nav: "/team", body: teamview.More(m)}, nil
}

// moreQuotaAsk sends the ask; what is wrong comes back with what was typed.
func (w *Web) moreQuotaAsk(c echo.Context) error {
	k := w.callOf(c)
	f := quotaForm{Size: c.FormValue("size"), Amount: c.FormValue("amount"), Reason: c.FormValue("reason"),
		Key: c.FormValue("key")}
	amount, err := strconv.Atoi(f.Amount)
	if err != nil {
		amount = -1 // like any other that cannot be
	}
	r, err := w.Quotas.Ask(k.ctx, k.actor, request.QuotaDraft{Tenant: c.Param("name"), Size: f.Size, Amount: amount,
		Reason: f.Reason, Key: f.Key})
	switch {
	case err == nil:
		return w.done(c, "submitted", requestPath(r.ID))
	case !correctable(err):
		return err
	}
	f.Key = w.nextKey(f.Key, err)
	v, viewErr := w.moreQuotaView(k, f, problemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.reply(c, k, page{name: moreQuotaPage.name}, v, statusOf(err))
}

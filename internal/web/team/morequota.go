package team

import (
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	teamview "github.com/gpu-portal/gpu-portal/views/team"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// quotaForm is what was typed to ask for more.
type quotaForm struct{ Size, Amount, Reason, Key string }

// MoreQuota begins with one more than the team may hold of the size in the address.
func (w *Pages) moreQuota(k page.Call) (page.View, error) {
	f := quotaForm{Size: k.Get("size"), Key: w.Requests.NewKey()}
	if t, ok := w.Site().Directory.ByName(k.Get("name")); ok && f.Size != "" {
		f.Amount = strconv.Itoa(t.QuotaOf(f.Size) + 1)
	}
	return w.moreQuotaView(k, f, nil)
}

func (w *Pages) moreQuotaView(k page.Call, f quotaForm, problems []fault.Field) (page.View, error) {
	say, name := k.Words, k.Get("name")
	t, ok := w.Site().Directory.ByName(name)
	if !ok || !identity.Can(k.Actor, identity.SubmitRequest, identity.Resource{Tenant: name}) {
		return page.View{}, fault.New(fault.NotFound, i18n.T("tenant.not_found"))
	}
	bars, err := w.QuotaBars(k, t)
	if err != nil {
		return page.View{}, err
	}
	title := say.S("team.more_quota")
	field := func(name, value string) teamview.FieldModel {
		return teamview.FieldModel{Value: value, Error: page.WrongIn(say, problems, name)}
	}
	m := teamview.MoreModel{Header: ui.HeaderModel{Title: title, Lead: say.S("team.more_lead"),
		Crumbs: []ui.CrumbModel{{Label: say.S("team.title"), Href: "/team"}, {Label: t.Display(), Href: page.TeamPath(name)},
			{Label: title}}},
		Errors: page.AskErrors(say, problems, "more-quota"), Action: page.TeamPath(name) + "/quota", Key: f.Key,
		Size: field("size", f.Size), Amount: field("amount", f.Amount), Reason: field("reason", f.Reason),
		Quotas: teamview.QuotasModel{ID: "quotas", Bars: bars}}
	for _, s := range w.Site().Catalog.Sizes {
		if s.OfferedTo(name) && !s.Hidden {
			m.Sizes = append(m.Sizes, ui.OptionModel{Value: s.Name,
				Label: say.SizeTitle(s) + " · " + say.S("team.may_hold", "Limit", t.QuotaOf(s.Name))})
		}
	}
	return page.View{Title: title, Nav: "/team", Body: teamview.More(m)}, nil
}

// moreQuotaAsk sends the ask; what is wrong comes back with what was typed.
func (w *Pages) moreQuotaAsk(c echo.Context) error {
	k := w.CallOf(c)
	f := quotaForm{Size: c.FormValue("size"), Amount: c.FormValue("amount"), Reason: c.FormValue("reason"),
		Key: c.FormValue("key")}
	amount, err := strconv.Atoi(f.Amount)
	if err != nil {
		amount = -1 // like any other that cannot be
	}
	r, err := w.Quotas.Ask(k.Ctx, k.Actor, request.QuotaDraft{Tenant: c.Param("name"), Size: f.Size, Amount: amount,
		Reason: f.Reason, Key: f.Key})
	switch {
	case err == nil:
		return w.Done(c, "submitted", page.RequestPath(r.ID))
	case !page.Correctable(err):
		return err
	}
	f.Key = w.NextKey(f.Key, err)
	v, viewErr := w.moreQuotaView(k, f, page.ProblemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, page.Page{Name: w.moreQuotaPage().Name}, v, page.StatusOf(err))
}

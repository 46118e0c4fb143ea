package cost

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	usageview "github.com/gpu-portal/gpu-portal/views/usage"
)

// prices answers: what costs how much, since when, and what changes for what runs.
func (w *Pages) prices(k page.Call) (page.View, error) {
	return w.pricesView(k, usage.PriceDraft{}, nil)
}

func (w *Pages) pricesView(k page.Call, d usage.PriceDraft, problems []fault.Field) (page.View, error) {
	list, err := w.Prices.Read(k.Ctx, k.Actor)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	m := usageview.PricesModel{Header: ui.HeaderModel{Title: say.S("prices.title"), Lead: say.S("prices.lead", "Currency",
		w.Prices.Currency(), "Zone", w.Prices.Zone().String())}}
	changes := identity.Can(k.Actor, identity.ChangePrices, identity.Resource{})
	for _, p := range list {
		m.Rows = append(m.Rows, w.priceModel(say, p, changes))
	}
	if m.Next, err = w.pricesNext(k, list); err != nil {
		return page.View{}, err
	}
	if changes {
		m.Enter = w.priceForm(say, d, problems)
		if len(problems) > 0 {
			m.Errors = page.FormErrors(say, problems)
		}
	}
	return page.View{Title: m.Header.Title, Nav: page.PricesPath, Wide: true, Body: usageview.PricesPage(m),
		Parts: []page.Part{{ID: "prices", Draw: func(page.Words) templ.Component { return usageview.Prices(m) }}}}, nil
}

func (w *Pages) priceModel(say page.Words, p usage.Price, changes bool) usageview.PriceModel {
	m := usageview.PriceModel{What: w.priceOf(say, p.Kind, p.Subject), Amount: w.rate(say, p.Kind, p.Rate),
		Team: say.S("prices.everybody"), From: w.priceTime(p.From), Until: "–", Who: p.AuthorName}
	if p.Tenant != "" {
		m.Team = w.TeamTitle(p.Tenant)
	}
	if !p.Until.IsZero() {
		m.Until = w.priceTime(p.Until)
	}
	over := !p.Until.IsZero() && !say.Now.Before(p.Until)
	switch {
	case over || p.Until.Equal(p.From):
		m.State = usageview.PriceOver
	case p.Counts(say.Now):
		m.State = usageview.PriceCounts
	default:
		m.State = usageview.PriceComing
	}
	if changes && m.State != usageview.PriceOver {
		m.ID, m.End = page.Slug(p.ID), page.PricesPath+"/"+p.ID+"/end"
	}
	return m
}

// priceOf is what a price is for, in words.
func (w *Pages) priceOf(say page.Words, kind usage.PriceKind, subject string) ui.StackModel {
	m := ui.StackModel{Title: say.Say(i18n.T("prices.kind_" + string(kind)))}
	if subject != "" {
		m.Title, m.Detail = subject, m.Title
	}
	if size, ok := w.Site().Catalog.Size(subject); ok && kind == usage.PriceSize {
		m.Title = say.SizeTitle(size)
	}
	if kind == usage.PriceSeat {
		m.Title = w.poolTitle(subject)
	}
	return m
}

func (w *Pages) rate(say page.Words, kind usage.PriceKind, m usage.UnitPrice) string {
	currency := w.Prices.Currency()
	_, rest, _ := strings.Cut(m.Amount(currency), ".")
	amount := ui.Number(say.Localizer, float64(m)/1000/float64(usage.Units(currency)), len(rest))
	return say.Say(i18n.T("prices.per_"+string(kind), "Amount", amount, "Currency", currency))
}

// priceTime is a moment by the clocks of the site: prices begin on its days.
func (w *Pages) priceTime(t time.Time) string {
	return t.In(w.Prices.Zone()).Format("2006-01-02 15:04")
}

// pricesNext is what the sizes that run now will cost when the list changes: one row for each size and team.
func (w *Pages) pricesNext(k page.Call, list usage.PriceList) ([]usageview.NextModel, error) {
	if list.Change(k.Words.Now).IsZero() {
		return nil, nil
	}
	items, _, err := w.Workloads.List(k.Ctx, k.Actor, false, workload.Filter{Limit: 500})
	if err != nil {
		return nil, err
	}
	type held struct {
		size, tenant string
		price        usage.Money
	}
	say, sizes, counts := k.Words, map[held]catalog.Size{}, map[held]int{}
	for _, item := range items {
		if item.Holds() {
			key := held{item.Size.Name, item.Tenant, item.Size.PricePerHour}
			sizes[key] = item.Size
			counts[key]++
		}
	}
	var rows []usageview.NextModel
	for key, size := range sizes {
		at, then := list.Next(size.SKU(), key.tenant, say.Now)
		if at.IsZero() {
			continue
		}
		rows = append(rows, usageview.NextModel{What: ui.StackModel{Title: say.SizeTitle(size),
			Detail: say.S("usage.workloads", "Count", counts[key])}, Team: w.TeamTitle(key.tenant),
			Now: say.MoneyPerHour(list.PerHour(size.SKU(), key.tenant, say.Now)), Then: say.MoneyPerHour(then),
			At: w.priceTime(at)})
	}
	slices.SortFunc(rows, func(a, b usageview.NextModel) int {
		return cmp.Or(strings.Compare(a.At, b.At), strings.Compare(a.What.Title, b.What.Title),
			strings.Compare(a.Team, b.Team), strings.Compare(a.Now, b.Now))
	})
	return rows, nil
}

func (w *Pages) priceForm(say page.Words, d usage.PriceDraft, problems []fault.Field) *usageview.EnterModel {
	field := func(name, value string) usageview.TypedModel {
		return usageview.TypedModel{Value: value, Error: page.WrongIn(say, problems, name)}
	}
	known := w.Prices.Known()
	m := &usageview.EnterModel{Path: page.PricesPath, Currency: w.Prices.Currency(),
		What: field("subject", d.Kind+":"+d.Subject), Team: field("tenant", d.Tenant), Amount: field("amount", d.Amount),
		From: field("from", d.From)}
	m.What.Error = cmp.Or(page.WrongIn(say, problems, "kind"), m.What.Error)
	option := func(kind usage.PriceKind, subject, title string) {
		m.Whats = append(m.Whats, ui.OptionModel{Value: string(kind) + ":" + subject, Label: title})
	}
	for _, size := range known.Sizes {
		option(usage.PriceSize, size, say.S("prices.option_size", "Title", w.priceOf(say, usage.PriceSize, size).Title))
	}
	for _, model := range known.Models {
		option(usage.PriceCard, model, say.S("prices.option_card", "Title", model))
	}
	for _, pool := range known.Pools {
		option(usage.PriceSeat, pool, say.S("prices.option_seat", "Title", w.poolTitle(pool)))
	}
	for _, kind := range []usage.PriceKind{usage.PriceCPU, usage.PriceMemory, usage.PriceStorage} {
		option(kind, "", say.Say(i18n.T("prices.kind_"+string(kind))))
	}
	for _, name := range known.Tenants {
		m.Teams = append(m.Teams, ui.OptionModel{Value: name, Label: w.TeamTitle(name)})
	}
	return m
}

// priceAdd keeps what an administrator typed.
func (w *Pages) priceAdd(c echo.Context) error {
	k := w.CallOf(c)
	kind, subject, _ := strings.Cut(c.FormValue("subject"), ":")
	d := usage.PriceDraft{Kind: kind, Subject: subject, Tenant: c.FormValue("tenant"), Amount: c.FormValue("amount"),
		From: c.FormValue("from")}
	_, err := w.Prices.Add(k.Ctx, k.Actor, d)
	if fault.Is(err, fault.Invalid) {
		v, drawn := w.pricesView(k, d, fault.As(err).Fields)
		if drawn != nil {
			return drawn
		}
		return w.Reply(c, k, w.pricesPage(), v, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	return w.Done(c, "price-added", page.PricesPath)
}

func (w *Pages) priceEnd(c echo.Context) error {
	k := w.CallOf(c)
	if err := w.Prices.End(k.Ctx, k.Actor, c.Param("id")); err != nil {
		return err
	}
	return w.Done(c, "price-ended", page.PricesPath)
}

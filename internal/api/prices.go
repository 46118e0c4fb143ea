package api

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Price is one entry of the price list.
type Price struct {
	ID       string     `json:"id"`
	Kind     string     `json:"kind" enum:"size,card,cpu,memory,storage,seat" doc:"What it is for: a size or a whole card for an hour, a CPU or a GiB of memory for an hour, a GiB of storage or a seat of a license pool for a month of 730 hours"`
	Subject  string     `json:"subject,omitempty" doc:"Name of the size or of the license pool, or model of the card"`
	Tenant   string     `json:"tenant,omitempty" doc:"The team that pays this; everybody when absent"`
	Amount   string     `json:"amount" example:"2.50" doc:"Of the currency's unit"`
	Currency string     `json:"currency" example:"EUR"`
	From     time.Time  `json:"from"`
	Until    *time.Time `json:"until,omitempty" doc:"Not in it; until further notice when absent"`
	Author   string     `json:"author"`
}

func (a *API) priceView(p usage.Price) Price {
	v := Price{ID: p.ID, Kind: string(p.Kind), Subject: p.Subject, Tenant: p.Tenant,
		Amount:   p.Rate.Amount(a.deps.Prices.Currency()),
		Currency: a.deps.Prices.Currency(), From: p.From.UTC(), Author: p.AuthorName}
	if !p.Until.IsZero() {
		until := p.Until.UTC()
		v.Until = &until
	}
	return v
}

func (a *API) prices(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[List[Price]], error) {
	found, err := a.deps.Prices.Read(ctx, actor)
	if err != nil {
		return nil, err
	}
	views := make([]Price, len(found))
	for i, p := range found {
		views[i] = a.priceView(p)
	}
	return reply(list(views, ""), nil)
}

type addPriceInput struct {
	Body struct {
		Kind    string `json:"kind" enum:"size,card,cpu,memory,storage,seat"`
		Subject string `json:"subject,omitempty" maxLength:"100" doc:"Name of the size or of the license pool, or model of the card"`
		Tenant  string `json:"tenant,omitempty" maxLength:"100" doc:"A team; everybody when absent"`
		Amount  string `json:"amount" maxLength:"20" example:"2.50" doc:"Of the currency's unit, with up to five digits after the point"`
		From    string `json:"from,omitempty" maxLength:"10" example:"2026-12-01" doc:"A day by the clocks of the site, not in the past; at once when absent"`
	}
}

func (a *API) addPrice(ctx context.Context, actor identity.Actor, in *addPriceInput) (*output[Price], error) {
	p, err := a.deps.Prices.Add(ctx, actor, usage.PriceDraft{Kind: in.Body.Kind, Subject: in.Body.Subject,
		Tenant: in.Body.Tenant, Amount: in.Body.Amount, From: in.Body.From})
	if err != nil {
		return nil, err
	}
	return reply(a.priceView(p), nil)
}

type priceInput struct {
	ID string `path:"id" maxLength:"64"`
}

func (a *API) endPrice(ctx context.Context, actor identity.Actor, in *priceInput) (*output[List[Price]], error) {
	if err := a.deps.Prices.End(ctx, actor, in.ID); err != nil {
		return nil, err
	}
	return a.prices(ctx, actor, nil)
}

package app

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/renewal"
	"github.com/gpu-portal/gpu-portal/internal/serve"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// secretOf reads the client secret from the configuration or its file; config has checked that the file can be read.
func secretOf(c config.Config) string {
	if c.OIDC.ClientSecretFile == "" {
		return c.OIDC.ClientSecret
	}
	text, err := os.ReadFile(c.OIDC.ClientSecretFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// newRenewals keeps sessions at what the provider says, by the settings.
func (a *App) newRenewals(key []byte) *renewal.Service {
	c := a.config.OIDC
	return &renewal.Service{Store: a.store, Provider: a.provider, Key: derive(key, "refresh tokens"), Now: a.now,
		Logger: a.log,
		Limits: renewal.Limits{Refresh: c.Refresh.Std(), Grace: c.StaleGroupsTTL.Std(),
			Overtime: c.MaxSessionWithoutRefresh.Std()}}
}

// sessions are the store's; one of the portal that the gateway looks at is in use, and its groups are read again when
// they are due.
type sessions struct {
	*store.Store
	renewals *renewal.Service
}

// Session gives a session that has not been ended. Faults: NotFound; Unauthenticated when the provider has just ended
// it; Unavailable while nobody can say.
func (s sessions) Session(ctx context.Context, id string) (identity.Session, error) {
	session, err := s.Store.Session(ctx, id)
	if err != nil {
		return session, err
	}
	return s.renewals.Fresh(ctx, session)
}

// zone is the site's time zone; config has checked that there is such a one.
func zone(c config.Config) *time.Location {
	if z, err := time.LoadLocation(c.TimeZone); err == nil {
		return z
	}
	return time.UTC
}

// focusSite says who charges, in exports for finance.
func (a *App) focusSite() usage.FocusSite {
	return usage.FocusSite{Provider: a.config.Organization, Account: a.config.Instance, Team: func(name string) string {
		if t, ok := a.tenants.Directory().ByName(name); ok {
			return t.Display()
		}
		return name
	}}
}

// priced is what a price can be for: what is on offer now, and to whom.
func (a *App) priced() usage.Known {
	var known usage.Known
	for _, s := range a.offer.Catalog().Sizes {
		known.Sizes = append(known.Sizes, s.Name)
		if model := s.Accelerator.Model; model != "" && !slices.Contains(known.Models, model) {
			known.Models = append(known.Models, model)
		}
	}
	for _, t := range a.tenants.Directory().Tenants {
		known.Tenants = append(known.Tenants, t.Name)
	}
	for _, pool := range a.siteNow().Pools {
		known.Pools = append(known.Pools, pool.Name)
	}
	slices.Sort(known.Models)
	return known
}

// people says who someone is now.
type people struct{ app *App }

func (p people) Actor(ctx context.Context, id identity.PersonID) (identity.Actor, error) {
	person, err := p.app.store.Person(ctx, id)
	if err != nil {
		return identity.Actor{}, err
	}
	return p.app.actor(person, identity.ViaSession), nil
}

// tokens says who API tokens belong to, by the settings.
func (a *App) tokens() serve.Tokens {
	return serve.Tokens{Store: a.store, Actor: a.actor, Limits: a.config.Tokens.Limits(), Owner: a.renewals.Owner,
		Now: a.now}
}

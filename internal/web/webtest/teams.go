package webtest

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// teams keeps what a world begins with: else every team is the configuration's, and everybody of the world has signed
// in.
type teams struct {
	tenant.Store
	world *World
}

func (t teams) LatestTenants(context.Context) ([]tenant.Revision, error) { return t.world.Teams, nil }

// OwnImages gives team vision images of its own.
func (w *World) OwnImages(images ...tenant.Image) *World {
	w.Teams = []tenant.Revision{{Tenant: "vision", Version: 1, Name: Ben.Name, At: Now,
		Saved: tenant.Saved{Images: images}}}
	if err := w.Tenants.Refresh(context.Background()); err != nil {
		panic(err)
	}
	w.Site.Directory = w.Tenants.Directory()
	return w
}
func (teams) TenantRevisions(context.Context, string, int64, int) ([]tenant.Revision, error) {
	return nil, nil
}
func (teams) Members(context.Context) ([]tenant.Member, error) { return nil, nil }
func (teams) TokensOfAll(context.Context, []identity.PersonID) ([]identity.Token, error) {
	return nil, nil
}
func (t teams) People(ctx context.Context, search string, limit int) ([]identity.Person, error) {
	return t.world.Store.People(ctx, search, limit)
}

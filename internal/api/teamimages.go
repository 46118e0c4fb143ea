package api

import (
	"context"
	"net/http"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// TeamImage is one of a team's own images.
type TeamImage struct {
	Name      string `json:"name" doc:"In the team"`
	Image     string `json:"image" doc:"What a request names as image"`
	Title     string `json:"title"`
	Kind      string `json:"kind,omitempty" enum:"notebook,endpoint,job" doc:"Of the image that it is started like; absent where there is none any more"`
	Reference string `json:"reference"`
	Like      string `json:"like" doc:"The catalog's image that it is started like"`
	Note      string `json:"note,omitempty"`
	State     string `json:"state" enum:"offered,retired,not_allowed,unlike" doc:"retired starts nothing new; not_allowed: the administrator does not allow the repository any more; unlike: the catalog has nothing like it any more"`
}

func teamImageView(o tenant.Own) TeamImage {
	return TeamImage{Name: o.Name, Image: o.Offer.Name, Title: o.Title, Kind: string(o.Offer.Kind), Reference: o.Reference,
		Like: o.Like, Note: o.Note, State: string(o.State)}
}

// TeamImageBody is what can be said of an image.
type TeamImageBody struct {
	Title     string `json:"title" maxLength:"80"`
	Reference string `json:"reference" maxLength:"400" example:"registry.example.org/vision/train:1.4" doc:"With registry, from a repository that the administrator allows; a tag is kept with the digest that it has now"`
	Like      string `json:"like" maxLength:"63" example:"jupyterlab" doc:"The catalog's image that it is started like: command, variables, port, user"`
	Note      string `json:"note,omitempty" maxLength:"300"`
}

func (b TeamImageBody) draft(name string) tenant.ImageDraft {
	return tenant.ImageDraft{Image: tenant.Image{Name: name, Title: b.Title, Reference: b.Reference, Like: b.Like,
		Note: b.Note}}
}

func (a *API) teamImages(_ context.Context, actor identity.Actor, in *tenantInput) (*output[List[TeamImage]], error) {
	own, err := a.deps.Tenants.Images(actor, in.Name)
	if err != nil {
		return nil, err
	}
	var views []TeamImage
	for _, o := range own {
		views = append(views, teamImageView(o))
	}
	return reply(list(views, ""), nil)
}

type addTeamImageInput struct {
	Name string `path:"name" maxLength:"63"`
	Body struct {
		TeamImageBody
		Name string `json:"name" maxLength:"63" doc:"Small letters, digits and dashes; it never changes"`
	}
}

func (a *API) addTeamImage(ctx context.Context, actor identity.Actor,
	in *addTeamImageInput) (*output[TeamImage], error) {
	d := in.Body.draft(in.Body.Name)
	d.New = true
	o, err := a.deps.Tenants.SaveImage(ctx, actor, in.Name, d)
	return teamImageReply(o, err)
}

type teamImageInput struct {
	Name  string `path:"name" maxLength:"63"`
	Image string `path:"image" maxLength:"63"`
}

type saveTeamImageInput struct {
	Name  string `path:"name" maxLength:"63"`
	Image string `path:"image" maxLength:"63"`
	Body  TeamImageBody
}

func (a *API) saveTeamImage(ctx context.Context, actor identity.Actor,
	in *saveTeamImageInput) (*output[TeamImage], error) {
	o, err := a.deps.Tenants.SaveImage(ctx, actor, in.Name, in.Body.draft(in.Image))
	return teamImageReply(o, err)
}

func (a *API) retireTeamImage(ctx context.Context, actor identity.Actor,
	in *teamImageInput) (*output[TeamImage], error) {
	o, err := a.deps.Tenants.RetireImage(ctx, actor, in.Name, in.Image, true)
	return teamImageReply(o, err)
}

func (a *API) offerTeamImage(ctx context.Context, actor identity.Actor,
	in *teamImageInput) (*output[TeamImage], error) {
	o, err := a.deps.Tenants.RetireImage(ctx, actor, in.Name, in.Image, false)
	return teamImageReply(o, err)
}

func teamImageReply(o tenant.Own, err error) (*output[TeamImage], error) {
	if err != nil {
		return nil, err
	}
	return reply(teamImageView(o), nil)
}

type customImagesInput struct {
	Name string `path:"name" maxLength:"63"`
	Body struct {
		Allowed bool `json:"allowed" doc:"Members may start images of their own"`
	}
}

func (a *API) saveCustomImages(ctx context.Context, actor identity.Actor,
	in *customImagesInput) (*output[TenantEntry], error) {
	if _, err := a.deps.Tenants.SaveCustomImages(ctx, actor, in.Name, in.Body.Allowed); err != nil {
		return nil, err
	}
	return a.tenantEntry(ctx, actor, &tenantInput{Name: in.Name})
}

// registerTeamImages is the part of the surface that is about a team's own images.
func (a *API) registerTeamImages() {
	const tag = "Teams"
	add(a, op(http.MethodGet, "/tenants/{name}/images", "list-team-images", "A team's own images, retired ones among them",
		tag), identity.ReadTenant, a.teamImages)
	add(a, created(op(http.MethodPost, "/tenants/{name}/images", "add-team-image", "Add an image that the team's "+
		"members may start", tag)), identity.ChangeAssets, a.addTeamImage)
	add(a, op(http.MethodPut, "/tenants/{name}/images/{image}", "save-team-image",
		"Change it for the next start; what was asked for or runs keeps its digest", tag), identity.ChangeAssets,
		a.saveTeamImage)
	add(a, op(http.MethodPost, "/tenants/{name}/images/{image}/retire", "retire-team-image",
		"Start nothing new with it; what runs goes on", tag), identity.ChangeAssets, a.retireTeamImage)
	add(a, op(http.MethodPost, "/tenants/{name}/images/{image}/offer", "offer-team-image", "Offer a retired image again",
		tag), identity.ChangeAssets, a.offerTeamImage)
	add(a, op(http.MethodPut, "/tenants/{name}/custom-images", "save-custom-images",
		"Let members start images of their own, or not any more; what runs goes on", tag), identity.ChangeAssets,
		a.saveCustomImages)
}

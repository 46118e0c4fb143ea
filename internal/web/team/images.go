package team

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	teamview "github.com/gpu-portal/gpu-portal/views/team"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

func teamImagePath(team, image string) string {
	return page.TeamImagesPath(team) + "/" + url.PathEscape(image)
}

// teamCrumbs lead to one side of a team; an empty title is the team itself.
func teamCrumbs(k page.Call, e tenant.Entry, title string) []ui.CrumbModel {
	return blocks.TeamCrumbs(k, e, title)
}

// teamImages answers: which images has the team of its own; and for owners: what can I change.
func (w *Pages) teamImages(k page.Call) (page.View, error) {
	own, err := w.Tenants.Images(k.Actor, k.Get("name"))
	if err != nil {
		return page.View{}, err
	}
	draft := tenant.ImageDraft{New: true}
	for _, o := range own {
		if o.Name == k.Get("edit") {
			draft = tenant.ImageDraft{Image: o.Image}
		}
	}
	return w.teamImagesView(k, k.Get("name"), draft, nil)
}

// teamImagesView draws the page around what was typed; problems stand beside their fields.
func (w *Pages) teamImagesView(k page.Call, team string, draft tenant.ImageDraft,
	problems []fault.Field) (page.View, error) {
	e, err := w.Tenants.Visible(k.Actor, team)
	if err != nil {
		return page.View{}, err
	}
	own, err := w.Tenants.Images(k.Actor, team)
	if err != nil {
		return page.View{}, err
	}
	say, changes := k.Words, identity.Can(k.Actor, identity.ChangeAssets, identity.Resource{Tenant: team})
	title := say.S("team.images")
	m := teamview.ImagesModel{Header: ui.HeaderModel{Title: say.S("team.heading", "Team", e.Display()),
		Crumbs: teamCrumbs(k, e, title)},
		Tabs: blocks.TeamTabs(k, team, page.TeamImagesPath(team)), Errors: page.FormErrors(say, problems)}
	own, m.List = page.RowsOf(say, page.ListOf(k, page.TeamImagesPath(team), imageOrders), title, own, imageKeys)
	users, named, err := w.imageUsers(k, team)
	if err != nil {
		return page.View{}, err
	}
	for _, o := range own {
		row := w.teamImage(say, e, o, changes)
		row.Users, row.More = users[o.Offer.Name].shown()
		m.Images = append(m.Images, row)
	}
	m.InUse = named
	m.Custom = w.customModel(say, e, changes)
	if changes {
		m.Change = w.teamImageForm(say, e, draft, problems)
	}
	return page.View{Title: title, Nav: page.TeamPlace(k, team), Wide: true, Body: teamview.Images(m)}, nil
}

// usersShown are listed for an image; how many others there are is said.
const usersShown = 5

type imageUsers []teamview.UserModel

func (u imageUsers) shown() (list []teamview.UserModel, more int) {
	n := min(len(u), usersShown)
	return u[:n], len(u) - n
}

// imageUsers are the living workloads of a team by the name of their image, and those of images that members have named
// by reference.
func (w *Pages) imageUsers(k page.Call, team string) (map[string]imageUsers, []teamview.CustomUseModel, error) {
	living, err := w.Workloads.Living(k.Ctx, k.Actor, func(l *workload.Workload) bool {
		return l.Tenant == team && (l.Image.OfTeam() || l.Image.IsCustom())
	})
	if err != nil {
		return nil, nil, err
	}
	users, named := map[string]imageUsers{}, map[string]imageUsers{}
	for _, l := range living {
		u := teamview.UserModel{Name: l.Name, Owner: l.OwnerName, Href: page.WorkloadPath(l.ID)}
		if l.Image.IsCustom() {
			named[l.Image.Reference] = append(named[l.Image.Reference], u)
			continue
		}
		users[l.Image.Name] = append(users[l.Image.Name], u)
	}
	var rows []teamview.CustomUseModel
	for _, reference := range slices.Sorted(maps.Keys(named)) {
		row := teamview.CustomUseModel{ID: "custom-" + page.Slug(reference), Reference: reference,
			Short: blocks.ShortReference(reference), Scan: w.Site().Scans.Of(reference)}
		row.Users, row.More = named[reference].shown()
		rows = append(rows, row)
	}
	return users, rows, nil
}

// customModel says whether members may start images of their own, and lets owners change that.
func (w *Pages) customModel(say page.Words, e tenant.Entry, changes bool) teamview.CustomModel {
	m := teamview.CustomModel{Allowed: e.CustomImages,
		Repositories: strings.Join(w.Site().Directory.Allowed(e.Name), ", ")}
	if changes {
		m.Turn = page.CustomImagesPath(e.Name)
	}
	return m
}

// customImagesSave lets members start images of their own, or not any more.
func (w *Pages) customImagesSave(c echo.Context) error {
	k, team := w.CallOf(c), c.Param("name")
	if _, err := w.Tenants.SaveCustomImages(k.Ctx, k.Actor, team, c.FormValue("allowed") != ""); err != nil {
		return err
	}
	return w.Done(c, "custom-images-saved", page.TeamImagesPath(team))
}

// imageRanks put those first that somebody has to do something about, and last what starts nothing any more.
var imageRanks = map[tenant.ImageState]int{tenant.ImageNotAllowed: 0, tenant.ImageUnlike: 0, tenant.ImageOffered: 1,
	tenant.ImageRetired: 2}

// imageOrders are what the list of a team's images can be sorted by.
var imageOrders = []string{"state", "name", "kind"}

var imageKeys = map[string]page.Key[tenant.Own]{
	"name":  page.ByText(func(o tenant.Own) string { return o.Title }),
	"kind":  page.ByText(func(o tenant.Own) string { return o.Like }),
	"state": page.ByText(func(o tenant.Own) string { return strconv.Itoa(imageRanks[o.State]) + " " + o.Title }),
}

func (w *Pages) teamImage(say page.Words, e tenant.Entry, o tenant.Own, changes bool) teamview.ImageModel {
	m := teamview.ImageModel{Name: o.Name, Title: o.Title, Note: o.Note, Like: o.Like, Reference: o.Reference,
		Short: blocks.ShortReference(o.Reference), State: teamview.ImageState(o.State), Retired: o.Retired,
		Scan: w.Site().Scans.Of(o.Reference)}
	if like, ok := w.Site().Catalog.Image(o.Like); ok {
		m.Like, m.Kind = like.Title, say.Say(i18n.T("kind."+string(like.Kind)))
	}
	if changes {
		verb := "/retire"
		if o.Retired {
			verb = "/offer"
		}
		m.Edit = page.TeamImagesPath(e.Name) + "?edit=" + url.QueryEscape(o.Name) + "#image"
		m.Turn = teamImagePath(e.Name, o.Name) + verb
	}
	return m
}

func (w *Pages) teamImageForm(say page.Words, e tenant.Entry, d tenant.ImageDraft,
	problems []fault.Field) *teamview.ImageFormModel {
	field := func(name, value string) teamview.FieldModel {
		return teamview.FieldModel{Value: value, Error: page.WrongIn(say, problems, name)}
	}
	m := &teamview.ImageFormModel{Action: page.TeamImagesPath(e.Name), New: d.New, Title: field("title", d.Title),
		Ref: field("reference", d.Reference), Like: field("like", d.Like), Likes: w.likes(say, e.Name),
		Note: field("note", d.Note), Allowed: strings.Join(w.Site().Directory.Allowed(e.Name), ", "),
		Back: page.TeamImagesPath(e.Name), Heading: d.Title}
	if !d.New {
		m.Action = teamImagePath(e.Name, d.Name)
	}
	if wrong := page.WrongIn(say, problems, "name"); wrong != "" { // a new image is named after its title
		m.Title.Error = wrong
	}
	return m
}

// likes are what a team's image can be started like.
func (w *Pages) likes(say page.Words, team string) []ui.OptionModel {
	var options []ui.OptionModel
	for _, i := range w.Site().Catalog.Images {
		if i.OfferedTo(team) {
			options = append(options, ui.OptionModel{Value: i.Name, Label: say.S("team.image_kind", "Kind",
				i18n.T("kind."+string(i.Kind)), "Like", i.Title)})
		}
	}
	return options
}

// teamImageSave adds an image or changes one. A new one is named after its title.
func (w *Pages) teamImageSave(c echo.Context) error {
	k, team := w.CallOf(c), c.Param("name")
	d := tenant.ImageDraft{New: c.Param("image") == "", Image: tenant.Image{Name: c.Param("image"),
		Title: c.FormValue("title"), Reference: c.FormValue("reference"), Like: c.FormValue("like"),
		Note: c.FormValue("note")}}
	if d.New {
		d.Name = request.Slug(d.Title)
	}
	_, err := w.Tenants.SaveImage(k.Ctx, k.Actor, team, d)
	if err == nil {
		return w.Done(c, "image-saved", page.TeamImagesPath(team))
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	v, viewErr := w.teamImagesView(k, team, d, page.ProblemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, page.Page{Name: w.teamImagesPage().Name}, v, page.StatusOf(err))
}

func (w *Pages) teamImageRetire(c echo.Context) error {
	return w.teamImageTurn(c, true, "image-retired")
}

func (w *Pages) teamImageOffer(c echo.Context) error { return w.teamImageTurn(c, false, "image-saved") }

func (w *Pages) teamImageTurn(c echo.Context, retired bool, flash string) error {
	k, team := w.CallOf(c), c.Param("name")
	if _, err := w.Tenants.RetireImage(k.Ctx, k.Actor, team, c.Param("image"), retired); err != nil {
		return err
	}
	return w.Done(c, flash, page.TeamImagesPath(team), team, c.Param("image"))
}

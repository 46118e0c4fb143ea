package team

import (
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	teamview "github.com/gpu-portal/gpu-portal/views/team"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

func teamImagePath(team, image string) string {
	return page.TeamImagesPath(team) + "/" + url.PathEscape(image)
}

// teamCrumbs lead to one side of a team; an empty title is the team itself.
func teamCrumbs(k page.Call, e tenant.Entry, title string) []ui.CrumbModel {
	crumbs := []ui.CrumbModel{{Label: k.Words.S("team.title"), Href: "/team"}}
	if page.TeamPlace(k, e.Name) == page.TenantsPath {
		crumbs[0] = ui.CrumbModel{Label: k.Words.S("tenants.title"), Href: page.TenantsPath}
	}
	if title == "" {
		return append(crumbs, ui.CrumbModel{Label: e.Display()})
	}
	return append(crumbs, ui.CrumbModel{Label: e.Display(), Href: page.TeamPath(e.Name)}, ui.CrumbModel{Label: title})
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
	m := teamview.ImagesModel{Header: ui.HeaderModel{Title: e.Display(), Lead: say.S("team.inside_lead"),
		Crumbs: teamCrumbs(k, e, title)},
		Tabs: blocks.TeamTabs(k, team, page.TeamImagesPath(team)), Errors: page.FormErrors(say, problems)}
	for _, o := range own {
		m.Images = append(m.Images, w.teamImage(say, e, o, changes))
	}
	if len(own) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "image", Title: say.S("team.images_none"),
			Lines: []string{say.S("team.images_none_why")}, Level: 3, Test: "empty"}
	}
	if changes {
		m.Change = w.teamImageForm(say, e, draft, problems)
	}
	return page.View{Title: title, Nav: page.TeamPlace(k, team), Wide: true, Body: teamview.Images(m)}, nil
}

// imageStates are how the states of a team's image look.
var imageStates = map[tenant.ImageState]ui.Kind{tenant.ImageOffered: ui.OK, tenant.ImageRetired: ui.Off,
	tenant.ImageNotAllowed: ui.Warning, tenant.ImageUnlike: ui.Warning}

func (w *Pages) teamImage(say page.Words, e tenant.Entry, o tenant.Own, changes bool) teamview.ImageModel {
	m := teamview.ImageModel{Row: ui.RowModel{ID: "image-" + o.Name, Test: "image-row"},
		Name: ui.StackModel{Title: o.Title, Detail: o.Note, Icon: "image"},
		Reference: ui.CopyModel{Value: o.Reference, Shown: blocks.ShortReference(o.Reference),
			Label: say.S("team.col_reference"),
			Test:  "reference"},
		State: ui.StateModel{Kind: imageStates[o.State], Word: say.S("team.image_" + string(o.State)), Test: "state"},
		Kind:  o.Like}
	if o.State != tenant.ImageOffered {
		m.State.Detail = say.S("team.image_" + string(o.State) + "_why")
	}
	if like, ok := w.Site().Catalog.Image(o.Like); ok {
		m.Kind = say.S("team.image_kind", "Kind", i18n.T("kind."+string(like.Kind)), "Like", like.Title)
	}
	if !changes {
		return m
	}
	m.Actions = []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: say.S("team.image_edit"),
		Href: page.TeamImagesPath(e.Name) +
			"?edit=" + url.QueryEscape(o.Name) + "#image", Kind: ui.Secondary, Small: true, Test: "edit"}}}
	verb, label := "retire", say.S("team.image_retire")
	if o.Retired {
		verb, label = "offer", say.S("team.image_offer")
	}
	m.Actions = append(m.Actions, ui.ActionModel{Post: &ui.PostButtonModel{Action: teamImagePath(e.Name, o.Name) + "/" +
		verb, Button: ui.ButtonModel{Label: label, Kind: ui.Secondary, Small: true, Test: verb}}})
	return m
}

func (w *Pages) teamImageForm(say page.Words, e tenant.Entry, d tenant.ImageDraft,
	problems []fault.Field) *teamview.ImageFormModel {
	m := &teamview.ImageFormModel{Title: say.S("team.image_add"), Lead: say.S("team.image_lead"),
		Form: ui.FormModel{ID: "image-form", Action: page.TeamImagesPath(e.Name), Test: "image-form"},
		Save: ui.ButtonModel{Label: say.S("team.image_add_send"), Kind: ui.Primary, Icon: "plus", Test: "image-save"}}
	if !d.New {
		m.Title, m.Form.Action = say.S("team.image_change", "Title", d.Title), teamImagePath(e.Name, d.Name)
		m.Save = ui.ButtonModel{Label: say.S("team.image_save"), Kind: ui.Primary, Test: "image-save"}
		m.Cancel = &ui.LinkButtonModel{Label: say.S("web.back"), Href: page.TeamImagesPath(e.Name), Kind: ui.LinkLike}
	}
	hint, allowed := say.S("team.image_reference_hint"), w.Site().Directory.Allowed(e.Name)
	if len(allowed) == 0 {
		m.Notices = append(m.Notices, ui.NoticeModel{Kind: ui.Warning, Title: say.S("team.image_none_allowed"),
			Body: say.S("team.image_none_allowed_why"), Test: "none-allowed"})
	} else {
		hint += " " + say.S("team.image_allowed", "Allowed", strings.Join(allowed, ", "))
	}
	m.Fields = []ui.FieldModel{
		{ID: "title", Name: "title", Label: say.S("team.image_title"), Hint: say.S("team.image_title_hint"), Value: d.Title,
			Required: true, MaxLength: 80, Autocomplete: "off", Test: "image-title"},
		{ID: "reference", Name: "reference", Label: say.S("team.col_reference"), Hint: hint, Value: d.Reference,
			Required: true, MaxLength: 400, Mono: true, Autocomplete: "off", Test: "image-reference"},
		{ID: "like", Name: "like", Kind: ui.SelectField, Label: say.S("team.image_like"), Hint: say.S("team.image_like_hint"),
			Value: d.Like, Options: w.likes(say, e.Name), Test: "image-like"},
		{ID: "note", Name: "note", Label: say.S("team.image_note"), Hint: say.S("team.image_note_hint"), Value: d.Note,
			MaxLength: 300, Autocomplete: "off", Test: "image-note"}}
	for i := range m.Fields {
		for _, p := range problems {
			if p.Name == m.Fields[i].Name || p.Name == "name" && i == 0 { // a new image is named after its title
				m.Fields[i].Error = say.Text(p.Reason)
			}
		}
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
	return w.Done(c, flash, page.TeamImagesPath(team))
}

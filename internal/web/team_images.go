package web

import (
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	teamview "github.com/gpu-portal/gpu-portal/views/team"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

func teamImagesPath(team string) string { return teamPath(team) + "/images" }

func teamImagePath(team, image string) string {
	return teamImagesPath(team) + "/" + url.PathEscape(image)
}

// teamTabs are the sides of a team.
func teamTabs(k call, team, current string) ui.TabsModel {
	m := ui.TabsModel{Label: k.words.S("team.title")}
	for _, t := range []struct {
		id, path, icon string
		action         identity.Action
	}{{"quota", teamQuotaPath(team), "pulse", identity.ReadTenant}, {"members", teamPath(team), "team",
		identity.ReadMembers}, {"budget", budgetPath(team), "budget", identity.ReadBudget},
		{"images", teamImagesPath(team), "image", identity.ReadTenant},
		{"volumes", teamVolumesPath(team), "storage", identity.ReadTenant}} {
		if identity.Can(k.actor, t.action, identity.Resource{Tenant: team}) {
			m.Items = append(m.Items, ui.TabModel{Label: k.words.S("team." + t.id), Href: t.path, Icon: t.icon,
				Current: t.path == current, Test: "tab-" + t.id})
		}
	}
	return m
}

// teamQuotaPath is the page of all teams with one of them.
func teamQuotaPath(team string) string { return "/team?name=" + url.QueryEscape(team) }

// teamCrumbs lead to one side of a team; an empty title is the team itself.
func teamCrumbs(k call, e tenant.Entry, title string) []ui.CrumbModel {
	crumbs := []ui.CrumbModel{{Label: k.words.S("team.title"), Href: "/team"}}
	if teamPlace(k, e.Name) == tenantsPath {
		crumbs[0] = ui.CrumbModel{Label: k.words.S("tenants.title"), Href: tenantsPath}
	}
	if title == "" {
		return append(crumbs, ui.CrumbModel{Label: e.Display()})
	}
	return append(crumbs, ui.CrumbModel{Label: e.Display(), Href: teamPath(e.Name)}, ui.CrumbModel{Label: title})
}

// teamImages answers: which images has the team of its own; and for owners: what can I change.
func (w *Web) teamImages(k call) (view, error) {
	own, err := w.Tenants.Images(k.actor, k.get("name"))
	if err != nil {
		return view{}, err
	}
	draft := tenant.ImageDraft{New: true}
	for _, o := range own {
		if o.Name == k.get("edit") {
			draft = tenant.ImageDraft{Image: o.Image}
		}
	}
	return w.teamImagesView(k, k.get("name"), draft, nil)
}

// teamImagesView draws the page around what was typed; problems stand beside their fields.
func (w *Web) teamImagesView(k call, team string, draft tenant.ImageDraft, problems []fault.Field) (view, error) {
	e, err := w.Tenants.Visible(k.actor, team)
	if err != nil {
		return view{}, err
	}
	own, err := w.Tenants.Images(k.actor, team)
	if err != nil {
		return view{}, err
	}
	say, changes := k.words, identity.Can(k.actor, identity.ChangeAssets, identity.Resource{Tenant: team})
	title := say.S("team.images")
	m := teamview.ImagesModel{Header: ui.HeaderModel{Title: e.Display(), Lead: say.S("team.inside_lead"),
		Crumbs: teamCrumbs(k, e, title)},
		Tabs: teamTabs(k, team, teamImagesPath(team)), Errors: formErrors(say, problems)}
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
	return view{title: title, nav: teamPlace(k, team), wide: true, body: teamview.Images(m)}, nil
}

// imageStates are how the states of a team's image look.
var imageStates = map[tenant.ImageState]ui.Kind{tenant.ImageOffered: ui.OK, tenant.ImageRetired: ui.Off,
	tenant.ImageNotAllowed: ui.Warning, tenant.ImageUnlike: ui.Warning}

func (w *Web) teamImage(say words, e tenant.Entry, o tenant.Own, changes bool) teamview.ImageModel {
	m := teamview.ImageModel{Row: ui.RowModel{ID: "image-" + o.Name, Test: "image-row"},
		Name: ui.StackModel{Title: o.Title, Detail: o.Note, Icon: "image"},
		Reference: ui.CopyModel{Value: o.Reference, Shown: shortReference(o.Reference), Label: say.S("team.col_reference"),
			Test: "reference"},
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
	m.Actions = []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: say.S("team.image_edit"), Href: teamImagesPath(e.Name) +
		"?edit=" + url.QueryEscape(o.Name) + "#image", Kind: ui.Secondary, Small: true, Test: "edit"}}}
	verb, label := "retire", say.S("team.image_retire")
	if o.Retired {
		verb, label = "offer", say.S("team.image_offer")
	}
	m.Actions = append(m.Actions, ui.ActionModel{Post: &ui.PostButtonModel{Action: teamImagePath(e.Name, o.Name) + "/" +
		verb, Button: ui.ButtonModel{Label: label, Kind: ui.Secondary, Small: true, Test: verb}}})
	return m
}

func (w *Web) teamImageForm(say words, e tenant.Entry, d tenant.ImageDraft,
	problems []fault.Field) *teamview.ImageFormModel {
	m := &teamview.ImageFormModel{Title: say.S("team.image_add"), Lead: say.S("team.image_lead"),
		Form: ui.FormModel{ID: "image-form", Action: teamImagesPath(e.Name), Test: "image-form"},
		Save: ui.ButtonModel{Label: say.S("team.image_add_send"), Kind: ui.Primary, Icon: "plus", Test: "image-save"}}
	if !d.New {
		m.Title, m.Form.Action = say.S("team.image_change", "Title", d.Title), teamImagePath(e.Name, d.Name)
		m.Save = ui.ButtonModel{Label: say.S("team.image_save"), Kind: ui.Primary, Test: "image-save"}
		m.Cancel = &ui.LinkButtonModel{Label: say.S("web.back"), Href: teamImagesPath(e.Name), Kind: ui.LinkLike}
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
				m.Fields[i].Error = say.say(p.Reason)
			}
		}
	}
	return m
}

// likes are what a team's image can be started like.
func (w *Web) likes(say words, team string) []ui.OptionModel {
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
func (w *Web) teamImageSave(c echo.Context) error {
	k, team := w.callOf(c), c.Param("name")
	d := tenant.ImageDraft{New: c.Param("image") == "", Image: tenant.Image{Name: c.Param("image"),
		Title: c.FormValue("title"), Reference: c.FormValue("reference"), Like: c.FormValue("like"),
		Note: c.FormValue("note")}}
	if d.New {
		d.Name = request.Slug(d.Title)
	}
	_, err := w.Tenants.SaveImage(k.ctx, k.actor, team, d)
	if err == nil {
		return w.done(c, "image-saved", teamImagesPath(team))
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	v, viewErr := w.teamImagesView(k, team, d, problemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.reply(c, k, page{name: teamImagesPage.name}, v, statusOf(err))
}

func (w *Web) teamImageRetire(c echo.Context) error { return w.teamImageTurn(c, true, "image-retired") }

func (w *Web) teamImageOffer(c echo.Context) error { return w.teamImageTurn(c, false, "image-saved") }

func (w *Web) teamImageTurn(c echo.Context, retired bool, flash string) error {
	k, team := w.callOf(c), c.Param("name")
	if _, err := w.Tenants.RetireImage(k.ctx, k.actor, team, c.Param("image"), retired); err != nil {
		return err
	}
	return w.done(c, flash, teamImagesPath(team))
}

// imageTitle is how an image stands in a list to choose from.
func imageTitle(say words, i catalog.Image) string {
	if i.OfTeam() {
		return say.S("team.image_own", "Title", i.Title)
	}
	return i.Title
}

package page

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/views/layout"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// flashes are what a page says after a redirect. The cookie carries the name and, for undo, what it was done to; no
// other host can set it.
var flashes = map[string]ui.Kind{
	"stopped": ui.OK, "resumed": ui.OK, "resume-queued": ui.Info, "shared": ui.OK, "unshared": ui.OK, "granted": ui.OK,
	"grant-revoked": ui.OK, "joined": ui.OK, "extended": ui.OK,
	"extension-undone": ui.OK, "scaled": ui.OK, "scaling-set": ui.OK,
	"version-started": ui.Info, "version-promoted": ui.Info, "version-aborted": ui.OK,
	"version-back": ui.Info,
	"schedule-set": ui.OK, "schedule-skipped": ui.OK, "schedule-restored": ui.OK, "team-schedule": ui.OK,
	"extension-asked": ui.Info, "resume-asked": ui.Info, "reach-asked": ui.Info, "reach-closed": ui.OK, "deleted": ui.OK,
	"submitted": ui.Info, "withdrawn": ui.OK, "approved": ui.OK, "consented": ui.OK, "rules-saved": ui.OK,
	"rejected": ui.OK, "edited": ui.OK, "reassigned": ui.OK, "taken-back": ui.OK, "undone": ui.OK,
	"delegation-created": ui.OK,
	"delegation-ended":   ui.OK, "edited-approved": ui.OK, "volume-deleted": ui.OK, "volume-kept": ui.OK,
	"volumes-deleted": ui.OK,
	"file-uploaded":   ui.OK,
	"volume-added":    ui.OK,
	"snapshot-taken":  ui.Info, "snapshot-deleted": ui.OK,
	"cluster-added": ui.Info, "cluster-replaced": ui.Info, "cluster-removed": ui.Info,
	"secret-added": ui.OK, "secret-replaced": ui.OK, "secret-deleted": ui.OK,
	"token-revoked": ui.OK, "embed-revoked": ui.OK, "key-revoked": ui.OK, "session-ended": ui.OK, "sessions-ended": ui.OK,
	"person-disabled": ui.OK, "person-enabled": ui.OK, "transferred": ui.OK, "transferred-some": ui.Warning,
	"license-entered": ui.OK, "license-removed": ui.OK, "license-chosen": ui.OK, "hardware-quarantined": ui.OK,
	"difference-decided":        ui.OK,
	"hardware-quarantine-ended": ui.OK,
	"catalog-saved":             ui.OK,
	"tenant-saved":              ui.OK, "member-added": ui.OK, "member-removed": ui.OK, "image-saved": ui.OK,
	"dataset-offered": ui.OK, "dataset-changed": ui.OK, "dataset-withdrawn": ui.Info,
	"volume-shared": ui.OK, "volume-expanded": ui.OK, "volume-pending-deletion": ui.Info, "volume-restored": ui.OK,
	"image-retired": ui.OK, "custom-images-saved": ui.OK,
	"budget-saved": ui.OK, "budget-removed": ui.OK, "budget-refunded": ui.OK,
	"workload-kept-alive": ui.OK, "idle-saved": ui.OK, "advice-dismissed": ui.OK, "advice-restored": ui.OK,
	"price-added": ui.OK, "price-ended": ui.OK,
	"notices-saved": ui.OK, "address-entered": ui.OK, "address-removed": ui.OK, "delivery-retried": ui.OK,
}

// counted are the flashes that say of how many things they tell: their one value.
var counted = map[string]bool{"volumes-deleted": true}

// inverse is the form that takes back what a flash tells. The services decide who may send it.
type inverse struct {
	path   string   // with a %s for each of the first values
	fields []string // their values follow
	timed  bool     // only for as long as a decision can be undone
}

// inverses are those of the flashes whose change can be taken back as a whole: what a stop loses cannot.
var inverses = map[string]inverse{
	"shared":                  {path: "/workloads/%s/share"},
	"unshared":                {path: "/workloads/%s/share", fields: []string{"shared"}},
	"extended":                {path: "/requests/%s/undo-extension", timed: true},
	"scaled":                  {path: "/workloads/%s/replicas", fields: []string{"wanted"}},
	"schedule-skipped":        {path: "/workloads/%s/schedule/restore"},
	"schedule-restored":       {path: "/workloads/%s/schedule/skip"},
	"advice-dismissed":        {path: AdvicePath + "/%s/restore", fields: []string{"back"}},
	"advice-restored":         {path: AdvicePath + "/%s/dismiss", fields: []string{"back"}},
	"image-retired":           {path: "/team/%s/images/%s/offer"},
	"volume-pending-deletion": {path: "/team/%s/volumes/%s/restore"},
	"member-added":            {path: "/team/%s/members/%s/%s/remove"},
	"member-removed":          {path: "/team/%s/members", fields: []string{"person", "role"}},
	"person-disabled":         {path: PeoplePath + "/%s/enable"},
	"reassigned":              {path: "/approvals/%s/reclaim"},
	"delegation-created":      {path: "/approvals/delegations/%s/end"},
	"hardware-quarantined":    {path: FleetHealthPath + "/quarantine/end", fields: []string{"cluster", "kind", "name"}},
}

// undo is the button; nil where the values are not those that it needs.
func (i inverse) undo(say Words, of []string) *ui.PostButtonModel {
	places := strings.Count(i.path, "%s")
	if len(of) != places+len(i.fields) || slices.Contains(of[:places], "") {
		return nil
	}
	b := &ui.PostButtonModel{Action: i.path, Button: ui.ButtonModel{Label: say.S("web.undo"), Kind: ui.Secondary,
		Icon: "undo", Small: true, Test: "flash-undo"}}
	for _, value := range of[:places] {
		b.Action = strings.Replace(b.Action, "%s", url.PathEscape(value), 1)
	}
	for n, name := range i.fields {
		b.Hidden = append(b.Hidden, ui.HiddenModel{Name: name, Value: of[places+n]})
	}
	return b
}

// Done redirects after a change and says there what came of it. What of names is for the button that takes it back:
// see inverses.
func (w *Frame) Done(c echo.Context, flash, path string, of ...string) error {
	if flash != "" {
		for _, value := range of {
			flash += ":" + url.QueryEscape(value)
		}
		c.SetCookie(edge.Cookie(edge.Flash, flash, time.Minute))
	}
	return c.Redirect(http.StatusSeeOther, path)
}

// takeFlash shows a flash once.
func (w *Frame) takeFlash(c echo.Context, say Words) *ui.NoticeModel {
	value := edge.Value(c.Request(), edge.Flash)
	if value == "" {
		return nil
	}
	c.SetCookie(edge.Cookie(edge.Flash, "", -1))
	of := strings.Split(value, ":")
	name, of := of[0], of[1:]
	kind, known := flashes[name]
	if !known {
		return nil
	}
	if counted[name] {
		n, err := strconv.Atoi(strings.Join(of, ""))
		if err != nil || n < 1 {
			return nil
		}
		return layout.Done(say.Localizer, kind, name, "Count", n)
	}
	m := layout.Done(say.Localizer, kind, name)
	for n := range of {
		var err error
		if of[n], err = url.QueryUnescape(of[n]); err != nil {
			return m
		}
	}
	if i, can := inverses[name]; can {
		if b := i.undo(say, of); b != nil {
			m.Actions = []ui.ActionModel{{Post: b}}
			if i.timed {
				m.Seconds = int(w.Site().Undo.Seconds())
			}
		}
	}
	return m
}

const aYear = 365 * 24 * time.Hour

func (w *Frame) setLanguage(c echo.Context) error {
	chosen := w.Bundle.For(c.FormValue("lang"))
	c.SetCookie(edge.Cookie(edge.Language, chosen.Lang(), aYear))
	return c.Redirect(http.StatusSeeOther, LocalPath(c.FormValue("back"), "/"))
}

func (w *Frame) setTheme(c echo.Context) error {
	switch chosen := c.FormValue("theme"); chosen {
	case "dark", "light":
		c.SetCookie(edge.Cookie(edge.Theme, chosen, aYear))
	default:
		c.SetCookie(edge.Cookie(edge.Theme, "", -1))
	}
	return c.Redirect(http.StatusSeeOther, LocalPath(c.FormValue("back"), "/"))
}

func (w *Frame) setTeam(c echo.Context) error {
	k := w.CallOf(c)
	chosen := c.FormValue("team")
	if !k.Actor.Member(chosen) {
		return fault.New(fault.NotFound, i18n.T("web.no_team"))
	}
	c.SetCookie(edge.Cookie(edge.Team, chosen, aYear))
	return c.Redirect(http.StatusSeeOther, LocalPath(c.FormValue("back"), "/"))
}

package team

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/storage"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

const newVolumePath = "/storage/new"

// ownForm is what was typed about a personal volume.
type ownForm struct{ name, place, gib, from string }

func (f ownForm) draft() workload.PersonalDraft {
	team, cluster, _ := strings.Cut(f.place, "/")
	d := workload.PersonalDraft{Team: team, Cluster: cluster, Name: f.name, GiB: gibTyped(f.gib), From: f.from}
	if id, ok := strings.CutPrefix(f.from, fromSnapshot); ok {
		d.From, d.Snapshot = "", id
	}
	return d
}

// fromSnapshot begins the value of a snapshot in the field of what a volume is made from.
const fromSnapshot = "snapshot/"

// volumeNew is the form of a personal volume.
func (w *Pages) volumeNew(k page.Call) (page.View, error) {
	f := ownForm{gib: "10", from: k.Get("from")}
	if f.from != "" {
		volumes, err := w.Workloads.OwnVolumes(k.Ctx, k.Actor, true)
		if err != nil {
			return page.View{}, err
		}
		for _, v := range volumes {
			if v.Name == f.from && !v.OfTeam() {
				f.gib, f.place = strconv.Itoa(v.GiB), v.Tenant+"/"+v.Cluster
			}
			for _, s := range v.Snapshots {
				if fromSnapshot+s.ID == f.from {
					f.gib, f.place = strconv.Itoa(max(s.State.GiB(), v.GiB)), v.Tenant+"/"+v.Cluster
				}
			}
		}
	}
	return w.volumeNewView(k, f, nil)
}

func (w *Pages) volumeNewView(k page.Call, f ownForm, problems []fault.Field) (page.View, error) {
	volumes, err := w.Workloads.OwnVolumes(k.Ctx, k.Actor, true)
	if err != nil {
		return page.View{}, err
	}
	teams := w.Startable(k)
	if len(teams) == 0 {
		return page.View{}, fault.New(fault.Forbidden, i18n.T("volume.developers_only"))
	}
	say, sharing := k.Words, w.Workloads.Sharing()
	field := func(name, value string) storage.FieldModel {
		return storage.FieldModel{Value: value, Error: page.WrongIn(say, problems, name)}
	}
	m := storage.NewModel{Errors: page.FormErrors(say, problems), Action: newVolumePath, Name: field("name", f.name),
		Place: field("cluster", f.place), GiB: field("gib", f.gib), From: fromField(say, problems, f.from),
		Most: sharing.MostGiB, Limit: say.GiB(float64(sharing.MostGiB))}
	for _, t := range teams {
		for _, cluster := range sharing.Clusters {
			m.Places = append(m.Places, ui.OptionModel{Value: t.Name + "/" + cluster, Label: t.Display() + " · " + cluster})
		}
	}
	for _, v := range volumes {
		if !v.Deleted && !v.OfTeam() {
			m.Sources = append(m.Sources, ui.OptionModel{Value: v.Name, Label: strings.Join([]string{ownTitle(v.Volume),
				w.TeamTitle(v.Tenant), v.Cluster, say.GiB(float64(v.GiB))}, " · ")})
		}
		for _, s := range v.Snapshots {
			if s.Usable() && !v.Deleted {
				m.Sources = append(m.Sources, ui.OptionModel{Value: fromSnapshot + s.ID, Label: strings.Join([]string{
					say.S("snapshot.of", "Name", s.Name, "Volume", ownTitle(v.Volume)), w.TeamTitle(v.Tenant),
					v.Cluster, say.GiB(float64(max(s.State.GiB(), 1)))}, " · ")})
			}
		}
	}
	return page.View{Title: say.S("storage.new"), Nav: "/storage", Body: storage.New(m)}, nil
}

// fromField is one field for both: what is wrong with a snapshot stands there too.
func fromField(say page.Words, problems []fault.Field, value string) storage.FieldModel {
	wrong := page.WrongIn(say, problems, "from")
	if wrong == "" {
		wrong = page.WrongIn(say, problems, "snapshot")
	}
	return storage.FieldModel{Value: value, Error: wrong}
}

func (w *Pages) volumeAdd(c echo.Context) error {
	k := w.CallOf(c)
	f := ownForm{c.FormValue("name"), c.FormValue("place"), c.FormValue("gib"), c.FormValue("from")}
	_, err := w.Workloads.AddVolume(k.Ctx, k.Actor, f.draft())
	if err == nil {
		return w.Done(c, "volume-added", "/storage")
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	v, viewErr := w.volumeNewView(k, f, page.ProblemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, page.Page{Name: w.volumeNewPage().Name}, v, page.StatusOf(err))
}

// volumeExpandAsk is the form for a larger size.
func (w *Pages) volumeExpandAsk(k page.Call) (page.View, error) {
	return w.volumeExpandView(k, k.Get("name"), "", nil)
}

func (w *Pages) volumeExpandView(k page.Call, name, typed string, problems []fault.Field) (page.View, error) {
	volumes, err := w.Workloads.Volumes(k.Ctx, k.Actor, false)
	if err != nil {
		return page.View{}, err
	}
	i := slices.IndexFunc(volumes, func(v workload.Volume) bool { return v.Name == name && !v.OfTeam() })
	if i < 0 {
		return page.View{}, fault.New(fault.NotFound, i18n.T("volume.not_found"))
	}
	v := volumes[i]
	if !identity.Can(k.Actor, identity.ExpandVolume, v.Resource()) {
		return page.View{}, fault.New(fault.Forbidden, i18n.T("volume.not_yours_to_expand", "Owner", v.OwnerName))
	}
	say, most := k.Words, w.Workloads.Sharing().MostGiB
	m := storage.ExpandModel{Name: ownTitle(v), Errors: page.FormErrors(say, problems), Action: volumeExpandPath(name),
		GiB: storage.FieldModel{Value: page.OrElse(typed, strconv.Itoa(v.GiB)), Error: page.WrongIn(say, problems, "gib")},
		Has: v.GiB, Now: say.GiB(float64(v.GiB)), Most: most, Limit: say.GiB(float64(most))}
	return page.View{Title: say.S("team.volume_grow_title", "Name", m.Name), Nav: "/storage", Body: storage.Expand(m)}, nil
}

func (w *Pages) volumeExpand(c echo.Context) error {
	k, name, typed := w.CallOf(c), c.Param("name"), c.FormValue("gib")
	_, err := w.Workloads.ExpandOwnVolume(k.Ctx, k.Actor, name, gibTyped(c.FormValue("from")), gibTyped(typed))
	if err == nil {
		return w.Done(c, "volume-expanded", "/storage")
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	v, viewErr := w.volumeExpandView(k, name, typed, page.ProblemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, page.Page{Name: w.volumeExpandPage().Name}, v, page.StatusOf(err))
}

func volumeExpandPath(name string) string { return "/storage/" + name + "/expand" }

// ownTitle is what people read: where a personal volume is found, and the name of a home.
func ownTitle(v workload.Volume) string {
	if v.IsPersonal() {
		return v.Mounted().Path()
	}
	return v.Name
}

// ownNotes are what somebody should know of their own volume beside its use.
func ownNotes(say page.Words, v workload.OwnVolume) (notes []string) {
	c := v.Claim
	known := !c.At.IsZero() && (c.Quiet(v.GiB) || c.Known(say.Now))
	switch {
	case known && v.Resizing():
		notes = append(notes, say.S("storage.resizing", "Has", say.GiB(workload.GiBOf(c.Has))))
	case v.IsPersonal() && !v.Deleted && (!known || c.Phase == workload.NoClaim):
		notes = append(notes, say.S("storage.not_made"))
	}
	if known && !c.Reason.IsZero() {
		notes = append(notes, say.Text(c.Reason))
		if c.Detail != "" {
			notes = append(notes, c.Detail)
		}
	}
	if because := v.RefusedBecause(); !because.IsZero() {
		notes = append(notes, say.Text(because))
	}
	if v.Personal.From != "" {
		notes = append(notes, say.S("storage.clone_of", "Name", v.Personal.From))
	}
	if v.Personal.Snapshot != "" {
		notes = append(notes, say.S("storage.from_snapshot", "Name", v.Personal.Snapshot))
	}
	return notes
}

// month is how long a price of storage is for.
const month = usage.MonthHours * time.Hour

// monthly is what a volume costs from now on; "" where storage has no price.
func (w *Pages) monthly(say page.Words, v workload.Volume) string {
	cost := w.monthlyCost(say, v)
	if cost.Minor == 0 {
		return ""
	}
	return say.S("storage.monthly", "Cost", say.Money(cost))
}

func (w *Pages) monthlyCost(say page.Words, v workload.Volume) usage.Money {
	if w.Workloads.Prices == nil {
		return usage.Money{}
	}
	return w.Workloads.Prices().ExtraCosts(v.Tenant, int64(v.GiB), usage.Seats{},
		usage.Span{From: say.Now, Until: say.Now.Add(month)}, w.Site().Catalog.Currency()).Storage
}

// storageTiles sum up all storage of a list, whatever its filter leaves; none where there is none. What is deleted next
// is told there unless a notice has told it. What nobody uses leads to its list, unless that is the one shown.
func (w *Pages) storageTiles(k page.Call, volumes []workload.OwnVolume, m storage.ListModel) []ui.TileModel {
	if len(volumes) == 0 {
		return nil
	}
	say := k.Words
	var gib, unused, unusedGiB int
	var cost usage.Money
	var next time.Time
	for _, v := range volumes {
		gib += v.GiB
		if c := w.monthlyCost(say, v.Volume); c.Minor > 0 {
			cost = usage.Money{Minor: cost.Minor + c.Minor, Currency: c.Currency}
		}
		if w.unused(v) {
			unused, unusedGiB = unused+1, unusedGiB+v.GiB
			if until := w.Workloads.Retention.Until(v.Volume); next.IsZero() || until.Before(next) {
				next = until
			}
		}
	}
	tiles := []ui.TileModel{{Label: say.S("storage.tile_total"), Value: say.GiB(float64(gib)),
		Detail: say.S("storage.tile_volumes", "Count", len(volumes)), Test: "storage-total"}}
	if cost.Minor > 0 {
		tiles = append(tiles, ui.TileModel{Label: say.S("storage.tile_cost"), Value: say.Money(cost),
			Detail: say.S("storage.tile_cost_detail"), Test: "storage-cost"})
	}
	idle := ui.TileModel{Label: say.S("storage.tile_unused"), Value: say.GiB(float64(unusedGiB)), Test: "storage-unused",
		Detail: say.S("storage.tile_volumes", "Count", unused)}
	if unused > 0 && !m.Unused {
		idle.Detail = say.S("storage.tile_review", "Count", unused)
		idle.More = page.WithQuery("/storage", url.Values{"state": {storage.UnusedOnly}})
		if m.Team {
			idle.More += "&scope=team"
		}
	}
	if m.Soon == nil && !next.IsZero() {
		idle.Detail = say.S("storage.tile_next", "Time", say.At(next).Exact)
	}
	return append(tiles, idle)
}

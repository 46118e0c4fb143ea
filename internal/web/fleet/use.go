package fleet

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/fleet"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// fleetTabs are the sides of the fleet: for those who only use it what there is, the map, who holds, and licenses.
// Those who answer for it have the others in the navigation.
func fleetTabs(k page.Call, current string) ui.TabsModel {
	m := ui.TabsModel{Label: k.Words.S("web.nav.fleet")}
	if seesHealth(k) && current != page.FleetUsePath && current != holdersPath {
		return m
	}
	for _, t := range []struct {
		id, path string
		everyone bool
	}{{"capacity", "/fleet", false}, {"use", page.FleetUsePath, true}, {"holders", holdersPath, true},
		{"licenses", "/licenses", false}} {
		if t.everyone || !seesHealth(k) {
			m.Items = append(m.Items, ui.TabModel{Label: k.Words.S("fleet.use.tab_" + t.id), Href: t.path,
				Current: t.path == current, Test: "tab-" + t.id})
		}
	}
	return m
}

// fleetHolders answers: who holds GPUs, and who does not use them?
func (w *Pages) fleetHolders(k page.Call) (page.View, error) {
	say := k.Words
	held, err := w.HoldersSeen(k)
	if err != nil {
		return page.View{}, err
	}
	m := fleet.HoldersPageModel{Header: ui.HeaderModel{Title: say.S("fleet.use.title"), Lead: say.S("fleet.use.lead")},
		Tabs: fleetTabs(k, holdersPath), Stream: page.StreamModel(k, holdersPath),
		Holders: w.holdersTable(k, held)}
	v := page.View{Title: say.S("fleet.use.tab_holders"), Nav: page.FleetUsePath, Wide: true, Paused: page.Paused(k)}
	v.Parts = []page.Part{{ID: m.Holders.ID, Ticks: true, Draw: func(say page.Words) templ.Component {
		k.Words = say
		return fleet.Holders(w.holdersTable(k, held))
	}}}
	v.Body = fleet.HoldersPage(m)
	return v, nil
}

// heatAge says when the values of the map came, and when none come any more, since when.
func (w *Pages) heatAge(say page.Words, cluster string) fleet.AgeModel {
	m := fleet.AgeModel{ID: "heat-age-" + page.Slug(cluster)}
	f := w.Metrics.Fleet(cluster)
	if f == nil {
		m.Unknown = say.S("fleet.use.never")
		return m
	}
	age := say.Age("DCGM", f.At, page.ReadingEvery)
	m.Age = &age
	if age.Old {
		m.Unknown = say.S("fleet.use.silent", "Time", say.Since(f.At).Words)
	}
	return m
}

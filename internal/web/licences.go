package web

import (
	"maps"
	"slices"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/licences"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// licences answers: how many seats, and, to those who see everything, who has them.
func (w *Web) licences(k call) (view, error) {
	pools, err := w.Requests.Seats(k.ctx)
	if err != nil {
		return view{}, err
	}
	say := k.words
	m := licences.PageModel{Header: ui.HeaderModel{Title: say.S("licences.title"), Lead: say.S("licences.lead")}}
	v := view{title: m.Header.Title, nav: "/licences"}
	holders, err := w.seatHolders(k)
	if err != nil {
		return view{}, err
	}
	for _, seats := range pools {
		p := poolModel(say, seats, holders[seats.Pool.Name])
		m.Pools = append(m.Pools, p)
		v.parts = append(v.parts, part{id: p.ID, draw: func(words) templ.Component { return licences.Pool(p) }})
	}
	if len(pools) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "licences", Title: say.S("licences.empty"), Lines: []string{say.S("licences.empty_why")}, Test: "empty"}
	}
	v.body = licences.Page(m)
	return v, nil
}

// seatHolders are the workloads that hold a seat, by pool; nobody but admins and auditors gets them.
func (w *Web) seatHolders(k call) (map[string][]workload.Workload, error) {
	if !k.actor.SeesAll() {
		return nil, nil
	}
	items, _, err := w.Workloads.List(k.ctx, k.actor, false, workload.Filter{Limit: 500})
	holders := map[string][]workload.Workload{}
	for _, item := range items {
		if pool := item.Size.LicencePool; pool != "" && item.Holds() {
			holders[pool] = append(holders[pool], item)
		}
	}
	return holders, err
}

func poolModel(say words, seats license.Seats, holders []workload.Workload) licences.PoolModel {
	id := slug(seats.Pool.Name)
	m := licences.PoolModel{ID: "pool-" + id, TableID: "seats-" + id, Title: seats.Pool.Title, Feature: seats.Pool.Feature, Bar: seatBar(say, seats, 0)}
	teams := map[string]int{}
	for _, item := range holders {
		teams[item.Tenant]++
		m.Seats = append(m.Seats, licences.SeatModel{Team: item.Tenant, Owner: item.OwnerName, State: stateModel(say, item),
			Workload: ui.StackModel{Title: item.Name, Href: workloadPath(item.ID), Detail: item.Size.Title}})
	}
	for _, t := range slices.Sorted(maps.Keys(teams)) {
		m.Teams = append(m.Teams, ui.DefModel{Term: t, Value: say.S("licences.seats_of", "Count", teams[t])})
	}
	return m
}

// seatBar draws the seats that are taken, and the one that a request would take.
func seatBar(say words, s license.Seats, more int) ui.MeterModel {
	whole := float64(max(s.Pool.Seats, s.Used, 1))
	fill := ui.FillUsed
	if s.Free() == 0 {
		fill = ui.FillWarning
	}
	m := ui.MeterModel{Label: s.Pool.Title, Value: say.S("licences.free_of", "Free", s.Free(), "Seats", s.Pool.Seats), Legend: true, Large: more == 0, Test: "seats",
		Segments: []ui.SegmentModel{{Fill: fill, Share: float64(s.Used) / whole, Words: say.S("licences.used", "Count", s.Used)}}}
	if more > 0 && s.Free() > 0 {
		m.Segments = append(m.Segments, ui.SegmentModel{Fill: ui.FillThis, Share: float64(more) / whole, Words: say.S("start.this_one")})
	}
	return m
}

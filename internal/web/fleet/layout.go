package fleet

import (
	"strconv"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/fleet"
)

// layoutModel draws the cards of a node as its agent sees them; nil where no agent tells.
func layoutModel(say page.Words, cards []inventory.PhysicalCard) *fleet.LayoutModel {
	if len(cards) == 0 {
		return nil
	}
	m := &fleet.LayoutModel{Title: say.S("fleet.layout", "Count", len(cards)), Note: say.S("fleet.layout_note")}
	for _, c := range cards {
		m.Cards = append(m.Cards, physicalCard(say, c))
	}
	return m
}

func physicalCard(say page.Words, c inventory.PhysicalCard) fleet.CardModel {
	model := c.Model
	if model == "" {
		model = say.S("fleet.model_unknown")
	}
	// numbered as on the map, from one
	m := fleet.CardModel{Title: say.S("fleet.layout_card", "Index", c.Index+1, "Model", model), Axis: c.Axis}
	switch {
	case c.Lost:
		m.Words, m.Axis = say.S("fleet.layout_lost"), 0
		return m
	case c.Axis == 0:
		m.Words = say.S("fleet.layout_whole")
		return m
	}
	m.Slots = slots(say, c)
	var all []string
	for _, s := range m.Slots {
		all = append(all, s.Words)
	}
	m.Words = strings.Join(all, ", ")
	if len(c.Slices) == 0 {
		m.Words = say.S("fleet.layout_none")
	}
	m.Fits = say.S("fleet.layout_full")
	if len(c.Fits) > 0 {
		m.Fits = say.S("fleet.layout_fits", "Profiles", fits(c.Fits))
	}
	return m
}

// slots are the slices in order, with the gaps between them.
func slots(say page.Words, c inventory.PhysicalCard) []fleet.SlotModel {
	var list []fleet.SlotModel
	end := 0
	gap := func(until int) {
		if until > end {
			list = append(list, fleet.SlotModel{Kind: fleet.Free, Start: end, Size: until - end,
				Words: say.S("fleet.layout_gap", "Place", stretch(say, end, until-end))})
		}
	}
	for _, p := range c.Slices {
		gap(p.Start)
		list = append(list, fleet.SlotModel{Kind: fleet.Held, Start: p.Start, Size: p.Size,
			Words: say.S("fleet.layout_slice", "Profile", p.Profile, "Place", stretch(say, p.Start, p.Size))})
		end = p.Start + p.Size
	}
	gap(c.Axis)
	return list
}

// stretch names memory slices as nvidia-smi does, from nought.
func stretch(say page.Words, start, size int) string {
	if size == 1 {
		return strconv.Itoa(start)
	}
	return say.S("fleet.layout_place", "From", start, "To", start+size-1)
}

func fits(list []inventory.Fitting) string {
	var all []string
	for _, f := range list {
		starts := make([]string, len(f.Starts))
		for i, s := range f.Starts {
			starts[i] = strconv.Itoa(s)
		}
		all = append(all, f.Profile+" ("+strings.Join(starts, ", ")+")")
	}
	return strings.Join(all, ", ")
}

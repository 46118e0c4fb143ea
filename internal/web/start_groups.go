package web

import (
	"cmp"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/views/start"
)

// groups are the headings of a long price list, in its order.
var groups = []string{"cpu", "slices", "virtual", "shared", "whole", "several", "vendors"}

// longList is how many lines one takes in without headings.
const longList = 8

// groupSizes puts lines of one kind together and a heading above each kind, where the list is long. Within a kind the
// catalog's order stays.
func groupSizes(say words, rows []start.SizeRowModel, sizes []catalog.Size) {
	if len(rows) <= longList {
		return
	}
	kind := make(map[string]int, len(rows))
	for i, s := range sizes {
		kind[rows[i].Name] = slices.Index(groups, groupOf(s))
	}
	slices.SortStableFunc(rows, func(a, b start.SizeRowModel) int { return cmp.Compare(kind[a.Name], kind[b.Name]) })
	for i := range rows {
		if i == 0 || kind[rows[i].Name] != kind[rows[i-1].Name] {
			rows[i].Group = say.S("start.group." + groups[kind[rows[i].Name]])
		}
	}
}

func groupOf(s catalog.Size) string {
	a := s.Accelerator
	switch {
	case s.CPUOnly():
		return "cpu"
	case a.Vendor != "" && a.Vendor != "nvidia":
		return "vendors"
	case a.Share >= 1 && s.Devices() > 1:
		return "several"
	case a.Share >= 1:
		return "whole"
	case s.Technology == catalog.VGPU:
		return "virtual"
	case s.Isolation == catalog.IsolationHard:
		return "slices"
	}
	return "shared"
}

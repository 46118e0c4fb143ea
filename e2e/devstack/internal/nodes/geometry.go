package nodes

import (
	"fmt"
	"slices"
)

// Instance is a MIG instance on a GPU: a profile and the memory slice at which it begins.
type Instance struct {
	Profile string `json:"profile"`
	Start   int    `json:"start"`
}

// Layout is what each GPU of a node is cut into: nil for a GPU with MIG off, empty for MIG on without an instance.
type Layout [][]Instance

const memorySlices = 8

// Place finds starts for the profiles so that no two instances overlap and no profile appears more often than the
// driver allows. Any legal set of profiles has such starts; the search takes the biggest first, as mig-parted does.
func Place(m *Model, profiles []string) ([]Instance, error) {
	var wanted []Profile
	count := map[string]int{}
	for _, name := range profiles {
		p, ok := m.Profile(name)
		if !ok {
			return nil, fmt.Errorf("%s has no profile %q", m.Name, name)
		}
		if count[name]++; count[name] > p.Max {
			return nil, fmt.Errorf("%s takes at most %d of %s", m.Name, p.Max, name)
		}
		wanted = append(wanted, p)
	}
	slices.SortStableFunc(wanted, func(a, b Profile) int { return b.Size*8 + b.Slices - a.Size*8 - a.Slices })
	placed, ok := place(wanted, [memorySlices]bool{})
	if !ok {
		return nil, fmt.Errorf("%v do not fit together on one %s", profiles, m.Name)
	}
	slices.SortFunc(placed, func(a, b Instance) int { return a.Start - b.Start })
	return placed, nil
}

func place(wanted []Profile, taken [memorySlices]bool) ([]Instance, bool) {
	if len(wanted) == 0 {
		return []Instance{}, true
	}
	p := wanted[0]
	for _, start := range p.Starts {
		now, free := occupy(taken, start, p.Size)
		if !free {
			continue
		}
		if rest, ok := place(wanted[1:], now); ok {
			return append(rest, Instance{Profile: p.Name, Start: start}), true
		}
	}
	return nil, false
}

func occupy(taken [memorySlices]bool, start, size int) ([memorySlices]bool, bool) {
	for i := start; i < start+size; i++ {
		if i >= memorySlices || taken[i] {
			return taken, false
		}
		taken[i] = true
	}
	return taken, true
}

// InstanceID is the GPU instance id that the driver gives: the instances are the nodes of a binary tree over the eight
// memory slices, numbered from the top (0 the whole card, 1 and 2 the halves, 3 to 6 the quarters, 7 to 14 the
// eighths). Guessed from published nvidia-smi outputs (3g at 0 and 4: ids 1 and 2; 1g at 0: id 7), not from a document.
func InstanceID(size, start int) int {
	return memorySlices/size - 1 + start/size
}

// Balanced is the layout that mig-parted calls all-balanced: 2 x 1g, 2g and 3g.
func Balanced(m *Model) []string {
	var one, two, three string
	for _, p := range m.Profiles {
		switch {
		case p.Slices == 1 && p.Size == 1 && one == "":
			one = p.Name
		case p.Slices == 2:
			two = p.Name
		case p.Slices == 3:
			three = p.Name
		}
	}
	return []string{one, one, two, three}
}

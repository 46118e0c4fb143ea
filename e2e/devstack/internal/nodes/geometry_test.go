package nodes

import (
	"slices"
	"strings"
	"testing"
)

func TestPlace(t *testing.T) {
	cases := map[string]struct {
		model    *Model
		profiles string
		fits     bool
	}{
		"seven of the smallest": {H100,
			"1g.10gb 1g.10gb 1g.10gb 1g.10gb 1g.10gb 1g.10gb 1g.10gb", true},
		"eight of the smallest": {H100,
			"1g.10gb 1g.10gb 1g.10gb 1g.10gb 1g.10gb 1g.10gb 1g.10gb 1g.10gb", false},
		"balanced, whatever the order":                        {H100, "1g.10gb 3g.40gb 1g.10gb 2g.20gb", true},
		"four and three":                                      {H100, "3g.40gb 4g.40gb", true},
		"two fours":                                           {H100, "4g.40gb 4g.40gb", false},
		"two threes leave no memory for a 1g":                 {H100, "3g.40gb 3g.40gb 1g.10gb", false},
		"four of the double-memory 1g":                        {A100, "1g.10gb 1g.10gb 1g.10gb 1g.10gb", true},
		"three 2g and a 1g":                                   {A100, "2g.10gb 2g.10gb 2g.10gb 1g.5gb", true},
		"three 2g and two 1g":                                 {A100, "2g.10gb 2g.10gb 2g.10gb 1g.5gb 1g.5gb", false},
		"one media instance":                                  {A100, "1g.5gb+me 1g.5gb", true},
		"two media instances":                                 {A100, "1g.5gb+me 1g.5gb+me", false},
		"a profile of another card":                           {A100, "1g.18gb", false},
		"the whole card as one instance":                      {H200, "7g.141gb", true},
		"the whole card as one instance and something beside": {H200, "7g.141gb 1g.18gb", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			placed, err := Place(c.model, strings.Fields(c.profiles))
			if c.fits != (err == nil) {
				t.Fatalf("want fits %v, got %v, %v", c.fits, placed, err)
			}
		})
	}
}

// The driver's rule leaves exactly twelve sets of plain profiles to which nothing can be added, on every card with
// seven compute slices.
func TestMaximalLayouts(t *testing.T) {
	for _, m := range []*Model{A100, H100, H200} {
		var plain []string
		for _, p := range m.Profiles {
			if !strings.HasSuffix(p.Name, "+me") && !(p.Slices == 1 && p.Size == 2) {
				plain = append(plain, p.Name)
			}
		}
		maximal := 0
		for _, set := range fitting(m, plain, nil) {
			more := slices.ContainsFunc(plain, func(p string) bool {
				_, err := Place(m, append(slices.Clone(set), p))
				return err == nil
			})
			if !more {
				maximal++
			}
		}
		if want := 12; maximal != want {
			t.Errorf("%s: want %d maximal layouts, got %d", m.Name, want, maximal)
		}
	}
}

// fitting are all multisets of profiles that fit, each once (profiles in falling order).
func fitting(m *Model, profiles, set []string) [][]string {
	all := [][]string{set}
	for i, p := range profiles {
		next := append(slices.Clone(set), p)
		if _, err := Place(m, next); err == nil {
			all = append(all, fitting(m, profiles[i:], next)...)
		}
	}
	return all
}

func TestInstanceID(t *testing.T) {
	for _, c := range []struct{ size, start, want int }{{8, 0, 0}, {4, 0, 1}, {4, 4, 2}, {2, 0, 3}, {2, 4, 5}, {1, 0, 7},
		{1, 6, 13}} {
		if got := InstanceID(c.size, c.start); got != c.want {
			t.Errorf("size %d at %d: want %d, got %d", c.size, c.start, c.want, got)
		}
	}
}

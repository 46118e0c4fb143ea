package catalog

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryRowIsFreeOfProblems(t *testing.T) {
	_, problems := Parse(EveryRowYAML(), EveryPools()...)
	for _, p := range problems {
		t.Error(p)
	}
}

// What the portal knows by a program of its own is in the file, and so are the systems that the field uses beside it.
func TestEveryRowHasEachTechnology(t *testing.T) {
	want := []Technology{"hami", "volcano-vgpu", "kai", "vcuda", "gpushare", "cgpu", "orionx", "bitfusion"}
	for technology := range technologies {
		want = append(want, technology)
	}
	sizes := EveryRow().Sizes
	for _, technology := range want {
		if !slices.ContainsFunc(sizes, func(s Size) bool { return s.Technology == technology }) {
			t.Errorf("no size of the technology %s", technology)
		}
	}
}

// A size may set variables, but not those that decide which cards a container sees.
func TestSizeVariables(t *testing.T) {
	for _, name := range []string{"NVIDIA_VISIBLE_DEVICES", "LD_PRELOAD", "no name"} {
		text := strings.Replace(string(EveryRowYAML()), "{ORION_VGPU:", "{"+name+": x, ORION_VGPU:", 1)
		_, problems := Parse([]byte(text), EveryPools()...)
		if len(problems) != 1 || !strings.HasSuffix(problems[0].Path, "placement.env."+name) {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

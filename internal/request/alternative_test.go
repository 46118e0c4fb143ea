package request

import (
	"slices"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestAlternatives: for a whole card a hard slice comes before a time-sliced share of a nearer size, and what is weaker
// is named.
func TestAlternatives(t *testing.T) {
	of := func(name string, gib float64, level catalog.Isolation) catalog.Size {
		return catalog.Size{Name: name, Isolation: level, Accelerator: catalog.Accelerator{MemoryGiB: gib}}
	}
	whole, slice40, slice10 := of("h100", 80, catalog.IsolationHard), of("mig-40", 40, catalog.IsolationHard),
		of("mig-10", 10, catalog.IsolationHard)
	shared, larger := of("l40s-shared", 48, catalog.IsolationNone), of("h200", 141, catalog.IsolationHard)
	unknown := of("foreign", 80, catalog.IsolationUnknown)
	for name, c := range map[string]struct {
		asked catalog.Size
		among []catalog.Size
		want  string
		less  []Weaker
	}{
		"nothing is missing": {whole, []catalog.Size{shared, slice40, larger}, "h200", nil},
		"isolation is missed most": {whole, []catalog.Size{shared, unknown, slice10}, "mig-10",
			[]Weaker{LessMemory}},
		"of those that lack memory the most": {whole, []catalog.Size{slice10, slice40}, "mig-40", []Weaker{LessMemory}},
		"only weaker ones": {slice40, []catalog.Size{shared, unknown}, "l40s-shared",
			[]Weaker{LessIsolation}},
		"of a share anything will do": {of("t4-shared", 16, catalog.IsolationNone), []catalog.Size{slice10, slice40},
			"mig-40", nil},
	} {
		var list []Alternative
		for _, s := range c.among {
			list = append(list, Alternative{Offer{Size: s}, weaker(s, c.asked)})
		}
		got := slices.MinFunc(list, func(x, y Alternative) int { return nearer(x, y, c.asked) })
		if got.Offer.Size.Name != c.want || !slices.Equal(got.Weaker, c.less) {
			t.Errorf("%s: want %s with less %v, got %s with less %v", name, c.want, c.less, got.Offer.Size.Name, got.Weaker)
		}
	}
}

// TestRoomForAModel: a size without room for the model of an endpoint is no alternative to one that has.
func TestRoomForAModel(t *testing.T) {
	small := catalog.Size{Name: "mig-10", Technology: catalog.MIG,
		Accelerator: catalog.Accelerator{MemoryGiB: 10}}
	large := small
	large.Accelerator.MemoryGiB = 80
	runtime := catalog.Image{Runtime: &catalog.Runtime{Engine: catalog.VLLM}}
	of := func(model string) Spec { return Spec{Image: runtime, Model: &catalog.Model{Name: model}} }
	for name, c := range map[string]struct {
		spec Spec
		size catalog.Size
		want bool
	}{
		"too small":                 {of("Qwen/Qwen2.5-14B-Instruct"), small, false},
		"large enough":              {of("Qwen/Qwen2.5-14B-Instruct"), large, true},
		"a model that nobody knows": {of("someone/finetuned"), small, true},
		"no model":                  {Spec{}, small, true},
	} {
		if got := hasRoom(c.spec, c.size); got != c.want {
			t.Errorf("%s: want %t, got %t", name, c.want, got)
		}
	}
}

// TestPlacesThatASnapshotDoesNotShow: who has a place and is not in the snapshot of the cluster has taken one of those
// that are free in it.
func TestPlacesThatASnapshotDoesNotShow(t *testing.T) {
	line := SizeQueue{Count: 1, Placed: []workload.ID{"w-1", "w-2"}}
	s := inventory.Snapshot{Nodes: []inventory.Node{{Resources: []inventory.Resource{{Holders: []inventory.Holder{
		{Workload: "w-1"}}}}}}}
	if got := line.depth(s.Holders); got != 2 {
		t.Errorf("want the one that waits and the one that is not shown, got %d", got)
	}
}

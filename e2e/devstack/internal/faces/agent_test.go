package faces

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
)

// TestTheAgentsFace: on every node with slices nothing that fits lies on a slice, and a vGPU's license follows the
// node.
func TestTheAgentsFace(t *testing.T) {
	for _, named := range nodes.ForCount(len(nodes.Kinds())) {
		if named.Kind.Model == nil {
			continue
		}
		node, err := nodes.Build(named)
		if err != nil {
			t.Fatal(err)
		}
		kind, layout, err := nodes.Read(node)
		if err != nil {
			t.Fatal(err)
		}
		for _, licensed := range []bool{true, false} {
			if !licensed {
				node.Annotations[nodes.UnlicensedAnnotation] = "true"
			}
			cards := agentReport(node, kind, layout, time.Now())["gpus"].(object)["value"].([]object)
			if len(cards) != kind.GPUs {
				t.Fatalf("%s: want %d cards, got %d", named.Name, kind.GPUs, len(cards))
			}
			for i, c := range cards {
				if kind.VGPU {
					f := c["license"].(object)["features"].(object)["value"].([]object)[0]
					if f["licensed"] != licensed {
						t.Errorf("%s: want licensed %v, got %v", named.Name, licensed, f["licensed"])
					}
				}
				if mig, cut := c["mig"].(object); cut != (!kind.VGPU && i < len(layout) && layout[i] != nil) {
					t.Errorf("%s card %d: want a cut where the layout has one", named.Name, i)
				} else if cut {
					apart(t, named.Name, mig)
				}
			}
		}
	}
}

func apart(t *testing.T, name string, mig object) {
	t.Helper()
	taken := map[int]bool{}
	for _, gi := range mig["instances"].(object)["value"].([]object) {
		p := gi["placement"].(object)
		for i := range p["size"].(int) {
			if at := p["start"].(int) + i; taken[at] {
				t.Errorf("%s: two slices at %d", name, at)
			} else {
				taken[at] = true
			}
		}
	}
	for _, profile := range mig["profiles"].(object)["value"].([]object) {
		for _, p := range profile["free"].(object)["value"].([]object) {
			for i := range p["size"].(int) {
				if taken[p["start"].(int)+i] {
					t.Errorf("%s: %v would lie on a slice at %v", name, profile["name"], p)
				}
			}
		}
	}
}

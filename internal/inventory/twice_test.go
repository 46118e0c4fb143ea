package inventory

import (
	"fmt"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// TestNeverMoreFreeThanCards: on two cards, whatever is offered of them and held, the whole cards and slices that are
// called free fit on the cards that nobody has.
func TestNeverMoreFreeThanCards(t *testing.T) {
	for whole := range int64(3) {
		for slices := range int64(15) {
			for heldWhole := range whole + 1 {
				for heldSlices := range slices + 1 {
					pods := []*corev1.Pod{pod("a", list(gpu, fmt.Sprint(heldWhole))), pod("b", list(slice,
						fmt.Sprint(heldSlices)))}
					n := Build("main", time.Time{}, Objects{Nodes: []*corev1.Node{mixedNode(resourcesOf(gpu, fmt.Sprint(whole),
						slice, fmt.Sprint(slices)), label(slice+".count", fmt.Sprint(slices)))}, Pods: pods}, ours).Nodes[0]
					free := map[string]int64{}
					for _, r := range n.Resources {
						free[r.Name] = r.Free()
					}
					cards := func(whole, slices int64) int64 { return whole + int64(math.Ceil(float64(slices)/7)) }
					offered := cards(whole, slices) <= 2
					if !offered && cards(free[gpu], free[slice]) > max(0, 2-cards(heldWhole, heldSlices)) {
						t.Fatalf("%d cards and %d slices, %d and %d held: free %v", whole, slices, heldWhole, heldSlices, free)
					}
					if offered && (free[gpu] != whole-heldWhole || free[slice] != slices-heldSlices) {
						t.Fatalf("%d cards and %d slices contradict nothing, %d and %d held: free %v", whole, slices, heldWhole,
							heldSlices, free)
					}
					hard := Isolation(n, slice) == catalog.IsolationHard
					if contradicts := whole > 0 && slices > 0 && !offered; slices > 0 && hard == contradicts {
						t.Fatalf("%d cards and %d slices: isolation of a slice is %s", whole, slices, Isolation(n, slice))
					}
				}
			}
		}
	}
}

package inventory

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func cutCard(change func(*PhysicalCard)) PhysicalCard {
	c := PhysicalCard{UUID: "GPU-0", Model: "NVIDIA H100 80GB HBM3", Axis: 8,
		Slices: []Placement{{"MIG-b", "1g.10gb", 4, 1}, {"MIG-a", "3g.40gb", 0, 4}},
		Fits:   []Fitting{{"1g.10gb", 1, []int{5, 6}}}}
	change(&c)
	return c
}

func TestACutThatCannotBeIsUnknown(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*PhysicalCard)
		slices int
	}{
		"as a card is cut":                 {func(*PhysicalCard) {}, 2},
		"two slices on one place":          {func(c *PhysicalCard) { c.Slices[0].Start = 3 }, 0},
		"a slice beyond the card":          {func(c *PhysicalCard) { c.Slices[0].Start, c.Fits = 8, nil }, 0},
		"a slice before the card":          {func(c *PhysicalCard) { c.Slices[1].Start = -1 }, 0},
		"a slice of no size":               {func(c *PhysicalCard) { c.Slices[0].Size = 0 }, 0},
		"a size at which a sum runs over":  {func(c *PhysicalCard) { c.Slices[0].Size = int(^uint(0) >> 1) }, 0},
		"a card as long as a street":       {func(c *PhysicalCard) { c.Axis = 1 << 30 }, 0},
		"room where a slice is":            {func(c *PhysicalCard) { c.Fits[0].Starts = []int{5, 2} }, 0},
		"room beyond the card":             {func(c *PhysicalCard) { c.Fits[0].Starts = []int{8} }, 0},
		"more room than a card has":        {func(c *PhysicalCard) { c.Fits[0].Starts = make([]int, 1000) }, 0},
		"slices on a card that is not cut": {func(c *PhysicalCard) { c.Axis = 0 }, 0},
		"a name that is a page": {func(c *PhysicalCard) {
			c.Slices[0].Profile = strings.Repeat("<\x00", 500)
		}, 2},
		"no room at all, which is no great ill": {func(c *PhysicalCard) { c.Fits = nil }, 2},
	} {
		said := cutCard(c.change)
		got := tidy([]PhysicalCard{said})
		if len(got) != 1 || len(got[0].Slices) != c.slices || c.slices == 0 && (got[0].Axis != 0 || got[0].Fits != nil) {
			t.Errorf("%s: want %d slices, got %+v", sentence, c.slices, got)
		}
		for _, s := range got[0].Slices {
			if len(s.Profile) > longestValue || strings.ContainsRune(s.Profile, 0) {
				t.Errorf("%s: want a bounded name, got %q", sentence, s.Profile)
			}
		}
	}
	if got := tidy(make([]PhysicalCard, 1000)); len(got) != mostCards {
		t.Errorf("want at most %d cards, got %d", mostCards, len(got))
	}
}

// TestAgentsChangeNoCapacity: what agents say stands beside what the API server says.
func TestAgentsChangeNoCapacity(t *testing.T) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1",
		Labels: map[string]string{"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "2"}}}
	b := NewBuilder("main", func(*corev1.Pod) string { return "" })
	b.SetNode(n)
	before := b.Snapshot(time.Time{})
	b.SetCards(map[string][]PhysicalCard{"node-1": {cutCard(func(*PhysicalCard) {}), {Index: 1}, {Index: 2}},
		"nowhere": {{}}})
	with := b.Snapshot(time.Time{})
	if got := with.Nodes[0].Cards; got.Count != 2 || len(got.Each) != 3 || got.Each[0].Slices[0].Profile != "3g.40gb" {
		t.Errorf("want two cards by the API server and three by the agent, in order, got %+v", got)
	}
	with.Nodes[0].Cards.Each = nil
	if diff := cmp.Diff(before, with); diff != "" {
		t.Errorf("want nothing else to change (-want +got):\n%s", diff)
	}
	b.SetCards(nil)
	if diff := cmp.Diff(before, b.Snapshot(time.Time{})); diff != "" {
		t.Errorf("want the cards to go with the agent (-want +got):\n%s", diff)
	}
}

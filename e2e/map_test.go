package e2e

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTheMapOfTheFleet: an administrator sees every GPU in its place on one screen, changes what the colors mean, walks
// over the cells with arrow keys, and reads in a drawer what one of them does and what can be done about it. The same
// works in German, in the dark, on a telephone, and without scripts as pages.
func TestTheMapOfTheFleet(t *testing.T) {
	p := signIn(t, "pat", look{Width: 1366})
	p.open("/platform")
	p.click("[data-test=nav-fleet-use]")
	p.sees("[data-test=map-group] [data-test=map-card]")
	p.accessible()
	p.shot("use")
	for _, by := range []string{"team", "health", "money"} {
		p.click("[data-test=by-" + by + "]")
		p.sees("[data-test=by-" + by + "][aria-current=true]")
		p.sees("[data-test=legend] li:not(.gp-map__legend-none)")
		p.accessible()
		p.shot(by)
	}
	p.click("[data-test=by-use]")
	p.sees("[data-test=by-use][aria-current=true]")

	cells := p.at("[data-test=map-card]")
	p.do(p.assert.Locator(p.at("[data-test=map-card][tabindex='0']")).ToHaveCount(1))
	p.do(cells.First().Focus())
	p.do(p.page.Keyboard().Press("ArrowRight"))
	p.do(p.assert.Locator(cells.Nth(1)).ToBeFocused())
	p.do(p.page.Keyboard().Press("End"))
	p.do(p.assert.Locator(cells.Last()).ToBeFocused())
	p.do(p.page.Keyboard().Press("Home"))
	p.do(p.assert.Locator(cells.First()).ToBeFocused())
	p.do(p.page.Keyboard().Press("Enter"))
	p.sees("[data-test=map-drawer] [data-test=gpu]")
	p.sees("[data-test=map-drawer] :is([data-test=quarantine-menu], .pf-v6-c-button[data-test=quarantine-node])")
	p.accessible()
	p.shot("drawer")
	p.do(p.page.Keyboard().Press("Escape"))
	p.do(p.assert.Locator(p.at("[data-test=map-drawer]")).ToBeHidden())
	p.do(p.assert.Locator(cells.First()).ToBeFocused())

	// yesterday at this time: nothing was there then, and nothing is drawn as idle for want of a value
	p.do(p.at("[data-test=past]").Fill("24"))
	p.reads("[data-test=past-at]", ":00")
	p.reads("[data-test=past-none]", "No metrics are stored")
	p.do(p.assert.Locator(p.at("[data-test=map-card] i:not(.gp-map__part--unknown):not(.gp-map__part--gap)")).
		ToHaveCount(0))
	p.shot("past")
	p.do(p.at("[data-test=past]").Fill("0"))
	p.reads("[data-test=past-at]", "now")
	p.sees("[data-test=map-card] .gp-map__part--free")

	for name, l := range map[string]look{"dark-german": {Dark: true, Width: 1366, Language: "de-DE"},
		"narrow-german": {Width: 390, Language: "de-DE"}} {
		t.Run(name, func(t *testing.T) {
			q := signIn(t, "pat", l)
			q.open("/fleet/use")
			q.sees("[data-test=map-card]")
			q.fitsTheWindow()
			q.accessible()
			q.shot(name)
			q.click("[data-test=map-card]")
			q.sees("[data-test=map-drawer] [data-test=gpu]")
			q.fitsTheWindow()
			q.accessible()
			q.shot(name + "-drawer")
		})
	}

	bare := signIn(t, "pat", look{NoScript: true})
	bare.open("/fleet/use")
	bare.click("[data-test=map-card]")
	bare.sees("main [data-test=gpu]")
	bare.sees("main :is([data-test=quarantine-menu], .pf-v6-c-button[data-test=quarantine-node])")
}

// TestANodeThatLeavesTheClusterLeavesTheMap: the page is open meanwhile, with the drawer of one of the node's cards.
func TestANodeThatLeavesTheClusterLeavesTheMap(t *testing.T) {
	node, model := "a40-leaving-"+runID, "NVIDIA-A40-leaving-"+runID
	remove := addTwin(t, "a40-vgpu-01", node, map[string]string{"nvidia.com/gpu.product": model})
	p := signIn(t, "pat", look{Width: 1366})
	card := "[data-test=map-node][aria-label^='" + node + "'] [data-test=map-card]"
	eventually(t, "the node is on the map", patience*time.Millisecond, func() bool {
		p.open("/fleet/use")
		p.sees("[data-test=map-card]")
		n, err := p.at(card).Count()
		return err == nil && n > 0
	})
	groups, err := p.at("[data-test=map-group]").Count()
	p.do(err)
	p.do(p.at(card).First().Click())
	p.sees("[data-test=map-drawer] [data-test=gpu]")
	p.expecting("404") // of the card in the drawer
	remove()
	p.sees("[data-test=map-drawer] [data-test=card-gone]")
	p.do(p.assert.Locator(p.at(card)).ToHaveCount(0))
	p.do(p.assert.Locator(p.at("[data-test=map-group]")).ToHaveCount(groups - 1))
	p.shot("gone")
}

// addTwin adds a node that is like another one but for its name and these labels. It leaves with remove, or with the
// test.
func addTwin(t *testing.T, of, name string, labels map[string]string) (remove func()) {
	t.Helper()
	nodes := kube(t).CoreV1().Nodes()
	n, err := nodes.Get(t.Context(), of, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	twin := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: n.Labels, Annotations: n.Annotations},
		Spec: corev1.NodeSpec{ProviderID: "kwok://" + name},
		Status: corev1.NodeStatus{Capacity: n.Status.Capacity, Allocatable: n.Status.Allocatable, NodeInfo: n.Status.NodeInfo,
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.63.99.1"},
				{Type: corev1.NodeHostName, Address: name}}}}
	twin.Labels[corev1.LabelHostname] = name
	for label, value := range labels {
		twin.Labels[label] = value
	}
	if _, err := nodes.Create(t.Context(), twin, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	remove = func() {
		if err := nodes.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	}
	t.Cleanup(remove)
	return remove
}

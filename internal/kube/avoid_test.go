package kube

import (
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// A vGPU goes around nodes that lack a license, but never waits for that: required would keep it pending permanently
// when every node lost its license for a while.
func TestNodesWithoutALicenseAreAvoided(t *testing.T) {
	vgpu := catalog.Size{Technology: catalog.VGPU}
	a := affinity(vgpu, []string{"vm-1", "vm-2"}, Avoid{})
	if a == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil ||
		len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) != 1 {
		t.Fatalf("want one spec and no condition, got %+v", a)
	}
	r := a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].Preference.MatchExpressions[0]
	if r.Key != "kubernetes.io/hostname" || r.Operator != "NotIn" || len(r.Values) != 2 {
		t.Errorf("want both nodes named, got %+v", r)
	}
	if affinity(vgpu, nil, Avoid{}) != nil || affinity(catalog.Size{Technology: catalog.MIG}, []string{"vm-1"},
		Avoid{}) != nil {
		t.Error("only vGPUs care, and only where a node is named")
	}
}

// Bad nodes are no spec but a condition, beside what the size itself asks of nodes, and what is made from it can be
// read back.
func TestBadNodesAreNotTaken(t *testing.T) {
	in := input("h100", "jupyterlab")
	in.Avoid = Avoid{Nodes: []string{"n-1", "n-2"}, Cards: []string{"GPU-a"}}
	objects, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	pod := podOf(t, objects)
	terms := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(terms) != 1 {
		t.Fatalf("of several terms one would do: want one, got %+v", terms)
	}
	last := terms[0].MatchExpressions[len(terms[0].MatchExpressions)-1]
	if last.Key != "kubernetes.io/hostname" || last.Operator != "NotIn" || len(last.Values) != 2 {
		t.Errorf("want both nodes named, got %+v", last)
	}
	if _, noted := pod.Annotations[AvoidKey]; noted {
		t.Error("the note belongs on what makes the pods: on pods it would be a change of them")
	}
	for _, o := range objects {
		if got := AvoidOf(o.GetAnnotations()); o.GetObjectKind().GroupVersionKind().Kind == "StatefulSet" &&
			(len(got.Nodes) != 2 || len(got.Cards) != 1) {
			t.Errorf("read back: %+v", got)
		}
	}
	if got := AvoidOf(map[string]string{AvoidKey: "{"}); len(got.Nodes)+len(got.Cards) > 0 {
		t.Errorf("want nothing of a note that somebody broke, got %+v", got)
	}
	matching := catalog.Size{Placement: catalog.Placement{NodeMatch: []catalog.NodeMatch{{Key: "a", Operator: "Exists"}}}}
	if got := affinity(matching, nil,
		in.Avoid).NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms; len(got) != 1 ||
		len(got[0].MatchExpressions) != 2 {
		t.Errorf("want both conditions to hold, got %+v", got)
	}
}

// A claim goes around a bad card by its UUID, under another name: what a template asks for cannot be changed.
func TestClaimsGoAroundQuarantinedCards(t *testing.T) {
	in := inputOf(catalog.EveryRow(), "dra-h100", "jupyterlab")
	in.Avoid.Cards = []string{"GPU-a", "GPU-b"}
	objects, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	name := *podOf(t, objects).Spec.ResourceClaims[0].ResourceClaimTemplateName
	if name == ClaimTemplateName(in.Workload) {
		t.Error("want another name for another claim")
	}
	for _, o := range objects {
		template, ok := o.(*resourcev1.ResourceClaimTemplate)
		if !ok {
			continue
		}
		if template.Name != name {
			t.Errorf("the pod claims by %s, the template is %s", name, template.Name)
		}
		selectors := template.Spec.Spec.Devices.Requests[0].Exactly.Selectors
		for i, attribute := range []string{"uuid", "parentUUID"} {
			if got := selectors[len(selectors)-2+i].CEL.Expression; !strings.Contains(got, `["GPU-a","GPU-b"]`) ||
				!strings.Contains(got, `"`+attribute+`"`) {
				t.Errorf("want cards and slices of them left out, got %s", got)
			}
		}
		return
	}
	t.Error("no template")
}

// However many cards with however long names: the API server takes each expression.
func TestExclusionsStayWithinTheLimit(t *testing.T) {
	var many Avoid
	for range 2 * mostAvoided {
		many.Cards = append(many.Cards, strings.Repeat("x", 63))
	}
	for _, s := range many.selectors() {
		if n := len(s.CEL.Expression); n > resourcev1.CELSelectorExpressionMaxLength {
			t.Errorf("want no more than %d characters, got %d", resourcev1.CELSelectorExpressionMaxLength, n)
		}
	}
}

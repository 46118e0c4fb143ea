package kube

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// A vGPU goes around nodes that lack a licence, but never waits for that: required would keep it pending for good when every node lost its licence for a while.
func TestNodesWithoutALicenceAreAvoided(t *testing.T) {
	vgpu := catalog.Size{Technology: catalog.VGPU}
	a := affinity(vgpu, []string{"vm-1", "vm-2"})
	if a == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil || len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) != 1 {
		t.Fatalf("want one wish and no condition, got %+v", a)
	}
	r := a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].Preference.MatchExpressions[0]
	if r.Key != "kubernetes.io/hostname" || r.Operator != "NotIn" || len(r.Values) != 2 {
		t.Errorf("want both nodes named, got %+v", r)
	}
	if affinity(vgpu, nil) != nil || affinity(catalog.Size{Technology: catalog.MIG}, []string{"vm-1"}) != nil {
		t.Error("only vGPUs care, and only where a node is named")
	}
}

package tenant

import "testing"

// TestNamespaceRule: the platform's namespaces, the portal's own, and names that the admission policy would refuse.
func TestNamespaceRule(t *testing.T) {
	rule := NamespaceRule{Names: []string{"gpu-*", "ml-*-team"}, Own: []string{"gpu-portal", "gpu-agents"}}
	for name, want := range map[string]string{
		"gpu-vision":    "",
		"ml-a-team":     "",
		"gpu-portal":    "tenant.namespace_own",
		"gpu-agents":    "tenant.namespace_own",
		"vision":        "tenant.namespace_pattern",
		"ml-a":          "tenant.namespace_pattern",
		"kube-system":   "tenant.namespace_wrong",
		"default":       "tenant.namespace_wrong",
		"openshift-gpu": "tenant.namespace_wrong",
		"GPU-vision":    "tenant.namespace_wrong",
		"":              "tenant.namespace_wrong",
	} {
		if got := rule.Problem(name).ID; got != want {
			t.Errorf("%q: want %q, got %q", name, want, got)
		}
	}
	if got := (NamespaceRule{}).Problem("vision"); !got.IsZero() {
		t.Errorf("without a rule any other name will do: %v", got)
	}
}

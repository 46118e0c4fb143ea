package inventory

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/untrusted/untrustedtest"
)

// TestAnyNodeIsReadInTime: labels and annotations are written by whoever may write to a node. The API server keeps at
// most 256 KiB of annotations and 63 characters a label.
func TestAnyNodeIsReadInTime(t *testing.T) {
	t.Parallel()
	const most = 256 << 10
	fill := func(piece string) string { return strings.Repeat(piece, most/len(piece)) }
	for name, change := range map[string]func(*corev1.Node){
		"a register that is deep":    func(n *corev1.Node) { n.Annotations[hamiRegister] = fill("[") },
		"a register with many cards": func(n *corev1.Node) { n.Annotations[hamiRegister] = "[" + fill("{},") + "{}]" },
		"an old register":            func(n *corev1.Node) { n.Annotations[hamiRegister] = fill("a,1:") },
		"many labels": func(n *corev1.Node) {
			for i := range 20_000 {
				n.Labels["nvidia.com/mig-1g.5gb.x"+strings.Repeat("a", i%40)+string(rune('a'+i%26))] = "9999999999999999999"
			}
		},
		"a product of dashes": func(n *corev1.Node) {
			n.Labels["nvidia.com/gpu.product"] = strings.Repeat("-MIG-", 12) + "INVALID"
		},
	} {
		untrustedtest.Within(t, name, func() {
			node := built(wholeCard, func(n *corev1.Node) {
				if n.Annotations == nil {
					n.Annotations = map[string]string{}
				}
				change(n)
			})
			if node.Name == "" {
				t.Errorf("%s: the node is gone", name)
			}
		})
	}
}

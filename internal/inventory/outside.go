package inventory

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Schedulers that share cards by annotations give a pod its part without a resource in its requests, so that neither
// kubelet nor kube-scheduler know that it is taken. Sources: KAI scheduler (pkg/common/constants, pod_info.go), Run:ai
// ("received-resource-type" is written with the binding: Regular, Fraction, MigInstance), kai-gpu-fractioning.
const (
	receivedType     = "received-resource-type"
	fractioningWord  = "nvidia.com/container."
	dynamicMIGLabel  = "node-role.kubernetes.io/runai-dynamic-mig"
	migResourceWord  = "nvidia.com/mig-"
	sharedConfigWord = "runai/shared-gpu-configmap"
)

var fractionWords = []string{"gpu-fraction", "gpu-memory", sharedConfigWord}

// outside is what another scheduler gave a pod. Resource is the node's resource that it is one of, where the pod tells.
type outside struct {
	is       bool
	mig      bool // a slice: no reservation stands for it
	resource string
}

// outsideOf looks at a pod that asks the kubelet for nothing of an accelerator.
func outsideOf(p *corev1.Pod, u use) outside {
	for name := range u.devices {
		if !hugePages(name) && !strings.HasPrefix(name, "rdma/") {
			return outside{}
		}
	}
	if len(p.Spec.ResourceClaims) > 0 || p.Spec.NodeName == "" || p.Spec.SchedulerName == "" ||
		p.Spec.SchedulerName == corev1.DefaultSchedulerName {
		return outside{} // kube-scheduler takes no word of annotations
	}
	if resource := migOf(p.Annotations); resource != "" {
		return outside{is: true, mig: true, resource: resource}
	}
	switch p.Annotations[receivedType] {
	case "MigInstance":
		return outside{is: true, mig: true}
	case "Fraction":
		return outside{is: true}
	}
	for key := range p.Annotations {
		if slices.Contains(fractionWords, key) || strings.HasPrefix(key, fractioningWord) && strings.HasSuffix(key,
			".devices") {
			return outside{is: true}
		}
	}
	return outside{}
}

var migProfile = regexp.MustCompile(`^[1-7]g\.[0-9]+gb([.+][a-z.]+)?$`)

// migOf is the resource that an annotation names: as its key, or as a profile in one about MIG.
func migOf(annotations map[string]string) string {
	for key, value := range annotations {
		profile, is := strings.CutPrefix(key, migResourceWord)
		if !is && strings.Contains(key, "mig") {
			profile, is = value, true
		}
		if is && migProfile.MatchString(profile) {
			return migResourceWord + strings.ReplaceAll(profile, "+", ".")
		}
	}
	return ""
}

// reserves: KAI and Run:ai run a pod for each card that they share out, which holds the card.
func reserves(p *podState) bool {
	named := strings.Contains(p.pod.Namespace, "resource-reservation") || strings.Contains(p.pod.Namespace,
		"runai-reservation") || strings.HasPrefix(p.pod.Name, "runai-reservation") ||
		strings.HasPrefix(p.pod.Name, "gpu-reservation")
	return named && len(p.use.devices) > 0
}

// outsiders gives pods what they hold by another scheduler's word: as holders of the resource where the node has it,
// else in a list of their own. Pods on reserved cards are left out, for the reservation holds those.
func outsiders(n *corev1.Node, pods map[string]*podState, held map[string][]Holder) []Holder {
	reserved := false
	for _, p := range pods {
		reserved = reserved || reserves(p)
	}
	var list []Holder
	for _, p := range pods {
		o := p.outside
		if !o.is || reserved && !o.mig {
			continue
		}
		if q, there := n.Status.Allocatable[corev1.ResourceName(o.resource)]; there && !q.IsZero() {
			held[o.resource] = append(held[o.resource], p.holder(1))
			continue
		}
		list = append(list, p.holder(1))
	}
	slices.SortFunc(list, byPod)
	return list[:min(len(list), mostNamed)]
}

// ownScheduler reports whether cards of a node are handed out by a scheduler whose bookkeeping its resources do not
// show. A node of Run:ai's dynamic MIG serves nobody else: run-ai/docs, "Dynamic MIG", limitations.
func (n Node) ownScheduler() bool { return len(n.Outside) > 0 || n.Labels[dynamicMIGLabel] == "true" }

// withholdAll calls nothing of a node's cards free.
func withholdAll(n *Node) {
	for i, r := range n.Resources {
		switch KindOf(*n, r.Name).Unit {
		case Card, Slice, Share:
			n.Resources[i].Withheld = max(0, r.Allocatable-r.held())
		}
	}
}

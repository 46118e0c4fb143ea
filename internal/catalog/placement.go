package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// ownPrefix is where the portal writes whose an object is; package kube owns it.
const ownPrefix = "gpu-portal.github.io/"

func (k *checker) placement(at string, p Placement) {
	for _, key := range slices.Sorted(maps.Keys(p.NodeSelector)) {
		if value := p.NodeSelector[key]; len(validation.IsQualifiedName(key)) > 0 ||
			len(validation.IsValidLabelValue(value)) > 0 {
			k.at(at+".nodeSelector."+key, "%s=%s is not a label", key, value)
		}
	}
	for i, m := range p.NodeMatch {
		k.nodeMatch(fmt.Sprintf("%s.nodeMatch[%d]", at, i), m, p.NodeSelector)
	}
	for _, key := range slices.Sorted(maps.Keys(p.PodAnnotations)) {
		switch {
		case len(validation.IsQualifiedName(strings.ToLower(key))) > 0:
			k.at(at+".podAnnotations."+key, "%q is not the name of an annotation", key)
		case strings.HasPrefix(key, ownPrefix):
			k.at(at+".podAnnotations."+key, "annotations under %s are written by the portal alone", ownPrefix)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.PodLabels)) {
		k.podLabel(at+".podLabels."+key, key, p.PodLabels[key])
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		k.variable(at+".env."+name, name)
	}
	for i, t := range p.Tolerations {
		at := fmt.Sprintf("%s.tolerations[%d]", at, i)
		k.toleration(at, t)
		if slices.Contains(p.Tolerations[:i], t) {
			k.at(at, "the toleration stands here twice")
		}
	}
	for _, f := range []struct{ field, name string }{{".runtimeClass", p.RuntimeClass},
		{".schedulerName", p.SchedulerName}, {".priorityClass", p.PriorityClass}} {
		if f.name != "" && len(validation.IsDNS1123Subdomain(f.name)) > 0 {
			k.at(at+f.field, "%q is not the name of a Kubernetes object", f.name)
		}
	}
}

// podLabel keeps a catalog from the labels by which the portal, and everything that reads the recommended ones, tells
// whose a pod is.
func (k *checker) podLabel(at, key, value string) {
	switch {
	case len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(value)) > 0:
		k.at(at, "%s=%s is not a label", key, value)
	case strings.HasPrefix(key, ownPrefix) || strings.HasPrefix(key, "app.kubernetes.io/"):
		k.at(at, "labels under %s and app.kubernetes.io/ are written by the portal alone", ownPrefix)
	}
}

// values is how many values an operator takes.
var values = map[string]struct{ least, most int }{
	"In": {1, 100}, "NotIn": {1, 100}, "Exists": {0, 0}, "DoesNotExist": {0, 0}, "Gt": {1, 1}, "Lt": {1, 1},
}

func (k *checker) nodeMatch(at string, m NodeMatch, selector map[string]string) {
	if len(validation.IsQualifiedName(m.Key)) > 0 {
		k.at(at+".key", "%q is not the key of a label", m.Key)
	}
	n, known := values[m.Operator]
	switch {
	case !known:
		k.at(at+".operator", "%q is none of In, NotIn, Exists, DoesNotExist, Gt, Lt", m.Operator)
		return
	case len(m.Values) < n.least || len(m.Values) > n.most:
		k.at(at+".values", "%s takes %d to %d values", m.Operator, n.least, n.most)
	}
	for i, value := range m.Values {
		at := fmt.Sprintf("%s.values[%d]", at, i)
		_, err := strconv.ParseInt(value, 10, 64)
		switch {
		case n.most == 1 && err != nil:
			k.at(at, "%s compares whole numbers, %q is none", m.Operator, value)
		case len(validation.IsValidLabelValue(value)) > 0:
			k.at(at, "%q is not the value of a label", value)
		}
	}
	value, set := selector[m.Key]
	if set && (m.Operator == "DoesNotExist" || m.Operator == "In" && !slices.Contains(m.Values, value) ||
		m.Operator == "NotIn" && slices.Contains(m.Values, value)) {
		k.at(at, "no node has this and %s=%s, which the selector wants", m.Key, value)
	}
}

func (k *checker) toleration(at string, t Toleration) {
	switch {
	case t.Key == "":
		k.at(at+".key", "a toleration without a key would bear every taint, also those of nodes that are ill")
	case len(validation.IsQualifiedName(t.Key)) > 0:
		k.at(at+".key", "%q is not the key of a taint", t.Key)
	}
	switch {
	case t.Operator != "" && t.Operator != "Exists" && t.Operator != "Equal":
		k.at(at+".operator", "%q is none of Exists, Equal", t.Operator)
	case t.Operator != "Equal" && t.Value != "":
		k.at(at+".value", "a value needs the operator Equal")
	case len(validation.IsValidLabelValue(t.Value)) > 0:
		k.at(at+".value", "%q is not the value of a taint", t.Value)
	}
	if t.Effect != "" && t.Effect != "NoSchedule" && t.Effect != "NoExecute" && t.Effect != "PreferNoSchedule" {
		k.at(at+".effect", "%q is none of NoSchedule, NoExecute, PreferNoSchedule", t.Effect)
	}
}

// spotLabels are the labels by which clouds and autoscalers mark nodes that can be taken away at any time.
var spotLabels = map[string]string{
	"cloud.google.com/gke-spot": "true", "cloud.google.com/gke-preemptible": "true",
	"cloud.google.com/gke-provisioning": "spot",
	"eks.amazonaws.com/capacityType":    "SPOT", "karpenter.sh/capacity-type": "spot",
	"kubernetes.azure.com/scalesetpriority": "spot",
}

// preemptible: people are told when their node can be taken away, and such nodes are tainted, so that nobody lands
// there unasked.
func (k *checker) preemptible(at string, s Size) {
	spot := ""
	for _, selector := range s.Placement.selectors() {
		for _, key := range slices.Sorted(maps.Keys(spotLabels)) {
			if selector[key] == spotLabels[key] {
				spot = key + "=" + spotLabels[key]
			}
		}
	}
	chosen := len(s.Placement.NodeSelector)+len(s.Placement.NodeMatch) > 0
	switch {
	case spot != "" && !s.Preemptible:
		k.at(at+".preemptible", "%s chooses nodes that can be taken away at any time: say preemptible: true", spot)
	case s.Preemptible && !chosen:
		k.at(at+".preemptible", "nothing selects the nodes that can be taken away: the workload would run on any other as "+
			"well")
	case s.Preemptible && len(s.Placement.Tolerations) == 0:
		k.at(at+".preemptible", "nodes that can be taken away are tainted: without a toleration the workload never starts")
	}
}

package inventory

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// exporterNames are in the names or images of what exports metrics of cards: NVIDIA's dcgm-exporter and its kin, AMD's
// device-metrics-exporter, Gaudi's metric-exporter, Intel's XPU Manager.
var exporterNames = []string{"dcgm", "metrics-exporter", "metric-exporter", "gpu-exporter", "gpu_exporter",
	"xpumanager",
	"xpu-manager"}

// Bounds of what one node puts into a snapshot.
const (
	mostExporters = 8
	mostAddresses = 8
)

// exporters lists the pods of metrics exporters, by name.
func exporters(pods map[string]*podState) []Exporter {
	var list []Exporter
	for _, key := range slices.Sorted(maps.Keys(pods)) {
		if p := pods[key].pod; exports(p) && len(list) < mostExporters {
			list = append(list, Exporter{Namespace: clean(p.Namespace, longestName), Pod: clean(p.Name, longestName),
				Address: clean(p.Status.PodIP, longestValue)})
		}
	}
	return list
}

func exports(p *corev1.Pod) bool {
	named := func(text string) bool {
		return slices.ContainsFunc(exporterNames, func(name string) bool { return strings.Contains(text, name) })
	}
	return named(p.Name) || slices.ContainsFunc(p.Spec.Containers,
		func(c corev1.Container) bool { return named(c.Image) || named(c.Name) })
}

// addresses are the other names of a node.
func addresses(n *corev1.Node) []string {
	var list []string
	add := func(name string) {
		if name = clean(name, longestName); name != "" && name != n.Name && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	add(n.Labels[corev1.LabelHostname])
	for _, a := range n.Status.Addresses {
		add(a.Address)
	}
	slices.Sort(list)
	return list[:min(len(list), mostAddresses)]
}

// Bus is the PCI address of a device; "" where its driver does not say. Source: resource.kubernetes.io standard
// attributes (k8s.io/dynamic-resource-allocation, deviceattribute), NVIDIA's and AMD's own before them.
func (d Device) Bus() string {
	if a := d.Attributes["resource.kubernetes.io/pciBusID"]; a.String != nil {
		return *a.String
	}
	return cmp.Or(d.text("pciBusID"), d.text("pciAddr"))
}

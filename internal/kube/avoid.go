package kube

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// AvoidKey is the annotation of a StatefulSet or Deployment that says what its pods go around. It is read back: what
// runs keeps what it was started with.
const AvoidKey = LabelPrefix + "avoid"

// Avoid is what is quarantined when a pod is made, each list sorted.
type Avoid struct {
	Nodes []string `json:"nodes,omitempty"`
	// UUIDs; only a claim can go around a card, a device plugin hands out what it likes
	Cards []string `json:"cards,omitempty"`
}

// mostAvoided keeps an expression within the 10 KiB that the API server takes.
const mostAvoided = 150

// AvoidOf reads the annotation; what cannot be read is nothing.
func AvoidOf(annotations map[string]string) (a Avoid) {
	if text := annotations[AvoidKey]; text != "" && json.Unmarshal([]byte(text), &a) != nil {
		return Avoid{}
	}
	return a
}

// MirrorKey is the annotation beside AvoidKey that names the registry which a workload's image is pulled from in place
// of its own; none where it is its own. The image itself is not read back: its digest says what runs.
const MirrorKey = LabelPrefix + "image-mirror"

// MirrorOf is the mirror by which an object was rendered.
func MirrorOf(annotations map[string]string) catalog.Mirror {
	m := catalog.Mirror{Registry: annotations[MirrorKey]}
	if m.Problem() != nil {
		return catalog.Mirror{}
	}
	return m
}

func (a Avoid) annotate(notes map[string]string) {
	if len(a.Nodes)+len(a.Cards) == 0 {
		return
	}
	if text, err := json.Marshal(a); err == nil {
		notes[AvoidKey] = string(text)
	}
}

// requirement keeps pods from bad nodes, unlike the request to go around those without a license: there is a person who
// ends the quarantine, and pods that still wait then are made anew.
func (a Avoid) requirement() []corev1.NodeSelectorRequirement {
	if len(a.Nodes) == 0 {
		return nil
	}
	return []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpNotIn,
		Values: slices.Clone(a.Nodes)}}
}

// selectors keep a claim from bad cards, and from slices of them: one for each attribute, as both together are longer
// than the API server takes. Devices of drivers that do not name cards so are all let through.
func (a Avoid) selectors() []resourcev1.DeviceSelector {
	if len(a.Cards) == 0 {
		return nil
	}
	quoted, err := json.Marshal(a.Cards[:min(len(a.Cards), mostAvoided)])
	if err != nil {
		return nil
	}
	const driver = `device.attributes["gpu.nvidia.com"]`
	not := func(attribute string) resourcev1.DeviceSelector {
		return resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{
			Expression: `!("` + attribute + `" in ` + driver + ` && ` + driver + `["` + attribute + `"] in ` + string(quoted) +
				`)`}}
	}
	return []resourcev1.DeviceSelector{not("uuid"), not("parentUUID")}
}

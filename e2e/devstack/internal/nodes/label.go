package nodes

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// Driver is the version of the NVIDIA driver on all nodes.
const Driver = "580.105.08"

// AllLabels are all labels of a node that depend on its hardware.
func (k Kind) AllLabels(node string, layout Layout) map[string]string {
	labels := map[string]string{
		"kubernetes.io/hostname":           node,
		"kubernetes.io/os":                 "linux",
		"kubernetes.io/arch":               "amd64",
		"beta.kubernetes.io/os":            "linux",
		"beta.kubernetes.io/arch":          "amd64",
		"node-role.kubernetes.io/worker":   "",
		"node.kubernetes.io/instance-type": k.Pool,
		"topology.kubernetes.io/zone":      "room-1",
		"topology.kubernetes.io/region":    "site-1",
		"type":                             "kwok",
	}
	if k.Model != nil {
		labels["feature.node.kubernetes.io/pci-10de.present"] = "true"
	}
	if k.Model != nil && !k.DRA {
		maps.Copy(labels, k.operatorLabels())
	}
	if k.Model != nil && !k.DRA && !k.Foreign {
		maps.Copy(labels, k.discovered(layout))
	}
	maps.Copy(labels, k.Labels)
	return labels
}

// operatorLabels come from the GPU operator.
func (k Kind) operatorLabels() map[string]string {
	labels := map[string]string{
		"nvidia.com/gpu.present":              "true",
		"nvidia.com/gpu-driver-upgrade-state": "upgrade-done",
	}
	for _, operand := range []string{"container-toolkit", "dcgm", "dcgm-exporter", "device-plugin", "driver",
		"gpu-feature-discovery", "node-status-exporter", "operator-validator", "client"} {
		if !k.Foreign {
			labels["nvidia.com/gpu.deploy."+operand] = "true"
		}
	}
	if k.Model.Profiles != nil {
		labels["nvidia.com/gpu.deploy.mig-manager"] = "true"
	}
	if k.MIGConfig != "" {
		labels["nvidia.com/mig.config"] = k.MIGConfig
		labels["nvidia.com/mig.config.state"] = "success"
	}
	return labels
}

// discovered are the labels of GPU feature discovery.
func (k Kind) discovered(layout Layout) map[string]string {
	m := k.Model
	major, rest, _ := strings.Cut(Driver, ".")
	minor, revision, _ := strings.Cut(rest, ".")
	labels := map[string]string{
		"nvidia.com/gfd.timestamp":                "1763700000",
		"nvidia.com/cuda.driver-version.full":     Driver,
		"nvidia.com/cuda.driver-version.major":    major,
		"nvidia.com/cuda.driver-version.minor":    minor,
		"nvidia.com/cuda.driver-version.revision": revision,
		"nvidia.com/cuda.driver.major":            major,
		"nvidia.com/cuda.driver.minor":            minor,
		"nvidia.com/cuda.driver.rev":              revision,
		"nvidia.com/cuda.runtime-version.full":    "13.0",
		"nvidia.com/cuda.runtime-version.major":   "13",
		"nvidia.com/cuda.runtime-version.minor":   "0",
		"nvidia.com/cuda.runtime.major":           "13",
		"nvidia.com/cuda.runtime.minor":           "0",
		"nvidia.com/gpu.machine":                  k.Machine,
		"nvidia.com/gpu.family":                   m.Family,
		"nvidia.com/gpu.compute.major":            strconv.Itoa(m.Major),
		"nvidia.com/gpu.compute.minor":            strconv.Itoa(m.Minor),
		"nvidia.com/gpu.mode":                     "compute",
		"nvidia.com/gpu.product":                  m.Product(),
		"nvidia.com/gpu.count":                    strconv.Itoa(k.GPUs),
		"nvidia.com/gpu.memory":                   strconv.Itoa(m.MemoryMiB),
		"nvidia.com/gpu.replicas":                 "1",
		"nvidia.com/gpu.sharing-strategy":         "none",
		"nvidia.com/mig.capable":                  strconv.FormatBool(m.Profiles != nil),
		"nvidia.com/mps.capable":                  strconv.FormatBool(k.Sharing == MPS),
		"nvidia.com/vgpu.present":                 strconv.FormatBool(k.VGPU),
	}
	if k.VGPU {
		labels["nvidia.com/vgpu.host-driver-version"] = "580.105.06"
		labels["nvidia.com/vgpu.host-driver-branch"] = "r580_95"
	}
	if k.Sharing != "" {
		k.shareLabels(labels, "nvidia.com/gpu")
	}
	if k.Strategy != "" {
		labels["nvidia.com/mig.strategy"] = k.Strategy
		maps.Copy(labels, k.migLabels(layout))
	}
	return labels
}

func (k Kind) shareLabels(labels map[string]string, prefix string) {
	labels[prefix+".replicas"] = strconv.Itoa(k.Replicas)
	labels[prefix+".sharing-strategy"] = k.Sharing
	if !k.Renamed {
		labels[prefix+".product"] += "-SHARED"
	}
}

// migLabels are the labels that describe the instances: under single they replace those of the GPU, under mixed each
// profile has its own set and the set of the GPU tells how many cards there are.
func (k Kind) migLabels(layout Layout) map[string]string {
	labels := map[string]string{}
	counts := map[string]int{}
	for _, instances := range layout {
		for _, in := range instances {
			counts[in.Profile]++
		}
	}
	switch {
	case k.Strategy == Mixed:
		if len(counts) > 0 {
			labels["nvidia.com/gpu.replicas"] = "0"
			labels["nvidia.com/gpu.sharing-strategy"] = "none"
			labels["nvidia.com/gpu.product"] = k.Model.Product()
		}
		for profile, count := range counts {
			k.describe(labels, "nvidia.com/"+resourceOf(profile), profile, count)
		}
	case k.invalidSingle(layout):
		for key, value := range map[string]string{"product": k.Model.Product() + "-MIG-INVALID", "count": "0",
			"replicas": "0", "memory": "0", "sharing-strategy": ""} {
			labels["nvidia.com/gpu."+key] = value
		}
	default:
		for profile, count := range counts {
			k.describe(labels, "nvidia.com/gpu", profile, count)
		}
	}
	return labels
}

func (k Kind) describe(labels map[string]string, prefix, profile string, count int) {
	p, _ := k.Model.Profile(profile)
	for key, value := range map[string]any{
		"product": fmt.Sprintf("%s-MIG-%s", k.Model.Product(), strings.TrimPrefix(resourceOf(profile), "mig-")),
		"count":   count, "memory": p.MemoryMiB, "multiprocessors": p.SMs, "replicas": 1, "sharing-strategy": "none",
		"slices.gi": p.Slices, "slices.ci": p.Slices, "engines.copy": p.Copy, "engines.decoder": p.Dec,
		"engines.encoder": 0, "engines.jpeg": p.JPEG, "engines.ofa": p.OFA,
	} {
		labels[prefix+"."+key] = fmt.Sprint(value)
	}
	if k.Sharing != "" {
		k.shareLabels(labels, prefix)
	}
}

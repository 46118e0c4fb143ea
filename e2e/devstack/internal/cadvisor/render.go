// Package cadvisor plays what a kubelet tells of its containers under /metrics/cadvisor, as far as it concerns the CPU
// and the network of pods: which rows there are for a pod, its sandbox and its containers, with which labels, and
// counters that grow with what the pod does.
//
// Sources: google/cadvisor (metrics/prometheus.go: names, the labels cpu and interface, the time of each sample) and
// pkg/kubelet/server of Kubernetes 1.36 (containerPrometheusLabelsFunc: container, id, image, name, namespace, pod).
// The ids are those of systemd's cgroups under containerd; the container of a sandbox has no name there.
package cadvisor

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Pod is what one pod has used since it began.
type Pod struct {
	Namespace, Name, UID string
	QOS                  corev1.PodQOSClass
	HostNetwork          bool // a pod in the node's network has none of its own to count
	Containers           []Container
	Received, Sent       float64 // bytes
}

// Container is one of its containers.
type Container struct {
	Name, Image string
	CPU         float64 // core seconds
}

const pause = "registry.k8s.io/pause:3.10"

// Render writes the rows of a node's pods as of a moment.
func Render(w io.Writer, pods []Pod, at time.Time) error {
	var cpu, received, sent []string
	for _, p := range pods {
		var sum float64
		for _, c := range p.Containers {
			sum += c.CPU
			cpu = append(cpu, p.cpuRow(c.Name, c.Image, c.Name, c.CPU, at))
		}
		cpu = append(cpu, p.cpuRow("", pause, "sandbox", 0.01, at),
			row("container_cpu_usage_seconds_total", []string{"container", "", "cpu", "total", "id", p.cgroup(), "image", "",
				"name", "", "namespace", p.Namespace, "pod", p.Name}, sum+0.01, at))
		if !p.HostNetwork {
			received = append(received, p.networkRow("receive", p.Received, at))
			sent = append(sent, p.networkRow("transmit", p.Sent, at))
		}
	}
	for _, family := range []struct {
		name, help string
		rows       []string
	}{
		{"container_cpu_usage_seconds_total", "Core seconds that were used.", cpu},
		{"container_network_receive_bytes_total", "Bytes that came in.", received},
		{"container_network_transmit_bytes_total", "Bytes that went out.", sent},
	} {
		if len(family.rows) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s counter\n%s\n", family.name, family.help, family.name,
			strings.Join(family.rows, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// cpuRow is of a container, or of the sandbox, whose container has no name.
func (p Pod) cpuRow(container, image, what string, value float64, at time.Time) string {
	id := p.idOf(what)
	return row("container_cpu_usage_seconds_total", []string{"container", container, "cpu", "total", "id",
		p.cgroup() + "/cri-containerd-" + id + ".scope", "image", image, "name", id, "namespace", p.Namespace, "pod", p.Name},
		value, at)
}

// networkRow is of the sandbox, which has the pod's network.
func (p Pod) networkRow(way string, value float64, at time.Time) string {
	id := p.idOf("sandbox")
	return row("container_network_"+way+"_bytes_total", []string{"container", "", "id",
		p.cgroup() + "/cri-containerd-" + id + ".scope", "image", pause, "interface", "eth0", "name", id, "namespace",
		p.Namespace, "pod", p.Name}, value, at)
}

// cgroup is the pod's.
func (p Pod) cgroup() string {
	name, dir := "kubepods", "/kubepods.slice/"
	if class := strings.ToLower(string(p.QOS)); class != "" && p.QOS != corev1.PodQOSGuaranteed {
		name += "-" + class
		dir += name + ".slice/"
	}
	return dir + name + "-pod" + strings.ReplaceAll(p.UID, "-", "_") + ".slice"
}

// idOf is 64 digits as containerd gives them, the same for the same container.
func (p Pod) idOf(what string) string {
	sum := sha256.Sum256([]byte(p.UID + "/" + what))
	return hex.EncodeToString(sum[:])
}

// row has its labels sorted by name; the time of a sample is in milliseconds.
func row(name string, labels []string, value float64, at time.Time) string {
	var b strings.Builder
	b.WriteString(name)
	for i := 0; i < len(labels); i += 2 {
		fmt.Fprintf(&b, "%c%s=%q", "{,"[min(i, 1)], labels[i], labels[i+1])
	}
	fmt.Fprintf(&b, "} %g %d", value, at.UnixMilli())
	return b.String()
}

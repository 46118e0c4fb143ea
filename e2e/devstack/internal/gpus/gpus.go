// Package gpus plays the hardware and its exporter: which pod holds which device of a node, how busy each is now, and
// the page that dcgm-exporter would serve for the node.
//
// The path of data: world (pods, nodes, claims) -> devices.Assign -> entities with loads -> dcgm.Render.
package gpus

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/dcgm"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/devices"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

// Hardware remembers what must not jump from one reading to the next.
type Hardware struct {
	Loads   Loads
	Memory  Loads // the parts of their memory that pods fill
	cluster *world.Cluster
	file    string

	mu     sync.Mutex
	held   map[string]devices.Held // by node
	meters map[string]*meter       // by UUID
	xids   map[string]int          // by UUID
}

// meter is a counter of a card that only grows.
type meter struct {
	at                  time.Time
	millijoules, nvlink float64
}

// New reads who held what from file, so that a pod keeps its device over a restart.
func New(cluster *world.Cluster, file string) *Hardware {
	h := &Hardware{cluster: cluster, file: file, held: map[string]devices.Held{}, meters: map[string]*meter{},
		xids: map[string]int{}}
	if text, err := os.ReadFile(file); err == nil {
		_ = json.Unmarshal(text, &h.held) // a file that cannot be read costs only the memory
	}
	return h
}

// SetXID makes a GPU report an XID error.
func (h *Hardware) SetXID(node string, gpu, xid int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.xids[nodes.GPUUUID(node, gpu)] = xid
}

// Exported says whether the node has an exporter: NVIDIA GPUs under the GPU operator or its DRA driver.
func Exported(node *corev1.Node) bool {
	kind, _, err := nodes.Read(node)
	return err == nil && kind.Model != nil && !(kind.Foreign && kind.Labels["nvidia.com/gpu.workload.config"] != "")
}

// Licensed says whether the vGPUs of a node have their license.
func Licensed(node *corev1.Node) bool { return node.Annotations[nodes.UnlicensedAnnotation] == "" }

// Holders says who holds the devices of a node.
func (h *Hardware) Holders(node *corev1.Node) (devices.Held, error) {
	kind, layout, err := nodes.Read(node)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.assign(node.Name, kind.Devices(node.Name, layout), h.cluster.PodsOn(node.Name)), nil
}

// assign must be called with the lock held.
func (h *Hardware) assign(node string, all []nodes.Device, pods []*corev1.Pod) devices.Held {
	before := h.held[node]
	held := devices.Assign(all, asks(pods), before)
	changed := len(held) != len(before)
	for id, holder := range held {
		changed = changed || before[id] != holder
	}
	if changed {
		h.held[node] = held
		h.save()
	}
	return held
}

func (h *Hardware) save() {
	text, err := json.Marshal(h.held)
	if err != nil {
		return
	}
	part := h.file + ".new"
	if os.WriteFile(part, text, 0o644) == nil {
		_ = os.Rename(part, h.file)
	}
}

func asks(pods []*corev1.Pod) []devices.Ask {
	var all []devices.Ask
	for _, pod := range pods {
		for _, c := range pod.Spec.Containers {
			units := map[string]int64{}
			for name, quantity := range c.Resources.Limits {
				units[string(name)] = quantity.Value()
			}
			all = append(all, devices.Ask{
				Holder: holderOf(pod, c.Name), Order: pod.CreationTimestamp.Unix(), Units: units,
			})
		}
	}
	return all
}

func holderOf(pod *corev1.Pod, container string) devices.Holder {
	return devices.Holder{Namespace: pod.Namespace, Pod: pod.Name, UID: string(pod.UID), Container: container}
}

// Entities are the readings of a node now.
func (h *Hardware) Entities(node *corev1.Node, now time.Time) ([]dcgm.Entity, error) {
	kind, layout, err := nodes.Read(node)
	if err != nil {
		return nil, err
	}
	pods := h.cluster.PodsOn(node.Name)
	h.mu.Lock()
	defer h.mu.Unlock()
	var holders []holding
	if kind.DRA {
		holders = h.claimed(node.Name, kind, layout, pods)
	} else {
		all := kind.Devices(node.Name, layout)
		held := h.assign(node.Name, all, pods)
		for _, d := range all {
			if holder, ok := held[d.ID]; ok {
				holders = append(holders, holding{gpu: d.GPU, instance: d.Instance, replica: d.Replica, holder: holder})
			}
		}
	}
	byUID := map[string]*corev1.Pod{}
	for _, pod := range pods {
		byUID[string(pod.UID)] = pod
	}
	return h.read(node.Name, Licensed(node), kind, layout, holders, byUID, now), nil
}

// holding is a device in the hands of a container.
type holding struct {
	gpu      int
	instance *nodes.Instance
	replica  int
	holder   devices.Holder
	more     map[string]string
}

func (x holding) on(gpu int, instance *nodes.Instance) bool {
	if x.gpu != gpu || (x.instance == nil) != (instance == nil) {
		return false
	}
	return instance == nil || *x.instance == *instance
}

// claimed are the devices that resource claims of the node's pods hold.
func (h *Hardware) claimed(node string, kind nodes.Kind, layout nodes.Layout, pods []*corev1.Pod) []holding {
	published := map[string]nodes.DRADevice{}
	for _, d := range kind.DRADevices(node, layout) {
		published[d.Name] = d
	}
	var all []holding
	for _, pod := range pods {
		for _, status := range pod.Status.ResourceClaimStatuses {
			if status.ResourceClaimName == nil {
				continue
			}
			claim := h.cluster.Claim(pod.Namespace, *status.ResourceClaimName)
			if claim == nil || claim.Status.Allocation == nil {
				continue
			}
			for _, result := range claim.Status.Allocation.Devices.Results {
				d, ok := published[result.Device]
				if !ok || result.Pool != node {
					continue
				}
				all = append(all, holding{
					gpu: d.GPU, instance: d.Instance, holder: holderOf(pod, containerOf(pod, status.Name)),
					more: draLabels(claim.Name, claim.Namespace, node, d),
				})
			}
		}
	}
	return all
}

func draLabels(claim, namespace, pool string, d nodes.DRADevice) map[string]string {
	labels := map[string]string{
		"dra_claim_name": claim, "dra_claim_namespace": namespace, "dra_driver_name": nodes.DRADriver,
		"dra_pool_name": pool, "dra_device_name": d.Name,
	}
	if d.Instance != nil {
		labels["dra_mig_profile"], labels["dra_mig_device_uuid"] = d.Instance.Profile, d.UUID
	}
	return labels
}

// containerOf is the container that names the claim.
func containerOf(pod *corev1.Pod, claim string) string {
	for _, c := range pod.Spec.Containers {
		for _, used := range c.Resources.Claims {
			if used.Name == claim {
				return c.Name
			}
		}
	}
	return pod.Spec.Containers[0].Name
}

// Page writes the exporter's page of a node.
func (h *Hardware) Page(w io.Writer, node *corev1.Node, now time.Time) error {
	entities, err := h.Entities(node, now)
	if err != nil {
		return fmt.Errorf("readings of %s: %w", node.Name, err)
	}
	return dcgm.Render(w, node.Name, nodes.Driver, entities)
}

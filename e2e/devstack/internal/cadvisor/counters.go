package cadvisor

import (
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/gpus"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

// What a pod uses that only waits, and what one that works with all of its CPUs moves.
const (
	waitingCores = 0.002
	waitingBytes = 200 // per second: probes, and scrapes of metrics
	workingBytes = 2e6
)

// Counters remember what pods have used.
type Counters struct {
	Loads   gpus.Loads // the parts of its CPUs that a pod uses; its network goes along
	cluster *world.Cluster

	mu   sync.Mutex
	pods map[string]*used // by UID
}

type used struct {
	at                  time.Time
	cpu, received, sent float64
}

// New begins with nothing used.
func New(cluster *world.Cluster) *Counters {
	c := &Counters{cluster: cluster, pods: map[string]*used{}}
	cluster.OnPodGone(c.forget)
	return c
}

func (c *Counters) forget(uid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pods, uid)
}

// Page writes the rows of a node. Counters grow with what was done since the last look.
func (c *Counters) Page(w io.Writer, node *corev1.Node, now time.Time) error {
	var list []Pod
	for _, pod := range c.cluster.PodsOn(node.Name) {
		if pod.Status.Phase == corev1.PodRunning {
			list = append(list, c.read(pod, now))
		}
	}
	slices.SortFunc(list, func(a, b Pod) int { return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) })
	return Render(w, list, now)
}

func (c *Counters) read(pod *corev1.Pod, now time.Time) Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.pods[string(pod.UID)]
	if u == nil {
		u = &used{at: now}
		c.pods[string(pod.UID)] = u
	}
	if passed := now.Sub(u.at).Seconds(); passed > 0 {
		load := c.Loads.Of(pod, now)
		u.cpu += passed * (waitingCores + load*cores(pod))
		u.received += passed * (waitingBytes + load*workingBytes)
		u.sent += passed * (waitingBytes + load*workingBytes/4)
		u.at = now
	}
	p := Pod{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID), QOS: pod.Status.QOSClass,
		HostNetwork: pod.Spec.HostNetwork, Received: u.received, Sent: u.sent}
	for i, container := range pod.Spec.Containers {
		one := Container{Name: container.Name, Image: container.Image}
		if i == 0 {
			one.CPU = u.cpu
		}
		p.Containers = append(p.Containers, one)
	}
	return p
}

// cores are those that a pod's first container may use: as many as it asks for, one where it asks for none.
func cores(pod *corev1.Pod) float64 {
	if len(pod.Spec.Containers) > 0 {
		if n := pod.Spec.Containers[0].Resources.Requests.Cpu().AsApproximateFloat64(); n > 0 {
			return n
		}
	}
	return 1
}

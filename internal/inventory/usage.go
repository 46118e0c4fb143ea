package inventory

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// vendors are the domains under which accelerators, shares of them and networks for them are advertised. Other extended
// resources (a KVM device, a sound card) are none of a GPU portal's business.
var vendors = []string{
	"nvidia.com/", "amd.com/", "gpu.intel.com/", "habana.ai/",
	"mig.das.com/", "volcano.sh/", "tencent.com/", "aliyun.com/", "virtaitech.com/", "bitfusion.io/", "rdma/",
	"cambricon.com/", "hygon.com/", "metax-tech.com/", "huawei.com/", "iluvatar.ai/", "kunlunxin.com/", "enflame.com/",
	"mthreads.com/",
	"aws.amazon.com/neuron", "google.com/tpu",
}

// hugePages are no accelerator, but some cards cannot be used without (Gaudi), and a size may ask for them.
func hugePages(name string) bool { return strings.HasPrefix(name, corev1.ResourceHugePagesPrefix) }

func accelerator(name string) bool {
	for _, v := range vendors {
		if strings.HasPrefix(name, v) {
			return true
		}
	}
	return false
}

// use is what a pod has been promised on its node.
type use struct {
	milliCPU int64
	bytes    int64
	devices  map[string]int64
}

// usageOf follows the scheduler: containers run side by side, so their requests add up; an init container runs alone
// beside the sidecars started before it, so only the greatest counts; overhead is added; a request of the pod as a
// whole replaces the sum.
func usageOf(p *corev1.Pod) use {
	var sum, peak use
	for i := range p.Spec.Containers {
		sum.add(p.Spec.Containers[i].Resources.Requests)
	}
	if len(p.Spec.InitContainers) > 0 {
		var sidecars use
		for i := range p.Spec.InitContainers {
			c := &p.Spec.InitContainers[i]
			if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
				sum.add(c.Resources.Requests)
				sidecars.add(c.Resources.Requests)
				peak.atLeast(sidecars)
				continue
			}
			alone := sidecars.copy()
			alone.add(c.Resources.Requests)
			peak.atLeast(alone)
		}
		sum.atLeast(peak)
	}
	if p.Spec.Resources != nil {
		if q, ok := p.Spec.Resources.Requests[corev1.ResourceCPU]; ok {
			sum.milliCPU = q.MilliValue()
		}
		if q, ok := p.Spec.Resources.Requests[corev1.ResourceMemory]; ok {
			sum.bytes = q.Value()
		}
	}
	sum.add(p.Spec.Overhead)
	if bridge := p.Status.ExtendedResourceClaimStatus; bridge != nil {
		for _, m := range bridge.RequestMappings {
			delete(sum.devices, m.ResourceName) // a claim serves it, on whose device the pod is shown
		}
	}
	return sum
}

func (u *use) add(list corev1.ResourceList) {
	for name, q := range list {
		switch {
		case name == corev1.ResourceCPU:
			u.milliCPU += q.MilliValue()
		case name == corev1.ResourceMemory:
			u.bytes += q.Value()
		case accelerator(string(name)) || hugePages(string(name)):
			if u.devices == nil {
				u.devices = map[string]int64{}
			}
			u.devices[string(name)] += q.Value()
		}
	}
}

func (u *use) atLeast(o use) {
	u.milliCPU, u.bytes = max(u.milliCPU, o.milliCPU), max(u.bytes, o.bytes)
	for name, count := range o.devices {
		if u.devices == nil {
			u.devices = map[string]int64{}
		}
		u.devices[name] = max(u.devices[name], count)
	}
}

func (u use) copy() use {
	c := use{milliCPU: u.milliCPU, bytes: u.bytes}
	for name, count := range u.devices {
		if c.devices == nil {
			c.devices = map[string]int64{}
		}
		c.devices[name] = count
	}
	return c
}

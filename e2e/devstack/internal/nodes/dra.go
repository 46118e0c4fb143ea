package nodes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DRADriver is the name of NVIDIA's driver for dynamic resource allocation (kubernetes-sigs/dra-driver-nvidia-gpu
// v0.4.1).
const DRADriver = "gpu.nvidia.com"

// DRADevice is a device of a ResourceSlice.
type DRADevice struct {
	Name     string
	GPU      int
	Instance *Instance
	UUID     string
}

// DRADevices are what the DRA driver publishes for a node: whole GPUs, and the MIG instances made beforehand.
func (k Kind) DRADevices(node string, layout Layout) []DRADevice {
	var all []DRADevice
	for gpu := range k.GPUs {
		if gpu >= len(layout) || layout[gpu] == nil {
			all = append(all, DRADevice{Name: fmt.Sprintf("gpu-%d", gpu), GPU: gpu, UUID: GPUUUID(node, gpu)})
			continue
		}
		for _, in := range layout[gpu] {
			p, _ := k.Model.Profile(in.Profile)
			name := fmt.Sprintf("gpu-%d-mig-%s-%d-%d", gpu, strings.ReplaceAll(in.Profile, ".", ""), p.ID, in.Start)
			all = append(all, DRADevice{Name: name, GPU: gpu, Instance: &in, UUID: MIGUUID(node, gpu, in)})
		}
	}
	return all
}

// Slice is the ResourceSlice of a node. The pool has the name of the node.
func (k Kind) Slice(node string, layout Layout, owner *metav1.OwnerReference) *resourcev1.ResourceSlice {
	slice := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: node + "-gpu.nvidia.com-devstack"},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: DRADriver, NodeName: &node,
			Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
		},
	}
	if owner != nil {
		slice.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	for _, d := range k.DRADevices(node, layout) {
		slice.Spec.Devices = append(slice.Spec.Devices, k.describeDRA(node, d))
	}
	return slice
}

func (k Kind) describeDRA(node string, d DRADevice) resourcev1.Device {
	m := k.Model
	device := resourcev1.Device{
		Name: d.Name,
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
			"type": text("gpu"), "uuid": text(d.UUID), "productName": text(m.Name), "brand": text("Nvidia"),
			"architecture":          text(strings.ToUpper(m.Family[:1]) + m.Family[1:]),
			"cudaComputeCapability": version(fmt.Sprintf("%d.%d.0", m.Major, m.Minor)),
			"driverVersion":         version(semantic(Driver)), "cudaDriverVersion": version("13.0.0"),
			"resource.kubernetes.io/pciBusID": text(strings.ToLower(BusID(d.GPU)[4:])),
			"resource.kubernetes.io/pcieRoot": text(fmt.Sprintf("pci0000:%02x", 0x10+16*(d.GPU/2))),
		},
		Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": amount(m.MemoryMiB)},
	}
	if d.Instance == nil {
		k.partition(device, d.GPU)
		return device
	}
	p, _ := m.Profile(d.Instance.Profile)
	device.Attributes["type"] = text("mig")
	device.Attributes["parentUUID"] = text(GPUUUID(node, d.GPU))
	device.Attributes["profile"] = text(p.Name)
	device.Capacity["memory"] = amount(p.MemoryMiB)
	for name, count := range map[resourcev1.QualifiedName]int{"multiprocessors": p.SMs, "copyEngines": p.Copy,
		"decoders": p.Dec, "encoders": 0, "jpegEngines": p.JPEG, "ofaEngines": p.OFA} {
		device.Capacity[name] = resourcev1.DeviceCapacity{Value: *resource.NewQuantity(int64(count), resource.DecimalSI)}
	}
	for i := d.Instance.Start; i < d.Instance.Start+p.Size; i++ {
		device.Capacity[resourcev1.QualifiedName("memorySlice"+strconv.Itoa(i))] =
			resourcev1.DeviceCapacity{Value: *resource.NewQuantity(1, resource.DecimalSI)}
	}
	return device
}

// partition adds what the driver tells of NVLink under the feature gate FabricManagerPartitioning: the number of the
// module, and for each size the partition of Fabric Manager that the card belongs to
// (addFabricManagerAttributes in kubernetes-sigs/dra-driver-nvidia-gpu at 95932046, gpu-kubelet-plugin/deviceinfo.go).
func (k Kind) partition(device resourcev1.Device, gpu int) {
	if k.Fabric == nil {
		return
	}
	device.Attributes["gpuModuleID"] = number(gpu + 1)
	for i, members := range k.Fabric {
		if slices.Contains(members, gpu) {
			device.Attributes[resourcev1.QualifiedName(fmt.Sprintf("partition%d", len(members)))] = number(i + 1)
		}
	}
}

func number(n int) resourcev1.DeviceAttribute {
	v := int64(n)
	return resourcev1.DeviceAttribute{IntValue: &v}
}

func text(s string) resourcev1.DeviceAttribute { return resourcev1.DeviceAttribute{StringValue: &s} }

func version(s string) resourcev1.DeviceAttribute {
	return resourcev1.DeviceAttribute{VersionValue: &s}
}

func amount(mib int) resourcev1.DeviceCapacity {
	return resourcev1.DeviceCapacity{Value: *resource.NewQuantity(int64(mib)<<20, resource.BinarySI)}
}

// semantic drops the leading zeros that the driver writes in its version and semantic versions do not allow.
func semantic(v string) string {
	parts := strings.Split(v, ".")
	for i, p := range parts {
		if n, err := strconv.Atoi(p); err == nil {
			parts[i] = strconv.Itoa(n)
		}
	}
	return strings.Join(parts, ".")
}

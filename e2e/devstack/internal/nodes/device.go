package nodes

// Device is one unit that the device plugin advertises under a resource name: a whole GPU, a MIG instance, or a replica
// of either.
type Device struct {
	Resource string
	GPU      int
	Instance *Instance
	Replica  int
	ID       string // as the kubelet knows it: the UUID, with ::n for a replica
}

// Devices lists what a node with this layout advertises, in a fixed order.
func (k Kind) Devices(node string, layout Layout) []Device {
	if k.Foreign || k.DRA || k.Model == nil || k.invalidSingle(layout) {
		return nil
	}
	var devices []Device
	for gpu := range k.GPUs {
		if layout == nil || layout[gpu] == nil {
			devices = append(devices, k.replicas(Device{Resource: "nvidia.com/gpu", GPU: gpu, ID: GPUUUID(node, gpu)})...)
			continue
		}
		for _, in := range layout[gpu] {
			resource := "nvidia.com/gpu"
			if k.Strategy == Mixed {
				resource = "nvidia.com/" + resourceOf(in.Profile)
			}
			devices = append(devices, k.replicas(Device{Resource: resource, GPU: gpu, Instance: &in,
				ID: MIGUUID(node, gpu, in)})...)
		}
	}
	return devices
}

func (k Kind) replicas(d Device) []Device {
	if k.Sharing == "" {
		return []Device{d}
	}
	if k.Renamed {
		d.Resource += ".shared"
	}
	var all []Device
	for i := range k.Replicas {
		r := d
		r.Replica = i
		r.ID = d.ID + "::" + string(rune('0'+i))
		all = append(all, r)
	}
	return all
}

// invalidSingle: under the strategy single, MIG must be on everywhere and every instance alike, or off everywhere.
func (k Kind) invalidSingle(layout Layout) bool {
	if k.Strategy != Single {
		return false
	}
	on, profiles := 0, map[string]bool{}
	for _, instances := range layout {
		if instances == nil {
			continue
		}
		on++
		if len(instances) == 0 {
			return true
		}
		for _, in := range instances {
			profiles[in.Profile] = true
		}
	}
	return on > 0 && (on < k.GPUs || len(profiles) > 1)
}

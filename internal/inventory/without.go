package inventory

import "slices"

// Freed is what a workload gives back of a node beside its devices.
type Freed struct {
	MilliCPU int64
	Bytes    int64 // of memory
}

// Without is the snapshot as it would be if the given workloads had ended. It shares with the old one what stays as it
// is.
func (s Snapshot) Without(gone map[string]Freed) Snapshot {
	nodes := slices.Clone(s.Nodes)
	for i := range nodes {
		nodes[i] = nodes[i].without(gone)
	}
	s.Nodes = nodes
	return s
}

func (n Node) without(gone map[string]Freed) Node {
	freed := map[string]Freed{} // a workload may hold several resources of a node; its CPU comes back once
	resources, devices := slices.Clone(n.Resources), slices.Clone(n.Devices)
	for i, r := range resources {
		resources[i].Holders = keep(r.Holders, gone, freed)
	}
	for i, d := range devices {
		if left := keep(d.Holders, gone, freed); len(left) < len(d.Holders) {
			devices[i].Holders = left
			if len(left) == 0 {
				devices[i].Claim, devices[i].Consumed = "", nil
			}
		}
	}
	if len(freed) == 0 {
		return n
	}
	n.Resources, n.Devices = resources, devices
	for _, f := range freed {
		n.CPU.Requested = max(0, n.CPU.Requested-f.MilliCPU)
		n.Memory.Requested = max(0, n.Memory.Requested-f.Bytes)
	}
	return n
}

func keep(holders []Holder, gone, freed map[string]Freed) []Holder {
	left := holders[:0:0]
	for _, h := range holders {
		f, ends := gone[h.Workload]
		if ends && h.Workload != "" {
			freed[h.Workload] = f
			continue
		}
		left = append(left, h)
	}
	if len(left) == len(holders) {
		return holders
	}
	return left
}

package inventory

// Holders are the workloads of the portal that hold devices, by id.
func (s Snapshot) Holders() map[string]bool {
	ids := map[string]bool{}
	for i := range s.Nodes {
		for _, r := range s.Nodes[i].Resources {
			for _, h := range r.Holders {
				ids[h.Workload] = true
			}
		}
		for j := range s.Nodes[i].Devices {
			for _, h := range s.Nodes[i].Devices[j].Holders {
				ids[h.Workload] = true
			}
		}
	}
	delete(ids, "")
	return ids
}

package gpumetrics

import (
	"slices"
	"strings"
)

// Labels are the names that a site's series use, each in order of preference. What is empty gets the exporter's own
// names, old and new; a site whose relabelling rules rename labels lists its names.
type Labels struct {
	UUID      []string // of the physical card
	Instance  []string // number of a MIG slice
	Profile   []string // name of a MIG profile
	Model     []string
	Node      []string
	Namespace []string // of the pod that holds the device; Pod has its counterpart at the same place
	Pod       []string
}

// DefaultLabels are those of dcgm-exporter, of AMD's exporter (gpu_uuid, or serial_number where that is off), Gaudi's
// (pod_name) and Intel's (uuid and kube_pod, since 2.0 hw_id and no pod). Hostname became hostname in 2026; "uuid",
// "pod_name" and "pod_namespace" are its spelling with --use-old-namespace. Where a scrape does not honour labels,
// Prometheus keeps the exporter's own pod in namespace and pod, and the holder moves to exported_*. The names of nodes
// before Hostname are what scrape configurations write __meta_kubernetes_pod_node_name and its like to; Hostname is the
// exporter's pod where the exporter is not told its node.
func DefaultLabels() Labels {
	return Labels{UUID: []string{"UUID", "uuid", "gpu_uuid", "serial_number", "hw_id"},
		Instance: []string{"GPU_I_ID"},
		Profile:  []string{"GPU_I_PROFILE", "dra_mig_profile"},
		Model:    []string{"modelName", "card_series", "dev_name", "hw_model", "card_model"},
		Node: []string{"node", "kubernetes_node", "node_name", "nodename",
			"Hostname", "hostname"},
		Namespace: []string{"exported_namespace", "pod_namespace", "kube_namespace", "namespace"},
		Pod:       []string{"exported_pod", "pod_name", "kube_pod", "pod"}}
}

// orDefaults fills in what is empty. Names are those of PromQL without quotes; others would not be a query, and are
// left out.
func (l Labels) orDefaults() Labels {
	d := DefaultLabels()
	for _, pair := range []struct{ own, standard *[]string }{
		{&l.UUID, &d.UUID}, {&l.Instance, &d.Instance}, {&l.Profile, &d.Profile}, {&l.Model, &d.Model}, {&l.Node, &d.Node},
	} {
		if *pair.own = slices.DeleteFunc(slices.Clone(*pair.own), func(n string) bool { return !labelName(n) }); len(
			*pair.own) == 0 {
			*pair.own = *pair.standard
		}
	}
	bad := func(n string) bool { return !labelName(n) }
	if len(l.Namespace) == 0 || len(l.Namespace) != len(l.Pod) || slices.ContainsFunc(l.Namespace, bad) ||
		slices.ContainsFunc(l.Pod, bad) {
		l.Namespace, l.Pod = d.Namespace, d.Pod
	}
	return l
}

// Problem names the first label name that no series could have, or "".
func (l Labels) Problem() string {
	for _, names := range [][]string{l.UUID, l.Instance, l.Profile, l.Model, l.Node, l.Namespace, l.Pod} {
		for _, n := range names {
			if !labelName(n) {
				return n
			}
		}
	}
	return ""
}

func labelName(n string) bool {
	for i, r := range n {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return n != "" && !strings.HasPrefix(n, "__")
}

// label is one of a row.
type label struct{ name, value string }

// labels are those of one row.
type labels []label

// get is the value of a label, "" for none. Of a name that is there twice the last one counts, as everywhere in JSON.
func (l labels) get(name string) string {
	for i := len(l) - 1; i >= 0; i-- {
		if l[i].name == name {
			return l[i].value
		}
	}
	return ""
}

// first is the value of the first of the names that the row has.
func (l labels) first(names []string) string {
	for _, n := range names {
		if v := l.get(n); v != "" {
			return v
		}
	}
	return ""
}

// podKey names a pod of the cluster.
type podKey struct{ namespace, pod string }

// deviceKey names a card, or a MIG slice of it. Rows of slices carry the card's UUID, so neither alone is a key.
type deviceKey struct{ uuid, instance string }

func (k deviceKey) card() deviceKey { return deviceKey{uuid: k.uuid} }

// AMD's exporter has a row for each partition of a card. Their gpu_uuid, which is off unless a site wants it, is the
// partition's own; the serial number, which is always there, is the card's (ROCm/device-metrics-exporter,
// pkg/amdgpu/gpuagent, gpuMandatoryLables and populateLabelsFromGPU). Of a card that is not cut the mode is SPX, or NA
// in a virtual machine.
const (
	amdSerial    = "serial_number"
	amdPartition = "gpu_partition_id"
	amdMode      = "gpu_compute_partition_type"
	amdMemory    = "gpu_memory_partition_type"
	amdWhole     = amdMode + `=~"|NA|na|N/A|SPX|spx"`
)

// partitioned reports whether a row is of a card that is cut into partitions, as its mode says.
func partitioned(row labels) bool {
	switch strings.ToLower(row.get(amdMode)) {
	case "", "na", "n/a", "spx":
		return false
	}
	return true
}

// ofDevice are the labels that a device is known by.
func (l Labels) ofDevice() []string {
	return slices.Concat(l.UUID, l.Instance, []string{amdPartition, amdMode})
}

// ofCard are the labels that a card is known by.
func (l Labels) ofCard() []string { return slices.Concat(l.UUID, []string{amdMode}) }

// whole are the matchers of rows of cards that are not cut.
func (l Labels) whole() string {
	all := []string{amdWhole}
	for _, n := range l.Instance {
		all = append(all, n+`=""`)
	}
	return strings.Join(all, ",")
}

// withoutPod are the matchers of rows that are of a device and of no pod on it, but for the exporter's own where its
// scrape does not honour labels. Beside rows of pods they are there where those tell each pod's own part
// (dcgm-exporter with --kubernetes-virtual-gpus).
func (l Labels) withoutPod() string {
	all := make([]string, len(l.Pod))
	for i, n := range l.Pod {
		all[i] = n + `=""`
	}
	all[len(all)-1] = l.Pod[len(l.Pod)-1] + "=~" + quote("|.*("+strings.Join(exporterNames, "|")+").*")
	return strings.Join(all, ",")
}

func (l Labels) device(row labels) (deviceKey, bool) {
	k := deviceKey{row.first(l.UUID), row.first(l.Instance)}
	if partitioned(row) {
		k.instance = row.get(amdPartition)
		if serial := row.get(amdSerial); serial != "" {
			k.uuid = serial
		}
	}
	return k, k.uuid != ""
}

// profile is what a slice is called: an AMD partition after both its modes, as in the name of its resource.
func (l Labels) profile(row labels) string {
	if partitioned(row) {
		return strings.ToLower(strings.Trim(row.get(amdMode)+"_"+row.get(amdMemory), "_"))
	}
	return row.first(l.Profile)
}

// holder is the pod that a row names, and whether that may be the exporter's own: the last names are those which
// Prometheus gives to its target.
func (l Labels) holder(row labels) (k podKey, doubtful bool) {
	last := len(l.Namespace) - 1
	for i := range l.Namespace {
		k = podKey{row.get(l.Namespace[i]), row.get(l.Pod[i])}
		if k.namespace != "" && k.pod != "" {
			return k, i == last
		}
	}
	return podKey{}, false
}

// target is the pod that stands as scrape target beside an exported one; every row that names it as its pod is the
// exporter's own.
func (l Labels) target(row labels) podKey {
	last := len(l.Namespace) - 1
	if k, doubtful := l.holder(row); k == (podKey{}) || doubtful {
		return podKey{}
	}
	return podKey{row.get(l.Namespace[last]), row.get(l.Pod[last])}
}

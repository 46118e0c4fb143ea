package gpumetrics

import (
	"net"
	"slices"
	"strings"
)

// NodeIndex is what the cluster itself knows of its nodes: by which names, addresses, pods and cards a series can be
// attributed to one. The zero value knows no node. A name that two nodes have is the name of neither.
type NodeIndex struct {
	names     map[string]string // node names, host names, addresses -> node
	exporters map[string]string // names and addresses of the pods of metrics exporters -> node
	pods      map[Pod]string    // exporters, and pods that hold cards
	cards     map[string]string // UUID -> node
	buses     map[string]string // PCI addresses of cards of which nobody tells the UUID -> node
}

// NewNodeIndex makes an empty one.
func NewNodeIndex() NodeIndex {
	return NodeIndex{names: map[string]string{}, exporters: map[string]string{}, pods: map[Pod]string{},
		cards: map[string]string{}, buses: map[string]string{}}
}

// AddNode adds a node with its other names: host names and addresses. The first label of a qualified host name counts
// as well, for EC2 and Azure name nodes by the qualified one and a process there reads the short one.
func (x NodeIndex) AddNode(node string, others ...string) {
	x.names[node] = node
	for _, name := range append(others, node) {
		x.alias(name, node)
		if short, _, cut := strings.Cut(name, "."); cut && net.ParseIP(name) == nil {
			x.alias(short, node)
		}
	}
}

// alias enters another name; the name of a node is no other's.
func (x NodeIndex) alias(name, node string) {
	if x.names[name] != name {
		unique(x.names, name, node)
	}
}

// AddExporter adds a pod that exports metrics of cards, and its address ("" or that of the node where it has none of
// its own).
func (x NodeIndex) AddExporter(node string, pod Pod, address string) {
	x.AddHolder(node, pod)
	unique(x.exporters, pod.Name, node)
	if address != "" {
		unique(x.exporters, address, node)
	}
}

// AddHolder adds a pod that runs on a node.
func (x NodeIndex) AddHolder(node string, pod Pod) { unique(x.pods, pod, node) }

// AddCard adds a card as an agent or a ResourceSlice names it. A PCI address says nothing across nodes, where cards of
// the same model sit in the same slots: it counts only for cards whose UUID is not told, as of those that a driver has
// lost.
func (x NodeIndex) AddCard(node, uuid, bus string) {
	switch {
	case uuid != "":
		unique(x.cards, uuid, node)
	case bus != "":
		unique(x.buses, busAddress(bus), node)
	}
}

// unique enters a key; one that belongs to several nodes is kept as nobody's.
func unique[K comparable](m map[K]string, key K, node string) {
	if known, there := m[key]; there && known != node {
		node = ""
	}
	m[key] = node
}

// busAddress writes a PCI address as the kernel does: NVML has a domain of eight digits, 00000000:1B:00.0 for
// 0000:1b:00.0.
func busAddress(bus string) string {
	bus = strings.ToLower(bus)
	if domain, rest, ok := strings.Cut(bus, ":"); ok && len(domain) == 8 && strings.HasPrefix(domain, "0000") {
		return domain[4:] + ":" + rest
	}
	return bus
}

// origin is what a row says of where it was scraped.
type origin struct {
	nodes    string // the values of the node labels, in the order of preference, between line ends
	instance string // host of the target's address
	targets  [4]podKey
	bus      string
}

// targetLabels are read beside the node labels of Labels: Prometheus' address of the target, the card's PCI address.
var targetLabels = []string{"instance", "pci_bus_id"}

func (l Labels) origin(row labels) origin {
	o := origin{bus: row.get("pci_bus_id"), instance: row.get("instance")}
	if host, _, err := net.SplitHostPort(o.instance); err == nil {
		o.instance = host
	}
	var names []string
	for _, label := range l.Node {
		if name := row.get(label); name != "" {
			names = append(names, name)
		}
	}
	o.nodes = strings.Join(names, "\n")
	for i := range min(len(l.Namespace), len(o.targets)) { // from the end, where the target's own pair stands
		last, from := len(o.targets)-1, len(l.Namespace)-1-i
		o.targets[last-i] = podKey{row.get(l.Namespace[from]), row.get(l.Pod[from])}
	}
	return o
}

// names are the values of the node labels.
func (o origin) names() []string {
	if o.nodes == "" {
		return nil
	}
	return strings.Split(o.nodes, "\n")
}

// nodeOf is the node of a card by one origin: its labels, the address and the pod of the exporter, and only then what
// others say of the card itself. "" where nothing leads to a node that there is.
func (x NodeIndex) nodeOf(o origin, uuid string) string {
	for _, name := range o.names() {
		if node := x.names[name]; node != "" {
			return node
		}
	}
	found := []string{x.names[o.instance], x.exporters[o.instance], x.exporters[o.targets[len(o.targets)-1].pod]}
	for _, name := range o.names() { // Hostname of an exporter that is not told its node is its pod's name
		found = append(found, x.exporters[name])
	}
	found = append(found, x.cards[uuid])
	for i := len(o.targets) - 1; i >= 0; i-- { // the last pair is that of the target, if any is
		found = append(found, x.pods[Pod{o.targets[i].namespace, o.targets[i].pod}])
	}
	found = append(found, x.buses[busAddress(o.bus)])
	if i := slices.IndexFunc(found, func(node string) bool { return node != "" }); i >= 0 {
		return found[i]
	}
	return ""
}

// believed is the node of an origin where the cluster tells nothing of its nodes: the first name that is not evidently
// an exporter's pod or a container.
func (o origin) believed() string {
	for _, name := range o.names() {
		own := slices.ContainsFunc(o.targets[:], func(p podKey) bool { return p.pod == name })
		if !own && !exporterPod(name) && !containerID(name) {
			return name
		}
	}
	return ""
}

// resolve is the node of a card by one origin, as far as it can be told.
func (x NodeIndex) resolve(o origin, uuid string) string {
	if len(x.names) == 0 {
		return o.believed()
	}
	return x.nodeOf(o, uuid)
}

// containerID: a runtime gives a container without a host name the first 12 digits of its id for one.
func containerID(name string) bool {
	return (len(name) == 12 || len(name) == 64) && strings.Trim(name, "0123456789abcdef") == "" &&
		strings.ContainsAny(name, "0123456789")
}

// sameExporter is what rows of one exporter have in common.
func (o origin) sameExporter() origin { return origin{nodes: o.nodes, instance: o.instance} }

// assignNodes says of each device on which node it is. A card that nothing else places is where the other cards of its
// exporter are. Names that are no node's place nothing.
func (s *sampleSet) assignNodes(x NodeIndex) {
	if len(x.names) == 0 {
		for _, d := range s.devices {
			d.assignNode(func(o origin) string { return o.believed() })
		}
		return
	}
	siblings := map[origin]string{}
	for _, d := range s.devices {
		for _, o := range d.origins {
			if node := x.nodeOf(o.origin, d.UUID); node != "" && o.sameExporter() != (origin{}) {
				unique(siblings, o.sameExporter(), node)
			}
		}
	}
	for _, d := range s.devices {
		d.assignNode(func(o origin) string {
			if node := x.nodeOf(o, d.UUID); node != "" {
				return node
			}
			return siblings[o.sameExporter()]
		})
	}
}

// assignNode takes the node that was heard of last, and notes whether there are several.
func (d *device) assignNode(nodeOf func(origin) string) {
	d.Node, d.duplicate = "", false
	for _, o := range slices.Backward(d.origins) {
		switch node := nodeOf(o.origin); {
		case node == "" || node == d.Node:
		case d.Node == "":
			d.Node = node
		default:
			d.duplicate = true
		}
	}
}

// NodeOf is the node of a series with the labels of DefaultLabels; "" where none of them leads to one.
func (x NodeIndex) NodeOf(series map[string]string) string {
	var row labels
	for name, value := range series {
		row = append(row, label{name, value})
	}
	l := DefaultLabels()
	return x.nodeOf(l.origin(row), row.first(l.UUID))
}

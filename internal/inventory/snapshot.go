package inventory

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Snapshot is one cluster at one moment.
type Snapshot struct {
	Cluster string    `json:"cluster"`
	TakenAt time.Time `json:"takenAt"` // when the cluster last confirmed it; old when the API server is away
	Nodes   []Node    `json:"nodes"`

	Attached []Attached `json:"attached,omitempty"` // devices that belong to no single node: reached over a network

	// ServingRuntimes are KServe's, for the whole cluster, by name; nil while nobody could list them
	ServingRuntimes *[]ServingRuntime `json:"servingRuntimes,omitempty"`
}

// ServingRuntime is a ClusterServingRuntime of KServe: a model server that InferenceServices can name.
type ServingRuntime struct {
	Name     string   `json:"name"`
	Formats  []string `json:"formats,omitempty"` // of models: "huggingface"
	Image    string   `json:"image,omitempty"`   // of the container that serves
	Disabled bool     `json:"disabled,omitempty"`
	// extended resources that it asks for itself: KServe adds them to those of an InferenceService
	Resources []string `json:"resources,omitempty"`
}

// Node is one node with the accelerators it advertises.
type Node struct {
	Name      string            `json:"name"`
	Ready     bool              `json:"ready"`
	Cordoned  bool              `json:"cordoned"`
	Model     string            `json:"model"`  // GFD's product, "NVIDIA-H100-80GB-HBM3"; "" for CPU nodes
	Labels    map[string]string `json:"labels"` // the ones that sizes select on and GFD, NFD and MIG manager write
	Taints    []Taint           `json:"taints"`
	Resources []Resource        `json:"resources"`
	// who hands out shares of the cards, where it is not the vendor's device plugin
	System   System       `json:"system,omitempty"`
	Cards    Cards        `json:"cards"`              // the physical ones
	Devices  Devices      `json:"devices,omitempty"`  // published by DRA drivers as ResourceSlices
	Counters []CounterSet `json:"counters,omitempty"` // what partitions of one card share
	CPU      Amount       `json:"cpu"`                // milli CPUs
	Memory   Amount       `json:"memory"`             // bytes
	// bytes, by resource: "hugepages-2Mi"; nil on nodes without
	HugePages        map[string]Amount `json:"hugePages,omitempty"`
	Quarantined      bool              `json:"quarantined,omitempty"`      // by an administrator, or all of its cards are
	QuarantinedCards []string          `json:"quarantinedCards,omitempty"` // UUIDs of those that are quarantined
	// host names and addresses, by which scrape targets may be called; only of nodes with accelerators
	Addresses []string   `json:"addresses,omitempty"`
	Exporters []Exporter `json:"exporters,omitempty"` // pods that export metrics of its cards
	// pods to which another scheduler gave parts of cards that none of the node's resources shows
	Outside  []Holder    `json:"outside,omitempty"`
	Warnings []i18n.Text `json:"warnings"`
}

// Exporter is a pod that exports metrics of cards: where series name only it, they are of its node.
type Exporter struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Address   string `json:"address,omitempty"`
}

// Amount is a quantity and how much of it pods have requested.
type Amount struct {
	Allocatable int64 `json:"allocatable"`
	Requested   int64 `json:"requested"`
}

// Free is what is left, never below zero.
func (a Amount) Free() int64 { return max(0, a.Allocatable-a.Requested) }

// Taint is a node taint that keeps pods away (NoSchedule, NoExecute).
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Effect string `json:"effect"`
}

// Resource is one extended resource of a node. Different resources are never added as one number.
type Resource struct {
	Name        string   `json:"name"` // "nvidia.com/mig-1g.10gb"
	Capacity    int64    `json:"capacity"`
	Allocatable int64    `json:"allocatable"`
	Holders     []Holder `json:"holders"`
	NotForPods  bool     `json:"notForPods,omitempty"`  // a device for virtual machines (KubeVirt): shown, never offered
	Quarantined int64    `json:"quarantined,omitempty"` // how many lie on quarantined cards
	// of a former MIG layout: the kubelet still counts it, nothing of it exists
	LeftOver bool `json:"leftOver,omitempty"`
	// allocatable, but not to be given out: the card behind it is offered in another cut as well, or another scheduler
	// hands out the node's cards
	Withheld int64 `json:"withheld,omitempty"`
}

// Present is how many there are, given out or not.
func (r Resource) Present() int64 {
	if r.LeftOver {
		return 0
	}
	return r.Capacity
}

// there is Present, or more where a plugin has just registered more.
func (r Resource) there() int64 { return max(r.Present(), r.Allocatable) }

// Usable is how many there are to give out. A device plugin may have taken a bad card away itself: it is not counted
// twice.
func (r Resource) Usable() int64 {
	return max(0, min(r.Allocatable-r.Withheld, r.there()-r.Quarantined))
}

// Free is how many could be given out now; 0 when holders exceed what is usable.
func (r Resource) Free() int64 {
	free := r.Usable()
	for _, h := range r.Holders {
		free -= h.Count
	}
	return max(0, free)
}

// Device is one device that a DRA driver published for a node: a whole card or a partition of one.
type Device struct {
	Driver     string               `json:"driver"` // "gpu.nvidia.com"
	Pool       string               `json:"pool"`
	Name       string               `json:"name"`
	Attributes map[string]Attribute `json:"attributes,omitempty"` // by qualified name: "gpu.nvidia.com/productName"
	Capacity   map[string]string    `json:"capacity,omitempty"`   // by qualified name, Kubernetes quantities
	Consumes   []Consumption        `json:"consumes,omitempty"`
	Tainted    bool                 `json:"tainted,omitempty"`  // with NoSchedule or NoExecute
	Multiple   bool                 `json:"multiple,omitempty"` // several claims may take parts of its capacity
	// allocated, but not published any more: nothing is known of it but its name
	Gone    bool     `json:"gone,omitempty"`
	Holders []Holder `json:"holders,omitempty"` // the pods whose claims it is allocated to; Count is 1
	// namespace/name of the claim it is allocated to; of several the first
	Claim string `json:"claim,omitempty"`
	// of a device for several claims: what they take of its capacity
	Consumed map[string]string `json:"consumed,omitempty"`
}

// Held reports whether a claim has it, with or without a pod that uses the claim already.
func (d Device) Held() bool { return d.Claim != "" }

// Attached are devices of one pool that several nodes reach alike: a remote pool of GPUs, a fabric. They are no node's
// own and are counted once.
type Attached struct {
	Driver   string       `json:"driver"`
	Pool     string       `json:"pool"`
	AllNodes bool         `json:"allNodes,omitempty"`
	Nodes    []string     `json:"nodes,omitempty"` // that reach them, when not all do
	Devices  Devices      `json:"devices,omitempty"`
	Counters []CounterSet `json:"counters,omitempty"`
	Warnings []i18n.Text  `json:"warnings,omitempty"`
}

// Attribute is one typed value; exactly one field is set.
type Attribute struct {
	String  *string `json:"string,omitempty"`
	Int     *int64  `json:"int,omitempty"`
	Bool    *bool   `json:"bool,omitempty"`
	Version *string `json:"version,omitempty"`
}

// CounterSet is a budget that the partitions of one card share (KEP-4815): memory slices, engines.
type CounterSet struct {
	Driver   string            `json:"driver,omitempty"`
	Pool     string            `json:"pool"` // two drivers may give their pools the same name, as a rule the node's
	Name     string            `json:"name"`
	Counters map[string]string `json:"counters"` // quantities
}

// Consumption is what a device takes from a counter set while it is allocated.
type Consumption struct {
	Set      string            `json:"set"`
	Counters map[string]string `json:"counters"`
}

// Holder is a pod that holds some of a resource.
type Holder struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Workload  string `json:"workload"` // the portal's workload id, "" for a foreign pod
	Count     int64  `json:"count"`
}

// Cards are the physical cards of a node, as far as they can be told.
type Cards struct {
	Count int64          `json:"count"` // means nothing unless Known
	Known bool           `json:"known"`
	Each  []PhysicalCard `json:"each,omitempty"` // reported by the node agent; empty while none reports
}

// PhysicalCard is one card as the node agent sees it.
type PhysicalCard struct {
	Index int    `json:"index"`
	UUID  string `json:"uuid"`
	Model string `json:"model"`
	Bus   string `json:"bus,omitempty"`  // PCI address, "0000:1b:00.0"; "" where it is not told
	Lost  bool   `json:"lost,omitempty"` // fell off the bus, or cannot be used before a reset
	// memory slices of a card that can be cut; 0: it cannot be, is not, or this is not known
	Axis   int         `json:"axis,omitempty"`
	Slices []Placement `json:"slices,omitempty"` // by start
	Fits   []Fitting   `json:"fits,omitempty"`   // profiles that still fit beside the slices
	Errors *CardErrors `json:"errors,omitempty"` // nil: its agent does not say
}

// CardErrors are what a card's driver has counted since it was loaded; what it does not tell is nil.
type CardErrors struct {
	Corrected   *uint64   `json:"corrected,omitempty"`   // of its memories
	Uncorrected *uint64   `json:"uncorrected,omitempty"` // likewise
	NVLink      *uint64   `json:"nvlink,omitempty"`      // on all its links
	RowsPending bool      `json:"rowsPending,omitempty"` // bad memory is replaced with the next reset
	RowsFailed  bool      `json:"rowsFailed,omitempty"`  // none is left to replace it with
	XIDs        []CardXID `json:"xids,omitempty"`        // since the agent began to listen
}

// CardXID is one kind of fault that the driver has reported.
type CardXID struct {
	Code  int       `json:"code"`
	Count int       `json:"count"`
	Last  time.Time `json:"last"`
}

// Fitting is a profile of which one more could be made, and where it could begin.
type Fitting struct {
	Profile string `json:"profile"`
	Size    int    `json:"size"` // memory slices
	Starts  []int  `json:"starts"`
}

// Placement is one MIG slice in its place on a card, in memory slices.
type Placement struct {
	UUID    string `json:"uuid"`
	Profile string `json:"profile"`
	Start   int    `json:"start"`
	Size    int    `json:"size"`
}

// System hands out shares of cards in place of the vendor's device plugin.
type System string

// HAMi shows on the node itself. Other systems show by the names of their resources.
const HAMi System = "hami"

// Fit is what a size could get now.
type Fit struct {
	Total int  `json:"total"` // how many of the size exist on usable nodes
	Free  int  `json:"free"`  // how many could start now
	Known bool `json:"known"` // false while no snapshot exists: then the numbers mean nothing
}

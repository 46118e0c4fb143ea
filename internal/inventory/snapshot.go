// Package inventory says what a cluster has: nodes, GPUs and slices, who holds them, what is free and what is odd. Build turns nodes and pods into
// one Snapshot value; the controller stores it, everyone else reads it with its age.
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
	Devices   []Device          `json:"devices,omitempty"`  // published by DRA drivers as ResourceSlices
	Counters  []CounterSet      `json:"counters,omitempty"` // what partitions of one card share
	CPU       Amount            `json:"cpu"`                // milli CPUs
	Memory    Amount            `json:"memory"`             // bytes
	Odd       []i18n.Text       `json:"odd"`
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
}

// Free is how many could be given out now; 0 when holders exceed what is allocatable.
func (r Resource) Free() int64 {
	free := r.Allocatable
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
	Tainted    bool                 `json:"tainted,omitempty"` // with NoSchedule or NoExecute
	Holders    []Holder             `json:"holders,omitempty"` // the pods whose claim it is allocated to; Count is 1
	Claim      string               `json:"claim,omitempty"`   // namespace/name of the claim it is allocated to
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
	Pool     string            `json:"pool"`
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

// Fit is what a size could get now.
type Fit struct {
	Total int  `json:"total"` // how many of the size exist on usable nodes
	Free  int  `json:"free"`  // how many could start now
	Known bool `json:"known"` // false while no snapshot exists: then the numbers mean nothing
}

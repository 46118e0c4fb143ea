package agent

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// Schema names the shape of a report. Fields are added under the same name; whatever would break a reader gets a new
// one.
const Schema = "gpu-portal.agent/v1"

// Ready is the Driver's state while a session is open; any other state is a Reason.
const Ready = "ready"

// Report is what one node's GPUs looked like in one round. It is not changed any more once it was made.
type Report struct {
	Schema          string       `json:"schema"`
	Node            string       `json:"node"`
	AgentVersion    string       `json:"agent_version"`
	TakenAt         time.Time    `json:"taken_at"`
	IntervalSeconds float64      `json:"interval_seconds"` // how often a new report is taken
	Driver          Driver       `json:"driver"`
	GPUs            Value[[]GPU] `json:"gpus"`
}

// Driver is the kernel driver and NVML's library on the node.
type Driver struct {
	State        string        `json:"state"` // "ready" or a Reason
	Version      Value[string] `json:"version"`
	NVML         Value[string] `json:"nvml_version"`
	CUDA         Value[string] `json:"cuda_version"`  // highest that the driver supports, as 12.4
	MissingCalls []string      `json:"missing_calls"` // functions that the agent uses and this library lacks
	Sessions     int           `json:"sessions"`      // opened since the agent began
}

// GPU is one physical card, or what a guest sees as one.
type GPU struct {
	Index             int              `json:"index"` // NVML's; not stable over reboots
	UUID              Value[string]    `json:"uuid"`
	Lost              bool             `json:"lost"` // fell off the bus, or cannot be used before a reset
	Name              Value[string]    `json:"name"`
	Serial            Value[string]    `json:"serial"`
	Brand             Value[string]    `json:"brand"`
	Architecture      Value[string]    `json:"architecture"`
	ComputeCapability Value[string]    `json:"compute_capability"`
	Minor             Value[int]       `json:"minor"` // of /dev/nvidia<minor>
	PCI               PCI              `json:"pci"`
	Memory            Memory           `json:"memory"`
	MIG               MIG              `json:"mig"`
	Processes         Value[[]Process] `json:"processes"`
	ECC               ECC              `json:"ecc"`
	RowRemap          RowRemap         `json:"row_remap"`
	RetiredPages      RetiredPages     `json:"retired_pages"`
	NVLinks           Value[[]NVLink]  `json:"nvlinks"`
	XIDs              Value[XIDs]      `json:"xids"`
	Virtualization    Value[string]    `json:"virtualization"` // none, passthrough, vgpu_guest, vgpu_host, vsga_host
	VGPUHost          VGPUHost         `json:"vgpu_host"`
	License           License          `json:"license"`
}

// PCI is where a card sits on its node's bus.
type PCI struct {
	BusID    Value[string] `json:"bus_id"`    // 00000000:17:00.0
	DeviceID Value[string] `json:"device_id"` // 0x<device><vendor>
}

// Memory is in bytes. With MIG enabled NVML gives the sum of a card to a privileged reader only.
type Memory struct {
	Total    Value[uint64] `json:"total_bytes"`
	Used     Value[uint64] `json:"used_bytes"`
	Free     Value[uint64] `json:"free_bytes"`
	Reserved Value[uint64] `json:"reserved_bytes"` // the driver's own, part of neither used nor free
}

// MIG is how a card is cut.
type MIG struct {
	Enabled   Value[bool]          `json:"enabled"`
	Pending   Value[bool]          `json:"pending"` // the mode after the next reset
	Profiles  Value[[]Profile]     `json:"profiles"`
	Instances Value[[]GPUInstance] `json:"instances"`
	Devices   Value[[]MIGDevice]   `json:"devices"`
}

// Placement is where an instance lies on the card's axis of memory slices: from Start, Size of them.
type Placement struct {
	Start int `json:"start"`
	Size  int `json:"size"`
}

// Overlaps says whether two instances could not exist together.
func (p Placement) Overlaps(o Placement) bool {
	return p.Start < o.Start+o.Size && o.Start < p.Start+p.Size
}

// Profile is a kind of GPU instance that this card can be cut into.
type Profile struct {
	ID              int                `json:"id"`   // as nvidia-smi prints it
	Name            Value[string]      `json:"name"` // 1g.10gb
	Slices          int                `json:"slices"`
	MaxInstances    int                `json:"max_instances"`
	Multiprocessors int                `json:"multiprocessors"`
	MemoryMiB       uint64             `json:"memory_mib"`
	CopyEngines     int                `json:"copy_engines"`
	Decoders        int                `json:"decoders"`
	Encoders        int                `json:"encoders"`
	JPEG            int                `json:"jpeg_engines"`
	OFA             int                `json:"ofa_engines"`
	Placements      Value[[]Placement] `json:"placements"` // all that exist
	// those where one more would fit beside the instances that are there; none while MIG is off
	Free      Value[[]Placement] `json:"free"`
	Remaining Value[int]         `json:"remaining"` // how many more the driver would make
}

// GPUInstance is a part of a card with its own memory and engines.
type GPUInstance struct {
	ID        int           `json:"id"`
	ProfileID int           `json:"profile_id"`
	Profile   Value[string] `json:"profile"`
	Placement Placement     `json:"placement"`
}

// MIGDevice is a pair of GPU instance and compute instance: what a container is given.
type MIGDevice struct {
	UUID            Value[string] `json:"uuid"`
	Name            Value[string] `json:"name"`
	GPUInstance     Value[int]    `json:"gpu_instance_id"`
	ComputeInstance Value[int]    `json:"compute_instance_id"`
	Slices          Value[int]    `json:"slices"`         // of the GPU instance
	ComputeSlices   Value[int]    `json:"compute_slices"` // fewer than Slices: it shares the memory with others
	Multiprocessors Value[int]    `json:"multiprocessors"`
	Memory          Memory        `json:"memory"`
}

// Process holds GPU memory. Its name and command line are not read.
type Process struct {
	PID             int              `json:"pid"`  // on the host
	Kind            string           `json:"kind"` // compute, graphics, mps
	UsedBytes       Value[uint64]    `json:"used_bytes"`
	GPUInstance     Value[int]       `json:"gpu_instance_id"`
	ComputeInstance Value[int]       `json:"compute_instance_id"`
	Container       Value[Container] `json:"container"`
}

// Container is found from a process's control group.
type Container struct {
	ID     string        `json:"id"`      // of the container runtime, 64 hexadecimal digits
	PodUID Value[string] `json:"pod_uid"` // metadata.uid of the pod; for static pods the hash that the kubelet made
}

// ECC counts errors of the card's memories since the driver was loaded (Volatile) and over the card's life (Aggregate).
type ECC struct {
	Enabled              Value[bool]   `json:"enabled"`
	Pending              Value[bool]   `json:"pending"`
	VolatileCorrected    Value[uint64] `json:"volatile_corrected"`
	VolatileUncorrected  Value[uint64] `json:"volatile_uncorrected"`
	AggregateCorrected   Value[uint64] `json:"aggregate_corrected"`
	AggregateUncorrected Value[uint64] `json:"aggregate_uncorrected"`
}

// RowRemap is how Ampere and newer replace bad memory. The driver does not tell it while MIG instances exist.
type RowRemap struct {
	Corrected   Value[int]  `json:"corrected_rows"`
	Uncorrected Value[int]  `json:"uncorrected_rows"`
	Pending     Value[bool] `json:"pending"` // takes effect with the next reset
	Failed      Value[bool] `json:"failed"`  // no spare row was left: replace the card
}

// RetiredPages is how cards before Ampere replace bad memory.
type RetiredPages struct {
	SingleBit Value[int]  `json:"single_bit"`
	DoubleBit Value[int]  `json:"double_bit"`
	Pending   Value[bool] `json:"pending"`
}

// NVLink is one link of a card, with its errors since the driver was loaded.
type NVLink struct {
	Link      int           `json:"link"`
	Up        bool          `json:"up"`
	Version   Value[int]    `json:"version"`
	Remote    Value[string] `json:"remote"` // gpu, switch, ibmnpu
	RemoteBus Value[string] `json:"remote_bus_id"`
	CRCFlit   Value[uint64] `json:"crc_flit_errors"`
	CRCData   Value[uint64] `json:"crc_data_errors"`
	Replay    Value[uint64] `json:"replay_errors"`
	Recovery  Value[uint64] `json:"recovery_errors"`
}

// XIDs are the driver's fault reports since the agent began to listen. What happened before is not known.
type XIDs struct {
	Since  time.Time  `json:"since"`
	Gaps   int        `json:"gaps"`   // times it could not listen in between
	Counts []XIDCount `json:"counts"` // by number
}

// XIDCount is how often one XID came, and when last.
type XIDCount struct {
	XID   uint64    `json:"xid"`
	Count int       `json:"count"`
	Last  time.Time `json:"last"`
}

// VGPUHost is what a hypervisor's driver says of a card that it shares out.
type VGPUHost struct {
	SRIOV         Value[bool]           `json:"sriov"`
	Heterogeneous Value[bool]           `json:"heterogeneous"` // sizes may be mixed
	Scheduler     Value[string]         `json:"scheduler"`     // best_effort, equal_share, fixed_share
	Supported     Value[[]VGPUType]     `json:"supported_types"`
	Creatable     Value[[]string]       `json:"creatable_types"` // names of what fits beside the active ones
	Active        Value[[]VGPUInstance] `json:"active"`
}

// VGPUType is a vGPU type that the card supports: nvmlVgpuTypeId_t.
type VGPUType struct {
	Name             Value[string] `json:"name"`
	Class            Value[string] `json:"class"`
	License          Value[string] `json:"license"`
	FramebufferBytes Value[uint64] `json:"framebuffer_bytes"`
	MaxInstances     Value[int]    `json:"max_instances"`
}

// VGPUInstance is a vGPU that a virtual machine has now: nvmlVgpuInstance_t.
type VGPUInstance struct {
	UUID         Value[string]    `json:"uuid"`
	VM           Value[string]    `json:"vm_id"`
	Type         Value[string]    `json:"type"`
	UsedBytes    Value[uint64]    `json:"used_bytes"`
	GuestDriver  Value[string]    `json:"guest_driver_version"`
	GPUInstance  Value[int]       `json:"gpu_instance_id"`
	Licensed     Value[bool]      `json:"licensed"`
	LicenseState Value[string]    `json:"license_state"`
	LicenseUntil Value[time.Time] `json:"license_expiry"`
}

// License is what a guest, or a card with workstation features, may be licensed for. On bare metal and in passthrough
// Supported is usually false: no license is missing there.
type License struct {
	Supported Value[bool]             `json:"supported"`
	Features  Value[[]LicenseFeature] `json:"features"`
}

// LicenseFeature is one licensable feature: nvmlGridLicensableFeature_t.
type LicenseFeature struct {
	Feature  string           `json:"feature"` // vgpu, rtx, gaming, compute
	Product  string           `json:"product"`
	Enabled  bool             `json:"enabled"`
	Licensed bool             `json:"licensed"`
	Expiry   Value[time.Time] `json:"expiry"`
	// ExpiryStatus is not_available, invalid, valid, not_applicable or permanent; Expiry is known for valid only.
	ExpiryStatus string `json:"expiry_status"`
}

// MaxReport bounds what is read of a report, in bytes: eight cards in seven slices with hundreds of processes stay
// below a tenth of it.
const MaxReport = 8 << 20

// Parse reads a report that an agent of this or a newer version of the same schema wrote. What it does not know it
// passes over; what is missing is unknown. It fails on another schema, on more than MaxReport bytes and on what is no
// report.
func Parse(r io.Reader) (Report, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxReport+1))
	if err != nil {
		return Report{}, fmt.Errorf("read report: %w", err)
	}
	if len(data) > MaxReport {
		return Report{}, fmt.Errorf("read report: more than %d bytes", MaxReport)
	}
	var report Report
	if err := json.Unmarshal(data, &report); err != nil {
		return Report{}, fmt.Errorf("read report: %w", err)
	}
	if report.Schema != Schema {
		return Report{}, fmt.Errorf("read report: schema %q, want %q",
			strings.ToValidUTF8(report.Schema[:min(len(report.Schema), 64)], ""), Schema)
	}
	return report, nil
}

// free are the placements of a profile at which one more instance would fit. Instances of the same profile count
// against its maximum.
func free(p Profile, instances []GPUInstance) Value[[]Placement] {
	placements, ok := p.Placements.Get()
	if !ok {
		return Unknown[[]Placement](NotComputed)
	}
	same := 0
	for _, i := range instances {
		if i.ProfileID == p.ID {
			same++
		}
	}
	if same >= p.MaxInstances {
		return KnownList[Placement](nil)
	}
	var fits []Placement
	for _, at := range placements {
		if !taken(at, instances) {
			fits = append(fits, at)
		}
	}
	return KnownList(fits)
}

func taken(at Placement, instances []GPUInstance) bool {
	for _, i := range instances {
		if at.Overlaps(i.Placement) {
			return true
		}
	}
	return false
}

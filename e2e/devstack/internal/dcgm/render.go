// Package dcgm writes readings in the text format of NVIDIA/dcgm-exporter: which rows there are for a whole GPU, a MIG
// instance, a GPU shared in time and a vGPU, with which labels and in which order. Pure.
//
// Sources: dcgm-exporter 4.5.3-4.8.2 and the commits after it (internal/pkg/rendermetrics, transformation), NVIDIA/DCGM
// v4.6.0 (dcgm_fields.cpp says which field exists for which kind of entity).
package dcgm

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Entity is what has rows of its own: a GPU, or an instance of a GPU in MIG mode.
type Entity struct {
	GPU        int
	UUID       string // of the physical GPU, for an instance too
	Bus, Model string
	Profile    string // "" for a whole GPU
	InstanceID int
	Guest      bool
	Sharing    string // "", time-slicing or mps
	Shares     []Share

	Busy                            float64 // 0 to 1
	MemoryMiB, UsedMiB, ReservedMiB float64
	XID                             int
	Licensed                        float64
	Board                           Board
}

// Board are readings that only the card as a whole has; its instances repeat them.
type Board struct {
	SMClock, MemClock, Temp, MemTemp, Watts, Millijoules, NVLink, PCIeTX, PCIeRX float64
}

// Share is a container on the entity, with its own part of the readings.
type Share struct {
	Namespace, Pod, UID, Container string
	Replica                        int
	Busy, UsedMiB                  float64
	More                           map[string]string // dra_* labels
}

// Render writes all rows of a node.
func Render(w io.Writer, host, driver string, entities []Entity) error {
	for _, f := range fields {
		var rows []string
		for _, e := range entities {
			rows = append(rows, f.rows(host, driver, e)...)
		}
		if len(rows) == 0 {
			continue
		}
		kind := "gauge"
		if f.counter {
			kind = "counter"
		}
		_, err := fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n%s\n", f.name, f.help, f.name, kind, strings.Join(rows, "\n"))
		if err != nil {
			return err
		}
	}
	return nil
}

// rows of one field for one entity. An entity that nobody holds has one row without pod labels. A shared one repeats
// the value of the device for every pod with the number of its replica; fields that the driver knows per process have a
// row for the device and, but for MPS (whose processes all belong to the MPS server), one per pod.
func (f field) rows(host, driver string, e Entity) []string {
	if e.Guest && !f.guest || e.Profile != "" && f.noMIG {
		return nil
	}
	whole := Share{Busy: e.Busy, UsedMiB: e.UsedMiB}
	if len(e.Shares) == 0 {
		return []string{f.row(host, driver, e, whole, nil)}
	}
	if e.Sharing == "" {
		s := e.Shares[0]
		s.Busy, s.UsedMiB = e.Busy, e.UsedMiB
		return []string{f.row(host, driver, e, s, podLabels(s))}
	}
	var rows []string
	own := f.perProcess && (e.Profile == "" || f.name == "DCGM_FI_DEV_FB_USED")
	if own {
		rows = append(rows, f.row(host, driver, e, whole, nil))
		if e.Sharing == "mps" {
			return rows
		}
	}
	for _, s := range e.Shares {
		labels := podLabels(s)
		labels["vgpu"] = fmt.Sprint(s.Replica)
		if own {
			labels["pod_uid"] = s.UID
		}
		rows = append(rows, f.row(host, driver, e, s, labels))
	}
	return rows
}

func podLabels(s Share) map[string]string {
	labels := map[string]string{"namespace": s.Namespace, "pod": s.Pod, "container": s.Container}
	for k, v := range s.More {
		labels[k] = v
	}
	return labels
}

// row: the fixed labels in the exporter's order, then those of the pod sorted by name.
func (f field) row(host, driver string, e Entity, s Share, labels map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s{gpu=\"%d\",UUID=%q,pci_bus_id=%q,device=\"nvidia%d\",modelName=%q", f.name, e.GPU, e.UUID, e.Bus,
		e.GPU, e.Model)
	if e.Profile != "" {
		fmt.Fprintf(&b, ",GPU_I_PROFILE=%q,GPU_I_ID=\"%d\"", e.Profile, e.InstanceID)
	}
	fmt.Fprintf(&b, ",hostname=%q,DCGM_FI_DRIVER_VERSION=%q", host, driver)
	if f.name == "DCGM_FI_DEV_XID_ERRORS" {
		labels = withXID(labels, e.XID)
	}
	for _, k := range sorted(labels) {
		fmt.Fprintf(&b, ",%s=%q", k, labels[k])
	}
	value := f.value(e, s)
	if f.float {
		fmt.Fprintf(&b, "} %f", value)
	} else {
		fmt.Fprintf(&b, "} %d", int64(value))
	}
	return b.String()
}

// xidTexts are the exporter's words for the codes that the control API is likely to set.
var xidTexts = map[int]string{
	0: "No Error", 13: "Graphics Engine Exception", 31: "GPU memory page fault", 43: "GPU stopped processing",
	48: "Double Bit ECC Error", 63: "Row remapping recording event", 64: "Row remapper recording failure",
	74: "NVLINK Error", 79: "GPU has fallen off the bus", 94: "Contained memory error", 95: "Uncontained memory error",
}

func withXID(labels map[string]string, xid int) map[string]string {
	all := map[string]string{"err_code": fmt.Sprint(xid), "err_msg": xidTexts[xid]}
	for k, v := range labels {
		all[k] = v
	}
	return all
}

func sorted(labels map[string]string) []string {
	var keys []string
	for k := range labels {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

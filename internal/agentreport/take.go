package agentreport

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/agent"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
)

// Why a report is not taken.
var (
	ErrForeign = errors.New("the report is of another node")
	ErrOld     = errors.New("the report is too old")
	ErrAhead   = errors.New("the report is from the future")
	ErrMany    = errors.New("the report has more cards than a node")
)

const mostGPUs = 64

// take believes a report as far as the pod that gave it can know. An agent without a driver is well and knows nothing.
func take(cluster string, p Pod, r agent.Report, now time.Time) (node, error) {
	switch age := now.Sub(r.TakenAt); {
	case r.Node != p.Node:
		return node{}, fmt.Errorf("%w: %.64q", ErrForeign, r.Node)
	case age > Stale:
		return node{}, ErrOld
	case age < -ahead:
		return node{}, ErrAhead
	}
	n := node{at: earlier(r.TakenAt, now)}
	gpus, known := r.GPUs.Get()
	if !known || r.Driver.State != agent.Ready {
		return n, nil
	}
	if len(gpus) > mostGPUs {
		return node{}, ErrMany
	}
	for _, g := range gpus {
		n.cards = append(n.cards, card(g))
		for _, d := range devices(g) {
			d.Cluster, d.Node, d.SeenAt = cluster, p.Node, n.at
			n.devices = append(n.devices, d)
		}
	}
	return n, nil
}

// earlier keeps a clock that is a little ahead from looking fresh for longer than others.
func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// card is a card with its cut where all of it is known: with one instance missing, its place would look free.
func card(g agent.GPU) inventory.PhysicalCard {
	c := inventory.PhysicalCard{Index: g.Index, UUID: g.UUID.Or(""), Model: g.Name.Or(""), Lost: g.Lost,
		Bus: g.PCI.BusID.Or(""), Errors: errorsOf(g)}
	instances, known := g.MIG.Instances.Get()
	profiles, listed := g.MIG.Profiles.Get()
	if !known || !listed || !g.MIG.Enabled.Or(false) {
		return c
	}
	for _, p := range profiles {
		for _, at := range p.Placements.Or(nil) {
			c.Axis = max(c.Axis, at.Start+at.Size)
		}
		c.Fits = append(c.Fits, fitting(p)...)
	}
	for _, i := range instances {
		c.Slices = append(c.Slices, inventory.Placement{UUID: deviceOf(g, i.ID), Profile: i.Profile.Or(""),
			Start: i.Placement.Start, Size: i.Placement.Size})
	}
	return c
}

// errorsOf is nil where the driver tells of none.
func errorsOf(g agent.GPU) *inventory.CardErrors {
	e := inventory.CardErrors{RowsPending: g.RowRemap.Pending.Or(false) || g.RetiredPages.Pending.Or(false),
		RowsFailed: g.RowRemap.Failed.Or(false)}
	_, told := g.RowRemap.Failed.Get()
	if n, known := g.ECC.VolatileCorrected.Get(); known {
		e.Corrected, told = &n, true
	}
	if n, known := g.ECC.VolatileUncorrected.Get(); known {
		e.Uncorrected, told = &n, true
	}
	if links, known := g.NVLinks.Get(); known && len(links) > 0 {
		var sum uint64
		for _, l := range links {
			sum += l.CRCFlit.Or(0) + l.CRCData.Or(0) + l.Replay.Or(0) + l.Recovery.Or(0)
		}
		e.NVLink, told = &sum, true
	}
	if x, known := g.XIDs.Get(); known {
		told = true
		for _, c := range x.Counts {
			if c.Count > 0 && c.XID > 0 && c.XID < 10_000 {
				e.XIDs = append(e.XIDs, inventory.CardXID{Code: int(c.XID), Count: c.Count, Last: c.Last.UTC()})
			}
		}
	}
	if !told {
		return nil
	}
	return &e
}

// fitting is where one more of a profile would fit; nothing where it would not or this is not known. All placements of
// a profile are of one size.
func fitting(p agent.Profile) []inventory.Fitting {
	free := p.Free.Or(nil)
	if name, known := p.Name.Get(); known && len(free) > 0 && p.Remaining.Or(1) > 0 {
		f := inventory.Fitting{Profile: name, Size: free[0].Size}
		for _, at := range free {
			f.Starts = append(f.Starts, at.Start)
		}
		slices.Sort(f.Starts)
		return []inventory.Fitting{f}
	}
	return nil
}

// deviceOf is the UUID by which containers get an instance; "" where it has no compute instance yet, or several.
func deviceOf(g agent.GPU, instance int) string {
	found := ""
	for _, d := range g.MIG.Devices.Or(nil) {
		if id, known := d.GPUInstance.Get(); known && id == instance {
			if found != "" {
				return ""
			}
			found = d.UUID.Or("")
		}
	}
	return found
}

// states are NVML's words for the license of a vGPU as its host sees it (nvml.h: NVML_GRID_LICENSE_STATE_*). One that
// has not begun to ask is unknown.
var states = map[string]license.State{
	"licensed": license.Licensed, "unlicensed": license.Unlicensed, "unlicensed_unrestricted": license.Unrestricted,
	"unlicensed_restricted": license.Restricted,
}

// devices are the vGPUs of a card: in a guest the card itself, on a host those that it shares out. A card that needs no
// license is none.
func devices(g agent.GPU) []license.Device {
	index := strconv.Itoa(g.Index)
	var list []license.Device
	for _, v := range g.VGPUHost.Active.Or(nil) {
		if uuid := v.UUID.Or(""); uuid != "" && len(list) < maxVGPUs {
			list = append(list, license.Device{UUID: short(uuid), Index: index, Model: short(v.Type.Or("")), State: hosted(v),
				Expires: v.LicenseUntil.Or(time.Time{})})
		}
	}
	if d, ok := guest(g); ok {
		d.Index = index
		list = append(list, d)
	}
	return list
}

// maxVGPUs of one card; NVIDIA's smallest types are 32 to a card.
const maxVGPUs = 64

func hosted(v agent.VGPUInstance) license.State {
	if state, told := states[v.LicenseState.Or("")]; told {
		return state
	}
	if licensed, known := v.Licensed.Get(); known && licensed {
		return license.Licensed
	}
	return license.StateUnknown
}

// guest is what a virtual machine says of its own vGPU: licensed when any feature that is switched on is.
func guest(g agent.GPU) (license.Device, bool) {
	uuid := g.UUID.Or("")
	if g.Virtualization.Or("") != "vgpu_guest" || !g.License.Supported.Or(false) || uuid == "" {
		return license.Device{}, false
	}
	d := license.Device{UUID: short(uuid), Model: short(g.Name.Or("")), State: license.StateUnknown}
	for _, f := range g.License.Features.Or(nil) {
		switch {
		case !f.Enabled:
		case f.Licensed:
			d.State, d.Expires = license.Licensed, f.Expiry.Or(time.Time{})
			return d, true
		default:
			d.State = license.Unlicensed
		}
	}
	return d, d.State != license.StateUnknown
}

// short bounds a text that ends in a database and on a page.
func short(text string) string { return inventory.Short(text) }

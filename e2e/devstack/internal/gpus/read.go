package gpus

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/dcgm"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
)

// read turns holdings into readings: first what each container does on its device, then what that makes of the card. A
// card in MIG mode without instances has no rows.
func (h *Hardware) read(node string, licensed bool, kind nodes.Kind, layout nodes.Layout, all []holding,
	pods map[string]*corev1.Pod, now time.Time) []dcgm.Entity {
	var entities []dcgm.Entity
	for gpu := range kind.GPUs {
		base := dcgm.Entity{
			GPU: gpu, UUID: nodes.GPUUUID(node, gpu), Bus: nodes.BusID(gpu), Model: kind.Model.Name,
			Guest: kind.VGPU, Sharing: kind.Sharing,
		}
		base.XID = h.xids[base.UUID]
		if kind.VGPU && licensed {
			base.Licensed = 1
		}
		if gpu >= len(layout) || layout[gpu] == nil {
			e := base
			e.MemoryMiB = float64(kind.Model.MemoryMiB)
			if !kind.VGPU {
				e.ReservedMiB = float64(int(e.MemoryMiB * 0.0075)) // a guess near what an H100 shows
			}
			h.fill(&e, nil, all, pods, now)
			e.Board = h.board(kind.Model, e.UUID, e.Busy, now)
			entities = append(entities, e)
			continue
		}
		entities = append(entities, h.instances(base, kind, layout[gpu], all, pods, now)...)
	}
	return entities
}

func (h *Hardware) instances(base dcgm.Entity, kind nodes.Kind, instances []nodes.Instance, all []holding,
	pods map[string]*corev1.Pod, now time.Time) []dcgm.Entity {
	var entities []dcgm.Entity
	busy := 0.0
	for _, in := range instances {
		p, _ := kind.Model.Profile(in.Profile)
		e := base
		e.Profile, e.InstanceID, e.MemoryMiB = in.Profile, nodes.InstanceID(p.Size, in.Start), float64(p.MemoryMiB)
		h.fill(&e, &in, all, pods, now)
		busy += e.Busy * float64(p.Slices) / 7
		entities = append(entities, e)
	}
	board := h.board(kind.Model, base.UUID, clamp(busy), now)
	for i := range entities {
		entities[i].Board = board
	}
	return entities
}

// fill adds up what the containers on an entity do.
func (h *Hardware) fill(e *dcgm.Entity, instance *nodes.Instance, all []holding, pods map[string]*corev1.Pod,
	now time.Time) {
	var mine []holding
	for _, x := range all {
		if x.on(e.GPU, instance) {
			mine = append(mine, x)
		}
	}
	for _, x := range mine {
		pod := pods[x.holder.UID]
		if pod == nil {
			continue
		}
		part := 1.0
		if e.Sharing != "" {
			part = 1 / float64(len(mine))
		}
		s := dcgm.Share{
			Namespace: x.holder.Namespace, Pod: x.holder.Pod, UID: x.holder.UID, Container: x.holder.Container,
			Replica: x.replica,
			Busy:    h.Loads.Of(pod, now) * part,
			UsedMiB: float64(int(h.Memory.memoryOf(pod, now) * (e.MemoryMiB - e.ReservedMiB) * part)), More: x.more,
		}
		e.Busy = clamp(e.Busy + s.Busy)
		e.UsedMiB += s.UsedMiB
		e.Shares = append(e.Shares, s)
	}
	if len(mine) > 0 {
		e.UsedMiB += 6 // the driver's own part, so that the sum over processes is a little less than the whole
	}
}

// board makes the readings of the card. Its counters grow with what it did since the last look.
func (h *Hardware) board(m *nodes.Model, uuid string, busy float64, now time.Time) dcgm.Board {
	seed := seedOf(uuid)
	noise := chance(seed, float64(now.UnixMilli()/1000)) - 0.5
	b := dcgm.Board{
		SMClock: 345, MemClock: float64(m.MemClock), Watts: m.IdleWatts + (m.MaxWatts-m.IdleWatts)*busy + 2*noise,
		Temp: 29 + 4*chance(seed, 5) + 38*busy + noise, PCIeTX: 2e4 + 3e8*busy, PCIeRX: 3e4 + 2e9*busy,
	}
	if busy > 0.01 {
		b.SMClock = float64(m.SMClock) - float64(int(60*busy))
	}
	b.MemTemp = b.Temp + 5
	c := h.meters[uuid]
	if c == nil {
		// As if the card had idled since a day long past: the counter does not begin at nought.
		c = &meter{at: now, millijoules: m.IdleWatts * 1000 * float64(now.Unix()%(90*86400))}
		h.meters[uuid] = c
	}
	if passed := now.Sub(c.at); passed > 0 {
		c.millijoules += b.Watts * float64(passed.Milliseconds())
		if m.NVLink {
			c.nvlink += 4e5 * busy * passed.Seconds()
		}
		c.at = now
	}
	b.Millijoules, b.NVLink = c.millijoules, c.nvlink
	return b
}

package agent

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics turns the last report into samples when it is scraped; doc.go lists them. Nothing is kept between scrapes, so
// a card, instance or container that is gone leaves no series behind.
type metrics struct{ loop *Loop }

// Describe sends nothing: which series there are depends on the report.
func (m *metrics) Describe(chan<- *prometheus.Desc) {}

func (m *metrics) Collect(out chan<- prometheus.Metric) {
	s := sink{out: out}
	s.gauge("build_info", "The running agent.", 1, "version", m.loop.Version)
	round, ok := m.loop.Last()
	if !ok {
		return
	}
	s.round(round)
	if _, fresh := m.loop.Fresh(); !fresh {
		return
	}
	gpus, known := round.Report.GPUs.Get()
	if !known {
		return
	}
	s.gauge("gpus", "Cards that the driver lists.", float64(len(gpus)))
	for _, g := range gpus {
		s.gpu(g)
	}
}

// sink writes samples; labels come as name, value, name, value.
type sink struct {
	out    chan<- prometheus.Metric
	labels []string // that all samples of a card have
}

func (s sink) gauge(name, help string, v float64, labels ...string) {
	s.send(prometheus.GaugeValue, name, help, v, labels)
}

func (s sink) counter(name, help string, v float64, labels ...string) {
	s.send(prometheus.CounterValue, name, help, v, labels)
}

func (s sink) send(kind prometheus.ValueType, name, help string, v float64, labels []string) {
	all := append(append(make([]string, 0, len(s.labels)+len(labels)), s.labels...), labels...)
	names, values := make([]string, 0, len(all)/2), make([]string, 0, len(all)/2)
	for i := 0; i < len(all); i += 2 {
		names, values = append(names, all[i]), append(values, all[i+1])
	}
	s.out <- prometheus.MustNewConstMetric(prometheus.NewDesc("gpu_portal_agent_"+name, help, names, nil), kind, v,
		values...)
}

func (s sink) round(r Round) {
	d := r.Report.Driver
	s.gauge("driver_ready", "1 while a session with the driver is open.", bit(d.State == Ready))
	s.gauge("driver_info", "Versions of driver, NVML and CUDA.", 1, "driver", d.Version.Or(""), "nvml", d.NVML.Or(""),
		"cuda", d.CUDA.Or(""))
	s.counter("driver_sessions_total", "Sessions with the driver that were opened.", float64(d.Sessions))
	s.counter("rounds_total", "Rounds of reading.", float64(r.Number))
	s.gauge("round_duration_seconds", "How long the last round took.", r.Duration.Seconds())
	s.gauge("report_timestamp_seconds", "When the report was taken.", float64(r.Report.TakenAt.UnixMilli())/1000)
	for why, n := range r.Unknowns {
		s.gauge("unknown_values", "Readings of the last round that are unknown.", float64(n), "reason", string(why))
	}
}

func (s sink) gpu(g GPU) {
	s.labels = []string{"gpu", strconv.Itoa(g.Index), "uuid", g.UUID.Or("")}
	s.gauge("gpu_info", "What the card is.", 1, "name", g.Name.Or(""), "architecture", g.Architecture.Or(""), "pci_bus_id",
		g.PCI.BusID.Or(""),
		"virtualization", g.Virtualization.Or(""))
	s.gauge("gpu_lost", "1 when the card fell off the bus or needs a reset.", bit(g.Lost))
	s.memory("memory", "Memory of the card", g.Memory)
	s.mig(g.MIG)
	s.processes(g)
	s.health(g)
	s.licenses(g)
}

func (s sink) memory(prefix, what string, m Memory, labels ...string) {
	for _, p := range []struct {
		name  string
		value Value[uint64]
	}{{"total", m.Total}, {"used", m.Used}, {"free", m.Free}, {"reserved", m.Reserved}} {
		whenKnown(p.value, func(v uint64) {
			s.gauge(prefix+"_"+p.name+"_bytes", what+", "+p.name+".", float64(v),
				labels...)
		})
	}
}

func (s sink) mig(m MIG) {
	whenKnown(m.Enabled, func(v bool) { s.gauge("mig_enabled", "1 when the card is in MIG mode.", bit(v)) })
	whenKnown(m.Pending, func(v bool) {
		s.gauge("mig_pending_enabled", "1 when it will be after the next reset.",
			bit(v))
	})
	instances, known := m.Instances.Get()
	for _, p := range m.Profiles.Or(nil) {
		name, ok := p.Name.Get()
		if !ok {
			continue
		}
		if known {
			n := 0
			for _, i := range instances {
				if i.ProfileID == p.ID {
					n++
				}
			}
			s.gauge("mig_instances", "GPU instances that exist.", float64(n), "profile", name)
		}
		whenKnown(p.Free, func(at []Placement) {
			s.gauge("mig_free_placements", "Starts at which one more instance would fit.", float64(len(at)), "profile", name)
		})
	}
	for _, d := range m.Devices.Or(nil) {
		if uuid, ok := d.UUID.Get(); ok {
			s.memory("mig_device_memory", "Memory of a MIG device", Memory{Total: d.Memory.Total, Used: d.Memory.Used},
				"mig_uuid", uuid)
		}
	}
}

func (s sink) processes(g GPU) {
	list, ok := g.Processes.Get()
	if !ok {
		return
	}
	kinds := map[string]int{"compute": 0, "graphics": 0, "mps": 0}
	held, whole := map[[2]string]uint64{}, map[[2]string]bool{}
	for _, p := range list {
		kinds[p.Kind]++
		c, ok := p.Container.Get()
		if !ok {
			continue
		}
		key := [2]string{c.PodUID.Or(""), c.ID}
		used, known := p.UsedBytes.Get()
		if before, seen := whole[key]; !seen {
			whole[key] = known
		} else {
			whole[key] = before && known
		}
		held[key] += used
	}
	for kind, n := range kinds {
		s.gauge("processes", "Processes on the card.", float64(n), "kind", kind)
	}
	for key, used := range held {
		if whole[key] { // a sum with an unknown in it is unknown
			s.gauge("container_memory_used_bytes", "Memory of the card that a container's processes hold.", float64(used),
				"pod_uid", key[0], "container_id", key[1])
		}
	}
}

func (s sink) health(g GPU) {
	whenKnown(g.ECC.Enabled, func(v bool) { s.gauge("ecc_enabled", "1 when memory errors are corrected.", bit(v)) })
	for _, e := range []struct {
		kind           string
		aggregate, now Value[uint64]
	}{{"corrected", g.ECC.AggregateCorrected, g.ECC.VolatileCorrected}, {"uncorrected", g.ECC.AggregateUncorrected,
		g.ECC.VolatileUncorrected}} {
		whenKnown(e.aggregate, func(v uint64) {
			s.counter("ecc_errors_total", "Memory errors over the card's life.", float64(v), "type", e.kind)
		})
		whenKnown(e.now, func(v uint64) {
			s.gauge("ecc_errors_since_load", "Memory errors since the driver was loaded.", float64(v), "type", e.kind)
		})
	}
	whenKnown(g.RowRemap.Corrected, func(v int) {
		s.gauge("remapped_rows", "Rows of memory that were replaced.", float64(v), "type", "corrected")
	})
	whenKnown(g.RowRemap.Uncorrected, func(v int) {
		s.gauge("remapped_rows", "Rows of memory that were replaced.", float64(v), "type", "uncorrected")
	})
	whenKnown(g.RowRemap.Pending, func(v bool) {
		s.gauge("row_remap_pending", "1 when a row will be replaced at the "+
			"next reset.", bit(v))
	})
	whenKnown(g.RowRemap.Failed, func(v bool) { s.gauge("row_remap_failed", "1 when no spare row was left.", bit(v)) })
	whenKnown(g.RetiredPages.SingleBit, func(v int) {
		s.gauge("retired_pages", "Pages of memory taken out of use.", float64(v), "cause", "single_bit")
	})
	whenKnown(g.RetiredPages.DoubleBit, func(v int) {
		s.gauge("retired_pages", "Pages of memory taken out of use.", float64(v), "cause", "double_bit")
	})
	whenKnown(g.RetiredPages.Pending, func(v bool) {
		s.gauge("retired_pages_pending", "1 when a page will be retired at the next reset.", bit(v))
	})
	for _, l := range g.NVLinks.Or(nil) {
		s.link(l)
	}
	whenKnown(g.XIDs, func(x XIDs) {
		for _, c := range x.Counts {
			s.counter("xid_errors_total", "Faults that the driver reported since the agent listens.", float64(c.Count), "xid",
				strconv.FormatUint(c.XID, 10))
		}
	})
}

func (s sink) link(l NVLink) {
	link := strconv.Itoa(l.Link)
	s.gauge("nvlink_up", "1 when the link is active.", bit(l.Up), "link", link)
	for _, e := range []struct {
		kind  string
		value Value[uint64]
	}{{"crc_flit", l.CRCFlit}, {"crc_data", l.CRCData}, {"replay", l.Replay}, {"recovery", l.Recovery}} {
		whenKnown(e.value, func(v uint64) {
			s.counter("nvlink_errors_total", "Errors of the link.", float64(v), "link", link, "type", e.kind)
		})
	}
}

func (s sink) licenses(g GPU) {
	whenKnown(g.VGPUHost.Active, func(list []VGPUInstance) {
		s.gauge("vgpu_instances", "vGPUs that run on the card.", float64(len(list)))
		for _, v := range list {
			whenKnown(v.Licensed, func(ok bool) {
				s.gauge("vgpu_licensed", "1 when the vGPU has its license.", bit(ok), "vgpu_uuid", v.UUID.Or(""), "type",
					v.Type.Or(""))
			})
		}
	})
	for _, f := range g.License.Features.Or(nil) {
		s.gauge("license_feature_licensed", "1 when the feature has its license.", bit(f.Licensed), "feature", f.Feature,
			"product", f.Product)
		if until, ok := f.Expiry.Get(); ok {
			s.gauge("license_expiry_timestamp_seconds", "When the license ends.", float64(until.Unix()), "feature", f.Feature,
				"product", f.Product)
		}
	}
}

func whenKnown[T any](v Value[T], f func(T)) {
	if got, ok := v.Get(); ok {
		f(got)
	}
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

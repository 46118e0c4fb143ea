//go:build cgo

package agent

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

func (s *session) ecc(d nvml.Device) ECC {
	type modes struct{ current, pending nvml.EnableState }
	mode := ask(s, callECCMode, func() (modes, nvml.Return) {
		current, pending, ret := d.GetEccMode()
		return modes{current, pending}, ret
	})
	count := func(kind nvml.MemoryErrorType, since nvml.EccCounterType) Value[uint64] {
		return ask(s, callECCErrors, func() (uint64, nvml.Return) { return d.GetTotalEccErrors(kind, since) })
	}
	return ECC{
		Enabled:              mapped(mode, func(m modes) bool { return m.current == nvml.FEATURE_ENABLED }),
		Pending:              mapped(mode, func(m modes) bool { return m.pending == nvml.FEATURE_ENABLED }),
		VolatileCorrected:    count(nvml.MEMORY_ERROR_TYPE_CORRECTED, nvml.VOLATILE_ECC),
		VolatileUncorrected:  count(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC),
		AggregateCorrected:   count(nvml.MEMORY_ERROR_TYPE_CORRECTED, nvml.AGGREGATE_ECC),
		AggregateUncorrected: count(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.AGGREGATE_ECC),
	}
}

func (s *session) rowRemap(d nvml.Device) RowRemap {
	type rows struct {
		corrected, uncorrected int
		pending, failed        bool
	}
	got := ask(s, callRemappedRows, func() (r rows, ret nvml.Return) {
		r.corrected, r.uncorrected, r.pending, r.failed, ret = d.GetRemappedRows()
		return r, ret
	})
	return RowRemap{
		Corrected:   mapped(got, func(r rows) int { return r.corrected }),
		Uncorrected: mapped(got, func(r rows) int { return r.uncorrected }),
		Pending:     mapped(got, func(r rows) bool { return r.pending }),
		Failed:      mapped(got, func(r rows) bool { return r.failed }),
	}
}

func (s *session) retiredPages(d nvml.Device) RetiredPages {
	pages := func(cause nvml.PageRetirementCause) Value[int] {
		list := ask(s, callRetiredPages, func() ([]uint64, nvml.Return) { return d.GetRetiredPages(cause) })
		return mapped(list, func(l []uint64) int { return len(l) })
	}
	return RetiredPages{
		SingleBit: pages(nvml.PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS),
		DoubleBit: pages(nvml.PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR),
		Pending: mapped(ask(s, callRetiredPending, d.GetRetiredPagesPendingStatus),
			func(e nvml.EnableState) bool { return e == nvml.FEATURE_ENABLED }),
	}
}

var remotes = map[nvml.IntNvLinkDeviceType]string{
	nvml.NVLINK_DEVICE_TYPE_GPU: "gpu", nvml.NVLINK_DEVICE_TYPE_IBMNPU: "ibmnpu", nvml.NVLINK_DEVICE_TYPE_SWITCH: "switch",
}

// links reads NVLink by NVLink. The first that the card does not have ends the list; a card without any says so for the
// first.
func (s *session) links(uuid Value[string], d nvml.Device) Value[[]NVLink] {
	var list []NVLink
	for i := range nvml.NVLINK_MAX_LINKS {
		state := ask(s, callLinkState, func() (nvml.EnableState, nvml.Return) { return d.GetNvLinkState(i) })
		up, ok := state.Get()
		if !ok && state.Why() == NotSupported && i > 0 {
			break
		}
		if !ok {
			return Unknown[[]NVLink](state.Why())
		}
		list = append(list, s.link(cable{uuid.Or(""), i}, up == nvml.FEATURE_ENABLED, d))
	}
	return KnownList(list)
}

// cable is one link of one card.
type cable struct {
	uuid string
	link int
}

// link asks nothing more of one that is down: there is no other end, and its counters stand still.
func (s *session) link(c cable, up bool, d nvml.Device) NVLink {
	if !up {
		none := Unknown[uint64](NotAvailable)
		return NVLink{Link: c.link, Version: Unknown[int](NotAvailable), Remote: Unknown[string](NotAvailable),
			RemoteBus: Unknown[string](NotAvailable),
			CRCFlit:   none, CRCData: none, Replay: none, Recovery: none}
	}
	l := s.end(c, d)
	errors := func(kind nvml.NvLinkErrorCounter) Value[uint64] {
		return ask(s, callLinkErrors, func() (uint64, nvml.Return) { return d.GetNvLinkErrorCounter(c.link, kind) })
	}
	l.CRCFlit, l.CRCData = errors(nvml.NVLINK_ERROR_DL_CRC_FLIT), errors(nvml.NVLINK_ERROR_DL_CRC_DATA)
	l.Replay, l.Recovery = errors(nvml.NVLINK_ERROR_DL_REPLAY), errors(nvml.NVLINK_ERROR_DL_RECOVERY)
	return l
}

// end reads once per session what a link leads to: a machine of eight cards has 144 of them, and nobody changes the
// wiring under a loaded driver.
func (s *session) end(c cable, d nvml.Device) NVLink {
	if l, ok := s.ends[c]; ok && c.uuid != "" {
		return l
	}
	l := NVLink{Link: c.link, Up: true}
	l.Version = mapped(ask(s, callLinkVersion, func() (uint32, nvml.Return) { return d.GetNvLinkVersion(c.link) }),
		func(v uint32) int { return int(v) })
	l.Remote = worded(ask(s, callLinkRemote, func() (nvml.IntNvLinkDeviceType, nvml.Return) {
		return d.GetNvLinkRemoteDeviceType(c.link)
	}), remotes)
	pci := ask(s, callLinkRemotePCI, func() (nvml.PciInfo, nvml.Return) { return d.GetNvLinkRemotePciInfo(c.link) })
	if p, ok := pci.Get(); ok {
		l.RemoteBus = cstring(p.BusId[:])
	} else {
		l.RemoteBus = Unknown[string](pci.Why())
	}
	if s.gone == "" && s.ended == "" {
		s.ends[c] = l
	}
	return l
}

//go:build cgo

package agent

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// session is one stretch between nvmlInit and nvmlShutdown.
type session struct {
	lib        nvml.Interface
	opened     time.Time
	absent     map[call]bool // functions that the library lacks
	absentList []string
	containers *Containers
	xids       *xidLog
	listener   *listener
	identities map[string]identity  // by UUID: what does not change while the driver is loaded
	layouts    map[string]layout    // by UUID
	migDevices map[string]MIGDevice // by UUID, without memory
	types      map[string][]VGPUType
	ends       map[cable]NVLink // without counters

	uuids map[int]Value[string] // by index: a card that is lost may not tell it any more

	ended Reason // the driver said that the session is over
	lost  bool   // some card was lost
	gone  Reason // the card that is being read was lost, and why
}

func newSession(lib nvml.Interface, now time.Time, containers *Containers, xids *xidLog) *session {
	s := &session{
		lib: lib, opened: now, containers: containers, xids: xids,
		identities: map[string]identity{}, layouts: map[string]layout{}, migDevices: map[string]MIGDevice{},
		types: map[string][]VGPUType{},
		uuids: map[int]Value[string]{}, ends: map[cable]NVLink{},
	}
	s.absent, s.absentList = absentCalls(lib.Extensions())
	return s
}

// absentCalls asks once for each function the agent uses. NVML is bound lazily: calling one that the library lacks ends
// the process with "undefined symbol".
func absentCalls(e nvml.ExtendedInterface) (map[call]bool, []string) {
	absent, list := map[call]bool{}, []string{}
	for c, versions := range symbols {
		if !slices.ContainsFunc(versions, func(v string) bool { return e.LookupSymbol(v) == nil }) {
			absent[c] = true
			list = append(list, versions[len(versions)-1])
		}
	}
	slices.Sort(list)
	return absent, list
}

// ask makes one call, unless the library lacks it, or the card or the session is gone already: then each further call
// would cost a timeout. go-nvml panics on some answers (a profile with no instances), which is an unknown value like
// others and no reason to stop.
func ask[T any](s *session, c call, f func() (T, nvml.Return)) (out Value[T]) {
	switch {
	case s.ended != "":
		return Unknown[T](s.ended)
	case s.gone != "":
		return Unknown[T](s.gone)
	case s.absent[c]:
		return Unknown[T](LibraryTooOld)
	}
	defer func() {
		if recover() != nil {
			out = Unknown[T](CallFailed)
		}
	}()
	v, ret := f()
	if ret == nvml.SUCCESS {
		return Known(v)
	}
	why := reasonOf(ret)
	switch why {
	case Uninitialized, DriverNotLoaded, DriverMismatch:
		s.ended = why
	case GPULost, ResetRequired:
		s.gone, s.lost = why, true
	}
	return Unknown[T](why)
}

// reasons are NVML's answers. What is not here is CallFailed. The library's own words are not used: they differ from
// version to version.
var reasons = map[nvml.Return]Reason{
	nvml.ERROR_UNINITIALIZED:             Uninitialized,
	nvml.ERROR_NOT_SUPPORTED:             NotSupported,
	nvml.ERROR_INVALID_ARGUMENT:          NotSupported, // an index or profile that this card does not have
	nvml.ERROR_NO_PERMISSION:             NoPermission,
	nvml.ERROR_NOT_FOUND:                 NotFound,
	nvml.ERROR_DRIVER_NOT_LOADED:         DriverNotLoaded,
	nvml.ERROR_TIMEOUT:                   Timeout,
	nvml.ERROR_LIBRARY_NOT_FOUND:         LibraryMissing,
	nvml.ERROR_FUNCTION_NOT_FOUND:        LibraryTooOld,
	nvml.ERROR_ARGUMENT_VERSION_MISMATCH: LibraryTooOld,
	nvml.ERROR_GPU_IS_LOST:               GPULost,
	nvml.ERROR_RESET_REQUIRED:            ResetRequired,
	nvml.ERROR_LIB_RM_VERSION_MISMATCH:   DriverMismatch,
	nvml.ERROR_IN_USE:                    InUse,
	nvml.ERROR_NO_DATA:                   NoData,
	nvml.ERROR_VGPU_ECC_NOT_SUPPORTED:    NotSupported,
	nvml.ERROR_INSUFFICIENT_POWER:        CallFailed,
	nvml.ERROR_CORRUPTED_INFOROM:         NotAvailable,
	nvml.ERROR_DEPRECATED:                NotSupported,
	nvml.ERROR_GPU_NOT_FOUND:             NotFound,
	nvml.ERROR_INVALID_STATE:             CallFailed,
}

func reasonOf(ret nvml.Return) Reason {
	if why, ok := reasons[ret]; ok {
		return why
	}
	return CallFailed
}

// round reads everything. When s.ended is set afterwards the report is not worth anything.
func (s *session) round() Report {
	r := Report{Driver: s.driver(), GPUs: Unknown[[]GPU](NotRead)}
	count := ask(s, callCount, s.lib.DeviceGetCount)
	n, ok := count.Get()
	if !ok {
		s.ended = count.Why() // whatever it is: a driver that cannot count its cards is asked anew
		return r
	}
	gpus := make([]GPU, n)
	devices := make(map[string]nvml.Device, n)
	for i := range gpus {
		s.gone = ""
		handle := ask(s, callHandle, func() (nvml.Device, nvml.Return) { return s.lib.DeviceGetHandleByIndex(i) })
		device, ok := handle.Get()
		if !ok {
			gpus[i] = s.unreadable(i, handle.Why())
			continue
		}
		gpus[i] = s.gpu(i, device)
		if uuid, ok := gpus[i].UUID.Get(); ok {
			devices[uuid] = device
		}
	}
	s.gone = ""
	if s.ended == "" {
		s.listen(devices)
	}
	for i := range gpus {
		gpus[i].XIDs = mappedXIDs(s.xids, gpus[i].UUID)
	}
	r.GPUs = KnownList(gpus)
	return r
}

func mappedXIDs(log *xidLog, uuid Value[string]) Value[XIDs] {
	id, ok := uuid.Get()
	if !ok {
		return Unknown[XIDs](uuid.Why())
	}
	return log.of(id)
}

func (s *session) driver() Driver {
	return Driver{
		State:   Ready,
		Version: text(ask(s, callDriverVersion, s.lib.SystemGetDriverVersion)),
		NVML:    text(ask(s, callNVMLVersion, s.lib.SystemGetNVMLVersion)),
		CUDA: mapped(ask(s, callCUDAVersion, s.lib.SystemGetCudaDriverVersion), func(v int) string { // 12040 is 12.4
			return strconv.Itoa(v/1000) + "." + strconv.Itoa(v%1000/10)
		}),
		MissingCalls: s.absentList,
	}
}

// text drops what is no text from a driver's string; an empty one is no value.
func text(v Value[string]) Value[string] {
	s, ok := v.Get()
	if !ok {
		return v
	}
	if s = strings.TrimSpace(strings.ToValidUTF8(s, "")); s == "" {
		return Unknown[string](NotAvailable)
	}
	return Known(s)
}

// cstring reads a fixed array that a zero ends.
func cstring(b []uint8) Value[string] {
	s, _, _ := strings.Cut(string(b), "\x00")
	return text(Known(s))
}

// mapped turns a known value into another and keeps the reason of an unknown one.
func mapped[T, U any](v Value[T], f func(T) U) Value[U] {
	if !v.known {
		return Unknown[U](v.Why())
	}
	return Known(f(v.value))
}

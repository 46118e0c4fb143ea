package agent

import (
	"encoding/json"
	"reflect"
)

// Reason says why a value is unknown. The list may grow: a reader of reports shows a reason it does not know as it
// stands.
type Reason string

// The reasons.
const (
	NotRead          Reason = "not_read"           // the agent did not ask, or an older one does not report it
	NotSupported     Reason = "not_supported"      // the card or driver does not have it
	NotAvailable     Reason = "not_available"      // the driver answers, but without a value
	NotFound         Reason = "not_found"          //
	NoData           Reason = "no_data"            //
	NoPermission     Reason = "no_permission"      // the agent runs with too few rights for it
	LibraryMissing   Reason = "library_missing"    // no libnvidia-ml.so.1 that can be loaded
	LibraryTooOld    Reason = "library_too_old"    // the library lacks the function
	DriverNotLoaded  Reason = "driver_not_loaded"  //
	DriverMismatch   Reason = "driver_mismatch"    // the library in this process is not of the loaded driver's version
	Uninitialized    Reason = "uninitialized"      // the session with the driver ended
	GPULost          Reason = "gpu_lost"           // the card fell off the bus
	ResetRequired    Reason = "reset_required"     //
	Timeout          Reason = "timeout"            //
	InUse            Reason = "in_use"             //
	CallFailed       Reason = "call_failed"        // anything else that NVML answers
	BuiltWithoutNVML Reason = "built_without_nvml" // a build without cgo
	NoSuchProcess    Reason = "no_such_process"    // it has ended, or the agent does not see the host's processes
	NotInContainer   Reason = "not_in_container"   //
	NotComputed      Reason = "not_computed"       // follows from a value that is unknown
)

// Value is a reading: known, or unknown with the reason. The zero Value is unknown. In JSON it is {"value": …} or
// {"unknown": "reason"}.
type Value[T any] struct {
	value T
	known bool
	why   Reason
}

// Known is a value that was read.
func Known[T any](v T) Value[T] { return Value[T]{value: v, known: true} }

// Unknown is a value that could not be read, and why.
func Unknown[T any](why Reason) Value[T] { return Value[T]{why: why} }

// KnownList is Known for a list; an empty one is a list all the same.
func KnownList[T any](list []T) Value[[]T] {
	if list == nil {
		list = []T{}
	}
	return Known(list)
}

// Get is not ok when the value is unknown.
func (v Value[T]) Get() (value T, ok bool) { return v.value, v.known }

// Or gives what stands for an unknown value in a place that has no word for unknown.
func (v Value[T]) Or(other T) T {
	if v.known {
		return v.value
	}
	return other
}

// Why is "" for a known value.
func (v Value[T]) Why() Reason {
	if !v.known && v.why == "" {
		return NotRead
	}
	return v.why
}

// Equal is what go-cmp asks.
func (v Value[T]) Equal(o Value[T]) bool {
	return v.known == o.known && v.Why() == o.Why() && reflect.DeepEqual(v.value, o.value)
}

type wireKnown[T any] struct {
	Value T `json:"value"`
}

type wireUnknown struct {
	Unknown Reason `json:"unknown"`
}

// MarshalJSON writes {"value": …} or {"unknown": "reason"}.
func (v Value[T]) MarshalJSON() ([]byte, error) {
	if v.known {
		return json.Marshal(wireKnown[T]{v.value})
	}
	return json.Marshal(wireUnknown{v.Why()})
}

// UnmarshalJSON takes what a newer agent may add for granted; neither value nor reason is unknown.
func (v *Value[T]) UnmarshalJSON(data []byte) error {
	var w struct {
		Value   *T     `json:"value"`
		Unknown Reason `json:"unknown"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	if w.Value == nil {
		*v = Unknown[T](w.Unknown)
		return nil
	}
	*v = Known(*w.Value)
	return nil
}

// unknowns counts the unknown values inside a report by reason.
func unknowns(r Report) map[Reason]int {
	counts := map[Reason]int{}
	walk(reflect.ValueOf(r), counts)
	return counts
}

// reading is any Value, for code that does not care of what.
type reading interface{ Why() Reason }

func walk(v reflect.Value, counts map[Reason]int) {
	switch v.Kind() {
	case reflect.Struct:
		if r, ok := v.Interface().(reading); ok {
			if why := r.Why(); why != "" {
				counts[why]++
				return
			}
			walk(reflect.ValueOf(v.Interface().(interface{ inner() any }).inner()), counts)
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walk(v.Field(i), counts)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), counts)
		}
	}
}

func (v Value[T]) inner() any { return v.value }

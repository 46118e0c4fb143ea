//go:build !cgo

package agent

import "time"

// NewSource of a build without cgo has no way to NVML: its reports say so.
func NewSource(library, proc string) Source { return none{} }

type none struct{}

func (none) Read(time.Time) (Report, error) {
	why := BuiltWithoutNVML
	return Report{
		Driver: Driver{State: string(why), Version: Unknown[string](why), NVML: Unknown[string](why),
			CUDA: Unknown[string](why), MissingCalls: []string{}},
		GPUs: Unknown[[]GPU](why),
	}, nil
}

func (none) Close() {}

package capacity

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// need is what one workload of a size takes.
type need struct {
	resources map[string]int64 // extended resources, each above 0; none for CPU only
	milliCPU  int64
	bytes     int64
}

// needOf is not ok for a size that no number can be told of: its quantities are unreadable, or it takes nothing that nodes advertise.
func needOf(size catalog.Size) (need, bool) {
	cpu, err := resource.ParseQuantity(size.CPU)
	memory, err2 := resource.ParseQuantity(size.Memory)
	n := need{milliCPU: cpu.MilliValue(), bytes: memory.Value(), resources: map[string]int64{}}
	if err != nil || err2 != nil || n.milliCPU <= 0 || n.bytes <= 0 {
		return n, false
	}
	a := size.Accelerator
	if a.Resource != "" {
		n.resources[a.Resource] = int64(size.Devices())
	}
	for name, text := range a.Extra {
		q, err := resource.ParseQuantity(text)
		if err != nil || q.Value() <= 0 {
			return n, false
		}
		n.resources[name] += q.Value()
	}
	return n, size.CPUOnly() || len(n.resources) > 0
}

// Package gogc paces the garbage collector of a process whose live heap is small.
//
// With GOGC=100 a process with 10 MiB of live heap collects after each 10 MiB that it allocates, many times a second
// under load. Each collection takes threads from calls for milliseconds, which the slowest one in a hundred feels.
// AtLeast makes it wait for more; a process with a larger heap goes on as it did. https://go.dev/doc/gc-guide#GOGC
package gogc

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// Serving is how many bytes a portal allocates between two collections at least. It takes so much memory besides, and
// nothing besides once its heap is larger than that.
const Serving = 128 << 20

// usual is the GOGC of a process that sets none, in percent.
const usual = 100

// AtLeast lets the process allocate so many bytes between two collections, from the next one on. A GOGC in the
// environment is left as it is, and GOMEMLIMIT goes before both. Stop has it as it was.
func AtLeast(bytes uint64) (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	p := &pacer{bytes: bytes}
	p.pace()
	p.watch()
	return p.stop
}

type pacer struct {
	bytes   uint64
	mu      sync.Mutex
	stopped bool
}

// collected is garbage from its beginning, so that its finalizer runs once for each collection. The pointer keeps it
// out of blocks that objects without one share.
type collected struct{ _ *byte }

func (p *pacer) watch() {
	c := &collected{}
	runtime.SetFinalizer(c, func(*collected) {
		if p.pace() {
			p.watch()
		}
	})
}

func (p *pacer) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	debug.SetGCPercent(usual)
}

// pace reports whether it is still wanted.
func (p *pacer) pace() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return false
	}
	sizes := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"},
		{Name: "/gc/scan/globals:bytes"}}
	metrics.Read(sizes)
	var live uint64
	for _, s := range sizes {
		live += s.Value.Uint64()
	}
	debug.SetGCPercent(percent(live, p.bytes))
	return true
}

// percent is the GOGC with which a process with so many bytes of live heap, stacks and globals collects after so many
// more.
func percent(live, bytes uint64) int {
	const most = 100_000 // of a process that has just begun, whose first collection tells more
	return int(min(max(usual, bytes*100/max(live, 1)), most))
}

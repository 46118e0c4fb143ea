package gogc

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestPercent(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		live, bytes uint64
		want        int
	}{
		{0, 64 * mib, 100_000}, {8 * mib, 64 * mib, 800}, {64 * mib, 64 * mib, 100}, {1 << 40, 64 * mib, 100},
		{8 * mib, 0, 100},
	} {
		if got := percent(c.live, c.bytes); got != c.want {
			t.Errorf("%d MiB alive, %d MiB between two collections: want %d %%, got %d", c.live/mib, c.bytes/mib, c.want, got)
		}
	}
}

var sink []byte

// churn allocates so many MiB that nobody keeps, and counts collections.
func churn(mib int) uint32 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range mib {
		sink = make([]byte, 1<<20)
	}
	runtime.ReadMemStats(&after)
	return after.NumGC - before.NumGC
}

func TestAtLeast(t *testing.T) {
	t.Setenv("GOGC", "")
	debug.SetGCPercent(usual)
	usually := churn(1000)
	stop := AtLeast(100 << 20)
	defer stop()
	runtime.GC()
	got := churn(1000)
	// 1,000 MiB with 100 MiB between two collections; the first ones may still be as they were
	if got > 20 || got < 2 || usually < 2*got {
		t.Errorf("want about 10 collections in place of %d, got %d", usually, got)
	}
	stop()
	runtime.GC()
	if got := debug.SetGCPercent(usual); got != usual {
		t.Errorf("want %d %% when it is stopped, got %d", usual, got)
	}
}

func TestAnOperatorsGOGC(t *testing.T) {
	t.Setenv("GOGC", "50")
	was := debug.SetGCPercent(50)
	defer debug.SetGCPercent(was)
	defer AtLeast(1 << 30)()
	if got := debug.SetGCPercent(50); got != 50 {
		t.Errorf("want the operator's, got %d", got)
	}
}

package gateway

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func TestCopySparelyPassesEverythingOn(t *testing.T) {
	for _, size := range []int{0, 1, socketBuffer - 1, socketBuffer, socketBuffer + 1, socketBuffer + pageBuffer,
		socketBuffer + 3*pageBuffer + 7} {
		want := strings.Repeat("0123456789abcde", size/15+1)[:size]
		for name, from := range map[string]io.Reader{"whole": strings.NewReader(want),
			"bytes": iotest.OneByteReader(strings.NewReader(want)), "last": iotest.DataErrReader(strings.NewReader(want))} {
			var got bytes.Buffer
			n, err := copySparely(&got, from)
			if err != nil || n != int64(size) || got.String() != want {
				t.Errorf("%d bytes, %s: %d came, %v", size, name, n, err)
			}
		}
	}
}

func TestCopySparelySaysWhoFailed(t *testing.T) {
	broken := errors.New("broken")
	from := io.MultiReader(strings.NewReader(strings.Repeat("x", 3*pageBuffer)), iotest.ErrReader(broken))
	if n, err := copySparely(io.Discard, from); !errors.Is(err, broken) || n != 3*pageBuffer {
		t.Errorf("reading: %d, %v", n, err)
	}
	closed, other := io.Pipe()
	_ = closed.Close()
	if _, err := copySparely(other, strings.NewReader(strings.Repeat("x", 3*pageBuffer))); !errors.Is(err,
		io.ErrClosedPipe) {
		t.Errorf("writing: %v", err)
	}
}

func TestAWorkloadIsSharedWhileItIsOpen(t *testing.T) {
	var s sharedWorkloads
	first := s.one(&workload.Workload{ID: "w", Version: 1})
	if again := s.one(&workload.Workload{ID: "w", Version: 1}); again != first {
		t.Error("two copies of one version")
	}
	next := s.one(&workload.Workload{ID: "w", Version: 2})
	if next == first || next.Version != 2 {
		t.Errorf("the version before stands for the next one: %d", next.Version)
	}
	if s.forget(); len(s.byID) != 1 {
		t.Error("what is open is forgotten")
	}
	runtime.KeepAlive(next)
	runtime.GC()
	if s.forget(); len(s.byID) != 0 {
		t.Error("what nobody has open is kept")
	}
}

//go:build cgo

package agent

import (
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// lostRetry is how long a session is kept in which a card was lost. NVML lists cards when a session opens, so one that
// came back is seen in a new one only; opening costs more than a round.
const lostRetry = time.Minute

// Reader is the Source that asks NVML. It is not safe for use by several goroutines.
type Reader struct {
	lib        nvml.Interface
	containers *Containers
	xids       *xidLog
	session    *session
	sessions   int
	ready      bool // a session was open once
	restart    bool // ErrRestart was said
}

// NewReader reads through lib. Processes are looked up below proc.
func NewReader(lib nvml.Interface, proc string, clock func() time.Time) *Reader {
	return &Reader{lib: lib, containers: NewContainers(proc), xids: newXIDLog(clock)}
}

// NewSource is the Reader of the driver's own library; library is a path, or "" for the one that the dynamic linker
// finds.
func NewSource(library, proc string) Source {
	var options []nvml.LibraryOption
	if library != "" {
		options = append(options, nvml.WithLibraryPath(library))
	}
	return NewReader(nvml.New(options...), proc, time.Now)
}

// Read makes a round; where the session turns out to have ended it tries once more with a new one, so that a reloaded
// driver costs no round.
func (r *Reader) Read(now time.Time) (Report, error) {
	if r.session != nil && r.session.lost && now.Sub(r.session.opened) >= lostRetry {
		r.Close()
	}
	var why Reason
	for range 2 {
		if why = r.open(now); why != "" {
			break
		}
		report := r.session.round()
		r.containers.Sweep()
		if why = r.session.ended; why == "" {
			report.Driver.Sessions = r.sessions
			return report, nil
		}
		r.Close()
	}
	report := Report{Driver: noDriver(why), GPUs: Unknown[[]GPU](why)}
	report.Driver.Sessions = r.sessions
	if why == DriverMismatch && r.ready && !r.restart {
		r.restart = true
		return report, ErrRestart
	}
	return report, nil
}

func noDriver(why Reason) Driver {
	return Driver{State: string(why), Version: Unknown[string](why), NVML: Unknown[string](why),
		CUDA: Unknown[string](why), MissingCalls: []string{}}
}

// open makes sure that there is a session. Any call without one would end the process: the functions of a library that
// is not loaded cannot be found.
func (r *Reader) open(now time.Time) Reason {
	if r.session != nil {
		return ""
	}
	if ret := r.lib.Init(); ret != nvml.SUCCESS {
		return reasonOf(ret)
	}
	r.sessions++
	r.ready = true
	r.session = newSession(r.lib, now, r.containers, r.xids)
	return ""
}

// Close ends the session. The listener goes first: it is inside a call of the library.
func (r *Reader) Close() {
	if r.session == nil {
		return
	}
	r.session.listener.stop()
	r.session = nil
	_ = r.lib.Shutdown() // a session that has ended already says so; nothing is left to do either way
}

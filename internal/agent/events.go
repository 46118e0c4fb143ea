//go:build cgo

package agent

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// xidLog keeps what the driver reported of each card, over sessions: after a card fell off the bus, the XID that says
// why is what a person looks for.
type xidLog struct {
	clock func() time.Time
	mu    sync.Mutex
	cards map[string]*xidCard
}

type xidCard struct {
	since       time.Time
	gaps        int
	counts      map[uint64]XIDCount
	unavailable Reason // of the event set; "" while it is read
}

func newXIDLog(clock func() time.Time) *xidLog {
	return &xidLog{clock: clock, cards: map[string]*xidCard{}}
}

func (l *xidLog) of(uuid string) Value[XIDs] {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.cards[uuid]
	if !ok {
		return Unknown[XIDs](NotRead)
	}
	if c.unavailable != "" {
		return Unknown[XIDs](c.unavailable)
	}
	x := XIDs{Since: c.since, Gaps: c.gaps, Counts: make([]XIDCount, 0, len(c.counts))}
	for _, n := range c.counts {
		x.Counts = append(x.Counts, n)
	}
	slices.SortFunc(x.Counts, func(a, b XIDCount) int { return cmp.Compare(a.XID, b.XID) })
	return Known(x)
}

// listening begins, or begins again, to be true of a card; why is "" then.
func (l *xidLog) listening(uuid string, why Reason) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.cards[uuid]
	switch {
	case !ok:
		c = &xidCard{counts: map[uint64]XIDCount{}}
		l.cards[uuid] = c
	case why == "" && !c.since.IsZero():
		c.gaps++
	}
	if why == "" && c.since.IsZero() {
		c.since = l.clock().UTC()
	}
	c.unavailable = why
}

func (l *xidLog) add(uuid string, xid uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.cards[uuid]
	if !ok {
		return
	}
	n := c.counts[xid]
	c.counts[xid] = XIDCount{XID: xid, Count: n.Count + 1, Last: l.clock().UTC()}
}

// waitMillis is how long one wait for an event lasts, and so how long the end of a session may take.
const waitMillis = 500

// listener waits for events in a goroutine of its own: the call does not return before there is one.
type listener struct {
	quit, done chan struct{}
}

// stop is for any listener, also none.
func (l *listener) stop() {
	if l == nil {
		return
	}
	close(l.quit)
	<-l.done
}

// alive says that it still listens.
func (l *listener) alive() bool {
	if l == nil {
		return false
	}
	select {
	case <-l.done:
		return false
	default:
		return true
	}
}

// listen sees to it that somebody listens. It is asked each round: a listener may have ended for a reason that has
// passed.
func (s *session) listen(devices map[string]nvml.Device) {
	if s.listener.alive() || len(devices) == 0 {
		return
	}
	all := func(why Reason) {
		for uuid := range devices {
			s.xids.listening(uuid, why)
		}
	}
	for _, c := range []call{callEventRegister, callEventWait, callEventFree} {
		if s.absent[c] {
			all(LibraryTooOld)
			return
		}
	}
	made := ask(s, callEventSet, s.lib.EventSetCreate)
	set, ok := made.Get()
	if !ok {
		all(made.Why())
		return
	}
	byHandle := make(map[nvml.Device]string, len(devices))
	for uuid, d := range devices {
		why := ask(s, callEventRegister, func() (struct{}, nvml.Return) {
			return struct{}{}, d.RegisterEvents(nvml.EventTypeXidCriticalError, set)
		}).Why()
		s.gone = "" // what one card says is not said of the next
		s.xids.listening(uuid, why)
		if why == "" {
			byHandle[d] = uuid
		}
	}
	if len(byHandle) == 0 {
		_ = set.Free()
		return
	}
	s.listener = &listener{make(chan struct{}), make(chan struct{})}
	go s.listener.run(set, byHandle, s.xids)
}

// run knows cards by handle, for a card that is lost does not tell its UUID any more. It touches nothing of the
// session.
func (l *listener) run(set nvml.EventSet, cards map[nvml.Device]string, log *xidLog) {
	defer close(l.done)
	defer func() { _ = set.Free() }()
	for {
		select {
		case <-l.quit:
			return
		default:
		}
		event, ret := set.Wait(waitMillis)
		switch {
		case ret == nvml.SUCCESS:
			if uuid, ok := cards[event.Device]; ok && event.EventType == nvml.EventTypeXidCriticalError {
				log.add(uuid, event.EventData)
			}
		case ret == nvml.ERROR_TIMEOUT:
		default:
			for _, uuid := range cards {
				log.listening(uuid, reasonOf(ret))
			}
			return
		}
	}
}

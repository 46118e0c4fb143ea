package live

import (
	"sync"
	"time"
)

// Standing remembers who of those with an open page is still let in, so that watching asks the database for nobody: an
// answer holds until a change about the session, token or person comes through the hub, or until the time that came
// with it.
type Standing struct {
	follower *Follower

	mu    sync.Mutex
	known map[Reader]time.Time // until when
	drops int                  // changes seen so far
}

// Reader is who has a page open: by which session or token, as whom, and with which roles. Pages that one person opened
// with other roles are other readers.
type Reader struct{ Credential, Person, Roles string }

// NewStanding begins to listen.
func NewStanding(h *Hub) *Standing {
	s := &Standing{known: map[Reader]time.Time{}}
	s.follower = h.Follow(func(c Change) bool {
		if c.Topic == "session" {
			s.forget(c)
		}
		return false // nothing has to be kept for later
	})
	return s
}

func (s *Standing) forget(c Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drops++
	for r := range s.known {
		if r.Credential == c.ID || r.Person == c.Person {
			delete(s.known, r)
		}
	}
}

// Forget asks about everybody again: teams have changed, and with them perhaps the roles of anybody.
func (s *Standing) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drops++
	clear(s.known)
}

// Holds says whether a reader is still let in. ask is called when that is not known: it answers until when it does, and
// false when it does not.
func (s *Standing) Holds(r Reader, now time.Time, ask func() (until time.Time, ok bool)) bool {
	s.mu.Lock()
	until := s.known[r]
	drops := s.drops
	s.mu.Unlock()
	if now.Before(until) {
		return true
	}
	until, ok := ask()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !ok:
		delete(s.known, r)
	case s.drops == drops: // else the answer may be from before the change
		s.tidy(now)
		s.known[r] = until
	}
	return ok
}

// tidy drops what is over, now and then.
func (s *Standing) tidy(now time.Time) {
	if len(s.known)%256 != 255 {
		return
	}
	for r, until := range s.known {
		if !now.Before(until) {
			delete(s.known, r)
		}
	}
}

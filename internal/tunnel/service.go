package tunnel

import (
	"cmp"
	"context"
	"net"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Workloads gives a workload that the actor may see; see workload.Service.
type Workloads interface {
	Get(ctx context.Context, a identity.Actor, id workload.ID) (workload.Workload, error)
}

// Pods connects to a port of the workload's pod, at the address that the controller observed; see gateway.Pods.
type Pods interface {
	Dial(ctx context.Context, w workload.Workload, port int32) (net.Conn, error)
}

// Options holds the dependencies and settings of the service.
type Options struct {
	Workloads Workloads
	Pods      Pods
	Port      func(w workload.Workload) int32 // on which its image has a server for tunnels; 0 for none
	Rules     Rules
	Alive     func(ctx context.Context) bool // whether the caller is still signed in, as when the session began
	Every     time.Duration                  // between two looks at right and pod; 5 s where 0
	Patience  time.Duration                  // for a side that takes no bytes; 30 s where 0
	Now       func() time.Time
}

// Service opens tunnels. Faults: NotFound for what the actor may not see, Forbidden where there is no tunnel for them,
// TooMany, Conflict for a workload that does not run or has no port for tunnels, Unavailable when nothing answers
// there.
type Service struct {
	o       Options
	closing context.Context
	close   context.CancelFunc

	mu   sync.Mutex
	all  int
	open map[identity.PersonID]int
}

// New makes a service. Close ends every session.
func New(o Options) *Service {
	o.Every, o.Patience = cmp.Or(o.Every, 5*time.Second), cmp.Or(o.Patience, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Alive == nil {
		o.Alive = func(context.Context) bool { return true }
	}
	s := &Service{o: o, open: map[identity.PersonID]int{}}
	s.closing, s.close = context.WithCancel(context.Background())
	return s
}

// Close ends all sessions, since the process stops.
func (s *Service) Close() { s.close() }

// Running is how many sessions there are.
func (s *Service) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// Permit gives the workload to those who may have a tunnel to it.
func (s *Service) Permit(ctx context.Context, a identity.Actor, id workload.ID) (workload.Workload, error) {
	w, err := s.o.Workloads.Get(ctx, a, id)
	if err != nil {
		return workload.Workload{}, err
	}
	return w, s.o.Rules.Permit(a, w, s.o.Now())
}

// Open connects to the pod and counts the session. Run or Close must be called.
func (s *Service) Open(ctx context.Context, a identity.Actor, id workload.ID) (*Session, error) {
	w, err := s.Permit(ctx, a, id)
	if err != nil {
		return nil, err
	}
	port := s.o.Port(w)
	switch {
	case port == 0:
		return nil, fault.New(fault.Conflict, i18n.T("tunnel.no_port"))
	case w.State != workload.Running || w.Observed.Pod == "":
		return nil, fault.New(fault.Conflict, i18n.T("tunnel.not_running"))
	}
	leave, err := s.enter(a)
	if err != nil {
		return nil, err
	}
	conn, err := s.o.Pods.Dial(ctx, w, port)
	if err != nil {
		leave()
		return nil, fault.Wrap(fault.Unavailable, err, i18n.T("tunnel.silent", "Port", port))
	}
	return &Session{service: s, actor: a, workload: w, pod: conn, leave: leave}, nil
}

func (s *Service) enter(a identity.Actor) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, words := a.Person.ID, i18n.Text{}
	switch {
	case s.open[id] >= s.o.Rules.PerPerson:
		words = i18n.T("tunnel.too_many", "Most", s.o.Rules.PerPerson)
	case s.all >= s.o.Rules.Most:
		words = i18n.T("tunnel.full", "Most", s.o.Rules.Most)
	}
	if !words.IsZero() {
		return nil, &fault.Error{Kind: fault.TooMany, Sentence: words, RetryAfter: time.Minute}
	}
	s.open[id]++
	s.all++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.open[id]--; s.open[id] <= 0 {
			delete(s.open, id)
		}
	}), nil
}

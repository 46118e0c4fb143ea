package tunnel

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/session"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Workloads gives a workload that the actor may see; see workload.Service.
type Workloads interface {
	Get(ctx context.Context, a identity.Actor, id workload.ID) (workload.Workload, error)
}

// Record is the audit, which has the start and the end of each tunnel.
type Record interface {
	Append(ctx context.Context, events ...audit.Event) error
}

// Pods connects to a port of the workload's pod, at the address that the controller observed; see gateway.Pods.
type Pods interface {
	// Dials reports whether pods of a cluster can be dialed at all: through an API server only HTTP passes.
	Dials(cluster string) bool
	Dial(ctx context.Context, w workload.Workload, port int32) (net.Conn, error)
}

// Options holds the dependencies and settings of the service.
type Options struct {
	Workloads Workloads
	Pods      Pods
	Record    Record
	Visits    session.Visits // who is inside; nil: nobody notes it
	Rules     Rules
	Alive     func(ctx context.Context) bool // whether the caller is still signed in, as when the session began
	Ended     func(Reason)                   // told of each end, for metrics; nil: nobody counts
	Every     time.Duration                  // between two looks at right and pod; 3 s where 0
	Patience  time.Duration                  // for a side that takes no bytes; 30 s where 0
	Now       func() time.Time
	Logger    *slog.Logger // nil: nothing is logged
}

// Service opens tunnels. Faults: NotFound for what the actor may not see, Forbidden where there is no tunnel for them,
// TooMany, Conflict for a workload that does not run, whose image has no such port, or whose pods cannot be dialed,
// Unavailable when nothing answers there.
type Service struct {
	o    Options
	pool *session.Pool
}

// New makes a service. Close ends every session.
func New(o Options) *Service {
	o.Patience = cmp.Or(o.Patience, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Ended == nil {
		o.Ended = func(Reason) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{o: o, pool: session.NewPool(session.Options{Limits: o.Rules.Limits, Alive: o.Alive, Every: o.Every,
		Words: session.Words{Stopping: i18n.T("tunnel.end_stopping"),
			TooMany: func(most int) i18n.Text { return i18n.T("tunnel.too_many", "Most", most) },
			Full:    func(most int) i18n.Text { return i18n.T("tunnel.full", "Most", most) }}})}
}

// Close ends all sessions, since the process stops, and waits until their clients know and the record has them. After
// it there are no others.
func (s *Service) Close(ctx context.Context) { s.pool.Close(ctx) }

// Running is how many sessions there are.
func (s *Service) Running() int { return s.pool.Running() }

// Rules are those of the site.
func (s *Service) Rules() Rules { return s.o.Rules }

// Permit gives the workload to those who may have a tunnel to it.
func (s *Service) Permit(ctx context.Context, a identity.Actor, id workload.ID) (workload.Workload, error) {
	w, err := s.o.Workloads.Get(ctx, a, id)
	if err != nil {
		return workload.Workload{}, err
	}
	return w, s.o.Rules.Permit(a, w, s.o.Now())
}

// Open connects to a port of the pod, which the image names or numbers ("": its SSH server), and counts the session.
// Run or Close must be called.
func (s *Service) Open(ctx context.Context, a identity.Actor, id workload.ID, port string) (*Session, error) {
	w, err := s.Permit(ctx, a, id)
	if err != nil {
		return nil, err
	}
	number, known := w.Image.Tunneled(port)
	switch {
	case !known:
		return nil, fault.New(fault.Conflict, noPort(w.Image, port))
	case w.State != workload.Running || w.Observed.Pod == "":
		return nil, fault.New(fault.Conflict, i18n.T("tunnel.not_running"))
	case !s.o.Pods.Dials(w.Cluster):
		return nil, fault.New(fault.Conflict, i18n.T("tunnel.http_only", "Cluster", w.Cluster))
	}
	leave, err := s.pool.Enter(a.Person.ID)
	if err != nil {
		return nil, err
	}
	conn, err := s.o.Pods.Dial(ctx, w, number)
	if err != nil {
		leave()
		return nil, fault.Wrap(fault.Unavailable, err, i18n.T("tunnel.silent", "Port", digits(number)))
	}
	return &Session{service: s, actor: a, workload: w, port: number, pod: conn, leave: leave}, nil
}

// noPort says which ports there are instead.
func noPort(i catalog.Image, port string) i18n.Text {
	switch names := i.PortNames(); {
	case port == "":
		return i18n.T("tunnel.no_port")
	case len(names) == 0:
		return i18n.T("tunnel.no_ports")
	default:
		return i18n.T("tunnel.no_such_port", "Port", port, "Names", strings.Join(names, ", "))
	}
}

// digits is a port as text: a number would be grouped.
func digits(port int32) string { return strconv.Itoa(int(port)) }

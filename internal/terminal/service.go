package terminal

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Workloads gives a workload that the actor may see; see workload.Service.
type Workloads interface {
	Get(ctx context.Context, a identity.Actor, id workload.ID) (workload.Workload, error)
}

// Record keeps events; see store.Store.
type Record interface {
	Append(ctx context.Context, events ...audit.Event) error
}

// Cluster is a cluster with the rights of reconcile.Rights.Terminal.
type Cluster struct {
	Config *rest.Config
	Client kubernetes.Interface
}

// NewCluster makes clients that wait for no rate limit of the controller's.
func NewCluster(config *rest.Config) (Cluster, error) {
	c := rest.CopyConfig(config)
	c.UserAgent, c.QPS = "gpu-portal-terminal", -1
	client, err := kubernetes.NewForConfig(c)
	return Cluster{c, client}, err
}

// Options holds the dependencies and settings of the service.
type Options struct {
	Workloads Workloads
	Record    Record
	Clusters  map[string]Cluster // by name
	Rules     Rules
	Alive     func(ctx context.Context) bool // whether the caller is still signed in, as when the session began
	Ended     func(Reason)                   // told of each end, for metrics; nil: nobody counts
	Every     time.Duration                  // between two looks at rights and pod; 3 s where 0
	Patience  time.Duration                  // for a client that takes no output; 2 min where 0
	Now       func() time.Time
	Logger    *slog.Logger // nil: nothing is logged
}

// Service opens terminals. Faults: NotFound for what the actor may not see, Forbidden where there is no terminal for
// them, TooMany, Conflict without a container that runs, Unavailable when the cluster is away or refuses.
type Service struct {
	o       Options
	closing context.Context
	close   context.CancelFunc

	mu   sync.Mutex
	all  int
	open map[identity.PersonID]int
	none chan struct{} // closed when no session is left after Close
}

// New makes a service. Close ends every session.
func New(o Options) *Service {
	o.Every, o.Patience = cmp.Or(o.Every, 3*time.Second), cmp.Or(o.Patience, 2*time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Ended == nil {
		o.Ended = func(Reason) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Alive == nil {
		o.Alive = func(context.Context) bool { return true }
	}
	s := &Service{o: o, open: map[identity.PersonID]int{}, none: make(chan struct{})}
	s.closing, s.close = context.WithCancel(context.Background())
	return s
}

// Close ends all sessions, since the process stops, and waits until their clients know and the record has them. After
// it there are no others.
func (s *Service) Close(ctx context.Context) {
	s.mu.Lock()
	if s.closing.Err() == nil {
		s.close()
		s.empty()
	}
	s.mu.Unlock()
	select {
	case <-s.none:
	case <-ctx.Done():
	}
}

// empty tells Close that it need not wait; the lock is held.
func (s *Service) empty() {
	if s.all == 0 && s.closing.Err() != nil {
		close(s.none)
	}
}

// Rules are those of the site.
func (s *Service) Rules() Rules { return s.o.Rules }

// Running is how many sessions there are.
func (s *Service) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// Permit gives the workload to those who may have a terminal in it.
func (s *Service) Permit(ctx context.Context, a identity.Actor, id workload.ID) (workload.Workload, error) {
	w, err := s.o.Workloads.Get(ctx, a, id)
	if err != nil {
		return workload.Workload{}, err
	}
	return w, s.o.Rules.Permit(a, w, s.o.Now())
}

// Open prepares a session and counts it. Run or Close must be called.
func (s *Service) Open(ctx context.Context, a identity.Actor, id workload.ID) (*Session, error) {
	w, err := s.Permit(ctx, a, id)
	if err != nil {
		return nil, err
	}
	pod, err := s.pod(ctx, w)
	if err != nil {
		return nil, err
	}
	leave, err := s.enter(a)
	if err != nil {
		return nil, err
	}
	return &Session{service: s, actor: a, workload: w, uid: pod.UID, leave: leave}, nil
}

const askWithin = 15 * time.Second

// pod is the workload's pod, with its container running. A name alone may be somebody else's pod by now.
func (s *Service) pod(ctx context.Context, w workload.Workload) (*corev1.Pod, error) {
	cluster, there := s.o.Clusters[w.Cluster]
	if !there {
		return nil, fault.New(fault.Unavailable, i18n.T("terminal.away", "Cluster", w.Cluster))
	}
	if w.Observed.Pod == "" {
		return nil, fault.New(fault.Conflict, i18n.T("terminal.no_pod"))
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	pod, err := cluster.Client.CoreV1().Pods(w.Namespace).Get(ctx, w.Observed.Pod, metav1.GetOptions{})
	if err != nil {
		return nil, refused(err, w)
	}
	if pod.Labels[kube.WorkloadKey] != string(w.ID) || !runs(pod) {
		return nil, fault.New(fault.Conflict, i18n.T("terminal.no_pod"))
	}
	return pod, nil
}

func runs(pod *corev1.Pod) bool {
	for _, c := range pod.Status.ContainerStatuses {
		if kube.Serves(c.Name) {
			return c.State.Running != nil && pod.DeletionTimestamp == nil
		}
	}
	return false
}

// refused says what the API server had against a call.
func refused(err error, w workload.Workload) error {
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fault.Wrap(fault.Unavailable, err, i18n.T("terminal.no_right", "Namespace", w.Namespace, "Cluster",
			w.Cluster))
	case apierrors.IsNotFound(err):
		return fault.Wrap(fault.Conflict, err, i18n.T("terminal.no_pod"))
	}
	return fault.Wrap(fault.Unavailable, err, i18n.T("terminal.away", "Cluster", w.Cluster))
}

func (s *Service) enter(a identity.Actor) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, words := a.Person.ID, i18n.Text{}
	switch {
	case s.closing.Err() != nil:
		return nil, fault.New(fault.Unavailable, i18n.T("terminal.end_stopping"))
	case s.open[id] >= s.o.Rules.PerPerson:
		words = i18n.T("terminal.too_many", "Most", s.o.Rules.PerPerson)
	case s.all >= s.o.Rules.Most:
		words = i18n.T("terminal.full", "Most", s.o.Rules.Most)
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
		s.empty()
	}), nil
}

// over is the cause of a session's end.
type over struct{ reason Reason }

func (o over) Error() string { return string(o.reason) }

func reasonOf(ctx context.Context) (Reason, bool) {
	var o over
	if errors.As(context.Cause(ctx), &o) {
		return o.reason, true
	}
	return Left, ctx.Err() != nil
}

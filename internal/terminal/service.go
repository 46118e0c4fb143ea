package terminal

import (
	"cmp"
	"context"
	"log/slog"
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
	"github.com/gpu-portal/gpu-portal/internal/session"
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
	Visits    session.Visits     // who is inside; nil: nobody notes it
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
	o    Options
	pool *session.Pool
}

// New makes a service. Close ends every session.
func New(o Options) *Service {
	o.Patience = cmp.Or(o.Patience, 2*time.Minute)
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
		Words: session.Words{Stopping: i18n.T("terminal.end_stopping"),
			TooMany: func(most int) i18n.Text { return i18n.T("terminal.too_many", "Most", most) },
			Full:    func(most int) i18n.Text { return i18n.T("terminal.full", "Most", most) }}})}
}

// Close ends all sessions, since the process stops, and waits until their clients know and the record has them. After
// it there are no others.
func (s *Service) Close(ctx context.Context) { s.pool.Close(ctx) }

// Rules are those of the site.
func (s *Service) Rules() Rules { return s.o.Rules }

// Running is how many sessions there are.
func (s *Service) Running() int { return s.pool.Running() }

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
	leave, err := s.pool.Enter(a.Person.ID)
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

package podlogs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

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

// Options holds the dependencies and settings of the service.
type Options struct {
	Workloads Workloads
	Clusters  map[string]kubernetes.Interface // by name
	Token     func(workload.Workload) string  // the workload's own secret, as it is mounted
	// Hidden are the values of the workload's secrets; an error lets nothing be read. nil: there are none.
	Hidden func(context.Context, workload.Workload) ([]string, error)
	// Stores keep logs of pods that are gone, by cluster; none: a log ends with its pod.
	Stores map[string]Store
	// Namesakes are the workloads that have or had one of some names in a namespace; needed with Stores.
	Namesakes func(ctx context.Context, cluster, namespace string, names []string) ([]workload.Namesake, error)
	Alive     func(ctx context.Context) bool // whether the caller is still signed in, as when the stream began
	Most      int                            // streams that one person may follow at once; 16 where 0
	Every     time.Duration                  // between two looks at the rights of who follows; 10 s where 0
	Now       func() time.Time
}

// Service reads logs and events. Faults: NotFound for what the actor may not see, Forbidden for a workload that one may
// see and whose logs one may not, Conflict where there is no such log now, Unavailable when the cluster is away or has
// not granted the right.
type Service struct {
	o       Options
	closing context.Context
	close   context.CancelFunc

	mu   sync.Mutex
	open map[identity.PersonID]int
}

// New makes a service. Close ends every stream.
func New(o Options) *Service {
	o.Most, o.Every = cmp.Or(o.Most, 16), cmp.Or(o.Every, 10*time.Second)
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

// Close ends all streams, since the process stops.
func (s *Service) Close() { s.close() }

// Client is one for logs: its rights are those of reconcile.Rights.Logs, and it waits for no rate limit of the
// controller's.
func Client(config *rest.Config) (kubernetes.Interface, error) {
	c := rest.CopyConfig(config)
	c.UserAgent, c.QPS = "gpu-portal-logs", -1
	return kubernetes.NewForConfig(c)
}

// askWithin bounds every call but a stream that is followed.
const askWithin = 15 * time.Second

// Container is one of a pod, as far as its log is concerned.
type Container struct {
	Name     string
	Init     bool
	Restarts int32
	Previous bool // there is a log from before the last restart
}

// pod is the workload's pod. It is asked for anew: a name alone may be somebody else's pod by now.
func (s *Service) pod(ctx context.Context, w workload.Workload) (*corev1.Pod, error) {
	client, err := s.client(w)
	if err != nil {
		return nil, err
	}
	switch {
	case w.Observed.Pod != "":
	case w.PlacedAt.IsZero():
		return nil, fault.New(fault.Conflict, i18n.T("podlogs.no_pod"))
	default:
		return nil, fault.Wrap(fault.Conflict, errGone, i18n.T("podlogs.no_pod"))
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	pod, err := client.CoreV1().Pods(w.Namespace).Get(ctx, w.Observed.Pod, metav1.GetOptions{})
	if err != nil {
		return nil, refused(err, w, "pods")
	}
	if pod.Labels[kube.WorkloadKey] != string(w.ID) {
		return nil, fault.Wrap(fault.Conflict, errGone, i18n.T("podlogs.gone"))
	}
	return pod, nil
}

func (s *Service) client(w workload.Workload) (kubernetes.Interface, error) {
	client := s.o.Clusters[w.Cluster]
	if client == nil {
		return nil, fault.New(fault.Unavailable, i18n.T("podlogs.away", "Cluster", w.Cluster))
	}
	return client, nil
}

// allowed gives the workload to those who may read its logs.
func (s *Service) allowed(ctx context.Context, a identity.Actor, id workload.ID) (workload.Workload, error) {
	w, err := s.o.Workloads.Get(ctx, a, id)
	if err != nil {
		return workload.Workload{}, err
	}
	if !identity.Can(a, identity.ReadLogs, w.ResourceAt(s.o.Now())) {
		return workload.Workload{}, fault.New(fault.Forbidden, i18n.T("podlogs.not_shared", "Owner", w.OwnerName))
	}
	return w, nil
}

// Containers lists those of the workload's pod, its own first.
func (s *Service) Containers(ctx context.Context, a identity.Actor, id workload.ID) ([]Container, error) {
	w, err := s.allowed(ctx, a, id)
	if err != nil {
		return nil, err
	}
	pod, err := s.pod(ctx, w)
	if errors.Is(err, errGone) && s.o.Stores[w.Cluster] != nil {
		return []Container{{Name: kube.MainContainer(w)}}, nil
	}
	if err != nil {
		return nil, err
	}
	return containersOf(pod), nil
}

func containersOf(pod *corev1.Pod) []Container {
	var all []Container
	add := func(specs []corev1.Container, states []corev1.ContainerStatus, first bool) {
		for _, spec := range specs {
			c := Container{Name: spec.Name, Init: first}
			for _, state := range states {
				if state.Name == spec.Name {
					c.Restarts, c.Previous = state.RestartCount, state.LastTerminationState.Terminated != nil
				}
			}
			all = append(all, c)
		}
	}
	add(pod.Spec.Containers, pod.Status.ContainerStatuses, false)
	add(pod.Spec.InitContainers, pod.Status.InitContainerStatuses, true)
	slices.SortStableFunc(all, func(a, b Container) int {
		return cmp.Compare(order(a), order(b))
	})
	return all
}

func order(c Container) int {
	switch {
	case kube.Serves(c.Name):
		return 0
	case c.Init:
		return 2
	}
	return 1
}

// Reader is an open log. Next gives its lines; Close must be called.
type Reader struct {
	Container string
	first     []i18n.Text // said before the lines
	upstream  <-chan opened
	lines     *scanner
	body      io.Closer
	limited   bool
	kept      bool // it is of a log store, and whole
	ended     bool
	ctx       context.Context
	end       context.CancelCauseFunc
	leave     func()
}

type opened struct {
	body io.ReadCloser
	err  error
}

// quiet is how long a stream may take to say that it is open: the API server sends nothing, not even its status, before
// the container writes. What is refused is refused at once.
const quiet = 2 * time.Second

// Open opens a log. The answer is no error before the cluster has agreed to send it. What the cluster no longer has
// comes from the log store, where there is one.
func (s *Service) Open(ctx context.Context, a identity.Actor, id workload.ID, q Query) (*Reader, error) {
	w, err := s.allowed(ctx, a, id)
	if err != nil {
		return nil, err
	}
	if q.Rollout {
		w.Observed.Pod = ""
		if seen := w.Observed.Rollout; seen != nil {
			w.Observed.Pod = seen.Pod
		}
	}
	if w, err = ofPod(w, q.Pod); err != nil {
		return nil, err
	}
	r, err := s.live(ctx, a, w, q)
	if store := s.o.Stores[w.Cluster]; err != nil && store != nil && !q.Rollout {
		var before *restarted
		if errors.Is(err, errGone) || errors.As(err, &before) {
			return s.kept(ctx, store, w, q, before, err)
		}
	}
	return r, err
}

// live opens a log of the cluster.
func (s *Service) live(ctx context.Context, a identity.Actor, w workload.Workload, q Query) (*Reader, error) {
	pod, err := s.pod(ctx, w)
	if err != nil {
		return nil, err
	}
	container, err := choose(containersOf(pod), q.Container)
	if err != nil {
		return nil, err
	}
	r := &Reader{Container: container, limited: !q.Follow, leave: func() {}}
	if q.Follow {
		if r.leave, err = s.enter(a); err != nil {
			return nil, err
		}
	}
	s.begin(ctx, a, w, q, r)
	secrets, err := s.hidden(ctx, w)
	if err == nil {
		err = r.await(w, pod, q, secrets)
	}
	if err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// hidden are the secrets that the portal mounted.
func (s *Service) hidden(ctx context.Context, w workload.Workload) (list []string, err error) {
	if w.Image.TokenEnv != "" && s.o.Token != nil {
		list = append(list, s.o.Token(w))
	}
	if len(w.Secrets) == 0 || s.o.Hidden == nil {
		return list, nil
	}
	values, err := s.o.Hidden(ctx, w)
	return append(list, values...), err
}

// ofPod is the workload as its pod of that name has it; "" leaves it as it is.
func ofPod(w workload.Workload, name string) (workload.Workload, error) {
	if name == "" || name == w.Observed.Pod {
		return w, nil
	}
	if !slices.ContainsFunc(w.Observed.Pods, func(r workload.Replica) bool { return r.Pod == name }) {
		return w, fault.InvalidFields([]fault.Field{{Name: "pod", Reason: i18n.T("podlogs.no_pod_named", "Name",
			shorten(name, 100))}})
	}
	w.Observed.Pod = name
	return w, nil
}

func choose(all []Container, name string) (string, error) {
	if name == "" && len(all) > 0 {
		return all[0].Name, nil
	}
	if slices.ContainsFunc(all, func(c Container) bool { return c.Name == name }) {
		return name, nil
	}
	return "", noContainer(name)
}

func noContainer(name string) error {
	return fault.InvalidFields([]fault.Field{{Name: "container", Reason: i18n.T("podlogs.no_container", "Name",
		shorten(name, 100))}})
}

// enter counts a stream of somebody; the answer gives it back.
func (s *Service) enter(a identity.Actor) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := a.Person.ID
	if s.open[id] >= s.o.Most {
		return nil, &fault.Error{Kind: fault.TooMany, Sentence: i18n.T("podlogs.too_many", "Most", s.o.Most),
			RetryAfter: time.Minute}
	}
	s.open[id]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[id]--; s.open[id] <= 0 {
			delete(s.open, id)
		}
	}), nil
}

// Following is how many streams are followed.
func (s *Service) Following() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, open := range s.open {
		n += open
	}
	return n
}

// stopped is why a stream ended that the cluster would have gone on with.
type stopped struct{ note i18n.Text }

func (s stopped) Error() string { return s.note.ID }

// begin asks the API server; the answer comes over r.upstream.
func (s *Service) begin(ctx context.Context, a identity.Actor, w workload.Workload, q Query, r *Reader) {
	r.ctx, r.end = context.WithCancelCause(ctx)
	answer := make(chan opened, 1)
	r.upstream = answer
	var unhook func() bool
	if q.Follow {
		unhook = context.AfterFunc(s.closing, func() { r.end(stopped{i18n.T("podlogs.stopping")}) })
		go s.guard(r, a, w.ID)
	} else {
		unhook = time.AfterFunc(askWithin, func() { r.end(context.DeadlineExceeded) }).Stop
	}
	context.AfterFunc(r.ctx, func() { unhook() })
	request := s.o.Clusters[w.Cluster].CoreV1().Pods(w.Namespace).GetLogs(w.Observed.Pod, q.options(r.Container))
	streaming := r.ctx
	go func() {
		body, err := request.Stream(streaming)
		answer <- opened{body, err}
	}()
}

// guard ends a stream when who follows may no longer do so.
func (s *Service) guard(r *Reader, a identity.Actor, id workload.ID) {
	tick := time.NewTicker(s.o.Every)
	defer tick.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-tick.C:
		}
		if _, err := s.allowed(r.ctx, a, id); fault.Is(err, fault.NotFound) || fault.Is(err, fault.Forbidden) ||
			!s.o.Alive(r.ctx) {
			r.end(stopped{i18n.T("podlogs.no_longer")})
			return
		}
	}
}

// await takes the cluster's answer, or what has been of it by now where a quiet log is followed.
func (r *Reader) await(w workload.Workload, pod *corev1.Pod, q Query, secrets []string) error {
	patience := time.NewTimer(quiet)
	defer patience.Stop()
	var silent <-chan time.Time
	if q.Follow {
		silent = patience.C
	}
	take := func(o opened) error {
		if o.err != nil {
			return refusedLog(o.err, w, pod, r.Container)
		}
		r.body, r.lines, r.upstream = o.body, newScanner(o.body, secrets), nil
		return nil
	}
	select {
	case o := <-r.upstream:
		return take(o)
	case <-silent:
		r.lines = newScanner(lazy{r, take}, secrets)
		return nil
	case <-r.ctx.Done():
		return fault.Wrap(fault.Unavailable, context.Cause(r.ctx), i18n.T("podlogs.away", "Cluster", w.Cluster))
	}
}

// lazy is a stream that has not begun.
type lazy struct {
	r    *Reader
	take func(opened) error
}

func (l lazy) Read(into []byte) (int, error) {
	if l.r.body == nil {
		select {
		case o := <-l.r.upstream:
			if o.err != nil {
				return 0, l.take(o)
			}
			l.r.body = o.body
		case <-l.r.ctx.Done():
			return 0, context.Cause(l.r.ctx)
		}
	}
	return l.r.body.(io.Reader).Read(into)
}

// Next gives the next line; io.EOF after the last. What cuts a log short is said by a last line with a note.
func (r *Reader) Next() (Line, error) {
	if r.ended {
		return Line{}, io.EOF
	}
	if len(r.first) > 0 {
		note := r.first[0]
		r.first = r.first[1:]
		return Line{Note: note}, nil
	}
	line, err := r.lines.next()
	if err == nil {
		return line, nil
	}
	r.ended = true
	if note := r.note(err); !note.IsZero() {
		return Line{Note: note}, nil
	}
	return Line{}, io.EOF
}

// buffered reports whether more can be read without waiting.
func (r *Reader) buffered() bool { return !r.ended && r.lines.in.Buffered() > 0 }

// note says why a log ends before its time; zero where it does not, or where nobody reads it any more.
func (r *Reader) note(err error) i18n.Text {
	var refusal *fault.Error
	if why, ok := context.Cause(r.ctx).(stopped); ok {
		return why.note
	}
	switch {
	case r.kept:
		return i18n.Text{}
	case r.ctx.Err() != nil && r.limited:
		return i18n.T("podlogs.slow")
	case r.ctx.Err() != nil:
		return i18n.Text{}
	case errors.As(err, &refusal):
		return refusal.Sentence
	case !errors.Is(err, io.EOF):
		return i18n.T("podlogs.broken")
	case r.limited && r.lines.read >= mostBytes:
		return i18n.T("podlogs.limited", "MiB", mostBytes>>20)
	case !r.limited:
		return i18n.T("podlogs.over")
	}
	return i18n.Text{}
}

// Close ends the stream.
func (r *Reader) Close() error {
	r.end(context.Canceled)
	r.leave()
	if r.body != nil {
		return r.body.Close()
	}
	if waiting := r.upstream; waiting != nil {
		go func() { // the call ends with its context; what it opened meanwhile is closed
			if o := <-waiting; o.body != nil {
				_ = o.body.Close()
			}
		}()
	}
	return nil
}

// Read gives all lines of a log that is not followed, within the bounds of one answer.
func (s *Service) Read(ctx context.Context, a identity.Actor, id workload.ID, q Query) ([]Line, error) {
	q.Follow = false
	r, err := s.Open(ctx, a, id, q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	var lines []Line
	for {
		line, err := r.Next()
		if err != nil {
			return lines, nil
		}
		lines = append(lines, line)
	}
}

// Write puts a line as text, with its time where that is wanted; what was cut is marked.
func (l Line) Write(to io.Writer, say func(i18n.Text) string, timestamps bool) error {
	text := l.Text
	switch {
	case !l.Note.IsZero():
		text = "[" + say(l.Note) + "]"
	case l.Cut > 0:
		text += " […" + say(i18n.T("podlogs.cut", "Bytes", l.Cut)) + "]"
	}
	if timestamps && !l.At.IsZero() {
		text = l.At.Format(time.RFC3339Nano) + " " + text
	}
	_, err := fmt.Fprintln(to, text)
	return err
}

package terminal

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/session"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Size is that of a window, in characters.
type Size struct{ Columns, Rows uint16 }

// Input is what comes from a client: keys, or with none another size.
type Input struct {
	Keys []byte
	Size Size
}

// Client is who sits at the terminal. Its calls end with their context.
type Client interface {
	Read(ctx context.Context) (Input, error)
	Write(ctx context.Context, output []byte) error
	// End is called once, after all output: how it ended, in words.
	End(ctx context.Context, words i18n.Text)
}

// Session is one terminal.
type Session struct {
	service  *Service
	actor    identity.Actor
	workload workload.Workload
	uid      types.UID
	leave    func()
}

// Workload is the one it is in.
func (s *Session) Workload() workload.Workload { return s.workload }

// Close gives the place back of a session that does not run.
func (s *Session) Close() { s.leave() }

// shell is bash where the image has it.
var shell = []string{"sh", "-c", "export TERM=xterm-256color; command -v bash >/dev/null && exec bash; exec sh"}

// Run starts the shell and stays until the session is over. An error: the cluster did not start it, or it could not be
// recorded that it starts; the client knows that too.
func (s *Session) Run(ctx context.Context, client Client) (End, error) {
	defer s.leave()
	o, began := s.service.o, s.service.o.Now()
	if err := s.record(ctx, audit.TerminalOpened, i18n.T("terminal.opened", "Container", kube.ContainerName)); err != nil {
		s.tell(ctx, client, Words(err))
		return End{Reason: Refused}, err
	}
	end, err := s.run(ctx, client)
	end.Lasted = o.Now().Sub(began)
	words := end.Words()
	if err != nil {
		end.Reason, words = Refused, Words(err)
		o.Logger.WarnContext(ctx, "a terminal did not start", "workload", s.workload.ID, "error", err)
	}
	o.Ended(end.Reason)
	s.tell(ctx, client, words)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	if failed := s.record(ctx, audit.TerminalClosed, i18n.T("terminal.closed", "Container", kube.ContainerName, "For",
		catalog.Duration(end.Lasted.Round(time.Second)).String(), "End", words)); failed != nil {
		o.Logger.ErrorContext(ctx, "the end of a terminal could not be recorded", "workload", s.workload.ID, "person",
			s.actor.Person.ID, "reason", end.Reason, "error", failed)
	}
	return end, err
}

// Bounds of what comes after a session.
const (
	tellWithin   = 2 * time.Second
	recordWithin = 5 * time.Second
)

// tell says the end to a client that may have gone.
func (s *Session) tell(ctx context.Context, client Client, words i18n.Text) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellWithin)
	defer cancel()
	client.End(ctx, words)
}

// Words are what an error of this package says to people.
func Words(err error) i18n.Text {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Sentence
	}
	return i18n.T("terminal.end_broken")
}

func (s *Session) record(ctx context.Context, kind audit.Kind, detail i18n.Text) error {
	w := s.workload
	e := audit.By(s.actor, kind, s.service.o.Now())
	e.Tenant, e.Workload, e.Detail = w.Tenant, string(w.ID), detail
	return s.service.o.Record.Append(ctx, e)
}

func (s *Session) run(ctx context.Context, client Client) (End, error) {
	life := s.service.pool.Begin(ctx, session.Present(s.check, s.service.o.Visits, s.actor.Person.ID,
		s.workload.ID, s.service.o.Now))
	defer life.Stop()
	ctx = life.Context()

	executor, err := s.executor(ctx, corev1.PodExecOptions{Stdin: true, Stdout: true, TTY: true, Command: shell})
	if err != nil {
		return End{}, err
	}
	keys, typed := io.Pipe()
	defer func() { _ = keys.Close() }()
	sizes := &sizes{ctx: ctx, next: make(chan remotecommand.TerminalSize, 1)}
	go read(life, client, typed, sizes)
	out := &output{life: life, client: client, patience: s.service.o.Patience}
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: keys, Stdout: out, Tty: true,
		TerminalSizeQueue: sizes})
	var finished End
	finished.Reason, finished.Code, err = s.judge(life, err)
	return finished, err
}

// judge says how the stream ended. What the session was ended for comes before what the stream then says.
func (s *Session) judge(life *session.Life, err error) (Reason, int, error) {
	if reason, ended := life.Reason(); ended {
		return reason, 0, nil
	}
	var code utilexec.CodeExitError
	var status *apierrors.StatusError
	asked := context.WithoutCancel(life.Context())
	switch {
	case err == nil:
		return Exited, 0, nil
	case errors.As(err, &code) && s.there(asked):
		return Exited, code.Code, nil
	case errors.As(err, &code):
		return PodGone, 0, nil
	case errors.As(err, &status):
		return "", 0, refused(err, s.workload)
	case !s.there(asked):
		return PodGone, 0, nil
	}
	return Broken, 0, nil
}

// there reports whether the pod is still the one of the beginning, and runs. A cluster that does not answer says
// nothing.
func (s *Session) there(ctx context.Context) bool {
	pod, err := s.service.pod(ctx, s.workload)
	return err == nil && pod.UID == s.uid || err != nil && !fault.Is(err, fault.Conflict)
}

// check ends a session when who has it may no longer, or its pod went away.
func (s *Session) check(ctx context.Context) Reason {
	_, err := s.service.Permit(ctx, s.actor, s.workload.ID)
	switch {
	case session.Denied(err):
		return NoLonger
	case !s.there(ctx):
		return PodGone
	}
	return ""
}

func (s *Session) executor(ctx context.Context, o corev1.PodExecOptions) (remotecommand.Executor, error) {
	cluster := s.service.o.Clusters[s.workload.Cluster]
	o.Container = kube.MainContainer(s.workload)
	at := cluster.Client.CoreV1().RESTClient().Post().Resource("pods").Namespace(s.workload.Namespace).
		Name(s.workload.Observed.Pod).SubResource("exec").VersionedParams(&o, scheme.ParameterCodec).URL()
	config, at, err := pinned(ctx, cluster.Config, at)
	if err != nil {
		return nil, err
	}
	sockets, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, at.String())
	if err != nil {
		return nil, err
	}
	spdy, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, at)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(sockets, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}

// read passes on what the client sends, until it goes away.
func read(life *session.Life, client Client, typed *io.PipeWriter, sizes *sizes) {
	defer func() { _ = typed.Close() }()
	for {
		in, err := client.Read(life.Context())
		if err != nil {
			life.End(Left)
			return
		}
		life.Stir()
		if len(in.Keys) == 0 {
			sizes.set(in.Size)
			continue
		}
		if _, err := typed.Write(in.Keys); err != nil {
			return
		}
	}
}

// output passes on what the shell writes. It keeps nothing: a write waits for the client.
type output struct {
	life     *session.Life
	client   Client
	patience time.Duration
}

func (o *output) Write(p []byte) (int, error) {
	o.life.Stir()
	ctx, cancel := context.WithTimeout(o.life.Context(), o.patience)
	defer cancel()
	err := o.client.Write(ctx, p)
	switch {
	case err == nil:
		return len(p), nil
	case o.life.Context().Err() == nil && ctx.Err() != nil:
		o.life.End(Slow)
	default:
		o.life.End(Left)
	}
	return 0, err
}

// sizes has the newest size that the shell was not told yet.
type sizes struct {
	ctx  context.Context
	next chan remotecommand.TerminalSize
	mu   sync.Mutex
}

func (s *sizes) set(size Size) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.next:
	default:
	}
	s.next <- remotecommand.TerminalSize{Width: size.Columns, Height: size.Rows}
}

// Next waits for another size; nil at the end.
func (s *sizes) Next() *remotecommand.TerminalSize {
	select {
	case size := <-s.next:
		return &size
	case <-s.ctx.Done():
		return nil
	}
}

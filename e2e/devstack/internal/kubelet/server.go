package kubelet

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

// Serve answers at addr with a certificate until ctx ends.
func Serve(ctx context.Context, addr, cert, key string, handler http.Handler) error {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.ServeTLS(l, "", "") }()
	return nil
}

// Handler answers for all nodes.
func Handler(cluster *world.Cluster, logs *Logs, shells *Shells) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		pod, ok := podOf(cluster, w, r)
		if !ok {
			return
		}
		query := r.URL.Query()
		container, previous := r.PathValue("container"), query.Get("previous") == "true"
		if refusal := refuse(pod, container, previous); refusal != "" {
			http.Error(w, refusal, http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		s := sending{w: w, logs: logs, cluster: cluster, pod: pod, container: container, previous: previous, query: query}
		s.run(r.Context())
	})
	run := func(w http.ResponseWriter, r *http.Request) { exec(cluster, shells, w, r) }
	mux.HandleFunc("GET /exec/{namespace}/{pod}/{container}", run)
	mux.HandleFunc("POST /exec/{namespace}/{pod}/{container}", run)
	return mux
}

// podOf is the pod that a path names; where it is not there, that is answered.
func podOf(cluster *world.Cluster, w http.ResponseWriter, r *http.Request) (*corev1.Pod, bool) {
	pod := cluster.Pod(r.PathValue("namespace"), r.PathValue("pod"))
	if pod == nil {
		http.Error(w, "pod does not exist", http.StatusNotFound)
		return nil, false
	}
	if node := cluster.Node(pod.Spec.NodeName); node == nil || node.Annotations[nodes.FailedAnnotation] != "" {
		panic(http.ErrAbortHandler) // a node that is lost says nothing
	}
	return pod, true
}

// refuse is why a container has no log; "" where it has one.
func refuse(pod *corev1.Pod, container string, previous bool) string {
	s := statusOf(pod, container)
	switch {
	case s == nil:
		return fmt.Sprintf("container %q in pod %q is not available", container, pod.Name)
	case previous && s.LastTerminationState.Terminated == nil:
		return fmt.Sprintf("previous terminated container %q in pod %q not found", container, pod.Name)
	case previous, s.State.Running != nil, s.State.Terminated != nil, s.LastTerminationState.Terminated != nil:
		return ""
	case s.State.Waiting == nil:
		return fmt.Sprintf("container %q in pod %q is waiting to start - no logs yet", container, pod.Name)
	}
	reason := s.State.Waiting.Reason
	switch reason {
	case "ErrImagePull":
		reason = "image can't be pulled"
	case "ImagePullBackOff":
		reason = "trying and failing to pull image"
	}
	return fmt.Sprintf("container %q in pod %q is waiting to start: %s", container, pod.Name, reason)
}

// sending is one answer.
type sending struct {
	w         http.ResponseWriter
	logs      *Logs
	cluster   *world.Cluster
	pod       *corev1.Pod
	container string
	previous  bool
	query     url.Values
	sent      int // bytes
}

func (s *sending) run(ctx context.Context) {
	lines, more := s.logs.Of(s.pod, s.container, s.previous)
	at := max(len(lines)-s.number("tailLines", len(lines)), 0)
	seconds := s.number("sinceSeconds", 0)
	for {
		for ; at < len(lines); at++ {
			if seconds > 0 && time.Since(lines[at].At) > time.Duration(seconds)*time.Second {
				continue
			}
			if !s.write(lines[at]) {
				return
			}
		}
		if s.query.Get("follow") != "true" || s.cluster.Pod(s.pod.Namespace, s.pod.Name) == nil {
			return
		}
		_ = http.NewResponseController(s.w).Flush()
		select {
		case <-ctx.Done():
			return
		case <-more:
		}
		lines, more = s.logs.Of(s.pod, s.container, s.previous)
		at = min(at, len(lines))
	}
}

func (s *sending) number(name string, none int) int {
	if n, err := strconv.Atoi(s.query.Get(name)); err == nil {
		return n
	}
	return none
}

func (s *sending) write(l Line) bool {
	text := l.Text + "\n"
	if s.query.Get("timestamps") == "true" {
		text = l.At.UTC().Format(time.RFC3339Nano) + " " + text
	}
	if limit := s.number("limitBytes", 0); limit > 0 && s.sent+len(text) >= limit {
		_, _ = io.WriteString(s.w, text[:limit-s.sent])
		return false
	}
	s.sent += len(text)
	_, err := io.WriteString(s.w, text)
	return err == nil
}

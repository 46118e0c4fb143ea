// Package control is the API with which tests make things go wrong: parts stop or hang, nodes are lost, pods fail, GPUs
// or CPUs are busy or idle. It listens on loopback under a path that cannot be guessed.
//
//	GET  /status                                   parts, routes, loads, lost nodes
//	GET  /holders/{node}                           which pod holds which device
//	POST /stop/{part}[?signal=KILL]  POST /start/{part}   (start waits until the part is ready)
//	POST /freeze/{part}              POST /thaw/{part}
//	PUT  /routes?pod=NS/NAME&port=8888&to=127.0.0.1:PORT   DELETE /routes?pod=NS/NAME&port=8888
//	PUT  /load?pod=NS/NAME&value=0.9                       DELETE /load?pod=NS/NAME
//	PUT  /cpu?pod=NS/NAME&value=0.9                        DELETE /cpu?pod=NS/NAME   (its CPUs, and its network)
//	PUT  /memory?pod=NS/NAME&value=0.1                     DELETE /memory?pod=NS/NAME   (the part that it fills)
//	PUT  /notebook?pod=NS/NAME&last_activity=TIME&kernels=1&state=idle
//	PUT  /log?pod=NS/NAME[&container=main][&previous=true]  POST adds to it   (the body is what the container wrote)
//	PUT  /xid?node=NAME&gpu=0&xid=79
//	POST /nodes/{name}/fail          POST /nodes/{name}/restore
//	POST /nodes/{name}/unlicense     POST /nodes/{name}/license   (the licenses of its vGPUs)
//	POST /pods/fail?pod=NS/NAME&reason=OOMKilled&code=137
//
// Parts: etcd, apiserver, controller-manager, scheduler, kwok, prometheus, signin, socks. Answers are JSON; an error
// has the status 400 or 404 and {"error": "..."}.
package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/cadvisor"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/gpus"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/kubelet"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/part"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/socks"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/stub"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

// Control is what the API acts on.
type Control struct {
	Group      *part.Group
	Cluster    *world.Cluster
	Hardware   *gpus.Hardware
	Containers *cadvisor.Counters
	Network    *stub.Network
	SOCKS      *socks.Port
	Logs       *kubelet.Logs
	Context    context.Context // of the whole devstack: a part that was started outlives the request
}

// Handler serves the API below /secret/.
func (c *Control) Handler(secret string) http.Handler {
	mux := http.NewServeMux()
	for pattern, action := range map[string]func(*http.Request) (any, error){
		"GET /status":                  c.status,
		"GET /holders/{node}":          c.holders,
		"POST /stop/{part}":            c.stop,
		"POST /start/{part}":           c.start,
		"POST /freeze/{part}":          c.freeze,
		"POST /thaw/{part}":            c.thaw,
		"PUT /routes":                  c.setRoute,
		"DELETE /routes":               c.dropRoute,
		"PUT /load":                    set(&c.Hardware.Loads),
		"DELETE /load":                 drop(&c.Hardware.Loads),
		"PUT /cpu":                     set(&c.Containers.Loads),
		"DELETE /cpu":                  drop(&c.Containers.Loads),
		"PUT /memory":                  set(&c.Hardware.Memory),
		"DELETE /memory":               drop(&c.Hardware.Memory),
		"PUT /notebook":                c.setNotebook,
		"PUT /log":                     c.setLog,
		"POST /log":                    c.setLog,
		"PUT /xid":                     c.setXID,
		"POST /nodes/{name}/fail":      c.failNode,
		"POST /nodes/{name}/restore":   c.restoreNode,
		"POST /nodes/{name}/unlicense": c.unlicenseNode,
		"POST /nodes/{name}/license":   c.licenseNode,
		"POST /pods/fail":              c.failPod,
	} {
		mux.HandleFunc(pattern, answer(action))
	}
	return http.StripPrefix("/"+secret, mux)
}

func answer(action func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := action(r)
		code := http.StatusOK
		if err != nil {
			code, value = http.StatusBadRequest, map[string]string{"error": err.Error()}
		}
		if errors.Is(err, errNotFound) {
			code = http.StatusNotFound
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(value)
	}
}

var errNotFound = errors.New("not found")

// PartStatus is one part in GET /status.
type PartStatus struct {
	Name  string     `json:"name"`
	State part.State `json:"state"`
	PID   int        `json:"pid,omitempty"`
	Since time.Time  `json:"since,omitzero"`
}

func (c *Control) status(*http.Request) (any, error) {
	parts := []PartStatus{}
	for _, p := range c.Group.Parts() {
		parts = append(parts, statusOf(p))
	}
	parts = append(parts, c.socksStatus())
	lost := []string{}
	for _, node := range c.Cluster.Nodes() {
		if node.Annotations[nodes.FailedAnnotation] != "" {
			lost = append(lost, node.Name)
		}
	}
	return map[string]any{
		"parts": parts, "routes": c.Network.Routes(), "loads": c.Hardware.Loads.All(), "lost_nodes": lost,
	}, nil
}

func statusOf(p *part.Part) PartStatus {
	state, pid, since := p.State()
	return PartStatus{Name: p.Name, State: state, PID: pid, Since: since}
}

func (c *Control) socksStatus() PartStatus {
	if c.SOCKS.Open() {
		return PartStatus{Name: "socks", State: part.Running}
	}
	return PartStatus{Name: "socks", State: part.Stopped}
}

func (c *Control) holders(r *http.Request) (any, error) {
	node := c.Cluster.Node(r.PathValue("node"))
	if node == nil {
		return nil, fmt.Errorf("node %s: %w", r.PathValue("node"), errNotFound)
	}
	return c.Hardware.Holders(node)
}

func (c *Control) stop(r *http.Request) (any, error) {
	if r.PathValue("part") == "socks" {
		c.SOCKS.Stop()
		return c.socksStatus(), nil
	}
	kill := strings.TrimPrefix(strings.ToUpper(r.URL.Query().Get("signal")), "SIG") == "KILL"
	return c.onPart(r, func(p *part.Part) error { return p.Stop(kill) })
}

func (c *Control) start(r *http.Request) (any, error) {
	if r.PathValue("part") == "socks" {
		err := c.SOCKS.Start(c.Context)
		return c.socksStatus(), err
	}
	return c.onPart(r, func(p *part.Part) error { return p.Start(c.Context) })
}

func (c *Control) freeze(r *http.Request) (any, error) { return c.onPart(r, (*part.Part).Freeze) }

func (c *Control) thaw(r *http.Request) (any, error) { return c.onPart(r, (*part.Part).Thaw) }

func (c *Control) onPart(r *http.Request, act func(*part.Part) error) (any, error) {
	p, err := c.Group.Find(r.PathValue("part"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotFound, err)
	}
	if err := act(p); err != nil {
		return nil, err
	}
	return statusOf(p), nil
}

// podOf finds the pod named in ?pod=NS/NAME.
func (c *Control) podOf(r *http.Request) (*corev1.Pod, error) {
	namespace, name, ok := strings.Cut(r.URL.Query().Get("pod"), "/")
	if !ok {
		return nil, errors.New("?pod=NAMESPACE/NAME is missing")
	}
	pod := c.Cluster.Pod(namespace, name)
	if pod == nil {
		return nil, fmt.Errorf("pod %s/%s: %w", namespace, name, errNotFound)
	}
	return pod, nil
}

func targetOf(r *http.Request) (stub.Target, error) {
	namespace, name, ok := strings.Cut(r.URL.Query().Get("pod"), "/")
	port, err := strconv.Atoi(r.URL.Query().Get("port"))
	if !ok || err != nil {
		return stub.Target{}, errors.New("?pod=NAMESPACE/NAME&port=PORT is missing")
	}
	return stub.Target{Namespace: namespace, Pod: name, Port: port}, nil
}

func (c *Control) setRoute(r *http.Request) (any, error) {
	target, err := targetOf(r)
	if err != nil {
		return nil, err
	}
	to := r.URL.Query().Get("to")
	if !strings.HasPrefix(to, "127.0.0.1:") {
		return nil, errors.New("&to=127.0.0.1:PORT is missing")
	}
	c.Network.Route(target, to)
	return c.Network.Routes(), nil
}

func (c *Control) dropRoute(r *http.Request) (any, error) {
	target, err := targetOf(r)
	if err != nil {
		return nil, err
	}
	c.Network.Route(target, "")
	return c.Network.Routes(), nil
}

// set and drop are for a pod that may not exist yet.
func set(l *gpus.Loads) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		value, err := strconv.ParseFloat(r.URL.Query().Get("value"), 64)
		if err != nil || !(value >= 0 && value <= 1) {
			return nil, errors.New("&value= is a number from 0 to 1")
		}
		return setTo(l, r, value)
	}
}

func drop(l *gpus.Loads) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) { return setTo(l, r, math.NaN()) }
}

func setTo(l *gpus.Loads, r *http.Request, value float64) (any, error) {
	pod := r.URL.Query().Get("pod")
	if !strings.Contains(pod, "/") {
		return nil, errors.New("?pod=NAMESPACE/NAME is missing")
	}
	l.Set(pod, value)
	return l.All(), nil
}

func (c *Control) setNotebook(r *http.Request) (any, error) {
	pod, err := c.podOf(r)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	last, err := time.Parse(time.RFC3339, q.Get("last_activity"))
	if err != nil {
		return nil, fmt.Errorf("last_activity: %w", err)
	}
	kernels, _ := strconv.Atoi(q.Get("kernels"))
	state := q.Get("state")
	if state == "" {
		state = "idle"
	}
	return map[string]string{}, c.Network.Pretend(r.Context(), pod, last, kernels, state)
}

func (c *Control) setXID(r *http.Request) (any, error) {
	q := r.URL.Query()
	gpu, err := strconv.Atoi(q.Get("gpu"))
	xid, err2 := strconv.Atoi(q.Get("xid"))
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	if c.Cluster.Node(q.Get("node")) == nil {
		return nil, fmt.Errorf("node %s: %w", q.Get("node"), errNotFound)
	}
	c.Hardware.SetXID(q.Get("node"), gpu, xid)
	return map[string]string{}, nil
}

// mostLog is what one call may set.
const mostLog = 64 << 20

func (c *Control) setLog(r *http.Request) (any, error) {
	pod, err := c.podOf(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, mostLog))
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	c.Logs.Set(pod, cmp.Or(q.Get("container"), "main"), q.Get("previous") == "true", r.Method == http.MethodPost,
		string(text))
	return map[string]string{}, nil
}

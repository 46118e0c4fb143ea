package stub

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/seed"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/socks"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

// Network is the pod network as the SOCKS port shows it.
type Network struct {
	// Agent answers as the node agent of a node; nil: none does.
	Agent func(node string) http.Handler

	cluster *world.Cluster
	memory  *Memory
	inbox   *inbox

	mu     sync.Mutex
	routes map[Target]string
	open   map[*podConn]bool
}

// Target is a port of a pod.
type Target struct {
	Namespace, Pod string
	Port           int
}

// NewNetwork starts the faces; they end with ctx.
func NewNetwork(ctx context.Context, cluster *world.Cluster, memory *Memory) *Network {
	n := &Network{cluster: cluster, memory: memory, inbox: newInbox(), routes: map[Target]string{},
		open: map[*podConn]bool{}}
	go n.inbox.serve(ctx, memory)
	return n
}

// Route sends connections for a pod's port to a real server; an empty address ends that. Connections to the port from
// before end.
func (n *Network) Route(t Target, addr string) {
	n.end(func(c *podConn) bool { return c.target == t })
	n.mu.Lock()
	defer n.mu.Unlock()
	if addr == "" {
		delete(n.routes, t)
		return
	}
	n.routes[t] = addr
}

// Routes are all routes in force.
func (n *Network) Routes() map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := map[string]string{}
	for t, addr := range n.routes {
		all[fmt.Sprintf("%s/%s:%d", t.Namespace, t.Pod, t.Port)] = addr
	}
	return all
}

// At implements socks.Network.
func (n *Network) At(ctx context.Context, host string, port int) (socks.Handle, error) {
	pod, port, err := n.find(host, port)
	if err != nil {
		return nil, err
	}
	if node := n.cluster.Node(pod.Spec.NodeName); node == nil || node.Annotations[nodes.FailedAnnotation] != "" {
		return nil, fmt.Errorf("no route to host: node %s is lost", pod.Spec.NodeName)
	}
	if pod.Status.Phase != corev1.PodRunning || !world.Ready(pod) || !listens(pod, port) {
		return nil, socks.Refused
	}
	n.mu.Lock()
	addr := n.routes[Target{pod.Namespace, pod.Name, port}]
	n.mu.Unlock()
	if addr != "" {
		return socks.Relay(addr), nil
	}
	if pod.Labels["app.kubernetes.io/name"] == seed.AgentName && port == seed.AgentPort && n.Agent != nil {
		return n.connect(pod, port, nil, n.Agent(pod.Spec.NodeName)), nil
	}
	if port != jupyterPort && !slices.Contains(modelPorts, port) {
		return nil, socks.Refused
	}
	w, err := n.memory.workload(ctx, n.cluster.Client, pod, port)
	if err != nil {
		return nil, socks.Refused
	}
	return n.connect(pod, port, w, nil), nil
}

func (n *Network) connect(pod *corev1.Pod, port int, w *Workload, face http.Handler) socks.Handle {
	n.end(func(c *podConn) bool { // a pod that is gone takes its connections along
		now := n.cluster.PodAt(c.ip)
		return now == nil || now.UID != c.uid
	})
	return func(conn net.Conn) {
		c := &podConn{Conn: conn, workload: w, face: face, port: port, target: Target{pod.Namespace, pod.Name, port},
			ip: pod.Status.PodIP, uid: pod.UID, ended: n.forget}
		n.mu.Lock()
		n.open[c] = true
		n.mu.Unlock()
		n.inbox.put(c)
	}
}

// end closes the connections that are chosen.
func (n *Network) end(chosen func(*podConn) bool) {
	var old []*podConn
	n.mu.Lock()
	for c := range n.open {
		if chosen(c) {
			old = append(old, c)
		}
	}
	n.mu.Unlock()
	for _, c := range old {
		_ = c.Close()
	}
}

func (n *Network) forget(c *podConn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.open, c)
}

// find finds the pod behind a pod's address, a Service's cluster address or its name, and the pod's port.
func (n *Network) find(host string, port int) (*corev1.Pod, int, error) {
	if pod := n.cluster.PodAt(host); pod != nil {
		return pod, port, nil
	}
	service := n.cluster.ServiceAt(host)
	if name, namespace, ok := serviceName(host); ok && service == nil {
		service = n.cluster.Service(namespace, name)
	}
	if service == nil {
		return nil, 0, fmt.Errorf("no pod and no service at %s", host)
	}
	pods := n.cluster.PodsOf(service)
	if len(pods) == 0 {
		return nil, 0, socks.Refused
	}
	if service.Spec.ClusterIP == corev1.ClusterIPNone {
		return pods[0], port, nil
	}
	for _, p := range service.Spec.Ports {
		if int(p.Port) == port {
			return pods[0], targetPort(pods[0], p), nil
		}
	}
	return nil, 0, socks.Refused
}

// serviceName reads <service>.<namespace>.svc with or without the cluster's domain.
func serviceName(host string) (name, namespace string, ok bool) {
	parts := strings.Split(strings.TrimSuffix(host, ".cluster.local"), ".")
	if len(parts) != 3 || parts[2] != "svc" {
		return "", "", false
	}
	return parts[0], parts[1], true
}

func targetPort(pod *corev1.Pod, p corev1.ServicePort) int {
	if p.TargetPort.Type == intstr.Int {
		if p.TargetPort.IntVal == 0 {
			return int(p.Port)
		}
		return int(p.TargetPort.IntVal)
	}
	for _, c := range pod.Spec.Containers {
		for _, cp := range c.Ports {
			if cp.Name == p.TargetPort.StrVal {
				return int(cp.ContainerPort)
			}
		}
	}
	return 0
}

// listens: a pod that declares ports listens on those; one that declares none may listen on any.
func listens(pod *corev1.Pod, port int) bool {
	declared := false
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if int(p.ContainerPort) == port {
				return true
			}
			declared = true
		}
	}
	return !declared
}

// Pretend sets what the Jupyter server of a pod remembers of its use.
func (n *Network) Pretend(ctx context.Context, pod *corev1.Pod, last time.Time, kernels int, state string) error {
	w, err := n.memory.workload(ctx, n.cluster.Client, pod, jupyterPort)
	if err != nil {
		return err
	}
	w.Pretend(last, kernels, state)
	return nil
}

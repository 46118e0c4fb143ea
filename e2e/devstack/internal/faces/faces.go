// Package faces serves what a site's exporters and servers would: the pages of dcgm-exporter and of the kubelet's
// cAdvisor for every node, the lists of those pages for Prometheus, and the license server.
package faces

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/cadvisor"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/gpus"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/seed"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

// Handler serves all faces; addr is where it will be reached.
func Handler(cluster *world.Cluster, hardware *gpus.Hardware, containers *cadvisor.Counters, addr string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /exporters", func(w http.ResponseWriter, _ *http.Request) {
		sendJSON(w, exporters(cluster.Nodes(), addr))
	})
	mux.HandleFunc("GET /kubelets", func(w http.ResponseWriter, _ *http.Request) {
		sendJSON(w, kubelets(cluster.Nodes(), addr))
	})
	mux.HandleFunc("GET /nodes/{node}/metrics", func(w http.ResponseWriter, r *http.Request) {
		node := cluster.Node(r.PathValue("node"))
		if node == nil || !exporterRuns(node) {
			http.Error(w, "no exporter runs on this node", http.StatusServiceUnavailable)
			return
		}
		sendPage(w, node, hardware.Page)
	})
	mux.HandleFunc("GET /nodes/{node}/metrics/cadvisor", func(w http.ResponseWriter, r *http.Request) {
		node := cluster.Node(r.PathValue("node"))
		if node == nil || node.Annotations[nodes.FailedAnnotation] != "" {
			http.Error(w, "this node does not answer", http.StatusServiceUnavailable)
			return
		}
		sendPage(w, node, containers.Page)
	})
	mux.Handle("/license/", http.StripPrefix("/license", license(cluster)))
	return mux
}

// sendPage answers with a node's page as of now, or says why there is none.
func sendPage(w http.ResponseWriter, node *corev1.Node, write func(io.Writer, *corev1.Node, time.Time) error) {
	var page bytes.Buffer
	if err := write(&page, node, time.Now()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(page.Bytes())
}

// exporterRuns: not on a lost node, and not while the MIG manager has sent the exporter away.
func exporterRuns(node *corev1.Node) bool {
	deployed, labelled := node.Labels["nvidia.com/gpu.deploy.dcgm-exporter"]
	return gpus.Exported(node) && node.Annotations[nodes.FailedAnnotation] == "" && (!labelled || deployed == "true")
}

// group is an entry of Prometheus' http_sd.
type group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// exporters lists a target per node with the labels that a ServiceMonitor of the GPU operator gives it: those of the
// exporter's own pod. Prometheus therefore keeps the workload's labels as exported_namespace, exported_pod and
// exported_container.
func exporters(all []*corev1.Node, addr string) []group {
	groups := []group{}
	for _, node := range all {
		if !gpus.Exported(node) {
			continue
		}
		groups = append(groups, group{Targets: []string{addr}, Labels: map[string]string{
			"__metrics_path__": "/nodes/" + node.Name + "/metrics",
			"instance":         address(node) + ":9400",
			"namespace":        seed.OperatorNamespace,
			"service":          "nvidia-dcgm-exporter",
			"endpoint":         "gpu-metrics",
			"container":        "nvidia-dcgm-exporter",
			"pod":              "nvidia-dcgm-exporter-" + suffix(node.Name),
		}})
	}
	return groups
}

// kubelets lists a target per node with the labels that the ServiceMonitor of kube-prometheus gives kubelets.
func kubelets(all []*corev1.Node, addr string) []group {
	groups := []group{}
	for _, node := range all {
		groups = append(groups, group{Targets: []string{addr}, Labels: map[string]string{
			"__metrics_path__": "/nodes/" + node.Name + "/metrics/cadvisor",
			"instance":         address(node) + ":10250",
			"namespace":        "kube-system",
			"service":          "kubelet",
			"endpoint":         "https-metrics",
			"metrics_path":     "/metrics/cadvisor",
			"node":             node.Name,
		}})
	}
	return groups
}

func address(node *corev1.Node) string {
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return node.Name
}

// suffix is five letters as a DaemonSet gives its pods, the same for the same node.
func suffix(node string) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	h := fnv.New32a()
	_, _ = h.Write([]byte(node))
	n := h.Sum32()
	text := make([]byte, 5)
	for i := range text {
		text[i] = letters[n%uint32(len(letters))]
		n /= uint32(len(letters))
	}
	return string(text)
}

func sendJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		fmt.Fprintln(w)
	}
}

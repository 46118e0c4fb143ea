package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gpu-portal/gpu-portal/internal/agentreport"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/gateway"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
)

// Node agents take a report every ten seconds; a third of them is enough to see a layout change or a license go.
const askAgentsEvery = 30 * time.Second

// agents are the readers of the clusters that have node agents.
type agents map[string]*agentreport.Reader

// cards is what a cluster's agents say of the cards.
func (a agents) cards(cluster string) map[string][]inventory.PhysicalCard {
	if r := a[cluster]; r != nil {
		return r.Cards()
	}
	return nil
}

// licenses is what the agents say of the licenses of vGPUs.
func (a agents) licenses() []license.Device {
	var all []license.Device
	for _, r := range a {
		all = append(all, r.Devices()...)
	}
	return all
}

// newAgents prepares a reader for each cluster that has agents; it calls none. Changed is told of a cluster whose
// agents say something new.
func newAgents(c config.Config, o agentreport.Options, changed func(cluster string)) (agents, error) {
	all := agents{}
	var problems []error
	for _, cluster := range c.Clusters {
		if cluster.Agents.Namespace == "" {
			continue
		}
		r, err := newAgentReader(cluster, o, changed)
		if err != nil {
			problems = append(problems, fmt.Errorf("clusters %s: agents: %w", cluster.Name, err))
			continue
		}
		all[cluster.Name] = r
	}
	return all, errors.Join(problems...)
}

func newAgentReader(c config.Cluster, o agentreport.Options, changed func(cluster string)) (
	*agentreport.Reader, error) {
	rc, err := restConfig(c)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return nil, err
	}
	if c.Agents.Port == 0 {
		c.Agents.Port = 9410
	}
	if len(c.Agents.Labels) == 0 {
		c.Agents.Labels = map[string]string{"app.kubernetes.io/name": "gpu-portal-agent"}
	}
	o.Cluster, o.TokenFile, o.Pods = c.Name, c.Agents.TokenFile, agentPods(client, c.Agents)
	o.Changed = func() { changed(c.Name) }
	o.URL, o.Transport, err = wayToAgents(c, rc)
	if err != nil {
		return nil, err
	}
	return agentreport.New(o), nil
}

// agentPods lists the agents' pods that run; the API server answers from its cache.
func agentPods(client kubernetes.Interface, c config.Agents) func(context.Context) ([]agentreport.Pod, error) {
	selector := labels.SelectorFromSet(c.Labels).String()
	return func(ctx context.Context) ([]agentreport.Pod, error) {
		found, err := client.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector,
			ResourceVersion: "0"})
		if err != nil {
			return nil, err
		}
		var pods []agentreport.Pod
		for _, p := range found.Items {
			if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
				pods = append(pods, agentreport.Pod{Name: p.Name, Node: p.Spec.NodeName, IP: p.Status.PodIP})
			}
		}
		return pods, nil
	}
}

var errAgentAddress = errors.New("the agent's pod has no address that may be asked")

// wayToAgents is the way to pods that the cluster's dial setting names.
func wayToAgents(c config.Cluster, rc *rest.Config) (func(agentreport.Pod) (string, error), http.RoundTripper, error) {
	port := strconv.Itoa(c.Agents.Port)
	if c.PodAccess == "apiserver" {
		transport, err := rest.TransportFor(rc)
		if err != nil {
			return nil, nil, err
		}
		host, _, err := rest.DefaultServerUrlFor(rc)
		if err != nil {
			return nil, nil, err
		}
		return func(p agentreport.Pod) (string, error) {
			return host.JoinPath("api/v1/namespaces", c.Agents.Namespace, "pods", p.Name+":"+port, "proxy/v1/report").String(),
				nil
		}, transport, nil
	}
	dialer, err := gateway.NewDialer(c.PodAccess)
	if err != nil {
		return nil, nil, err
	}
	transport := &http.Transport{Proxy: nil, DialContext: dialer.DialContext, MaxIdleConnsPerHost: 1,
		IdleConnTimeout: 2 * askAgentsEvery, MaxResponseHeaderBytes: 16 << 10}
	return func(p agentreport.Pod) (string, error) {
		ip, err := netip.ParseAddr(p.IP)
		if err != nil || ip.Zone() != "" || !ip.IsGlobalUnicast() {
			return "", errAgentAddress // loopback and link-local are never a pod's
		}
		return "http://" + net.JoinHostPort(ip.String(), port) + "/v1/report", nil
	}, transport, nil
}

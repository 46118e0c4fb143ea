package app

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/gateway"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/podlogs"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/terminal"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/usage/recorder"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// clusters is every cluster as each package needs it.
type clusters struct {
	controlled []reconcile.Cluster
	sites      map[string]kube.Site
	reach      map[string]gateway.Cluster
	logs       map[string]kubernetes.Interface
	terminals  map[string]terminal.Cluster
	metrics    metrics
	stores     map[string]podlogs.Store
}

// connect makes clients; it does not wait for any cluster to answer.
func connect(c config.Config, log *slog.Logger, fresh func(), namespaces func() []string,
	nodes func(cluster string) gpumetrics.NodeIndex) (clusters, error) {
	k := clusters{sites: map[string]kube.Site{}, reach: map[string]gateway.Cluster{},
		logs: map[string]kubernetes.Interface{}, terminals: map[string]terminal.Cluster{}, metrics: metrics{},
		stores: map[string]podlogs.Store{}}
	var problems []error
	for _, cluster := range c.Clusters {
		rc, err := restConfig(cluster)
		if err != nil {
			problems = append(problems, fmt.Errorf("clusters %s: %w", cluster.Name, err))
			continue
		}
		controlled, err := reconcile.NewCluster(cluster.Name, rc)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		k.controlled = append(k.controlled, controlled)
		if k.logs[cluster.Name], err = podlogs.Client(rc); err != nil {
			problems = append(problems, fmt.Errorf("clusters %s: %w", cluster.Name, err))
			continue
		}
		if k.terminals[cluster.Name], err = terminal.NewCluster(rc); err != nil {
			problems = append(problems, fmt.Errorf("clusters %s: %w", cluster.Name, err))
			continue
		}
		switch kept, err := c.LogStoreOf(cluster); {
		case err != nil:
			problems = append(problems, fmt.Errorf("clusters %s: logStore: %w", cluster.Name, err))
			continue
		case kept != nil:
			k.stores[cluster.Name] = kept
		}
		k.sites[cluster.Name] = kubeSite(c, cluster)
		k.reach[cluster.Name] = gateway.Cluster{Dial: cluster.PodAccess}
		if cluster.PodAccess == "apiserver" {
			transport, err := throughAPIServer(rc)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			k.reach[cluster.Name] = gateway.Cluster{Dial: cluster.PodAccess, Transport: transport}
		}
		if cluster.Prometheus != "" {
			poller, err := newPoller(cluster, gpumetrics.Config{Recent: c.Health.ErrorWindow(), Logger: log, OnFresh: fresh,
				Namespaces: namespaces, Nodes: func() gpumetrics.NodeIndex { return nodes(cluster.Name) }})
			if err != nil {
				problems = append(problems, fmt.Errorf("clusters %s: prometheus: %w", cluster.Name, err))
				continue
			}
			k.metrics[cluster.Name] = poller
		}
	}
	return k, errors.Join(problems...)
}

// newPoller takes from ours what the settings do not say.
func newPoller(c config.Cluster, ours gpumetrics.Config) (*gpumetrics.Poller, error) {
	settings, err := c.MetricsConfig()
	if err != nil {
		return nil, err
	}
	settings.Logger, settings.OnFresh, settings.Namespaces, settings.Recent, settings.Nodes = ours.Logger, ours.OnFresh,
		ours.Namespaces, ours.Recent, ours.Nodes
	return gpumetrics.New(settings)
}

func restConfig(c config.Cluster) (*rest.Config, error) {
	if c.Added != nil {
		return rest.CopyConfig(c.Added.Config), nil
	}
	if c.Kubeconfig == "" {
		rc, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("kubeconfig: none given, and this is no pod: %w", err)
		}
		return rc, nil
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: c.Kubeconfig}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: c.Context}).ClientConfig()
}

func kubeSite(c config.Config, k config.Cluster) kube.Site {
	return kube.Site{Cluster: k.Name, Instance: c.Instance, OpenShift: k.OpenShift, StorageClass: k.StorageClass,
		SnapshotClass:  k.SnapshotClass,
		InternetEgress: k.InternetEgress, Access: k.Rights(), Mirror: c.ImageMirror,
		ModelGateway: askedAt(c.URL, k.ModelGateway), KEDA: kube.KEDA{Address: cmp.Or(k.KEDA.Address, c.URL)},
		GatewayFrom: []kube.Peer{kube.InNamespace(k.GatewayNamespace,
			map[string]string{"app.kubernetes.io/name": "gpu-portal"})}}
}

// askedAt says where a gateway of the site asks about keys, unless the settings do.
func askedAt(portal string, g kube.ModelGateway) kube.ModelGateway {
	if g.AsksForKeys() {
		g.KeyCheck = cmp.Or(g.KeyCheck, portal)
	}
	return g
}

// metrics gives each cluster its poller; a cluster without Prometheus has no readings.
type metrics map[string]*gpumetrics.Poller

func (m metrics) Live(cluster, namespace, pod string) gpumetrics.Live {
	if p, ok := m[cluster]; ok {
		return p.Live(namespace, pod)
	}
	return gpumetrics.Live{}
}

// History is the use of the last hour; what cannot be had now is an empty line, never a zero.
func (m metrics) History(_ context.Context, cluster, namespace, pod string) []gpumetrics.Point {
	if p, ok := m[cluster]; ok {
		return p.LastHour(namespace, pod)
	}
	return nil
}

// Fleet is what every device of a cluster does.
func (m metrics) Fleet(cluster string) *gpumetrics.Fleet {
	if p, ok := m[cluster]; ok {
		return p.Fleet()
	}
	return nil
}

// Ranges is what a pod's devices did in a span.
func (m metrics) Ranges(ctx context.Context, cluster, namespace, pod string,
	span gpumetrics.Span) (gpumetrics.Ranges, error) {
	if p, ok := m[cluster]; ok {
		return p.Ranges(ctx, namespace, pod, span)
	}
	return gpumetrics.Ranges{}, fault.New(fault.Unavailable, i18n.T("gpumetrics.none"))
}

// PodRanges is how much CPU and network a pod used in a span.
func (m metrics) PodRanges(ctx context.Context, cluster, namespace, pod string,
	span gpumetrics.Span) (gpumetrics.Ranges, error) {
	if p, ok := m[cluster]; ok {
		return p.PodRanges(ctx, namespace, pod, span)
	}
	return gpumetrics.Ranges{}, fault.New(fault.Unavailable, i18n.T("gpumetrics.none"))
}

// CardRanges is what a card did in a span.
func (m metrics) CardRanges(ctx context.Context, cluster, uuid string,
	span gpumetrics.Span) (gpumetrics.Ranges, error) {
	if p, ok := m[cluster]; ok {
		return p.CardRanges(ctx, uuid, span)
	}
	return gpumetrics.Ranges{}, fault.New(fault.Unavailable, i18n.T("gpumetrics.none"))
}

// Past is what every device did in an hour that is over.
func (m metrics) Past(ctx context.Context, cluster string, until time.Time) (gpumetrics.PastUse, error) {
	if p, ok := m[cluster]; ok {
		return p.Past(ctx, until)
	}
	return gpumetrics.PastUse{}, fault.New(fault.Unavailable, i18n.T("gpumetrics.none"))
}

// Hours is the mean use of each model of card, hour by hour.
func (m metrics) Hours(ctx context.Context, cluster string, from, until time.Time) (gpumetrics.HourlyUse, error) {
	if p, ok := m[cluster]; ok {
		return p.Hours(ctx, from, until)
	}
	return gpumetrics.HourlyUse{}, fault.New(fault.Unavailable, i18n.T("gpumetrics.none"))
}

// readings are what pages and programs read of metrics: what GPUs do, and how they were used of late.
type readings struct {
	metrics
	uses *recorder.Live
}

func (r readings) Uses(cluster string) usage.EngineUses { return r.uses.Uses(cluster) }

func (a *App) readings() readings { return readings{a.clusters.metrics, a.uses} }

// report says how well a cluster's metrics are.
func (m metrics) report(cluster string) (gpumetrics.Report, bool) {
	p, ok := m[cluster]
	if !ok {
		return gpumetrics.Report{}, false
	}
	return p.Report(), true
}

// secrets derives each workload's own secret from the portal's key, so that none is stored.
type secrets struct{ key []byte }

// Token is what opens the workload's server to the gateway.
func (s secrets) Token(w workload.Workload) string {
	return base64.RawURLEncoding.EncodeToString(derive(s.key, "workload\x00"+string(w.ID)))
}

// LoadToken is that by which KEDA asks for the load of one endpoint: it opens nothing else.
func (s secrets) LoadToken(w workload.Workload) string {
	return base64.RawURLEncoding.EncodeToString(derive(s.key, "load of an endpoint\x00"+string(w.ID)))
}

// derive makes a key for one purpose from the portal's key.
func derive(key []byte, purpose string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}

package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gpu-portal/gpu-portal/internal/cluster"
	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

func (a *API) registerClusters() {
	const tag = "Operation"
	add(a, op(http.MethodGet, "/clusters", "list-clusters", "The clusters with their health, version, nodes and GPUs; "+
		"for admins and auditors", tag), identity.ReadClusters, a.clusters)
	sized := func(o huma.Operation) huma.Operation {
		o.MaxBodyBytes = 4 * (cluster.MaxKubeconfig + cluster.MaxSettings)
		return o
	}
	add(a, sized(op(http.MethodPost, "/clusters/check", "check-cluster", "Ask a cluster whether it answers, and which "+
		"rights and APIs are there; keeps nothing", tag)), identity.ManageClusters, a.checkCluster)
	add(a, sized(created(op(http.MethodPost, "/clusters", "add-cluster", "Add a cluster. It is asked first, and is in "+
		"use within a minute", tag))), identity.ManageClusters, a.addCluster)
	add(a, sized(op(http.MethodPut, "/clusters/{name}", "replace-cluster", "Replace the kubeconfig and the settings of a "+
		"cluster that was added", tag)), identity.ManageClusters, a.replaceCluster)
	add(a, op(http.MethodDelete, "/clusters/{name}", "remove-cluster", "Take a cluster out that was added, once no "+
		"workload and no volume is left there; nothing in it is changed", tag), identity.ManageClusters, a.removeCluster)
}

// KnownCluster is one cluster of the portal; its credentials are in no answer.
type KnownCluster struct {
	Name       string     `json:"name"`
	Source     string     `json:"source" enum:"configuration,portal"`
	Server     string     `json:"server,omitempty" doc:"Address of the API server, of one that was added in the portal"`
	State      string     `json:"state" enum:"pending,unknown,reachable,unreachable,hidden" doc:"hidden: the configuration has one of the same name"`
	Error      string     `json:"error,omitempty"`
	CheckedAt  *time.Time `json:"checkedAt,omitempty"`
	Version    string     `json:"version,omitempty" doc:"Of Kubernetes"`
	Nodes      int        `json:"nodes"`
	NodesGPU   int        `json:"gpuNodes" doc:"Nodes that offer GPUs"`
	GPUs       int64      `json:"gpus" doc:"Devices that nodes offer: cards, slices and shares"`
	AddedBy    string     `json:"addedBy,omitempty"`
	AddedAt    *time.Time `json:"addedAt,omitempty"`
	ReplacedAt *time.Time `json:"replacedAt,omitempty" doc:"When its credentials were last replaced"`
}

func knownClusterView(c cluster.Listed) KnownCluster {
	v := KnownCluster{Name: c.Name, Source: "configuration", Server: c.Server, State: string(c.State()), Error: c.Err,
		CheckedAt: moment(c.CheckedAt), Version: c.Kube, Nodes: c.Nodes, NodesGPU: c.WithGPU, GPUs: c.GPUs,
		AddedBy: c.AdderName, AddedAt: moment(c.AddedAt), ReplacedAt: moment(c.ReplacedAt)}
	if c.Added {
		v.Source = "portal"
	}
	return v
}

func (a *API) clusters(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[List[KnownCluster]], error) {
	all, err := a.deps.Clusters.List(ctx, actor)
	if err != nil {
		return nil, err
	}
	views := make([]KnownCluster, len(all))
	for i, c := range all {
		views[i] = knownClusterView(c)
	}
	return reply(list(views, ""), nil)
}

type newClusterInput struct {
	Body struct {
		Name       string `json:"name" maxLength:"64" doc:"Unique, in lower case letters, digits and hyphens"`
		Kubeconfig string `json:"kubeconfig" doc:"YAML; its current context is kept, encrypted"`
		Settings   string `json:"settings,omitempty" doc:"YAML, as of an entry of the setting clusters"`
	}
}

// ClusterChecks is what was found in a cluster.
type ClusterChecks struct {
	Name     string        `json:"name"`
	Findings []doctor.Line `json:"findings"`
}

func checked(ctx context.Context, name string, found []doctor.Finding, err error) (*output[ClusterChecks], error) {
	if err != nil {
		return nil, err
	}
	return reply(ClusterChecks{Name: name, Findings: doctor.Lines(i18n.From(ctx), found)}, nil)
}

func (a *API) checkCluster(ctx context.Context, actor identity.Actor, in *newClusterInput) (*output[ClusterChecks],
	error) {
	found, err := a.deps.Clusters.Test(ctx, actor, cluster.Draft{Name: in.Body.Name, Kubeconfig: in.Body.Kubeconfig,
		Settings: in.Body.Settings})
	return checked(ctx, in.Body.Name, found, err)
}

func (a *API) addCluster(ctx context.Context, actor identity.Actor, in *newClusterInput) (*output[ClusterChecks],
	error) {
	found, err := a.deps.Clusters.Add(ctx, actor, cluster.Draft{Name: in.Body.Name, Kubeconfig: in.Body.Kubeconfig,
		Settings: in.Body.Settings})
	return checked(ctx, in.Body.Name, found, err)
}

type replaceClusterInput struct {
	Name string `path:"name" maxLength:"64"`
	Body struct {
		Kubeconfig string `json:"kubeconfig" doc:"As when it was added"`
		Settings   string `json:"settings,omitempty" doc:"As when it was added; absent: none any more"`
	}
}

func (a *API) replaceCluster(ctx context.Context, actor identity.Actor,
	in *replaceClusterInput) (*output[ClusterChecks], error) {
	found, err := a.deps.Clusters.Replace(ctx, actor, cluster.Draft{Name: in.Name, Kubeconfig: in.Body.Kubeconfig,
		Settings: in.Body.Settings})
	return checked(ctx, in.Name, found, err)
}

type clusterInput struct {
	Name string `path:"name" maxLength:"64"`
}

func (a *API) removeCluster(ctx context.Context, actor identity.Actor, in *clusterInput) (*struct{}, error) {
	return &struct{}{}, a.deps.Clusters.Remove(ctx, actor, in.Name)
}

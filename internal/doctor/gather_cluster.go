package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
)

// ClusterOptions is one cluster, and what this process does there.
type ClusterOptions struct {
	Name    string
	Config  *rest.Config
	Err     string // why there is none
	Rights  []Rights
	Nodes   bool     // this process lists nodes
	Storage []string // classes of the settings
	Volumes bool     // this process makes volumes
	JobSet  bool     // the settings let jobs run on JobSet
	KServe  bool     // the settings let endpoints run on KServe
	// the settings let endpoints run on LeaderWorkerSet
	LeaderWorkerSet bool
	KEDA            bool // the settings let KEDA scale endpoints on it
	// the settings let snapshots of volumes be taken on it
	Snapshots bool
	// the settings publish endpoints to a gateway of the site that takes InferencePools
	ModelGateway   bool
	Kuadrant       bool // to one that Kuadrant guards
	EnvoyAIGateway bool // to Envoy AI Gateway
	// Poll asks Prometheus; nil: none is set up.
	Poll     func(ctx context.Context) (gpumetrics.Report, error)
	LogStore LogStoreOptions
}

// Rights are the rules of one role.
type Rights struct {
	Role      string // cluster, tenant, proxy, logs, terminal, runtimes or agents
	Namespace string // "": cluster-wide
	Optional  bool
	Rules     []rbacv1.PolicyRule
}

// LogStoreOptions is what keeps logs of pods that are gone; Check asks it, nil for none.
type LogStoreOptions struct {
	Name  string
	Check func(ctx context.Context) error
}

func (g *gatherer) cluster(ctx context.Context, o ClusterOptions) Cluster {
	c := Cluster{Name: o.Name, Err: o.Err, JobSet: o.JobSet, KServe: o.KServe, LeaderWorkerSet: o.LeaderWorkerSet,
		KEDA:      o.KEDA,
		Snapshots: o.Snapshots, ModelGateway: o.ModelGateway, Kuadrant: o.Kuadrant, EnvoyAIGateway: o.EnvoyAIGateway}
	var wg sync.WaitGroup
	defer wg.Wait()
	if o.Poll != nil {
		c.Metrics.Set = true
		wg.Go(func() { c.Metrics = series(ctx, o.Poll) })
	}
	if o.LogStore.Check != nil {
		c.LogStore.Name = o.LogStore.Name
		wg.Go(func() { c.LogStore.Err = words(o.LogStore.Check(ctx)) })
	}
	if o.Config == nil {
		c.Err = cmp.Or(c.Err, "no client")
		wg.Wait()
		return c
	}
	wg.Go(func() { g.apiServer(ctx, o, &c) })
	wg.Wait()
	return c
}

// apiServer fills what the API server tells; without its version nothing else is asked.
func (g *gatherer) apiServer(ctx context.Context, o ClusterOptions, c *Cluster) {
	config := rest.CopyConfig(o.Config)
	config.QPS, config.Timeout = -1, g.o.Timeout // a few dozen small questions, once in a while
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		c.Err = err.Error()
		return
	}
	if c.Version, c.Skew, err = g.version(ctx, config); err != nil {
		c.Err = err.Error()
		return
	}
	c.Rights = make([]RightsOf, len(o.Rights))
	var wg sync.WaitGroup
	defer wg.Wait()
	for i, r := range o.Rights {
		wg.Go(func() { c.Rights[i] = askRights(ctx, client, r) })
	}
	wg.Go(func() { c.APIs, c.APIsErr = served(client) })
	if o.Nodes {
		wg.Go(func() { c.Nodes = nodes(ctx, client) })
	}
	if o.Volumes {
		wg.Go(func() { c.Storage = storage(ctx, client, o.Storage) })
	}
}

// version is the API server's, with the difference of its clock from its Date header.
func (g *gatherer) version(ctx context.Context, config *rest.Config) (string, time.Duration, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return "", 0, err
	}
	var said struct {
		GitVersion string `json:"gitVersion"`
	}
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return "", 0, err
	}
	began := g.o.Now()
	header, err := getJSON(ctx, client, host.JoinPath("version").String(), &said)
	if err != nil {
		return "", 0, err
	}
	var skew time.Duration
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		skew = date.Sub(began)
		if skew.Abs() < time.Second+g.o.Now().Sub(began) {
			skew = 0
		}
	}
	return said.GitVersion, skew, nil
}

// askRights asks by SelfSubjectAccessReview, verb by verb.
func askRights(ctx context.Context, client kubernetes.Interface, r Rights) RightsOf {
	out := RightsOf{Role: r.Role, Namespace: r.Namespace, Optional: r.Optional}
	if r.Namespace != "" {
		_, err := client.CoreV1().Namespaces().Get(ctx, r.Namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			out.Absent = true
			return out
		}
	}
	reviews := reviewsOf(r)
	missing := make([]string, len(reviews))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, review := range reviews {
		group.Go(func() error {
			answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &review, metav1.CreateOptions{})
			if err == nil && !answer.Status.Allowed {
				missing[i] = wordsOf(review.Spec)
			}
			return err
		})
	}
	out.Asked, out.Err = len(reviews), words(group.Wait())
	out.Missing = slices.DeleteFunc(missing, func(s string) bool { return s == "" })
	return out
}

// reviewsOf is each verb on each resource of the rules.
func reviewsOf(r Rights) []authorizationv1.SelfSubjectAccessReview {
	var all []authorizationv1.SelfSubjectAccessReview
	for _, rule := range r.Rules {
		for _, verb := range rule.Verbs {
			for _, path := range rule.NonResourceURLs {
				all = append(all, authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
					NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: verb}}})
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, name := range orAny(rule.ResourceNames) {
						resource, sub, _ := strings.Cut(resource, "/")
						all = append(all, authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
							ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: r.Namespace, Verb: verb, Group: group,
								Resource: resource, Subresource: sub, Name: name}}})
					}
				}
			}
		}
	}
	return all
}

func orAny(names []string) []string {
	if len(names) == 0 {
		return []string{""}
	}
	return names
}

func wordsOf(s authorizationv1.SelfSubjectAccessReviewSpec) string {
	if n := s.NonResourceAttributes; n != nil {
		return n.Verb + " " + n.Path
	}
	a := s.ResourceAttributes
	text := a.Verb + " " + a.Resource
	if a.Subresource != "" {
		text += "/" + a.Subresource
	}
	if a.Group != "" {
		text += "." + a.Group
	}
	if a.Name != "" {
		text += " " + a.Name
	}
	if a.Namespace != "" {
		text += " (" + a.Namespace + ")"
	}
	return text
}

// served are the groups of the API with the version that the server prefers.
func served(client kubernetes.Interface) (map[string]string, string) {
	list, err := client.Discovery().ServerGroups()
	if err != nil {
		return nil, err.Error()
	}
	all := map[string]string{}
	for _, g := range list.Groups {
		if slices.ContainsFunc(apis, func(a struct{ name, group string }) bool { return a.group == g.Name }) {
			all[g.Name] = g.PreferredVersion.Version
		}
	}
	return all, ""
}

// vendors are the domains of resources that are accelerators, and the label by which node feature discovery tells that
// a card of theirs is in a machine (class 03 of PCI, and NVIDIA's 0302).
var vendors = []struct{ domain, pci string }{
	{"nvidia.com/", "10de"}, {"amd.com/", "1002"}, {"gpu.intel.com/", "8086"}, {"habana.ai/", "1da3"},
}

const pageOfNodes = 500

func nodes(ctx context.Context, client kubernetes.Interface) Nodes {
	n := Nodes{Asked: true, Resources: map[string]int64{}}
	for next := ""; ; {
		list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: pageOfNodes, Continue: next})
		if err != nil {
			n.Err = err.Error()
			return n
		}
		for _, node := range list.Items {
			n.count(node)
		}
		if next = list.Continue; next == "" {
			break
		}
	}
	n.countSlices(ctx, client)
	return n
}

// countSlices counts what DRA drivers offer. A node of which a driver does is not one whose GPU nothing offers. Where
// slices cannot be listed, nothing is known of them.
func (n *Nodes) countSlices(ctx context.Context, client kubernetes.Interface) {
	for next := ""; ; {
		list, err := client.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{Limit: pageOfNodes, Continue: next})
		if err != nil {
			return
		}
		n.Slices += len(list.Items)
		for _, s := range list.Items {
			if s.Spec.NodeName != nil && len(s.Spec.Devices) > 0 {
				n.Unplugged = slices.DeleteFunc(n.Unplugged, func(node string) bool { return node == *s.Spec.NodeName })
			}
		}
		if next = list.Continue; next == "" {
			return
		}
	}
}

func (n *Nodes) count(node corev1.Node) {
	n.All++
	has := false
	for name, amount := range node.Status.Allocatable {
		if slices.ContainsFunc(vendors, func(v struct{ domain, pci string }) bool {
			return strings.HasPrefix(string(name), v.domain)
		}) && !amount.IsZero() {
			has = true
			n.Resources[string(name)] += amount.Value()
		}
	}
	if has {
		n.WithGPU++
		return
	}
	for _, v := range vendors[:2] { // Intel's label is that of the processor's own graphics as well
		if node.Labels["feature.node.kubernetes.io/pci-"+v.pci+".present"] == "true" {
			n.Unplugged = append(n.Unplugged, node.Name)
			return
		}
	}
}

// mayList asks before a list that the portal has no right to by itself: a call that is refused is an alarm in the audit
// log of a cluster.
func mayList(ctx context.Context, client kubernetes.Interface, group, resource string) bool {
	review := authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Group: group, Resource: resource, Verb: "list"}}}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &review, metav1.CreateOptions{})
	return err == nil && answer.Status.Allowed
}

// storage looks at the storage classes, as far as the account may.
func storage(ctx context.Context, client kubernetes.Interface, wanted []string) Storage {
	s := Storage{Asked: true, Wanted: wanted}
	if !mayList(ctx, client, storagev1.GroupName, "storageclasses") {
		s.Denied = true
		return s
	}
	list, err := client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		s.Err = err.Error()
		return s
	}
	for _, name := range wanted {
		if !slices.ContainsFunc(list.Items, func(c storagev1.StorageClass) bool { return c.Name == name }) {
			s.Missing = append(s.Missing, name)
		}
	}
	for _, c := range list.Items {
		if c.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" {
			s.Default = c.Name
		}
	}
	return s
}

// series asks Prometheus once, and keeps which series the views of the portal lack.
func series(ctx context.Context, poll func(context.Context) (gpumetrics.Report, error)) Metrics {
	m := Metrics{Set: true}
	r, err := poll(ctx)
	if err != nil {
		m.Err = err.Error()
		return m
	}
	m.Skew, m.Cards = r.Skew, r.Cards
	metrics := map[string]string{}
	for _, s := range r.Series {
		metrics[s.Name] = s.Metrics[0]
	}
	for _, v := range r.Views {
		one := View{Name: v.Name, State: string(v.State)}
		for _, name := range v.Missing {
			one.Missing = append(one.Missing, cmp.Or(metrics[name], name))
		}
		m.Views = append(m.Views, one)
	}
	if len(r.Views) == 0 {
		m.Err = fmt.Sprintf("no answer yet: %v", r.Status.Err)
	}
	return m
}

package charts_test

import (
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/gpu-portal/gpu-portal/charts"
)

// namespace of every test.
const namespace = "gpu"

// needed is the least that a site must give.
const needed = `
config:
  url: https://gpu.example.org
  appsDomain: apps.example.net
  oidc: {issuer: "https://login.example.org"}
`

// everything is a large site with all that can be switched on.
const everything = `
image: {repository: registry.example.org/gpu-portal, digest: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}
imagePullSecrets: [{name: pull}]
config:
  url: https://gpu.example.org
  appsDomain: apps.example.net:8443
  oidc: {issuer: "https://login.example.org", name: Keycloak}
  platform: {admin: [gpu-admins]}
  tenants: [{name: vision, groups: {developer: [vision]}, quota: {mig-1g.10gb: 7}}]
  clusters: [{name: main, prometheus: "http://prometheus.monitoring:9090"}, {name: far, kubeconfig: /etc/gpu-portal/far/kubeconfig}]
secrets:
  key: {existingSecret: portal-key}
  oidc: {existingSecret: portal-oidc}
  extra: [{name: far, secret: far-kubeconfig, path: /etc/gpu-portal/far}]
database: {existingSecret: portal-database, migration: {existingSecret: portal-owner, grantTo: portal}}
trustedCA: {existingConfigMap: ca}
extraEnv: [{name: OTEL_EXPORTER_OTLP_ENDPOINT, value: "http://tempo:4318"}]
priorityClassName: system-cluster-critical
rbac: {proxy: true, terminal: true}
web: {replicas: 3, podAnnotations: {a: b}, nodeSelector: {infra: "true"}, tolerations: [{operator: Exists}]}
ingress: {enabled: true, className: nginx, tls: {portalSecret: a, appsSecret: b}}
route: {enabled: true}
gateway: {enabled: true, parentRefs: [{name: public, namespace: gateways}]}
networkPolicy: {egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}
metrics:
  serviceMonitor: {enabled: true, labels: {prometheus: main}}
  rules: {enabled: true, labels: {prometheus: main}}
  dashboard: {enabled: true}
agent: {enabled: true, namespace: gpu-agents, migMonitor: true, tokenSecret: {existingSecret: agent-token}, podMonitor: {enabled: true}}
`

// scaling is a site whose database and number of pages somebody else looks after.
const scaling = needed + onPostgres + "web: {autoscaling: {enabled: true}}\n"

// sites are the values that every structural test goes through.
var sites = map[string]string{"the least": needed, "everything": everything, "scaling": scaling}

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := charts.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render gives the chart's objects as Helm would send them to the API server.
func render(t *testing.T, values string) ([]*unstructured.Unstructured, error) {
	t.Helper()
	return renderIn(t, namespace, values)
}

func renderIn(t *testing.T, namespace, values string) ([]*unstructured.Unstructured, error) {
	t.Helper()
	return charts.Render(charts.Release, namespace, values, nil)
}

func mustRender(t *testing.T, values string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := render(t, values)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// typed are the kinds that are read strictly: a field in the wrong place is an error, as with a server that validates.
var typed = map[string]func() any{
	"Deployment": func() any { return &appsv1.Deployment{} }, "DaemonSet": func() any { return &appsv1.DaemonSet{} },
	"ConfigMap": func() any { return &corev1.ConfigMap{} }, "Service": func() any { return &corev1.Service{} },
	"ServiceAccount":                   func() any { return &corev1.ServiceAccount{} },
	"PersistentVolumeClaim":            func() any { return &corev1.PersistentVolumeClaim{} },
	"ClusterRole":                      func() any { return &rbacv1.ClusterRole{} },
	"ClusterRoleBinding":               func() any { return &rbacv1.ClusterRoleBinding{} },
	"Role":                             func() any { return &rbacv1.Role{} },
	"RoleBinding":                      func() any { return &rbacv1.RoleBinding{} },
	"ValidatingAdmissionPolicy":        func() any { return &admissionv1.ValidatingAdmissionPolicy{} },
	"ValidatingAdmissionPolicyBinding": func() any { return &admissionv1.ValidatingAdmissionPolicyBinding{} },
	"PodDisruptionBudget":              func() any { return &policyv1.PodDisruptionBudget{} },
	"NetworkPolicy":                    func() any { return &networkingv1.NetworkPolicy{} },
	"Ingress":                          func() any { return &networkingv1.Ingress{} },
	"Job":                              func() any { return &batchv1.Job{} },
	"HorizontalPodAutoscaler":          func() any { return &autoscalingv2.HorizontalPodAutoscaler{} },
}

// foreign are the kinds that need a definition of somebody else's in the cluster.
var foreign = []string{"Route", "HTTPRoute", "ServiceMonitor", "PodMonitor", "PrometheusRule", "Cluster"}

// read gives an object as its own type.
func read[T any](t *testing.T, o *unstructured.Unstructured) *T {
	t.Helper()
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	v := new(T)
	if err := yaml.UnmarshalStrict(text, v); err != nil {
		t.Fatalf("%s %s: %v\n%s", o.GetKind(), o.GetName(), err, text)
	}
	return v
}

// the finds one object.
func the[T any](t *testing.T, objects []*unstructured.Unstructured, kind, name string) *T {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == kind && o.GetName() == name {
			return read[T](t, o)
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return nil
}

func names(objects []*unstructured.Unstructured) []string {
	var list []string
	for _, o := range objects {
		list = append(list, o.GetKind()+" "+o.GetName())
	}
	slices.Sort(list)
	return list
}

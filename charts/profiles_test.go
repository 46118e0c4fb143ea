package charts_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/charts"
)

var update = flag.Bool("update", false, "write the golden files")

// onPostgres is a site with a PostgreSQL that CloudNativePG runs.
const onPostgres = `
database: {cloudNativePG: {enabled: true}}
secrets: {key: {existingSecret: portal-key}}
`

// openShift lists the APIs by which it is told from other Kubernetes.
var openShift = []string{"security.openshift.io/v1", "route.openshift.io/v1", "console.openshift.io/v1"}

// TestProfiles: all that a profile of the chart renders, with the least that a site must give, is what is in its
// golden file: kind on SQLite, GKE on CloudNativePG with a HorizontalPodAutoscaler, OpenShift with users of its own.
// Dashboards, alerts and the quick start have tests of their own, and only their names are in it.
func TestProfiles(t *testing.T) {
	for profile, site := range map[string]string{"kind": needed, "gke": needed + onPostgres, "openshift": needed} {
		objects := profiled(t, profile, site)
		var text strings.Builder
		for _, o := range objects {
			brief(o)
			one, err := yaml.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString("---\n" + string(one))
		}
		file := filepath.Join("testdata", "profiles", profile+".yaml")
		if *update {
			if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), text.String()); diff != "" {
			t.Errorf("%s (-want +got), -update writes it\n%s", profile, diff)
		}
	}
}

// profiled renders a profile above the values of a site, on the platform that it is for.
func profiled(t *testing.T, profile, site string) []*unstructured.Unstructured {
	t.Helper()
	values, err := os.ReadFile("gpu-portal/" + profile + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	served := charts.Capabilities("1.36")
	if profile == "openshift" {
		served.APIVersions = append(served.APIVersions, openShift...)
	}
	objects, err := charts.Render(charts.Release, namespace, merged(t, site, string(values)), served)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// brief leaves out what is long and tested elsewhere.
func brief(o *unstructured.Unstructured) {
	switch {
	case o.GetKind() == "PrometheusRule", o.GetKind() == "ConsoleQuickStart":
		delete(o.Object, "spec")
	case o.GetKind() == "ConfigMap" && strings.Contains(o.GetName(), "dashboard"):
		delete(o.Object, "data")
	}
}

// TestOpenShiftGivesTheUsers: under restricted-v2 a pod that asks for a user or group outside of its namespace's range
// is refused. So none is asked for, by what the API server has or by runAsUser, and all else is as restricted as
// elsewhere.
func TestOpenShiftGivesTheUsers(t *testing.T) {
	served := charts.Capabilities("1.36")
	served.APIVersions = append(served.APIVersions, openShift...)
	byServer, err := charts.Render(charts.Release, namespace, everything, served)
	if err != nil {
		t.Fatal(err)
	}
	bySetting := mustRender(t, needed+"runAsUser: null\n")
	for how, objects := range map[string][]*unstructured.Unstructured{
		"the API server": byServer, "the setting": bySetting, "the profile": profiled(t, "openshift", needed),
	} {
		pods := map[string]corev1.PodSpec{}
		for _, d := range deployments(t, objects) {
			pods[d.Name] = d.Spec.Template.Spec
		}
		if how == "the API server" {
			pods["agent"] = the[appsv1.DaemonSet](t, objects, "DaemonSet", "gpu-portal-agent").Spec.Template.Spec
		}
		for name, spec := range pods {
			if s := spec.SecurityContext; s.RunAsUser != nil || s.RunAsGroup != nil || s.FSGroup != nil {
				t.Errorf("%s: the pod of %s asks for a user or group: %+v", how, name, s)
			}
			for i, c := range spec.Containers {
				if c.SecurityContext.RunAsUser != nil || c.SecurityContext.RunAsGroup != nil {
					t.Errorf("%s: %s asks for a user or group", how, name)
				}
				user := int64(1000680000) // as the constraint fills it in
				spec.Containers[i].SecurityContext.RunAsUser = &user
			}
			for _, bad := range unrestricted(spec) {
				if name != "agent" || bad != "host namespaces" {
					t.Errorf("%s: %s: %s", how, name, bad)
				}
			}
		}
	}
}

// TestPagesScale: the HorizontalPodAutoscaler alone says how many there are, so that an upgrade does not set them back;
// the budget counts with the fewest.
func TestPagesScale(t *testing.T) {
	objects := mustRender(t, merged(t, needed, onPostgres,
		"web: {replicas: 1, autoscaling: {enabled: true, maxReplicas: 9}}"))
	scaler := the[autoscalingv2.HorizontalPodAutoscaler](t, objects, "HorizontalPodAutoscaler", "gpu-portal").Spec
	web := the[appsv1.Deployment](t, objects, "Deployment", "gpu-portal")
	if web.Spec.Replicas != nil {
		t.Errorf("the Deployment says %d replicas", *web.Spec.Replicas)
	}
	if scaler.ScaleTargetRef.Kind != "Deployment" || scaler.ScaleTargetRef.Name != web.Name ||
		*scaler.MinReplicas != 2 || scaler.MaxReplicas != 9 {
		t.Errorf("it scales %+v between %d and %d", scaler.ScaleTargetRef, *scaler.MinReplicas, scaler.MaxReplicas)
	}
	if web.Spec.Template.Spec.Containers[0].Resources.Requests.Cpu().IsZero() {
		t.Error("a share of nothing is asked for")
	}
	the[policyv1.PodDisruptionBudget](t, objects, "PodDisruptionBudget", "gpu-portal-web")
	for values, want := range map[string]string{
		needed + "web: {autoscaling: {enabled: true}}\n":                                     "web.autoscaling",
		merged(t, needed, onPostgres, "web: {autoscaling: {enabled: true, maxReplicas: 1}}"): "minReplicas",
		merged(t, needed, onPostgres, "web: {autoscaling: {enabled: true, minReplicas: 0}}"): "minReplicas",
		merged(t, needed, "database: {cloudNativePG: {enabled: true}}"):                      "secrets.key.existingSecret",
		merged(t, needed, onPostgres, "database: {existingSecret: other}"):                   "give one of them",
		merged(t, needed, onPostgres, "database: {cloudNativePG: {instances: 0}}"):           "instances",
		merged(t, needed, onPostgres, "database: {cloudNativePG: {storage: {sizes: 1Gi}}}"):  "sizes",
		merged(t, needed, "runAsUser: 0"):                                                    "runAsUser",
	} {
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want a problem with %s, got %v", values, want, err)
		}
	}
}

// TestCloudNativePG: the portal reads its database from the Secret that the operator makes for the Cluster
// (https://cloudnative-pg.io/documentation/current/applications/), which stays when the release goes.
func TestCloudNativePG(t *testing.T) {
	objects := mustRender(t, merged(t, needed, onPostgres, "database: {cloudNativePG: {storage: {storageClass: fast}}}"))
	var cluster *unstructured.Unstructured
	for _, o := range objects {
		if o.GetKind() == "Cluster" {
			cluster = o
		}
	}
	if cluster == nil {
		t.Fatal("there is no Cluster")
	}
	spec, err := json.Marshal(cluster.Object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"bootstrap":{"initdb":{"database":"portal","encoding":"UTF8","owner":"portal"}},"instances":3,` +
		`"postgresql":{"parameters":{"max_connections":"200"}},"resources":{"limits":{"memory":"2Gi"},` +
		`"requests":{"cpu":"500m","memory":"1Gi"}},"storage":{"size":"10Gi","storageClass":"fast"}}`
	if diff := cmp.Diff(want, string(spec)); diff != "" || cluster.GetAPIVersion() != "postgresql.cnpg.io/v1" ||
		cluster.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
		t.Errorf("%s %v (-want +got)\n%s", cluster.GetAPIVersion(), cluster.GetAnnotations(), diff)
	}
	for _, d := range deployments(t, objects) {
		var from *corev1.SecretKeySelector
		for _, e := range d.Spec.Template.Spec.Containers[0].Env {
			if e.Name == "PORTAL_DATABASE" {
				from = e.ValueFrom.SecretKeyRef
			}
		}
		if from == nil || from.Name != cluster.GetName()+"-app" || from.Key != "uri" {
			t.Errorf("%s reads its database from %v", d.Name, from)
		}
	}
	for _, name := range names(objects) {
		if strings.HasPrefix(name, "PersistentVolumeClaim ") {
			t.Errorf("%s is for SQLite", name)
		}
	}
}

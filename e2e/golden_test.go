package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// TestTheAPIServerTakesEveryGoldenManifest applies every golden file of internal/kube with server-side dry run to the
// real API server, and dry-creates the pod of each template in a namespace that enforces Pod Security "restricted".
func TestTheAPIServerTakesEveryGoldenManifest(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "internal", "kube", "testdata", "*", "objects.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("want golden files, got %d (%v)", len(files), err)
	}
	ctx := context.Background()
	namespace := "golden-" + runID
	restricted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace,
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	if _, err := kube(t).CoreV1().Namespaces().Create(ctx, restricted, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{"inferenceservices", "jobsets", "leaderworkersets", "scaledobjects",
		"triggerauthentications", "httproutes", "inferencepools",
		"authpolicies", "ratelimitpolicies", "tokenratelimitpolicies", "backends", "securitypolicies",
		"backendtrafficpolicies", "aiservicebackends", "aigatewayroutes"} {
		defines(t, of+".yaml")
	}
	apply, applied := dryRun(t), 0
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			for _, o := range manifests(t, file) {
				applied++
				if o.GetNamespace() != "" {
					o.SetNamespace(namespace)
				}
				if err := apply(o); err != nil {
					t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
				}
				for _, at := range podTemplates {
					createPod(t, namespace, o, at...)
				}
			}
		})
	}
	if applied < 3*len(files) {
		t.Errorf("want several objects a file, got %d from %d files", applied, len(files))
	}
}

// podTemplates are where an object may have the template of a pod.
var podTemplates = [][]string{{"spec", "template"}, {"spec", "leaderWorkerTemplate", "leaderTemplate"},
	{"spec", "leaderWorkerTemplate", "workerTemplate"}}

// createPod asks the API server, in a dry run, for the pod that a controller would make of a template. Its account is
// left out: it is the tenant's.
func createPod(t *testing.T, namespace string, o *unstructured.Unstructured, at ...string) {
	t.Helper()
	template, found, err := unstructured.NestedMap(o.Object, at...)
	if err != nil || !found {
		return
	}
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &pod); err != nil {
		t.Fatal(err)
	}
	pod.Name, pod.Namespace, pod.Spec.ServiceAccountName = o.GetName()+"-0", namespace, ""
	eventually(t, "the namespace has its account", waitForMetrics, func() bool {
		_, err := kube(t).CoreV1().ServiceAccounts(namespace).Get(context.Background(), "default", metav1.GetOptions{})
		return err == nil
	})
	if _, err := kube(t).CoreV1().Pods(namespace).Create(context.Background(), &pod,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Errorf("the pod of %s: %v", o.GetName(), err)
	}
}

func dryRun(t *testing.T) func(*unstructured.Unstructured) error {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", world.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	resources, err := restmapper.GetAPIGroupResources(kube(t).Discovery())
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(resources)
	return func(o *unstructured.Unstructured) error {
		kind := o.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return err
		}
		_, err = client.Resource(mapping.Resource).Namespace(o.GetNamespace()).Apply(context.Background(), o.GetName(), o,
			metav1.ApplyOptions{FieldManager: "gpu-portal", DryRun: []string{metav1.DryRunAll}})
		return err
	}
}

// defines has the API server know what a file of the controller's tests defines, until the end of the test.
func defines(t *testing.T, file string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", world.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"})
	for _, d := range manifests(t, filepath.Join(root, "internal", "reconcile", "testdata", file)) {
		if _, err := definitions.Apply(context.Background(), d.GetName(), d,
			metav1.ApplyOptions{FieldManager: "e2e", Force: true}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = definitions.Delete(context.Background(), d.GetName(), metav1.DeleteOptions{})
		})
		group, _, _ := unstructured.NestedString(d.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(d.Object, "spec", "names", "plural")
		versions, _, _ := unstructured.NestedSlice(d.Object, "spec", "versions")
		for _, v := range versions {
			version := group + "/" + v.(map[string]any)["name"].(string)
			waittest.For(t, "the API server knows "+plural+" of "+version, func() bool {
				list, err := kube(t).Discovery().ServerResourcesForGroupVersion(version)
				return err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
					return r.Name == plural
				})
			})
		}
	}
}

func manifests(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	var all []*unstructured.Unstructured
	for {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
}

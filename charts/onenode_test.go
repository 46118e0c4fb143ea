package charts_test

import (
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/internal/config"
)

// TestOneNode: the profile for one node renders with the three settings that a site must give: one replica on SQLite
// with a volume, small enough to leave a node to its work, and nothing that would hold up a drain. The portal reads its
// settings.
func TestOneNode(t *testing.T) {
	profile, err := os.ReadFile("gpu-portal/one-node.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects := mustRender(t, merged(t, string(profile), needed))
	var replicas []int32
	for _, d := range deployments(t, objects) {
		replicas = append(replicas, *d.Spec.Replicas)
		wantSmall(t, d)
	}
	if len(replicas) != 1 || replicas[0] != 1 {
		t.Errorf("want one deployment of one replica, got %v", replicas)
	}
	for _, o := range objects {
		switch o.GetKind() {
		case "PodDisruptionBudget", "DaemonSet", "ServiceMonitor", "PrometheusRule":
			t.Errorf("%s %s is for larger sites", o.GetKind(), o.GetName())
		}
	}
	claim := the[corev1.PersistentVolumeClaim](t, objects, "PersistentVolumeClaim", "gpu-portal")
	if got := claim.Spec.Resources.Requests[corev1.ResourceStorage]; got.String() != "2Gi" {
		t.Errorf("want a volume of 2Gi, got %s", got.String())
	}
	text := the[corev1.ConfigMap](t, objects, "ConfigMap", "gpu-portal").Data["portal.yaml"]
	path := filepath.Join(t.TempDir(), "portal.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path, func(string) string { return "" }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Clusters) != 1 || c.Database == "" || c.Database[:7] != "sqlite:" || c.Limits.MaxStorageGiB != 50 ||
		c.Storage.Retention <= 0 {
		t.Errorf("want one cluster on SQLite with the profile's limits, got %+v", c)
	}
}

// wantSmall: less than a tenth of a core and a quarter of a GiB.
func wantSmall(t *testing.T, d *appsv1.Deployment) {
	t.Helper()
	tolerated := map[string]bool{}
	for _, x := range d.Spec.Template.Spec.Tolerations {
		tolerated[x.Key] = true
	}
	if !tolerated["nvidia.com/gpu"] || !tolerated["node-role.kubernetes.io/control-plane"] {
		t.Errorf("%s does not run on the one node: %v", d.Name, d.Spec.Template.Spec.Tolerations)
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		cpu, memory := c.Resources.Requests[corev1.ResourceCPU], c.Resources.Requests[corev1.ResourceMemory]
		if cpu.Cmp(resource.MustParse("100m")) > 0 || memory.Cmp(resource.MustParse("256Mi")) > 0 || cpu.IsZero() {
			t.Errorf("%s asks for %s and %s", c.Name, cpu.String(), memory.String())
		}
	}
}

// merged puts values above others, as helm does with several files.
func merged(t *testing.T, files ...string) string {
	t.Helper()
	all := map[string]any{}
	for _, text := range files {
		var values map[string]any
		if err := yaml.Unmarshal([]byte(text), &values); err != nil {
			t.Fatal(err)
		}
		over(all, values)
	}
	out, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func over(into, values map[string]any) {
	for key, value := range values {
		below, is := value.(map[string]any)
		if has, was := into[key].(map[string]any); is && was {
			over(has, below)
			continue
		}
		into[key] = value
	}
}

package reconcile_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// rendered is the objects of a notebook with storage, as they should be.
func rendered(t *testing.T) []reconcile.Object {
	t.Helper()
	w := reconciletest.WithStorage(notebook("nb-a"))
	objects, err := kube.Objects(kube.Input{Workload: w, Tenant: reconciletest.Site(namespace).Directory.Tenants[0],
		Site: kube.Site{Instance: "test"}, Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	var list []reconcile.Object
	for _, o := range objects {
		object, err := reconcile.NewObject(o)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, object)
	}
	return list
}

func TestDiff(t *testing.T) {
	objects := rendered(t)
	all := func(change func(kind string, e *reconcile.Existing)) map[reconcile.Key]reconcile.Existing {
		found := map[reconcile.Key]reconcile.Existing{}
		for _, o := range objects {
			e := reconcile.Applied(o, "uid-"+o.Kind)
			change(o.Kind, &e)
			found[o.Key] = e
		}
		return found
	}
	only := func(kind string, change func(*reconcile.Existing)) func(string, *reconcile.Existing) {
		return func(k string, e *reconcile.Existing) {
			if k == kind {
				change(e)
			}
		}
	}
	untouched := func(string, *reconcile.Existing) {}
	// nothing of it has an entry of ours in managedFields
	repairAll := "update Secret repair, update Service repair, update StatefulSet repair"

	old := reconcile.Object{Key: reconcile.Key{Kind: "ResourceClaimTemplate", Namespace: namespace, Name: "nb-a-old"},
		Owner: objects[1].Owner}
	withOld := func(change func(kind string, e *reconcile.Existing)) map[reconcile.Key]reconcile.Existing {
		found := all(change)
		e := reconcile.Applied(old, "uid-"+old.Kind)
		change(old.Kind, &e)
		found[old.Key] = e
		return found
	}
	cases := map[string]struct {
		gone  bool
		found map[reconcile.Key]reconcile.Existing
		want  string
	}{
		"a claim of an earlier spec goes when the new pod is asked for": {found: withOld(untouched), want: repairAll +
			", delete ResourceClaimTemplate"},
		"a claim of an earlier spec that is another's stays": {
			found: withOld(only(old.Kind, func(e *reconcile.Existing) { e.Workload = "w-other" })), want: repairAll},
		"deleted: a claim of an earlier spec goes too": {gone: true, found: withOld(untouched),
			want: "delete StatefulSet, delete Service, delete Secret, delete ResourceClaimTemplate"},
		"nothing is there: all is made, storage first, what makes pods last": {
			want: "create PersistentVolumeClaim, create Secret, create Service, create StatefulSet"},
		"storage that is there is left alone, the rest is repaired": {found: all(untouched), want: repairAll},
		"another spec: the object is written": {found: all(only("Secret", func(e *reconcile.Existing) { e.Hash = "old" })),
			want: "update Secret, update Service repair, update StatefulSet repair"},
		"what is being deleted is waited for": {found: all(func(_ string, e *reconcile.Existing) { e.Deleting = true }),
			want: ""},
		"an object of another workload stops it": {found: all(only("Service", func(e *reconcile.Existing) {
			e.Workload = "w-other"
		})),
			want: "update Secret repair, refuse Service, update StatefulSet repair"},
		"an object without a record stops it": {found: all(only("Service", func(e *reconcile.Existing) {
			e.Owner = kube.Owner{}
		})),
			want: "update Secret repair, refuse Service, update StatefulSet repair"},
		"storage of another team stops it": {found: all(only("PersistentVolumeClaim", func(e *reconcile.Existing) {
			e.Tenant = "speech"
		})),
			want: "refuse PersistentVolumeClaim, " + repairAll},
		"deleted: what makes pods goes first, storage stays": {gone: true, found: all(untouched),
			want: "delete StatefulSet, delete Service, delete Secret"},
		"deleted: what is not ours stays": {gone: true,
			found: all(only("Service", func(e *reconcile.Existing) { e.Instance = "other" })),
			want:  "delete StatefulSet, delete Secret"},
		"deleted: nothing is left": {gone: true, want: ""},
		"deleted: what is already going stays": {gone: true, found: all(func(_ string, e *reconcile.Existing) {
			e.Deleting = true
		}), want: ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range reconcile.Diff(reconcile.DesiredObjects{Objects: objects, Old: []reconcile.Object{old},
				Gone: c.gone},
				c.found) {
				text := string(s.Verb) + " " + s.Kind
				if s.Repair {
					text += " repair"
				}
				if s.Verb == reconcile.Delete && (s.UID != "uid-"+s.Kind || s.Version != "1") {
					t.Errorf("%s names uid %q, version %q", text, s.UID, s.Version)
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestOwns(t *testing.T) {
	wanted := `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"a","labels":{"x":"1","y":"2"}},
		"spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"main","image":"i","ports":[{"containerPort":8888,"name":"http"}],"args":["a"]}],
		"tolerations":[{"key":"k"}],"securityContext":{"runAsNonRoot":true},"volumes":[{"name":"tmp","emptyDir":{}}]}}}}`
	full := `{"f:metadata":{"f:labels":{"f:x":{},"f:y":{}}},"f:spec":{"f:replicas":{},"f:template":{"f:spec":{
		"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:name":{},"f:image":{},"f:args":{},"f:ports":{"k:{\"containerPort\":8888,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{}}}}},
		"f:tolerations":{},"f:securityContext":{"f:runAsNonRoot":{}},"f:volumes":{"k:{\"name\":\"tmp\"}":{".":{},"f:name":{},"f:emptyDir":{}}}}}}}`
	without := func(cut string) string {
		if !strings.Contains(full, cut) {
			t.Fatalf("%s is not there to be cut", cut)
		}
		return strings.Replace(full, cut, "", 1)
	}
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	cases := map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    bool
	}{
		"every field is ours": {[]metav1.ManagedFieldsEntry{entry("gpu-portal", "Apply", full)}, true},
		"others own other fields": {[]metav1.ManagedFieldsEntry{entry("kube-controller-manager", "Update",
			`{"f:status":{}}`), entry("gpu-portal", "Apply", full)}, true},
		"somebody took the replicas": {[]metav1.ManagedFieldsEntry{entry("gpu-portal", "Apply", without(`"f:replicas":{},`))},
			false},
		"somebody took the image": {[]metav1.ManagedFieldsEntry{entry("gpu-portal", "Apply", without(`"f:image":{},`))},
			false},
		"somebody took a label": {[]metav1.ManagedFieldsEntry{entry("gpu-portal", "Apply", without(`"f:x":{},`))}, false},
		// The API server drops what has nothing left below it: an empty node is a leaf.
		"somebody removed the port": {[]metav1.ManagedFieldsEntry{entry("gpu-portal", "Apply",
			without(
				`,"f:ports":{"k:{\"containerPort\":8888,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{}}}`))},
			false},
		"somebody took an atomic list": {[]metav1.ManagedFieldsEntry{entry("gpu-portal", "Apply",
			without(`"f:tolerations":{},`))}, false},
		"somebody took an empty struct": {[]metav1.ManagedFieldsEntry{entry("gpu-portal", "Apply",
			without(`,"f:emptyDir":{}`))}, false},
		"never applied by us": {[]metav1.ManagedFieldsEntry{entry("kubectl", "Apply", full)}, false},
		"written by us, but not by apply": {[]metav1.ManagedFieldsEntry{entry("gpu-portal", "Update", full)},
			false},
		"nothing is known": {nil, false},
		"what is written there cannot be read at all": {[]metav1.ManagedFieldsEntry{entry("gpu-portal", "Apply", "{")},
			false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var content map[string]any
			if err := json.Unmarshal([]byte(wanted), &content); err != nil {
				t.Fatal(err)
			}
			if got := reconcile.Owns(content, c.entries); got != c.want {
				t.Errorf("want %t, got %t", c.want, got)
			}
		})
	}
}

// What has been written is not written again before it could have come back; repairs wait longer each time.
func TestLedger(t *testing.T) {
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	after := func(d time.Duration) time.Time { return now.Add(d) }
	step := func(verb reconcile.Verb, hash string, repair bool) reconcile.Step {
		return reconcile.Step{Verb: verb, Repair: repair,
			Object: reconcile.Object{Key: reconcile.Key{Kind: "Service", Name: "a"}, Hash: hash}}
	}
	made, other, repair, remove := step(reconcile.Create, "1", false), step(reconcile.Update, "2", false),
		step(reconcile.Update, "1", true), step(reconcile.Delete, "", false)

	l := reconcile.NewLedger()
	if reconcile.Wait(l, made, now) > 0 {
		t.Error("what was never written waits")
	}
	reconcile.Wrote(l, made, now)
	for name, c := range map[string]struct {
		step reconcile.Step
		at   time.Duration
		wait bool
	}{
		"the same at once":                 {made, time.Second, true},
		"the same after the echo":          {made, 11 * time.Second, false},
		"another spec at once":             {other, 0, false},
		"a deletion at once":               {remove, 0, false},
		"a repair at once":                 {repair, time.Second, true},
		"a repair after the first pause":   {repair, 3 * time.Second, false},
		"the same, the clock was set back": {made, -time.Hour, false},
	} {
		if got := reconcile.Wait(l, c.step, after(c.at)) > 0; got != c.wait {
			t.Errorf("%s: want to wait %t, got %t", name, c.wait, got)
		}
	}
	at := now
	var pauses []time.Duration
	for range 10 {
		at = at.Add(time.Nanosecond)
		wait := reconcile.Wait(l, repair, at)
		pauses = append(pauses, wait.Round(time.Second))
		at = at.Add(wait)
		reconcile.Wrote(l, repair, at)
	}
	want := []time.Duration{2, 4, 8, 16, 32, 64, 128, 256, 300, 300}
	for i := range want {
		want[i] *= time.Second
	}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Errorf("pauses between repairs (-want +got)\n%s", diff)
	}
	reconcile.Wrote(l, remove, at)
	if reconcile.Wait(l, made, at) > 0 {
		t.Error("what was deleted cannot be made again")
	}
}

func TestWorthSaving(t *testing.T) {
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	base := notebook("nb-a")
	base.Observed = workload.Observation{At: now, PodPresent: true, Node: "node-1", Reason: i18n.T("explain.x", "Count",
		3), Detail: "0/5 nodes",
		Activity: &workload.Activity{At: now, LastActivity: now,
			Kernels: []workload.Kernel{{Name: "python3", State: "idle", LastActivity: now}}}}
	cases := map[string]struct {
		change func(*workload.Workload)
		want   bool
	}{
		"nothing": {func(*workload.Workload) {}, false},
		"a number that was in the database": {func(w *workload.Workload) {
			w.Observed.Reason = i18n.T("explain.x", "Count", 3.0)
		}, false},
		"only the time":                 {func(w *workload.Workload) { w.Observed.At = now.Add(59 * time.Second) }, false},
		"only the time, after a minute": {func(w *workload.Workload) { w.Observed.At = now.Add(time.Minute) }, true},
		"the cluster's wording":         {func(w *workload.Workload) { w.Observed.Detail = "0/6 nodes" }, false},
		"the same kernels, later": {func(w *workload.Workload) {
			w.Observed.Activity = &workload.Activity{At: now.Add(15 * time.Second), LastActivity: now.Add(time.Second),
				Kernels: []workload.Kernel{{Name: "python3", State: "idle"}}}
		}, false},
		"a kernel got busy": {func(w *workload.Workload) {
			w.Observed.Activity = &workload.Activity{At: now, LastActivity: now,
				Kernels: []workload.Kernel{{Name: "python3", State: "busy", LastActivity: now}}}
		}, true},
		"the reason":      {func(w *workload.Workload) { w.Observed.Reason = i18n.T("explain.y") }, true},
		"the state":       {func(w *workload.Workload) { w.State = workload.Running }, true},
		"the node":        {func(w *workload.Workload) { w.Observed.Node = "node-2" }, true},
		"the warning":     {func(w *workload.Workload) { w.WarnedAt = now }, true},
		"the spec itself": {func(w *workload.Workload) { w.Desired, w.Generation = workload.WantStopped, 2 }, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			after := base
			c.change(&after)
			if got := reconcile.WorthSaving(base, after, time.Minute); got != c.want {
				t.Errorf("want %t, got %t", c.want, got)
			}
		})
	}
}

func TestFits(t *testing.T) {
	quota := func(hard, used string) *corev1.ResourceQuota {
		return &corev1.ResourceQuota{Status: corev1.ResourceQuotaStatus{
			Hard: corev1.ResourceList{"requests.nvidia.com/gpu": resource.MustParse(hard),
				"services.nodeports": resource.MustParse("0")},
			Used: corev1.ResourceList{"requests.nvidia.com/gpu": resource.MustParse(used)}}}
	}
	pod := corev1.PodSpec{Containers: []corev1.Container{
		{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")}}}}}
	for name, c := range map[string]struct {
		quotas []*corev1.ResourceQuota
		want   bool
	}{
		"no quota":               {nil, true},
		"just enough":            {[]*corev1.ResourceQuota{quota("4", "2")}, true},
		"one too few":            {[]*corev1.ResourceQuota{quota("4", "3")}, false},
		"one of two has no room": {[]*corev1.ResourceQuota{quota("9", "0"), quota("4", "4")}, false},
		"another line is overdrawn": {[]*corev1.ResourceQuota{quota("4", "2"), {Status: corev1.ResourceQuotaStatus{
			Hard: corev1.ResourceList{"requests.nvidia.com/mig-1g.10gb": resource.MustParse("0")},
			Used: corev1.ResourceList{"requests.nvidia.com/mig-1g.10gb": resource.MustParse("3")}}}}, true},
		"lowered below its use": {[]*corev1.ResourceQuota{quota("1", "4")}, false},
	} {
		if got := reconcile.Fits(pod, c.quotas); got != c.want {
			t.Errorf("%s: want %t, got %t", name, c.want, got)
		}
	}
}

// Secrets must not be in memory, and neither must what nobody reads.
func TestSlim(t *testing.T) {
	secret := &corev1.Secret{Data: map[string][]byte{"token": []byte("x")}, StringData: map[string]string{"a": "b"}}
	if _, err := reconcile.Slim(secret); err != nil || string(secret.Data["token"]) != "\x00" || secret.StringData != nil {
		t.Errorf("a secret is kept: %+v, %v", secret, err)
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n",
		Containers: []corev1.Container{{Name: "main", Env: []corev1.EnvVar{{Name: "A", Value: "b"}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}}}},
		Volumes: []corev1.Volume{{Name: "t"}, {Name: "h",
			VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
				ClaimName: "c"}}}}}}
	if _, err := reconcile.Slim(pod); err != nil || pod.Spec.Containers[0].Env != nil || len(pod.Spec.Volumes) != 1 ||
		len(pod.Spec.Containers[0].Resources.Requests) != 1 || pod.Spec.NodeName != "n" {
		t.Errorf("%+v, %v", pod.Spec, err)
	}
}

// Each kind that is written is known when one of it vanishes. A NetworkPolicy was not, and came back only when its
// tenant was next looked at.
func TestKindOf(t *testing.T) {
	typed := map[string]any{
		"Namespace": &corev1.Namespace{}, "ServiceAccount": &corev1.ServiceAccount{},
		"ResourceQuota": &corev1.ResourceQuota{}, "LimitRange": &corev1.LimitRange{},
		"NetworkPolicy": &networkingv1.NetworkPolicy{}, "PersistentVolumeClaim": &corev1.PersistentVolumeClaim{},
		"Secret":  &corev1.Secret{},
		"Service": &corev1.Service{}, "ResourceClaimTemplate": &resourcev1.ResourceClaimTemplate{},
		"StatefulSet": &appsv1.StatefulSet{}, "Deployment": &appsv1.Deployment{}, "RoleBinding": &rbacv1.RoleBinding{},
		"Job":              &batchv1.Job{},
		"InferenceService": &unstructured.Unstructured{Object: map[string]any{"kind": "InferenceService"}},
		"JobSet":           &unstructured.Unstructured{Object: map[string]any{"kind": "JobSet"}},
		"LeaderWorkerSet":  &unstructured.Unstructured{Object: map[string]any{"kind": "LeaderWorkerSet"}},
		"InferencePool":    &unstructured.Unstructured{Object: map[string]any{"kind": "InferencePool"}},
		"HTTPRoute":        &unstructured.Unstructured{Object: map[string]any{"kind": "HTTPRoute"}},
		"AuthPolicy":       &unstructured.Unstructured{Object: map[string]any{"kind": "AuthPolicy"}},
		"RateLimitPolicy":  &unstructured.Unstructured{Object: map[string]any{"kind": "RateLimitPolicy"}},
		"Backend":          &unstructured.Unstructured{Object: map[string]any{"kind": "Backend"}},
		"AIServiceBackend": &unstructured.Unstructured{Object: map[string]any{"kind": "AIServiceBackend"}},
		"AIGatewayRoute":   &unstructured.Unstructured{Object: map[string]any{"kind": "AIGatewayRoute"}},
		"SecurityPolicy":   &unstructured.Unstructured{Object: map[string]any{"kind": "SecurityPolicy"}},
		"BackendTrafficPolicy": &unstructured.Unstructured{
			Object: map[string]any{"kind": "BackendTrafficPolicy"}},
		"TokenRateLimitPolicy": &unstructured.Unstructured{
			Object: map[string]any{"kind": "TokenRateLimitPolicy"}},
		"ScaledObject": &unstructured.Unstructured{Object: map[string]any{"kind": "ScaledObject"}},
		"TriggerAuthentication": &unstructured.Unstructured{
			Object: map[string]any{"kind": "TriggerAuthentication"}},
		"VolumeSnapshot": &unstructured.Unstructured{Object: map[string]any{"kind": "VolumeSnapshot"}},
	}
	for _, name := range reconcile.KindNames() {
		if typed[name] == nil || reconcile.KindOf(typed[name]) != name {
			t.Errorf("%s is not known", name)
		}
	}
}

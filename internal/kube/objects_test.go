package kube

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// each renders every size with every image as every kind that it can be, with and without storage, on both platforms.
func each(t *testing.T, check func(t *testing.T, in Input, objects []Object)) {
	t.Helper()
	eachOf(t, catalog.Default(), check)
	t.Run("every", func(t *testing.T) { eachOf(t, catalog.EveryRow(), check) })
}

func eachOf(t *testing.T, c catalog.Catalog, check func(t *testing.T, in Input, objects []Object)) {
	t.Helper()
	for _, s := range c.Sizes {
		for _, i := range c.Images {
			for _, kind := range catalog.WorkloadKinds() {
				if !i.RunsAs(kind) && i.Kind == catalog.Job {
					continue
				}
				for n := range 4 {
					in := inputOf(c, s.Name, i.Name)
					in.Workload.Kind, in.Site.OpenShift = kind, n&1 == 1
					if kind == catalog.Job {
						in.Workload.Job, in.Workload.Image = &workload.Job{Command: []string{"train"}}, in.Workload.Image.ForJob()
					}
					if n&2 == 2 {
						in.Workload.Volume, in.Workload.StorageGiB = "nb-anna-7f3c-home", 10
					}
					in.Workload.Secrets = []workload.SecretUse{{ID: "s-1", Name: "github", Kind: "git",
						Files: []string{"git-credentials"}}}
					in.Workload.Git = &workload.Git{URL: "https://github.com/a/b", Image: "example.org/git@sha256:00"}
					t.Run(fmt.Sprintf("%s/%s/%s/%d", s.Name, i.Name, kind, n), func(t *testing.T) {
						objects, err := Objects(in)
						if err != nil {
							t.Fatal(err)
						}
						check(t, in, objects)
					})
				}
			}
		}
	}
}

// podOf finds the pod inside the objects.
func podOf(t *testing.T, objects []Object) corev1.PodTemplateSpec {
	t.Helper()
	for _, o := range objects {
		switch o := o.(type) {
		case *appsv1.StatefulSet:
			return o.Spec.Template
		case *appsv1.Deployment:
			return o.Spec.Template
		case *batchv1.Job:
			return o.Spec.Template
		}
	}
	t.Fatal("nothing that makes a pod")
	return corev1.PodTemplateSpec{}
}

func TestEveryPodIsRestricted(t *testing.T) {
	each(t, func(t *testing.T, in Input, objects []Object) {
		pod := podOf(t, objects)
		for _, bad := range restricted(pod.Spec) {
			t.Error(bad)
		}
		if on := pod.Spec.AutomountServiceAccountToken; on == nil || *on {
			t.Error("a token of the account would be mounted")
		}
		if on := pod.Spec.EnableServiceLinks; on == nil || *on {
			t.Error("the pod would see its neighbours' addresses")
		}
		if s := pod.Spec.SecurityContext; in.Site.OpenShift && (s.RunAsUser != nil || s.RunAsGroup != nil ||
			s.FSGroup != nil) {
			t.Error("on OpenShift the SCC picks user and groups")
		}
	})
}

func TestEveryPodAsksForWhatItMayUse(t *testing.T) {
	each(t, func(t *testing.T, in Input, objects []Object) {
		size := in.Workload.Size
		c := podOf(t, objects).Spec.Containers[0]
		if diff := cmp.Diff(c.Resources.Requests, c.Resources.Limits); diff != "" {
			t.Errorf("requests and limits differ: %s", diff)
		}
		extended := map[string]int64{}
		for name, q := range c.Resources.Requests {
			if strings.Contains(string(name), "/") {
				extended[string(name)] = q.Value()
			}
		}
		want := map[string]int64{}
		if size.Accelerator.Resource != "" {
			want[size.Accelerator.Resource] = int64(size.Devices())
		}
		for name, text := range size.Accelerator.Extra {
			if strings.Contains(name, "/") {
				q := resource.MustParse(text)
				want[name] = q.Value()
			}
		}
		if claims := len(c.Resources.Claims) == 1; claims != (size.Accelerator.Claim != nil) {
			t.Errorf("claims: %v", c.Resources.Claims)
		}
		if diff := cmp.Diff(want, extended); diff != "" {
			t.Errorf("devices (-want +got):\n%s", diff)
		}
		hidden := slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
			return e.Name == "NVIDIA_VISIBLE_DEVICES" &&
				e.Value == "void"
		})
		if hidden != size.CPUOnly() {
			t.Error("exactly pods without a GPU are told to show none")
		}
	})
}

func TestEveryObjectSaysWhoseItIs(t *testing.T) {
	each(t, func(t *testing.T, in Input, objects []Object) {
		kinds := map[string]bool{}
		for _, o := range objects {
			kind := o.GetObjectKind().GroupVersionKind()
			if kind.Kind != "PersistentVolumeClaim" {
				kinds[kind.Kind+" "+o.GetName()] = true
			}
			if kind.Version == "" || kind.Kind == "" || o.GetNamespace() != in.Workload.Namespace {
				t.Errorf("%s %q is not complete", kind, o.GetName())
			}
			owner := OwnerOf(o.GetAnnotations())
			if owner.Workload != in.Workload.ID && (owner.Volume == "" || owner.Volume != in.Workload.Volume) {
				t.Errorf("%s is neither of the workload nor its storage: %v", kind.Kind, o.GetAnnotations())
			}
			if owner.Instance != "default" || owner.Tenant != "vision" {
				t.Errorf("%s: %+v", kind.Kind, owner)
			}
			if kind.Kind != "PersistentVolumeClaim" && (owner.Workload != in.Workload.ID ||
				owner.Generation != in.Workload.Generation) {
				t.Errorf("%s: %+v", kind.Kind, owner)
			}
			if o.GetLabels()[ManagedByLabel] != ManagedBy {
				t.Errorf("%s: watches would not see it", kind.Kind)
			}
		}
		pod := podOf(t, objects)
		if owner := OwnerOf(pod.Annotations); owner.Workload != in.Workload.ID || owner.Generation != 0 {
			t.Errorf("pod: %+v; a generation there would restart it with each spec", owner)
		}
		for key, value := range PodSelector(in.Workload) {
			if pod.Labels[key] != value {
				t.Errorf("the selector does not find the pod: %s=%s", key, value)
			}
		}
		for _, ref := range Names(in.Workload) {
			if !kinds[ref.Kind+" "+ref.Name] {
				t.Errorf("Names lists a %s that is not made", ref.Kind)
			}
			delete(kinds, ref.Kind+" "+ref.Name)
		}
		if len(kinds) > 0 {
			t.Errorf("Names forgets %v", kinds)
		}
	})
}

// Whatever a person calls a workload, labels and names hold, and nothing but the checked name gets into objects.
func TestNothingTypedGetsIntoObjects(t *testing.T) {
	names := []string{
		"a", "nb", strings.Repeat("a", request.MaxName), "a" + strings.Repeat("-b", (request.MaxName-1)/2), "kube-system",
		"default", "openshift-infra",
		request.Slug("Ünï cödé"), request.Slug("x\n---\nkind: Secret"), request.Slug("{{ .Values }}"),
		request.Slug(strings.Repeat("Long Name ", 60)),
	}
	const poison = "\"'\n---\nkind: Secret {{ }} $(TOKEN) <b>"
	for _, name := range names {
		for _, kind := range []catalog.WorkloadKind{catalog.Notebook, catalog.Endpoint} {
			t.Run(name+"/"+string(kind), func(t *testing.T) {
				in := input("mig-1g.10gb", "jupyterlab")
				w := &in.Workload
				w.Name, w.Kind, w.Volume, w.StorageGiB = name, kind, name+"-home", 5
				w.OwnerName, w.Request, w.Size.Title, w.Image.Title = poison, poison, poison, poison
				in.Tenant.Title = poison
				objects, err := Objects(in)
				if err != nil {
					t.Fatal(err)
				}
				all := text(t, objects)
				for _, word := range []string{"---\\n", "TOKEN)", "<b>", "{{"} {
					if strings.Contains(all, word) {
						t.Errorf("typed text got into an object: %q", word)
					}
				}
				for _, o := range objects {
					if len(validation.IsDNS1035Label(o.GetName())) > 0 {
						t.Errorf("name %q", o.GetName())
					}
				}
				if revision := len(name) + 11; revision > 63 {
					t.Errorf("the revision label would have %d characters", revision)
				}
				pod := podOf(t, objects)
				for _, labels := range []map[string]string{pod.Labels, objects[0].GetLabels()} {
					for key, value := range labels {
						if len(validation.IsValidLabelValue(value)) > 0 || len(validation.IsQualifiedName(key)) > 0 {
							t.Errorf("label %s=%s", key, value)
						}
					}
				}
			})
		}
	}
}

func TestObjectsAreTheSameEachTime(t *testing.T) {
	in := input("vgpu-12q", "vllm")
	first, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	want := text(t, first)
	for range 20 {
		again, err := Objects(in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, text(t, again)); diff != "" {
			t.Fatal(diff)
		}
	}
}

// A spec that changes nothing in the pod must not replace it: the template may not depend on the generation.
func TestTemplateDoesNotDependOnTheSpec(t *testing.T) {
	in := input("mig-1g.10gb", "jupyterlab")
	first, _ := Objects(in)
	in.Workload.Generation, in.Workload.Desired = 7, workload.WantStopped
	in.Workload.Grants = []workload.Grant{{ID: "g-team", To: workload.ToTeam, Permission: workload.MayUse}}
	second, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(podOf(t, first), podOf(t, second)); diff != "" {
		t.Error(diff)
	}
}

func TestObjectsRefuse(t *testing.T) {
	cases := map[string]struct {
		change func(*Input)
		want   string
	}{
		"a name with a line feed":   {func(in *Input) { in.Workload.Name = "a\nb" }, "not a DNS label"},
		"a name that begins with 1": {func(in *Input) { in.Workload.Name = "1a" }, "not a DNS label"},
		"a name that is too long":   {func(in *Input) { in.Workload.Name = strings.Repeat("a", 53) }, "not a DNS label"},
		"no namespace":              {func(in *Input) { in.Workload.Namespace = "" }, "namespace"},
		"a climbing namespace":      {func(in *Input) { in.Workload.Namespace = "../kube-system" }, "namespace"},
		"no id":                     {func(in *Input) { in.Workload.ID = "" }, "id"},
		"an id that is no label":    {func(in *Input) { in.Workload.ID = "w 1" }, "id"},
		"no instance":               {func(in *Input) { in.Site.Instance = "" }, "instance"},
		"another tenant":            {func(in *Input) { in.Tenant.Name = "other" }, "belongs to tenant"},
		"unknown kind":              {func(in *Input) { in.Workload.Kind = "cronjob" }, "kind"},
		"no image":                  {func(in *Input) { in.Workload.Image = catalog.Image{} }, "no reference"},
		"no token":                  {func(in *Input) { in.Token = "" }, "token"},
		"storage without size":      {func(in *Input) { in.Workload.Volume = "x" }, "no size"},
		"another team's volume": {func(in *Input) {
			in.Workload.Mounts = []workload.Mount{{Claim: "speech.data", GiB: 1, TeamShare: workload.TeamShare{Name: "data",
				Class: "nfs", Access: workload.ManyNodes}}}
		}, "volume"},
		"a volume with dots": {func(in *Input) {
			in.Workload.Mounts = []workload.Mount{{Claim: "vision.../x", GiB: 1, TeamShare: workload.TeamShare{Name: "../x",
				Class: "nfs", Access: workload.ManyNodes}}}
		}, "volume"},
		"a data set that can be written": {func(in *Input) {
			in.Workload.Mounts = []workload.Mount{{Claim: "archive", Dataset: "x"}}
		}, "data set"},
		"a data set that climbs": {func(in *Input) {
			in.Workload.Mounts = []workload.Mount{{Claim: "archive", Dataset: "x", SubPath: "a/../../x",
				TeamShare: workload.TeamShare{ReadOnly: true}}}
		}, "data set"},
		"a data set on a personal volume": {func(in *Input) {
			in.Workload.Mounts = []workload.Mount{{Claim: "vision.corpus.80a351e4", Dataset: "x",
				TeamShare: workload.TeamShare{ReadOnly: true}}}
		}, "not a DNS label"},
		"a data set on another team's volume": {func(in *Input) {
			in.Workload.Mounts = []workload.Mount{{Claim: "speech.data", GiB: 1, Dataset: "x",
				TeamShare: workload.TeamShare{Name: "data", Class: "nfs", Access: workload.ManyNodes, ReadOnly: true}}}
		}, "volume"},
		"a secret that climbs": {func(in *Input) {
			in.Workload.Secrets = []workload.SecretUse{{ID: "s-1", Name: "../x", Files: []string{"token"}}}
		}, "secret"},
		"a variable that is no key": {func(in *Input) {
			in.Workload.Secrets = []workload.SecretUse{{ID: "s-1", Name: "x", Env: []string{"A B"}}}
		}, "secret"},
		"storage with a slash":     {func(in *Input) { in.Workload.Volume, in.Workload.StorageGiB = "a/b", 1 }, "storage"},
		"no processor":             {func(in *Input) { in.Workload.Size.CPU = "" }, "cpu"},
		"memory below zero":        {func(in *Input) { in.Workload.Size.Memory = "-1Gi" }, "memory"},
		"unreadable shared memory": {func(in *Input) { in.Workload.Size.SharedMem = "lots" }, "shared memory"},
		"dra without a claim":      {func(in *Input) { in.Workload.Size.Technology = catalog.DRA }, "needs a claim"},
		"a GPU size without a GPU": {func(in *Input) { in.Workload.Size.Accelerator.Resource = "" }, "needs a resource"},
		"half a device beside it":  {extra("rdma/hca", "500m"), "not a whole quantity"},
		"no device beside it":      {extra("rdma/hca", "0"), "not a whole quantity"},
		"processors as devices":    {extra("cpu", "1"), "not an extended resource"},
		"a claim for nothing":      {claim(), "nothing is requested"},
		"a claim without a class":  {claim(catalog.DeviceRequest{Name: "gpu"}), "a device class or alternatives"},
		"a claim without a name":   {claim(catalog.DeviceRequest{DeviceClass: "gpu.nvidia.com"}), "not a DNS label"},
		"a class and alternatives": {claim(catalog.DeviceRequest{Name: "gpu", DeviceClass: "a",
			FirstAvailable: []catalog.DeviceRequest{{Name: "b", DeviceClass: "b"}}}),
			"and not both"},
		"an alternative without a class": {claim(catalog.DeviceRequest{Name: "gpu",
			FirstAvailable: []catalog.DeviceRequest{{Name: "b"}}}), "alternative"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in := input("mig-1g.10gb", "jupyterlab")
			c.change(&in)
			objects, err := Objects(in)
			if err == nil || !strings.Contains(err.Error(), c.want) || objects != nil {
				t.Errorf("want an error with %q, got %v and %d objects", c.want, err, len(objects))
			}
		})
	}
}

func extra(name, quantity string) func(*Input) {
	return func(in *Input) { in.Workload.Size.Accelerator.Extra = map[string]string{name: quantity} }
}

func claim(requests ...catalog.DeviceRequest) func(*Input) {
	return func(in *Input) { in.Workload.Size.Accelerator.Claim = &catalog.Claim{Requests: requests} }
}

func TestPlacementIsThatOfTheSize(t *testing.T) {
	in := input("mig-1g.10gb", "jupyterlab")
	in.Workload.Size.Placement = catalog.Placement{
		NodeSelector: map[string]string{"pool": "a"}, RuntimeClass: "nvidia", SchedulerName: "hami-scheduler",
		PriorityClass: "interactive",
		Tolerations: []catalog.Toleration{{Key: "k"}, {Key: "spot", Operator: "Equal", Value: "true",
			Effect: "NoSchedule"}},
		PodAnnotations: map[string]string{"nvidia.com/use-gputype": "A100", WorkloadKey: "w-stolen"},
		PodLabels:      map[string]string{"kai.scheduler/queue": "vision", TenantKey: "stolen"},
		NodeMatch: []catalog.NodeMatch{{Key: "nvidia.com/gpu.memory", Operator: "Gt", Values: []string{"40000"}},
			{Key: "x", Operator: "Exists"}},
		Env: map[string]string{"ORION_GROUP_ID": "$(POD_UID)", "A": "size", "JUPYTER_TOKEN": "stolen"},
	}
	in.Workload.Image.Env = map[string]string{"A": "image", "B": "image"}
	objects, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	pod := podOf(t, objects)
	want := []corev1.Toleration{{Key: "k", Operator: "Exists"}, {Key: "spot", Operator: "Equal", Value: "true",
		Effect: "NoSchedule"}}
	if diff := cmp.Diff(want, pod.Spec.Tolerations); diff != "" {
		t.Error(diff)
	}
	if pod.Spec.NodeSelector["pool"] != "a" || *pod.Spec.RuntimeClassName != "nvidia" ||
		pod.Spec.SchedulerName != "hami-scheduler" || pod.Spec.PriorityClassName != "interactive" {
		t.Errorf("placement: %+v", pod.Spec)
	}
	if pod.Labels["kai.scheduler/queue"] != "vision" || pod.Labels[TenantKey] != "vision" {
		t.Errorf("labels: %v; the portal's own cannot be set", pod.Labels)
	}
	terms := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	wantTerms := []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: "nvidia.com/gpu.memory", Operator: "Gt", Values: []string{"40000"}}, {Key: "x", Operator: "Exists"},
	}}}
	if diff := cmp.Diff(wantTerms, terms); diff != "" {
		t.Errorf("all conditions in one term, of several terms one would do: %s", diff)
	}
	var env []string
	for _, e := range pod.Spec.Containers[0].Env {
		env = append(env, e.Name+"="+e.Value)
	}
	// What is referred to stands first, the size's word counts, and the secret is nobody's to set.
	if diff := cmp.Diff([]string{"POD_UID=", "A=size", "B=image", "ORION_GROUP_ID=$(POD_UID)", "JUPYTER_TOKEN="},
		env); diff != "" {
		t.Error(diff)
	}
	if pod.Annotations["nvidia.com/use-gputype"] != "A100" || pod.Annotations[WorkloadKey] != string(in.Workload.ID) {
		t.Errorf("annotations: %v; the owner record is the portal's own", pod.Annotations)
	}
}

func TestManifestShowsNoSecret(t *testing.T) {
	in := input("mig-1g.10gb", "jupyterlab")
	in.Token = "s3cr3t-value"
	in.Workload.Secrets = []workload.SecretUse{{ID: "s-1", Name: "hub", Env: []string{"HF_TOKEN"}}}
	in.Secrets = map[string][]byte{"s-1.env.HF_TOKEN": []byte("canary-of-the-hub")}
	objects, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := Manifest(objects)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{in.Token, base64.StdEncoding.EncodeToString([]byte(in.Token)), "canary-of-the-hub",
		base64.StdEncoding.EncodeToString([]byte("canary-of-the-hub"))} {
		if strings.Contains(manifest, word) {
			t.Errorf("the manifest shows %q", word)
		}
	}
	for _, word := range []string{"token: '********'", "s-1.env.HF_TOKEN: '********'", "kind: StatefulSet", "\n---\n",
		"nvidia.com/mig-1g.10gb: \"1\""} {
		if !strings.Contains(manifest, word) {
			t.Errorf("the manifest lacks %q:\n%s", word, manifest)
		}
	}
	for _, word := range []string{"status:", "null", "creationTimestamp"} {
		if strings.Contains(manifest, word) {
			t.Errorf("the manifest holds %q", word)
		}
	}
	if objects[0].(*corev1.Secret).StringData != nil || string(objects[0].(*corev1.Secret).Data["token"]) != in.Token {
		t.Error("masking changed the object itself")
	}
}

func TestTenantQuotaCountsDevices(t *testing.T) {
	c := catalog.Catalog{Sizes: []catalog.Size{
		{Name: "one", Technology: catalog.Full, Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu"}},
		{Name: "four", Technology: catalog.Full, Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu", Count: 4}},
		{Name: "hidden", Technology: catalog.Full, Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu"},
			Tenants: []string{"other"}},
		{Name: "elsewhere", Technology: catalog.Full, Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu"},
			Clusters: []string{"far"}},
		{Name: "slice", Technology: catalog.MIG, Accelerator: catalog.Accelerator{Resource: "nvidia.com/mig-1g.10gb"}},
		{Name: "cpu", Technology: catalog.CPUOnly},
	}}
	quota := map[string]int{"one": 3, "four": 2, "hidden": 100, "elsewhere": 100, "slice": -5, "gone": 9, "cpu": 9}
	objects, err := TenantObjects(tenant.Tenant{Name: "vision", Quota: quota}, c,
		Site{Instance: "default", Cluster: "near"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, o := range objects {
		if q, ok := o.(*corev1.ResourceQuota); ok && q.Name == "portal-gpu" {
			for name, value := range q.Spec.Hard {
				got[string(name)] = value.String()
			}
		}
	}
	want := map[string]string{"requests.nvidia.com/gpu": "11", "requests.nvidia.com/mig-1g.10gb": "0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A claim counts by class, of alternatives the largest of each class; what vendors bring is closed where claims are
// offered at all.
func TestTenantQuotaCountsClaims(t *testing.T) {
	claim := func(r ...catalog.DeviceRequest) catalog.Accelerator {
		return catalog.Accelerator{Claim: &catalog.Claim{Requests: r}}
	}
	c := catalog.Catalog{Sizes: []catalog.Size{
		{Name: "pair", Technology: catalog.DRA, Accelerator: claim(catalog.DeviceRequest{Name: "a", DeviceClass: "big",
			Count: 2}, catalog.DeviceRequest{Name: "b", DeviceClass: "small"})},
		{Name: "either", Technology: catalog.DRA, Accelerator: claim(catalog.DeviceRequest{Name: "a",
			FirstAvailable: []catalog.DeviceRequest{
				{Name: "x", DeviceClass: "big"}, {Name: "y", DeviceClass: "small", Count: 3},
				{Name: "z", DeviceClass: "small", Count: 2}}})},
		{Name: "hami", Technology: "hami", Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu", Count: 2,
			Extra: map[string]string{"nvidia.com/gpumem": "8000"}}},
		{Name: "gaudi", Technology: catalog.Full, Accelerator: catalog.Accelerator{Resource: "habana.ai/gaudi",
			Extra: map[string]string{"hugepages-2Mi": "1Gi"}}},
	}}
	objects, err := TenantObjects(tenant.Tenant{Name: "vision", Quota: map[string]int{"pair": 3, "either": 2, "hami": 5,
		"gaudi": 2}}, c, Site{Instance: "default"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"big.deviceclass.resource.k8s.io/devices": "8", "small.deviceclass.resource.k8s.io/devices": "9",
		"requests.deviceclass.resource.kubernetes.io/big": "8", "requests.deviceclass.resource.kubernetes.io/small": "9",
		"requests.nvidia.com/gpu": "10", "requests.nvidia.com/gpumem": "40k", "limits.nvidia.com/gpu": "10",
		"limits.nvidia.com/gpumem": "80k",
		"requests.habana.ai/gaudi": "2", "requests.hugepages-2Mi": "2Gi",
	}
	for _, class := range vendorClasses {
		want[class+".deviceclass.resource.k8s.io/devices"], want["requests.deviceclass.resource.kubernetes.io/"+class] = "0",
			"0"
	}
	if diff := cmp.Diff(want, hard(objects, "portal-gpu")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestTheQuotaOfACluster: the ResourceQuota of a cluster has the cluster's own limit where it is lower.
func TestTheQuotaOfACluster(t *testing.T) {
	c := catalog.Catalog{Sizes: []catalog.Size{{Name: "h100", Technology: catalog.Full,
		Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu", Count: 1}}}}
	team := tenant.Tenant{Name: "vision", Quota: map[string]int{"h100": 5, "h100@west": 2, "h100@east": 9, "*@south": 0}}
	for cluster, want := range map[string]string{"main": "5", "west": "2", "east": "5", "south": "0"} {
		objects, err := TenantObjects(team, c, Site{Instance: "default", Cluster: cluster})
		if err != nil {
			t.Fatal(err)
		}
		if got := hard(objects, "portal-gpu")["requests.nvidia.com/gpu"]; got != want {
			t.Errorf("%s: want %s, got %q", cluster, want, got)
		}
	}
}

func hard(objects []Object, name string) map[string]string {
	got := map[string]string{}
	for _, o := range objects {
		if q, ok := o.(*corev1.ResourceQuota); ok && q.Name == name {
			for name, value := range q.Spec.Hard {
				got[string(name)] = value.String()
			}
		}
	}
	return got
}

// Another claim has another name, and nothing else changes it: each change of the name is a new pod.
func TestClaimTemplateName(t *testing.T) {
	in := inputOf(catalog.EveryRow(), "dra-h100", "jupyterlab")
	name := ClaimTemplateName(in.Workload)
	if !strings.HasPrefix(name, in.Workload.Name+"-") || len(validation.IsDNS1123Subdomain(name)) > 0 {
		t.Errorf("name %q", name)
	}
	same := map[string]func(*workload.Workload){
		"another spec": func(w *workload.Workload) { w.Generation, w.Desired = 9, workload.WantStopped },
		"more memory":  func(w *workload.Workload) { w.Size.Memory = "1Ti" },
	}
	for what, change := range same {
		w := in.Workload
		if change(&w); ClaimTemplateName(w) != name {
			t.Errorf("%s: the name changes", what)
		}
	}
	w := in.Workload
	w.Size.Accelerator.Claim = &catalog.Claim{Requests: []catalog.DeviceRequest{{Name: "gpu",
		DeviceClass: "gpu.nvidia.com"}}}
	if got := ClaimTemplateName(w); got == name || got == "" {
		t.Errorf("another claim is called %q, as before", got)
	}
	if got := ClaimTemplateName(input("h100", "jupyterlab").Workload); got != "" {
		t.Errorf("no claim is called %q", got)
	}
	objects, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	refs := Names(in.Workload)
	if last := refs[len(refs)-1]; last != (Ref{"resource.k8s.io/v1", "ResourceClaimTemplate", "gpu-vision", name}) {
		t.Errorf("deleted with the workload: %v", refs)
	}
	if got := podOf(t, objects).Spec.ResourceClaims; len(got) != 1 || *got[0].ResourceClaimTemplateName != name {
		t.Errorf("the pod claims %v", got)
	}
}

func TestTenantObjectsRefuse(t *testing.T) {
	cases := map[string]struct {
		tenant tenant.Tenant
		site   Site
		want   string
	}{
		"a namespace that climbs": {tenant.Tenant{Name: "a", Namespace: "../x"}, Site{Instance: "i"}, "namespace"},
		"no instance":             {tenant.Tenant{Name: "a"}, Site{}, "instance"},
		"no name":                 {tenant.Tenant{}, Site{Instance: "i"}, "tenant"},
		"a peer that is everyone": {tenant.Tenant{Name: "a"}, Site{Instance: "i", GatewayFrom: []Peer{{}}},
			"every namespace"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := TenantObjects(c.tenant, catalog.Default(), c.site); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("want an error with %q, got %v", c.want, err)
			}
		})
	}
}

// The input's maps and slices stay the caller's: workloads are shared values.
func TestRenderingChangesNothing(t *testing.T) {
	in := input("gpu-shared", "vllm")
	before, notes := maps.Clone(in.Workload.Image.Env), map[string]string{"a": "b"}
	in.Workload.Size.Placement.PodAnnotations = notes
	if _, err := Objects(in); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, in.Workload.Image.Env); diff != "" || len(notes) != 1 {
		t.Error("rendering changed its input", diff, notes)
	}
}

func BenchmarkObjects(b *testing.B) {
	in := input("mig-1g.10gb", "jupyterlab")
	in.Workload.Volume, in.Workload.StorageGiB = "nb-anna-7f3c-home", 20
	for b.Loop() {
		if _, err := Objects(in); err != nil {
			b.Fatal(err)
		}
	}
}

// Another version comes up beside the one that answers only where a GPU was found for it: else it would wait for one
// that the pod of before holds.
func TestHowAVersionTakesOver(t *testing.T) {
	for name, c := range map[string]struct {
		rollout *workload.Rollout
		want    appsv1.DeploymentStrategyType
		label   string
	}{
		"a canary": {&workload.Rollout{From: 1, To: 2, Canary: &workload.Canary{Percent: 5}},
			appsv1.RollingUpdateDeploymentStrategyType, "2"},
		"the first": {nil, appsv1.RecreateDeploymentStrategyType, ""},
		"beside":    {&workload.Rollout{From: 1, To: 2}, appsv1.RollingUpdateDeploymentStrategyType, "2"},
		"the one before stops": {&workload.Rollout{From: 1, To: 2, StopFirst: true}, appsv1.RecreateDeploymentStrategyType,
			"2"},
		"when it has taken over": {nil, appsv1.RecreateDeploymentStrategyType, "2"},
	} {
		in := input("mig-1g.10gb", "vllm")
		in.Workload.Revisions.Rollout = c.rollout
		if c.rollout == nil && c.label != "" {
			in.Workload.Revisions.Serving = 2
		}
		objects, err := Objects(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			d, ok := o.(*appsv1.Deployment)
			if !ok {
				continue
			}
			s := d.Spec.Strategy
			if s.Type != c.want || d.Spec.Template.Labels[RevisionKey] != c.label ||
				d.Spec.Selector.MatchLabels[RevisionKey] != "" {
				t.Errorf("%s: %s, labels %v", name, s.Type, d.Spec.Template.Labels)
			}
			if stays := c.rollout != nil && c.rollout.Canary != nil; stays != (d.Spec.MinReadySeconds > 0) ||
				*d.Spec.ProgressDeadlineSeconds <= d.Spec.MinReadySeconds {
				t.Errorf("%s: available after %d s, deadline %d s", name, d.Spec.MinReadySeconds,
					*d.Spec.ProgressDeadlineSeconds)
			}
			if u := s.RollingUpdate; u != nil && (u.MaxUnavailable.IntValue() != 0 || u.MaxSurge.IntValue() != 1) {
				t.Errorf("%s: %+v", name, u)
			}
		}
	}
}

package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTheMainJobOverREST follows a notebook from the price list to its end, as a program would.
func TestTheMainJobOverREST(t *testing.T) {
	dana := as(t, "dana")
	sizes := items(dana.until("/sizes?tenant=vision", "counted", 3*time.Minute, func(b map[string]any) bool {
		for _, s := range items(b) {
			if s["name"] == "mig-1g.10gb" {
				return s["capacity"].(map[string]any)["known"] == true && s["startsNow"] == true
			}
		}
		return false
	}))
	for _, name := range []string{"mig-1g.10gb", "mig-3g.40gb", "gpu-shared", "vgpu-12q", "h100", "cpu"} {
		s := find(t, sizes, "name", name)
		capacity := s["capacity"].(map[string]any)
		if capacity["total"].(float64) < 1 || capacity["free"].(float64) < 1 {
			t.Errorf("%s: want some in this world and some free, got %v", name, capacity)
		}
		if s["isolationText"] == "" || s["pricePerHour"].(map[string]any)["currency"] != "EUR" {
			t.Errorf("%s: want isolation in words and a price, got %v", name, s)
		}
	}

	body := map[string]any{"kind": "notebook", "tenant": "vision", "size": "mig-1g.10gb", "image": "jupyterlab",
		"lease": "8h", "storage": "10Gi", "reason": "try it", "name": "Mein Notizbuch"}
	preview := dana.ok(http.StatusOK, http.MethodPost, "/requests/preview", body)
	if preview["startsNow"] != true || !strings.Contains(str(preview["manifest"]), "nvidia.com/mig-1g.10gb") {
		t.Errorf("want the preview to say that it starts now and to show the objects, got %v", preview)
	}

	request := dana.ok(http.StatusCreated, http.MethodPost, "/requests", body, "Idempotency-Key", "story-1")
	again := dana.ok(http.StatusCreated, http.MethodPost, "/requests", body, "Idempotency-Key", "story-1")
	if request["id"] != again["id"] {
		t.Errorf("want one request for one key, got %v and %v", request["id"], again["id"])
	}
	if decision := request["decision"].(map[string]any); request["state"] != "approved" ||
		decision["rule"] != "shares-and-slices" || decision["sentence"] == "" {
		t.Fatalf("want it allowed at once by a rule with a sentence, got %v", request)
	}
	id := request["workload"].(string)
	w := dana.reaches(id, "running")
	if w["name"] != "mein-notizbuch" || w["node"] == "" || w["reason"] != "" || w["owner"] != "Dana Develop" {
		t.Errorf("unexpected workload %v", w)
	}
	objectsExist(t, w)

	dana.until("/workloads/"+id+"/metrics", "measured", 3*time.Minute, func(m map[string]any) bool {
		devices, _ := m["devices"].([]any)
		if len(devices) != 1 {
			return false
		}
		d := devices[0].(map[string]any)
		return d["profile"] == "1g.10gb" && d["enginePercent"] != nil && d["memoryUsedMiB"] != nil &&
			d["powerWatts"] != nil && d["temperatureCelsius"] != nil
	})
	dana.until("/workloads/"+id, "something to pay", 3*time.Minute, func(w map[string]any) bool {
		return w["cost"].(map[string]any)["amount"] != "0.00"
	})

	stopped := dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+id+"/stop", nil)
	if stopped["desired"] != "stopped" {
		t.Errorf("want it to be told to stop, got %v", stopped["desired"])
	}
	dana.reaches(id, "stopped")
	if _, err := kube(t).CoreV1().PersistentVolumeClaims(str(w["namespace"])).Get(context.Background(), str(w["volume"]),
		metav1.GetOptions{}); err != nil {
		t.Errorf("want the storage to stay: %v", err)
	}
	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+id+"/start", nil)
	dana.reaches(id, "running")

	before := until(t, dana.ok(http.StatusOK, http.MethodGet, "/workloads/"+id, nil))
	extension := dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+id+"/extend", map[string]any{"lease": "4h"})
	if extension["state"] != "approved" || extension["kind"] != "extend" {
		t.Errorf("want a short extension at once, got %v", extension)
	}
	if after := until(t, dana.ok(http.StatusOK, http.MethodGet, "/workloads/"+id, nil)); after.Sub(before) != 4*time.Hour {
		t.Errorf("want four hours more, got %s", after.Sub(before))
	}

	dana.ok(http.StatusOK, http.MethodDelete, "/workloads/"+id, nil)
	dana.reaches(id, "ended")
	if _, err := kube(t).AppsV1().StatefulSets(str(w["namespace"])).Get(context.Background(), "mein-notizbuch",
		metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("want the StatefulSet gone, got %v", err)
	}
	volume := find(t, items(dana.ok(http.StatusOK, http.MethodGet, "/volumes", nil)), "name", str(w["volume"]))
	if volume["workload"] != nil {
		t.Errorf("want kept storage that nobody uses, got %v", volume)
	}
	if a := dana.call(http.MethodDelete, "/volumes/"+str(w["volume"]), nil); a.Status != http.StatusNoContent &&
		a.Status != http.StatusOK {
		t.Errorf("delete the volume: %d %s", a.Status, a.Raw)
	}
	eventually(t, "the PVC is gone", 3*time.Minute, func() bool {
		_, err := kube(t).CoreV1().PersistentVolumeClaims(str(w["namespace"])).Get(context.Background(), str(w["volume"]),
			metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func until(t *testing.T, w map[string]any) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, str(w["lease"].(map[string]any)["until"]))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// objectsExist asks the API server itself for everything that a running notebook stands on.
func objectsExist(t *testing.T, w map[string]any) {
	t.Helper()
	ctx, k, ns, name := context.Background(), kube(t), str(w["namespace"]), str(w["name"])
	namespace, err := k.CoreV1().Namespaces().Get(ctx, ns, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if namespace.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Errorf("want Pod Security restricted, got %v", namespace.Labels)
	}
	set, err := k.AppsV1().StatefulSets(ns).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	managed := false
	for _, f := range set.ManagedFields {
		managed = managed || f.Manager == "gpu-portal" && f.Operation == metav1.ManagedFieldsOperationApply
	}
	if !managed {
		t.Errorf("want server-side apply by gpu-portal, got %v", set.ManagedFields)
	}
	if _, err := k.CoreV1().Services(ns).Get(ctx, name, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := k.CoreV1().PersistentVolumeClaims(ns).Get(ctx, str(w["volume"]), metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	quotas, err := k.CoreV1().ResourceQuotas(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	limited := false
	for _, q := range quotas.Items {
		_, has := q.Spec.Hard["requests.nvidia.com/mig-1g.10gb"]
		limited = limited || has
	}
	if !limited {
		t.Error("want a ResourceQuota on requests.nvidia.com/mig-1g.10gb")
	}
	if limits, err := k.CoreV1().LimitRanges(ns).List(ctx, metav1.ListOptions{}); err != nil || len(limits.Items) == 0 {
		t.Errorf("want a LimitRange, got %v", err)
	}
	if policies, err := k.NetworkingV1().NetworkPolicies(ns).List(ctx, metav1.ListOptions{}); err != nil ||
		len(policies.Items) < 2 {
		t.Errorf("want a default deny and a way in for the gateway, got %v", err)
	}
	pod := podOf(t, w)
	node, err := k.CoreV1().Nodes().Get(ctx, pod.Spec.NodeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if q := node.Status.Allocatable["nvidia.com/mig-1g.10gb"]; q.IsZero() {
		t.Errorf("want a node of the right kind, got %s", node.Name)
	}
}

// TestAWholeGPUWaitsForAnApproverOverREST: pending, nobody approves their own, approved with a note, runs on an H100.
func TestAWholeGPUWaitsForAnApproverOverREST(t *testing.T) {
	dana, ada := as(t, "dana"), as(t, "ada")
	request := dana.start("h100", nil)
	path, seen := "/requests/"+str(request["id"]), request["version"]
	if decision := request["decision"].(map[string]any); request["state"] != "pending" ||
		decision["rule"] != "whole-gpus" || decision["needs"] != "approver" {
		t.Fatalf("want it to wait for an approver, got %v", request)
	}
	if a := dana.call(http.MethodPost, path+"/approve", map[string]any{"seen": seen}); a.Status != http.StatusForbidden {
		t.Errorf("want nobody to approve their own: %d %s", a.Status, a.Raw)
	}
	if a := as(t, "nora").call(http.MethodGet, path, nil); a.Status != http.StatusNotFound {
		t.Errorf("want another team not to see it: %d", a.Status)
	}
	answer := map[string]any{"note": "until the paper is out", "seen": seen}
	if a := as(t, "audrey").call(http.MethodPost, path+"/approve", answer); a.Status != http.StatusForbidden {
		t.Errorf("want an auditor to change nothing: %d", a.Status)
	}
	inbox := items(ada.ok(http.StatusOK, http.MethodGet, "/requests?scope=inbox", nil))
	find(t, inbox, "id", str(request["id"]))
	approved := ada.ok(http.StatusOK, http.MethodPost, path+"/approve", answer)
	if d := approved["decision"].(map[string]any); approved["state"] != "approved" || d["by"] != "Ada Approve" ||
		d["note"] != "until the paper is out" {
		t.Fatalf("want it approved with the note, got %v", approved)
	}
	if a := ada.call(http.MethodPost, path+"/approve", map[string]any{"seen": seen}); a.Status != http.StatusConflict {
		t.Errorf("want no second decision: %d", a.Status)
	}
	id := str(approved["workload"])
	t.Cleanup(func() { dana.remove(id) })
	pod := podOf(t, dana.reaches(id, "running"))
	if q := pod.Spec.Containers[0].Resources.Limits["nvidia.com/gpu"]; q.Value() != 1 {
		t.Errorf("want one whole GPU, got %v", pod.Spec.Containers[0].Resources.Limits)
	}
}

// TestEverySizeRunsOnItsKindOfNode starts one of each.
func TestEverySizeRunsOnItsKindOfNode(t *testing.T) {
	label := map[string]string{"vgpu-12q": "nvidia.com/vgpu.present", "gpu-shared": "nvidia.com/gpu.sharing-strategy",
		"mig-3g.40gb": "nvidia.com/mig.strategy"}
	want := map[string]string{"vgpu-12q": "true", "gpu-shared": "time-slicing", "mig-3g.40gb": "mixed"}
	for _, size := range []string{"mig-3g.40gb", "gpu-shared", "vgpu-12q", "cpu"} {
		t.Run(size, func(t *testing.T) {
			w := as(t, "dana").running(size, nil)
			node, err := kube(t).CoreV1().Nodes().Get(context.Background(), str(w["node"]), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if key := label[size]; key != "" && node.Labels[key] != want[size] {
				t.Errorf("want a node with %s=%s, got %s", key, want[size], node.Labels[key])
			}
		})
	}
}

// TestAVGPUTakesALicenseSeat: a seat is reserved with the decision, used while it runs, and free again afterwards.
func TestAVGPUTakesALicenseSeat(t *testing.T) {
	dana := as(t, "dana")
	seats := func() (used, taken float64) {
		pool := find(t, items(dana.ok(http.StatusOK, http.MethodGet, "/licenses", nil)), "pool", "nvidia-vws")
		used = pool["used"].(float64)
		return used, used + pool["reserved"].(float64)
	}
	usedBefore, takenBefore := seats()
	id := str(dana.start("vgpu-12q", nil)["workload"])
	if _, taken := seats(); taken != takenBefore+1 {
		t.Errorf("want one seat more than %v taken, got %v", takenBefore, taken)
	}
	dana.reaches(id, "running")
	eventually(t, "the seat is used", 3*time.Minute, func() bool {
		used, taken := seats()
		return used == usedBefore+1 &&
			taken == takenBefore+1
	})
	dana.remove(id)
	if used, taken := seats(); used != usedBefore || taken != takenBefore {
		t.Errorf("want the seat back, got %v used and %v taken instead of %v and %v", used, taken, usedBefore, takenBefore)
	}
}

// TestAnEndpointIsADeployment: kind endpoint, called with a key of its own.
func TestAnEndpointIsADeployment(t *testing.T) {
	dana := as(t, "dana")
	w := dana.running("mig-1g.10gb", map[string]any{"kind": "endpoint", "image": "vllm", "storage": ""})
	if _, err := kube(t).AppsV1().Deployments(str(w["namespace"])).Get(context.Background(), str(w["name"]),
		metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	key := str(dana.ok(http.StatusCreated, http.MethodPost, "/workloads/"+str(w["id"])+"/keys",
		map[string]any{"name": "story"})["key"])
	r, err := http.NewRequest(http.MethodGet, str(w["url"])+"/v1/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	for bearer, want := range map[string]int{key: http.StatusOK, portal.Tokens["dana"]: http.StatusUnauthorized,
		portal.Tokens["nora"]: http.StatusUnauthorized} {
		r.Header.Set("Authorization", "Bearer "+bearer)
		resp, err := localhost().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%.8s calls the endpoint: want %d, got %d", bearer, want, resp.StatusCode)
		}
	}
}

// TestTheLeaseEnds: a warning, then a stop; the storage stays; no resume without an extension.
func TestTheLeaseEnds(t *testing.T) {
	dana := as(t, "dana")
	w := dana.running("cpu", map[string]any{"lease": "12s"})
	id := str(w["id"])
	dana.until("/workloads/"+id, "announced", 3*time.Minute, func(w map[string]any) bool {
		return w["lease"].(map[string]any)["ending"] == true || w["state"] == "stopped"
	})
	stopped := dana.reaches(id, "stopped")
	if !strings.Contains(str(stopped["reason"]), "lease") {
		t.Errorf("want the reason to be the lease, got %v", stopped["reason"])
	}
	if a := dana.call(http.MethodPost, "/workloads/"+id+"/start", nil); a.Status != http.StatusConflict {
		t.Errorf("want no resume after the lease: %d %s", a.Status, a.Raw)
	}
	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+id+"/extend", map[string]any{"lease": "1h"})
	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+id+"/start", nil)
	dana.reaches(id, "running")
	kinds := map[string]bool{}
	for _, e := range items(dana.ok(http.StatusOK, http.MethodGet, "/workloads/"+id+"/history", nil)) {
		kinds[str(e["kind"])] = true
	}
	for _, kind := range []string{"workload.created", "lease.warned", "lease.ended", "workload.extended",
		"workload.started"} {
		if !kinds[kind] {
			t.Errorf("want %s in the history, got %v", kind, kinds)
		}
	}
}

// TestBadInputNamesTheField: 422 problem+json with the field and a sentence.
func TestBadInputNamesTheField(t *testing.T) {
	cases := map[string]struct {
		change map[string]any
		field  string
	}{
		"unknown size":           {map[string]any{"size": "gigantic"}, "size"},
		"unknown image":          {map[string]any{"image": "evil"}, "image"},
		"unknown tenant":         {map[string]any{"tenant": "nobody"}, "tenant"},
		"somebody else's team":   {map[string]any{"tenant": "speech"}, "tenant"},
		"a lease of nothing":     {map[string]any{"lease": "0h"}, "lease"},
		"a lease of ten years":   {map[string]any{"lease": "3650d"}, "lease"},
		"too much storage":       {map[string]any{"storage": "99999Gi"}, "storage"},
		"a name of no letters":   {map[string]any{"name": "!!!"}, "name"},
		"an unknown field":       {map[string]any{"approved": true}, "approved"},
		"a kind that is no kind": {map[string]any{"kind": "vm"}, "kind"},
		"a number for a text":    {map[string]any{"size": 7}, "size"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			body := map[string]any{"kind": "notebook", "tenant": "vision", "size": "mig-1g.10gb", "image": "jupyterlab",
				"lease": "8h"}
			for k, v := range c.change {
				body[k] = v
			}
			a := as(t, "dana").call(http.MethodPost, "/requests", body)
			if a.Status != http.StatusUnprocessableEntity || a.Header.Get("Content-Type") != "application/problem+json" {
				t.Fatalf("want 422 problem+json, got %d %s: %s", a.Status, a.Header.Get("Content-Type"), a.Raw)
			}
			fields, _ := a.Body["fields"].([]any)
			for _, f := range fields {
				if field := f.(map[string]any); field["name"] == c.field && field["reason"] != "" {
					return
				}
			}
			t.Errorf("want a reason for %s, got %s", c.field, a.Raw)
		})
	}
}

// TestQuotaIsASentence: the eighth slice of seven is refused with numbers; nothing is doubled.
func TestQuotaIsASentence(t *testing.T) {
	nora := as(t, "nora")
	for range 2 {
		id := str(nora.start("mig-1g.10gb", map[string]any{"tenant": "speech", "storage": ""})["workload"])
		t.Cleanup(func() { nora.remove(id) })
	}
	a := nora.call(http.MethodPost, "/requests", map[string]any{"kind": "notebook", "tenant": "speech",
		"size": "mig-1g.10gb", "image": "jupyterlab", "lease": "1h"})
	if a.Status != http.StatusUnprocessableEntity || !strings.Contains(string(a.Raw), "2") {
		t.Errorf("want a refusal that names the quota, got %d %s", a.Status, a.Raw)
	}
}

// TestNobodySeesWhatIsNotTheirs: another team's things do not exist.
func TestNobodySeesWhatIsNotTheirs(t *testing.T) {
	w := as(t, "dana").running("cpu", nil)
	nora := as(t, "nora")
	id := str(w["id"])
	for _, call := range [][2]string{{"GET", ""}, {"GET", "/metrics"}, {"GET", "/history"}, {"GET", "/logs"},
		{"GET", "/events"}, {"POST", "/stop"},
		{"POST", "/start"}, {"DELETE", ""}} {
		if a := nora.call(call[0], "/workloads/"+id+call[1], nil); a.Status != http.StatusNotFound {
			t.Errorf("%s %s: want 404, got %d", call[0], call[1], a.Status)
		}
	}
	for _, item := range items(nora.ok(http.StatusOK, http.MethodGet, "/workloads", nil)) {
		if item["tenant"] != "speech" {
			t.Errorf("want only one's own team, got %v", item)
		}
	}
	if a := as(t, "devi").call(http.MethodPost, "/workloads/"+id+"/stop", nil); a.Status != http.StatusForbidden {
		t.Errorf("want a colleague to see but not to stop: %d", a.Status)
	}
	if a := as(t, "").call(http.MethodGet, "/workloads", nil); a.Status != http.StatusUnauthorized {
		t.Errorf("want nobody to be refused: %d", a.Status)
	}
	if a := nora.call(http.MethodGet, "/audit", nil); a.Status != http.StatusNotFound {
		t.Errorf("want the audit to be for auditors: %d", a.Status)
	}
	as(t, "audrey").ok(http.StatusOK, http.MethodGet, "/workloads/"+id, nil)
}

// TestTheDocumentDescribesTheSurface: OpenAPI 3.1 at its address, with every operation of the issue.
func TestTheDocumentDescribesTheSurface(t *testing.T) {
	doc := as(t, "dana").ok(http.StatusOK, http.MethodGet, "/openapi.json", nil)
	if !strings.HasPrefix(str(doc["openapi"]), "3.1") {
		t.Errorf("want OpenAPI 3.1, got %v", doc["openapi"])
	}
	paths := doc["paths"].(map[string]any)
	for _, p := range []string{"/sizes", "/images", "/tenants", "/requests", "/requests/{id}/approve",
		"/requests/{id}/reject", "/requests/{id}/withdraw", "/workloads",
		"/workloads/{id}/stop", "/workloads/{id}/start", "/workloads/{id}/extend", "/inventory"} {
		if paths["/api/v1"+p] == nil {
			t.Errorf("want %s in the document", p)
		}
	}
}

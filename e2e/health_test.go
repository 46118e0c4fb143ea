package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	manifest "github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// wellAgain ends every quarantine when a test is over.
func wellAgain(t *testing.T) {
	t.Cleanup(func() {
		pat := as(t, "pat")
		for _, m := range items(pat.ok(http.StatusOK, http.MethodGet, "/fleet/quarantine", nil)) {
			pat.ok(http.StatusOK, http.MethodDelete, fmt.Sprintf("/fleet/%s/quarantine/%s/%s", m["cluster"], m["kind"],
				m["name"]),
				nil)
		}
	})
}

// nodeRow is a node's on the page of health.
func nodeRow(node string) string { return "[data-test=health-node]:has-text('" + node + "')" }

// quarantinesNode quarantines a node on the pages.
func (p *person) quarantinesNode(node, note string) {
	p.t.Helper()
	p.open("/fleet/health?q=" + node)
	p.click("main [data-test=quarantine-node][href*='name=" + node + "']")
	p.sees("[data-test=quarantine-form]")
	p.accessible()
	p.shot("quarantine-" + node)
	p.fill("[data-test=note]", note)
	p.click("[data-test=quarantine-confirm]")
	p.sees("[data-test=flash]")
	p.reads(nodeRow(node)+" [data-test=quarantine]", note)
}

// TestABadNodeIsGoneAround: an administrator quarantines the node of a workload that runs. It goes on, its developer is
// told on its page and by mail, and what is started next is put elsewhere.
func TestABadNodeIsGoneAround(t *testing.T) {
	wellAgain(t)
	api := as(t, "dana")
	first := api.running("mig-1g.10gb", map[string]any{"name": "keeps-running"})
	before, page := podOf(t, first), "/workloads/"+str(first["id"])
	node, note := before.Spec.NodeName, "Fan 3 stands still; a technician comes on Friday."
	dana := signIn(t, "dana", look{})
	dana.open("/account/notifications")
	dana.do(dana.at("[data-test=notice-broken-mail]").Check())
	dana.click("[data-test=notices-save]")
	dana.sees("[data-test=flash]")

	pat := signIn(t, "pat", look{})
	pat.quarantinesNode(node, note)
	pat.reads(nodeRow(node)+" [data-test=holders]", "keeps-running")
	pat.accessible()
	pat.shot("quarantined")

	dana.open(page)
	dana.comes("[data-test=concern]", note)
	dana.accessible()
	dana.shot("banner")
	u, _ := world.User("dana")
	mailed(t, u.Email, note)

	second := api.running("mig-1g.10gb", map[string]any{"name": "goes-elsewhere"})
	if got := nodeOf(t, second); got == node {
		t.Errorf("%s is quarantined, and yet something new was put there", node)
	}
	if !goesAround(podOf(t, second), node) {
		t.Error("want the scheduler told to go around the node")
	}
	if after := podOf(t, api.reaches(str(first["id"]), "running")); after.UID != before.UID ||
		after.Spec.NodeName != node {
		t.Errorf("what runs goes on: want the pod %s, got %s on %s", before.UID, after.UID, after.Spec.NodeName)
	}
	for name, l := range map[string]look{"dark": {Dark: true}, "narrow-german": {Width: 360, Language: "de-DE"}} {
		t.Run(name, func(t *testing.T) {
			for who, path := range map[string]string{"pat": "/fleet/health?q=" + node, "dana": page} {
				q := signIn(t, who, l)
				q.open(path)
				q.sees("h1")
				if l.Dark {
					q.contrasts()
				}
				q.fitsTheWindow()
				q.shot(who)
			}
		})
	}

	pat.open("/fleet/health")
	pat.click(nodeRow(node) + " [data-test=end-quarantine]")
	pat.sees("[data-test=flash]")
	pat.do(pat.assert.Locator(pat.at(nodeRow(node) + " [data-test=quarantine]")).ToHaveCount(0))
	dana.open(page)
	dana.goes("[data-test=concern]")
}

// goesAround reports whether a pod may not be put on a node.
func goesAround(p *corev1.Pod, node string) bool {
	if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil ||
		p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	terms := p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(term corev1.NodeSelectorTerm) bool {
		return !slices.ContainsFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
			return r.Key == corev1.LabelHostname && r.Operator == corev1.NodeSelectorOpNotIn && slices.Contains(r.Values, node)
		})
	})
}

// TestNothingElseHasRoom: the only node of a size is quarantined. What is started waits and says for what; when that is
// taken back it starts, and nobody asks again.
func TestNothingElseHasRoom(t *testing.T) {
	wellAgain(t)
	const node = "l40s-shared-01"
	pat, api := signIn(t, "pat", look{}), as(t, "dana")
	pat.quarantinesNode(node, "Card 2 is replaced.")
	id := str(api.start("gpu-shared", map[string]any{"name": "waits-for-it"})["workload"])
	t.Cleanup(func() { api.remove(id) })
	api.until("/workloads/"+id, "waiting for the quarantined node", licensePatience,
		func(w map[string]any) bool { return strings.Contains(str(w["reason"]), node) })
	dana := signIn(t, "dana", look{})
	dana.open("/workloads/" + id)
	dana.comes("main", node)
	dana.accessible()
	dana.shot("waits")

	pat.open("/fleet/health")
	pat.click(nodeRow(node) + " [data-test=end-quarantine]")
	pat.sees("[data-test=flash]")
	if w := api.reachesWithin(licensePatience, id, "running"); nodeOf(t, w) != node {
		t.Errorf("want it on %s, got %s", node, nodeOf(t, w))
	}
}

// claimant is a pod with a claim of a size, made as the portal makes it where some cards are quarantined, and run by
// the real scheduler.
func claimant(t *testing.T, namespace, name, size string, quarantined ...string) *corev1.Pod {
	t.Helper()
	every := catalog.EveryRow()
	s, _ := every.Size(size)
	i, _ := every.Image("jupyterlab")
	objects, err := manifest.Objects(manifest.Input{Tenant: tenant.Tenant{Name: "vision"},
		Site: manifest.Site{Instance: "e2e"}, Token: "not-a-secret", Avoid: manifest.Avoid{Cards: quarantined},
		Workload: workload.Workload{ID: workload.ID("w-" + name), Name: name, Kind: i.Kind, Tenant: "vision", Owner: "dana",
			OwnerName: "Dana", Size: s, Image: i,
			Cluster: "main", Namespace: namespace, Desired: workload.WantRunning, Generation: 1}})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: corev1.PodSpec{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{Name: "main", Image: "example.org/none",
				Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}}}}}
	for _, o := range objects {
		if template, ok := o.(*resourcev1.ResourceClaimTemplate); ok {
			if _, err := kube(t).ResourceV1().ResourceClaimTemplates(namespace).Create(t.Context(), template,
				metav1.CreateOptions{}); err != nil {
				t.Fatalf("the API server takes no claim of %s with %d cards quarantined: %v", size, len(quarantined), err)
			}
			pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template.Name}}
		}
	}
	return pod
}

// scheduled makes the pod and waits until the scheduler has given it a device, whose name it gives, or has said that
// there is none: "".
func scheduled(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	pods := kube(t).CoreV1().Pods(pod.Namespace)
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	device, said := "", ""
	eventually(t, "the scheduler answers for "+pod.Name, licensePatience, func() bool {
		now, err := pods.Get(t.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		for _, c := range now.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				said = c.Message
			}
		}
		if strings.Contains(said, "cannot allocate all claims") {
			return true
		}
		for _, c := range now.Status.ResourceClaimStatuses {
			claim, err := kube(t).ResourceV1().ResourceClaims(pod.Namespace).Get(t.Context(), *c.ResourceClaimName,
				metav1.GetOptions{})
			if err == nil && claim.Status.Allocation != nil && now.Spec.NodeName != "" {
				device = claim.Status.Allocation.Devices.Results[0].Device
			}
		}
		return device != ""
	})
	return device
}

// TestClaimsGoAroundQuarantinedCards: the API server takes the exclusions, and the scheduler keeps to them for whole
// cards and for slices of a quarantined one.
func TestClaimsGoAroundQuarantinedCards(t *testing.T) {
	namespace := "quarantined-" + runID
	if _, err := kube(t).CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = kube(t).CoreV1().Namespaces().Delete(context.Background(), namespace, metav1.DeleteOptions{})
	})
	eventually(t, "the namespace has its account", waitForMetrics, func() bool {
		_, err := kube(t).CoreV1().ServiceAccounts(namespace).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	whole, cut := draCards(t)
	if len(whole) < 2 || len(cut) == 0 {
		t.Fatalf("want whole cards and cut ones, got %v and %v", whole, cut)
	}
	for _, left := range []string{"gpu-0", "gpu-1"} { // whichever the scheduler would take first
		var quarantined []string
		for device, uuid := range whole {
			if device != left {
				quarantined = append(quarantined, uuid)
			}
		}
		if got := scheduled(t, claimant(t, namespace, "all-but-"+left, "dra-h100", quarantined...)); got != left {
			t.Errorf("all cards but %s are quarantined, and %q was given out", left, got)
		}
	}
	if got := scheduled(t, claimant(t, namespace, "slice-of-quarantined", "dra-1g.10gb", cut...)); got != "" {
		t.Errorf("every cut card is quarantined, and its slice %s was given out", got)
	}
	if got := scheduled(t, claimant(t, namespace, "slice", "dra-1g.10gb")); got == "" {
		t.Error("no card is quarantined, and no slice was given out")
	}
	var many []string
	for i := range 200 {
		many = append(many, fmt.Sprintf("%s-%03d", strings.Repeat("x", 59), i))
	}
	claimant(t, namespace, "many", "dra-40gb", many...)
}

// draCards are the whole cards that drivers have described, by device, and those that slices belong to.
func draCards(t *testing.T) (whole map[string]string, cut []string) {
	t.Helper()
	list, err := kube(t).ResourceV1().ResourceSlices().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	whole = map[string]string{}
	for _, s := range list.Items {
		for _, d := range s.Spec.Devices {
			if parent, is := d.Attributes["parentUUID"]; is {
				cut = append(cut, *parent.StringValue)
			} else if uuid, is := d.Attributes["uuid"]; is {
				whole[d.Name] = *uuid.StringValue
			}
		}
	}
	slices.Sort(cut)
	return whole, slices.Compact(cut)
}

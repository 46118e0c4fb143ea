package reconcile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// T-VIEW-1: what the watches of B say is held back while A deletes a workload and makes another one of the same name;
// then A is gone and B acts on what it believes. Nothing of the new workload is deleted, and nobody is told that it
// belongs to somebody else.
func TestDevstackStaleWatch(t *testing.T) {
	t.Parallel()
	a := newReal(t)
	first := a.notebook("nb-a")
	a.store.Put(first)
	a.state(first.ID, workload.Running)

	g, registry := newGate(), prometheus.NewRegistry()
	b, _ := a.behind(g, func(o *reconcile.Options) {
		o.Metrics, o.Every.Compare = registry, 200*time.Millisecond
	})
	within(t, 2*time.Minute, "B has listed everything", func() bool { return b.Status()[0].OK })
	g.hold()
	a.want(first.ID, workload.Delete)
	a.state(first.ID, workload.Ended)
	second := a.notebook("nb-a")
	second.ID += "-again"
	a.store.Put(second)
	a.state(second.ID, workload.Running)
	a.stop()
	set, err := a.Client.AppsV1().StatefulSets(a.namespace).Get(t.Context(), "nb-a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := passCount(t, registry)
	within(t, 2*time.Minute, "B has looked at it on stale caches", func() bool {
		return passCount(t, registry) > before+5
	})
	if got := a.store.Get(second.ID); got.State == workload.Failed || got.State == workload.Ended {
		t.Errorf("concluded from stale caches: %s %+v", got.State, got.Reason)
	}
	g.release()
	a.state(second.ID, workload.Running)
	after, err := a.Client.AppsV1().StatefulSets(a.namespace).Get(t.Context(), "nb-a", metav1.GetOptions{})
	if err != nil || after.UID != set.UID || after.DeletionTimestamp != nil {
		t.Errorf("the new object was deleted: %v", err)
	}
	a.want(second.ID, workload.Stop)
	a.state(second.ID, workload.Stopped)
	for id, want := range map[workload.ID]int{first.ID: 1, second.ID: 1} {
		if m := a.store.Meter(id); len(m) != want || m[0].Until.IsZero() {
			t.Errorf("%s: want one closed interval, got %+v", id, m)
		}
	}
}

// T-VIEW-2: the watches are cut; meanwhile objects are made and deleted, etcd forgets its history, and the API server
// has it in no cache any more. The watches are answered with 410, everything is listed anew, and the cluster becomes
// what is requested.
func TestDevstackMissedEvents(t *testing.T) {
	r, g := newBehind(t)
	kept, gone, late := r.notebook("nb-kept"), r.notebook("nb-gone"), r.notebook("nb-late")
	r.store.Put(kept)
	r.store.Put(gone)
	r.state(kept.ID, workload.Running)
	r.state(gone.ID, workload.Running)
	g.cutWatches()
	ctx := t.Context()
	if err := r.Client.AppsV1().StatefulSets(r.namespace).Delete(ctx, kept.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.want(gone.ID, workload.Delete)
	r.store.Put(late)
	within(t, 2*time.Minute, "the one is made and the other deleted", func() bool {
		_, made := r.Client.AppsV1().StatefulSets(r.namespace).Get(ctx, late.Name, metav1.GetOptions{})
		_, left := r.Client.AppsV1().StatefulSets(r.namespace).Get(ctx, gone.Name, metav1.GetOptions{})
		return made == nil && apierrors.IsNotFound(left)
	})
	r.Compact(t)
	r.Part(t, "stop", "apiserver?signal=KILL")
	r.Part(t, "start", "apiserver")
	g.mend()
	// The row says Running from before, so the object itself is waited for.
	within(t, 2*time.Minute, "what somebody deleted is back", func() bool {
		set, err := r.Client.AppsV1().StatefulSets(r.namespace).Get(ctx, kept.Name, metav1.GetOptions{})
		return err == nil && *set.Spec.Replicas == 1
	})
	r.state(kept.ID, workload.Running)
	r.state(gone.ID, workload.Ended)
	r.state(late.ID, workload.Running)
	if _, tooOld := g.counted(); tooOld == 0 {
		t.Error("no watch was answered with 410: the test did not see what it is for")
	}
	if sets, err := r.Client.AppsV1().StatefulSets(r.namespace).List(ctx, metav1.ListOptions{}); err != nil ||
		len(sets.Items) != 2 {
		t.Errorf("want two StatefulSets, got %d, %v", len(sets.Items), err)
	}
}

// T-VIEW-3, as somebody with rights in the tenant's namespace did it: additions to a policy, a StatefulSet and a
// Service, finalizers and owners. What carries security is taken back and told, the rest is shown, and nothing is
// written more than once a second.
func TestDevstackForeignEdits(t *testing.T) {
	t.Parallel()
	r, g := newBehind(t)
	nb := r.notebook("nb-a")
	r.store.Put(nb)
	r.state(nb.ID, workload.Running)
	ctx, patched := t.Context(), metav1.PatchOptions{FieldManager: "kubectl-patch"}
	patch := func(kind, name, body string) {
		t.Helper()
		var err error
		switch kind {
		case "NetworkPolicy":
			_, err = r.Client.NetworkingV1().NetworkPolicies(r.namespace).Patch(ctx, name, types.MergePatchType, []byte(body),
				patched)
		case "StatefulSet":
			_, err = r.Client.AppsV1().StatefulSets(r.namespace).Patch(ctx, name, types.StrategicMergePatchType, []byte(body),
				patched)
		case "Service":
			_, err = r.Client.CoreV1().Services(r.namespace).Patch(ctx, name, types.StrategicMergePatchType, []byte(body),
				patched)
		case "ResourceQuota":
			_, err = r.Client.CoreV1().ResourceQuotas(r.namespace).Patch(ctx, name, types.MergePatchType, []byte(body), patched)
		}
		if err != nil {
			t.Fatalf("%s %s: %v", kind, name, err)
		}
	}
	hole := `{"spec":{"ingress":[{}],"egress":[{}]}}`
	patch("NetworkPolicy", "portal-default-deny", hole)
	patch("StatefulSet", "nb-a", `{"metadata":{"labels":{"cost-center":"7"},"finalizers":["example.org/hold"]},
		"spec":{"template":{"spec":{"nodeSelector":{"kubernetes.io/os":"linux"},"hostAliases":[{"ip":"192.0.2.9"}],
		"containers":[{"name":"main","env":[{"name":"LD_PRELOAD","value":"/x.so"}]},{"name":"miner","image":"miner",
		"resources":{"limits":{"cpu":"10m","memory":"10Mi"},"requests":{"cpu":"10m","memory":"10Mi"}}}]}}}}`)
	patch("Service", "nb-a", `{"spec":{"externalIPs":["192.0.2.1"],"ports":[{"port":22,"name":"ssh","targetPort":22}]}}`)
	patch("ResourceQuota", "portal-gpu", `{"spec":{"hard":{"pods":"99"}}}`)
	// An owner that exists: with one that does not, the garbage collector may delete the Service before it is repaired.
	owner, err := r.Client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	patch("Service", "nb-a", fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace",
		"name":"kube-system","uid":%q}]}}`, owner.UID))

	clean := func() bool {
		set, setErr := r.Client.AppsV1().StatefulSets(r.namespace).Get(ctx, "nb-a", metav1.GetOptions{})
		service, serviceErr := r.Client.CoreV1().Services(r.namespace).Get(ctx, "nb-a", metav1.GetOptions{})
		policy, policyErr := r.Client.NetworkingV1().NetworkPolicies(r.namespace).Get(ctx, "portal-default-deny",
			metav1.GetOptions{})
		quota, quotaErr := r.Client.CoreV1().ResourceQuotas(r.namespace).Get(ctx, "portal-gpu", metav1.GetOptions{})
		if setErr != nil || serviceErr != nil || policyErr != nil || quotaErr != nil {
			return false
		}
		pod := set.Spec.Template.Spec
		_, more := quota.Spec.Hard["pods"]
		return len(pod.Containers) == 1 && !strings.Contains(fmt.Sprint(pod.Containers[0].Env), "LD_PRELOAD") &&
			pod.NodeSelector == nil && pod.HostAliases == nil && service.Spec.ExternalIPs == nil &&
			len(service.Spec.Ports) == 1 && len(service.OwnerReferences) == 0 && policy.Spec.Ingress == nil &&
			policy.Spec.Egress == nil && !more
	}
	within(t, 3*time.Minute, "everything is as rendered", clean)
	set, err := r.Client.AppsV1().StatefulSets(r.namespace).Get(ctx, "nb-a", metav1.GetOptions{})
	if err != nil || set.Labels["cost-center"] != "7" || len(set.Finalizers) != 1 {
		t.Errorf("labels and finalizers of others must stay: %+v %v", set.ObjectMeta, err)
	}
	within(t, 2*time.Minute, "it runs again and the page says what happened", func() bool {
		got := r.store.Get(nb.ID)
		var removed, shown int
		for _, e := range got.Observed.Edits {
			removed += map[workload.EditAction]int{workload.EditRemoved: 1}[e.Outcome]
			shown += map[workload.EditAction]int{workload.EditShown: 1}[e.Outcome]
		}
		return got.State == workload.Running && removed >= 6 && shown == 2
	})
	for _, e := range r.store.EventsOf(audit.ObjectRepaired) {
		if !strings.HasPrefix(fmt.Sprint(e.Detail.Args["By"]), "kubectl-patch") {
			t.Errorf("who did it is not told: %+v", e)
		}
	}

	// Somebody insists.
	begun := time.Now()
	within(t, 2*time.Minute, "it is told that somebody insists", func() bool {
		patch("NetworkPolicy", "portal-default-deny", hole)
		time.Sleep(200 * time.Millisecond)
		return len(r.store.EventsOf(audit.ObjectContested)) > 0
	})
	for path, n := range g.writesSince(begun) {
		if n > 2+int(time.Since(begun).Seconds()) {
			t.Errorf("%s: %d writes in %s", path, n, time.Since(begun))
		}
	}
	within(t, 6*time.Minute, "the last word is the portal's", clean)
	patch("StatefulSet", "nb-a", `{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.org/hold"]}}`)
}

// T-VIEW-3: a namespace that cannot go, because somebody's finalizer holds it, is explained, and is not written to more
// than once a second.
func TestDevstackNamespaceStuck(t *testing.T) {
	t.Parallel()
	r, g := newBehind(t)
	nb := r.notebook("nb-a")
	r.store.Put(nb)
	r.state(nb.ID, workload.Running)
	ctx := t.Context()
	stuck := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "stuck", Finalizers: []string{"example.org/hold"}}}
	if _, err := r.Client.CoreV1().ConfigMaps(r.namespace).Create(ctx, stuck, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	free := func() {
		_, _ = r.Client.CoreV1().ConfigMaps(r.namespace).Patch(t.Context(), "stuck", types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	}
	if err := r.Client.CoreV1().Namespaces().Delete(ctx, r.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	within(t, 2*time.Minute, "it is said why", func() bool {
		return strings.Contains(r.store.Get(nb.ID).Reason.ID, "namespace")
	})
	within(t, 2*time.Minute, "for a while", func() bool { return time.Since(begun) > 15*time.Second })
	for path, n := range g.writesSince(begun) {
		if n > 2+int(time.Since(begun).Seconds()) {
			t.Errorf("%s: %d writes in %s", path, n, time.Since(begun))
		}
	}
	free()
	r.state(nb.ID, workload.Running)
}

// mostHeap is how much more a controller of two workloads may keep while its API server is sick, in bytes.
const mostHeap = 32 << 20

// heapInUse is what is reachable, in bytes.
func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// T-API-2: tries of one workload come half a second apart, then twice as far each time up to two minutes, a quarter
// more or less by chance, so that many do not march in step; a success begins anew.
func TestBackoffDoublesWithJitter(t *testing.T) {
	b, delays := reconcile.NewBackoff(), map[time.Duration]bool{}
	for n := range 200 {
		id, middle := workload.ID(fmt.Sprint("w-", n)), 500*time.Millisecond
		for try := range 40 {
			d := b.When(id)
			if d < middle*3/4 || d > middle*5/4+1 {
				t.Fatalf("try %d: want %s and a quarter more or less, got %s", try, middle, d)
			}
			if try == 5 {
				delays[d] = true
			}
			middle = min(2*time.Minute, 2*middle)
		}
		b.Forget(id)
		if d := b.When(id); d > 625*time.Millisecond+1 {
			t.Fatalf("after a success: %s", d)
		}
	}
	if len(delays) < 190 {
		t.Errorf("the sixth tries of 200 workloads come after only %d different times", len(delays))
	}
}

// T-API-2: an API server that is sick in many ways. Memory, goroutines and calls stay in bounds, and afterwards
// everything is done.
func TestDevstackSickServer(t *testing.T) {
	status := func(code int, reason metav1.StatusReason, header map[string]string) func(*http.Request) *http.Response {
		return func(r *http.Request) *http.Response {
			body, _ := json.Marshal(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
				Status: metav1.StatusFailure, Reason: reason, Code: int32(code), Message: "sick"})
			answer := &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
				Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}
			for k, v := range header {
				answer.Header.Set(k, v)
			}
			return answer
		}
	}
	type fault = func(*http.Request, http.RoundTripper) (*http.Response, error)
	always := func(make func(*http.Request) *http.Response) fault {
		return func(r *http.Request, _ http.RoundTripper) (*http.Response, error) { return make(r), nil }
	}
	for sentence, fault := range map[string]fault{
		"five seconds late": func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			select {
			case <-r.Context().Done():
				return nil, r.Context().Err()
			case <-time.After(5 * time.Second):
				return next.RoundTrip(r)
			}
		},
		"too many requests": always(status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests,
			map[string]string{"Retry-After": "1"})),
		"internal errors": always(status(http.StatusInternalServerError, metav1.StatusReasonInternalError, nil)),
		"resets in the middle of an answer": func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			answer, err := next.RoundTrip(r)
			if err == nil {
				answer.Body = &brokenBody{ReadCloser: answer.Body, left: 40 + rand.IntN(400)}
			}
			return answer, err
		},
		"a connection of which nobody is at the other end": func(r *http.Request, _ http.RoundTripper) (*http.Response,
			error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r, g := newBehind(t)
			nb := r.notebook("nb-a")
			r.store.Put(nb)
			r.state(nb.ID, workload.Running)
			before, heap := runtime.NumGoroutine(), heapInUse()
			g.sick(fault)
			calls, _ := g.counted()
			begun := time.Now()
			r.want(nb.ID, workload.Stop)
			r.store.Put(r.notebook("nb-b"))
			var most int
			within(t, 2*time.Minute, "for a while", func() bool {
				most = max(most, runtime.NumGoroutine())
				return time.Since(begun) > 20*time.Second
			})
			if after, _ := g.counted(); after-calls > 50*int(time.Since(begun).Seconds()) {
				t.Errorf("%d calls in %s", after-calls, time.Since(begun))
			}
			if most > before+200 {
				t.Errorf("%d goroutines before, up to %d while it was sick", before, most)
			}
			if sick := heapInUse(); sick > heap+mostHeap {
				t.Errorf("%d MiB of heap before, %d while it was sick", heap>>20, sick>>20)
			}
			for path, n := range g.writesSince(begun) { // a 429 that says when to come back is obeyed, and asked again then
				if n > 5+2*int(time.Since(begun).Seconds()) {
					t.Errorf("%s: %d writes in %s", path, n, time.Since(begun))
				}
			}
			if m := r.store.Meter(nb.ID); len(m) != 1 {
				t.Errorf("the meter moved: %+v", m)
			}
			g.sick(nil)
			r.state(nb.ID, workload.Stopped)
			r.state(r.notebook("nb-b").ID, workload.Running)
			within(t, 2*time.Minute, "the goroutines and what they held are gone again", func() bool {
				return runtime.NumGoroutine() < before+50 && heapInUse() < heap+mostHeap
			})
		})
	}
}

type brokenBody struct {
	io.ReadCloser
	left int
}

func (b *brokenBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, syscall.ECONNRESET
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// T-API-2: an admission webhook that refuses: people read its words, and the server is not asked over and over.
func TestDevstackRefusedByAdmission(t *testing.T) {
	t.Parallel()
	r, g := newBehind(t)
	var refuses atomic.Bool
	refuses.Store(true)
	r.Refuse(t, r.namespace, "gpu budget is on hold", &refuses)
	nb := r.notebook("nb-a")
	r.store.Put(nb)
	r.state(nb.ID, workload.Failed)
	begun := time.Now()
	within(t, 2*time.Minute, "its words are shown", func() bool {
		return strings.Contains(r.store.Get(nb.ID).Observed.Detail, "gpu budget is on hold")
	})
	within(t, 2*time.Minute, "for a while", func() bool { return time.Since(begun) > 10*time.Second })
	for path, n := range g.writesSince(begun) {
		if n > 2+int(time.Since(begun).Seconds()) {
			t.Errorf("%s: %d writes in %s", path, n, time.Since(begun))
		}
	}
	refuses.Store(false)
	r.state(nb.ID, workload.Running)
}

package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var leaderWorkerSets = schema.GroupVersionResource{Group: "leaderworkerset.x-k8s.io", Version: "v1",
	Resource: "leaderworkersets"}

// onNodes is an endpoint that several pods serve together.
func onNodes(w workload.Workload, nodes int) workload.Workload {
	w = reconciletest.Endpoint(w)
	w.Image.Runtime = &catalog.Runtime{Engine: catalog.Other, Backend: catalog.OnLeaderWorkerSet, MaxNodes: 8,
		WorkerArgs: []string{"--rank={nodeRank}"}}
	w.Replicas = workload.Replicas{Range: workload.Range{Min: nodes, Max: nodes}, Wanted: nodes, Held: nodes}
	return w
}

// withLeaderWorkerSet lets endpoints run in groups of pods.
func withLeaderWorkerSet(o *reconcile.Options) {
	onSite(o, func(s *kube.Site) { s.Access.LeaderWorkerSet = true })
}

// A cluster without LeaderWorkerSet says so of the endpoint that needs it, and one where it is not set up does.
func TestWithoutLeaderWorkerSet(t *testing.T) {
	withoutOperator(t, onNodes(notebook("ep-a"), 2), withLeaderWorkerSet, "reconcile.no_leaderworkerset")
}

// lws plays the controller of LeaderWorkerSet in one namespace for groups of which there is one, as v0.10 does
// (pkg/controllers/leaderworkerset_controller.go and pod_controller.go): a StatefulSet of leaders with the labels and
// annotations of the LeaderWorkerSet, one of workers that each leader owns, and the counts of its status.
type lws struct {
	r      *real
	custom dynamic.ResourceInterface
}

// run looks at every LeaderWorkerSet after each change of one, of a StatefulSet or of a pod.
func (k lws) run(ctx context.Context) {
	changes := woken(ctx, k.custom.Watch, k.r.Client.AppsV1().StatefulSets(k.r.namespace).Watch,
		k.r.Client.CoreV1().Pods(k.r.namespace).Watch)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-changes:
		}
		sets, err := k.custom.List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for i := range sets.Items {
			if err := k.act(ctx, &sets.Items[i]); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) &&
				!apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
				k.r.t.Errorf("the fake controller of LeaderWorkerSet: %v", err)
			}
		}
	}
}

// woken receives after each change that one of the watches tells of; several may come as one.
func woken(ctx context.Context,
	watches ...func(context.Context, metav1.ListOptions) (watch.Interface, error)) <-chan struct{} {
	changes := make(chan struct{}, 1)
	for _, begin := range watches {
		go func() {
			for ctx.Err() == nil {
				seen, err := begin(ctx, metav1.ListOptions{})
				if err != nil {
					continue
				}
				for range seen.ResultChan() {
					select {
					case changes <- struct{}{}:
					default:
					}
				}
			}
		}()
	}
	return changes
}

// groupTemplates is what a LeaderWorkerSet says of its pods.
type groupTemplates struct {
	Size           int32                  `json:"size"`
	LeaderTemplate corev1.PodTemplateSpec `json:"leaderTemplate"`
	WorkerTemplate corev1.PodTemplateSpec `json:"workerTemplate"`
}

func (k lws) act(ctx context.Context, group *unstructured.Unstructured) error {
	if group.GetDeletionTimestamp() != nil {
		return nil
	}
	text, _, err := unstructured.NestedMap(group.Object, "spec", "leaderWorkerTemplate")
	var of groupTemplates
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(text, &of)
	}
	if err != nil {
		return err
	}
	raw, err := json.Marshal(text)
	if err != nil {
		return err
	}
	hash := fnv.New32a()
	hash.Write(raw)
	revision := strconv.FormatUint(uint64(hash.Sum32()), 36)
	replicas, _, _ := unstructured.NestedInt64(group.Object, "spec", "replicas")
	leader := k.set(group, group.GetName(), int32(replicas), 0, of.LeaderTemplate, revision,
		map[string]string{kube.GroupLabel: group.GetName(), kube.WorkerIndexLabel: "0"}, of.Size)
	leader.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(group, group.GroupVersionKind())}
	leader.Spec.Template.Labels[kube.WorkerIndexLabel] = "0"
	if err := k.apply(ctx, leader); err != nil {
		return err
	}
	pods, err := k.r.Client.CoreV1().Pods(k.r.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: kube.GroupLabel + "=" + group.GetName()})
	if err != nil {
		return err
	}
	updated := int64(0)
	for i := range pods.Items {
		p := &pods.Items[i]
		switch {
		case p.Labels[kube.WorkerIndexLabel] != "0":
			if err := k.place(ctx, p); err != nil {
				return err
			}
		case p.DeletionTimestamp == nil:
			if p.Labels["leaderworkerset.sigs.k8s.io/template-revision-hash"] == revision {
				updated++
			}
			if err := k.workers(ctx, group, p, of); err != nil {
				return err
			}
		}
	}
	return k.status(ctx, group, updated)
}

// set is a StatefulSet of a group: constructLeaderStatefulSetApplyConfiguration, and that of the workers.
func (k lws) set(group *unstructured.Unstructured, name string, replicas, start int32, t corev1.PodTemplateSpec,
	revision string, selector map[string]string, size int32) *appsv1.StatefulSet {
	t = *t.DeepCopy()
	own := map[string]string{kube.GroupLabel: group.GetName(),
		"leaderworkerset.sigs.k8s.io/template-revision-hash": revision}
	labels := maps.Clone(group.GetLabels())
	maps.Copy(labels, own)
	maps.Copy(t.Labels, own)
	t.Annotations["leaderworkerset.sigs.k8s.io/size"] = strconv.Itoa(int(size))
	s := &appsv1.StatefulSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: group.GetNamespace(), Labels: labels,
			Annotations: maps.Clone(group.GetAnnotations())},
		Spec: appsv1.StatefulSetSpec{Replicas: &replicas, ServiceName: group.GetName(),
			PodManagementPolicy: appsv1.ParallelPodManagement, Template: t,
			Selector: &metav1.LabelSelector{MatchLabels: selector}}}
	if start > 0 {
		s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: start}
	}
	return s
}

func (k lws) apply(ctx context.Context, s *appsv1.StatefulSet) error {
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = k.r.Client.AppsV1().StatefulSets(s.Namespace).Patch(ctx, s.Name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: "lws", Force: new(true)})
	return err
}

// workers makes the other pods of a group.
func (k lws) workers(ctx context.Context, group *unstructured.Unstructured, leader *corev1.Pod,
	of groupTemplates) error {
	sets := k.r.Client.AppsV1().StatefulSets(group.GetNamespace())
	if _, err := sets.Get(ctx, leader.Name, metav1.GetOptions{}); err == nil || !apierrors.IsNotFound(err) {
		return err
	}
	revision := leader.Labels["leaderworkerset.sigs.k8s.io/template-revision-hash"]
	selector := map[string]string{kube.GroupLabel: group.GetName(), "leaderworkerset.sigs.k8s.io/group-index": "0"}
	s := k.set(group, leader.Name, of.Size-1, 1, of.WorkerTemplate, revision, selector, of.Size)
	maps.Copy(s.Spec.Template.Labels, selector)
	s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(leader,
		corev1.SchemeGroupVersion.WithKind("Pod"))}
	_, err := sets.Create(ctx, s, metav1.CreateOptions{})
	return err
}

// place writes the place in its group on a worker, as the webhook of LeaderWorkerSet does.
func (k lws) place(ctx context.Context, worker *corev1.Pod) error {
	if worker.DeletionTimestamp != nil || worker.Labels[kube.WorkerIndexLabel] != "" {
		return nil
	}
	index := worker.Name[strings.LastIndex(worker.Name, "-")+1:]
	_, err := k.r.Client.CoreV1().Pods(worker.Namespace).Patch(ctx, worker.Name, types.MergePatchType, fmt.Appendf(nil,
		`{"metadata": {"labels": {%q: %q}}}`, kube.WorkerIndexLabel, index), metav1.PatchOptions{})
	return err
}

func (k lws) status(ctx context.Context, group *unstructured.Unstructured, updated int64) error {
	sets := k.r.Client.AppsV1().StatefulSets(group.GetNamespace())
	leader, err := sets.Get(ctx, group.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	status := map[string]any{"observedGeneration": group.GetGeneration(), "updatedReplicas": updated,
		"replicas": int64(leader.Status.Replicas)}
	if was, _, _ := unstructured.NestedMap(group.Object, "status"); fmt.Sprint(was) == fmt.Sprint(status) {
		return nil
	}
	group.Object["status"] = status
	_, err = k.custom.UpdateStatus(ctx, group, metav1.UpdateOptions{})
	return err
}

// withGroups is a real cluster with LeaderWorkerSet, whose controller plays until the test ends.
func withGroups(t *testing.T) (*real, lws) {
	t.Helper()
	sets := define(t, reconciletest.NeedDevstack(t), kube.LeaderWorkerSetAPI, leaderWorkerSets)
	r := newReal(t, withLeaderWorkerSet)
	k := lws{r: r, custom: sets.Namespace(r.namespace)}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); k.run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	return r, k
}

// TestDevstackLeaderWorkerSet: an endpoint over several nodes starts when all of its pods are there, answers at the
// first alone, is metered each pod, comes back whole when one goes, is repaired, gets another version, stops and ends;
// nothing of it is left behind, and what LeaderWorkerSet makes of it is taken for nobody's pretence.
func TestDevstackLeaderWorkerSet(t *testing.T) {
	r, k := withGroups(t)
	ep := onNodes(r.notebook("ep-n"), 3)
	r.store.Put(ep)
	got := r.state(ep.ID, workload.Running)
	if o := got.Observed; len(o.Pods) != 3 || o.ReadyReplicas() != 3 || got.Metered() != 3 || got.PlacedAt.IsZero() ||
		o.Pod != "ep-n-nodes-0" || o.Pods[0].Worker || !o.Pods[1].Worker || !o.Pods[2].Worker ||
		!got.HasPod(o.Pods[1].Pod) {
		t.Errorf("it runs as %+v", o)
	}
	waittest.Until(t, "the Service leads to the first pod alone", func() error { return r.answersAt(t, got) })

	pods := r.Client.CoreV1().Pods(r.namespace)
	first := r.pods(ep.ID)
	if err := pods.Delete(t.Context(), "ep-n-nodes-0", metav1.DeleteOptions{
		PropagationPolicy: new(metav1.DeletePropagationForeground)}); err != nil { // as LeaderWorkerSet, where a pod restarts
		t.Fatal(err)
	}
	waittest.Until(t, "the group is made anew", func() error {
		now := r.pods(ep.ID)
		if w := r.store.Get(ep.ID); len(now) != 3 || w.Observed.ReadyReplicas() != 3 || w.Metered() != 3 ||
			slices.ContainsFunc(now, func(uid string) bool { return slices.Contains(first, uid) }) {
			return fmt.Errorf("pods %v, before %v: %+v", now, first, w.Observed)
		}
		return nil
	})

	meddle := []byte(`[{"op": "replace", "path": "/spec/leaderWorkerTemplate/size", "value": 4},
		{"op": "add", "path": "/spec/leaderWorkerTemplate/workerTemplate/spec/hostNetwork", "value": true}]`)
	if _, err := k.custom.Patch(t.Context(), "ep-n-nodes", types.JSONPatchType, meddle,
		metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the edit is taken back", func() error {
		group, err := k.custom.Get(t.Context(), "ep-n-nodes", metav1.GetOptions{})
		if err != nil {
			return err
		}
		template, _, _ := unstructured.NestedMap(group.Object, "spec", "leaderWorkerTemplate")
		_, has, _ := unstructured.NestedBool(template, "workerTemplate", "spec", "hostNetwork")
		if has || template["size"] != int64(3) {
			return errors.New("it is still there")
		}
		return nil
	})
	r.state(ep.ID, workload.Running)

	r.want(ep.ID, version(r.store.Get(ep.ID), "vllm-2", true))
	r.served(ep.ID, false)
	waittest.For(t, "the second version alone", func() bool {
		return maps.Equal(r.revisionsOfPods(ep.ID), map[int]int{2: 3})
	})
	r.groupStopsAndEnds(t, k, ep)
}

// answersAt reports whether the Service of an endpoint leads to its first pod and to no other.
func (r *real) answersAt(t *testing.T, w workload.Workload) error {
	list, err := r.Client.DiscoveryV1().EndpointSlices(r.namespace).List(t.Context(), metav1.ListOptions{
		LabelSelector: "kubernetes.io/service-name=" + w.Name})
	if err != nil {
		return err
	}
	var to []string
	for _, s := range list.Items {
		for _, e := range s.Endpoints {
			to = append(to, e.TargetRef.Name)
		}
	}
	if len(to) != 1 || to[0] != w.Name+"-nodes-0" {
		return fmt.Errorf("it leads to %v", to)
	}
	return nil
}

// groupStopsAndEnds: pods of workers hold their GPUs until they have stopped, though what made them goes before.
func (r *real) groupStopsAndEnds(t *testing.T, k lws, ep workload.Workload) {
	r.want(ep.ID, workload.Stop)
	r.state(ep.ID, workload.Stopped)
	if left := r.pods(ep.ID); len(left) > 0 {
		t.Errorf("stopped with pods %v", left)
	}
	if _, err := k.custom.Get(t.Context(), "ep-n-nodes", metav1.GetOptions{}); err != nil {
		t.Errorf("stopped, and what says what it was is gone: %v", err)
	}
	r.want(ep.ID, workload.Start)
	r.state(ep.ID, workload.Running)
	r.want(ep.ID, workload.Delete)
	r.state(ep.ID, workload.Ended)
	policies := r.Client.NetworkingV1().NetworkPolicies(r.namespace)
	waittest.Until(t, "nothing is left", func() error {
		_, group := k.custom.Get(t.Context(), "ep-n-nodes", metav1.GetOptions{})
		_, policy := policies.Get(t.Context(), kube.PeerPolicyName(ep), metav1.GetOptions{})
		if !apierrors.IsNotFound(group) || !apierrors.IsNotFound(policy) {
			return errors.Join(errors.New("it is there"), group, policy)
		}
		return nil
	})
	if left := r.pods(ep.ID); len(left) > 0 {
		t.Errorf("ended with pods %v", left)
	}
	for _, m := range r.store.Meter(ep.ID) {
		if m.Until.IsZero() {
			t.Errorf("still metered: %+v", m)
		}
	}
	if told := r.store.EventsOf(audit.ObjectSpoofed); len(told) > 0 {
		t.Errorf("what LeaderWorkerSet made is called a pretence: %+v", told)
	}
}

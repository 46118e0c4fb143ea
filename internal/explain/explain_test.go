package explain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// change is one step from a workload that has just been applied to the scene of a case.
type change func(*Facts)

// scene is a notebook on a slice, requested ten minutes ago, applied a second later, with no pod.
func scene(changes ...change) Facts {
	f := Facts{
		Now: now, Generation: 1, AppliedAt: now.Add(-10*time.Minute + time.Second), Namespace: corev1.NamespaceActive,
		Workload: workload.Workload{
			ID: "w-1", Kind: catalog.Notebook, Desired: workload.WantRunning, Generation: 1,
			CreatedAt: now.Add(-10 * time.Minute),
			Size: catalog.Size{Name: "mig-1g.10gb", Title: "MIG slice 10 GB", Technology: catalog.MIG, Memory: "24Gi",
				Accelerator: catalog.Accelerator{Resource: "nvidia.com/mig-1g.10gb"}},
			Image: catalog.Image{Title: "JupyterLab"},
		},
		Fit: inventory.Fit{Total: 56, Known: true},
	}
	for _, c := range changes {
		c(&f)
	}
	return f
}

func fact(c func(*Facts)) change { return c }

// owner is an event of the StatefulSet, ago before now.
func owner(reason, message string, ago time.Duration) change {
	return func(f *Facts) { f.OwnerEvents = append(f.OwnerEvents, ev(reason, message, ago)) }
}

func ev(reason, message string, ago time.Duration) *corev1.Event {
	return &corev1.Event{Reason: reason, Message: message, LastTimestamp: metav1.NewTime(now.Add(-ago)),
		Source: corev1.EventSource{Component: "default-scheduler"}}
}

// denied is what a StatefulSet reports when admission refuses its pod.
func denied(cause string) change {
	return owner("FailedCreate", "create Pod nb-4711-0 in StatefulSet nb-4711 failed error: "+cause, time.Minute)
}

func event1(reason, message string, ago time.Duration) change {
	return func(f *Facts) { f.PodEvents = append(f.PodEvents, ev(reason, message, ago)) }
}

func disk(phase corev1.PersistentVolumeClaimPhase, reason, message string) change {
	return func(f *Facts) {
		f.Claim = &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: phase}}
		if reason != "" {
			f.ClaimEvents = []*corev1.Event{ev(reason, message, time.Minute)}
		}
	}
}

// fromSnapshot is a claim that is not made from its snapshot.
func fromSnapshot(message string) change {
	return func(f *Facts) {
		disk(corev1.ClaimPending, "ProvisioningFailed", message)(f)
		f.Claim.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "VolumeSnapshot", Name: "a.b"}
	}
}

// pod is one that was made nine minutes ago.
func pod(changes ...func(*corev1.Pod)) change {
	return func(f *Facts) {
		f.Pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u1",
			CreationTimestamp: metav1.NewTime(now.Add(-9 * time.Minute))}, Status: corev1.PodStatus{Phase: corev1.PodPending}}
		for _, c := range changes {
			c(f.Pod)
		}
	}
}

func young(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(now.Add(-2 * time.Second)) }

func minuteOld(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(now.Add(-time.Minute)) }

func cond(kind corev1.PodConditionType, status corev1.ConditionStatus, reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: kind, Status: status, Reason: reason, Message: message,
			LastTransitionTime: metav1.NewTime(now.Add(-8 * time.Minute)),
		})
	}
}

// unplaced is a pod of which the scheduler says this.
func unplaced(message string) change {
	return pod(cond(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, message))
}

func placed(p *corev1.Pod) {
	p.Spec.NodeName = "h100-mig-01"
	cond(corev1.PodScheduled, corev1.ConditionTrue, "", "")(p)
}

// status is the state of the main container of a pod on a node.
func status(s corev1.ContainerStatus) change {
	return pod(placed, func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{s} })
}

func waits1(reason, message string) change {
	return status(corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: reason, Message: message}}})
}

// clone is a pod whose repository is being cloned, code 0, or could not be.
func clone(code int32, message string) change {
	waiting := waits1("PodInitializing", "")
	return func(f *Facts) {
		waiting(f)
		f.Workload.Git = &workload.Git{URL: "https://github.com/a/b", Ref: "nxet"}
		c := corev1.ContainerStatus{Name: workload.GitContainer, State: corev1.ContainerState{
			Running: &corev1.ContainerStateRunning{}}}
		if code != 0 {
			c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
			c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, Message: message}
		}
		f.Pod.Status.InitContainerStatuses = []corev1.ContainerStatus{c}
	}
}

// copied is a data set whose copy from object storage ended with that exit code; 0: it goes on.
func copied(code int32, message string) change {
	cloned := clone(code, message)
	return func(f *Facts) {
		cloned(f)
		f.Workload.Git = nil
		f.Workload.Mounts = []workload.Mount{{Claim: "home"},
			{Dataset: "corpus", Bucket: workload.Bucket{URL: "s3://corpus"}}}
		f.Pod.Status.InitContainerStatuses[0].Name = workload.CopyContainer(1)
	}
}

func crashed(reason string, code int32) change {
	return status(corev1.ContainerStatus{
		RestartCount: 3, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff",
			Message: "back-off 40s restarting failed container=main"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason,
			ExitCode: code}},
	})
}

func running(started bool, restarts int32) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Started: &started, RestartCount: restarts, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{
			StartedAt: metav1.NewTime(now.Add(-time.Minute))}},
	}
}

func failed(reason, message string) change {
	return pod(placed, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, reason, message
	})
}

func fit(total, free int) change {
	return func(f *Facts) { f.Fit = inventory.Fit{Total: total, Free: free, Known: true} }
}

func unknownFit(f *Facts) { f.Fit = inventory.Fit{} }

func apply(reason metav1.StatusReason, message string) change {
	return func(f *Facts) { f.ApplyError = &ApplyError{Reason: reason, Message: message} }
}

// want is what the reader gets: the id, arguments that matter, and whether it is permanent.
type want struct {
	id     string
	args   map[string]any
	failed bool
}

const preempt = " preemption: 0/12 nodes are available: 9 Preemption is not helpful for scheduling, 3 No preemption " +
	"victims found for incoming pod."

var cases = map[string]struct {
	facts Facts
	want  want
}{
	// 10.1, before anything
	"just requested": {scene(fact(func(f *Facts) { f.Generation, f.AppliedAt = 0, time.Time{} })),
		want{id: "explain.creating"}},
	"applied, no pod for a long time": {scene(), want{id: "explain.no_pod"}},
	"applied a moment ago": {scene(fact(func(f *Facts) { f.AppliedAt = now; f.RequestedAt = now })),
		want{id: "explain.creating"}},
	"stopped, nothing there": {scene(fact(func(f *Facts) { f.Workload.Desired = workload.WantStopped })),
		want{}},
	"stopping, pod not yet told": {scene(pod(placed),
		fact(func(f *Facts) { f.Workload.Desired = workload.WantStopped })), want{id: "explain.stopping"}},
	"cluster away": {scene(apply("", "dial tcp 10.0.0.1:6443: connect: connection refused")),
		want{id: "explain.cluster_away"}},
	"not permitted": {scene(apply(metav1.StatusReasonForbidden,
		`statefulsets.apps "x" is forbidden: User "system:serviceaccount:p:p" cannot patch resource`)),
		want{id: "explain.portal_rights", failed: true}},
	"foreign object": {scene(apply(metav1.StatusReasonAlreadyExists,
		"Secret nb-1 exists and is not ours")), want{id: "explain.foreign_object", failed: true}},
	"invalid object": {scene(apply(metav1.StatusReasonInvalid, `StatefulSet.apps "x" is invalid`)),
		want{id: "explain.size_wrong", failed: true}},
	"changed by hand": {scene(apply(metav1.StatusReasonConflict,
		`Apply failed with 1 conflict: conflict with "kubectl" using apps/v1: .spec.replicas`)),
		want{id: "explain.foreign_manager"}},
	"unknown reason of the API": {scene(apply("Weird", "weird things")), want{id: "explain.cluster_says"}},
	"namespace ends, told by the apply": {scene(apply(metav1.StatusReasonForbidden, "secrets \"x\" is forbidden: unable "+
		"to create new content in namespace t-x because it is being terminated")), want{id: "explain.space_ending"}},
	"namespace ends": {scene(fact(func(f *Facts) { f.Namespace = corev1.NamespaceTerminating })),
		want{id: "explain.space_ending"}},

	// 10.2
	"quota of the size": {
		scene(
			denied(
				`pods "nb-4711-0" is forbidden: exceeded quota: portal-gpu, requested: requests.nvidia.com/mig-1g.10gb=1, used: requests.nvidia.com/mig-1g.10gb=4, limited: requests.nvidia.com/mig-1g.10gb=4`)),
		want{id: "explain.quota_full", args: map[string]any{"Used": "4", "Limit": "4", "Size": "MIG slice 10 GB"}}},
	"quota of nothing": {
		scene(
			denied(
				`exceeded quota: portal-gpu, requested: requests.nvidia.com/mig-1g.10gb=1, used: requests.nvidia.com/mig-1g.10gb=0, limited: requests.nvidia.com/mig-1g.10gb=0`)),
		want{id: "explain.quota_none"}},
	"quota of memory": {
		scene(
			denied(
				`exceeded quota: site, requested: limits.memory=24Gi,requests.memory=24Gi, used: limits.memory=500Gi,requests.memory=500Gi, limited: limits.memory=512Gi,requests.memory=512Gi`)),
		want{id: "explain.quota_other", args: map[string]any{"Resource": "limits.memory", "Used": "500Gi",
			"Limit": "512Gi"}}},
	"quota without numbers": {scene(denied(`exceeded quota: site`)), want{id: "explain.quota_unknown"}},
	"quota needs memory": {scene(denied(`failed quota: portal-cpu: must specify limits.memory for: main`)),
		want{id: "explain.size_incomplete", failed: true}},
	"quota not counted yet": {scene(denied(`status unknown for quota: portal-gpu, resources: requests.nvidia.com/gpu`)),
		want{id: "explain.preparing"}},
	"limit range": {
		scene(denied(`pods "x" is forbidden: maximum nvidia.com/gpu usage per Container is 4, but limit is 8`)),
		want{id: "explain.too_much", args: map[string]any{"Most": "4", "Resource": "nvidia.com/gpu"}, failed: true}},
	"pod security": {
		scene(
			denied(
				`pods "x" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "main" must set securityContext.allowPrivilegeEscalation=false)`)), want{id: "explain.rights", failed: true}},
	"KServe's storage initializer": { // as KServe v0.20 and the API server v1.36 say it
		scene(denied(`pods "hf-2-predictor-5454d6f96-fvbss" is forbidden: violates PodSecurity "restricted:latest": ` +
			`allowPrivilegeEscalation != false (container "storage-initializer" must set ` +
			`securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "storage-initializer" ` +
			`must set securityContext.capabilities.drop=["ALL"])`)), want{id: "explain.kserve_fetches", failed: true}},
	"OpenShift's SCC": {
		scene(
			denied(
				`pods "x-" is forbidden: unable to validate against any security context constraint: [provider "anyuid": Forbidden: not usable by user or serviceaccount]`)), want{id: "explain.rights", failed: true}},
	"priority class": {scene(denied(`pods "x" is forbidden: no PriorityClass with name interactive was found`)),
		want{id: "explain.size_wrong", failed: true}},
	"runtime class": {scene(denied(`pods "x" is forbidden: pod rejected: RuntimeClass "nvidia" not found`)),
		want{id: "explain.size_wrong", failed: true}},
	"webhook down": {
		scene(
			denied(`Internal error occurred: failed calling webhook "mpod.kb.io": failed to call webhook: connection refused`)),
		want{id: "explain.platform_down"}},
	"Kueue still stops": {
		scene(denied(`admission webhook "mstatefulset.kb.io" denied the request: scaling down is still in progress`)),
		want{id: "explain.still_stopping"}},
	"Kyverno refuses": {
		scene(
			denied(
				`admission webhook "validate.kyverno.svc-fail" denied the request: resource Pod/x was blocked due to the following policies`)), want{id: "explain.rule_of_site", failed: true}},
	"account not there": {
		scene(
			denied(
				`pods "x" is forbidden: error looking up service account gpu-vision/portal-workload: serviceaccount "portal-workload" not found`)), want{id: "explain.preparing"}},
	"misuse": {
		scene(
			denied(
				`Pod "x" is invalid: spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: "500m": must be an integer`)), want{id: "explain.size_wrong", failed: true}},
	"unknown refusal": {scene(denied(`the stars are wrong`)), want{id: "explain.cluster_says"}},
	"refusal of an earlier spec": {scene(owner("FailedCreate", "exceeded quota: x", 30*time.Minute)),
		want{id: "explain.no_pod"}},
	"refusal that is over": {scene(denied("exceeded quota: x"), owner("SuccessfulCreate", "create Pod nb-4711-0 in "+
		"StatefulSet nb-4711 successful", time.Second)), want{id: "explain.no_pod"}},
	"DRA quota": {scene(pod(), event1("FailedResourceClaimCreation",
		`PodResourceClaim gpu: resourceclaims.resource.k8s.io "x" is forbidden: exceeded quota: portal-dra, requested: gpu.nvidia.com.deviceclass.resource.k8s.io/devices=1, used: gpu.nvidia.com.deviceclass.resource.k8s.io/devices=2, limited: gpu.nvidia.com.deviceclass.resource.k8s.io/devices=2`, time.Second)),
		want{id: "explain.quota_other", args: map[string]any{"Resource": "gpu.nvidia.com.deviceclass.resource.k8s.io/devices",
			"Used": "2", "Limit": "2"}}},

	// 10.3
	"in the queue": {scene(pod(cond(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonSchedulingGated,
		"Scheduling is blocked due to non-empty scheduling gates"))), want{id: "explain.queued"}},

	// 10.4
	"all in use": {scene(unplaced("0/12 nodes are available: 3 Insufficient nvidia.com/mig-1g.10gb, 4 node(s) had " +
		"untolerated taint(s), 5 node(s) didn't match Pod's node affinity/selector." + preempt)),
		want{id: "explain.in_use", args: map[string]any{"Count": 56, "Size": "MIG slice 10 GB"}}},
	"room on a quarantined node only": {scene(fact(func(f *Facts) { f.Quarantined = []string{"h100-mig-01"} }),
		unplaced("0/12 nodes are available: 3 Insufficient nvidia.com/mig-1g.10gb, 9 node(s) didn't match Pod's node "+
			"affinity/selector."+preempt)),
		want{id: "explain.quarantined", args: map[string]any{"Count": 1, "Size": "MIG slice 10 GB", "Nodes": "h100-mig-01"}}},
	"five quarantined nodes": {scene(fit(0, 0), fact(func(f *Facts) { f.Quarantined = []string{"a", "b", "c", "d", "e"} }),
		unplaced("0/5 nodes are available: 5 node(s) didn't match Pod's node affinity/selector.")),
		want{id: "explain.quarantined", args: map[string]any{"Count": 5, "Nodes": "a, b, c"}}},
	"quarantined, and it does not go around": {scene(fact(func(f *Facts) { f.Quarantined = []string{"h100-mig-01"} }),
		unplaced("0/12 nodes are available: 12 Insufficient nvidia.com/mig-1g.10gb.")), want{id: "explain.in_use"}},
	"the size does not exist": {scene(fit(0, 0), unplaced("0/12 nodes are available: 12 Insufficient "+
		"nvidia.com/mig-1g.10gb."+preempt)), want{id: "explain.absent"}},
	"no inventory yet": {scene(unknownFit, unplaced("0/12 nodes are available: 12 Insufficient nvidia.com/mig-1g.10gb."+
		preempt)), want{id: "explain.in_use_unknown"}},
	"devices before CPU": {scene(unplaced("0/12 nodes are available: 2 Insufficient cpu, 3 Insufficient " +
		"nvidia.com/mig-1g.10gb.")), want{id: "explain.in_use"}},
	"GPU free, CPU not": {scene(unplaced("0/12 nodes are available: 2 Insufficient cpu, 10 node(s) didn't match Pod's " +
		"node affinity/selector.")), want{id: "explain.node_full"}},
	"too many pods": {scene(unplaced("0/2 nodes are available: 2 Too many pods.")), want{id: "explain.node_full"}},
	"CPU only, all full": {scene(fact(func(f *Facts) {
		f.Workload.Size = catalog.Size{Title: "CPU only", Technology: catalog.CPUOnly}
	}),
		unplaced("0/12 nodes are available: 12 Insufficient memory.")), want{id: "explain.nodes_full"}},
	"another resource": {scene(unplaced("0/12 nodes are available: 12 Insufficient " +
		"rdma/hca_shared_devices_a.")), want{id: "explain.other_in_use",
		args: map[string]any{"Resource": "rdma/hca_shared_devices_a"}}},
	"a similar resource is not the size's": {scene(unplaced("0/12 nodes are available: 12 Insufficient " +
		"nvidia.com/mig-1g.10.")), want{id: "explain.other_in_use"}},
	"a resource whose name goes on is another": {
		scene(fact(func(f *Facts) { f.Workload.Size.Accelerator.Resource = "nvidia.com/gpu" }),
			unplaced("0/12 nodes are available: 12 Insufficient nvidia.com/gpu.shared.")),
		want{id: "explain.other_in_use", args: map[string]any{"Resource": "nvidia.com/gpu.shared"}}},
	"no node of the kind": {scene(unplaced("0/12 nodes are available: 12 node(s) didn't match Pod's node " +
		"affinity/selector.")), want{id: "explain.absent"}},
	"reserved": {scene(unknownFit, unplaced("0/3 nodes are available: 3 node(s) had untolerated "+
		"taint {dedicated: training}.")), want{id: "explain.nodes_reserved"}},
	"reserved, in the words of 1.36": {scene(unplaced("0/3 nodes are available: 3 node(s) had untolerated taint(s).")),
		want{id: "explain.nodes_reserved"}},
	"control plane and others": {scene(fit(0, 0), unplaced("0/3 nodes are available: 1 node(s) had untolerated taint "+
		"{node-role.kubernetes.io/control-plane: }, 2 node(s) didn't match Pod's node affinity/selector.")),
		want{id: "explain.absent"}},
	"drained": {scene(fit(0, 0), unplaced("0/3 nodes are available: 1 node(s) were unschedulable, 2 "+
		"node(s) didn't match Pod's node affinity/selector.")), want{id: "explain.nodes_drained"}},
	"down": {scene(fit(0, 0), unplaced("0/1 nodes are available: 1 node(s) had untolerated taint "+
		"{node.kubernetes.io/unreachable: }.")), want{id: "explain.nodes_down"}},
	"unknown conditions": {scene(unplaced("0/1 nodes are available: 1 node(s) had unknown conditions.")),
		want{id: "explain.nodes_down"}},
	"spread": {scene(unplaced("0/3 nodes are available: 3 node(s) didn't match pod topology spread " +
		"constraints.")), want{id: "explain.spread"}},
	"anti-affinity": {scene(unplaced("0/3 nodes are available: 3 node(s) didn't match pod anti-affinity " +
		"rules.")), want{id: "explain.spread"}},
	"host port": {scene(unplaced("0/3 nodes are available: 3 node(s) didn't have free ports for the " +
		"requested pod ports.")), want{id: "explain.size_wrong", failed: true}},
	"disk being made": {scene(unplaced("0/3 nodes are available: pod has unbound immediate " +
		"PersistentVolumeClaims. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.")),
		want{id: "explain.disk_making"}},
	"disk missing": {scene(unplaced(`0/3 nodes are available: persistentvolumeclaim "nb-home" not found.`)),
		want{id: "explain.disk_missing", failed: true}},
	"disk being deleted": {scene(unplaced(
		`0/3 nodes are available: persistentvolumeclaim "nb-home" is being deleted.`)),
		want{id: "explain.disk_deleting", failed: true}},
	"disk in another zone": {scene(unplaced("0/12 nodes are available: 3 Insufficient nvidia.com/mig-1g.10gb, 2 " +
		"node(s) didn't match PersistentVolume's node affinity.")), want{id: "explain.disk_elsewhere"}},
	"disk in another zone, 1.34": {scene(unplaced("0/12 nodes are available: 2 node(s) had volume node affinity " +
		"conflict.")), want{id: "explain.disk_elsewhere"}},
	"no volume zone": {scene(unplaced("0/12 nodes are available: 2 node(s) had no available volume zone.")),
		want{id: "explain.disk_elsewhere"}},
	"too many disks": {scene(unplaced("0/3 nodes are available: 3 node(s) exceed max volume count.")),
		want{id: "explain.too_many_disks"}},
	"disk in use": {scene(unplaced("0/3 nodes are available: 3 node(s) unavailable due to " +
		"PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod.")),
		want{id: "explain.disk_busy"}},
	"disk lost": {scene(unplaced("0/3 nodes are available: 3 node(s) unavailable due to one or more " +
		"pvc(s) bound to non-existent pv(s).")), want{id: "explain.disk_lost", failed: true}},
	"storage full": {scene(unplaced("0/3 nodes are available: 3 node(s) did not have enough free storage.")),
		want{id: "explain.storage_full"}},
	"another gate": {scene(unplaced("0/3 nodes are available: waiting for scheduling gates: " +
		"[example.com/gate].")), want{id: "explain.queued"}},
	"room is being made": {scene(unplaced("0/3 nodes are available: 3 Insufficient nvidia.com/mig-1g.10gb. " +
		"preemption: not eligible due to a terminating pod on the nominated node.")), want{id: "explain.making_room"}},
	"DRA, none free": {scene(fact(func(f *Facts) { f.Workload.Size.Technology = catalog.DRA }),
		unplaced("0/500 nodes are available: 500 cannot allocate all claims.")), want{id: "explain.in_use"}},
	"DRA, claim in use": {scene(unplaced("0/5 nodes are available: 5 resourceclaim in use.")),
		want{id: "explain.claim_in_use"}},
	"DRA, being assigned": {scene(unplaced("0/5 nodes are available: resource claim ns/x is in the process of " +
		"being allocated.")), want{id: "explain.device_moment"}},
	"DRA, on another node": {scene(unplaced("0/5 nodes are available: 5 resourceclaim not available on the node.")),
		want{id: "explain.claim_elsewhere"}},
	"DRA, no class": {scene(unplaced("0/5 nodes are available: request gpu: device class gpu.example.com " +
		"does not exist.")), want{id: "explain.size_withdrawn", failed: true}},
	"DRA, too slow": {scene(unplaced("0/5 nodes are available: 5 timed out trying to allocate devices.")),
		want{id: "explain.device_slow"}},
	"DRA, claim not made": {scene(unplaced(
		`0/5 nodes are available: pod "gpu-vision/x": ResourceClaim not created yet.`)), want{id: "explain.device_moment"}},
	"DRA, faulty class": {scene(unplaced("0/5 nodes are available: claim x: selector #0: runtime error: no such " +
		"key: memory.")), want{id: "explain.size_wrong", failed: true}},
	"no nodes":            {scene(unplaced("0/0 nodes are available.")), want{id: "explain.no_nodes"}},
	"no nodes, old words": {scene(unplaced("no nodes available to schedule pods")), want{id: "explain.no_nodes"}},
	"scheduler silent": {scene(pod(func(p *corev1.Pod) { p.Spec.SchedulerName = "hami-scheduler" })),
		want{id: "explain.scheduler_silent", args: map[string]any{"Scheduler": "hami-scheduler"}}},
	"scheduler has had no time": {scene(pod(young)), want{id: "explain.searching"}},
	"scheduler's cache lags": {scene(pod(young, cond(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable",
		"0/1 nodes are available: 1 Insufficient nvidia.com/mig-1g.10gb."))), want{id: "explain.searching"}},
	"only an event": {scene(pod(), event1("FailedScheduling", "0/1 nodes are available: 1 Insufficient "+
		"nvidia.com/mig-1g.10gb.", time.Second)), want{id: "explain.in_use"}},
	"scheduler error": {scene(pod(cond(corev1.PodScheduled, corev1.ConditionFalse, "SchedulerError",
		"running Bind plugin: timeout"))), want{id: "explain.cluster_says"}},
	"an event of the pod before": {scene(pod(), fact(func(f *Facts) {
		e := ev("FailedScheduling", "0/1 nodes are available: 1 Insufficient cpu.", time.Second)
		e.InvolvedObject.UID = "u0"
		f.PodEvents = append(f.PodEvents, e)
	})), want{id: "explain.scheduler_silent"}},

	// 10.5
	"node is coming, Cluster Autoscaler": {scene(unplaced("0/1 nodes are available: 1 Insufficient "+
		"nvidia.com/mig-1g.10gb."), event1("TriggeredScaleUp", "pod triggered scale-up: [{gpu 1->2 (max: 4)}]", time.Second)),
		want{id: "explain.node_coming"}},
	"node is coming, Karpenter": {scene(unplaced("0/1 nodes are available: 1 Insufficient nvidia.com/mig-1g.10gb."),
		event1("Nominated", "Pod should schedule on: nodeclaim/gpu-x", time.Second)), want{id: "explain.node_coming"}},
	"cluster may not grow": {scene(unplaced("0/1 nodes are available: 1 Insufficient nvidia.com/mig-1g.10gb."),
		event1("NotTriggerScaleUp", "pod didn't trigger scale-up: 1 max node group size reached", time.Second)),
		want{id: "explain.growth_limit"}},
	"provider is out of machines": {scene(unplaced("0/1 nodes are available: 1 Insufficient nvidia.com/mig-1g.10gb."),
		event1("NotTriggerScaleUp", "pod didn't trigger scale-up: 1 in backoff after failed scale-up", time.Second)),
		want{id: "explain.growth_no_machines"}},
	"no type of machine": {scene(unplaced("0/1 nodes are available: 1 Insufficient nvidia.com/mig-1g.10gb."),
		fact(func(f *Facts) {
			e := ev("FailedScheduling", "Failed to schedule pod, incompatible with nodepool \"gpu\", no instance type has "+
				"enough resources", time.Second)
			e.Source.Component = "karpenter"
			f.PodEvents = append(f.PodEvents, e)
		})), want{id: "explain.growth_no_type", failed: true}},
	"autoscaler has nothing to say": {scene(unplaced("0/1 nodes are available: 1 Insufficient nvidia.com/mig-1g.10gb."),
		event1("NotTriggerScaleUp", "pod didn't trigger scale-up: 2 node(s) didn't match Pod's node affinity/selector",
			time.Second)), want{id: "explain.in_use"}},
	"HAMi, card memory": {scene(pod(), event1("FilteringFailed",
		"3 nodes CardInsufficientMemory(node-a,node-b,node-c)", time.Second)), want{id: "explain.card_memory"}},
	"HAMi, compute": {scene(pod(), event1("FilteringFailed", "1 nodes CardInsufficientCore(node-a)",
		time.Second)), want{id: "explain.card_compute"}},
	"HAMi, no such card": {scene(pod(), event1("FilteringFailed", "1 nodes CardTypeMismatch(node-a)", time.Second)),
		want{id: "explain.absent"}},
	"HAMi, limit": {scene(pod(), event1("FilteringFailed", "1 nodes ResourceQuotaNotFit(node-a)", time.Second)),
		want{id: "explain.quota_unknown"}},
	"HAMi sums up": {scene(pod(), event1("FilteringFailed", "1 nodes CardInsufficientMemory(node-a)",
		2*time.Second), event1("FilteringFailed", "no available node, 3 nodes do not meet", time.Second)),
		want{id: "explain.card_memory"}},
	"HAMi, only the sum": {scene(pod(), event1("FilteringFailed", "no available node, 3 nodes do not meet",
		time.Second)), want{id: "explain.cluster_says"}},
	"a node that never came": {scene(unplaced("0/1 nodes are available: 1 Insufficient nvidia.com/mig-1g.10gb."),
		event1("TriggeredScaleUp", "pod triggered scale-up", time.Hour)), want{id: "explain.in_use"}},
	"HAMi, node locked": {scene(pod(minuteOld), event1("BindingFailed", "node lock", time.Second)),
		want{id: "explain.searching"}},
	"HAMi, a lock that nobody releases": {scene(pod(), event1("BindingFailed", "node lock", time.Second)),
		want{id: "explain.bind_slow"}},
	"KAI, by its condition": {scene(unplaced("no nodes with enough resources were found: 5 node(s) didn't have enough " +
		"resources: GPUs. \n2 node(s) had untolerated taint(s).")), want{id: "explain.in_use"}},
	"KAI, by its event alone": {scene(pod(), event1("Unschedulable", "no nodes with enough resources were found: "+
		"5 node(s) didn't have enough resources: GPUs.", time.Second)), want{id: "explain.in_use"}},
	"KAI, no card with so much memory left": {scene(unplaced("no nodes with enough resources were found: 1 node(s) " +
		"didn't have enough resources: GPU memory.")), want{id: "explain.card_memory"}},
	"KAI, full nodes": {scene(unplaced("no nodes with enough resources were found: 3 node(s) didn't have enough " +
		"resources: CPU cores.")), want{id: "explain.node_full"}},
	"KAI, the queue's limit": {scene(pod(), event1("Unschedulable", "vision quota has reached the allowable limit of "+
		"GPUs. Limit is 1 GPUs, currently 1 GPUs allocated and workload requested 1 GPUs", time.Second)),
		want{id: "explain.quota_unknown"}},
	"KAI, words that nobody knows": {scene(pod(), event1("Unschedulable", "the moon is full", time.Second)),
		want{id: "explain.cluster_says"}},
	"a size that no node has and nobody counts": {scene(unplaced("0/1 nodes are available: 1 Insufficient "+
		"nvidia.com/mig-1g.10gb."), func(f *Facts) { f.Fit, f.NeverFits = inventory.Fit{}, true }),
		want{id: "explain.absent"}},

	// 10.6
	"on the node": {scene(pod(placed)), want{id: "explain.on_node"}},
	"image being loaded": {scene(waits1("ContainerCreating", ""), event1("Pulling", `Pulling image "quay.io/x"`,
		time.Minute)), want{id: "explain.pulling", args: map[string]any{"Image": "JupyterLab"}}},
	"image being loaded for long": {scene(waits1("ContainerCreating", ""), event1("Pulling", `Pulling image "quay.io/x"`,
		6*time.Minute)), want{id: "explain.pulling_long"}},
	"image is there": {scene(waits1("PodInitializing", ""), event1("Pulling", "Pulling", time.Minute),
		event1("Pulled", "Successfully pulled image", time.Second)), want{id: "explain.on_node"}},
	"image missing": {scene(waits1("ErrImagePull",
		`rpc error: code = NotFound desc = failed to pull and unpack image "quay.io/x@sha256:1": not found`)),
		want{id: "explain.image_missing", failed: true}},
	"image missing, backing off": {scene(waits1("ImagePullBackOff", `Back-off pulling image "quay.io/x"`),
		event1("Failed", `Failed to pull image "quay.io/x": manifest unknown`, time.Second)),
		want{id: "explain.image_missing", failed: true}},
	"image, the team's password is refused": {scene(fact(func(f *Facts) {
		f.Workload.Image.Reference = "harbor.example.org/a/b:1"
		f.Workload.Secrets = []workload.SecretUse{{ID: "s-1", Name: "harbor", Kind: workload.PullKind, Team: true}}
	}), waits1("ImagePullBackOff", "Back-off pulling image: unauthorized: authentication required")),
		want{id: "explain.pull_secret", failed: true}},
	"git, the token has expired": {scene(clone(128,
		"fatal: could not read Username for 'https://github.com': terminal prompts disabled")),
		want{id: "explain.git_sign_in", failed: true}},
	"git, no such branch": {scene(clone(1, "error: pathspec 'nxet' did not match any file(s) known to git")),
		want{id: "explain.git_ref", failed: true}},
	"git, the host is away": {scene(clone(128,
		"fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com")),
		want{id: "explain.git_away"}},
	"git, something else": {scene(clone(1, "mv: No space left on device")), want{id: "explain.git_failed", failed: true}},
	// texts of rclone 1.71
	"bucket, a wrong key": {scene(copied(1, "Failed to copy: operation error S3: ListObjects, https response error "+
		"StatusCode: 403, api error SignatureDoesNotMatch: The request signature we calculated does not match")),
		want{id: "explain.bucket_sign_in", failed: true}},
	"bucket, missing": {scene(copied(3, "NOTICE: Failed to copy: directory not found")),
		want{id: "explain.bucket_missing", failed: true}},
	"bucket, away": {scene(copied(5, "Failed to copy: operation error S3: ListObjects, exceeded maximum number of "+
		"attempts, 3, https response error StatusCode: 0, request send failed, Get \"http://s3/corpus\": dial tcp: "+
		"lookup s3 on 10.96.0.10:53: no such host")), want{id: "explain.bucket_away"}},
	"bucket, disk full": {scene(copied(1, "Failed to copy: write /datasets/corpus/a: no space left on device")),
		want{id: "explain.node_disk_full"}},
	"bucket, something else": {scene(copied(2, "Fatal error: unknown flag")),
		want{id: "explain.bucket_failed", failed: true}},
	"bucket, at it": {scene(copied(0, "")), want{id: "explain.bucket_copying", args: map[string]any{"Dataset": "corpus",
		"Bucket": "s3://corpus"}}},
	"git, at it": {scene(clone(0, "")), want{id: "explain.git_cloning"}},
	"image, no access": {scene(waits1("ImagePullBackOff",
		`Back-off pulling image "x": ErrImagePull: pull access denied, repository does not exist or may require authorization`)), want{id: "explain.image_no_access", failed: true}},
	"image, certificate": {scene(waits1("ErrImagePull",
		`tls: failed to verify certificate: x509: certificate signed by unknown authority`)),
		want{id: "explain.registry_certificate", failed: true}},
	"image, registry away": {scene(waits1("ErrImagePull", `dial tcp 10.1.2.3:443: i/o timeout`)),
		want{id: "explain.registry_away"}},
	"image, limit": {scene(waits1("ErrImagePull", `toomanyrequests: You have reached your pull rate limit`)),
		want{id: "explain.registry_limit"}},
	"image, disk full": {scene(waits1("ErrImagePull", `write /var/lib/containerd: no space left on device`)),
		want{id: "explain.node_disk_full"}},
	"image, no words": {scene(waits1("ImagePullBackOff", `Back-off pulling image "quay.io/x"`)),
		want{id: "explain.image_pull"}},
	"image name": {scene(waits1("InvalidImageName", `couldn't parse image reference`)),
		want{id: "explain.image_name", failed: true}},
	"image signature": {scene(waits1("SignatureValidationFailed", ``)), want{id: "explain.image_signature",
		failed: true}},
	"secret not there": {scene(waits1("CreateContainerConfigError", `secret "nb-4711" not found`)),
		want{id: "explain.preparing"}},
	"image runs as root": {scene(waits1("CreateContainerConfigError",
		`container has runAsNonRoot and image will run as root`)), want{id: "explain.image_root", failed: true}},
	"GPU runtime": {scene(waits1("RunContainerError",
		`failed to create shim task: OCI runtime create failed: nvidia-container-cli: initialization error: driver not loaded`)), want{id: "explain.gpu_runtime"}},
	"GPU runtime, CDI": {scene(waits1("CreateContainerError",
		`failed to inject CDI devices: unresolvable CDI devices nvidia.com/gpu=0`)), want{id: "explain.gpu_runtime"}},
	"wrong command": {scene(waits1("RunContainerError",
		`exec: "start-notebook.py": executable file not found in $PATH`)), want{id: "explain.wrong_command", failed: true}},
	"start failed": {scene(waits1("CreateContainerError", `context deadline exceeded`)),
		want{id: "explain.start_failed"}},
	"crash, error": {scene(crashed("Error", 1)), want{id: "explain.crash_code", args: map[string]any{"Code": 1},
		failed: true}},
	"crash, memory": {scene(crashed("OOMKilled", 137)),
		want{id: "explain.out_of_memory", args: map[string]any{"Memory": "24Gi"}, failed: true}},
	"crash, program missing": {scene(crashed("Error", 127)), want{id: "explain.wrong_command", failed: true}},
	"crash, ends by itself":  {scene(crashed("Completed", 0)), want{id: "explain.ended_itself", failed: true}},
	"crash, nothing known":   {scene(waits1("CrashLoopBackOff", "back-off")), want{id: "explain.crash", failed: true}},
	"init container crashes": {scene(pod(placed, func(p *corev1.Pod) {
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{
			{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Error",
					ExitCode: 2}}}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{
			{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}}
	})), want{id: "explain.crash_code", args: map[string]any{"Code": 2}, failed: true}},
	"ended a moment ago": {scene(status(corev1.ContainerStatus{
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 3}}})),
		want{id: "explain.crash_code"}},
	"disk attached elsewhere": {scene(waits1("ContainerCreating", ""),
		event1("FailedAttachVolume",
			`Multi-Attach error for volume "pvc-1" Volume is already exclusively attached to one node and can't be attached to another`, time.Second)), want{id: "explain.disk_attached"}},
	"disk cannot be mounted": {scene(waits1("ContainerCreating", ""),
		event1("FailedMount", `MountVolume.SetUp failed for volume "pvc-1" : rpc error`, time.Second)),
		want{id: "explain.disk_mount_failed"}},
	"disk is being mounted": {scene(waits1("ContainerCreating", ""),
		event1("FailedMount",
			`MountVolume.SetUp failed for volume "kube-api-access": object "gpu-vision"/"nb-4711" not registered`, time.Second)),
		want{id: "explain.disk_mounting"}},
	"network": {scene(waits1("ContainerCreating", ""),
		event1("FailedCreatePodSandBox", `Failed to create pod sandbox: plugin type="ovn" failed`, time.Second)),
		want{id: "explain.node_network"}},
	"DRA driver": {scene(waits1("ContainerCreating", ""), event1("FailedPrepareDynamicResources",
		`Failed to prepare dynamic resources: MIG`, time.Second)), want{id: "explain.device_preparing"}},
	"starting": {scene(status(running(false, 0)), event1("Unhealthy", "Startup probe failed: connection "+
		"refused", time.Second)), want{id: "explain.starting"}},
	"model loads": {scene(fact(func(f *Facts) { f.Workload.Kind = catalog.Endpoint }),
		status(running(false, 0))), want{id: "explain.loading"}},
	"startup limit": {scene(status(running(false, 1)), event1("Killing", "Container main failed startup "+
		"probe, will be restarted", time.Second)), want{id: "explain.startup_limit"}},
	"does not answer any more": {scene(status(running(true, 0)), event1("Unhealthy", "Readiness probe failed: timeout",
		time.Second)), want{id: "explain.not_answering"}},
	"once more, after memory": {scene(fact(func(f *Facts) {
		c := running(false, 1)
		c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}
		status(c)(f)
	})), want{id: "explain.again_memory"}},
	"once more, after an error": {scene(fact(func(f *Facts) {
		c := running(false, 1)
		c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 9}
		status(c)(f)
	})), want{id: "explain.again", args: map[string]any{"Code": 9}}},
	"ready": {scene(pod(placed, cond(corev1.PodReady, corev1.ConditionTrue, "", ""), func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{running(true, 0)}
	})), want{}},
	"GPU ill": {scene(pod(placed, cond(corev1.PodReady, corev1.ConditionTrue, "", ""), func(p *corev1.Pod) {
		c := running(true, 0)
		c.AllocatedResourcesStatus = []corev1.ResourceStatus{{Name: "nvidia.com/gpu",
			Resources: []corev1.ResourceHealth{{Health: corev1.ResourceHealthStatusUnhealthy}}}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{c}
	})), want{id: "explain.gpu_ill"}},

	// storage
	"disk cannot be made": {scene(disk(corev1.ClaimPending, "ProvisioningFailed", "rpc error: code = Internal")),
		want{id: "explain.disk_failed"}},
	"no storage class": {scene(disk(corev1.ClaimPending, "FailedBinding", "no persistent volumes available "+
		"for this claim and no storage class is set")), want{id: "explain.disk_no_class", failed: true}},
	"snapshot is gone": {scene(fromSnapshot(`error getting handle for DataSource Type VolumeSnapshot by Name a.b: error ` +
		`getting snapshot a.b from api server: volumesnapshots.snapshot.storage.k8s.io "a.b" not found`)),
		want{id: "explain.disk_no_snapshot"}},
	"snapshot cannot be used": {scene(fromSnapshot("the driver does not restore snapshots")),
		want{id: "explain.disk_snapshot_failed"}},
	"storage class missing": {scene(disk(corev1.ClaimPending, "ProvisioningFailed",
		`storageclass.storage.k8s.io "fast" not found`)), want{id: "explain.disk_no_class", failed: true}},
	"provisioner works": {scene(disk(corev1.ClaimPending, "ExternalProvisioning", "Waiting for a volume to be "+
		"created either by the external provisioner 'x'")), want{id: "explain.disk_making"}},
	"provisioner is full": {scene(disk(corev1.ClaimPending, "ProvisioningFailed",
		"rpc error: code = ResourceExhausted")), want{id: "explain.storage_full"}},
	"waiting for the pod": {scene(disk(corev1.ClaimPending, "WaitForFirstConsumer", "waiting for first consumer "+
		"to be created before binding")), want{id: "explain.no_pod"}},
	"disk is there": {scene(disk(corev1.ClaimBound, "ProvisioningFailed", "an old trouble")),
		want{id: "explain.no_pod"}},
	"disk lost to the cluster": {scene(disk(corev1.ClaimLost, "", "")), want{id: "explain.disk_lost", failed: true}},
	"refusal hides disk trouble": {scene(denied("status unknown for quota: x"), disk(corev1.ClaimLost, "", "")),
		want{id: "explain.preparing"}},

	// 10.7
	"GPU vanished": {scene(failed("UnexpectedAdmissionError", "Pod was rejected: Allocate failed due to "+
		"requested number of devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0, which is unexpected")),
		want{id: "explain.device_vanished"}},
	"a request that sharing never allows": {scene(failed("UnexpectedAdmissionError", "Allocate failed due to rpc error: "+
		"code = Unknown desc = request for 'nvidia.com/gpu.shared: 2' too large: maximum request size for shared "+
		"resources is 1; found 2, which is unexpected")), want{id: "explain.shared_one", failed: true}},
	"a plugin that may not read the GPU": {scene(failed("UnexpectedAdmissionError", "Allocate failed due to rpc error: "+
		"code = Unknown desc = error getting device handle: Insufficient Permissions, which is unexpected")),
		want{id: "explain.device_permission"}},
	"a driver that was replaced": {scene(failed("UnexpectedAdmissionError", "Allocate failed due to rpc error: code = "+
		"Unknown desc = failed to initialize NVML: Driver/library version mismatch, which is unexpected")),
		want{id: "explain.gpu_runtime"}},
	"refused for a reason that nobody knows": {scene(failed("UnexpectedAdmissionError", "Allocate failed due to rpc "+
		"error: code = Unavailable, which is unexpected")), want{id: "explain.node_refused"}},
	"lost a race": {scene(failed("OutOfcpu", "Node didn't have enough resource: cpu")),
		want{id: "explain.lost_race"}},
	"lost a race for it": {scene(failed("OutOfnvidia.com/gpu", "")), want{id: "explain.lost_race"}},
	"evicted": {scene(failed("Evicted", "The node was low on resource: ephemeral-storage. Threshold "+
		"quantity: 1, available: 0.")), want{id: "explain.evicted", args: map[string]any{"Resource": "ephemeral-storage"}}},
	"wrote too much": {scene(failed("Evicted", "Pod ephemeral local storage usage exceeds the total limit of "+
		"containers 100Gi.")), want{id: "explain.too_much_disk"}},
	"node shut down": {scene(failed("Terminated", "Pod was terminated in response to imminent node shutdown.")),
		want{id: "explain.node_gone"}},
	"deadline": {scene(failed("DeadlineExceeded", "Pod was active on the node longer than the specified "+
		"deadline")), want{id: "explain.deadline"}},
	"failed, unknown": {scene(failed("Strange", "things")), want{id: "explain.cluster_says"}},
	"completed": {scene(pod(placed, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })),
		want{id: "explain.ended_itself"}},
	"preempted": {scene(pod(placed, cond(corev1.DisruptionTarget, corev1.ConditionTrue, "PreemptionByScheduler",
		"preempting to accommodate a higher priority pod"), dying(0))), want{id: "explain.preempted"}},
	"node taken": {scene(pod(placed, cond(corev1.DisruptionTarget, corev1.ConditionTrue, "DeletionByTaintManager",
		""), dying(0))), want{id: "explain.node_taken"}},
	"GPU taken": {scene(pod(placed, cond(corev1.DisruptionTarget, corev1.ConditionTrue,
		"DeletionByDeviceTaintManager", ""), dying(0))), want{id: "explain.device_taken"}},
	"drained away": {scene(pod(placed, cond(corev1.DisruptionTarget, corev1.ConditionTrue, "EvictionByEvictionAPI",
		""), dying(0))), want{id: "explain.node_drained"}},
	"stopping": {scene(pod(placed, dying(0)),
		fact(func(f *Facts) { f.Workload.Desired = workload.WantStopped })), want{id: "explain.stopping"}},
	"deleting": {scene(pod(placed, dying(0)),
		fact(func(f *Facts) { f.Workload.Desired = workload.WantDeleted })), want{id: "explain.stopping"}},
	"stopping, node gone": {scene(pod(placed, dying(2*time.Minute)),
		fact(func(f *Facts) { f.Workload.Desired = workload.WantStopped })), want{id: "explain.stopping_stuck"}},
	"started anew": {scene(pod(placed, dying(0))), want{id: "explain.replacing"}},
	"node lost": {scene(status(running(true, 0)), fact(func(f *Facts) { f.NodeLost = true })),
		want{id: "explain.node_lost"}},
}

func dying(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now.Add(-ago)} }
}

func TestExplain(t *testing.T) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Explain(c.facts)
			if got.Reason.ID != c.want.id || got.Failed != c.want.failed {
				t.Errorf("want %q failed=%v, got %q %v failed=%v\ndetail: %s", c.want.id, c.want.failed, got.Reason.ID,
					got.Reason.Args, got.Failed, got.Detail)
			}
			for key, value := range c.want.args {
				if diff := cmp.Diff(value, got.Reason.Args[key]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", key, diff)
				}
			}
			for _, lang := range []string{"en", "de"} {
				words := say[lang].Say(got.Reason)
				if strings.Contains(words, "<no value>") || (got.Reason.ID != "" && (words == "" || words == got.Reason.ID)) {
					t.Errorf("%s: %q has no words: %q", lang, got.Reason.ID, words)
				}
			}
		})
	}
}

var say = map[string]*i18n.Localizer{"en": i18n.MustLoad().For("en"), "de": i18n.MustLoad().For("de")}

// Every sentence of the tables is reached by some case, so none can rot unseen.
func TestEverySentenceHasACase(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range cases {
		seen[c.want.id] = true
	}
	var ids []string
	for _, rows := range [][]row{refusals, clauses, fallbackClauses, growth, hami, pulls, starts} {
		for _, r := range rows {
			ids = append(ids, r.id)
		}
	}
	for _, r := range byReason {
		ids = append(ids, r.id)
	}
	for _, r := range waits {
		ids = append(ids, r.id)
	}
	for _, id := range disruptions {
		ids = append(ids, id)
	}
	rest := map[string]bool{"explain.node_short": true} // the kubelet's own words decide between the two
	for _, id := range ids {
		if !seen[id] && !rest[id] {
			t.Errorf("no case ends in %s", id)
		}
	}
}

func TestSentencesSayTheSizeInBothLanguages(t *testing.T) {
	text := i18n.T("explain.in_use", "Size", "MIG slice 10 GB", "Count", 56)
	want := map[string]string{
		"en": "All 56 MIG slice 10 GB are in use. It starts when one is released.",
		"de": "Alle 56 MIG slice 10 GB sind belegt. Der Workload startet, sobald eine frei wird.",
	}
	for lang, words := range want {
		if diff := cmp.Diff(words, say[lang].Say(text)); diff != "" {
			t.Error(lang, diff)
		}
	}
}

// Foreign words never get into a sentence, and never in great length into the details.
func TestForeignWordsStayOutOfSentences(t *testing.T) {
	poison := "<script>alert(1)</script>\u202e\x00\nnode-secret-07 " + strings.Repeat("x", 10_000)
	texts := []string{
		"exceeded quota: q, requested: requests.nvidia.com/mig-1g.10gb=1, used: requests.nvidia.com/mig-1g.10gb=" + poison +
			", limited: requests.nvidia.com/mig-1g.10gb=<b>",
		"exceeded quota: q, requested: <b>=1, used: <b>=<i>, limited: <b>=<u>",
		"maximum <script> usage per Container is <b>, but limit is 8",
		"0/12 nodes are available: 3 Insufficient <script>alert(1)</script>.",
		poison,
	}
	for _, text := range texts {
		for what, f := range map[string]Facts{
			"refused": scene(denied(text)), "apply": scene(apply("Weird", text)), "place": scene(unplaced(text)),
			"wait": scene(waits1("Odd", text)),
			"disk": scene(disk(corev1.ClaimPending, "ProvisioningFailed", text)), "failed": scene(failed("Odd", text)),
			"evicted":   scene(failed("Evicted", "low on resource: "+text)),
			"scheduler": scene(pod(func(p *corev1.Pod) { p.Spec.SchedulerName = text })),
			"hami":      scene(pod(), event1("FilteringFailed", text, time.Second)),
		} {
			e := Explain(f)
			words := say["en"].Say(e.Reason)
			if strings.ContainsAny(words, "<>\u202e\x00") || strings.Contains(words, "node-secret") || len(words) > 500 {
				t.Errorf("%s: %q", what, words)
			}
			if n := len([]rune(e.Detail)); n > 2000 || strings.ContainsAny(e.Detail, "\u202e\x00") {
				t.Errorf("%s: detail of %d characters", what, n)
			}
		}
	}
}

func TestHAMiNamesNoNodes(t *testing.T) {
	f := scene(pod(), event1("FilteringFailed", "3 nodes CardInsufficientMemory(node-a,node-b)", time.Second))
	if got := Explain(f).Detail; strings.Contains(got, "node-a") || got != "3 nodes CardInsufficientMemory" {
		t.Errorf("detail: %q", got)
	}
}

func TestSteps(t *testing.T) {
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	step := func(decided, created, placed, image, ready time.Time) []workload.Step {
		return []workload.Step{{Name: "decided", At: decided}, {Name: "created", At: created}, {Name: "placed", At: placed},
			{Name: "image", At: image}, {Name: "ready", At: ready}}
	}
	zero := time.Time{}
	cases := map[string]struct {
		facts Facts
		want  []workload.Step
	}{
		"requested": {scene(fact(func(f *Facts) { f.AppliedAt, f.Generation = zero, 0 })),
			step(ago(10*time.Minute), zero, zero,
				zero, zero)},
		"applied": {scene(), step(ago(10*time.Minute), ago(10*time.Minute-time.Second), zero, zero, zero)},
		"resumed": {scene(fact(func(f *Facts) { f.RequestedAt = ago(time.Minute) })), step(ago(time.Minute), ago(time.Minute),
			zero, zero, zero)},
		"resumed, objects are of the spec before": {
			scene(fact(func(f *Facts) { f.RequestedAt, f.Workload.Generation = ago(time.Minute), 2 })),
			step(ago(time.Minute), zero, zero, zero, zero)},
		"waiting for a place": {scene(unplaced("0/1 nodes are available: 1 Insufficient cpu.")),
			step(ago(10*time.Minute), ago(9*time.Minute), zero, zero, zero)},
		"placed": {scene(pod(placed)), step(ago(10*time.Minute), ago(9*time.Minute), ago(8*time.Minute), zero, zero)},
		"image pulled": {scene(waits1("ContainerCreating", ""), event1("Pulled", "Successfully pulled image", 2*time.Minute)),
			step(ago(10*time.Minute), ago(9*time.Minute), ago(8*time.Minute), ago(2*time.Minute), zero)},
		"ready": {scene(pod(placed, cond(corev1.PodReady, corev1.ConditionTrue, "", ""), func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{running(true, 0)}
		})),
			step(ago(10*time.Minute), ago(9*time.Minute), ago(8*time.Minute), ago(time.Minute), ago(8*time.Minute))},
		"the pod before still ends": {scene(pod(placed, dying(0)), fact(func(f *Facts) { f.RequestedAt = ago(time.Second) })),
			step(ago(time.Second), ago(time.Second), zero, zero, zero)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Explain(c.facts).Steps); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestParseSchedule(t *testing.T) {
	cases := map[string]struct {
		message string
		want    Schedule
		ok      bool
	}{
		"three reasons": {"0/12 nodes are available: 3 Insufficient nvidia.com/gpu, 4 node(s) had untolerated taint(s), 5 " +
			"node(s) didn't match Pod's node affinity/selector. preemption: 0/12 nodes are available: 12 Preemption is not " +
			"helpful for scheduling.",
			Schedule{12, []Clause{{3, "Insufficient nvidia.com/gpu"}, {4, "node(s) had untolerated taint(s)"},
				{5, "node(s) didn't match Pod's node affinity/selector"}}, "preemption: 0/12 nodes are available: 12 Preemption " +
				"is not helpful for scheduling."}, true},
		"a comma inside a reason": {"0/2 nodes are available: 1 node(s) had untolerated taint {a: b, c}, 1 Insufficient cpu.",
			Schedule{2, []Clause{{1, "node(s) had untolerated taint {a: b, c}"}, {1, "Insufficient cpu"}}, ""}, true},
		"no number": {"0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
			Schedule{3, []Clause{{3, "pod has unbound immediate PersistentVolumeClaims"}}, ""}, true},
		"no reason":      {"0/3 nodes are available", Schedule{Nodes: 3}, true},
		"no nodes":       {"no nodes available to schedule pods", Schedule{}, true},
		"something else": {"running Bind plugin", Schedule{}, false},
		"empty":          {"", Schedule{}, false},
		"a huge number":  {"0/99999999999999999999 nodes are available: 1 x.", Schedule{}, false},
		"dots in a name": {"0/1 nodes are available: 1 Insufficient nvidia.com/mig-1g.10gb.",
			Schedule{1, []Clause{{1, "Insufficient nvidia.com/mig-1g.10gb"}}, ""}, true},
		"ends in a comma": {"0/1 nodes are available: 1 x, ", Schedule{1, []Clause{{1, "x,"}}, ""}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := ParseSchedule(c.message)
			if diff := cmp.Diff(c.want, got); diff != "" || ok != c.ok {
				t.Errorf("ok=%v (-want +got)\n%s", ok, diff)
			}
		})
	}
}

func FuzzParseSchedule(f *testing.F) {
	f.Add("0/12 nodes are available: 3 Insufficient nvidia.com/gpu, 4 node(s) had untolerated taint(s)." + preempt)
	f.Add("0/0 nodes are available")
	f.Add("exceeded quota: q, requested: a=1, used: a=1, limited: a=1")
	f.Fuzz(func(t *testing.T, message string) {
		s, ok := ParseSchedule(message)
		if !ok && (s.Nodes != 0 || s.Clauses != nil) {
			t.Error("something was read of what cannot be read")
		}
		if s.Nodes < 0 || len(s.Clauses) > mostClauses {
			t.Errorf("%d nodes, %d clauses", s.Nodes, len(s.Clauses))
		}
		for _, c := range s.Clauses {
			if c.Count < 0 || c.Reason == "" {
				t.Errorf("clause %+v", c)
			}
		}
		for _, facts := range []Facts{scene(unplaced(message)), scene(denied(message)),
			scene(waits1("ErrImagePull", message))} {
			e := Explain(facts)
			if e.Reason.IsZero() || len([]rune(e.Detail)) > longest {
				t.Errorf("no sentence, or too long a detail: %+v", e)
			}
			if words := say["en"].Say(e.Reason); strings.ContainsAny(words, "<>\x00") || len(words) > 600 {
				t.Errorf("sentence %q", words)
			}
		}
	})
}

// The same facts must be explained ten thousand times a second: every pod event asks.
func BenchmarkExplain(b *testing.B) {
	f := cases["all in use"].facts
	for b.Loop() {
		Explain(f)
	}
}

func ExampleParseSchedule() {
	s, _ := ParseSchedule("0/12 nodes are available: 3 Insufficient nvidia.com/gpu, 9 node(s) didn't match Pod's node " +
		"affinity/selector.")
	fmt.Println(s.Nodes, s.Clauses[0].Count, s.Clauses[0].Reason)
	// Output: 12 3 Insufficient nvidia.com/gpu
}

// TestReasonsCallASizeAsTheReaderDoes: a reason is stored once and read in several languages.
func TestReasonsCallASizeAsTheReaderDoes(t *testing.T) {
	titled := func(f *Facts) {
		f.Workload.Size.Titles = catalog.Titles{"de": "MIG-Scheibe"}
		f.Workload.Image.Titles = catalog.Titles{"de": "Notizbuch"}
	}
	pulling := waits1("ContainerCreating", "")
	bundle := i18n.MustLoad()
	for name, c := range map[string]struct {
		facts  Facts
		en, de string
	}{
		"a size": {scene(pod(young), titled), "MIG slice 10 GB", "MIG-Scheibe"},
		"an image": {scene(pulling, event1("Pulling", `Pulling image "quay.io/x"`, time.Minute), titled), "JupyterLab",
			"Notizbuch"},
	} {
		reason := Explain(c.facts).Reason
		if got := bundle.For("en").Say(reason); !strings.Contains(got, c.en) {
			t.Errorf("%s: want %q in %q", name, c.en, got)
		}
		if got := bundle.For("de").Say(reason); !strings.Contains(got, c.de) {
			t.Errorf("%s: want %q in %q", name, c.de, got)
		}
	}
}

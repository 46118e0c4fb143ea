package explain

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/registry"
	"github.com/gpu-portal/gpu-portal/internal/secret"
)

// pulls are the texts of registries and runtimes behind an image that cannot be loaded. What names a cause for sure
// comes before "not found", which registries also say where one may not look.
var pulls = []row{
	{[]string{"no space left on device"}, "explain.node_disk_full", false},
	{[]string{"toomanyrequests", "429 Too Many Requests", "rate limit"}, "explain.registry_limit", false},
	{[]string{"x509", "certificate"}, "explain.registry_certificate", true},
	{[]string{"unauthorized", "denied", "authentication required", "403 Forbidden", "no basic auth credentials"},
		"explain.image_no_access", true},
	{[]string{"timeout", "timed out", "connection refused", "connection reset", "no such host", "no route to host",
		"dial tcp", "503 Service Unavailable", "EOF"}, "explain.registry_away", false},
	{[]string{"not found", "manifest unknown", "name unknown", "does not exist"}, "explain.image_missing", true},
	{[]string{"signature"}, "explain.image_signature", true},
}

// starts are the texts behind a container that cannot be made.
var starts = []row{
	{[]string{"runAsNonRoot", "image will run as root", "non-numeric user"}, "explain.image_root", true},
	{[]string{"secret \"", "configmap \"", "couldn't find key"}, "explain.preparing", false},
	{[]string{"nvidia-container-cli", "CDI devices", "nvidia-container-runtime", "libnvidia"}, "explain.gpu_runtime",
		false},
	{[]string{"executable file not found", "no such file or directory", "permission denied", "exec format error"},
		"explain.wrong_command", true},
	{[]string{"no space left on device"}, "explain.node_disk_full", false},
}

// waits are the reasons of a waiting container that need no text.
var waits = map[string]row{
	"InvalidImageName":          {id: "explain.image_name", failed: true},
	"ErrImageNeverPull":         {id: "explain.image_missing", failed: true},
	"ImageInspectError":         {id: "explain.start_failed"},
	"RegistryUnavailable":       {id: "explain.registry_away"},
	"SignatureValidationFailed": {id: "explain.image_signature", failed: true},
	"PostStartHookError":        {id: "explain.wrong_command", failed: true},
}

// containerWaits looks at a pod that has a node and whose container does not run.
func containerWaits(f Facts) finding {
	if f.Pod == nil || f.Pod.Spec.NodeName == "" || !f.wantsToRun() {
		return finding{}
	}
	all := slices.Concat(f.Pod.Status.InitContainerStatuses, f.Pod.Status.ContainerStatuses)
	for _, c := range f.Pod.Status.InitContainerStatuses {
		if found := fetching(f, c); found.found() {
			return found
		}
	}
	for _, c := range all {
		if c.State.Waiting != nil {
			if found := waiting(f, c); found.found() {
				return found
			}
		}
	}
	for _, c := range f.Pod.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			return ended(f, t)
		}
	}
	running := slices.ContainsFunc(f.Pod.Status.ContainerStatuses,
		func(c corev1.ContainerStatus) bool { return c.State.Running != nil })
	if running {
		return finding{}
	}
	return beforeStart(f)
}

func waiting(f Facts, c corev1.ContainerStatus) finding {
	w := c.State.Waiting
	detail := w.Reason + ": " + w.Message
	if w.Message == "" {
		detail = w.Reason
	}
	if r, ok := waits[w.Reason]; ok {
		found := newFinding(detail, r.id, "Image", f.Workload.Image.Called())
		found.failed = r.failed
		return found
	}
	switch w.Reason {
	case "ErrImagePull", "ImagePullBackOff":
		return pulling(f, detail)
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError", "ContainerCannotRun":
		return byText(f, starts, detail, "explain.start_failed")
	case "CrashLoopBackOff":
		if t := c.LastTerminationState.Terminated; t != nil {
			return ended(f, t).terminal()
		}
		return newFinding(detail, "explain.crash").terminal()
	case "ContainerCreating", "PodInitializing", "":
		return finding{} // what the kubelet is at stands in the events
	}
	return newFinding(detail, "explain.cluster_says")
}

// pulling: while the kubelet backs off, its reason for that stands only in the event.
func pulling(f Facts, detail string) finding {
	for _, e := range f.PodEvents {
		if e.Reason == "Failed" && containsAny(e.Message, "Failed to pull image", "ErrImagePull", "Error: ") {
			if _, ok := match(pulls, e.Message); ok {
				detail += "\n" + e.Message
				break
			}
		}
	}
	found := byText(f, pulls, detail, "explain.image_pull")
	if u, ok := secret.PullUse(f.Workload); ok && found.reason.ID == "explain.image_no_access" {
		found.reason = i18n.T("explain.pull_secret", "Registry", registry.HostOf(f.Workload.Image.Reference),
			"Secret", u.Name)
	}
	return found
}

func byText(f Facts, rows []row, text, otherwise string) finding {
	r, ok := match(rows, text)
	if !ok {
		return newFinding(text, otherwise, "Image", f.Workload.Image.Called())
	}
	found := newFinding(text, r.id, "Image", f.Workload.Image.Called())
	found.failed = r.failed
	return found
}

// ended is why a program ended. Out of memory is of the node's memory; GPU memory that ran out is an error of the
// program.
func ended(f Facts, t *corev1.ContainerStateTerminated) finding {
	detail := t.Reason
	if t.Message != "" {
		detail += ": " + t.Message
	}
	detail += " (exit code " + strconv.Itoa(int(t.ExitCode)) + ")"
	switch {
	case t.Reason == "OOMKilled":
		return newFinding(detail, "explain.out_of_memory", "Memory", amount(f.Workload.Size.Memory))
	case t.Reason == "ContainerCannotRun" || t.Reason == "StartError":
		return byText(f, starts, detail, "explain.start_failed")
	case t.ExitCode == 0:
		return newFinding(detail, "explain.ended_itself")
	case t.ExitCode == 126 || t.ExitCode == 127:
		return newFinding(detail, "explain.wrong_command", "Image", f.Workload.Image.Called()).terminal()
	}
	return newFinding(detail, "explain.crash_code", "Code", int(t.ExitCode))
}

// long is how long something may take before it is called trouble.
const (
	longPull  = 5 * time.Minute
	longMount = 2 * time.Minute
)

// beforeStart is what is done before the first container runs, by the kubelet's events; the newest counts.
func beforeStart(f Facts) finding {
	e := event(f.PodEvents, "FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox",
		"NetworkNotReady", "FailedPrepareDynamicResources",
		"Pulling", "Pulled", "Created", "Started", "BackOff", "Failed")
	if e == nil {
		return newFinding("", "explain.on_node")
	}
	text := e.Message
	switch e.Reason {
	case "FailedMount", "FailedAttachVolume", "FailedMapVolume":
		switch {
		case containsAny(text, "Multi-Attach"):
			return newFinding(text, "explain.disk_attached")
		case containsAny(text, "object \""), f.age() < longMount:
			return newFinding(text, "explain.disk_mounting")
		}
		return newFinding(text, "explain.disk_mount_failed")
	case "FailedCreatePodSandBox", "NetworkNotReady":
		return newFinding(text, "explain.node_network")
	case "FailedPrepareDynamicResources":
		return newFinding(text, "explain.device_preparing")
	case "Pulling":
		if f.Now.Sub(at(e)) > longPull {
			return newFinding(text, "explain.pulling_long", "Image", f.Workload.Image.Called())
		}
		return newFinding(text, "explain.pulling", "Image", f.Workload.Image.Called())
	case "Failed", "BackOff":
		return pulling(f, text)
	}
	return newFinding(text, "explain.on_node")
}

// notReady: the program runs and does not answer yet, or not any more.
func notReady(f Facts) finding {
	if f.Pod == nil || f.Pod.Spec.NodeName == "" || !f.wantsToRun() {
		return finding{}
	}
	if ready := condition(f.Pod, corev1.PodReady); ready != nil && ready.Status == corev1.ConditionTrue {
		return finding{}
	}
	said := ""
	if e := event(f.PodEvents, "Unhealthy", "Killing"); e != nil {
		said = e.Message
	}
	for _, c := range f.Pod.Status.ContainerStatuses {
		switch {
		case c.State.Running == nil:
			continue
		case containsAny(said, "failed startup probe"):
			return newFinding(said, "explain.startup_limit")
		case c.RestartCount > 0 && c.LastTerminationState.Terminated != nil && (c.Started == nil || !*c.Started):
			return again(f, c.LastTerminationState.Terminated)
		case c.Started != nil && *c.Started:
			return newFinding(said, "explain.not_answering")
		}
	}
	if f.Workload.Kind == catalog.Endpoint {
		return newFinding(said, "explain.loading")
	}
	return newFinding(said, "explain.starting")
}

// again: it ended before and has been started once more.
func again(f Facts, t *corev1.ContainerStateTerminated) finding {
	if t.Reason == "OOMKilled" {
		return newFinding(ended(f, t).detail, "explain.again_memory", "Memory", amount(f.Workload.Size.Memory))
	}
	return newFinding(ended(f, t).detail, "explain.again", "Code", int(t.ExitCode))
}

// deviceUnhealthy: the kubelet knows that a device under the running program has become ill.
func deviceUnhealthy(f Facts) finding {
	if f.Pod == nil {
		return finding{}
	}
	for _, c := range f.Pod.Status.ContainerStatuses {
		for _, r := range c.AllocatedResourcesStatus {
			for _, d := range r.Resources {
				if d.Health == corev1.ResourceHealthStatusUnhealthy {
					return newFinding(string(r.Name), "explain.gpu_ill")
				}
			}
		}
	}
	return finding{}
}

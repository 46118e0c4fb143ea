package podlogs

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Event is what a part of the cluster said of an object of the workload.
type Event struct {
	Kind    string // of the object: Pod, StatefulSet, PersistentVolumeClaim …
	Name    string
	Warning bool
	Words   i18n.Text // what it means; zero for a reason that is not in the table
	Reason  string    // raw, as is Message
	Message string
	Count   int32
	First   time.Time
	Last    time.Time
}

// Bounds of one answer. A cluster keeps events for an hour unless it was told otherwise.
const (
	eventsAtOnce = 500
	eventPages   = 10
	mostEvents   = 200
)

// Events are those of the workload's own objects, newest first. What one may see of them is what one may see of the
// workload: its state and reason are made from them.
func (s *Service) Events(ctx context.Context, a identity.Actor, id workload.ID) ([]Event, error) {
	w, err := s.o.Workloads.Get(ctx, a, id)
	if err != nil {
		return nil, err
	}
	client, err := s.client(w)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	var events []Event
	secrets, err := s.hidden(ctx, w)
	if err != nil {
		return nil, err
	}
	next := ""
	for range eventPages {
		list, err := client.CoreV1().Events(w.Namespace).List(ctx, metav1.ListOptions{Limit: eventsAtOnce, Continue: next})
		if err != nil {
			return nil, refused(err, w, "events")
		}
		for i := range list.Items {
			if about(w, &list.Items[i]) {
				events = append(events, eventOf(&list.Items[i], secrets))
			}
		}
		if next = list.Continue; next == "" {
			break
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int {
		return cmp.Or(b.Last.Compare(a.Last), b.First.Compare(a.First))
	})
	return events[:min(len(events), mostEvents)], nil
}

// slack bears that the clocks of portal and cluster differ a little.
const slack = 5 * time.Second

var replicaSetName = regexp.MustCompile(`^(.+)-[0-9a-z]{6,10}$`)

// about reports whether an event is of an object of the workload. Names are free again when a workload has ended, so
// what is older than this one is not its own.
func about(w workload.Workload, e *corev1.Event) bool {
	if _, last := times(e); last.Before(w.CreatedAt.Add(-slack)) {
		return false
	}
	name := e.InvolvedObject.Name
	switch e.InvolvedObject.Kind {
	case "Pod":
		return w.HasPod(name)
	case "StatefulSet":
		return w.Kind == catalog.Notebook && name == w.Name || w.Image.NeedsLeaderWorkerSet() &&
			(name == w.PodsName() || w.HasPod(name)) // that of the workers is called after the leader
	case kube.LeaderWorkerSetKind:
		return w.Image.NeedsLeaderWorkerSet() && name == kube.GroupName(w)
	case "Deployment":
		return w.Kind == catalog.Endpoint && name == w.PodsName()
	case kube.InferenceServiceKind:
		return w.Image.NeedsKServe() && name == w.Name
	case "Job":
		return w.IsJob() && name == w.PodsName()
	case kube.JobSetKind:
		return w.Image.NeedsJobSet() && name == w.Name
	case "ReplicaSet":
		found := replicaSetName.FindStringSubmatch(name)
		return w.Kind == catalog.Endpoint && found != nil && found[1] == w.PodsName()
	case "PersistentVolumeClaim":
		return name != "" && name == w.Volume ||
			slices.ContainsFunc(w.Mounts, func(m workload.Mount) bool { return m.Claim == name })
	}
	return false
}

// times are first and last; the newer API writes eventTime and series in place of the two.
func times(e *corev1.Event) (first, last time.Time) {
	first, last = e.FirstTimestamp.Time, e.LastTimestamp.Time
	if first.IsZero() {
		first = e.EventTime.Time
	}
	if first.IsZero() {
		first = e.CreationTimestamp.Time
	}
	if e.Series != nil {
		last = e.Series.LastObservedTime.Time
	}
	if last.Before(first) {
		last = first
	}
	return first.UTC(), last.UTC()
}

// maxMessage is how much of a message is kept, in bytes; the API allows 1 KiB.
const maxMessage = 2 << 10

func eventOf(e *corev1.Event, secrets []string) Event {
	first, last := times(e)
	text := func(raw string) string { return shorten(hide(clean([]byte(raw)), secrets), maxMessage) }
	count := max(e.Count, 1)
	if e.Series != nil {
		count = max(count, e.Series.Count)
	}
	return Event{Kind: e.InvolvedObject.Kind, Name: e.InvolvedObject.Name, Warning: e.Type == corev1.EventTypeWarning,
		Words: meaning(e.Reason, e.Message), Reason: text(e.Reason), Message: text(strings.ReplaceAll(e.Message, "\n", " ")),
		Count: count, First: first, Last: last}
}

// meaning is what a reason says in plain words. Where one reason stands for several things, the message tells them
// apart; the first row that fits counts.
func meaning(reason, message string) i18n.Text {
	for _, m := range meanings {
		if m.reason == reason && strings.Contains(message, m.says) {
			return i18n.T(m.id)
		}
	}
	return i18n.Text{}
}

// meanings are the reasons of scheduler, kubelet, controllers and CSI provisioners. Sources: pkg/kubelet/events,
// pkg/scheduler, pkg/controller of Kubernetes 1.36; external-provisioner and external-resizer.
var meanings = []struct{ reason, says, id string }{
	{"Scheduled", "", "podlogs.event.scheduled"},
	{"FailedScheduling", "", "podlogs.event.unschedulable"},
	{"Preempted", "", "podlogs.event.preempted"},
	{"TriggeredScaleUp", "", "podlogs.event.node_coming"},
	{"NotTriggerScaleUp", "", "podlogs.event.no_new_node"},
	{"Pulling", "", "podlogs.event.pulling"},
	{"Pulled", "already present", "podlogs.event.image_there"},
	{"Pulled", "", "podlogs.event.pulled"},
	{"Failed", "ErrImagePull", "podlogs.event.image"},
	{"Failed", "ImagePullBackOff", "podlogs.event.image"},
	{"Failed", "pull image", "podlogs.event.image"},
	{"ErrImagePull", "", "podlogs.event.image"},
	{"ImagePullBackOff", "", "podlogs.event.image_waits"},
	{"InspectFailed", "", "podlogs.event.image_name"},
	{"Failed", "", "podlogs.event.start_failed"},
	{"BackOff", "pulling image", "podlogs.event.image_waits"},
	{"BackOff", "restarting failed", "podlogs.event.crashes"},
	{"Created", "", "podlogs.event.created"},
	{"Started", "", "podlogs.event.started"},
	{"Unhealthy", "Startup", "podlogs.event.starting"},
	{"Unhealthy", "Liveness", "podlogs.event.not_alive"},
	{"Unhealthy", "", "podlogs.event.not_ready"},
	{"OOMKilling", "", "podlogs.event.memory"},
	{"OOMKilled", "", "podlogs.event.memory"},
	{"Killing", "", "podlogs.event.stopping"},
	{"Evicted", "", "podlogs.event.evicted"},
	{"TaintManagerEviction", "", "podlogs.event.evicted"},
	{"NodeNotReady", "", "podlogs.event.node_away"},
	{"NetworkNotReady", "", "podlogs.event.network"},
	{"FailedCreatePodSandBox", "", "podlogs.event.network"},
	{"UnexpectedAdmissionError", "", "podlogs.event.device"},
	{"FailedPostStartHook", "", "podlogs.event.start_failed"},
	{"FailedMount", "", "podlogs.event.mount"},
	{"FailedAttachVolume", "", "podlogs.event.mount"},
	{"SuccessfulAttachVolume", "", "podlogs.event.attached"},
	{"WaitForFirstConsumer", "", "podlogs.event.disk_waits"},
	{"WaitForPodScheduled", "", "podlogs.event.disk_waits"},
	{"ExternalProvisioning", "", "podlogs.event.disk_making"},
	{"Provisioning", "", "podlogs.event.disk_making"},
	{"ProvisioningSucceeded", "", "podlogs.event.disk_made"},
	{"ProvisioningFailed", "", "podlogs.event.disk_failed"},
	{"FailedBinding", "", "podlogs.event.disk_failed"},
	{"Resizing", "", "podlogs.event.growing"},
	{"FileSystemResizeRequired", "", "podlogs.event.growing"},
	{"FileSystemResizeSuccessful", "", "podlogs.event.grown"},
	{"VolumeResizeFailed", "", "podlogs.event.grow_failed"},
	{"SuccessfulCreate", "", "podlogs.event.pod_made"},
	{"SuccessfulDelete", "", "podlogs.event.pod_deleted"},
	{"FailedCreate", "", "podlogs.event.pod_refused"},
	{"ScalingReplicaSet", "", "podlogs.event.scaling"},
}

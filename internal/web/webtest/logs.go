package webtest

import (
	"context"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/podlogs"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Logs are what containers have written and what the cluster has said, by workload.
type Logs struct {
	workloads  *workload.Service
	Written    map[workload.ID][]podlogs.Line
	Containing map[workload.ID][]podlogs.Container
	Said       map[workload.ID][]podlogs.Event
	Refusal    error // of every call; nil for none
	Kept       bool  // what has no pod has lines in a log store
	Asked      podlogs.Query
}

func newLogs(workloads *workload.Service) *Logs {
	train := "Entered start.sh\n[I ServerApp] Jupyter Server 2.17.0 is running at:\n" +
		"[I ServerApp] http://127.0.0.1:8888/lab?token=********\nepoch 1  loss 2.314  lr 0.1000  18.4 img/s\n" +
		"epoch 2  loss 1.871  lr 0.1000  18.9 img/s\n[W ServerApp] WebSocket ping timeout after 90000 ms.\n" +
		"epoch 3  loss 1.402  lr 0.0500  18.8 img/s  checkpoint written to /home/jovyan/run-12/epoch-0003.safetensors, " +
		"412 MiB in 3.1 s, keeping the newest five"
	crash := "Loading checkpoint shards: 100%\nTraceback (most recent call last):\n" +
		"  File \"/home/jovyan/vlm_test.py\", line 12, in <module>\n    torch.cuda.init()\n" +
		"RuntimeError: The NVIDIA driver on your system is too old (found version 12040)."
	l := &Logs{workloads: workloads, Written: map[workload.ID][]podlogs.Line{
		"w-train-resnet": LinesUntil(Now.Add(-8*time.Second), train),
		"w-vlm-test":     LinesUntil(Now.Add(-time.Minute), crash)}, Said: map[workload.ID][]podlogs.Event{}}
	l.Containing = map[workload.ID][]podlogs.Container{"w-vlm-test": {{Name: "main", Restarts: 3, Previous: true},
		{Name: "clone", Init: true}}}
	add := func(id workload.ID, minutes int, warning bool, kind, words, reason, message string, count int32) {
		name := strings.TrimPrefix(string(id), "w-")
		if kind == "Pod" {
			name += "-0"
		}
		e := podlogs.Event{Kind: kind, Name: name, Warning: warning, Reason: reason, Message: message, Count: count,
			Last: Now.Add(-time.Duration(minutes) * time.Minute)}
		e.First = e.Last.Add(-time.Duration(count-1) * 20 * time.Second)
		if words != "" {
			e.Words = i18n.T(words)
		}
		l.Said[id] = append(l.Said[id], e)
	}
	add("w-vlm-test", 1, true, "Pod", "podlogs.event.crashes", "BackOff",
		"Back-off restarting failed container main in pod vlm-test-0_gpu-vision(5f0c)", 14)
	add("w-vlm-test", 4, false, "Pod", "podlogs.event.started", "Started", "Started container main", 4)
	add("w-vlm-test", 9, false, "Pod", "podlogs.event.pulled", "Pulled",
		"Successfully pulled image \"registry.example.org/vlm:2.1\" in 41.2s", 1)
	add("w-vlm-test", 10, true, "Pod", "podlogs.event.mount", "FailedMount",
		"MountVolume.SetUp failed for volume \"home\" : rpc error: code = DeadlineExceeded", 2)
	add("w-vlm-test", 12, false, "Pod", "podlogs.event.scheduled", "Scheduled",
		"Successfully assigned gpu-vision/vlm-test-0 to gpu-l40s-02", 1)
	add("w-vlm-test", 12, false, "StatefulSet", "", "RevisionKept", "kept 2 revisions", 1)
	said := l.Said["w-vlm-test"]
	said[0].First, said[1].First = Now.Add(-8*time.Minute), Now.Add(-530*time.Second) // it crashes once it has started
	return l
}

// Lines are those of a text, four seconds apart.
func Lines(text string) []podlogs.Line {
	return linesFrom(Now.Add(-time.Hour), text)
}

// LinesUntil are those of a text whose last line was written then.
func LinesUntil(last time.Time, text string) []podlogs.Line {
	return linesFrom(last.Add(-time.Duration(4*strings.Count(text, "\n"))*time.Second), text)
}

func linesFrom(at time.Time, text string) []podlogs.Line {
	var all []podlogs.Line
	for i, line := range strings.Split(text, "\n") {
		all = append(all, podlogs.Line{At: at.Add(time.Duration(4*i) * time.Second), Text: line})
	}
	return all
}

func (l *Logs) allowed(ctx context.Context, a identity.Actor, id workload.ID, action identity.Action) error {
	w, err := l.workloads.Get(ctx, a, id)
	if err != nil {
		return err
	}
	if !identity.Can(a, action, w.ResourceAt(Now)) {
		return fault.New(fault.Forbidden, i18n.T("podlogs.not_shared", "Owner", w.OwnerName))
	}
	if action == identity.ReadLogs && w.Observed.Pod == "" && !l.Kept {
		return fault.New(fault.Conflict, i18n.T("podlogs.no_pod"))
	}
	return l.Refusal
}

// Containers lists those of a workload.
func (l *Logs) Containers(ctx context.Context, a identity.Actor, id workload.ID) ([]podlogs.Container, error) {
	if list := l.Containing[id]; list != nil {
		return list, l.allowed(ctx, a, id, identity.ReadLogs)
	}
	return []podlogs.Container{{Name: "main"}}, l.allowed(ctx, a, id, identity.ReadLogs)
}

// Read gives the newest lines.
func (l *Logs) Read(ctx context.Context, a identity.Actor, id workload.ID, q podlogs.Query) ([]podlogs.Line, error) {
	l.Asked = q
	lines := l.Written[id]
	if q.Tail > 0 {
		lines = lines[max(0, len(lines)-q.Tail):]
	}
	return lines, l.allowed(ctx, a, id, identity.ReadLogs)
}

// Open has no stream to give.
func (l *Logs) Open(ctx context.Context, a identity.Actor, id workload.ID, _ podlogs.Query) (*podlogs.Reader, error) {
	if err := l.allowed(ctx, a, id, identity.ReadLogs); err != nil {
		return nil, err
	}
	return nil, fault.New(fault.Conflict, i18n.T("podlogs.none", "Container", "main"))
}

// Events gives what the cluster has said.
func (l *Logs) Events(ctx context.Context, a identity.Actor, id workload.ID) ([]podlogs.Event, error) {
	return l.Said[id], l.allowed(ctx, a, id, identity.ReadWorkload)
}

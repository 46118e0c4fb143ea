package workload_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestThePatternOfPods finds what the cluster calls a workload's pods, and no other workload's of the kind.
func TestThePatternOfPods(t *testing.T) {
	t.Parallel()
	for kind, c := range map[catalog.WorkloadKind]struct{ own, other []string }{
		catalog.Notebook: {[]string{"a-b-0"}, []string{"a-b", "a-b-c-0", "x-a-b-0", "a-b-0-0"}},
		catalog.Endpoint: {[]string{"a-b-7d9c5b6f7c-5wq8z"}, []string{"a-b-5wq8z", "a-b-c-7d9c5b6f7c-5wq8z"}},
		catalog.Job:      {[]string{"a-b-5wq8z"}, []string{"a-b-c-5wq8z", "a-b-0"}},
	} {
		w := workload.Workload{Kind: kind, Name: "a-b"}
		pattern := regexp.MustCompile("^(?:" + w.PodPattern() + ")$")
		for _, pod := range c.own {
			if !pattern.MatchString(pod) || workload.NameOfPod(kind, pod) != "a-b" {
				t.Errorf("%s: %s is not found by %s", kind, pod, pattern)
			}
		}
		for _, pod := range c.other {
			if pattern.MatchString(pod) {
				t.Errorf("%s: %s is found by %s", kind, pod, pattern)
			}
		}
	}
}

// TestThePodsOfAJobSet are found by their index, and are its own.
func TestThePodsOfAJobSet(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	w := workload.Workload{ID: "w-1", Kind: catalog.Job, Name: "a-b", CreatedAt: created,
		Image: catalog.Image{Kind: catalog.Job, Backend: catalog.OnJobSet}}
	pattern := regexp.MustCompile("^(?:" + w.PodPattern() + ")$")
	for pod, own := range map[string]bool{"a-b-node-0-0-5wq8z": true, "a-b-node-0-12-abcde": true, "a-b-5wq8z": false,
		"a-b-node-0-5wq8z": false, "a-b-c-node-0-0-5wq8z": false} {
		if got := pattern.MatchString(pod); got != own {
			t.Errorf("%s: found: %t, want %t", pod, got, own)
		}
		if got := w.Owns(pod, created.Add(time.Hour), []workload.Namesake{{ID: "w-1", Kind: catalog.Job, Name: "a-b",
			CreatedAt: created}}); got && !own {
			t.Errorf("%s is taken for its own", pod)
		}
	}
	later := []workload.Namesake{{ID: "w-2", Kind: catalog.Job, Name: "a-b", CreatedAt: created.Add(time.Hour)}}
	if at := created.Add(30 * time.Minute); !w.Owns("a-b-node-0-0-5wq8z", at, later) ||
		w.Owns("a-b-node-0-0-5wq8z", at.Add(time.Hour), later) {
		t.Error("what a later workload of the name wrote is not told apart")
	}
}

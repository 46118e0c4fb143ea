package workload_test

import (
	"regexp"
	"testing"

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

package reconcile_test

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	kubetest "k8s.io/client-go/testing"

	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
)

// TestALoopThatHangsIsNamed: one call never returns and heeds no deadline. The watchdog names the loop that made it,
// and every loop is watched until then and no longer than it runs.
func TestALoopThatHangsIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dog := jobs.NewWatchdog(nil, 0)
	c := w.run(func(o *reconcile.Options) { o.Watchdog = dog })
	within(t, 2*time.Minute, "the cluster answers", func() bool { return c.Fresh(reconciletest.Cluster) })
	prefix := "cluster/" + reconciletest.Cluster
	names := func(hung bool) (list []string) {
		for _, check := range dog.Checks() {
			if !hung || check.Hung {
				list = append(list, check.Name)
			}
		}
		return list
	}
	for _, name := range []string{"changes", "resync", prefix + "/probe", prefix + "/inventory", prefix + "/storage"} {
		if !slices.Contains(names(false), name) {
			t.Errorf("%s is not watched: %v", name, names(false))
		}
	}
	if hung := names(true); len(hung) > 0 {
		t.Errorf("nothing hangs yet: %v", hung)
	}
	release := make(chan struct{})
	w.cluster.PrependReactor("get", "version", func(kubetest.Action) (bool, runtime.Object, error) {
		<-release
		return false, nil, nil
	})
	within(t, 2*time.Minute, "the probe is named", func() bool { return slices.Contains(names(true), prefix+"/probe") })
	close(release)
	within(t, 2*time.Minute, "it goes on", func() bool { return !slices.Contains(names(true), prefix+"/probe") })
	w.halt()
	if left := names(false); len(left) > 0 {
		t.Errorf("watched though they have ended: %v", left)
	}
}

package app

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// TestAProcessForPagesNamesWhatIsAway: it has no clients of the clusters at work, and goes by what the leader last
// wrote: the cluster whose inventory is old is named with its age, one that is fresh is not.
func TestAProcessForPagesNamesWhatIsAway(t *testing.T) {
	w := newWorld(t, func(c *config.Config) {
		c.Roles = []string{config.RoleWeb, config.RoleGateway}
		c.Clusters = append(c.Clusters, config.Cluster{Name: "west", Kubeconfig: c.Clusters[0].Kubeconfig})
	})
	away := func() map[string]time.Time {
		named := map[string]time.Time{}
		for _, o := range w.outages() {
			if o.System == page.ClusterSystem {
				named[o.Name] = o.Since
			}
		}
		return named
	}
	if got := away(); len(got) != 0 {
		t.Errorf("just started: want no cluster named, got %v", got)
	}
	seen := w.clock.now().UTC().Truncate(time.Second)
	save := func(cluster string) {
		if err := w.store.SaveSnapshot(t.Context(), inventory.Snapshot{Cluster: cluster,
			TakenAt: w.clock.now().UTC().Truncate(time.Second)}); err != nil {
			t.Fatal(err)
		}
	}
	save("main")
	w.clock.pass(2 * unseenFor)
	save("west")
	if got := away(); len(got) != 1 || !got["main"].Equal(seen) {
		t.Errorf("want main alone, since %s, got %v", seen, got)
	}
	save("main")
	if got := away(); len(got) != 0 {
		t.Errorf("seen again: want no cluster named, got %v", got)
	}
}

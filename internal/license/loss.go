package license

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// LossDelay is how long a vGPU must lack its license before anybody is told: one that has just booted has none for some
// seconds, and a service that is restarted loses it for as long. Full capability lasts far longer (FullCapability).
const LossDelay = 20 * time.Second

// Loss is a node whose vGPUs lost their license.
type Loss struct {
	Cluster string
	Node    string
	Count   int // devices without a license
	Since   time.Time
}

// Losses are the nodes that have vGPUs without a license permanently after a look, and had none before. It goes by what
// the devices said, however long ago, so that a node that nobody could ask for a while has not lost it a second time.
func Losses(before, after []Device) []Loss {
	known := lost(before)
	var list []Loss
	for place, l := range lost(after) {
		if _, was := known[place]; !was {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b Loss) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster),
			cmp.Compare(a.Node, b.Node))
	})
	return list
}

// place is a node of a cluster.
type place struct{ cluster, node string }

func lost(devices []Device) map[place]Loss {
	found := map[place]Loss{}
	for _, d := range devices {
		if !d.State.Missing() || d.SeenAt.Sub(d.Since) < LossDelay {
			continue
		}
		at := place{d.Cluster, d.Node}
		l := found[at]
		if l.Count++; l.Since.IsZero() || d.Since.Before(l.Since) {
			l.Since = d.Since
		}
		l.Cluster, l.Node = d.Cluster, d.Node
		found[at] = l
	}
	return found
}

// events tell of losses: one for each node, for administrators, and one for each workload there, for its owner.
func (s *Service) events(ctx context.Context, losses []Loss) ([]audit.Event, error) {
	if len(losses) == 0 {
		return nil, nil
	}
	checkouts, err := s.o.Store.Checkouts(ctx)
	if err != nil {
		return nil, err
	}
	now := s.o.Now()
	var events []audit.Event
	for _, l := range losses {
		e := audit.Event{Kind: audit.LicenseLost, At: now, Detail: i18n.T("licenses.lost_detail", "Node", l.Node, "Cluster",
			l.Cluster, "Count", l.Count)}
		events = append(events, e)
		for _, t := range checkouts {
			if t.Cluster == l.Cluster && t.Node == l.Node {
				e.Workload, e.Tenant = t.Workload, t.Tenant
				events = append(events, e)
			}
		}
	}
	return events, nil
}

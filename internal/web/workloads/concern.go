package workloads

import (
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// concernModel says that what a workload runs on is not well; nil where nothing is known against it.
func (w *Pages) concernModel(k page.Call, item workload.Workload) *workloadview.ConcernModel {
	if w.Quarantine == nil || !item.Observed.PodPresent {
		return nil
	}
	say, c := k.Words, w.Quarantine.Under(k.Ctx, item)
	n := &workloadview.ConcernModel{}
	switch {
	case c.Quarantine != nil:
		words := "health.banner_" + string(c.Quarantine.Kind)
		if c.Perhaps {
			words = "health.banner_perhaps"
		}
		n.Title = say.S(words, "Node", item.Observed.Node)
		n.Items = []string{say.S("health.banner_note", "Name", c.Quarantine.ByName, "Note", c.Quarantine.Note)}
	case len(c.Issues) > 0:
		n.Title = say.S("health.banner_trouble")
	default:
		return nil
	}
	for _, t := range c.Issues {
		n.Items = append(n.Items, say.Text(t.What))
	}
	n.Items = slices.Compact(n.Items)
	return n
}

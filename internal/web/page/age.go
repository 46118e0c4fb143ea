package page

import (
	"time"

	"github.com/gpu-portal/gpu-portal/views/ui"
)

// How often data from outside is read anew while its source answers. What is older than staleAfter times that is stale.
const (
	SnapshotEvery = time.Minute      // the inventory of a cluster, and with it the word of the node agents
	ReadingEvery  = 30 * time.Second // the exporter looks as often, whatever the scrape interval is
	HistoryEvery  = time.Minute
	staleAfter    = 3
)

// stale reports whether data that is read anew every so often is older than it may be. A moment in the future is that
// of another clock, and as fresh as can be.
func (w Words) stale(at time.Time, every time.Duration) bool { return w.Now.Sub(at) > staleAfter*every }

// Age says where data comes from and how old it is: the line that stands beside whatever comes from outside.
func (w Words) Age(source string, at time.Time, every time.Duration) ui.AgeModel {
	if at.IsZero() {
		return ui.AgeModel{Source: source}
	}
	return ui.AgeModel{Source: source, Time: w.Ago(at), Old: w.stale(at, every)}
}

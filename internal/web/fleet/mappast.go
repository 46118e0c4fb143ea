package fleet

import (
	"context"
	"strconv"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fleetmap"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// pastHours is how far back one may look: seven days.
const pastHours = 7 * 24

// pastAnswer is how long a page waits for an hour that nobody has asked for yet.
const pastAnswer = 5 * time.Second

// past is the use of every card in the hour that the address asks for; without an answer nothing is known of it.
func (w *Pages) past(k page.Call, cluster string) gpumetrics.PastUse {
	ctx, stop := context.WithTimeout(k.Ctx, pastAnswer)
	defer stop()
	until := k.Words.Now.UTC().Truncate(time.Hour).Add(-time.Duration(agoOf(k)) * time.Hour)
	use, err := w.Metrics.Past(ctx, cluster, until)
	if err != nil {
		return gpumetrics.PastUse{}
	}
	return use
}

// painted is the scheme and the paint that the address asks for.
func (w *Pages) painted(k page.Call, j *joined) (scheme, fleetmap.Paint) {
	if agoOf(k) == 0 {
		s := w.chosen(k)
		return s, w.paintOf(k, j, s)
	}
	use := w.past(k, j.Cluster)
	key := "past\x00" + strconv.FormatInt(use.Until.Unix(), 10) + "\x00" + strconv.Itoa(use.Devices())
	s := pastScheme(key, use)
	return s, w.paintOf(k, j, s)
}

// pastNone reports whether nothing is known of the hour that the address asks for.
func (w *Pages) pastNone(k page.Call) bool {
	for _, cluster := range w.Site().Clusters {
		if use := w.past(k, cluster); use.Devices() > 0 {
			return false
		}
	}
	return true
}

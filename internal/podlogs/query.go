package podlogs

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Bounds of one answer.
const (
	DefaultTail = 500  // lines
	MostTail    = 5000 // lines
	mostBytes   = 4 << 20
)

// Query says which part of a log is wanted.
type Query struct {
	Pod       string        // one of several; "" for the one that says most
	Container string        // "" for the workload's own
	Tail      int           // the newest lines, 1 to MostTail; DefaultTail where 0
	Since     time.Duration // only what was written since then; 0 for no bound
	Previous  bool          // of the container before its last restart
	Follow    bool
	Rollout   bool // of the version that is on its way, not of the one that answers
}

// ParseSince reads a duration as the API and the pages have it: "15m", "24h"; "" is no bound.
func ParseSince(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second {
		return 0, fault.InvalidFields([]fault.Field{{Name: "since", Reason: i18n.T("podlogs.since_wrong")}})
	}
	return d, nil
}

func (q Query) tail() int {
	if q.Tail <= 0 {
		return DefaultTail
	}
	return min(q.Tail, MostTail)
}

// options are those of the API server. Every line has its time, whether it is shown or not.
func (q Query) options(container string) *corev1.PodLogOptions {
	o := &corev1.PodLogOptions{Container: container, Previous: q.Previous, Follow: q.Follow, Timestamps: true,
		TailLines: new(int64(q.tail()))}
	if q.Since > 0 {
		o.SinceSeconds = new(int64(max(1, q.Since/time.Second)))
	}
	if !q.Follow {
		o.LimitBytes = new(int64(mostBytes))
	}
	return o
}

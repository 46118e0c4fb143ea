package config

import (
	"errors"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/advice"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// Advice says how much must be known of what runs before another size is advised.
type Advice struct {
	// how far back is looked; at most 90d, and no longer than Prometheus keeps its samples; default 14d
	Window catalog.Duration `json:"window,omitempty"`
	After  catalog.Duration `json:"after,omitempty"` // how much of the window must be measured; default 3d
}

// Rule is what counts, with the usual in place of what was not said.
func (a Advice) Rule() advice.Rule {
	r := advice.DefaultRule()
	if a.Window > 0 {
		r.Window = a.Window.Std()
		r.After = min(r.After, r.Window)
	}
	if a.After > 0 {
		r.After = a.After.Std()
	}
	return r
}

// longestAdvice is how far back is looked at most: each day of it is a call.
const longestAdvice = 90 * 24 * time.Hour

func (a Advice) problems() []error {
	r := a.Rule()
	if a.Window < 0 || a.After < 0 || r.After > r.Window || r.Window > longestAdvice {
		return []error{errors.New("advice: after must be above zero and no longer than window, and window at most 90d")}
	}
	return nil
}

package reconcile

import (
	"context"
	"time"
)

// clockRetry is when clocks that disagreed are compared again.
const clockRetry = time.Minute

func (c *Controller) trusted(ctx context.Context) bool { return c.o.Trusted == nil || c.o.Trusted(ctx) }

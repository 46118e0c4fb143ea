package reconcile

import (
	"context"
	"time"
)

// clockApart is how far the portal's clock and the database's may be apart; beyond that one of them is wrong, and
// nobody loses anything by it.
const clockApart = 5 * time.Minute

// clockRetry is when clocks that disagreed are compared again.
const clockRetry = time.Minute

// trusted reports whether the time is beyond doubt: before a lease or kept storage ends, the portal's clock must agree
// with the database's.
func (c *Controller) trusted(ctx context.Context) bool {
	if c.o.Clock == nil {
		return true
	}
	theirs, err := c.o.Clock(ctx)
	if err != nil {
		if ctx.Err() == nil {
			c.o.Logger.Warn("ask the database for the time", "error", err)
		}
		return false
	}
	apart := c.o.Now().Sub(theirs)
	if apart.Abs() <= clockApart {
		return true
	}
	c.o.Logger.Error("the clocks of portal and database disagree: no lease and no kept storage ends until they agree",
		"apart", apart.Round(time.Second))
	return false
}

package jobs

import (
	"context"
	"log/slog"
	"time"
)

// MaxClockSkew is how far the portal's clock and the database's may be apart; beyond that one of them is wrong, and
// nothing ends or is deleted by it.
const MaxClockSkew = 5 * time.Minute

// Clocks compares the portal's clock with the database's.
type Clocks struct {
	Now      func() time.Time
	Database func(ctx context.Context) (time.Time, error)
	Logger   *slog.Logger
}

// Trusted reports whether the time is beyond doubt. It is asked before a lease or kept storage ends.
func (c Clocks) Trusted(ctx context.Context) bool {
	theirs, err := c.Database(ctx)
	if err != nil {
		if ctx.Err() == nil {
			c.Logger.WarnContext(ctx, "ask the database for the time", "error", err)
		}
		return false
	}
	apart := c.Now().Sub(theirs)
	if apart.Abs() < MaxClockSkew+time.Second { // the database tells whole seconds
		return true
	}
	c.Logger.ErrorContext(ctx, "the clocks of portal and database disagree: nothing ends by time until they agree",
		"apart", apart.Round(time.Second))
	return false
}

package budget

import (
	"math"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Burndown is how a month's amount is used up, day by day, in parts of the budget's unit. What leases still hold is not
// taken off: it is not spent.
type Burndown struct {
	// Left is what was left at the end of each day, the last of them now.
	Left []int64
	// Ahead is what will be left at the end of each day after today, at the pace of the last seven; below zero for what
	// is overdrawn. Empty before a whole day is over.
	Ahead []int64
	// UsedUp is the day on which nothing is left at that pace; zero where that is not this month, or is over already.
	UsedUp time.Time
}

// NewBurndown is that of a tenant's amount of money, by what its days cost, oldest first; whole is the month.
func NewBurndown(tenant string, amount int64, days []usage.DailyCost, whole usage.Span,
	zone *time.Location) (d Burndown) {
	if len(days) == 0 {
		return d
	}
	left, own := amount, make([]usage.DailyCost, len(days))
	for n, day := range days {
		cost := day.Cost[tenant]
		own[n] = usage.DailyCost{Day: day.Day, Cost: map[string]usage.Money{tenant: cost}}
		left -= cost.Minor
		d.Left = append(d.Left, left)
	}
	now := days[len(days)-1].Day.Until
	pace, known := usage.Pace(own)
	if !known {
		return d
	}
	before := left
	for at, today := now, true; at.Before(whole.Until); today = false {
		until := usage.NextDay(at, zone)
		then := left - int64(math.Round(pace*until.Sub(now).Hours()))
		if before > 0 && then <= 0 {
			d.UsedUp = at
		}
		if !today {
			d.Ahead = append(d.Ahead, then)
		}
		before, at = then, until
	}
	return d
}

package usage

import (
	"io"
	"strconv"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/sheet"
)

// ExportCSV writes a statement for a spreadsheet, one line of the ledger a row. Hours have six digits after the point:
// a second is 0.000278 of one. Seats are those that a workload would take alone, seat months those that it is charged
// for: fewer, where others hold the seats with it (seats_shared; see PriceList.Seats).
func (s Statement) ExportCSV(to io.Writer) error {
	out := sheet.NewWriter(to)
	if err := out.Write([]string{"month", "team", "person", "person_id", "workload", "workload_id", "size", "technology",
		"model", "profile", "devices", "hours_held", "device_hours",
		"hours_unknown", "price_per_hour", "cost", "currency", "volume", "gib", "gib_months", "price_per_gib_month",
		"hours_measured", "mean_use_percent", "hours_idle", "idle_cost",
		"seat_pool", "seats", "seat_months", "price_per_seat_month", "seats_shared"}); err != nil {
		return err
	}
	for _, l := range s.Lines {
		if err := out.Write([]string{s.Month.String(), l.Tenant, l.OwnerName, l.Owner, l.Name, l.Workload, l.Size,
			l.Kind.Technology, l.Kind.Model, l.Kind.Profile, strconv.Itoa(l.Devices),
			hours(l.Held), hours(l.GPUTime()), hours(l.Unknown), perHour(l), l.Cost().Amount(), l.PerHour.Currency, l.Volume,
			perStorage(l, strconv.FormatInt(l.GiB, 10)),
			perStorage(l, strconv.FormatFloat(l.GiBTime().Months(), 'f', 6, 64)), perStorage(l, rate(l)),
			measured(l, hours(l.Engine.Measured)), measured(l, percent(l)), measured(l, hours(l.Engine.Idle)),
			measured(l, l.IdleCost().Amount()),
			l.Seats.Pool, perSeat(l, strconv.FormatInt(l.Seats.Count, 10)),
			perSeat(l, strconv.FormatFloat(l.SeatTime().Hours()/billingMonth.Hours(), 'f', 6, 64)),
			perSeat(l, rate(l)), perSeat(l, strconv.FormatBool(l.Seats.Group != ""))}); err != nil {
			return err
		}
	}
	return out.Flush()
}

// perStorage is empty for what is no storage.
func perStorage(l Line, text string) string {
	if l.Volume == "" {
		return ""
	}
	return text
}

// perSeat is empty for what is no license seat.
func perSeat(l Line, text string) string {
	if l.Seats.Pool == "" {
		return ""
	}
	return text
}

// perHour is empty for what is priced by the month.
func perHour(l Line) string {
	if l.Monthly() {
		return ""
	}
	return l.PerHour.Amount()
}

// measured is empty where nothing was: unknown is not zero.
func measured(l Line, text string) string {
	if l.Engine.Measured == 0 {
		return ""
	}
	return text
}

func percent(l Line) string { return strconv.FormatFloat(l.CardUse().Mean(), 'f', 2, 64) }

func hours(d time.Duration) string { return strconv.FormatFloat(d.Hours(), 'f', 6, 64) }

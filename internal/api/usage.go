package api

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Statement is what was held in a month, and what it costs.
type Statement struct {
	Month          string          `json:"month" example:"2026-11"`
	From           time.Time       `json:"from"`
	Until          time.Time       `json:"until" doc:"What of the month is over"`
	Final          bool            `json:"final" doc:"Whether the month is over"`
	Cost           []Money         `json:"cost" doc:"The sum of all lines, one entry for each currency"`
	DeviceTime     []DeviceTime    `json:"deviceTime" doc:"One entry for each type. Times of different types are never added"`
	UnknownSeconds float64         `json:"unknownSeconds" doc:"Time for which nobody can tell whether something was held; not charged"`
	MeanUse        *float64        `json:"meanUse,omitempty" doc:"Of the GPUs' engines in per cent, each weighed by its part of a card; absent where nothing was measured"`
	UseCoverage    float64         `json:"useCoverage" minimum:"0" maximum:"1" doc:"Which part of the GPU time held was measured"`
	LiveSince      *time.Time      `json:"liveSince,omitempty" doc:"Where no hour of the month is recorded yet: from when on use and idle time are what metrics tell now"`
	IdleCost       []Money         `json:"idleCost" doc:"What of the cost is known to be for GPUs that were used less than 5 per cent; empty where nothing was measured"`
	Lines          []StatementLine `json:"lines"`
}

// DeviceTime is how long devices of one type were held.
type DeviceTime struct {
	Kind    Kind    `json:"kind"`
	Seconds float64 `json:"seconds" doc:"Two devices for an hour are 7200"`
}

// Kind is a type of GPU, or of part of one.
type Kind struct {
	Known      bool   `json:"known" doc:"False where the workload's size has changed since, and what it was is not on record"`
	Technology string `json:"technology"`
	Model      string `json:"model"`
	Profile    string `json:"profile"`
}

// StatementLine is what one workload held of one size at one price. Costs are rounded so that months of a line add up
// to the whole.
type StatementLine struct {
	Workload       string  `json:"workload"`
	Name           string  `json:"name"`
	Tenant         string  `json:"tenant"`
	Owner          string  `json:"owner"`
	OwnerName      string  `json:"ownerName"`
	Size           string  `json:"size"`
	Kind           Kind    `json:"kind"`
	Devices        int     `json:"devices"`
	HeldSeconds    float64 `json:"heldSeconds"`
	UnknownSeconds float64 `json:"unknownSeconds"`
	PricePerHour   Money   `json:"pricePerHour"`
	Cost           Money   `json:"cost"`

	MeasuredSeconds float64    `json:"measuredSeconds" doc:"Of the time held: for how long it is known how busy the GPU was"`
	MeanUse         *float64   `json:"meanUse,omitempty" doc:"Of its engine in per cent, over the measured time; absent where nothing was measured"`
	IdleSeconds     *float64   `json:"idleSeconds,omitempty" doc:"Of the measured time: for how long it was used less than 5 per cent"`
	LiveSince       *time.Time `json:"liveSince,omitempty" doc:"Where no hour of the line is recorded yet: from when on its use is what metrics tell now"`
	IdleCost        *Money     `json:"idleCost,omitempty" doc:"What that time costs"`

	Volume            string  `json:"volume,omitempty" doc:"For a line of storage, whose workload and price per hour are empty: its name"`
	GiB               int64   `json:"gib,omitempty"`
	GiBMonths         float64 `json:"gibMonths,omitempty" doc:"GiB times months of 730 hours"`
	LicensePool       string  `json:"licensePool,omitempty" doc:"For a line of license seats, whose price per hour is empty: their pool"`
	Seats             int64   `json:"seats,omitempty" doc:"That the workload would take alone"`
	SeatsShared       bool    `json:"seatsShared,omitempty" doc:"Whether it holds them together with other workloads"`
	SeatMonths        float64 `json:"seatMonths,omitempty" doc:"Seats times months of 730 hours that the line is charged for. A seat that several workloads share is charged once, in equal parts at each moment"`
	PricePerSeatMonth string  `json:"pricePerSeatMonth,omitempty" example:"40.00" doc:"In the unit of the cost's currency"`

	PricePerGiBMonth string `json:"pricePerGibMonth,omitempty" example:"0.08" doc:"In the unit of the cost's currency"`
}

// UsageInput chooses a statement.
type UsageInput struct {
	Month string `query:"month" maxLength:"7" example:"2026-11" doc:"The current one when absent. Months begin and end by the clocks of the site"`
	Scope string `query:"scope" enum:"mine,team,all" default:"mine" doc:"Whose; all is for admins and auditors"`
}

func (a *API) usage(ctx context.Context, actor identity.Actor, in *UsageInput) (*output[Statement], error) {
	s, err := a.statement(ctx, actor, in)
	if err != nil {
		return nil, err
	}
	return reply(statementView(s), nil)
}

func (a *API) statement(ctx context.Context, actor identity.Actor, in *UsageInput) (usage.Statement, error) {
	month, err := a.month(in.Month)
	if err != nil {
		return usage.Statement{}, err
	}
	return a.deps.Usage.Statement(ctx, actor, usage.Scope(in.Scope), month)
}

// month is the current one when none is named.
func (a *API) month(text string) (usage.Month, error) {
	if text == "" {
		return a.deps.Usage.Month(), nil
	}
	m, err := usage.ParseMonth(text)
	if err != nil {
		return m, fault.New(fault.NotFound, i18n.T("usage.not_found"))
	}
	return m, nil
}

// focusOutput is a file.
type focusOutput struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

// focus is whole or not at all: it is written before it is sent.
func (a *API) focus(ctx context.Context, actor identity.Actor, in *UsageInput) (*focusOutput, error) {
	s, err := a.statement(ctx, actor, in)
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	if err := s.ExportFocus(&file, a.deps.Usage.Focus); err != nil {
		return nil, err
	}
	return &focusOutput{ContentType: "text/csv; charset=utf-8", Body: file.Bytes()}, nil
}

func statementView(s usage.Statement) Statement {
	total := s.Total()
	v := Statement{Month: s.Month.String(), From: s.Span.From.UTC(), Until: s.Span.Until.UTC(), Final: s.Final(),
		Cost: []Money{}, DeviceTime: []DeviceTime{}, Lines: []StatementLine{},
		UnknownSeconds: total.Unknown.Seconds(), UseCoverage: total.Use.Coverage(), MeanUse: meanUse(total.Use),
		LiveSince: moment(total.LiveSince), IdleCost: []Money{}}
	for _, m := range total.Idle {
		v.IdleCost = append(v.IdleCost, money(m))
	}
	for _, m := range total.Cost {
		v.Cost = append(v.Cost, money(m))
	}
	for _, t := range total.GPU {
		v.DeviceTime = append(v.DeviceTime, DeviceTime{Kind: kindView(t.Kind), Seconds: t.Time.Seconds()})
	}
	for _, l := range s.Lines {
		line := StatementLine{Workload: l.Workload, Name: l.Name, Tenant: l.Tenant, Owner: l.Owner, OwnerName: l.OwnerName,
			Size: l.Size, Kind: kindView(l.Kind), Devices: l.Devices,
			HeldSeconds: l.Held.Seconds(), UnknownSeconds: l.Unknown.Seconds(), PricePerHour: money(l.PerHour),
			Cost: money(l.Cost()), MeasuredSeconds: l.Engine.Measured.Seconds(), MeanUse: meanUse(l.CardUse()),
			LiveSince: moment(l.LiveSince)}
		if line.MeanUse != nil {
			idle, cost := l.Engine.Idle.Seconds(), money(l.IdleCost())
			line.IdleSeconds, line.IdleCost = &idle, &cost
		}
		if l.Volume != "" {
			line.Volume, line.GiB, line.GiBMonths, line.PricePerGiBMonth = l.Volume, l.GiB, l.GiBTime().Months(),
				l.Rate.Amount(l.PerHour.Currency)
		}
		if l.Seats.Pool != "" {
			line.LicensePool, line.Seats, line.SeatMonths, line.PricePerSeatMonth = l.Seats.Pool, l.Seats.Count,
				l.SeatTime().Hours()/usage.MonthHours, l.Rate.Amount(l.PerHour.Currency)
			line.SeatsShared = l.Seats.Group != ""
		}
		v.Lines = append(v.Lines, line)
	}
	return v
}

// meanUse is nil where nothing was measured.
func meanUse(u usage.CardUse) *float64 {
	if !u.Known() {
		return nil
	}
	mean := u.Mean()
	return &mean
}

func kindView(k usage.Kind) Kind {
	return Kind{Known: k.Known, Technology: k.Technology, Model: k.Model, Profile: k.Profile}
}

// DailyCost is what one day cost.
type DailyCost struct {
	From   time.Time   `json:"from"`
	Until  time.Time   `json:"until" doc:"Midnight by the clocks of the site, or now"`
	Cost   Money       `json:"cost"`
	Groups []GroupCost `json:"groups" doc:"Dearest first; those that cost nothing are left out"`
}

// GroupCost is what of it a team, a person, a size or a workload cost.
type GroupCost struct {
	Key  string `json:"key" doc:"A team's or size's name, or a person's or workload's id; volume:NAME for storage by workload"`
	Cost Money  `json:"cost"`
}

// DailyCosts are the days of a month.
type DailyCosts struct {
	Month    string      `json:"month" example:"2026-11"`
	Days     []DailyCost `json:"days" doc:"Oldest first, for one currency after the other. They add up to the statement"`
	Expected []Money     `json:"expected" doc:"What the month comes to where the days to come cost as the last seven did; empty for a month that is over, and before a whole day is"`
}

type dailyInput struct {
	UsageInput
	By string `query:"by" enum:"workload,person,team,size" default:"team"`
}

func (a *API) daily(ctx context.Context, actor identity.Actor, in *dailyInput) (*output[DailyCosts], error) {
	s, err := a.statement(ctx, actor, &in.UsageInput)
	if err != nil {
		return nil, err
	}
	v := DailyCosts{Month: s.Month.String(), Days: []DailyCost{}, Expected: []Money{}}
	for _, total := range s.Total().Cost {
		days, err := a.deps.Usage.Daily(ctx, actor, usage.Scope(in.Scope), s, in.By, total.Currency)
		if err != nil {
			return nil, err
		}
		for _, d := range days {
			v.Days = append(v.Days, dailyView(d, total.Currency))
		}
		if m, known := s.Expected(days); known {
			v.Expected = append(v.Expected, money(m))
		}
	}
	return reply(v, nil)
}

func dailyView(d usage.DailyCost, currency string) DailyCost {
	v := DailyCost{From: d.Day.From.UTC(), Until: d.Day.Until.UTC(), Groups: []GroupCost{}}
	sum := usage.Money{Currency: currency}
	keys := slices.SortedFunc(maps.Keys(d.Cost), func(x, y string) int {
		return cmp.Or(cmp.Compare(d.Cost[y].Minor, d.Cost[x].Minor), strings.Compare(x, y))
	})
	for _, key := range keys {
		sum = sum.Add(d.Cost[key])
		v.Groups = append(v.Groups, GroupCost{Key: key, Cost: money(d.Cost[key])})
	}
	v.Cost = money(sum)
	return v
}

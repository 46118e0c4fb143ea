package api

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/advice"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// AdviceReport is the advice for what runs.
type AdviceReport struct {
	AsOf          *time.Time `json:"asOf,omitempty" doc:"When the metrics were last asked; absent while they never answered"`
	WindowSeconds float64    `json:"windowSeconds" doc:"How far back is looked"`
	AfterSeconds  float64    `json:"afterSeconds" doc:"How much of it must be measured before there is any advice"`
	Items         []Advice   `json:"items" doc:"Every workload that holds a GPU: first those with advice, what saves most first"`
}

// Advice is what is said of one workload.
type Advice struct {
	Workload  string          `json:"workload"`
	Name      string          `json:"name"`
	Tenant    string          `json:"tenant"`
	Size      string          `json:"size" doc:"What it has"`
	Kind      string          `json:"kind" enum:"none,smaller,larger"`
	Why       string          `json:"why,omitempty" enum:"fits,no_gpu,shared,too_new,patchy,unmeasured,over,unsized" doc:"Without advice: why"`
	Signs     []string        `json:"signs" doc:"What speaks for a larger size: out_of_memory, memory_full, slowed_down"`
	Advised   string          `json:"advised,omitempty" doc:"The size that would suit it better; absent where none on offer does"`
	Saves     *Money          `json:"saves,omitempty" doc:"In a month of as many hours as in the window; below zero where a larger size costs more"`
	Evidence  *AdviceEvidence `json:"evidence,omitempty" doc:"What was measured; absent where nothing was"`
	Dismissed *Dismissed      `json:"dismissed,omitempty"`
}

// AdviceEvidence is what was measured. All values are measured; where they would not be the workload's own there are
// none.
type AdviceEvidence struct {
	From            time.Time `json:"from"`
	Until           time.Time `json:"until"`
	HeldSeconds     float64   `json:"heldSeconds"`
	MeasuredSeconds float64   `json:"measuredSeconds"`
	PeakMemoryMiB   float64   `json:"peakMemoryMiB" doc:"Of all devices together"`
	MeanEngine      float64   `json:"meanEnginePercent"`
	HighEngine      float64   `json:"highEnginePercent" doc:"One sample in twenty of the busiest day was higher"`
	FullSeconds     float64   `json:"memoryFullSeconds"`
	SlowedKnown     bool      `json:"slowedKnown" doc:"Whether the exporter tells why a card is slow"`
	SlowedSeconds   float64   `json:"slowedSeconds"`
	CoveragePercent float64   `json:"coveragePercent" doc:"Of the time held"`
}

// Dismissed says who has put it away.
type Dismissed struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

type adviceInput struct {
	Scope string `query:"scope" enum:"mine,team,all" default:"mine" doc:"Whose; all is for admins and auditors"`
}

func (a *API) advice(ctx context.Context, actor identity.Actor, in *adviceInput) (*output[AdviceReport], error) {
	r, err := a.deps.Advice.List(ctx, actor, usage.Scope(in.Scope))
	if err != nil {
		return nil, err
	}
	v := AdviceReport{AsOf: moment(r.AsOf), WindowSeconds: r.Rule.Window.Seconds(), AfterSeconds: r.Rule.After.Seconds(),
		Items: []Advice{}}
	for _, list := range [][]*advice.Advice{r.Advice, r.Put, r.None} {
		for _, is := range list {
			v.Items = append(v.Items, adviceView(*is))
		}
	}
	return reply(v, nil)
}

func (a *API) adviceOf(ctx context.Context, actor identity.Actor, in *idInput) (*output[Advice], error) {
	return oneAdvice(a.deps.Advice.Of(ctx, actor, workload.ID(in.ID)))
}

func (a *API) dismissAdvice(ctx context.Context, actor identity.Actor, in *idInput) (*output[Advice], error) {
	return oneAdvice(a.deps.Advice.Dismiss(ctx, actor, workload.ID(in.ID)))
}

func (a *API) restoreAdvice(ctx context.Context, actor identity.Actor, in *idInput) (*output[Advice], error) {
	return oneAdvice(a.deps.Advice.Restore(ctx, actor, workload.ID(in.ID)))
}

func oneAdvice(is advice.Advice, err error) (*output[Advice], error) {
	if err != nil {
		return nil, err
	}
	return reply(adviceView(is), nil)
}

func adviceView(is advice.Advice) Advice {
	v := Advice{Workload: string(is.Workload.ID), Name: is.Workload.Name, Tenant: is.Workload.Tenant,
		Size: is.Workload.Size.Name, Kind: "none", Why: string(is.Why), Signs: []string{}, Advised: is.Size.Name}
	if is.Kind != "" {
		v.Kind = string(is.Kind)
	}
	for _, s := range is.Signs {
		v.Signs = append(v.Signs, string(s))
	}
	if is.Size.Name != "" {
		saves := money(is.Saves)
		v.Saves = &saves
	}
	if e := is.Evidence; e.Measured > 0 && is.Why != advice.Shared {
		v.Evidence = &AdviceEvidence{From: e.From, Until: e.Until, HeldSeconds: e.Held.Seconds(),
			MeasuredSeconds: e.Measured.Seconds(), PeakMemoryMiB: e.PeakMiB, MeanEngine: e.Mean, HighEngine: e.High,
			FullSeconds: e.Full.Seconds(), SlowedKnown: e.Throttle > 0, SlowedSeconds: e.Slowed.Seconds(),
			CoveragePercent: 100 * e.Coverage()}
	}
	if is.Put != nil {
		v.Dismissed = &Dismissed{By: is.Put.Name, At: is.Put.At}
	}
	return v
}

package api

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Forecast is when something will be ready, and what that rests on.
type Forecast struct {
	From     *time.Time `json:"from,omitempty" doc:"Absent, as until and basis, where there is no estimate"`
	Until    *time.Time `json:"until,omitempty"`
	Basis    string     `json:"basis,omitempty" enum:"starts,placed,leases,seats,decisions" doc:"How long starts of the size took, or took from their place on; the leases before it; those of license seats; how long people took to decide"`
	Missing  string     `json:"missing,omitempty" enum:"few_starts,few_decisions,overdue,stuck,silent" doc:"Why there is no estimate"`
	Rests    string     `json:"rationale" doc:"What it rests on, or why there is none, in plain words"`
	Position int        `json:"position,omitempty" doc:"In the queue, from 1 on; absent where it waits in none"`
}

// outlookView is nil where nothing is awaited. An estimate that cannot be made now is left out: nobody fails for want
// of one.
func outlookView(e forecast.Estimate, err error, l *i18n.Localizer) *Forecast {
	if err != nil || !e.Awaited() {
		return nil
	}
	v := &Forecast{Missing: string(e.Missing), Rests: l.Say(e.Rationale()), Position: e.Position}
	if e.Known() {
		v.From, v.Until, v.Basis = moment(e.From.UTC().Truncate(time.Second)), moment(e.Until.UTC().Truncate(time.Second)),
			string(e.Basis)
	}
	return v
}

// awaited adds to a request when what it asks for will be ready.
func (a *API) awaited(ctx context.Context, r request.Request) Request {
	l := i18n.From(ctx)
	v := requestView(r, l)
	if a.deps.Forecasts != nil {
		e, err := a.deps.Forecasts.ForRequest(ctx, r)
		v.Forecast = outlookView(e, err, l)
	}
	return v
}

func (a *API) workloadForecast(ctx context.Context, w workload.Workload) *Forecast {
	if a.deps.Forecasts == nil {
		return nil
	}
	e, err := a.deps.Forecasts.ForWorkload(ctx, w)
	return outlookView(e, err, i18n.From(ctx))
}

func (a *API) previewForecast(ctx context.Context, p request.Preview) *Forecast {
	if a.deps.Forecasts == nil {
		return nil
	}
	e, err := a.deps.Forecasts.ForPreview(ctx, p)
	return outlookView(e, err, i18n.From(ctx))
}

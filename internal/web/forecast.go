package web

import (
	"net/url"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// forecastModel puts an estimate into words; nil where nothing is awaited.
func forecastModel(say words, e forecast.Estimate) *workloadview.ForecastModel {
	if !e.Awaited() {
		return nil
	}
	m := &workloadview.ForecastModel{Rests: say.say(e.Rests()), None: !e.Known()}
	if e.Place > 0 {
		m.Place = say.S("forecast.place", "Place", e.Place)
	}
	switch {
	case m.None:
		m.Words = []workloadview.ForecastPart{{Words: say.S("forecast.none")}}
	case e.Basis == forecast.Starts:
		m.Words = []workloadview.ForecastPart{{Words: say.S("forecast.usual", "Usual", say.duration(e.Length()))}}
	case e.Basis == forecast.Placed:
		m.Words = []workloadview.ForecastPart{{Words: say.S("forecast.usual_placed", "Usual", say.duration(e.Length()))}}
	case e.From.Sub(say.now) < time.Minute:
		m.Words = timed(say, "forecast.by", e)
	default:
		m.Words = timed(say, "forecast.between", e)
	}
	return m
}

// timed is a sentence in which the two times stay elements of their own.
func timed(say words, id string, e forecast.Estimate) []workloadview.ForecastPart {
	const from, until = "\x01", "\x02"
	times := map[string]time.Time{from: e.From.Truncate(time.Minute),
		until: e.Until.Add(time.Minute - 1).Truncate(time.Minute)}
	text := say.S(id, "From", from, "Until", until)
	var parts []workloadview.ForecastPart
	for text != "" {
		i := strings.IndexAny(text, from+until)
		if i < 0 {
			return append(parts, workloadview.ForecastPart{Words: text})
		}
		at := say.clock(times[text[i:i+1]])
		parts = append(parts, workloadview.ForecastPart{Words: text[:i]}, workloadview.ForecastPart{Time: &at})
		text = text[i+1:]
	}
	return parts
}

// outlook is when a workload that is on its way will be ready, and what could be had at once instead. What cannot be
// told now is left out: the page is about more than that.
func (w *Web) outlook(k call, item workload.Workload) *workloadview.ForecastModel {
	if w.Forecasts == nil {
		return nil
	}
	e, err := w.Forecasts.ForWorkload(k.ctx, item)
	if err != nil {
		return nil
	}
	m := forecastModel(k.words, e)
	if m != nil && item.Owner == k.actor.Person.ID && (e.Waits() || e.Missing == forecast.Stuck) {
		m.Instead = w.startsInstead(k, request.Spec{Tenant: item.Tenant, Kind: item.Kind, Size: item.Size, Image: item.Image},
			string(item.ID))
	}
	return m
}

// brief is what a row has room for: what an estimate rests on is said on the thing's own page. Where there is none, a
// row says nothing.
func brief(m *workloadview.ForecastModel) *workloadview.ForecastModel {
	if m == nil || m.None && m.Place == "" && m.Instead == nil {
		return nil
	}
	m.Rests = ""
	return m
}

// requestOutlook is the same for a request that waits.
func (w *Web) requestOutlook(k call, r request.Request) *workloadview.ForecastModel {
	if w.Forecasts == nil {
		return nil
	}
	e, err := w.Forecasts.ForRequest(k.ctx, r)
	if err != nil {
		return nil
	}
	m := forecastModel(k.words, e)
	if m != nil && r.Asker == k.actor.Person.ID {
		m.Instead = w.startsInstead(k, r.Spec, "")
	}
	return m
}

// previewOutlook is the same for a spec that is not sent yet.
func (w *Web) previewOutlook(k call, p request.Preview) *workloadview.ForecastModel {
	if w.Forecasts == nil {
		return nil
	}
	e, err := w.Forecasts.ForPreview(k.ctx, p)
	if err != nil {
		return nil
	}
	return forecastModel(k.words, e)
}

// startsInstead leads to the nearest size that would start now; nil for none.
func (w *Web) startsInstead(k call, spec request.Spec, replaces string) *ui.LinkButtonModel {
	instead, ok := w.Offers.StartsInstead(k.ctx, k.actor, spec.Tenant, spec.Size)
	if !ok {
		return nil
	}
	q := url.Values{"tenant": {spec.Tenant}, "kind": {string(spec.Kind)}, "size": {instead.Offer.Size.Name},
		"image": {spec.Image.Name}}
	if replaces != "" && spec.Kind == catalog.Notebook {
		q.Set("replaces", replaces)
	}
	return &ui.LinkButtonModel{Label: insteadLabel(k.words, "forecast.instead", instead), Href: "/start?" + q.Encode(),
		Kind: ui.LinkLike, Small: true, Test: "forecast-instead"}
}

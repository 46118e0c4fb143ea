package blocks

import (
	"maps"
	"net/url"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// forecastModel puts an estimate into words; nil where nothing is awaited.
func forecastModel(say page.Words, e forecast.Estimate, kind catalog.WorkloadKind) *workloadview.ForecastModel {
	if !e.Awaited() {
		return nil
	}
	m := &workloadview.ForecastModel{Rests: say.Text(e.Rationale()), None: !e.Known()}
	if e.Position > 0 {
		m.Place = say.S("forecast.place", "Place", e.Position)
	}
	switch {
	case m.None && m.Rests != "": // which says that there is none, and why
	case m.None:
		m.Words = []workloadview.ForecastPart{{Words: say.S("forecast.none")}}
	case e.Basis == forecast.Starts:
		usual := "forecast.usual"
		if kind == catalog.Endpoint { // it is ready once its server answers
			usual = "forecast.usual_model"
		}
		m.Words = []workloadview.ForecastPart{{Words: say.S(usual, "Usual", say.Duration(e.Length()))}}
		m.Brief = []workloadview.ForecastPart{{Words: say.S("forecast.usual_brief", "Usual", say.Duration(e.Length()))}}
	case e.Basis == forecast.Placed:
		m.Words = []workloadview.ForecastPart{{Words: say.S("forecast.usual_placed", "Usual", say.Duration(e.Length()))}}
	case e.From.Sub(say.Now) < time.Minute:
		m.Words, m.Brief = timed(say, "forecast.by", e), timed(say, "forecast.by_brief", e)
	case e.Until.Sub(e.From) < precise:
		m.Words, m.Brief = timed(say, "forecast.about", e), timed(say, "forecast.about_brief", e)
	default:
		m.Words, m.Brief = timed(say, "forecast.between", e), timed(say, "forecast.between_brief", e)
	}
	return m
}

// precise is how long a range of times is at most that is told as one time, its end.
const precise = 3 * time.Minute

// timed is a sentence in which the two times stay elements of their own.
func timed(say page.Words, id string, e forecast.Estimate) []workloadview.ForecastPart {
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
		at := say.Clock(times[text[i:i+1]])
		parts = append(parts, workloadview.ForecastPart{Words: text[:i]}, workloadview.ForecastPart{Time: &at})
		text = text[i+1:]
	}
	return parts
}

// Outlook is when a workload that is on its way will be ready, and what could be had at once instead. What cannot be
// told now is left out: the page is about more than that.
func (w *Blocks) Outlook(k page.Call, item workload.Workload) *workloadview.ForecastModel {
	if w.Forecasts == nil {
		return nil
	}
	e, err := w.Forecasts.ForWorkload(k.Ctx, item)
	if err != nil {
		return nil
	}
	m := forecastModel(k.Words, e, item.Kind)
	late := e.Missing == forecast.Overdue && item.State == workload.Queued
	if m != nil && late {
		// how long starts take says nothing of one that has no node; its step says what is in the way
		m.Rests, m.Words = "", nil
	}
	if m != nil && item.Owner == k.Actor.Person.ID && (e.Waits() || late || e.Missing == forecast.Stuck) {
		m.Instead = w.startsInstead(k, request.Spec{Tenant: item.Tenant, Kind: item.Kind, Size: item.Size, Image: item.Image,
			Model: item.Model, Replicas: item.Replicas.Range},
			string(item.ID))
	}
	return m
}

// BriefOutlook is what a row has room for: what an estimate rests on is said on the thing's own page. Where there is
// none, a row says nothing.
func BriefOutlook(m *workloadview.ForecastModel) *workloadview.ForecastModel {
	if m == nil || m.None && m.Place == "" && m.Instead == nil {
		return nil
	}
	m.Rests, m.Words = "", m.Brief
	return m
}

// RequestOutlook is the same for a request that waits.
func (w *Blocks) RequestOutlook(k page.Call, r request.Request) *workloadview.ForecastModel {
	if w.Forecasts == nil {
		return nil
	}
	e, err := w.Forecasts.ForRequest(k.Ctx, r)
	if err != nil {
		return nil
	}
	m := forecastModel(k.Words, e, r.Spec.Kind)
	if m != nil && r.Asker == k.Actor.Person.ID {
		m.Instead = w.startsInstead(k, r.Spec, "")
		if e.Missing == forecast.FewDecisions { // that there is no estimate is of no use to who waits
			if m.Instead == nil {
				return nil
			}
			m.Rests, m.Words = "", nil
		}
	}
	return m
}

// PreviewOutlook is the same for a spec that is not sent yet.
func (w *Blocks) PreviewOutlook(k page.Call, p request.Preview) *workloadview.ForecastModel {
	if w.Forecasts == nil {
		return nil
	}
	e, err := w.Forecasts.ForPreview(k.Ctx, p)
	if err != nil {
		return nil
	}
	return forecastModel(k.Words, e, p.Spec.Kind)
}

// StartsInstead leads to the nearest size that would start now in place of what came to nothing; nil for none.
func (w *Blocks) StartsInstead(k page.Call, spec request.Spec) *workloadview.InsteadModel {
	return w.startsInstead(k, spec, "")
}

// startsInstead leads to the nearest size that would start now; nil for none.
func (w *Blocks) startsInstead(k page.Call, spec request.Spec, replaces string) *workloadview.InsteadModel {
	instead, ok := w.Offers.AlternativeTo(k.Ctx, k.Actor, spec)
	if !ok {
		return nil
	}
	q := url.Values{"tenant": {spec.Tenant}, "kind": {string(spec.Kind)}, "size": {instead.Offer.Size.Name}}
	maps.Copy(q, ImageValues(spec.Image))
	if spec.Model != nil {
		q.Set("model.name", spec.Model.Name)
	}
	if replaces != "" && spec.Kind == catalog.Notebook {
		q.Set("replaces", replaces)
	}
	less := weaker(k.Words, instead)
	if less != "" {
		less = k.Words.SizeTitle(instead.Offer.Size) + ": " + less
	}
	if q.Has("replaces") {
		less = strings.TrimPrefix(less+" · "+k.Words.S("forecast.replaces"), " · ")
	}
	return &workloadview.InsteadModel{Label: k.Words.S("home.start_size", "Size", k.Words.SizeTitle(instead.Offer.Size),
		"Price", k.Words.MoneyPerHour(instead.Offer.Size.PricePerHour)), Less: less, Href: "/start?" + q.Encode()}
}

package start

import (
	"math"
	"strconv"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/sizing"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/start"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// endpointFields are what only an endpoint has; nil for other kinds.
func (w *Pages) endpointFields(k page.Call, form blocks.StartForm, fit *request.ModelFit,
	wrong func(string) string) *start.EndpointModel {
	if form.Kind != string(catalog.Endpoint) {
		return nil
	}
	m := &start.EndpointModel{
		Min: start.FieldModel{Value: page.OrElse(form.Min, "1"), Error: wrong("replicas")},
		Max: start.FieldModel{Value: page.OrElse(form.Max, page.OrElse(form.Min, "1"))}}
	m.Scaling = w.scalingFields(k.Words, form, wrong)
	if problem := wrong("reach"); w.Site().External || problem != "" {
		m.Reach = &start.FieldModel{Value: form.Reach, Error: problem}
	}
	if most := w.Site().Limits.MaxReplicas; most > 0 {
		m.Most = strconv.Itoa(most)
	}
	for _, i := range w.Images(form) {
		if i.Name == form.Image && i.Runtime != nil {
			m.Model = modelFields(k.Words, form, *i.Runtime, wrong)
			m.Nodes = w.nodesField(form, i, wrong)
		}
	}
	if m.Model == nil && wrong("model.name") != "" { // it was typed for another runtime
		m.Model = modelFields(k.Words, form, catalog.Runtime{}, wrong)
	}
	usual := ""
	if form.Model == "" && m.Model != nil {
		usual = m.Model.Usual
	}
	m.Fit = fitModel(k.Words, form, usual, fit)
	return m
}

// nodesField is over how many nodes the endpoint is spread, in place of its replicas; nil where it is not.
func (w *Pages) nodesField(form blocks.StartForm, i catalog.Image, wrong func(string) string) *start.NodesModel {
	if !i.NeedsLeaderWorkerSet() {
		return nil
	}
	most := i.Runtime.MaxNodes
	if n := w.Site().Limits.MaxReplicas; n > 0 {
		most = min(most, n)
	}
	return &start.NodesModel{FieldModel: start.FieldModel{Value: page.OrElse(form.Nodes, "1"),
		Error: page.OrElse(wrong("nodes"), wrong("replicas"))}, Most: strconv.Itoa(most)}
}

// scalingFields are how the endpoint scales: the metrics that its server and its size can tell.
func (w *Pages) scalingFields(say page.Words, form blocks.StartForm, wrong func(string) string) ui.ScalingModel {
	var image catalog.Image
	for _, i := range w.Images(form) {
		if i.Name == form.Image {
			image = i
		}
	}
	size, _ := w.Site().CatalogFor(form.Tenant, w.Now()).Size(form.Size)
	return blocks.ScalingFields(say, form.Scaling, image, size,
		func(field string) string { return wrong("scaling." + field) }, "scaling.")
}

func modelFields(say page.Words, form blocks.StartForm, r catalog.Runtime,
	wrong func(string) string) *start.ModelModel {
	m := &start.ModelModel{Name: start.FieldModel{Value: form.Model,
		Error: page.OrElse(wrong("model.name"), wrong("model.source"))},
		Revision:     start.FieldModel{Value: form.Revision, Error: wrong("model.revision")},
		Context:      start.FieldModel{Value: form.Context, Error: wrong("model.contextLength")},
		Quantization: start.FieldModel{Value: form.Quantization, Error: wrong("model.quantization")},
		Needed:       r.Default == nil && !r.Optional && len(r.Sources) > 0}
	var likes []string
	for _, s := range r.Sources {
		likes = append(likes, say.S("model.like_"+string(s.Kind)))
	}
	m.Hint = strings.Join(likes, " · ")
	if r.Default != nil {
		m.Usual = r.Default.Name
		if r.Default.ContextLength > 0 && form.Model == "" {
			m.UsualContext = strconv.Itoa(r.Default.ContextLength)
		}
	} else if r.Optional {
		m.Hint = say.S("start.model_optional") + " " + m.Hint
	}
	if _, hub := r.Source(catalog.FromHub); hub && r.Engine != catalog.LlamaCpp { // which takes other files
		for _, known := range sizing.Models() {
			m.Known = append(m.Known, known.Source)
		}
	}
	for _, q := range r.Quantizations {
		m.Quantizations = append(m.Quantizations, ui.OptionModel{Value: q, Label: q})
	}
	return m
}

// fitModel says whether the model has room on the size that is chosen, and which is the smallest that has. The usual
// model of the runtime is named: the field of the form is empty.
func fitModel(say page.Words, form blocks.StartForm, usual string, f *request.ModelFit) *start.FitModel {
	if f == nil {
		return nil
	}
	need := say.GiB(math.Ceil(f.Estimate.GiB*10) / 10)
	model := say.S("start.model_the")
	if usual != "" {
		model = say.S("start.model_default", "Model", usual)
	}
	m := &start.FitModel{Kind: ui.OK, Words: say.S("start.model_fits", "Model", model, "Need", need, "Room",
		say.GiB(f.RoomGiB))}
	switch {
	case f.Fits() && f.Smallest.Name == form.Size:
		m.Words = say.S("start.model_chosen", "Need", need, "Size", say.SizeTitle(f.Smallest))
	case f.Fits():
	case f.Smallest.Name == "":
		m.Kind, m.Words = ui.Warning, say.S("start.model_fits_nowhere", "Model", model, "Need", need)
	case f.RoomGiB == 0:
		m.Kind, m.Words = ui.Warning, say.S("start.model_needs_gpu", "Model", model, "Need", need)
	default:
		m.Kind, m.Words = ui.Warning, say.S("start.model_too_large", "Model", model, "Need", need, "Room",
			say.GiB(f.RoomGiB))
	}
	if small := f.Smallest; small.Name != "" && small.Name != form.Size {
		m.Smallest = &start.InsteadModel{Label: say.S("start.model_smallest", "Size", say.SizeTitle(small)), Size: small.Name}
	}
	e := estimateModel(say, f.Estimate)
	for _, p := range e.Parts {
		m.Parts = append(m.Parts, ui.DefModel{Term: p.What, Value: p.Amount, About: p.Formula})
	}
	m.Assumed = []string{say.S("start.model_counted", "Tokens", say.Number(float64(f.Answers.Tokens)), "Precision",
		say.S("sizing.precision."+string(f.Answers.Precision)))}
	if f.Assumed() {
		m.Assumed = append(m.Assumed, say.S("start.model_assumed", "Billions", say.Number(f.Answers.Billions)))
	}
	return m
}

package start

import (
	"math"
	"net/url"
	"strconv"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/sizing"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	views "github.com/gpu-portal/gpu-portal/views/sizing"
	"github.com/gpu-portal/gpu-portal/views/start"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// mostProposals are shown; more would be the price list again.
const mostProposals = 3

// SizingForm is what was answered, as it was typed. The names differ from those of the start form but for the length of
// time, which is the same question. By is which of the three ways to say how much memory counts; "" for all of them.
type SizingForm struct {
	By                                     string
	Work, Sharing, Model, Precision, Lease string
	Billions, Memory, Tokens, Batch        string
	Latency, Platform                      string
}

func readSizingForm(v url.Values) SizingForm {
	return SizingForm{By: v.Get("by"), Work: v.Get("work"), Sharing: v.Get("sharing"), Model: v.Get("model"),
		Precision: v.Get("precision"),
		Lease:     page.OrElse(v.Get("lease"), v.Get("presetChosen")), // of the start form
		Billions:  v.Get("billions"), Memory: v.Get("memory"), Tokens: v.Get("tokens"), Batch: v.Get("batch"),
		Latency: v.Get("latency"), Platform: v.Get("platform")}
}

// The ways to say how much memory is needed.
const (
	byModel    = "model"
	byBillions = "billions"
	byMemory   = "memory"
)

// way is the one that was chosen, or else the one that something was typed for.
func (f SizingForm) way() string {
	switch {
	case f.By != "":
		return f.By
	case f.Memory != "":
		return byMemory
	case f.Billions != "" && f.Model == "":
		return byBillions
	}
	return byModel
}

// counted leaves out what was typed for the ways that were not chosen.
func (f SizingForm) counted() SizingForm {
	if f.By == "" {
		return f
	}
	if f.By != byModel {
		f.Model = ""
	}
	if f.By != byBillions {
		f.Billions = ""
	}
	if f.By != byMemory {
		f.Memory = ""
	}
	return f
}

// Answers are what was typed as values; what is no number is told of beside its field.
func (f SizingForm) Answers() (sizing.Answers, []fault.Field) {
	f = f.counted()
	var problems []fault.Field
	number := func(field, text string) float64 {
		text = strings.ReplaceAll(strings.TrimSpace(text), ",", ".") // as Germans write it
		if text == "" {
			return 0
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			problems = append(problems, fault.Field{Name: field, Reason: i18n.T("sizing.no_number")})
			return 0
		}
		return v
	}
	whole := func(field, text string) int { return int(min(number(field, text), 1e12)) }
	a := sizing.Answers{Work: sizing.Work(f.Work), Sharing: sizing.Sharing(f.Sharing), Model: f.Model,
		Precision: sizing.Precision(f.Precision), Billions: number("billions", f.Billions),
		MemoryGiB: number("memory", f.Memory), Tokens: whole("tokens", f.Tokens), Batch: whole("batch", f.Batch),
		Latency: f.Latency != "", Platform: sizing.Platform(f.Platform)}
	if f.Lease != "" {
		lease, err := catalog.ParseDuration(f.Lease)
		if err != nil {
			problems = append(problems, fault.Field{Name: "lease", Reason: i18n.T("sizing.lease")})
		}
		a.Lease = lease
	}
	return a, problems
}

// sizing answers: which size does my work need?
func (w *Pages) sizing(k page.Call) (page.View, error) {
	teams := w.Startable(k)
	if len(teams) == 0 {
		return w.start(k)
	}
	kept := blocks.ReadStartForm(k.Query)
	if !offered(teams, kept.Tenant) {
		kept.Tenant = page.ChooseTeam(k, teams)
	}
	form, say := readSizingForm(k.Query), k.Words
	answers, problems := form.Answers()
	m := views.PageModel{Header: ui.HeaderModel{Crumbs: []ui.CrumbModel{{Label: say.S("start.title"), Href: "/start?" +
		kept.Values().Encode()}, {Label: say.S("sizing.title")}},
		Title: say.S("sizing.title"), Lead: say.S("sizing.lead")},
		Hidden: hiddenOf(kept.Values())}
	if form.Work != "" && len(problems) == 0 {
		advice, err := w.Offers.Advise(k.Ctx, k.Actor, kept.Tenant, answers)
		switch {
		case fault.Is(err, fault.Invalid):
			problems = named(page.ProblemsOf(err))
		case err != nil:
			return page.View{}, err
		default:
			m.Advice = w.adviceModel(say, advice, kept, form)
		}
	}
	m.Fields = sizingFields(say, form, problems)
	if len(problems) > 0 {
		m.Errors = page.FormErrors(say, problems)
	}
	return page.View{Title: m.Header.Title, Nav: "/start", Body: views.Page(m), StartOff: true}, nil
}

// named calls fields as the page does.
func named(problems []fault.Field) []fault.Field {
	for i := range problems {
		problems[i].Name = strings.Replace(problems[i].Name, "memoryGiB", "memory", 1)
	}
	return problems
}

func hiddenOf(v url.Values) []ui.HiddenModel {
	var list []ui.HiddenModel
	for _, name := range []string{"tenant", "kind", "size", "image", blocks.CustomRefField, "storage", "volume", "mounts",
		"volumes", "datasets",
		"reason", "name"} {
		for _, value := range v[name] {
			list = append(list, ui.HiddenModel{Name: name, Value: value})
		}
	}
	return list
}

func sizingFields(say page.Words, f SizingForm, problems []fault.Field) views.FieldsModel {
	wrong := map[string]string{}
	for _, p := range problems {
		wrong[p.Name] = say.Text(p.Reason)
	}
	typed := func(name, value string) views.FieldModel { return views.FieldModel{Value: value, Error: wrong[name]} }
	m := views.FieldsModel{By: f.way(), Ways: []string{byModel, byBillions, byMemory},
		Work:     typed("work", page.OrElse(f.Work, string(sizing.Explore))),
		Works:    page.IDs(sizing.Works()),
		Sharing:  typed("sharing", page.OrElse(f.Sharing, string(sizing.Team))),
		Sharings: page.IDs(sizing.Sharings()), Lease: typed("lease", page.OrElse(f.Lease, "8h")),
		Latency: typed("latency", ""), Steady: f.Latency != "", Platform: typed("platform", f.Platform),
		Platforms: page.IDs(sizing.Platforms()), Model: typed("model", f.Model),
		Precision:  typed("precision", page.OrElse(f.Precision, string(sizing.FP16))),
		Precisions: page.IDs(sizing.Precisions()), Billions: typed("billions", f.Billions), Memory: typed("memory", f.Memory),
		Tokens: typed("tokens", f.Tokens), Batch: typed("batch", f.Batch), Open: f.Tokens != "" || f.Batch != ""}
	for _, known := range sizing.Models() {
		m.Models = append(m.Models, known.Name)
	}
	m.Leases = leases(say, m.Lease.Value)
	return m
}

// leases are the usual lengths of time, and the one that was typed on the start page.
func leases(say page.Words, chosen string) []ui.OptionModel {
	var list []ui.OptionModel
	known := false
	for _, text := range []string{"2h", "8h", "1d", "3d", "7d", "30d"} {
		d, _ := catalog.ParseDuration(text)
		list = append(list, ui.OptionModel{Value: text, Label: say.Duration(d.Std())})
		known = known || text == chosen
	}
	if d, err := catalog.ParseDuration(chosen); err == nil && !known {
		list = append(list, ui.OptionModel{Value: chosen, Label: say.Duration(d.Std())})
	}
	return list
}

func (w *Pages) adviceModel(say page.Words, adv sizing.Advice, kept blocks.StartForm,
	form SizingForm) *views.AdviceModel {
	m := &views.AdviceModel{Estimate: estimateModel(say, adv.Estimate),
		Remarks: sayAll(say, adv.Remarks)}
	if !adv.Nothing.IsZero() {
		m.Nothing = say.Text(adv.Nothing)
	}
	m.Ways = wayModels(say, adv.Ways)
	for i, p := range adv.Proposals {
		if i == mostProposals {
			m.Others = len(adv.Proposals) - mostProposals
			break
		}
		m.Proposals = append(m.Proposals, w.proposalModel(say, p, kept, form))
	}
	return m
}

// wayModels are the technologies on the platform that was chosen.
func wayModels(say page.Words, ways []sizing.Way) []views.WayModel {
	kinds := map[sizing.Fitness]ui.Kind{sizing.Recommended: ui.OK, sizing.Possible: ui.Info, sizing.Unsuited: ui.Off}
	var list []views.WayModel
	for _, w := range ways {
		list = append(list, views.WayModel{Name: say.Say(catalog.TechnologyWord(w.Technology)),
			State: ui.StateModel{Kind: kinds[w.Fitness], Word: say.S("sizing.fitness." + string(w.Fitness))},
			Why:   sayAll(say, w.Reasons), Source: w.Source})
	}
	return list
}

func estimateModel(say page.Words, e sizing.Estimate) views.EstimateModel {
	m := views.EstimateModel{Total: say.GiB(math.Ceil(e.GiB*10) / 10), Note: say.S("sizing.gigabytes", "GB",
		say.Number(math.Ceil(e.GB()*10)/10))}
	if e.Given {
		m.Note = say.S("sizing.given")
	}
	for _, p := range e.Parts {
		formula := p.Formula
		if say.German() {
			formula = strings.ReplaceAll(formula, ".", ",")
		}
		m.Parts = append(m.Parts, views.PartModel{What: say.Text(p.What), Formula: formula,
			Amount: say.GiB(math.Round(p.GiB*100) / 100)})
	}
	return m
}

func (w *Pages) proposalModel(say page.Words, p sizing.Proposal, kept blocks.StartForm,
	form SizingForm) views.ProposalModel {
	s := p.Offer.Size
	free := freeModel(say, request.Offer{Size: s, Fit: p.Offer.Fit, QueueDepth: p.Offer.Ahead})
	m := views.ProposalModel{Name: s.Name, Size: blocks.SizeModel(say, s), Free: ui.StateModel{Kind: free.Kind,
		Word: freeWords(say, free), Detail: free.Detail}, Price: say.MoneyPerHour(s.PricePerHour),
		Reasons: sayAll(say, p.Reasons), Beware: sayAll(say, p.Beware)}
	if p.Offer.Approve && p.Offer.Problem.IsZero() {
		m.Needs = &ui.StateModel{Kind: ui.Waiting, Icon: "user", Word: say.S("sizing.approval")}
	}
	m.Size.Detail = priceListDetail(say, w.Site().Catalog, s)
	if !p.Offer.Problem.IsZero() {
		m.Why = say.Text(p.Offer.Problem)
		return m
	}
	take := kept.Values()
	take.Set("size", s.Name)
	if form.Lease != "" && (s.MaxLease == 0 || leaseOf(form) <= s.MaxLease) {
		take.Set("lease", form.Lease)
	}
	if sizing.Work(form.Work) == sizing.Inference {
		take.Set("kind", string(catalog.Endpoint)) // a served model is one; the image follows the kind
	}
	m.Take = "/start?" + take.Encode()
	return m
}

func leaseOf(f SizingForm) catalog.Duration {
	d, _ := catalog.ParseDuration(f.Lease)
	return d
}

// freeWords says of what the number is, for it does not stand under a heading here.
func freeWords(say page.Words, m start.FreeModel) string {
	return say.S("sizing.free", "Free", m.Words)
}

func sayAll(say page.Words, texts []i18n.Text) []string {
	var list []string
	for _, t := range texts {
		list = append(list, say.Text(t))
	}
	return list
}

// priceListDetail is the technology with the memory, and what comes with it.
func priceListDetail(say page.Words, offer catalog.Catalog, s catalog.Size) string {
	parts := []string{}
	if s.Devices() > 0 {
		parts = append(parts, say.Say(offer.TechnologyWord(s.Technology)))
		if s.Accelerator.MemoryGiB > 0 {
			parts = append(parts, say.GiB(s.Accelerator.MemoryGiB))
		}
	}
	return strings.Join(append(parts, say.S("web.cpu_size", "CPU", s.CPU, "Memory", say.Quantity(s.Memory))), " · ")
}

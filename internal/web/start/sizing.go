package start

import (
	"math"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"

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
// time, which is the same question.
type SizingForm struct {
	Work, Sharing, Model, Precision, Lease string
	Billions, Memory, Tokens, Batch        string
	Latency, Platform                      string
}

func readSizingForm(v url.Values) SizingForm {
	return SizingForm{Work: v.Get("work"), Sharing: v.Get("sharing"), Model: v.Get("model"), Precision: v.Get("precision"),
		Lease:    v.Get("lease"),
		Billions: v.Get("billions"), Memory: v.Get("memory"), Tokens: v.Get("tokens"), Batch: v.Get("batch"),
		Latency: v.Get("latency"), Platform: v.Get("platform")}
}

// Answers are what was typed as values; what is no number is told of beside its field.
func (f SizingForm) Answers() (sizing.Answers, []fault.Field) {
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
		Form: ui.FormModel{ID: "sizing", Action: "/start/size", Get: true, Test: "sizing", Hidden: hiddenOf(kept.Values())},
		Ask:  ui.ButtonModel{Label: say.S("sizing.ask"), Kind: ui.Primary, Test: "ask"}}
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
	for _, name := range []string{"tenant", "kind", "size", "image", "storage", "volume", "mounts", "reason", "name"} {
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
	field := func(name string, kind ui.FieldKind, value string) ui.FieldModel {
		return ui.FieldModel{Name: name, Kind: kind, Label: say.S("sizing.q." + name), Value: value, Error: wrong[name],
			Test: "q-" + name}
	}
	number := func(name, value, hint string) ui.FieldModel {
		m := field(name, "", value)
		m.InputMode, m.Autocomplete, m.Short, m.MaxLength, m.Hint = "decimal", "off", true, 12, hint
		return m
	}
	m := views.FieldsModel{Work: field("work", ui.RadiosField, page.OrElse(f.Work, string(sizing.Explore))),
		Sharing: field("sharing", ui.RadiosField, page.OrElse(f.Sharing, string(sizing.Team))),
		Lease:   field("lease", ui.SelectField, page.OrElse(f.Lease, "8h")), Open: f.Tokens != "" || f.Batch != ""}
	for _, work := range sizing.Works() {
		m.Work.Options = append(m.Work.Options, ui.OptionModel{Value: string(work),
			Label: say.S("sizing.work." + string(work)), Hint: say.S("sizing.work_hint." + string(work)),
			Test: "work-" + string(work)})
	}
	for _, s := range sizing.Sharings() {
		m.Sharing.Options = append(m.Sharing.Options,
			ui.OptionModel{Value: string(s), Label: say.S("sizing.sharing." + string(s)), Test: "sharing-" + string(s)})
	}
	m.Latency = field("latency", ui.CheckboxField, "on")
	m.Latency.Checked, m.Latency.Hint = f.Latency != "", say.S("sizing.latency_hint")
	m.Platform = field("platform", ui.SelectField, f.Platform)
	m.Platform.Hint = say.S("sizing.platform_hint")
	m.Platform.Options = []ui.OptionModel{{Value: "", Label: say.S("sizing.no_platform")}}
	for _, p := range sizing.Platforms() {
		m.Platform.Options = append(m.Platform.Options,
			ui.OptionModel{Value: string(p), Label: say.S("sizing.platform." + string(p))})
	}
	model := field("model", ui.SelectField, f.Model)
	model.Options = []ui.OptionModel{{Value: "", Label: say.S("sizing.no_model")}}
	for _, known := range sizing.Models() {
		model.Options = append(model.Options, ui.OptionModel{Value: known.Name, Label: known.Name})
	}
	precision := field("precision", ui.SelectField, page.OrElse(f.Precision, string(sizing.FP16)))
	for _, p := range sizing.Precisions() {
		precision.Options = append(precision.Options,
			ui.OptionModel{Value: string(p), Label: say.S("sizing.precision." + string(p))})
	}
	m.Memory = []ui.FieldModel{model, number("billions", f.Billions, say.S("sizing.billions_hint")), precision,
		number("memory", f.Memory, say.S("sizing.memory_hint"))}
	m.Serving = []ui.FieldModel{number("tokens", f.Tokens, say.S("sizing.tokens_hint")),
		number("batch", f.Batch, say.S("sizing.batch_hint"))}
	m.Lease.Short = true
	m.Lease.Options = leases(say, m.Lease.Value)
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
	m := &views.AdviceModel{Title: say.S("sizing.proposals"), Estimate: estimateModel(say, adv.Estimate),
		Remarks: sayAll(say, adv.Remarks)}
	if !adv.Nothing.IsZero() {
		m.Nothing = &ui.NoticeModel{Kind: ui.Warning, Title: say.S("sizing.none"), Body: say.Text(adv.Nothing),
			Test: "nothing"}
	}
	m.Ways = wayModels(say, adv.Ways)
	for i, p := range adv.Proposals {
		if i == mostProposals {
			m.Others = say.S("sizing.others", "Count", len(adv.Proposals)-mostProposals)
			break
		}
		row := w.proposalModel(say, p, kept, form)
		if i == 0 {
			row.Rank = say.S("sizing.best")
		}
		m.Proposals = append(m.Proposals, row)
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
	free := freeModel(say, request.Offer{Size: s, Fit: p.Offer.Fit})
	m := views.ProposalModel{Name: s.Name, Size: blocks.SizeModel(say, s), Free: ui.StateModel{Kind: free.Kind,
		Word: freeWords(say, free)}, Price: say.MoneyPerHour(s.PricePerHour),
		Reasons: sayAll(say, p.Reasons), Beware: sayAll(say, p.Beware)}
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
	m.Take = ui.LinkButtonModel{Label: say.S("sizing.take", "Size", say.SizeTitle(s)), Href: "/start?" + take.Encode(),
		Kind: ui.Secondary, Test: "take"}
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

// sizingButton leads from the start form to the questions, with all that was typed.
func sizingButton(say page.Words) ui.ButtonModel {
	return ui.ButtonModel{Label: say.S("sizing.open"), Kind: ui.LinkLike, FormAction: "/start/size", Test: "sizing-open",
		Attrs: templ.Attributes{"formmethod": "get", "formnovalidate": true}}
}

// priceListDetail is the technology with the memory, and what comes with it.
func priceListDetail(say page.Words, offer catalog.Catalog, s catalog.Size) string {
	parts := []string{}
	if s.Devices() > 0 {
		parts = append(parts, say.Say(offer.TechnologyWord(s.Technology)))
		if s.Accelerator.MemoryGiB > 0 {
			parts = append(parts, say.S("web.gpu_memory", "Memory", say.GiB(s.Accelerator.MemoryGiB)))
		}
	}
	return strings.Join(append(parts, say.S("web.cpu_size", "CPU", s.CPU, "Memory", say.Quantity(s.Memory))), " · ")
}

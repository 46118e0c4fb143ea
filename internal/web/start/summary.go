package start

import (
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/start"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// summary is what would happen if this were sent now.
func (w *Pages) summary(k page.Call, form blocks.StartForm, offers []request.Offer, p request.Preview,
	reason string) (start.SummaryModel, error) {
	say := k.Words
	manifest, err := w.manifest(k, form, p)
	m := start.SummaryModel{Verdict: verdict(say, p), Manifest: manifest,
		Again:        asking(k, "/start/form", "#start", ""),
		Approval:     p.Verdict.Outcome == policy.Approve,
		Reason:       start.FieldModel{Value: form.Reason, Error: reason},
		ReasonHidden: p.Verdict.Outcome != policy.Approve && reason == ""}
	if !p.Note.IsZero() {
		m.Note = say.Text(p.Note)
	}
	if doubtful(p) && m.Verdict.Kind != ui.Danger && m.Verdict.Kind != ui.Warning {
		m.Verdict = start.VerdictModel{Kind: ui.Warning, Title: say.S("start.no_room"), Doubtful: true}
		m.Instead = fitModel(say, form, "", p.Model).Smallest
	} else if instead := p.Alternatives.Offer; instead.Size.Name != "" && !mistyped(p) {
		m.Instead = &start.InsteadModel{Label: blocks.InsteadLabel(say, "start.instead", p.Alternatives),
			Size: instead.Size.Name}
	}
	if p.Spec.Size.Name == "" {
		if why := whyNone(say, offers); why != "" {
			m.Verdict = start.VerdictModel{Kind: ui.Danger, Title: say.S("start.cannot"), Body: why}
		}
		return m, err
	}
	m.Size = say.SizeTitle(p.Spec.Size)
	if n := p.Spec.Replicas.Least(); n > 1 {
		m.Size = say.S("start.times", "Count", n, "Size", m.Size)
	}
	if !badLease(p) {
		m.Duration = say.Duration(p.Spec.Lease.Std())
	}
	if p.Quota.Full() {
		m.More = blocks.MoreQuotaPath(p.Spec.Tenant, p.Spec.Size.Name)
	}
	if !badLease(p) || p.Budget.Stops() { // what is too much is said with what it costs
		m.Cost, m.CostNote = w.priceAhead(say, p)
	}
	m.Deprecated = w.deprecated(k, form, offers, p.Spec)
	m.Facts, m.Forecast = summaryFacts(say, p), w.PreviewOutlook(k, p)
	if p.Quota.Limit > 0 {
		m.Quota = &start.QuotaModel{Used: p.Quota.Used, Limit: p.Quota.Limit, More: p.Spec.Replicas.Least()}
	}
	m.Budget = blocks.BudgetAfter(say, p.Budget)
	return m, err
}

// manifest is what would be created. It is written once it was asked for: it takes a fifth of the page's time, and most
// people never open it.
func (w *Pages) manifest(k page.Call, form blocks.StartForm, p request.Preview) (m start.ManifestModel, err error) {
	m.Open = form.Manifest
	switch {
	case p.Planned == nil:
	case m.Open:
		m.Text, err = w.Requests.Manifest(*p.Planned)
	default:
		m.Attrs = asking(k, "/start/summary", "#start-summary", "toggle once")
		m.Attrs["hx-vals"] = `{"manifest": "1"}`
		m.Show = asking(k, "/start/summary", "#start-summary", "")
	}
	return m, err
}

// doubtful reports whether the size has no room for the model. Sending is allowed: it is an estimate.
func doubtful(p request.Preview) bool { return p.Model != nil && !p.Model.Fits() }

// whyNone is the reason that all sizes share, where none can be requested: to ask for another size would lead nowhere.
func whyNone(say page.Words, offers []request.Offer) (why string) {
	for i, o := range offers {
		this := whyNot(say, o)
		if this == "" || i > 0 && this != why {
			return ""
		}
		why = this
	}
	return why
}

// priceAhead is what the whole time costs, and how it comes about: the size, and storage and seats where they have a
// price.
func (w *Pages) priceAhead(say page.Words, p request.Preview) (total, note string) {
	a, sum := p.Extras, p.Price
	note = say.S("start.total_note", "Duration", say.Duration(p.Spec.Lease.Std()), "Price",
		say.MoneyPerHour(p.Spec.PricePerHour()))
	if p.PriceMost != p.Price {
		note += ". " + say.S("replicas.price_most", "Price", say.Money(p.PriceMost), "Max", p.Spec.Replicas.Most())
	}
	if a.Seats.Minor == 0 && a.Storage.Minor == 0 {
		return say.Money(sum), note
	}
	parts := []string{note, say.S("start.total_size", "Money", say.Money(p.Price))}
	if a.Seats.Minor > 0 {
		sum, parts = sum.Add(a.Seats), append(parts, say.S("start.total_seats", "Money", say.Money(a.Seats)))
	}
	if a.Storage.Minor > 0 {
		sum, parts = sum.Add(a.Storage), append(parts, say.S("start.total_storage", "Money", say.Money(a.Storage)))
	}
	return say.Money(sum), strings.Join(parts, ". ")
}

// hindrance is what is wrong with the form. Of several fields each says so itself, but for the size: its tile does not.
func hindrance(say page.Words, p request.Preview) string {
	fields := slices.DeleteFunc(slices.Clone(p.Fields), func(f fault.Field) bool { return f.Name == "reason" })
	for _, f := range fields {
		if f.Name == "size" || len(fields) == 1 {
			return say.Text(f.Reason)
		}
	}
	return say.S("web.form_errors", "Count", len(p.Fields))
}

// mistyped reports whether something other than size and duration has to be mended: another size would not help.
func mistyped(p request.Preview) bool {
	return slices.ContainsFunc(p.Fields, func(f fault.Field) bool {
		return f.Name != "size" && f.Name != "reason" && f.Name != "lease"
	})
}

func badLease(p request.Preview) bool {
	for _, f := range p.Fields {
		if f.Name == "lease" {
			return true
		}
	}
	return false
}

// verdict is the one sentence of the summary.
func verdict(say page.Words, p request.Preview) start.VerdictModel {
	var n start.VerdictModel
	switch {
	case len(p.Fields) > 0 && !p.NeedsReason():
		n.Kind, n.Title = ui.Warning, say.S("start.cannot")
		n.Body = hindrance(say, p)
	case !p.Refused.IsZero():
		n.Kind, n.Title, n.Body = ui.Danger, say.S("start.refused"), say.Text(p.Refused)
	case p.Verdict.Outcome == policy.Approve:
		n.Kind, n.Title = ui.Info, say.S("start.waits_approval", "By", p.Verdict.Who())
		if policy.AnyApprover(p.Verdict.Steps) { // it goes without saying
			n.Title = say.S("start.waits_plain_approval")
		}
	case !p.Fit.Known:
		n.Kind, n.Title, n.Body = ui.Info, say.S("start.when_room"), page.OrElse(why(say, p), say.S("start.free_unknown"))
	case p.Fit.Free < p.QueueDepth+p.Spec.Replicas.Least():
		n.Kind, n.Title, n.Body = ui.Info, say.S("start.waits"), why(say, p)
	default:
		n.Kind, n.Title = ui.OK, say.S("start.now")
	}
	return n
}

// why is what is in the way on the nodes, and who stands in front.
func why(say page.Words, p request.Preview) string {
	text := ""
	if !p.Why.IsZero() {
		text = say.Text(p.Why)
	}
	if p.QueueDepth > 0 {
		text += " " + say.S("start.ahead", "Count", p.QueueDepth)
	}
	return strings.TrimSpace(text)
}

func summaryFacts(say page.Words, p request.Preview) start.FactsModel {
	m := start.FactsModel{Rule: p.Verdict.Rule, Cluster: p.Spec.Cluster, Mounts: blocks.MountWords(p.Spec.Mounts),
		// the last part is drawn when it is sent
		Name: strings.Replace(p.Spec.Name, "-xxxx", "-…", 1), Storage: p.Spec.Volume}
	if most := p.Spec.Replicas.Most(); most > p.Spec.Replicas.Lowest() {
		m.Replicas = say.S("replicas.up_to", "Min", p.Spec.Replicas.Lowest(), "Max", most)
	}
	m.Scaling = blocks.ScalingFacts(say, p.Spec.Scaling)
	if s := p.Spec.Schedule; s != nil && s.Hours != nil {
		m.Hours = blocks.HoursWords(say, *s.Hours)
	}
	if reference := p.Spec.Image.Reference; p.Spec.Image.IsCustom() && catalog.Pinned(reference) {
		_, digest, _ := strings.Cut(reference, "@")
		m.Image = blocks.ShortReference(reference) + " · " + digest[:len("sha256:")+12] + "…"
	}
	if p.StartsNow() {
		ends := say.At(p.Until)
		m.Until = &ends
	}
	if p.Seats != nil {
		m.Seat = blocks.SeatsTaken(say, p.AdditionalSeats, *p.Seats)
	}
	if p.Place > 0 {
		m.SeatLine = say.S("start.seat_line", "Pool", p.Seats.Pool.Title, "Place", p.Place)
	}
	if p.Spec.StorageGiB > 0 && p.Spec.Volume == "" {
		m.Storage = say.GiB(float64(p.Spec.StorageGiB))
	}
	return m
}

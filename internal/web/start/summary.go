package start

import (
	"strings"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/start"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// summary is what would happen if this were sent now.
func (w *Pages) summary(k page.Call, form blocks.StartForm, offers []request.Offer,
	reason string) (start.SummaryModel, error) {
	p, err := w.Requests.Preview(k.Ctx, k.Actor, form.Draft())
	if err != nil {
		return start.SummaryModel{}, err
	}
	say := k.Words
	m := start.SummaryModel{Verdict: verdict(say, p, form), Manifest: p.Manifest,
		Update: ui.ButtonModel{Label: say.S("start.update"), Kind: ui.LinkLike, FormAction: "/start/summary", Test: "update"},
		Retry: ui.ButtonModel{Label: say.S("start.retry"), Kind: ui.Secondary, Small: true, FormAction: "/start/form",
			Test: "retry", Attrs: asking(k, "/start/form", "#start", "")},
		Send: ui.ButtonModel{Label: sendLabel(say, p), Kind: ui.Primary, Icon: "bolt", Test: "send",
			Attrs: templ.Attributes{"data-summary-send": true}},
		Reason: reasonField(say, form, reason), ReasonHidden: p.Verdict.Outcome != policy.Approve && reason == ""}
	if instead := p.Alternatives.Offer; instead.Size.Name != "" {
		m.Verdict.Actions = []ui.ActionModel{{Button: &ui.ButtonModel{Label: blocks.InsteadLabel(say, "start.instead",
			p.Alternatives),
			Small: true, Name: "instead", Value: instead.Size.Name,
			FormAction: "/start/form", Test: "instead", Attrs: asking(k, "/start/form", "#start", "")}}}
	}
	if p.Spec.Size.Name == "" {
		return m, nil
	}
	m.Size = say.SizeTitle(p.Spec.Size)
	if !badLease(p) {
		m.Duration = say.Duration(p.Spec.Lease.Std())
	}
	if p.Quota.Full() {
		m.Verdict.Actions = append(m.Verdict.Actions,
			ui.ActionModel{Link: blocks.MoreQuota(say, p.Spec.Tenant, p.Spec.Size.Name)})
	}
	if !badLease(p) || p.Budget.Stops() { // what is too much is said with what it costs
		m.Cost, m.CostNote = w.priceAhead(say, p)
	}
	m.Deprecated = w.deprecated(k, form, offers, p.Spec)
	m.Items, m.Forecast = summaryItems(say, p), w.PreviewOutlook(k, p)
	if p.Quota.Limit > 0 {
		m.Quota = blocks.QuotaAfter(say, p.Quota, say.SizeTitle(p.Spec.Size))
	}
	m.Budget = blocks.BudgetAfter(say, p.Budget)
	return m, nil
}

// reasonField asks what approvers read first.
func reasonField(say page.Words, form blocks.StartForm, problem string) ui.FieldModel {
	return ui.FieldModel{Name: "reason", Kind: ui.TextareaField, Rows: 1, Label: say.S("start.reason"), Required: true,
		Value: form.Reason, Error: problem, Placeholder: say.S("start.reason_hint"), MaxLength: 500, Test: "reason"}
}

// priceAhead is what the whole time costs, and how it comes about: the size, and storage and seats where they have a
// price.
func (w *Pages) priceAhead(say page.Words, p request.Preview) (total, note string) {
	a, sum := p.Extras, p.Price
	note = say.S("start.total_note", "Duration", say.Duration(p.Spec.Lease.Std()), "Price",
		say.MoneyPerHour(p.Spec.Size.PricePerHour))
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

func badLease(p request.Preview) bool {
	for _, f := range p.Fields {
		if f.Name == "lease" {
			return true
		}
	}
	return false
}

func sendLabel(say page.Words, p request.Preview) string {
	if p.Verdict.Outcome == policy.Approve {
		return say.S("start.send_ask")
	}
	return say.S("start.send_start")
}

// verdict is the one sentence of the summary.
func verdict(say page.Words, p request.Preview, form blocks.StartForm) ui.NoticeModel {
	n := ui.NoticeModel{Test: "verdict"}
	switch {
	case len(p.Fields) > 0 && !p.NeedsReason():
		n.Kind, n.Title = ui.Warning, say.S("start.cannot")
		for _, f := range p.Fields {
			n.Items = append(n.Items, say.Text(f.Reason))
		}
	case !p.Refused.IsZero():
		n.Kind, n.Title, n.Body = ui.Danger, say.S("start.refused"), say.Text(p.Refused)
	case p.Verdict.Outcome == policy.Approve:
		n.Kind, n.Title = ui.Info, say.S("start.waits_approval", "By", p.Verdict.Who())
		if strings.TrimSpace(form.Reason) == "" {
			n.Body = say.S("start.reason_first")
		}
	case !p.Fit.Known:
		n.Kind, n.Title, n.Body = ui.Info, say.S("start.when_room"), page.OrElse(why(say, p), say.S("start.free_unknown"))
	case p.Fit.Free <= p.QueueDepth:
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

func summaryItems(say page.Words, p request.Preview) []ui.DefModel {
	var items []ui.DefModel
	add := func(term, value, test string) {
		if value != "" {
			items = append(items, ui.DefModel{Term: say.S(term), Value: value, Test: test})
		}
	}
	if p.StartsNow() {
		ends := say.At(p.Until)
		items = append(items, ui.DefModel{Term: say.S("start.sum_until"), Component: ui.Time(ends), Test: "sum-until"})
	}
	if p.Verdict.Rule != "" {
		add("start.sum_rule", p.Verdict.Rule, "sum-rule")
	}
	if p.Seats != nil {
		add("start.sum_seat", blocks.SeatsTaken(say, p.AdditionalSeats, *p.Seats), "sum-seat")
	}
	if p.Place > 0 {
		add("start.sum_seat_line", say.S("start.seat_line", "Pool", p.Seats.Pool.Title, "Place", p.Place), "sum-seat-line")
	}
	// the last part is drawn when it is sent
	add("start.sum_name", strings.Replace(p.Spec.Name, "-xxxx", "-…", 1), "sum-name")
	add("start.sum_cluster", p.Spec.Cluster, "sum-cluster")
	if p.Spec.StorageGiB > 0 && p.Spec.Volume == "" {
		add("start.sum_storage", say.GiB(float64(p.Spec.StorageGiB)), "sum-storage")
	} else {
		add("start.sum_storage", p.Spec.Volume, "sum-storage")
	}
	add("start.mounts", blocks.MountWords(p.Spec.Mounts), "sum-mounts")
	return items
}

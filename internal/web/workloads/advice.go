package workloads

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/advice"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	adviceview "github.com/gpu-portal/gpu-portal/views/advice"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// adviceList answers: which of what runs would do with less, which needs more, and what is not known.
func (w *Pages) adviceList(k page.Call) (page.View, error) {
	say, scope := k.Words, usage.Widest(k.Actor)
	if s := usage.Scope(k.Get("scope")); slices.Contains(usage.Scopes(k.Actor), s) {
		scope = s
	}
	r, err := w.Advice.List(k.Ctx, k.Actor, scope)
	if err != nil {
		return page.View{}, err
	}
	lead := say.S("advice.lead", "Window", say.Duration(r.Rule.Window), "After", say.Duration(r.Rule.After)) + " "
	if r.AsOf.IsZero() {
		lead += say.S("advice.never")
	} else {
		lead += say.S("advice.as_of", "Time", say.At(r.AsOf).Exact)
	}
	m := adviceview.PageModel{Header: ui.HeaderModel{Title: say.S("advice.title"), Lead: lead,
		Tabs: page.UsageTabs(k, scope, page.AdvicePath)},
		Scopes: adviceScopes(k, scope), Saves: say.Money(r.Saves),
		Smaller: say.Number(float64(ofKind(r.Advice, advice.Smaller))),
		Larger:  say.Number(float64(ofKind(r.Advice, advice.Larger)))}
	if more := adds(r.Advice); more.Minor > 0 {
		m.Adds = say.S("advice.adds", "Money", say.Money(more))
	}
	back := page.AdvicePath + "?" + url.Values{"scope": {string(scope)}}.Encode()
	for _, a := range r.Advice {
		item := w.adviceItem(k, *a, back)
		item.Workload = w.adviceWorkload(k, a)
		item.Workload.Detail = a.Workload.OwnerName + " · " + w.TeamTitle(a.Workload.Tenant) // the size has a column
		// its own page has a table of it
		if note := computerNote(say, *a); note != "" {
			item.Notes = append(item.Notes, note)
		}
		m.Items = append(m.Items, item)
	}
	m.Assumed = say.S("advice.prices") + " " + say.S("advice.room") + " " + say.S("advice.computer")
	for _, a := range r.Put {
		m.Put = append(m.Put, putModel(k, *a, back))
	}
	for _, a := range r.None {
		words := say.S("advice.why_" + string(a.Why))
		if len(m.None) == 0 || m.None[len(m.None)-1].Words != words {
			m.None = append(m.None, adviceview.CauseModel{Words: words})
		}
		if c := &m.None[len(m.None)-1]; len(c.Names) < mostOfCause {
			c.Names = append(c.Names, *w.adviceWorkload(k, a))
		} else {
			c.More++
		}
	}
	return page.View{Title: m.Header.Title, Nav: page.UsagePlace(scope), Wide: true, Body: adviceview.Page(m)}, nil
}

// mostOfCause is how many workloads are named of those without advice for the same reason.
const mostOfCause = 10

func ofKind(list []*advice.Advice, kind advice.Kind) (n int) {
	for _, a := range list {
		if a.Kind == kind {
			n++
		}
	}
	return n
}

func adviceScopes(k page.Call, current usage.Scope) *ui.TabsModel {
	m := &ui.TabsModel{Label: k.Words.S("home.whose")}
	for _, s := range usage.Scopes(k.Actor) {
		m.Items = append(m.Items, ui.TabModel{Label: k.Words.S("home.scope_" + string(s)), Href: page.AdvicePath + "?scope=" +
			string(s), Current: s == current, Test: "scope-" + string(s)})
	}
	if len(m.Items) < 2 {
		return nil
	}
	return m
}

func (w *Pages) adviceWorkload(k page.Call, a *advice.Advice) *ui.StackModel {
	return &ui.StackModel{Title: a.Workload.Name, Href: page.WorkloadPath(a.Workload.ID),
		Detail: strings.Join([]string{a.Workload.OwnerName, w.TeamTitle(a.Workload.Tenant),
			k.Words.SizeTitle(a.Workload.Size)}, " · ")}
}

// adds is what the larger sizes would cost more in a month; nothing where that is in several currencies.
func adds(list []*advice.Advice) (more usage.Money) {
	for _, a := range list {
		switch {
		case a.Saves.Minor >= 0:
		case more.Currency != "" && more.Currency != a.Saves.Currency:
			return usage.Money{}
		default:
			more.Minor, more.Currency = more.Minor-a.Saves.Minor, a.Saves.Currency
		}
	}
	return more
}

// adviceTitle is the advice in one line.
func adviceTitle(say page.Words, a advice.Advice) string {
	switch {
	case a.Kind == advice.Smaller && a.Saves.Minor > 0:
		return say.S("advice.smaller_saves", "Size", say.SizeTitle(a.Size), "Money", say.Money(a.Saves))
	case a.Kind == advice.Smaller:
		return say.S("advice.smaller", "Size", say.SizeTitle(a.Size))
	case a.Size.Name == "":
		return say.S("advice.larger_none")
	}
	return say.S("advice.larger", "Size", say.SizeTitle(a.Size))
}

// adviceItem shows what the advice rests on; back is where its buttons lead.
func (w *Pages) adviceItem(k page.Call, a advice.Advice, back string) adviceview.ItemModel {
	say := k.Words
	m := adviceview.ItemModel{ID: "advice-" + page.Slug(string(a.Workload.ID)), Title: adviceTitle(say, a),
		Evidence: evidenceModel(say, a), Back: back}
	m.Kind = ui.StateModel{Kind: ui.Info, Word: say.S("advice.tile_smaller")}
	if a.Kind == advice.Larger {
		m.Kind = ui.StateModel{Kind: ui.Warning, Word: say.S("advice.tile_larger")}
	}
	m.Now, m.Proposed = adviceSides(say, a)
	switch less := a.Saves; {
	case less.Minor > 0:
		m.Change, m.Saves = "−"+say.Money(less), true
	case less.Minor < 0:
		less.Minor = -less.Minor
		m.Change = "+" + say.Money(less)
	}
	if !used(a.Evidence) { // otherwise the readings say it
		m.Lead = adviceLead(say, a)
	}
	for _, s := range a.Signs {
		m.Notes = append(m.Notes, say.S("advice.sign_"+string(s), "Share", say.Percent(100*shareOf(s, a.Evidence)), "Memory",
			say.Quantity(a.Workload.Size.Memory)))
	}
	if a.Size.Name != "" {
		m.Changes, m.Assumed = adviceChanges(say, a), adviceAssumed(say, a)
	}
	if identity.Can(k.Actor, identity.ChangeWorkload, a.Workload.Resource()) {
		if a.Size.Name != "" && identity.Can(k.Actor, identity.SubmitRequest, identity.Resource{Tenant: a.Workload.Tenant}) {
			m.Take, m.Size = takePath(k, a), say.SizeTitle(a.Size)
		}
		m.Dismiss = page.AdvicePath + "/" + string(a.Workload.ID) + "/dismiss"
	}
	return m
}

func shareOf(s advice.Sign, e advice.Evidence) float64 {
	if s == advice.SlowedDown {
		return e.SlowedShare()
	}
	return e.FullShare()
}

// used reports whether something was measured that is more than nothing.
func used(e advice.Evidence) bool { return e.Measured > 0 && (e.PeakMiB > 0 || e.Mean > 0) }

// adviceLead is the evidence in a sentence; nothing where only the end of a program speaks.
func adviceLead(say page.Words, a advice.Advice) string {
	e := a.Evidence
	if !used(e) {
		if e.Measured > 0 {
			return say.S("advice.lead_unused", "Time", say.Duration(e.Measured))
		}
		return ""
	}
	return say.S("advice.lead_seen", "Peak", say.GiB(e.PeakMiB/1024), "Has",
		say.GiB(a.Workload.Size.Accelerator.MemoryGiB), "Time", say.Duration(e.Until.Sub(e.From)))
}

// evidenceModel is nil where nothing was measured.
func evidenceModel(say page.Words, a advice.Advice) *adviceview.EvidenceModel {
	e, has := a.Evidence, a.Workload.Size.Accelerator.MemoryGiB
	if e.Measured <= 0 {
		return nil
	}
	m := &adviceview.EvidenceModel{Peak: say.GiB(e.PeakMiB / 1024), Has: say.GiB(has), HasKnown: has > 0,
		Mean: say.Percent(e.Mean), High: say.Percent(e.High), Measured: say.Duration(e.Measured),
		Held: say.Duration(e.Held), Coverage: say.Percent(100 * e.Coverage()), MeanShare: e.Mean / 100}
	if has > 0 {
		m.PeakShare = e.PeakMiB / 1024 / has
	}
	return m
}

// adviceChanges are what the advised size has otherwise.
func adviceChanges(say page.Words, a advice.Advice) []ui.ChangeModel {
	now, then := a.Workload.Size, a.Size
	list := []ui.ChangeModel{{Name: say.S("home.col_size"), Old: say.SizeTitle(now), New: say.SizeTitle(then)}}
	add := func(name, old, value string) {
		if old != value {
			list = append(list, ui.ChangeModel{Name: name, Old: old, New: value})
		}
	}
	if was, is := now.Accelerator.MemoryGiB, then.Accelerator.MemoryGiB; was > 0 && is > 0 {
		add(say.S("advice.gpu_memory"), say.GiB(was), say.GiB(is))
	}
	add(say.S("sizes.col_price"), say.MoneyPerHour(now.PricePerHour), say.MoneyPerHour(then.PricePerHour))
	add(say.S("sizes.field_cpu"), now.CPU, then.CPU)
	add(say.S("sizes.field_memory"), say.Quantity(now.Memory), say.Quantity(then.Memory))
	return list
}

// computerNote is what else changes with the size; "" for nothing.
func computerNote(say page.Words, a advice.Advice) string {
	now, then := a.Workload.Size, a.Size
	if then.Name == "" || now.CPU == then.CPU && now.Memory == then.Memory {
		return ""
	}
	words := func(s catalog.Size) string {
		return say.S("advice.side_computer", "CPU", s.CPU, "Memory", say.Quantity(s.Memory))
	}
	return say.S("advice.note_computer", "Now", words(now), "Then", words(then))
}

// adviceSides are the size of a workload and the advised one.
func adviceSides(say page.Words, a advice.Advice) (now, proposed adviceview.SideModel) {
	side := func(s catalog.Size) adviceview.SideModel {
		m := adviceview.SideModel{Size: say.SizeTitle(s), Offer: say.MoneyPerHour(s.PricePerHour)}
		if s.Accelerator.MemoryGiB > 0 {
			m.Offer = say.GiB(s.Accelerator.MemoryGiB) + " · " + m.Offer
		}
		return m
	}
	if a.Size.Name == "" {
		return side(a.Workload.Size), adviceview.SideModel{Size: say.S("advice.none_larger")}
	}
	return side(a.Workload.Size), side(a.Size)
}

// adviceAssumed is what the advice rests on beside what was measured.
func adviceAssumed(say page.Words, a advice.Advice) string {
	var words []string
	if a.Kind == advice.Smaller && a.Size.Accelerator.MemoryGiB > 0 {
		words = append(words, say.S("advice.room"))
	}
	words = append(words, say.S("advice.prices"))
	if now, then := a.Workload.Size, a.Size; now.CPU != then.CPU || now.Memory != then.Memory {
		words = append(words, say.S("advice.computer"))
	}
	return strings.Join(words, " ")
}

// takePath is the start page with everything filled in. The old one goes on until somebody stops it: nothing is lost by
// asking.
func takePath(k page.Call, a advice.Advice) string {
	say := k.Words
	w, reason := *a.Workload, say.S("advice.reason", "Workload", a.Workload.Name, "Advice", adviceTitle(say, a))
	if lead := adviceLead(say, a); lead != "" {
		reason += " " + lead
	}
	q := blocks.InPlaceOf(k, w)
	q.Set("size", a.Size.Name)
	q.Set("reason", reason)
	if left := w.Lease.Left(say.Now).Truncate(time.Hour); left >= time.Hour &&
		(a.Size.MaxLease == 0 || left <= a.Size.MaxLease.Std()) {
		q.Set("lease", catalog.Duration(left).String())
	}
	return "/start?" + q.Encode()
}

// putModel is an advice that was put away; back is where its button leads.
func putModel(k page.Call, a advice.Advice, back string) adviceview.PutModel {
	m := adviceview.PutModel{Workload: a.Workload.Name, Advice: adviceTitle(k.Words, a), Name: a.Put.Name,
		Time: k.Words.At(a.Put.At).Exact, Back: back}
	if identity.Can(k.Actor, identity.ChangeWorkload, a.Workload.Resource()) {
		m.Restore = page.AdvicePath + "/" + string(a.Workload.ID) + "/restore"
	}
	return m
}

// workloadAdvice is what the page of a workload says of its size, and of the one that it replaces.
func (w *Pages) workloadAdvice(k page.Call, s details) (workloadview.AdviceModel, error) {
	m := workloadview.AdviceModel{ID: "workload-advice"}
	if !s.Holds() || s.Size.Devices() == 0 {
		return m, nil
	}
	a, err := w.Advice.Of(k.Ctx, k.Actor, s.ID)
	if err != nil {
		return m, err
	}
	back := page.WorkloadPath(s.ID)
	switch {
	case a.Kind != "" && a.Put != nil:
		put := putModel(k, a, back)
		m.Put = &put
	case a.Kind != "":
		item := w.adviceItem(k, a, back)
		m.Item = &item
	}
	m.Replaces, err = w.replacesModel(k, s)
	return m, err
}

// replacesModel offers to stop the old workload once the one that was started in its place is ready.
func (w *Pages) replacesModel(k page.Call, s details) (*workloadview.ReplacesModel, error) {
	if s.Request == "" {
		return nil, nil
	}
	old, err := w.Requests.ReplacedBy(k.Ctx, k.Actor, s.Workload)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil || !old.CanStop() {
		return nil, err // stopped: there is nothing to do any more
	}
	m := &workloadview.ReplacesModel{Name: old.Name, Href: page.WorkloadPath(old.ID),
		Ready: s.State == workload.Running, Price: k.Words.MoneyPerHour(old.Size.PricePerHour)}
	if identity.Can(k.Actor, identity.ChangeWorkload, old.Resource()) {
		m.Stop = page.WorkloadPath(old.ID) + "/stop"
	}
	return m, nil
}

func (w *Pages) adviceDismiss(c echo.Context) error {
	return w.adviceDo(c, "advice-dismissed", w.Advice.Dismiss)
}

func (w *Pages) adviceRestore(c echo.Context) error {
	return w.adviceDo(c, "advice-restored", w.Advice.Restore)
}

func (w *Pages) adviceDo(c echo.Context, flash string, do func(ctx context.Context, a identity.Actor,
	id workload.ID) (advice.Advice, error)) error {
	k := w.CallOf(c)
	id, back := c.Param("id"), page.LocalPath(c.FormValue("back"), page.AdvicePath)
	if _, err := do(k.Ctx, k.Actor, workload.ID(id)); err != nil {
		return err
	}
	return w.Done(c, flash, back, id, back)
}

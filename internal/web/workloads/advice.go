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
	m := adviceview.PageModel{Header: ui.HeaderModel{Title: say.S("advice.title"), Lead: say.S("advice.lead", "Window",
		say.Duration(r.Rule.Window), "After", say.Duration(r.Rule.After)),
		Tabs: page.UsageTabs(k, scope, page.AdvicePath)},
		Scopes: adviceScopes(k, scope), AsOf: say.S("advice.never")}
	if !r.AsOf.IsZero() {
		m.AsOf = say.S("advice.as_of", "Time", say.At(r.AsOf).Exact)
	}
	m.Tiles = ui.TilesModel{Label: say.S("advice.title"), Items: []ui.TileModel{
		{Label: say.S("advice.tile_saves"), Value: say.Money(r.Saves), Detail: say.S("advice.tile_saves_detail"),
			Test: "advice-saves"},
		{Label: say.S("advice.tile_smaller"), Value: say.Number(float64(ofKind(r.Advice, advice.Smaller)))},
		{Label: say.S("advice.tile_larger"), Value: say.Number(float64(ofKind(r.Advice, advice.Larger)))}}}
	back := page.AdvicePath + "?" + url.Values{"scope": {string(scope)}}.Encode()
	for _, a := range r.Advice {
		item := w.adviceItem(k, a, back)
		item.Workload = w.adviceWorkload(k, a)
		m.Items = append(m.Items, item)
	}
	m.PutTitle = say.S("advice.put", "Count", len(r.Put))
	for _, a := range r.Put {
		m.Put = append(m.Put, adviceview.ItemModel{Title: say.S("advice.put_line", "Workload", a.Workload.Name, "Advice",
			adviceTitle(say, a), "Name", a.Put.Name, "Time", say.At(a.Put.At).Exact), Actions: restoreAction(k, a, back)})
	}
	for _, a := range r.None {
		words := say.S("advice.why_" + string(a.Why))
		if len(m.None) == 0 || m.None[len(m.None)-1].Words != words {
			m.None = append(m.None, adviceview.CauseModel{Words: words})
		}
		m.None[len(m.None)-1].Names = append(m.None[len(m.None)-1].Names, *w.adviceWorkload(k, a))
	}
	if len(m.Items) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "usage", Title: say.S("advice.empty"), Lines: []string{say.S("advice.empty_why")},
			Level: 2, Test: "empty"}
	}
	return page.View{Title: m.Header.Title, Nav: page.UsagePlace(scope), Wide: true, Body: adviceview.Page(m)}, nil
}

func ofKind(list []advice.Advice, kind advice.Kind) (n int) {
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

func (w *Pages) adviceWorkload(k page.Call, a advice.Advice) *ui.StackModel {
	return &ui.StackModel{Title: a.Workload.Name, Href: page.WorkloadPath(a.Workload.ID), Icon: "gpu",
		Detail: strings.Join([]string{a.Workload.OwnerName, w.TeamTitle(a.Workload.Tenant),
			k.Words.SizeTitle(a.Workload.Size)}, " · ")}
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
		Lead: adviceLead(say, a), Tiles: ui.TilesModel{Label: say.S("advice.evidence"), Items: adviceTiles(say, a)}}
	for _, s := range a.Signs {
		m.Notes = append(m.Notes, say.S("advice.sign_"+string(s), "Share", say.Percent(100*shareOf(s, a.Evidence)), "Memory",
			say.Quantity(a.Workload.Size.Memory)))
	}
	if a.Size.Name != "" {
		m.Notes = append(m.Notes, adviceNotes(say, a)...)
	}
	if identity.Can(k.Actor, identity.ChangeWorkload, a.Workload.Resource()) {
		if a.Size.Name != "" && identity.Can(k.Actor, identity.SubmitRequest, identity.Resource{Tenant: a.Workload.Tenant}) {
			m.Actions = append(m.Actions, ui.ActionModel{Link: &ui.LinkButtonModel{Label: say.S("advice.take", "Size",
				say.SizeTitle(a.Size)), Href: takePath(say, a), Kind: ui.Primary, Test: "advice-take"}})
		}
		m.Actions = append(m.Actions, ui.ActionModel{Post: &ui.PostButtonModel{Action: page.AdvicePath + "/" +
			string(a.Workload.ID) + "/dismiss", Hidden: []ui.HiddenModel{{Name: "back", Value: back}},
			Button: ui.ButtonModel{Label: say.S("advice.dismiss"), Test: "advice-dismiss"}}})
	}
	return m
}

func shareOf(s advice.Sign, e advice.Evidence) float64 {
	if s == advice.SlowedDown {
		return e.SlowedShare()
	}
	return e.FullShare()
}

// adviceLead is the evidence in a sentence; nothing where only the end of a program speaks.
func adviceLead(say page.Words, a advice.Advice) string {
	e := a.Evidence
	if e.Measured <= 0 || e.PeakMiB <= 0 && e.Mean <= 0 {
		if e.Measured > 0 {
			return say.S("advice.lead_unused", "Time", say.Duration(e.Measured))
		}
		return ""
	}
	return say.S("advice.lead_seen", "Peak", say.GiB(e.PeakMiB/1024), "Has",
		say.GiB(a.Workload.Size.Accelerator.MemoryGiB), "Time", say.Duration(e.Until.Sub(e.From)))
}

func adviceTiles(say page.Words, a advice.Advice) []ui.TileModel {
	e, has := a.Evidence, a.Workload.Size.Accelerator.MemoryGiB
	if e.Measured <= 0 {
		return nil
	}
	bar := func(label string, share float64) *ui.MeterModel {
		return &ui.MeterModel{Label: label, Bare: true,
			Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: min(1, share)}}}
	}
	tiles := []ui.TileModel{{Label: say.S("advice.peak"), Value: say.GiB(e.PeakMiB / 1024),
		Detail: say.S("advice.peak_of", "Has", say.GiB(has)), Test: "advice-peak"},
		{Label: say.S("advice.mean"), Value: say.Percent(e.Mean), Detail: say.S("advice.high", "High", say.Percent(e.High)),
			Meter: bar(say.S("advice.mean"), e.Mean/100), Test: "advice-mean"}}
	if has > 0 {
		tiles[0].Meter = bar(tiles[0].Label, e.PeakMiB/1024/has)
	}
	return append(tiles, ui.TileModel{Label: say.S("advice.measured"), Value: say.Duration(e.Measured),
		Detail: say.S("advice.coverage", "Share", say.Percent(100*e.Coverage()), "Held", say.Duration(e.Held)),
		Meter:  bar(say.S("advice.measured"), e.Coverage()), Test: "advice-measured"})
}

// adviceNotes are the differences that nobody measures, and where the money comes from.
func adviceNotes(say page.Words, a advice.Advice) []string {
	now, then := a.Workload.Size, a.Size
	notes := []string{say.S("advice.prices", "Now", say.MoneyPerHour(now.PricePerHour), "Then",
		say.MoneyPerHour(then.PricePerHour))}
	if a.Kind == advice.Smaller && then.Accelerator.MemoryGiB > 0 {
		notes = append([]string{say.S("advice.room", "Size", say.SizeTitle(then),
			"Has", say.GiB(then.Accelerator.MemoryGiB))},
			notes...)
	}
	if now.CPU != then.CPU || now.Memory != then.Memory {
		notes = append(notes, say.S("advice.computer", "CPU", then.CPU, "Memory", say.Quantity(then.Memory), "OldCPU",
			now.CPU, "OldMemory", say.Quantity(now.Memory)))
	}
	return notes
}

// takePath is the start page with everything filled in. The old one goes on until somebody stops it: nothing is lost by
// asking.
func takePath(say page.Words, a advice.Advice) string {
	w, reason := a.Workload, say.S("advice.reason", "Workload", a.Workload.Name, "Advice", adviceTitle(say, a))
	if lead := adviceLead(say, a); lead != "" {
		reason += " " + lead
	}
	q := url.Values{"tenant": {w.Tenant}, "kind": {string(w.Kind)}, "size": {a.Size.Name}, "image": {w.Image.Name},
		"replaces": {string(w.ID)}, "reason": {reason}, "mounts": blocks.MountNames(w.Mounts)}
	if w.StorageGiB > 0 {
		q.Set("storage", say.Number(float64(w.StorageGiB))+"Gi")
	}
	if left := w.Lease.Left(say.Now).Truncate(time.Hour); left >= time.Hour &&
		(a.Size.MaxLease == 0 || left <= a.Size.MaxLease.Std()) {
		q.Set("lease", catalog.Duration(left).String())
	}
	return "/start?" + q.Encode()
}

func restoreAction(k page.Call, a advice.Advice, back string) []ui.ActionModel {
	if !identity.Can(k.Actor, identity.ChangeWorkload, a.Workload.Resource()) {
		return nil
	}
	return []ui.ActionModel{{Post: &ui.PostButtonModel{Action: page.AdvicePath + "/" + string(a.Workload.ID) + "/restore",
		Hidden: []ui.HiddenModel{{Name: "back", Value: back}},
		Button: ui.ButtonModel{Label: k.Words.S("advice.restore"), Kind: ui.LinkLike, Small: true, Test: "advice-restore"}}}}
}

// workloadAdvice is what the page of a workload says of its size, and of the one that it replaces.
func (w *Pages) workloadAdvice(k page.Call, s seen) (workloadview.AdviceModel, error) {
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
		m.Put, m.Actions = k.Words.S("advice.put_here", "Advice", adviceTitle(k.Words, a), "Name", a.Put.Name),
			restoreAction(k, a, back)
	case a.Kind != "":
		item := w.adviceItem(k, a, back)
		m.Item = &item
	}
	m.Replaces, err = w.replacesNotice(k, s)
	return m, err
}

// replacesNotice offers to stop the old workload once the one that was started in its place is ready.
func (w *Pages) replacesNotice(k page.Call, s seen) (*ui.NoticeModel, error) {
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
	say := k.Words
	n := &ui.NoticeModel{Kind: ui.Info, Title: say.S("advice.replaces_waits", "Name", old.Name),
		Body: say.S("advice.replaces_waits_body"), Test: "replaces"}
	if s.State == workload.Running {
		n.Kind, n.Title, n.Body = ui.OK, say.S("advice.replaces_ready", "Name", old.Name), say.S("advice.replaces_ready_body",
			"Price", say.MoneyPerHour(old.Size.PricePerHour))
		n.Actions = []ui.ActionModel{}
		if identity.Can(k.Actor, identity.ChangeWorkload, old.Resource()) {
			n.Actions = append(n.Actions, ui.ActionModel{Post: &ui.PostButtonModel{Action: page.WorkloadPath(old.ID) + "/stop",
				Button: ui.ButtonModel{Label: say.S("advice.stop_old", "Name", old.Name), Icon: "stop", Test: "stop-old"}}})
		}
	}
	n.Actions = append(n.Actions, ui.ActionModel{Link: &ui.LinkButtonModel{Label: say.S("advice.open_old", "Name",
		old.Name), Href: page.WorkloadPath(old.ID), Kind: ui.LinkLike, Test: "open-old"}})
	return n, nil
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
	if _, err := do(k.Ctx, k.Actor, workload.ID(c.Param("id"))); err != nil {
		return err
	}
	return w.Done(c, flash, page.LocalPath(c.FormValue("back"), page.AdvicePath))
}

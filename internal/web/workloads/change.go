package workloads

import (
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

func (w *Pages) workloadStop(c echo.Context) error {
	k := w.CallOf(c)
	item, err := w.Workloads.Stop(k.Ctx, k.Actor, workload.ID(c.Param("id")))
	if err != nil {
		return err
	}
	return w.Done(c, "stopped", page.WorkloadPath(item.ID))
}

// workloadStopAsk says what a stop ends and what stays, before anything is stopped.
func (w *Pages) workloadStopAsk(k page.Call) (page.View, error) {
	s, err := w.changeable(k)
	if err != nil {
		return page.View{}, err
	}
	return blocks.AskView(w.stopAsk(k, s)), nil
}

func (w *Pages) stopAsk(k page.Call, s seen) workloadview.AskModel {
	say := k.Words
	m := workloadview.AskModel{
		Header: ui.HeaderModel{Title: say.S("workload.stop_title", "Name", s.Name), Crumbs: workloadCrumbs(say, s.Workload,
			"workload.stop")},
		Lead:  kernelsNow(say, s.Workload),
		Loses: []string{say.S("workload.stop_loses")},
		Keeps: []string{say.S("workload.stop_keeps_history")},
		Form:  ui.FormModel{ID: "ask-stop", Action: page.WorkloadPath(s.ID) + "/stop", Test: "stop-form"},
		Button: ui.ButtonModel{Label: say.S("workload.stop"), Kind: ui.Primary, Icon: "stop",
			Test: "stop-confirm"},
		Cancel: ui.LinkButtonModel{Label: say.S("web.back"), Href: page.WorkloadPath(s.ID), Kind: ui.LinkLike},
	}
	if s.Size.Devices() > 0 {
		m.Loses = append(m.Loses, say.S("workload.stop_loses_gpu"))
	}
	if s.Volume != "" {
		m.Keeps = append([]string{say.S("workload.stop_keeps_storage", "Volume", s.Volume)}, m.Keeps...)
	}
	return m
}

// kernelsNow is what the notebook server says that it does; where it says nothing recent, that it may be at work.
func kernelsNow(say page.Words, item workload.Workload) string {
	a := item.Observed.Activity
	if !a.Fresh(say.Now) || len(a.Kernels) == 0 {
		return say.S("workload.stop_unknown")
	}
	busy := 0
	for _, kernel := range a.Kernels {
		if kernel.State != "idle" {
			busy++
		}
	}
	if busy == 0 {
		return say.S("workload.stop_kernels_idle", "Count", len(a.Kernels), "Last", say.Since(a.LastActivity).Words)
	}
	return say.S("workload.stop_kernels_busy", "Count", busy)
}

func (w *Pages) workloadStart(c echo.Context) error {
	k := w.CallOf(c)
	item, err := w.Workloads.Start(k.Ctx, k.Actor, workload.ID(c.Param("id")))
	if fault.Is(err, fault.Conflict) && fault.As(err).See != "" { // the page says what is missing, and asks for it
		return w.Done(c, "", "/"+fault.As(err).See)
	}
	if err != nil {
		return err
	}
	if item.Desired != workload.WantRunning {
		return w.Done(c, "resume-queued", page.WorkloadPath(item.ID))
	}
	return w.Done(c, "resumed", page.WorkloadPath(item.ID))
}

func (w *Pages) workloadShare(c echo.Context) error {
	k := w.CallOf(c)
	shared := c.FormValue("shared") != ""
	item, err := w.Workloads.Share(k.Ctx, k.Actor, workload.ID(c.Param("id")), shared)
	switch {
	case err != nil:
		return err
	case shared:
		return w.Done(c, "shared", page.WorkloadPath(item.ID))
	}
	return w.Done(c, "unshared", page.WorkloadPath(item.ID))
}

// workloadExtendAsk is the page with the form for a longer lease.
func (w *Pages) workloadExtendAsk(k page.Call) (page.View, error) {
	s, err := w.changeable(k)
	if err != nil {
		return page.View{}, err
	}
	return blocks.AskView(w.extendAsk(k, s, k.Get("lease"), "", nil)), nil
}

// changeable is a workload that the reader may change; the service says why when they may not.
func (w *Pages) changeable(k page.Call) (seen, error) {
	s, err := w.seen(k)
	if err != nil {
		return s, err
	}
	return s, workload.Permit(k.Actor, "workload.change", s.Workload)
}

// extendAsk is a small form; lease and reason are what was typed.
func (w *Pages) extendAsk(k page.Call, s seen, lease, reason string, problems []fault.Field) workloadview.AskModel {
	say := k.Words
	if lease == "" {
		lease = blocks.ExtendBy(s.Workload).String()
	}
	wrong := func(name string) string {
		for _, p := range problems {
			if p.Name == name {
				return say.Text(p.Reason)
			}
		}
		return ""
	}
	hint := say.S("workload.extend_hint")
	if s.Size.MaxLease > 0 {
		hint = say.S("workload.extend_most", "Most", say.Duration(s.Size.MaxLease.Std()), "Ends", say.At(s.Lease.Until).Exact)
	}
	return workloadview.AskModel{
		Header: ui.HeaderModel{Title: say.S("workload.extend_title", "Name", s.Name), Crumbs: workloadCrumbs(say, s.Workload,
			"workload.extend")},
		Lead:   say.S("workload.extend_lead", "Price", say.MoneyPerHour(s.Size.PricePerHour)),
		Errors: page.AskErrors(say, problems, "ask-extend"),
		Form: ui.FormModel{ID: "ask-extend", Action: page.WorkloadPath(s.ID) + "/extend",
			Hidden: []ui.HiddenModel{{Name: "key", Value: w.Requests.NewKey()}}, Test: "extend-form"},
		Fields: []ui.FieldModel{
			{ID: "extend-lease", Name: "lease", Label: say.S("workload.extend_by"), Value: lease, Hint: hint,
				Error: wrong("lease"), Short: true, MaxLength: 32, Autocomplete: "off", Test: "extend-lease",
				List: []string{"1h", "4h", "8h", "1d"}},
			{ID: "extend-reason", Name: "reason", Kind: ui.TextareaField, Rows: 2, Label: say.S("start.reason"), Value: reason,
				Hint: say.S("workload.extend_reason"), Error: wrong("reason"), MaxLength: 500, Test: "extend-reason"},
		},
		Button: ui.ButtonModel{Label: say.S("workload.extend"), Kind: ui.Primary, Icon: "extend", Test: "extend-confirm"},
		Cancel: ui.LinkButtonModel{Label: say.S("web.back"), Href: page.WorkloadPath(s.ID), Kind: ui.LinkLike},
	}
}

func workloadCrumbs(say page.Words, item workload.Workload, last string) []ui.CrumbModel {
	return []ui.CrumbModel{{Label: say.S("home.title"), Href: "/"}, {Label: item.Name, Href: page.WorkloadPath(item.ID)},
		{Label: say.S(last)}}
}

func (w *Pages) workloadExtend(c echo.Context) error {
	k := w.CallOf(c)
	id := workload.ID(c.Param("id"))
	lease, reason := strings.TrimSpace(c.FormValue("lease")), c.FormValue("reason")
	r, err := w.Requests.Extend(k.Ctx, k.Actor, id, lease, reason, c.FormValue("key"))
	switch {
	case err == nil && r.State == request.Approved:
		return w.Done(c, "extended", page.WorkloadPath(id))
	case err == nil:
		return w.Done(c, "extension-asked", page.RequestPath(r.ID))
	case !page.Correctable(err):
		return err
	}
	s, permitErr := w.changeable(k)
	if permitErr != nil {
		return permitErr
	}
	return w.Reply(c, k, page.Page{Name: w.extendPage().Name},
		blocks.AskView(w.extendAsk(k, s, lease, reason, page.ProblemsOf(err))),
		page.StatusOf(err))
}

// workloadResumeAsk is the page that asks an approver to agree to a resume.
func (w *Pages) workloadResumeAsk(k page.Call) (page.View, error) {
	s, err := w.changeable(k)
	if err != nil {
		return page.View{}, err
	}
	return w.resumeAsk(k, s, "", nil)
}

func (w *Pages) resumeAsk(k page.Call, s seen, reason string, problems []fault.Field) (page.View, error) {
	say := k.Words
	lead := say.S("workload.resume_lead", "Ends", say.At(s.Lease.Until).Exact)
	ask, err := w.Requests.ResumeTakes(k.Ctx, k.Actor, s.Workload)
	if err != nil {
		return page.View{}, err
	}
	if ask.NeedsApproval() {
		lead = say.Text(ask.Sentence("budget.needs_approval")) + " " + lead
	}
	wrong := ""
	for _, p := range problems {
		wrong = say.Text(p.Reason)
	}
	return blocks.AskView(workloadview.AskModel{
		Header: ui.HeaderModel{Title: say.S("workload.resume_title", "Name", s.Name), Crumbs: workloadCrumbs(say, s.Workload,
			"workload.resume")},
		Lead:   lead,
		Errors: page.AskErrors(say, problems, "ask-resume"),
		Form:   ui.FormModel{ID: "ask-resume", Action: "/" + s.ResumePath(), Test: "resume-form"},
		Fields: []ui.FieldModel{{ID: "resume-reason", Name: "reason", Kind: ui.TextareaField, Rows: 2,
			Label: say.S("start.reason"), Value: reason, Hint: say.S("workload.resume_reason"), Error: wrong, Required: true,
			MaxLength: 500, Test: "resume-reason"}},
		Button: ui.ButtonModel{Label: say.S("workload.resume_ask"), Kind: ui.Primary, Icon: "check", Test: "resume-confirm"},
		Cancel: ui.LinkButtonModel{Label: say.S("web.back"), Href: page.WorkloadPath(s.ID), Kind: ui.LinkLike},
	}), nil
}

func (w *Pages) workloadResume(c echo.Context) error {
	k := w.CallOf(c)
	id, reason := workload.ID(c.Param("id")), c.FormValue("reason")
	r, err := w.Requests.Resume(k.Ctx, k.Actor, id, reason)
	switch {
	case err == nil && r.State == request.Approved:
		return w.Done(c, "resumed", page.WorkloadPath(id))
	case err == nil:
		return w.Done(c, "resume-asked", page.RequestPath(r.ID))
	case !page.Correctable(err):
		return err
	}
	s, permitErr := w.changeable(k)
	if permitErr != nil {
		return permitErr
	}
	v, viewErr := w.resumeAsk(k, s, reason, page.ProblemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, page.Page{Name: w.resumePage().Name}, v, page.StatusOf(err))
}

// workloadDeleteAsk says what goes and what stays before anything does.
func (w *Pages) workloadDeleteAsk(k page.Call) (page.View, error) {
	s, err := w.changeable(k)
	if err != nil {
		return page.View{}, err
	}
	return blocks.AskView(w.deleteAsk(k, s)), nil
}

func (w *Pages) deleteAsk(k page.Call, s seen) workloadview.AskModel {
	say := k.Words
	m := workloadview.AskModel{
		Header: ui.HeaderModel{Title: say.S("workload.delete_title", "Name", s.Name), Crumbs: workloadCrumbs(say, s.Workload,
			"workload.delete")},
		Lead:  say.S("workload.delete_lead"),
		Loses: []string{say.S("workload.loses_running"), say.S("workload.loses_address", "Name", s.Name)},
		Keeps: []string{say.S("workload.keeps_history")},
		Form:  ui.FormModel{ID: "ask-delete", Action: page.WorkloadPath(s.ID) + "/delete", Test: "delete-form"},
		Button: ui.ButtonModel{Label: say.S("workload.delete"), Kind: ui.DangerPrimary, Icon: "trash",
			Test: "delete-confirm"},
		Cancel: ui.LinkButtonModel{Label: say.S("web.back"), Href: page.WorkloadPath(s.ID), Kind: ui.LinkLike},
	}
	if s.Volume != "" {
		m.Keeps = append([]string{say.S("workload.keeps_storage", "Volume", s.Volume, "Size",
			say.GiB(float64(s.StorageGiB)))}, m.Keeps...)
		m.Fields = []ui.FieldModel{{ID: "delete-storage", Name: "storage", Kind: ui.CheckboxField,
			Label: say.S("workload.delete_storage", "Volume", s.Volume), Hint: say.S("workload.delete_storage_hint"),
			Test: "delete-storage"}}
	}
	return m
}

func (w *Pages) workloadDelete(c echo.Context) error {
	k := w.CallOf(c)
	item, err := w.Workloads.Delete(k.Ctx, k.Actor, workload.ID(c.Param("id")), c.FormValue("storage") != "")
	if err != nil {
		return err
	}
	return w.Done(c, "deleted", page.WorkloadPath(item.ID))
}

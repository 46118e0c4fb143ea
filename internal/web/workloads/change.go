package workloads

import (
	"strings"

	"github.com/a-h/templ"
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
	m := stopModel(k.Words, s)
	return questionView(m.Header, workloadview.StopPage(m)), nil
}

// questionView is the page of a question that a dialog asks where scripts run.
func questionView(header ui.HeaderModel, body templ.Component) page.View {
	return page.View{Title: header.Title, Nav: "/", Body: body}
}

func stopModel(say page.Words, s details) workloadview.StopModel {
	return workloadview.StopModel{Header: ui.HeaderModel{Title: say.S("workload.stop_title", "Name", s.Name),
		Crumbs: workloadCrumbs(say, s.Workload, "workload.stop")}, Path: page.WorkloadPath(s.ID),
		Now: kernelsNow(say, s.Workload), GPU: s.Size.Devices() > 0, Volume: s.Volume}
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
		return w.Done(c, "shared", connectPath(page.WorkloadPath(item.ID)), string(item.ID))
	}
	return w.Done(c, "unshared", connectPath(page.WorkloadPath(item.ID)), string(item.ID), "yes")
}

// workloadExtendAsk is the page with the form for a longer lease.
func (w *Pages) workloadExtendAsk(k page.Call) (page.View, error) {
	s, err := w.changeable(k)
	if err != nil {
		return page.View{}, err
	}
	m := w.extendModel(k, s, k.Get("lease"), "", nil)
	return questionView(m.Header, workloadview.ExtendPage(m)), nil
}

// changeable is a workload that the reader may change; the service says why when they may not.
func (w *Pages) changeable(k page.Call) (details, error) {
	s, err := w.details(k)
	if err != nil {
		return s, err
	}
	return s, workload.Permit(k.Actor, "workload.change", s.Workload)
}

// extendModel is a small form; lease and reason are what was typed.
func (w *Pages) extendModel(k page.Call, s details, lease, reason string,
	problems []fault.Field) workloadview.ExtendModel {
	say := k.Words
	if lease == "" {
		lease = blocks.ExtendBy(s.Workload).String()
	}
	m := workloadview.ExtendModel{Header: ui.HeaderModel{Title: say.S("workload.extend_title", "Name", s.Name),
		Crumbs: workloadCrumbs(say, s.Workload, "workload.extend")}, Path: page.WorkloadPath(s.ID),
		Errors: page.AskErrors(say, problems, "ask-extend"), Key: w.Requests.NewKey(),
		Price:  say.MoneyPerHour(times(s.Size.PricePerHour, s.Replicas.Want())),
		Lease:  workloadview.FieldModel{Value: lease, Error: page.WrongIn(say, problems, "lease")},
		Reason: workloadview.FieldModel{Value: reason, Error: page.WrongIn(say, problems, "reason")}}
	if s.Size.MaxLease > 0 {
		m.Most, m.Ends = say.Duration(s.Size.MaxLease.Std()), say.At(s.Lease.Until).Exact
	}
	return m
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
		if w.Site().Undo == 0 || r.Decider() != request.DeciderRule {
			return w.Done(c, "extended", page.WorkloadPath(id))
		}
		return w.Done(c, "extended", page.WorkloadPath(id), string(r.ID))
	case err == nil:
		return w.Done(c, "extension-asked", page.RequestPath(r.ID))
	case !page.Correctable(err):
		return err
	}
	s, permitErr := w.changeable(k)
	if permitErr != nil {
		return permitErr
	}
	m := w.extendModel(k, s, lease, reason, page.ProblemsOf(err))
	return w.Reply(c, k, page.Page{Name: w.extendPage().Name}, questionView(m.Header, workloadview.ExtendPage(m)),
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

func (w *Pages) resumeAsk(k page.Call, s details, reason string, problems []fault.Field) (page.View, error) {
	say := k.Words
	ask, err := w.Requests.ResumeTakes(k.Ctx, k.Actor, s.Workload)
	if err != nil {
		return page.View{}, err
	}
	m := workloadview.ResumeModel{Header: ui.HeaderModel{Title: say.S("workload.resume_title", "Name", s.Name),
		Crumbs: workloadCrumbs(say, s.Workload, "workload.resume")}, Path: page.WorkloadPath(s.ID),
		Action: "/" + s.ResumePath(), Errors: page.AskErrors(say, problems, "ask-resume"),
		Ends: say.At(s.Lease.Until).Exact, Reason: workloadview.FieldModel{Value: reason}}
	if ask.NeedsApproval() {
		m.Why = say.Text(ask.Sentence("budget.needs_approval"))
	}
	for _, p := range problems {
		m.Reason.Error = say.Text(p.Reason)
	}
	return questionView(m.Header, workloadview.ResumePage(m)), nil
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
	m := deleteModel(k.Words, s)
	return questionView(m.Header, workloadview.DeletePage(m)), nil
}

func deleteModel(say page.Words, s details) workloadview.DeleteModel {
	m := workloadview.DeleteModel{Header: ui.HeaderModel{Title: say.S("workload.delete_title", "Name", s.Name),
		Crumbs: workloadCrumbs(say, s.Workload, "workload.delete")}, Path: page.WorkloadPath(s.ID), Name: s.Name}
	if s.Volume != "" {
		m.Volume, m.GiB = s.Volume, say.GiB(float64(s.StorageGiB))
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

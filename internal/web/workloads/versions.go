package workloads

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/podlogs"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// versionsModel is what an endpoint runs and ran.
func (w *Pages) versionsModel(k page.Call, s details) workloadview.VersionsModel {
	say := k.Words
	m := workloadview.VersionsModel{ID: "workload-versions-region",
		NoticeID: "workload-version-notice", Hidden: !s.Revisable()}
	if m.Hidden {
		return m
	}
	path := page.WorkloadPath(s.ID)
	if s.mayChange && s.CanRevise() {
		m.New = path + "/versions"
	}
	seen := s.Observed.Rollout
	if r := s.Revisions.Rollout; r != nil {
		m.Rolling = &workloadview.RollingModel{Version: r.To, From: r.From, StopFirst: r.StopFirst,
			Until: say.At(r.Deadline).Words}
		if seen != nil && seen.Revision == r.To {
			m.Rolling.Reason = say.Text(seen.Reason)
			m.Log = w.rolloutTail(k, s)
		}
		if c := r.Canary; c != nil {
			m.Rolling.Canary, m.Rolling.Percent = true, c.Percent
			if s.mayChange && s.CanPromote() {
				m.Rolling.Promote = path + "/promote"
			}
		}
		if s.mayChange && s.CanRollBack(r.From) {
			m.Rolling.Abort = path + "/rollback"
		}
	}
	list := s.RevisionList()
	for _, r := range slices.Backward(list) {
		m.Rows = append(m.Rows, versionRow(say, s, r))
	}
	if last := list[len(list)-1]; last.State == workload.RevisionFailed && say.Now.Sub(last.Changed) < 24*time.Hour {
		m.Failed = &workloadview.FailedModel{Version: last.Number, From: s.Revision(), Reason: say.Text(last.Reason)}
	}
	return m
}

func versionRow(say page.Words, s details, r workload.Revision) workloadview.VersionModel {
	v := workloadview.VersionModel{Number: r.Number, Of: r.Of, Image: say.ImageTitle(r.Image), State: string(r.State),
		By: r.By, At: say.Ago(r.At)}
	if r.Model != nil {
		v.Model = r.Model.ServedName()
	}
	v.Reason = say.Text(r.Reason)
	if s.mayChange && s.Revisions.Rollout == nil && s.CanRollBack(r.Number) {
		v.RollBack = page.WorkloadPath(s.ID) + "/rollback"
	}
	return v
}

// rolloutTail is the end of the log of a version that is on its way and says why it is not ready; nil for none.
func (w *Pages) rolloutTail(k page.Call, s details) *workloadview.LogTailModel {
	seen := s.Observed.Rollout
	if seen.Pod == "" || seen.Reason.IsZero() || !identity.Can(k.Actor, identity.ReadLogs, s.Resource()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(k.Ctx, tailWithin)
	defer cancel()
	lines, err := w.Logs.Read(ctx, k.Actor, s.ID, podlogs.Query{Tail: tailLines, Rollout: true})
	if err != nil || len(lines) == 0 {
		return nil
	}
	return &workloadview.LogTailModel{Log: workloadview.LogModel{ID: "rollout-log-tail",
		Title: k.Words.S("workload.logs_last"), Lines: logLines(k.Words, lines, ""), Compact: true},
		All: page.WorkloadPath(s.ID) + "/logs"}
}

// versionForm is what was typed for another version.
type versionForm struct {
	Image, Model, Revision, Context, Quantization, Ready, Percent string
	StopFirst                                                     bool
}

// presentVersion is the form with what runs now.
func presentVersion(s details) versionForm {
	f := versionForm{Image: s.Image.Name, Ready: catalog.Duration(workload.UsualReadyWithin).String()}
	if m := s.Model; m != nil {
		f.Model, f.Revision, f.Quantization = m.Name, m.Revision, m.Quantization
		if m.ContextLength > 0 {
			f.Context = strconv.Itoa(m.ContextLength)
		}
	}
	return f
}

// draft leaves out the model where it is as it was: an image that takes none then needs none.
func (f versionForm) draft(s details) (request.RevisionDraft, error) {
	d := request.RevisionDraft{Image: f.Image, StopFirst: f.StopFirst, ReadyWithin: f.Ready}
	if f.Percent != "" {
		n, err := strconv.Atoi(f.Percent)
		if err != nil {
			return d, fault.InvalidFields([]fault.Field{{Name: "percent", Reason: i18n.T("replicas.number")}})
		}
		d.Percent = &n
	}
	was := presentVersion(s)
	if f.Model == was.Model && f.Revision == was.Revision && f.Context == was.Context &&
		f.Quantization == was.Quantization {
		return d, nil
	}
	d.Model = &catalog.Model{Name: f.Model, Revision: f.Revision, Quantization: f.Quantization}
	if s.Model != nil && s.Model.Name == f.Model {
		d.Model.Source = s.Model.Source
	}
	if f.Context != "" {
		n, err := strconv.Atoi(f.Context)
		if err != nil || n < 0 {
			return d, fault.InvalidFields([]fault.Field{{Name: "model.contextLength", Reason: i18n.T("replicas.number")}})
		}
		d.Model.ContextLength = n
	}
	return d, nil
}

// newVersionAsk is the page with the form.
func (w *Pages) newVersionAsk(k page.Call) (page.View, error) {
	s, err := w.changeable(k)
	if err != nil {
		return page.View{}, err
	}
	m, err := w.newVersionModel(k, s, presentVersion(s), nil)
	return questionView(m.Header, workloadview.NewVersionPage(m)), err
}

// newVersionModel is the form with what was typed, and how the version would come up.
func (w *Pages) newVersionModel(k page.Call, s details, f versionForm,
	problems []fault.Field) (workloadview.NewVersionModel, error) {
	say := k.Words
	plan, err := w.Requests.PreviewRevision(k.Ctx, k.Actor, s.ID, request.RevisionDraft{})
	if err == nil && !s.CanRevise() {
		err = plan.Problem
	}
	if err != nil {
		return workloadview.NewVersionModel{}, err
	}
	wrong := func(field string) string { return page.WrongIn(say, problems, field) }
	m := workloadview.NewVersionModel{Header: ui.HeaderModel{Title: say.S("versions.new_title", "Name", s.Name),
		Crumbs: workloadCrumbs(say, s.Workload, "versions.new")}, Path: page.WorkloadPath(s.ID), From: s.Revision(),
		Errors: page.AskErrors(say, problems, "ask-version"), Agreed: f.StopFirst, Stop: wrong("stopFirst"),
		Image: workloadview.FieldModel{Value: f.Image, Error: wrong("image")},
		Ready: workloadview.FieldModel{Value: f.Ready, Error: wrong("readyWithin")}}
	var quantizations []string
	takes := s.Model != nil
	for _, i := range w.Images(blocks.StartForm{Kind: string(catalog.Endpoint), Tenant: s.Tenant}) {
		if i.PodsBackend() != s.Image.PodsBackend() {
			continue
		}
		m.Images = append(m.Images, ui.OptionModel{Value: i.Name, Label: blocks.ImageTitle(say, i)})
		if i.Runtime != nil {
			takes, quantizations = true, append(quantizations, i.Runtime.Quantizations...)
		}
	}
	if !slices.ContainsFunc(m.Images, func(o ui.OptionModel) bool { return o.Value == s.Image.Name }) {
		m.Images = append(m.Images, ui.OptionModel{Value: s.Image.Name, Label: say.ImageTitle(s.Image)})
	}
	if takes {
		m.Model = versionModel(f, wrong, quantizations)
	}
	m.Version, m.Why, m.Stops = plan.Number, say.Text(plan.Why), !plan.Why.IsZero()
	m.Down = plan.StopFirst && !m.Stops
	if !plan.StopFirst && !s.Image.NeedsKServe() {
		m.Percent = workloadview.FieldModel{Value: f.Percent, Error: wrong("percent")}
		m.Shares = []ui.OptionModel{{Label: say.S("versions.percent_all")}}
		for _, n := range []int{5, 10, 25, 50} {
			m.Shares = append(m.Shares, ui.OptionModel{Value: strconv.Itoa(n),
				Label: say.S("versions.percent_of", "Percent", n)})
		}
	}
	return m, nil
}

func versionModel(f versionForm, wrong func(string) string,
	quantizations []string) *workloadview.VersionModelModel {
	m := &workloadview.VersionModelModel{
		Name:         workloadview.FieldModel{Value: f.Model, Error: cmp.Or(wrong("model.name"), wrong("model.source"))},
		Revision:     workloadview.FieldModel{Value: f.Revision, Error: wrong("model.revision")},
		Context:      workloadview.FieldModel{Value: f.Context, Error: wrong("model.contextLength")},
		Quantization: workloadview.FieldModel{Value: f.Quantization, Error: wrong("model.quantization")}}
	slices.Sort(quantizations)
	for _, q := range slices.Compact(quantizations) {
		m.Quantizations = append(m.Quantizations, ui.OptionModel{Value: q, Label: q})
	}
	return m
}

func (w *Pages) versionCreate(c echo.Context) error {
	k := w.CallOf(c)
	s, err := w.changeable(k)
	if err != nil {
		return err
	}
	typed := func(name string) string { return strings.TrimSpace(c.FormValue(name)) }
	f := versionForm{Image: typed("image"), Model: typed("model.name"), Revision: typed("model.revision"),
		Context: typed("model.contextLength"), Quantization: typed("model.quantization"), Ready: typed("readyWithin"),
		Percent:   typed("percent"),
		StopFirst: c.FormValue("stopFirst") != ""}
	d, err := f.draft(s)
	if f.Image == s.Image.Name && d.Model != nil { // the image stays as it was pinned
		d.Image = ""
	}
	if err == nil {
		_, err = w.Requests.Revise(k.Ctx, k.Actor, s.ID, d)
	}
	switch {
	case err == nil:
		return w.Done(c, "version-started", page.WorkloadPath(s.ID))
	case !page.Correctable(err) || !s.CanRevise():
		return err
	}
	m, modelErr := w.newVersionModel(k, s, f, page.ProblemsOf(err))
	if modelErr != nil {
		return modelErr
	}
	return w.Reply(c, k, page.Page{Name: w.newVersionPage().Name}, questionView(m.Header, workloadview.NewVersionPage(m)),
		page.StatusOf(err))
}

// workloadRollBack ends what is on its way, or brings an older version back.
func (w *Pages) workloadRollBack(c echo.Context) error {
	k := w.CallOf(c)
	id := workload.ID(c.Param("id"))
	number, _ := strconv.Atoi(c.FormValue("version")) // none: the previous one
	was, err := w.Workloads.Get(k.Ctx, k.Actor, id)
	if err != nil {
		return err
	}
	if _, err := w.Requests.RollBack(k.Ctx, k.Actor, id, number); err != nil {
		return err
	}
	if was.Revisions.Rollout != nil {
		return w.Done(c, "version-aborted", page.WorkloadPath(id))
	}
	return w.Done(c, "version-back", page.WorkloadPath(id))
}

func (w *Pages) workloadPromote(c echo.Context) error {
	k := w.CallOf(c)
	item, err := w.Workloads.Promote(k.Ctx, k.Actor, workload.ID(c.Param("id")))
	if err != nil {
		return err
	}
	return w.Done(c, "version-promoted", page.WorkloadPath(item.ID))
}

func (w *Pages) newVersionPage() page.Page {
	return page.Page{Name: "new-version", Build: w.newVersionAsk}
}

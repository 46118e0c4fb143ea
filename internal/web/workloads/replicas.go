package workloads

import (
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// replicasModel is how many pods an endpoint has, and how many it may have.
func replicasModel(say page.Words, s details) workloadview.ReplicasModel {
	r := s.Replicas
	m := workloadview.ReplicasModel{ID: "workload-replicas", Hidden: r.Most() == 1, Wanted: r.Want(), Min: r.Least(),
		Max: r.Most(), Price: say.MoneyPerHour(times(s.Size.PricePerHour, r.Want()))}
	if s.Desired == workload.WantRunning {
		m.Ready = s.Observed.ReadyReplicas()
	}
	if s.mayChange && s.CanScale() {
		m.Change = page.WorkloadPath(s.ID) + "/replicas"
	}
	return m
}

func times(m usage.Money, n int) usage.Money {
	return usage.Money{Minor: m.Minor * int64(n), Currency: m.Currency}
}

// scaleAsk is the page with the form for another number of replicas.
func (w *Pages) scaleAsk(k page.Call) (page.View, error) {
	s, err := w.changeable(k)
	if err != nil {
		return page.View{}, err
	}
	m, err := w.scaleModel(k, s, strconv.Itoa(s.Replicas.Want()), nil)
	return questionView(m.Header, workloadview.ScalePage(m)), err
}

// scaleModel is the form; wanted is what was typed.
func (w *Pages) scaleModel(k page.Call, s details, wanted string,
	problems []fault.Field) (workloadview.ScaleModel, error) {
	say := k.Words
	m := workloadview.ScaleModel{Header: ui.HeaderModel{Title: say.S("replicas.change_title", "Name", s.Name),
		Crumbs: workloadCrumbs(say, s.Workload, "replicas.title")}, Path: page.WorkloadPath(s.ID),
		Errors: page.AskErrors(say, problems, "ask-replicas"), Size: say.SizeTitle(s.Size),
		Price: say.MoneyPerHour(s.Size.PricePerHour), Min: s.Replicas.Least(), Max: s.Replicas.Most(),
		Now:    s.Replicas.Want(),
		Wanted: workloadview.FieldModel{Value: wanted, Error: page.WrongIn(say, problems, "wanted")}}
	now, err := w.Workloads.PreviewScale(k.Ctx, k.Actor, s.ID, 0)
	m.Used, m.Limit = now.Used, now.Limit
	return m, err
}

func (w *Pages) workloadScale(c echo.Context) error {
	k := w.CallOf(c)
	id, typed := workload.ID(c.Param("id")), strings.TrimSpace(c.FormValue("wanted"))
	was, err := w.Workloads.Get(k.Ctx, k.Actor, id)
	if err != nil {
		return err
	}
	err = w.scale(k, id, typed)
	switch {
	case err == nil:
		return w.Done(c, "scaled", page.WorkloadPath(id), string(id), strconv.Itoa(was.Replicas.Want()))
	case !page.Correctable(err):
		return err
	}
	s, permitErr := w.changeable(k)
	if permitErr != nil {
		return permitErr
	}
	m, modelErr := w.scaleModel(k, s, typed, page.ProblemsOf(err))
	if modelErr != nil {
		return modelErr
	}
	return w.Reply(c, k, page.Page{Name: w.scalePage().Name}, questionView(m.Header, workloadview.ScalePage(m)),
		page.StatusOf(err))
}

func (w *Pages) scale(k page.Call, id workload.ID, typed string) error {
	wanted, err := strconv.Atoi(typed)
	if err != nil {
		return fault.InvalidFields([]fault.Field{{Name: "wanted", Reason: i18n.T("replicas.number")}})
	}
	_, err = w.Workloads.Scale(k.Ctx, k.Actor, id, wanted)
	return err
}

func (w *Pages) scalePage() page.Page { return page.Page{Name: "replicas", Build: w.scaleAsk} }

package workloads

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// replicasModel is how many pods an endpoint has, and how many it may have.
func replicasModel(say page.Words, s details) workloadview.ReplicasModel {
	r := s.Replicas
	m := workloadview.ReplicasModel{ID: "workload-replicas",
		Hidden: s.Kind != catalog.Endpoint || !r.Can() && !s.mayChange,
		Wanted: r.Want() + r.Surge, Min: r.Lowest(), Max: r.Most(),
		Price:  say.MoneyPerHour(times(s.Size.PricePerHour, r.Want()+r.Surge)),
		Asleep: s.Asleep(), Short: say.Text(r.Short), Scaling: blocks.ScalingFacts(say, r.Scaling)}
	if s.Desired == workload.WantRunning {
		m.Ready = s.Observed.ReadyReplicas()
	}
	if s.ScaledByKEDA() {
		m.KEDA = r.Top()
		if a := s.Observed.Autoscaler; a != nil {
			m.KEDATrouble = a.Detail
		}
	}
	if m.Nodes = s.Image.NeedsLeaderWorkerSet(); m.Nodes {
		return m
	}
	if s.mayChange && s.CanScale() && !r.Scaling.Automatic() {
		m.Change = page.WorkloadPath(s.ID) + "/replicas"
	}
	if s.mayChange && s.CanDelete() && m.Change == "" { // else the menu of the page leads there
		m.ChangeScaling = page.WorkloadPath(s.ID) + "/scaling"
	}
	return m
}

// notAllReady says how many replicas of a running endpoint answer, where that is not all of them, and what keeps the
// others.
func notAllReady(say page.Words, s details) (some, others string) {
	ready, want := s.Observed.ReadyReplicas(), s.Replicas.Want()+s.Replicas.Surge
	if s.State != workload.Running || s.Kind != catalog.Endpoint || s.Replicas.Most() < 2 || ready >= want {
		return "", ""
	}
	var words []string
	waiting, reasons := map[string][]string{}, []string{}
	for _, p := range s.Unready() {
		reason := cmp.Or(say.Text(p.Reason), say.S("replicas.see_events"))
		if waiting[reason] == nil {
			reasons = append(reasons, reason)
		}
		waiting[reason] = append(waiting[reason], p.Pod)
	}
	for _, reason := range reasons {
		words = append(words, say.S("replicas.unready_pods", "Pods", strings.Join(waiting[reason], ", "), "Reason",
			reason))
	}
	if !s.Observed.Missing.IsZero() {
		words = append(words, say.S("replicas.missing", "Reason", say.Text(s.Observed.Missing)))
	}
	return say.S("replicas.some_ready", "Ready", ready, "Wanted", want), strings.Join(words, " ")
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
		Price: say.MoneyPerHour(s.Size.PricePerHour), Min: s.Replicas.Lowest(), Max: s.Replicas.Most(),
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

// scalingAsk is the page with the form for how an endpoint scales.
func (w *Pages) scalingAsk(k page.Call) (page.View, error) {
	s, err := w.changeable(k)
	if err != nil {
		return page.View{}, err
	}
	m, err := w.scalingModel(k, s, strconv.Itoa(s.Replicas.Lowest()), s.Replicas.Scaling.Typed(), nil)
	return questionView(m.Header, workloadview.ScalingPage(m)), err
}

// scalingModel is the form; least and typed are what was typed. What the least and the most cost is shown with it.
func (w *Pages) scalingModel(k page.Call, s details, least string, typed autoscale.Typed,
	problems []fault.Field) (workloadview.ScalingModel, error) {
	say := k.Words
	lowest := s.Replicas.Lowest()
	if n, err := strconv.Atoi(least); err == nil && n >= 0 && n <= s.Replicas.Most() {
		lowest = n
	}
	m := workloadview.ScalingModel{Header: ui.HeaderModel{Title: say.S("scaling.change_title", "Name", s.Name),
		Crumbs: workloadCrumbs(say, s.Workload, "scaling.title")}, Path: page.WorkloadPath(s.ID),
		Errors: page.AskErrors(say, problems, "ask-scaling"), Size: say.SizeTitle(s.Size), Least: lowest,
		Most: s.Replicas.Most(), LeastPrice: say.MoneyPerHour(times(s.Size.PricePerHour, lowest)),
		MostPrice: say.MoneyPerHour(times(s.Size.PricePerHour, s.Replicas.Most())),
		Min:       workloadview.FieldModel{Value: least, Error: page.WrongIn(say, problems, "min")},
		Fields: blocks.ScalingFields(say, typed, s.Image, s.Size,
			func(field string) string { return page.WrongIn(say, problems, field) }, "")}
	now, err := w.Workloads.PreviewScale(k.Ctx, k.Actor, s.ID, 0)
	m.Used, m.Limit = now.Used, now.Limit
	return m, err
}

func (w *Pages) workloadScaling(c echo.Context) error {
	k := w.CallOf(c)
	id, least := workload.ID(c.Param("id")), strings.TrimSpace(c.FormValue("min"))
	typed := autoscale.Typed{Metric: c.FormValue("metric"), Target: c.FormValue("target"),
		ScaleDownAfter: c.FormValue("scaleDownAfter"), ToZeroAfter: c.FormValue("toZeroAfter")}
	err := w.setScaling(k, id, least, typed)
	switch {
	case err == nil:
		return w.Done(c, "scaling-set", page.WorkloadPath(id))
	case !page.Correctable(err):
		return err
	}
	s, permitErr := w.changeable(k)
	if permitErr != nil {
		return permitErr
	}
	m, modelErr := w.scalingModel(k, s, least, typed, page.ProblemsOf(err))
	if modelErr != nil {
		return modelErr
	}
	return w.Reply(c, k, page.Page{Name: w.scalingPage().Name}, questionView(m.Header, workloadview.ScalingPage(m)),
		page.StatusOf(err))
}

// setScaling leaves out what means nothing: how long to wait where the owner sets the number, or where it never sleeps.
func (w *Pages) setScaling(k page.Call, id workload.ID, least string, typed autoscale.Typed) error {
	n, err := strconv.Atoi(least)
	if err != nil {
		return fault.InvalidFields([]fault.Field{{Name: "min", Reason: i18n.T("replicas.number")}})
	}
	if typed.Metric == "" {
		typed.Target, typed.ScaleDownAfter = "", ""
	}
	if n > 0 {
		typed.ToZeroAfter = ""
	}
	_, err = w.Workloads.SetScaling(k.Ctx, k.Actor, id, n, typed)
	return err
}

func (w *Pages) scalingPage() page.Page { return page.Page{Name: "scaling", Build: w.scalingAsk} }

func (w *Pages) scalePage() page.Page { return page.Page{Name: "replicas", Build: w.scaleAsk} }

package workloads

import (
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// reachModel is hidden for what is no endpoint, and where nothing can be reached from outside.
func (w *Pages) reachModel(k page.Call, s details) (workloadview.ReachModel, error) {
	say := k.Words
	m := workloadview.ReachModel{ID: "workload-reach", Name: s.Name}
	outside := w.OutsideURL(s.Name)
	if outside == "" || !s.CanReachOutside() {
		m.Hidden = true
		return m, nil
	}
	path := page.WorkloadPath(s.ID)
	if s.ReachedFromOutside(say.Now) {
		base := blocks.OpenAddress(outside, "/v1")
		m.Outside, m.Inside = base, blocks.OpenAddress(w.AppURL(s.Name), "/v1")
		m.Curl = callsOf(base).Curl
		m.By, m.Since = s.Reach.By, say.At(s.Reach.Since).Exact
		if !s.Reach.Until.IsZero() {
			m.Until = say.At(s.Reach.Until).Exact
		}
		if identity.Can(k.Actor, identity.CloseReach, s.Resource()) {
			m.Close = path + "/reach/close"
		}
		return m, nil
	}
	if s.Reach.External {
		m.Ended = say.At(s.Reach.Until).Exact
	}
	waits, err := w.Requests.PendingReach(k.Ctx, k.Actor, s.Workload)
	if err != nil {
		return m, err
	}
	switch {
	case waits.ID != "":
		m.Waits, m.Request = say.Text(waits.Waits()), page.RequestPath(waits.ID)
	case s.mayChange:
		m.Ask = path + "/reach"
	}
	return m, nil
}

// workloadReachAsk is the page that asks for access from outside.
func (w *Pages) workloadReachAsk(k page.Call) (page.View, error) {
	s, err := w.changeable(k)
	if err != nil {
		return page.View{}, err
	}
	switch {
	case s.Kind != catalog.Endpoint:
		return page.View{}, fault.New(fault.Conflict, request.EndpointsOnly())
	case w.OutsideURL(s.Name) == "":
		return page.View{}, fault.New(fault.Conflict, request.ReachOff())
	}
	return w.reachAsk(k, s, request.ReachDraft{Key: w.Requests.NewKey()}, nil), nil
}

func (w *Pages) reachAsk(k page.Call, s details, d request.ReachDraft, problems []fault.Field) page.View {
	say := k.Words
	m := workloadview.ReachAskModel{Header: ui.HeaderModel{Title: say.S("reach.ask_title", "Name", s.Name),
		Crumbs: workloadCrumbs(say, s.Workload, "reach.ask")}, Path: page.WorkloadPath(s.ID), Key: d.Key,
		Errors: page.AskErrors(say, problems, "ask-reach"), Address: w.OutsideURL(s.Name),
		Earliest: say.Now.UTC().Format(time.DateOnly),
		Reason:   workloadview.FieldModel{Value: d.Reason, Error: page.WrongIn(say, problems, "reason")},
		Until:    workloadview.FieldModel{Value: d.Until, Error: page.WrongIn(say, problems, "until")}}
	return questionView(m.Header, workloadview.ReachPage(m))
}

func (w *Pages) workloadReach(c echo.Context) error {
	k := w.CallOf(c)
	d := request.ReachDraft{Reason: c.FormValue("reason"), Until: c.FormValue("until"), Key: c.FormValue("key")}
	r, err := w.Requests.Reach(k.Ctx, k.Actor, workload.ID(c.Param("id")), d)
	if err == nil {
		return w.Done(c, "reach-asked", page.RequestPath(r.ID))
	}
	if !page.Correctable(err) {
		return err
	}
	s, permitErr := w.changeable(k)
	if permitErr != nil {
		return permitErr
	}
	return w.Reply(c, k, page.Page{Name: w.reachPage().Name}, w.reachAsk(k, s, d, page.ProblemsOf(err)),
		page.StatusOf(err))
}

// workloadCloseReach goes back to the request for who approved it: they need not be able to see the endpoint itself.
func (w *Pages) workloadCloseReach(c echo.Context) error {
	k := w.CallOf(c)
	item, err := w.Workloads.CloseToOutside(k.Ctx, k.Actor, workload.ID(c.Param("id")))
	if err != nil {
		return err
	}
	if id := request.ID(c.FormValue("request")); id != "" {
		if r, err := w.Requests.Get(k.Ctx, k.Actor, id); err == nil {
			return w.Done(c, "reach-closed", page.RequestPath(r.ID))
		}
	}
	return w.Done(c, "reach-closed", page.WorkloadPath(item.ID))
}

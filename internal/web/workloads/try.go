package workloads

import (
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/gateway"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// Tries passes a call of the page on to an endpoint; see gateway.Gateway.Try.
type Tries interface {
	Try(w http.ResponseWriter, r *http.Request, a identity.Actor, t gateway.Trial) error
}

// workloadTryIt answers: what does it say when it is asked.
func (w *Pages) workloadTryIt(k page.Call) (page.View, error) {
	s, err := w.details(k)
	if err != nil {
		return page.View{}, err
	}
	if err := tryable(s.Workload); err != nil {
		return page.View{}, err
	}
	m := workloadview.TryModel{State: tryState(k.Words, s.Workload), Plain: !s.Image.SpeaksOpenAI()}
	if served := s.Answering().Model; served != nil {
		m.Model = served.ServedName()
	}
	if identity.Can(k.Actor, identity.OpenWorkload, s.ResourceAt(k.Words.Now)) {
		m.Action = page.TryPath(s.ID)
		if address := w.AppURL(s.Name); address != "" {
			m.Calls = callsOf(callsAddress(s.Workload, address))
		}
	}
	if hasKeys(s) {
		m.Keys = keysPath(s.ID)
	}
	v := w.workloadView(k, s, workloadview.Try, workloadview.PageModel{Try: m})
	v.Parts = append(v.Parts, page.Part{ID: m.State.ID,
		Draw: func(page.Words) templ.Component { return workloadview.TryState(m.State) }})
	return v, nil
}

func tryable(item workload.Workload) error {
	if item.Kind != catalog.Endpoint {
		return fault.New(fault.Conflict, i18n.T("try.endpoints_only"))
	}
	return nil
}

// tryState says why nothing answers, in the words of the workload's own state.
func tryState(say page.Words, item workload.Workload) workloadview.TryStateModel {
	m := workloadview.TryStateModel{ID: "try-state", Path: page.WorkloadPath(item.ID)}
	if !item.CanOpen() {
		state := blocks.StateModel(say, item)
		m.State, m.Reason = state.Word, say.Text(item.Reason)
	}
	return m
}

// workloadTry passes one call on, and its answer back as it comes.
func (w *Pages) workloadTry(c echo.Context) error {
	k := w.CallOf(c)
	item, err := w.Workloads.Get(k.Ctx, k.Actor, workload.ID(c.Param("id")))
	if err != nil {
		return err
	}
	if err := workload.PermitAt(k.Actor, identity.OpenWorkload, item, k.Words.Now); err != nil {
		return err
	}
	if err := tryable(item); err != nil {
		return err
	}
	return w.Try.Try(c.Response(), c.Request(), k.Actor, gateway.Trial{Workload: item.Name,
		Method: c.QueryParam("method"), Path: c.QueryParam("path")})
}

package app

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/autoscale/scaler"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// loadHandler tells KEDA the load of one endpoint, by which its HorizontalPodAutoscaler scales it: see
// autoscale.LoadPath. 401 for whoever has not the endpoint's token, with no word on whether there is such an endpoint;
// 503 where the load is not known, so that nothing is scaled.
func (a *App) loadHandler() http.Handler {
	loads := scaler.New(scaler.Options{Store: a.store, Queue: a.queueOf, GPU: a.gpuOf, Now: a.now, Logger: a.log})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		id := workload.ID(r.URL.Query().Get(autoscale.LoadQuery))
		if !a.mayAskLoad(r, id) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "This address is for KEDA, with the token of the endpoint.", http.StatusUnauthorized)
			return
		}
		load, err := a.loadOf(r.Context(), loads, id)
		switch {
		case fault.Is(err, fault.NotFound):
			http.Error(w, "There is no such endpoint.", http.StatusNotFound)
			return
		case err != nil && r.Context().Err() == nil:
			a.log.ErrorContext(r.Context(), "cannot tell KEDA the load of an endpoint", "workload", string(id), "error",
				err.Error())
			fallthrough
		case err != nil, !load.Usable():
			http.Error(w, "The load of the endpoint is not known now.", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]float64{autoscale.LoadField: load.Value})
	})
}

func (a *App) mayAskLoad(r *http.Request, id workload.ID) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	want := a.secrets.LoadToken(workload.Workload{ID: id})
	return id != "" && strings.EqualFold(scheme, "Bearer") &&
		subtle.ConstantTimeCompare([]byte(token), []byte(want)) == 1
}

func (a *App) loadOf(ctx context.Context, loads *scaler.Scaler, id workload.ID) (autoscale.Load, error) {
	w, err := a.store.Workload(ctx, id)
	if err != nil {
		return autoscale.Load{}, err
	}
	return loads.Load(ctx, w)
}

package app

import (
	"net/http"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// KEDA asks for the load of one endpoint with a token that opens nothing else, and whoever has none learns nothing.
func TestKEDAAsksForTheLoad(t *testing.T) {
	w := newWorld(t)
	item := w.running(developer, "vision")
	item.ID, item.Name, item.Kind, item.Volume = workload.ID(newID("w-")), "asked", catalog.Endpoint, ""
	item.Replicas = workload.NewReplicas(workload.Range{Min: 1, Max: 3}, autoscale.Policy{Metric: autoscale.Concurrency,
		Target: 4})
	w.save(func(tx request.Tx) error { return tx.SaveWorkload(t.Context(), item) })
	token, path := w.secrets.LoadToken(item), autoscale.LoadPath+"?"+autoscale.LoadQuery+"="
	report := func(load float64) {
		t.Helper()
		if err := w.store.SaveEndpointLoads(t.Context(), autoscale.Report{Gateway: "g", At: w.clock.now(),
			Endpoints: []autoscale.EndpointLoad{{Workload: string(item.ID), Concurrency: load}}}); err != nil {
			t.Fatal(err)
		}
	}
	report(2.5)
	reply := w.call(token, http.MethodGet, path+string(item.ID), nil)
	if reply.status != http.StatusOK || reply.json(t)[autoscale.LoadField] != 2.5 {
		t.Errorf("want a load of 2.5, got %d %s", reply.status, reply.body)
	}
	none := workload.Workload{ID: "w-none"}
	for name, c := range map[string]struct {
		token, path string
		want        int
	}{
		"another endpoint's token": {w.secrets.LoadToken(none), path + string(item.ID), http.StatusUnauthorized},
		"the server's own secret":  {w.secrets.Token(item), path + string(item.ID), http.StatusUnauthorized},
		"a person's token":         {w.token(developer), path + string(item.ID), http.StatusUnauthorized},
		"no token":                 {"", path + string(item.ID), http.StatusUnauthorized},
		"no endpoint is named":     {token, autoscale.LoadPath, http.StatusUnauthorized},
		"an endpoint that is gone": {w.secrets.LoadToken(none), path + "w-none", http.StatusNotFound},
		"the token at the API":     {token, "/api/v1/workloads", http.StatusUnauthorized},
	} {
		if reply := w.call(c.token, http.MethodGet, c.path, nil); reply.status != c.want {
			t.Errorf("%s: want %d, got %d %s", name, c.want, reply.status, reply.body)
		}
	}
	w.clock.pass(autoscale.Gone / 2)
	if reply := w.call(token, http.MethodGet, path+string(item.ID), nil); reply.status != http.StatusServiceUnavailable {
		t.Errorf("no gateway has reported for a minute: want 503, got %d %s", reply.status, reply.body)
	}
}

package app

import (
	"maps"
	"net/http"
	"strings"
	"testing"
)

// TestAKeyIsNotTakenForAnotherSpec: a key that is sent again with another body made nothing, and the caller believed
// that it had.
func TestAKeyIsNotTakenForAnotherSpec(t *testing.T) {
	w := newWorld(t)
	token := w.token(developer)
	start := map[string]any{"kind": "notebook", "tenant": "vision", "size": "mig-1g.10gb", "image": "jupyterlab"}
	other := maps.Clone(start)
	other["lease"] = "2h"
	first := w.call(token, http.MethodPost, "/api/v1/requests", start, "Idempotency-Key", "k")
	if first.status != http.StatusCreated {
		t.Fatalf("%d %s", first.status, first.body)
	}
	made := first.json(t)
	quota := map[string]any{"size": "mig-1g.10gb", "amount": 200, "reason": "more of them"}
	if a := w.call(token, http.MethodPost, "/api/v1/tenants/vision/quota", quota, "Idempotency-Key",
		"q"); a.status != http.StatusCreated {
		t.Fatalf("%d %s", a.status, a.body)
	}
	more := maps.Clone(quota)
	more["amount"] = 201
	extend := "/api/v1/workloads/" + made["workload"].(string) + "/extend"
	if a := w.call(token, http.MethodPost, extend, map[string]any{"lease": "1h"}, "Idempotency-Key",
		"e"); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for name, c := range map[string]struct {
		path, key string
		body      map[string]any
		status    int
	}{
		"the same start":                       {"/api/v1/requests", "k", start, http.StatusCreated},
		"another lease":                        {"/api/v1/requests", "k", other, http.StatusConflict},
		"the same quota":                       {"/api/v1/tenants/vision/quota", "q", quota, http.StatusCreated},
		"another amount":                       {"/api/v1/tenants/vision/quota", "q", more, http.StatusConflict},
		"the same extension":                   {extend, "e", map[string]any{"lease": "1h"}, http.StatusOK},
		"a longer extension":                   {extend, "e", map[string]any{"lease": "2h"}, http.StatusConflict},
		"an extension with the key of a start": {extend, "k", map[string]any{"lease": "1h"}, http.StatusConflict},
	} {
		a := w.call(token, http.MethodPost, c.path, c.body, "Idempotency-Key", c.key)
		if a.status != c.status {
			t.Errorf("%s: want %d, got %d %s", name, c.status, a.status, a.body)
			continue
		}
		if c.status != http.StatusConflict {
			continue
		}
		see, _ := a.json(t)["see"].(string)
		if a.header.Get("Content-Type") != "application/problem+json" || !strings.HasPrefix(see, "/api/v1/requests/r-") ||
			w.call(token, http.MethodGet, see, nil).status != http.StatusOK {
			t.Errorf("%s: want a problem with the way to the earlier request, got %s", name, a.body)
		}
	}
	if err := w.refusals.Flush(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if n := w.refused(); n != 4 {
		t.Errorf("want each of the refusals in the audit, got %d", n)
	}
}

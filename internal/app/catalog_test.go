package app

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// TestTheCatalogOverTheAPI: read, check, save, lose a race, go on from JSON; what was saved counts without a restart,
// and what runs keeps its price.
func TestTheCatalogOverTheAPI(t *testing.T) {
	w := newWorld(t)
	token, dev := w.token(admin), w.token(developer)
	item := w.running(developer, "vision")
	const path = "/api/v1/catalog"
	yaml := []string{"Content-Type", "application/yaml"}
	now := w.call(token, http.MethodGet, path, nil)
	if now.header.Get("ETag") != `"0"` || now.json(t)["text"] != string(catalog.DefaultYAML()) {
		t.Fatalf("want version 0 with its text, got %s %.200s", now.header.Get("ETag"), now.body)
	}
	text := strings.Replace(string(catalog.DefaultYAML()), "minor: 6,", "minor: 9,", 1)
	wrong := strings.Replace(strings.Replace(text, "isolation: hard", "isolation: steel", 1), "memory: 8Gi",
		"memory: lots", 1)
	for _, c := range []struct {
		method, path, body string
		headers            []string
		status             int
		says               []string
	}{
		{http.MethodPost, path + "/check", text, yaml, 200, []string{`"ok":true`, `"pricePerHour.minor"`, `"old":"6"`,
			`"new":"9"`}},
		{http.MethodPost, path + "/check", wrong, yaml, 200, []string{`"ok":false`, `"line":`, "sizes[1].isolation",
			"sizes[0].memory"}},
		{http.MethodPost, path + "/check", "{", nil, 422, []string{"not JSON"}},
		{http.MethodPut, path, text, yaml, 422, []string{"If-Match"}},
		{http.MethodPut, path, wrong, append([]string{"If-Match", `"0"`}, yaml...), 422,
			[]string{"sizes[1].isolation", "sizes[0].memory", "Line "}},
		{http.MethodPut, path, strings.Replace(text, "name: cpu\n", "name: cpu-2\n", 1), append([]string{"If-Match", `"0"`},
			yaml...), 422, []string{`"confirm"`, "which one workload uses"}},
		{http.MethodPut, path + "?note=dearer", text, append([]string{"If-Match", `"0"`}, yaml...), 200,
			[]string{`"version":1`, `"active":1`, `"note":"dearer"`}},
		{http.MethodPut, path, text + "# more\n", append([]string{"If-Match", `"0"`}, yaml...), 409,
			[]string{"Adam Admin saved version 1"}},
		{http.MethodGet, path + "/versions", "", nil, 200, []string{`"version":1`, `"version":0`, `"active":true`}},
		{http.MethodGet, path + "/versions/0", "", nil, 200, []string{"minor: 6,"}},
		{http.MethodGet, path + "/versions/7", "", nil, 404, nil},
		{http.MethodGet, path + "/versions/x", "", nil, 404, nil},
		{http.MethodGet, path + "/findings", "", nil, 200, []string{`"items":`}},
	} {
		var body any
		if c.body != "" {
			body = c.body
		}
		got := w.call(token, c.method, c.path, body, c.headers...)
		if got.status != c.status {
			t.Errorf("%s %s: want %d, got %d %.300s", c.method, c.path, c.status, got.status, got.body)
		}
		for _, words := range c.says {
			if !strings.Contains(got.body, words) {
				t.Errorf("%s %s: want %q in %.600s", c.method, c.path, words, got.body)
			}
		}
	}
	sizes := w.call(dev, http.MethodGet, "/api/v1/sizes", nil)
	if !strings.Contains(sizes.body, `"amount":"0.09"`) {
		t.Error("the new price does not count")
	}
	if kept, err := w.store.Workload(t.Context(), item.ID); err != nil || kept.Size.PricePerHour.Minor != 6 {
		t.Errorf("what runs keeps its price: %v %v", kept.Size.PricePerHour, err)
	}
	json := `{"sizes": [{"name": "cpu", "title": "CPU only", "technology": "cpu", "isolation": "none", "cpu": "2", "memory": "8Gi", "pricePerHour": {"minor": 7, "currency": "EUR"}, "defaultLease": "8h", "maxLease": "7d", "hidden": true}],
		"images": [{"name": "jupyterlab", "title": "JupyterLab", "kind": "notebook", "reference": "quay.io/jupyter/base-notebook:x@sha256:` + strings.Repeat("0", 64) + `", "port": 8888, "healthPath": "/api"}]}`
	if got := w.call(token, http.MethodPut, path, json, "If-Match", `"1"`); got.status != 200 ||
		!strings.Contains(got.body, `- name: cpu\n    title: CPU only\n`) {
		t.Errorf("JSON: want it written as YAML, got %d %.400s", got.status, got.body)
	}
	if got := w.call(dev, http.MethodGet, "/api/v1/sizes", nil); strings.Contains(got.body, `"name":"cpu"`) {
		t.Error("what is hidden is still listed")
	}
	if got := w.call(dev, http.MethodPost, "/api/v1/requests", map[string]any{"kind": "notebook", "tenant": "vision",
		"size": "cpu", "image": "jupyterlab", "lease": "1h"}); got.status != 422 ||
		!strings.Contains(got.body, "no longer offered") {
		t.Errorf("what is hidden cannot be asked for: %d %s", got.status, got.body)
	}
	if n := len(w.events(audit.CatalogSaved)); n != 2 {
		t.Errorf("want two events, got %d", n)
	}
}

// TestASavedCatalogIsThereAfterARestart: and another process takes it up when the outbox tells of it.
func TestASavedCatalogIsThereAfterARestart(t *testing.T) {
	w := newWorld(t)
	text := strings.Replace(string(catalog.DefaultYAML()), "minor: 6,", "minor: 9,", 1)
	if got := w.call(w.token(admin), http.MethodPut, "/api/v1/catalog", text, "Content-Type", "application/yaml",
		"If-Match", `"0"`); got.status != 200 {
		t.Fatal(got.body)
	}
	again := &App{config: w.config(t.TempDir(), ""), log: w.App.log, now: w.clock.now, store: w.store,
		clusters: w.clusters, site: w.site, initial: w.initial}
	again.services()
	if err := again.takeUpCatalog(t.Context()); err != nil {
		t.Fatal(err)
	}
	if size, _ := again.siteNow().Catalog.Size("cpu"); size.PricePerHour.Minor != 9 {
		t.Errorf("want the saved price, got %v", size.PricePerHour)
	}
}

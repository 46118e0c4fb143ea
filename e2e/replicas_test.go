package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// replicas are the numbers that a workload tells.
func replicas(w map[string]any) map[string]any { return w["replicas"].(map[string]any) }

// slices is how many of the smallest slice the team holds, as a preview of an endpoint tells.
func (c client) slices() float64 {
	c.t.Helper()
	p := c.ok(http.StatusOK, http.MethodPost, "/requests/preview", endpoint(nil))
	return p["quota"].(map[string]any)["used"].(float64)
}

func endpoint(change map[string]any) map[string]any {
	body := map[string]any{"kind": "endpoint", "tenant": "vision", "size": "mig-1g.10gb", "image": "vllm", "lease": "8h",
		"reason": "end-to-end test"}
	for k, v := range change {
		body[k] = v
	}
	return body
}

// scales waits until so many replicas answer.
func (c client) scales(id string, ready float64) map[string]any {
	c.t.Helper()
	return c.until("/workloads/"+id, "scaled", 3*time.Minute, func(w map[string]any) bool {
		return w["state"] == "running" && replicas(w)["ready"] == ready
	})
}

// TestReplicasOverREST: an endpoint that may have two to seven replicas starts with two pods, which are counted, held
// and metered as two; its owner adds one, and takes it back; what the quota has no room for is refused with the number
// that it has room for. When one crashes, the other serves on, and API and page say why the first does not.
func TestReplicasOverREST(t *testing.T) {
	dana := as(t, "dana")
	before := dana.slices()
	two := map[string]any{"replicas": map[string]int{"min": 2, "max": 7}}
	p := dana.ok(http.StatusOK, http.MethodPost, "/requests/preview", endpoint(two))
	one := dana.ok(http.StatusOK, http.MethodPost, "/requests/preview", endpoint(nil))
	amount := func(of map[string]any, price string) string { return str(of[price].(map[string]any)["amount"]) }
	if amount(p, "price") == amount(one, "price") || p["priceMost"] == nil || one["priceMost"] != nil ||
		!strings.Contains(str(p["manifest"]), "replicas: 2") {
		t.Errorf("want the price of two, that of seven, and two in the manifest, got %v", p)
	}
	w := dana.running("mig-1g.10gb", endpoint(map[string]any{"storage": "", "replicas": two["replicas"]}))
	id := str(w["id"])
	dana.scales(id, 2)
	if now := dana.slices(); now != before+2 {
		t.Errorf("want two of the quota held, got %v after %v", now, before)
	}
	path := "/workloads/" + id + "/replicas"
	if a := dana.ok(http.StatusOK, http.MethodGet, path+"?wanted=3", nil); a["problem"] != nil ||
		a["quota"].(map[string]any)["used"] != before+3 {
		t.Errorf("what three would take: %v", a)
	}
	dana.ok(http.StatusOK, http.MethodPost, path, map[string]int{"wanted": 3})
	dana.scales(id, 3)
	if now := dana.slices(); now != before+3 {
		t.Errorf("want three of the quota held, got %v after %v", now, before)
	}
	scalesNoFurther(t, dana, id, before)

	dana.ok(http.StatusOK, http.MethodPost, path, map[string]int{"wanted": 2})
	dana.scales(id, 2)
	waittest.For(t, "the third to be given back when its pod is gone", func() bool { return dana.slices() == before+2 })
	h := items(dana.ok(http.StatusOK, http.MethodGet, "/workloads/"+id+"/history", nil))
	scaled := 0
	for _, e := range h {
		if e["kind"] == "workload.scaled" {
			scaled++
		}
	}
	if scaled != 2 {
		t.Errorf("want both changes on record, got %v", h)
	}
	crash(t, dana.ok(http.StatusOK, http.MethodGet, "/workloads/"+id, nil))
	now := dana.until("/workloads/"+id, "served by one, and told why not by two", 3*time.Minute,
		func(w map[string]any) bool { return w["state"] == "running" && replicas(w)["unready"] != nil })
	unready, _ := replicas(now)["unready"].([]any)
	if len(unready) != 1 || !strings.Contains(str(unready[0].(map[string]any)["reason"]), "exited with error 1") {
		t.Errorf("want the one that crashed with its error, got %v", replicas(now))
	}
	page := signIn(t, "dana", look{})
	page.open("/workloads/" + id)
	page.reads("[data-test=reason]", "1 of 2 replicas are ready")
	page.reads("[data-test=reason]", "exited with error 1")
	page.accessible()
	page.shot("one-of-two")
}

// scalesNoFurther asks for more than the team may hold while another workload takes the rest, and for what is outside
// of the range.
func scalesNoFurther(t *testing.T, dana client, id string, before float64) {
	t.Helper()
	path := "/workloads/" + id + "/replicas"
	limit := dana.ok(http.StatusOK, http.MethodGet, path+"?wanted=3", nil)["quota"].(map[string]any)["limit"].(float64)
	if limit > 7+before {
		t.Fatalf("this story needs a quota below what is asked for, got %v", limit)
	}
	other := dana.running("mig-1g.10gb", endpoint(map[string]any{"storage": ""}))
	a := dana.call(http.MethodPost, path, map[string]any{"wanted": 7})
	if a.Status != http.StatusConflict || !strings.Contains(str(a.Body["detail"]), "replicas are possible now") {
		t.Errorf("beyond the quota: want a conflict that says how many, got %d %s", a.Status, a.Raw)
	}
	if p := dana.ok(http.StatusOK, http.MethodGet, path+"?wanted=7", nil); p["problem"] == nil {
		t.Errorf("want the preview to say the same, got %v", p)
	}
	dana.remove(str(other["id"]))
	for _, outside := range []int{0, 1, 8} {
		if a := dana.call(http.MethodPost, path, map[string]any{"wanted": outside}); a.Status < 400 || a.Status > 499 {
			t.Errorf("%d of 2 to 7: want it refused, got %d %s", outside, a.Status, a.Raw)
		}
	}
	if w := dana.ok(http.StatusOK, http.MethodGet, "/workloads/"+id, nil); replicas(w)["wanted"] != 3. {
		t.Errorf("want it to stay at three, got %v", replicas(w))
	}
}

// TestBadScalingOverREST: a target of nothing, a metric that the server does not have and times that make no sense are
// refused with their field, at the start and later.
func TestBadScalingOverREST(t *testing.T) {
	dana := as(t, "dana")
	for why, c := range map[string]struct {
		change, scaling map[string]any
		field           string
	}{
		"a target of 0":       {nil, map[string]any{"metric": "concurrency", "target": 0}, "scaling.target"},
		"a target below 0":    {nil, map[string]any{"metric": "requests", "target": -1}, "scaling.target"},
		"no such metric":      {nil, map[string]any{"metric": "mood"}, "scaling.metric"},
		"no queue to measure": {map[string]any{"image": "model-demo"}, map[string]any{"metric": "queue"}, "scaling.metric"},
		"no GPU to measure":   {map[string]any{"size": "cpu"}, map[string]any{"metric": "gpu"}, "scaling.metric"},
		"too short":           {nil, map[string]any{"metric": "requests", "scaleDownAfter": "1s"}, "scaling.scaleDownAfter"},
		"it never sleeps":     {nil, map[string]any{"toZeroAfter": "10m"}, "scaling.toZeroAfter"},
		"not of a notebook": {map[string]any{"kind": "notebook", "image": "jupyterlab", "replicas": nil},
			map[string]any{"metric": "requests"}, "scaling.metric"},
		"nothing to choose": {map[string]any{"replicas": map[string]int{"min": 1, "max": 1}},
			map[string]any{"metric": "requests"}, "replicas"},
	} {
		body := endpoint(map[string]any{"replicas": map[string]int{"min": 1, "max": 2}, "scaling": c.scaling})
		for k, v := range c.change {
			if body[k] = v; v == nil {
				delete(body, k)
			}
		}
		a := dana.call(http.MethodPost, "/requests", body)
		if a.Status != http.StatusUnprocessableEntity || !strings.Contains(string(a.Raw), `"`+c.field+`"`) {
			t.Errorf("%s: want it refused with the field %s, got %d %s", why, c.field, a.Status, a.Raw)
		}
	}
}

// TestBadReplicasOverREST: what cannot be is refused with its field.
func TestBadReplicasOverREST(t *testing.T) {
	dana := as(t, "dana")
	for why, change := range map[string]map[string]any{
		"a notebook has one":  {"kind": "notebook", "image": "jupyterlab", "replicas": map[string]int{"min": 1, "max": 2}},
		"none":                {"replicas": map[string]int{"min": 0, "max": 0}},
		"below none":          {"replicas": map[string]int{"min": -1, "max": 2}},
		"most below least":    {"replicas": map[string]int{"min": 3, "max": 2}},
		"beyond the ceiling":  {"replicas": map[string]int{"min": 1, "max": 1000}},
		"more than the quota": {"replicas": map[string]int{"min": 30, "max": 30}},
	} {
		a := dana.call(http.MethodPost, "/requests", endpoint(change))
		if a.Status != http.StatusUnprocessableEntity || !strings.Contains(string(a.Raw), `"replicas"`) {
			t.Errorf("%s: want it refused with the field replicas, got %d %s", why, a.Status, a.Raw)
		}
	}
}

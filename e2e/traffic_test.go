package e2e

import (
	"net/http"
	"testing"
	"time"
)

// TestTrafficOfAnEndpoint: two programs call an endpoint with a key each, one of them with a stream and the other one
// for a model that does not exist, and a person tries it. The figures are told over REST and on the page.
func TestTrafficOfAnEndpoint(t *testing.T) {
	dana := as(t, "dana")
	w := dana.running("mig-1g.10gb", endpoint(map[string]any{"storage": ""}))
	url, path := str(w["url"]), "/workloads/"+str(w["id"])
	secrets := [2]string{}
	for i, name := range []string{"nightly summaries", "support bot"} {
		made := dana.ok(http.StatusCreated, http.MethodPost, path+"/keys", map[string]any{"name": name})
		secrets[i] = str(made["key"])
	}
	const hello = `"messages":[{"role":"user","content":"hello there"}]`
	for _, c := range []struct {
		key    int
		body   string
		status int
	}{{0, `{` + hello + `}`, http.StatusOK},
		{0, `{"stream":true,"stream_options":{"include_usage":true},` + hello + `}`, http.StatusOK},
		{0, `{"stream":true,` + hello + `}`, http.StatusOK}, // tells no usage
		{1, `{` + hello + `}`, http.StatusOK},
		{1, `{"model":"no/such-model",` + hello + `}`, http.StatusNotFound}} {
		if status, _, text := chat(t, url, secrets[c.key], c.body); status != c.status {
			t.Fatalf("%s: want %d, got %d %s", c.body, c.status, status, text)
		}
	}
	p := signIn(t, "dana", look{})
	p.open(path + "/try")
	p.fill("[data-test=try-text]", "hello there")
	p.do(p.at("[data-test=try-text]").Press("Control+Enter"))
	p.reads("[data-test=try-answer]", "You said: hello there")

	var figures map[string]any
	eventually(t, "the calls of both keys and of the person are counted", time.Minute, func() bool {
		figures = dana.ok(http.StatusOK, http.MethodGet, path+"/traffic?range=1h", nil)
		calls := map[string]float64{}
		for _, n := range items(figures) {
			calls[str(n["name"])], _ = n["requests"].(float64)
		}
		// the page also asks which models there are
		return calls["nightly summaries"] == 3 && calls["support bot"] == 2 && len(calls) == 3 &&
			figures["total"].(map[string]any)["promptTokens"] == 8.0
	})
	total := figures["total"].(map[string]any)
	for name, want := range map[string]float64{"clientErrors": 1, "serverErrors": 0, "refused": 0,
		"completionTokens": 16, "withoutUsage": 1} {
		if total[name] != want {
			t.Errorf("want %v %s, got %v", want, name, total[name])
		}
	}
	first, ok := total["firstToken"].(map[string]any)
	if !ok || first["p50"].(float64) <= 0 || first["p95"].(float64) < first["p50"].(float64) {
		t.Errorf("want the time to the first token, got %v", total["firstToken"])
	}
	if cost, ok := figures["costPerMillionTokens"].(map[string]any); !ok || cost["currency"] != "EUR" {
		t.Errorf("want the cost of a million tokens, got %v", figures["costPerMillionTokens"])
	}
	if revisions, ok := figures["revisions"].([]any); !ok || len(revisions) != 1 {
		t.Errorf("want one revision, got %v", figures["revisions"])
	}
	eventually(t, "the replica is looked at", 3*time.Minute, func() bool {
		for _, n := range dana.ok(http.StatusOK, http.MethodGet, path+"/traffic?range=1h", nil)["points"].([]any) {
			if point := n.(map[string]any); point["replicasReady"] == 1.0 && point["replicasWanted"] == 1.0 {
				return true
			}
		}
		return false
	})

	p.click("[data-test=tab-traffic]")
	p.reads("[data-test=traffic-requests]", "per minute")
	p.reads("[data-test=traffic-errors]", "1 client error")
	p.reads("[data-test=traffic-tokens]", "8 prompt, 16 completion")
	p.reads("[data-test=traffic-consumers]", "nightly summaries")
	p.reads("[data-test=traffic-consumers]", "in the browser")
	p.sees("[data-test=chart-requests] svg")
	p.sees("[data-test=chart-ready] svg")
	p.accessible()
	p.shot("traffic")
	p.click("[data-test=range-7d]")
	p.reads("[data-test=traffic-tokens]", "8 prompt, 16 completion")
}

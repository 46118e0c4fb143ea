package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// withModels has the endpoints small and large, which serve models of the hub, and ep-anna, whose server brings one;
// the key opens all three. The pod tells which host and which body it saw.
func withModels(t *testing.T, change ...func(*Options, *PodsOptions)) (w *world, key []string) {
	w = newWorld(t, change...)
	for name, model := range map[string]string{"small": "org/small-1b", "large": "org/large-70b"} {
		ep := notebook(name, "anna")
		ep.Kind, ep.Image.Auth = catalog.Endpoint, "bearer"
		ep.Model = &catalog.Model{Source: catalog.FromHub, Name: model}
		w.put(ep)
	}
	w.pod.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/v1/models" {
			_, _ = io.WriteString(rw, `{"object":"list","data":[{"id":"built-in"}]}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.NewEncoder(rw).Encode(map[string]any{"host": r.Host, "body": string(body), "length": r.ContentLength,
			"authorization": r.Header.Get("Authorization"), "usage": map[string]int{"prompt_tokens": 3, "completion_tokens": 4}})
	})
	key = w.key("a", "small", endpointkey.Limits{})
	w.changeKey("a", func(k *endpointkey.Key) { k.Also = []workload.ID{"w-ep-anna", "w-large"} })
	return w, key
}

type routed struct {
	Host, Body, Authorization string
	Length                    int64
}

func (w *world) routed(key []string, body string) (int, routed, openAIError) {
	w.t.Helper()
	res := w.chat("models", body, key...)
	if res.StatusCode != http.StatusOK {
		return res.StatusCode, routed{}, errorOf(w.t, res)
	}
	var got routed
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, got, openAIError{}
}

// TestModelsOfAKeyUnderOneAddress: "model" chooses the endpoint, by the name that its server knows or by the endpoint's.
func TestModelsOfAKeyUnderOneAddress(t *testing.T) {
	w, key := withModels(t)
	var list struct {
		Object string
		Data   []modelView
	}
	if err := json.NewDecoder(w.get("models", "/v1/models", key...).Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range list.Data {
		ids = append(ids, m.ID+" "+m.Endpoint+" "+m.OwnedBy+" "+m.Object)
	}
	want := []string{"org/small-1b small red model", "built-in ep-anna red model", "org/large-70b large red model"}
	if !slices.Equal(ids, want) || list.Object != "list" {
		t.Errorf("want %q, got %q", want, ids)
	}
	var one modelView
	if err := json.NewDecoder(w.get("models", "/v1/models/org/large-70b", key...).Body).Decode(&one); err != nil ||
		one.Endpoint != "large" {
		t.Errorf("want the one model, got %+v, %v", one, err)
	}
	for name, c := range map[string]struct{ sent, host, body string }{
		"the name on the hub":   {`{"model":"org/large-70b","n":1}`, "large", `{"model":"org/large-70b","n":1}`},
		"the endpoint's name":   {`{"n":1,"model": "large" ,"m":2}`, "large", `{"n":1,"model": "org/large-70b" ,"m":2}`},
		"a name with escapes":   {`{"model":"org\/small-1b"}`, "small", `{"model":"org\/small-1b"}`},
		"a model of the server": {`{"model":"built-in"}`, "ep-anna", `{"model":"built-in"}`},
		"what is no model's, below": {`{"x":{"model":"large"},"model":"small"}`, "small",
			`{"x":{"model":"large"},"model":"org/small-1b"}`},
	} {
		status, got, e := w.routed(key, c.sent)
		if status != http.StatusOK || got.Host != c.host+".apps.test" || got.Body != c.body ||
			got.Length != int64(len(c.body)) || got.Authorization != "Bearer pod-secret-of-"+c.host {
			t.Errorf("%s: want %s with %s, got %d %+v %+v", name, c.host, c.body, status, got, e)
		}
	}
	w.gw.Flush(t.Context())
	taken := map[workload.ID]int{}
	w.mu.Lock()
	for _, n := range w.taken {
		taken[n.Workload] += n.Usage.Prompt + n.Usage.Completion
	}
	w.mu.Unlock()
	if fmt.Sprint(taken) != "map[w-ep-anna:7 w-large:14 w-small:14]" {
		t.Errorf("want what was taken counted for each endpoint, got %v", taken)
	}
}

// TestWhatModelsRefuse: in the form of the OpenAI API, and nothing reaches a pod.
func TestWhatModelsRefuse(t *testing.T) {
	w, key := withModels(t)
	foreign := w.key("b", "ep-anna", endpointkey.Limits{})
	for name, c := range map[string]struct {
		body   string
		key    []string
		status int
		code   string
	}{
		"an unknown model":            {`{"model":"gpt-9"}`, key, 404, "model_not_found"},
		"a model of no such key":      {`{"model":"org/large-70b"}`, foreign, 404, "model_not_found"},
		"no model":                    {`{"messages":[]}`, key, 400, "model_missing"},
		"two models":                  {`{"model":"small","model":"large"}`, key, 400, "model_missing"},
		"two models, one in capitals": {`{"model":"small","Model":"large"}`, key, 400, "model_missing"},
		"a model that is no text":     {`{"model":7}`, key, 400, "model_missing"},
		"no JSON":                     {`model=small`, key, 400, "model_missing"},
		"half a JSON":                 {`{"model":"small"`, key, 400, "model_missing"},
		"nothing":                     {``, key, 400, "model_missing"},
		"too much": {`{"model":"small","x":"` + strings.Repeat("x", maxRouted) + `"}`, key, 413,
			"body_too_large"},
		"no key":         {`{"model":"small"}`, nil, 401, "invalid_api_key"},
		"a wrong secret": {`{"model":"small"}`, []string{"Authorization", key[1] + "x"}, 401, "invalid_api_key"},
		"a person's token": {`{"model":"small"}`, []string{"Authorization", "Bearer gpup_anna.secret"}, 401,
			"invalid_api_key"},
	} {
		status, _, e := w.routed(c.key, c.body)
		if status != c.status || e.Error.Code != c.code {
			t.Errorf("%s: want %d %s, got %d %+v", name, c.status, c.code, status, e)
		}
	}
	_, _, e := w.routed(key, `{"model":"gpt-9"}`)
	if !strings.Contains(e.Error.Message, "org/small-1b, built-in, org/large-70b") {
		t.Errorf("want the models that there are, got %q", e.Error.Message)
	}
	for _, path := range []string{"/", "/v1/models/nothing", "/metrics"} {
		if res := w.get("models", path, key...); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: want 404, got %d", path, res.StatusCode)
		}
	}
	w.mu.Lock()
	held := len(w.taken)
	w.mu.Unlock()
	if held != 0 {
		t.Errorf("want nothing counted, got %d", held)
	}
	if !w.gw.models.bodies.TryAcquire(maxRoutedAll) {
		t.Error("want no body held after its call")
	}
	if status, _, e := w.routed(key, `{"model":"small"}`); status != http.StatusServiceUnavailable || e.Error.Code != "" &&
		e.Error.Code != "overloaded" {
		t.Errorf("want calls refused while too much is held, got %d %+v", status, e)
	}
}

// TestEndpointsLeaveTheAddress: one that has ended or was taken from the key, and a key that was revoked.
func TestEndpointsLeaveTheAddress(t *testing.T) {
	w, key := withModels(t)
	models := func() string {
		res := w.get("models", "/v1/models", key...)
		if res.StatusCode != http.StatusOK {
			return res.Status
		}
		var list struct{ Data []modelView }
		if err := json.NewDecoder(res.Body).Decode(&list); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range list.Data {
			names = append(names, m.ID)
		}
		return strings.Join(names, " ")
	}
	w.pass(0) // the clock stands still
	if got := models(); got != "org/small-1b built-in org/large-70b" {
		t.Fatal(got)
	}
	w.change("large", func(wl *workload.Workload) { wl.Desired, wl.State = workload.WantDeleted, workload.Ended })
	if got := models(); got != "org/small-1b built-in org/large-70b" {
		t.Errorf("want the answer remembered for a moment, got %q", got)
	}
	w.pass(time.Second)
	if got := models(); got != "org/small-1b built-in" {
		t.Errorf("want the ended one gone, got %q", got)
	}
	w.change("ep-anna", func(wl *workload.Workload) {
		wl.Model = &catalog.Model{Source: catalog.FromHub, Name: "org/small-1b"}
	})
	w.pass(time.Second)
	if got := models(); got != "small ep-anna" {
		t.Errorf("want two of one model told apart by their endpoints, got %q", got)
	}
	w.changeKey("a", func(k *endpointkey.Key) { k.Also = nil })
	w.pass(time.Second)
	if got := models(); got != "org/small-1b" {
		t.Errorf("want only what the key opens, got %q", got)
	}
	if status, _, _ := w.routed(key, `{"model":"ep-anna"}`); status != http.StatusNotFound {
		t.Errorf("want the other endpoint closed, got %d", status)
	}
	if res := w.chat("ep-anna", "{}", key...); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("want it closed at its own address too, got %d", res.StatusCode)
	}
	w.changeKey("a", func(k *endpointkey.Key) { k.RevokedAt = time.Now() })
	w.pass(time.Second)
	if got := models(); got != "401 Unauthorized" {
		t.Errorf("want a revoked key refused, got %q", got)
	}
}

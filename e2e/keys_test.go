package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// chat asks a model server as a program does that knows the OpenAI API, and gives status, headers and body.
func chat(t *testing.T, url, bearer, body string) (int, http.Header, string) {
	t.Helper()
	status, headers, text, err := tryChat(url, bearer, body)
	if err != nil {
		t.Fatal(err)
	}
	return status, headers, text
}

// tryChat is chat for a call that may be cut.
func tryChat(url, bearer, body string) (int, http.Header, string, error) {
	r, err := http.NewRequest(http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return 0, nil, "", err
	}
	r.Header.Set("Authorization", "Bearer "+bearer)
	r.Header.Set("Content-Type", "application/json")
	resp, err := localhost().Do(r)
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(text), err
}

// codeOf is the code of an error of the OpenAI API.
func codeOf(text string) string {
	var e struct {
		Error struct{ Message, Code string }
	}
	if json.Unmarshal([]byte(text), &e) != nil || e.Error.Message == "" {
		return "no error of the OpenAI API: " + text
	}
	return e.Error.Code
}

// TestKeysOfAnEndpoint: a key is made over REST, opens its endpoint and is counted, has a limit, is rotated, and opens
// nothing five seconds after it was revoked. Nobody's API token opens an endpoint.
func TestKeysOfAnEndpoint(t *testing.T) {
	dana := as(t, "dana")
	w := dana.running("mig-1g.10gb", map[string]any{"kind": "endpoint", "image": "vllm", "storage": ""})
	url, keys := str(w["url"]), "/workloads/"+str(w["id"])+"/keys"
	made := dana.ok(http.StatusCreated, http.MethodPost, keys, map[string]any{"name": "summaries", "expires": "30d"})
	key, id := str(made["key"]), str(made["id"])
	if !strings.HasPrefix(key, str(made["prefix"])+".") {
		t.Errorf("want the key to begin with its prefix, got %v", made["prefix"])
	}
	if a := dana.call(http.MethodGet, keys, nil); a.Status != http.StatusOK || strings.Contains(string(a.Raw), key) {
		t.Errorf("want the key shown once, got %d %s", a.Status, a.Raw)
	}

	const hello = `"messages":[{"role":"user","content":"hello there"}]`
	if status, _, text := chat(t, url, key, `{`+hello+`}`); status != http.StatusOK ||
		!strings.Contains(text, "You said: hello there") {
		t.Fatalf("want an answer, got %d %s", status, text)
	}
	if status, _, text := chat(t, url, key, `{"stream":true,"stream_options":{"include_usage":true},`+hello+`}`); status !=
		http.StatusOK || !strings.HasSuffix(text, "data: [DONE]\n\n") {
		t.Errorf("want a stream, got %d %s", status, text)
	}
	for name, bearer := range map[string]string{"a person's token": portal.Tokens["dana"], "a wrong secret": key + "x",
		"no key": "x"} {
		status, _, text := chat(t, url, bearer, `{`+hello+`}`)
		if status != http.StatusUnauthorized || strings.HasPrefix(codeOf(text), "no error") {
			t.Errorf("%s: want 401, got %d %s", name, status, text)
		}
	}
	if resp, err := localhost().Get(url + "/v1/models?api_key=" + key); err != nil ||
		resp.StatusCode != http.StatusBadRequest {
		t.Errorf("want a key in an address refused, got %v %v", resp, err)
	}
	eventually(t, "the tokens are counted", time.Minute, func() bool {
		for _, n := range items(dana.ok(http.StatusOK, http.MethodGet, "/workloads/"+str(w["id"])+"/traffic", nil)) {
			if n["key"] == id && n["requests"] == 2.0 && n["promptTokens"] == 4.0 && n["completionTokens"] == 8.0 {
				return true
			}
		}
		return false
	})

	limited := str(dana.ok(http.StatusCreated, http.MethodPost, keys, map[string]any{"name": "trial",
		"limits": map[string]any{"requestsPerMinute": 1}})["key"])
	eventually(t, "a limit is reached", time.Minute, func() bool {
		status, header, text := chat(t, url, limited, `{`+hello+`}`)
		return status == http.StatusTooManyRequests && header.Get("Retry-After") != "" && header.Get("RateLimit") != "" &&
			codeOf(text) == "rate_limit_exceeded"
	})

	next := str(dana.ok(http.StatusOK, http.MethodPost, keys+"/"+id+"/rotate", map[string]any{"overlap": "1h"})["key"])
	for _, secret := range []string{key, next} {
		if status, _, text := chat(t, url, secret, `{`+hello+`}`); status != http.StatusOK {
			t.Errorf("want both secrets to open it, got %d %s", status, text)
		}
	}
	reachedFromOutside(t, dana, w, next)
	dana.ok(http.StatusOK, http.MethodDelete, keys+"/"+id, nil)
	revoked := time.Now()
	eventually(t, "the key opens nothing", time.Minute, func() bool {
		asked := time.Now()
		status, _, text, err := tryChat(url, next, `{`+hello+`}`)
		if err != nil {
			return false // under way when its key was revoked
		}
		if status == http.StatusOK && asked.Sub(revoked) > 5*time.Second {
			t.Fatal("want a revoked key refused within five seconds")
		}
		return status == http.StatusUnauthorized && codeOf(text) == "invalid_api_key"
	})
	for who, want := range map[string]int{"nora": http.StatusNotFound, "devi": http.StatusForbidden} {
		if a := as(t, who).call(http.MethodGet, keys, nil); a.Status != want {
			t.Errorf("%s asks for the keys: want %d, got %d", who, want, a.Status)
		}
	}
}

// reachedFromOutside: by the external domain the key opens the endpoint once an administrator has approved that, as the
// page says, and nothing five seconds after it was taken away.
func reachedFromOutside(t *testing.T, dana client, w map[string]any, key string) {
	t.Helper()
	const hello = `{"messages":[{"role":"user","content":"hello there"}]}`
	outside := strings.Replace(str(w["url"]), ".localhost", ".outside.localhost", 1)
	refused := func() bool {
		status, _, text, err := tryChat(outside, key, hello)
		return err == nil && status == http.StatusUnauthorized && codeOf(text) == "invalid_api_key"
	}
	if !refused() {
		t.Error("it is open before anybody approved that")
	}
	page := "/workloads/" + str(w["id"])
	p := signIn(t, "dana", look{})
	p.open(page)
	p.click("[data-test=reach-ask]")
	p.fill("[data-test=reach-reason]", "The partner's service asks it.")
	p.accessible()
	p.shot("ask")
	p.click("[data-test=reach-confirm]")
	p.reads("main", "External access to")
	p.shot("waits")
	asked := p.page.URL()
	id := asked[strings.LastIndex(asked, "/")+1:]
	if a := as(t, "ada").call(http.MethodPost, "/requests/"+id+"/approve", map[string]any{"seen": 1}); a.Status < 400 {
		t.Errorf("it is approved by whom it does not wait for: %d %s", a.Status, a.Raw)
	}
	if !refused() {
		t.Error("it is open while the request waits")
	}
	pat := signIn(t, "pat", look{})
	pat.open("/approvals/" + id)
	pat.reads("main", "The partner's service asks it.")
	pat.accessible()
	pat.shot("decides")
	pat.click("[data-test=approve]")
	p.open(page)
	p.reads("[data-test=reach-open]", "Externally reachable")
	p.accessible()
	p.fitsTheWindow()
	p.shot("open")
	eventually(t, "it is open", time.Minute, func() bool {
		status, _, _, err := tryChat(outside, key, hello)
		return err == nil && status == http.StatusOK
	})
	p.click("[data-test=reach-close]")
	p.click("[data-test=reach-close-confirm]")
	p.reads("[data-test=workload-reach]", "only from inside the company network")
	closed := time.Now()
	eventually(t, "it is closed", time.Minute, func() bool {
		before := time.Now()
		if refused() {
			return true
		}
		if before.Sub(closed) > 5*time.Second {
			t.Fatal("want no call to pass five seconds after")
		}
		return false
	})
	if status, _, text := chat(t, str(w["url"]), key, hello); status != http.StatusOK {
		t.Errorf("want it open from inside as before, got %d %s", status, text)
	}
}

// TestModelsOfAKeyUnderOneAddress: one key opens two endpoints at one address, where the model chooses; the client
// that programs use gets along with it. The other endpoint's owner can take it off the key, and the first one stays.
func TestModelsOfAKeyUnderOneAddress(t *testing.T) {
	dana := as(t, "dana")
	serve := func(model string) map[string]any {
		return dana.running("mig-1g.10gb", map[string]any{"kind": "endpoint", "image": "vllm", "storage": "",
			"model": map[string]any{"source": "hub", "name": model}})
	}
	first, second := serve("Qwen/Qwen2.5-0.5B-Instruct"), serve("Qwen/Qwen2.5-1.5B-Instruct")
	keys := "/workloads/" + str(first["id"]) + "/keys"
	if a := dana.call(http.MethodPost, keys, map[string]any{"name": "x", "endpoints": []string{"w-unknown"}}); a.Status !=
		http.StatusUnprocessableEntity || !strings.Contains(string(a.Raw), `"endpoints"`) {
		t.Errorf("want an unknown endpoint refused beside its field, got %d %s", a.Status, a.Raw)
	}
	made := dana.ok(http.StatusCreated, http.MethodPost, keys, map[string]any{"name": "router",
		"endpoints": []string{str(second["id"])}})

	c := exec.Command("node", "chat.mjs", str(made["baseURL"]))
	c.Dir, c.Env = filepath.Join(root, "e2e", "openai"), append(os.Environ(), "ENDPOINT_KEY="+str(made["key"]))
	out, err := c.Output()
	if err != nil {
		t.Fatalf("the client failed: %v %s", err, stderrOf(err))
	}
	type answer struct {
		Whole, Model, Streamed string
		Tokens                 int
	}
	var got struct {
		Models  []string
		Answers map[string]answer
		Refused struct {
			Name, Code, Message string
			Status              int
		}
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	want := []string{"Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-1.5B-Instruct"}
	slices.Sort(got.Models)
	if !slices.Equal(got.Models, want) {
		t.Errorf("want the models of both, got %q", got.Models)
	}
	for _, model := range want {
		if a := got.Answers[model]; a.Whole != "You said: hello there" || a.Streamed != a.Whole || a.Model != model ||
			a.Tokens == 0 {
			t.Errorf("%s: want both answers, got %+v", model, a)
		}
	}
	if r := got.Refused; r.Name != "NotFoundError" || r.Status != http.StatusNotFound || r.Code != "model_not_found" ||
		!strings.Contains(r.Message, want[0]) {
		t.Errorf("want an unknown model refused with those that there are, got %+v", r)
	}

	for _, w := range []map[string]any{first, second} { // each counts what went to it
		eventually(t, "the calls are counted", time.Minute, func() bool {
			for _, n := range items(dana.ok(http.StatusOK, http.MethodGet, "/workloads/"+str(w["id"])+"/traffic", nil)) {
				if n["key"] == made["id"] && n["requests"] == 2.0 {
					return true
				}
			}
			return false
		})
	}
	dana.ok(http.StatusOK, http.MethodDelete, "/workloads/"+str(second["id"])+"/keys/"+str(made["id"]), nil)
	eventually(t, "the second endpoint is closed to the key", time.Minute, func() bool {
		status, _, _ := chat(t, str(second["url"]), str(made["key"]), `{}`)
		return status == http.StatusUnauthorized
	})
	if status, _, text := chat(t, str(first["url"]), str(made["key"]), `{"messages":[{"content":"hi"}]}`); status !=
		http.StatusOK {
		t.Errorf("want the first endpoint open, got %d %s", status, text)
	}
}

// stderrOf is what a program wrote before it failed.
func stderrOf(err error) string {
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return string(failed.Stderr)
	}
	return ""
}

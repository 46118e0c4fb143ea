package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestAModelIsNamedWithTheStart: over REST an endpoint is asked for with a model; the dry run says what it takes and
// what would be created, and the running server serves that model and no other.
func TestAModelIsNamedWithTheStart(t *testing.T) {
	dana := as(t, "dana")
	model := map[string]any{"source": "hub", "name": "Qwen/Qwen2.5-3B-Instruct", "revision": "main", "contextLength": 4096}
	body := endpoint(map[string]any{"model": model})
	p := dana.ok(http.StatusOK, http.MethodPost, "/requests/preview", body)
	fit, _ := p["model"].(map[string]any)
	if fit["name"] != model["name"] || fit["fits"] != true || fit["estimate"].(map[string]any)["gib"].(float64) < 5 {
		t.Errorf("want the memory that the model takes, got %v", fit)
	}
	for _, want := range []string{"--model=Qwen/Qwen2.5-3B-Instruct", "--revision=main", "--max-model-len=4096",
		"--tensor-parallel-size=1"} {
		if !strings.Contains(str(p["manifest"]), want) {
			t.Errorf("want %s in the manifest", want)
		}
	}
	large := dana.ok(http.StatusOK, http.MethodPost, "/requests/preview", endpoint(map[string]any{
		"model": map[string]any{"name": "Qwen/Qwen2.5-14B-Instruct"}}))["model"].(map[string]any)
	if large["fits"] != false || large["smallest"] == "" || large["smallest"] == "mig-1g.10gb" {
		t.Errorf("want a larger size named, got %v", large)
	}

	w := dana.running("mig-1g.10gb", endpoint(map[string]any{"storage": "", "model": model}))
	if got, _ := w["model"].(map[string]any); got["name"] != model["name"] || got["revision"] != "main" {
		t.Errorf("want the model with the workload, got %v", w["model"])
	}
	r := dana.ok(http.StatusOK, http.MethodGet, "/requests/"+str(w["request"]), nil)
	if got, _ := r["model"].(map[string]any); got["name"] != model["name"] {
		t.Errorf("want the model with the request, got %v", r["model"])
	}
	key := str(dana.ok(http.StatusCreated, http.MethodPost, "/workloads/"+str(w["id"])+"/keys", map[string]any{
		"name": "models"})["key"])
	const hello = `"messages":[{"role":"user","content":"hello"}]`
	eventually(t, "the model answers", time.Minute, func() bool {
		status, _, text := chat(t, str(w["url"]), key, `{"model":"Qwen/Qwen2.5-3B-Instruct",`+hello+`}`)
		return status == http.StatusOK && strings.Contains(text, `"model":"Qwen/Qwen2.5-3B-Instruct"`)
	})
	if status, _, text := chat(t, str(w["url"]), key, `{"model":"Qwen/Qwen2.5-1.5B-Instruct",`+hello+`}`); status !=
		http.StatusNotFound {
		t.Errorf("another model: want 404, got %d %s", status, text)
	}
}

// TestBadModelsOverREST: what cannot be is refused with its field; nothing that was typed becomes a flag.
func TestBadModelsOverREST(t *testing.T) {
	dana := as(t, "dana")
	for why, c := range map[string]struct {
		change map[string]any
		field  string
	}{
		"a flag":           {map[string]any{"model": map[string]any{"name": "--trust-remote-code"}}, "model.name"},
		"a variable":       {map[string]any{"model": map[string]any{"name": "a/$(VLLM_API_KEY)"}}, "model.name"},
		"a volume of none": {map[string]any{"model": map[string]any{"name": "/shared/none-such/x"}}, "model.name"},
		"the node's disk":  {map[string]any{"model": map[string]any{"name": "/etc/passwd"}}, "model.name"},
		"no such source":   {map[string]any{"image": "triton", "model": map[string]any{"name": "a/b"}}, "model.source"},
		"none named":       {map[string]any{"image": "triton"}, "model.name"},
		"a revision":       {map[string]any{"model": map[string]any{"name": "a/b", "revision": "-x"}}, "model.revision"},
		"a quantization":   {map[string]any{"model": map[string]any{"quantization": "zip"}}, "model.quantization"},
		"the image's own":  {map[string]any{"image": "model-demo", "model": map[string]any{"name": "a/b"}}, "model.name"},
		"not of a notebook": {map[string]any{"kind": "notebook", "image": "jupyterlab",
			"model": map[string]any{"name": "a/b"}}, "model"},
	} {
		a := dana.call(http.MethodPost, "/requests", endpoint(c.change))
		if a.Status != http.StatusUnprocessableEntity || !strings.Contains(string(a.Raw), `"`+c.field+`"`) {
			t.Errorf("%s: want it refused with the field %s, got %d %s", why, c.field, a.Status, a.Raw)
		}
	}
}

// TestAModelInTheBrowser: somebody names a model, is told that it does not fit, takes the size that does, and reads on
// the page of the endpoint what it serves.
func TestAModelInTheBrowser(t *testing.T) {
	p := signIn(t, "dana", look{})
	p.open("/start?tenant=vision&kind=endpoint&image=vllm&size=mig-1g.10gb")
	p.reads("[data-test=model-fits]", "MIG slice 10 GB selected")
	p.fill("[name='model.name']", "Qwen/Qwen2.5-7B-Instruct")
	p.do(p.at("[name='model.name']").Blur())
	p.reads("[data-test=size-tile]:has(:checked)", "MIG slice 40 GB") // the size follows the model
	p.click("[data-test=size-tile][data-size='mig-1g.10gb'] label")
	p.reads("[data-test=model-fits]", "has only 10 GiB")
	p.reads("[data-test=verdict]", "Probably runs out of memory")
	p.reads("[data-test=send]", "Start anyway")
	p.accessible()
	p.shot("too-large")
	p.advanced()
	p.selects("[name='model.quantization']", "fp8")
	p.reads("[data-test=model-fits]", "Needs about 8")
	p.reads("[data-test=model-fits]", "MIG slice 10 GB selected")
	p.fill("[name='replicas.max']", "2")
	p.reads("[data-test=details]", "the owner may set up to 2")
	p.reads("[data-test=summary]", "Starts now")
	p.click("[data-test=send]")
	p.sees("[data-test=workload-head]")
	id := p.workloadAt()
	t.Cleanup(func() { as(t, "dana").remove(id) })
	p.reads("[data-test=workload-facts]", "Qwen/Qwen2.5-7B-Instruct")
	p.reads("[data-test=workload-facts]", "fp8")
	p.accessible()
	p.shot("serves")
}

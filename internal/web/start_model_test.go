package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// endpointForm is a start of an endpoint as the page sends it.
func endpointForm(changes ...string) url.Values {
	return form(append([]string{"kind", "endpoint", "image", "vllm", "storage", "0", "replicas.min", "1", "replicas.max",
		"1", "model.name", ""}, changes...)...)
}

// TestTheModelOfAnEndpoint: which runtime takes one, whether it has room, and which size is the smallest that has.
func TestTheModelOfAnEndpoint(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/start?kind=endpoint&size=mig-1g.10gb"), http.StatusOK)
	if got := part(doc, "model").AttrOr("placeholder", ""); got != "Default: Qwen/Qwen2.5-1.5B-Instruct" {
		t.Errorf("want the usual model of the runtime, got %q", got)
	}
	if got := part(doc, "storage").AttrOr("value", ""); got != "0" {
		t.Errorf("want no storage for an endpoint, got %q", got)
	}
	got := textOf(part(doc, "model-fits"))
	if !strings.HasPrefix(got, "Needs about ") || !strings.HasSuffix(got, "MIG slice 10 GB selected.") {
		t.Errorf("want it to have room, got %q", got)
	}
	doc = read(t, w.Post(webtest.Anna, "/start/form", endpointForm("model.name", "Qwen/Qwen2.5-14B-Instruct")),
		http.StatusOK)
	if got := textOf(part(doc, "model-fits")); !strings.HasPrefix(got, "The model needs about ") ||
		!strings.Contains(got, "has only 10 GiB") {
		t.Errorf("want it to be too large, got %q", got)
	}
	if got := part(doc, "model-size").AttrOr("value", ""); got != "mig-3g.40gb" {
		t.Errorf("want the slice of 40 GB proposed, got %q", got)
	}
	wantText(t, doc, "verdict", "runs out of memory", "MIG slice 40 GB")
	if got := part(doc, "instead").AttrOr("value", ""); got != "mig-3g.40gb" {
		t.Errorf("want the bar to propose the same size, got %q", got)
	}
	if got := textOf(part(doc, "send")); got != "Start anyway" {
		t.Errorf("want no plain start of what will not run, got %q", got)
	}
	doc = read(t, w.Post(webtest.Anna, "/start/form", endpointForm("model.name", "Qwen/Qwen2.5-14B-Instruct", "instead",
		"mig-3g.40gb")), http.StatusOK)
	if chosen(doc) != "mig-3g.40gb" || part(doc, "model-size").Length() != 0 ||
		part(doc, "model").AttrOr("value", "") != "Qwen/Qwen2.5-14B-Instruct" {
		t.Errorf("want it taken with the model kept, got %q", chosen(doc))
	}
	doc = read(t, w.Post(webtest.Anna, "/start/form", endpointForm("image", "model-demo")), http.StatusOK)
	if part(doc, "model").Length() != 0 || part(doc, "model-in-image").Length() != 1 {
		t.Error("want no model to choose where the image brings one")
	}
	doc = read(t, w.Post(webtest.Anna, "/start/form", endpointForm("model.name", "someone/finetuned")), http.StatusOK)
	if part(doc, "model-fit").Length() != 0 {
		t.Error("want nothing said of a model whose size nobody knows")
	}
	doc = read(t, w.Get(webtest.Anna, "/start?kind=notebook"), http.StatusOK)
	if part(doc, "model").Length()+part(doc, "replicas-min").Length() != 0 || part(doc, "storage").AttrOr("value",
		"") != "10Gi" {
		t.Error("want nothing of an endpoint for a notebook")
	}
}

// TestTheSizeFollowsTheModel: a model that needs more brings the smallest size that has room. A size that somebody
// chose stays, and so does one that the address names.
func TestTheSizeFollowsTheModel(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for name, c := range map[string]struct{ changed, want string }{
		"the model": {"input#model.name", "mig-3g.40gb"}, "the type": {"input#kind-1", "mig-3g.40gb"},
		"the size": {"input#size-mig-1g-10gb", "mig-1g.10gb"}, "without a script": {"", "mig-1g.10gb"},
	} {
		typed := endpointForm("model.name", "Qwen/Qwen2.5-14B-Instruct").Encode()
		r := httptest.NewRequest(http.MethodPost, "/start/form", strings.NewReader(typed))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("HX-Request", "true")
		r.Header.Set("HX-Source", c.changed)
		answer := w.Do(webtest.Anna, "en", r)
		if got := chosen(read(t, answer, http.StatusOK)); got != c.want {
			t.Errorf("%s was changed: want %s, got %s", name, c.want, got)
		}
	}
	large := "/start?kind=endpoint&image=vllm&model.name=Qwen/Qwen2.5-14B-Instruct"
	for address, want := range map[string]string{large: "mig-3g.40gb", large + "&size=mig-1g.10gb": "mig-1g.10gb"} {
		if got := chosen(read(t, w.Get(webtest.Anna, address), http.StatusOK)); got != want {
			t.Errorf("%s: want %s, got %s", address, want, got)
		}
	}
}

// TestALinkToAnImageBringsItsKind: an address that names an image and no kind leads to that image, whatever the person
// started last; an address that names a kind keeps it.
func TestALinkToAnImageBringsItsKind(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t) // Anna started a notebook last
	for address, want := range map[string][2]string{
		"/start?image=model-demo":               {"endpoint", "model-demo"},
		"/start?image=jupyterlab":               {"notebook", "jupyterlab"},
		"/start?kind=notebook&image=model-demo": {"notebook", "jupyterlab"},
		"/start?image=nothing-of-this-name":     {"notebook", "jupyterlab"},
	} {
		doc := read(t, w.Get(webtest.Anna, address), http.StatusOK)
		kind := doc.Find("input[name=kind][checked]").AttrOr("value", "")
		image := part(doc, "image").Find("option[selected]").AttrOr("value", "")
		if got := [2]string{kind, image}; got != want {
			t.Errorf("%s: want %q, got %q", address, want, got)
		}
	}
}

// TestTheKindBringsItsStorage: what nobody typed follows the kind, and what somebody typed stays.
func TestTheKindBringsItsStorage(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for typed, want := range map[string]string{"10Gi": "0", "0": "0", "50Gi": "50Gi"} {
		doc := read(t, w.Post(webtest.Anna, "/start/form", form("kind", "endpoint", "storage", typed)), http.StatusOK)
		if got := part(doc, "storage").AttrOr("value", ""); got != want {
			t.Errorf("%s: want %s for the endpoint, got %s", typed, want, got)
		}
	}
}

// TestStartAnEndpoint: the model and the replicas that were typed are what is granted, and what the owner reads.
func TestStartAnEndpoint(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	two := endpointForm("model.name", "Qwen/Qwen2.5-3B-Instruct", "model.contextLength", "4096", "model.quantization",
		"fp8", "model.revision", "main", "replicas.min", "2", "replicas.max", "3")
	doc := read(t, w.Post(webtest.Anna, "/start/form", two), http.StatusOK)
	if got := textOf(part(doc, "bar-what")); !strings.HasPrefix(got, "2 × MIG slice 10 GB") {
		t.Errorf("want both counted, got %q", got)
	}
	if got := textOf(part(doc, "total")); got != "€8.80" {
		t.Errorf("want the price of both for 8 h, got %q", got)
	}
	if got := textOf(part(doc, "cost-note")); !strings.Contains(got, "€13.20 with 3") {
		t.Errorf("want the most told, got %q", got)
	}
	answer := w.Post(webtest.Anna, "/start", two)
	wantRedirect(t, answer)
	page := read(t, w.Get(webtest.Anna, answer.Header().Get("Location")), http.StatusOK)
	for hook, want := range map[string]string{"model": "Qwen/Qwen2.5-3B-Instruct", "revision": "main",
		"context": "4,096 tokens", "quantization": "fp8"} {
		if got := textOf(part(page, hook)); !strings.Contains(got, want) {
			t.Errorf("%s: want %q, got %q", hook, want, got)
		}
	}
	if got := textOf(part(page, "workload-head")); !strings.Contains(got, "model server · Qwen/Qwen2.5-3B-Instruct") {
		t.Errorf("want the model in the head, got %q", got)
	}
	bad := read(t, w.Post(webtest.Anna, "/start", endpointForm("key", "k-2", "model.name", "--trust-remote-code",
		"model.contextLength", "long", "model.quantization", "zip", "storage", "10Gi", "replicas.max", "3")),
		http.StatusUnprocessableEntity)
	for _, field := range []string{"model.name", "model.contextLength", "model.quantization", "replicas"} {
		if bad.Find(`[id="`+field+`-error"]`).Length() != 1 {
			t.Errorf("want what is wrong beside %s", field)
		}
	}
	if got := part(bad, "model").AttrOr("value", ""); got != "--trust-remote-code" {
		t.Errorf("want what was typed kept, got %q", got)
	}
}

// TestTheApproverSeesTheModel: who decides reads what would be served.
func TestTheApproverSeesTheModel(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	answer := w.Post(webtest.Anna, "/start", endpointForm("size", "h100", "lease", "4h", "reason", "chat for support",
		"model.name", "meta-llama/Llama-3.1-8B-Instruct"))
	wantRedirect(t, answer)
	id := strings.TrimPrefix(strings.Split(answer.Header().Get("Location"), "?")[0], "/requests/")
	doc := read(t, w.Get(webtest.Eli, "/approvals/"+id), http.StatusOK)
	if got := textOf(part(doc, "model")); !strings.Contains(got, "meta-llama/Llama-3.1-8B-Instruct") {
		t.Errorf("got %q", got)
	}
}

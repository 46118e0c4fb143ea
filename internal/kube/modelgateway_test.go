package kube

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// models is a gateway of the site that takes InferencePools.
var models = ModelGateway{Kind: GatewayInferences, Address: "https://models.example.org:8443",
	Gateway: GatewayRef{Namespace: "gateways", Name: "models"}}

func publishedInput() Input {
	in := input("h100", "vllm")
	in.Published, in.Site.ModelGateway = true, models
	return in
}

// routesOf are the custom resources among the objects, by kind; those of another name than the workload's by that.
func routesOf(t *testing.T, in Input) map[string]*unstructured.Unstructured {
	t.Helper()
	objects, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*unstructured.Unstructured{}
	for _, o := range objects {
		if u, ok := o.(*unstructured.Unstructured); ok {
			found[foundBy(in, u.GetKind(), u.GetName())] = u
		}
	}
	return found
}

func foundBy(in Input, kind, name string) string {
	if name != in.Workload.Name {
		return name
	}
	return kind
}

// What is published is what speaks OpenAI and asks for no token, as long as the site has a gateway for it; its names
// are those by which it is found again.
func TestWhatIsPublished(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Input)
		want   int
	}{
		"an endpoint":                     {func(*Input) {}, 2},
		"one that is stopped":             {func(in *Input) { in.Workload.Desired = workload.WantStopped }, 2},
		"one that shall go":               {func(in *Input) { in.Workload.Desired = workload.WantDeleted }, 0},
		"pods that still ask for a token": {func(in *Input) { in.Published = false }, 0},
		"the portal carries calls":        {func(in *Input) { in.Site.ModelGateway.Kind = GatewayEmbedded }, 0},
		"one that may sleep":              {func(in *Input) { in.Workload.Replicas.Max = 2 }, 0},
		"nothing is set":                  {func(in *Input) { in.Site.ModelGateway = ModelGateway{} }, 0},
		"at one that Kuadrant guards":     {func(in *Input) { *in = guardedInput() }, 5},
		"there, and keys without limits": {func(in *Input) {
			*in = guardedInput()
			in.Limits = endpointkey.LimitValues{}
		}, 3},
		"at Envoy AI Gateway": {func(in *Input) { *in = envoyInput() }, 6},
		"there, and no limits": {func(in *Input) {
			*in = envoyInput()
			in.Limits = endpointkey.LimitValues{}
		}, 5},
		"a server with a page, of any engine": {func(in *Input) {
			in.Workload.Image.OpenPath, in.Workload.Image.Runtime = "/ui", nil
		}, 0},
	} {
		in := publishedInput()
		c.change(&in)
		found := routesOf(t, in)
		if len(found) != c.want {
			t.Errorf("%s: %d objects, want %d", name, len(found), c.want)
		}
		for _, ref := range RouteNames(in.Workload) {
			by := foundBy(in, ref.Kind, ref.Name)
			o := found[by]
			if o == nil && c.want > 0 && in.Site.ModelGateway.Needs(ref.Kind) || o != nil && (o.GetAPIVersion() !=
				ref.APIVersion || o.GetName() != ref.Name || o.GetNamespace() != ref.Namespace) {
				t.Errorf("%s: %+v is not what is made", name, ref)
			}
			delete(found, by)
		}
		if len(found) > 0 {
			t.Errorf("%s: %v would never be found again", name, found)
		}
	}
	host := routesOf(t, publishedInput())[HTTPRouteKind].Object["spec"].(map[string]any)["hostnames"].([]any)
	if got := models.URL("gpu-vision", "ep-a"); host[0] != "models.example.org" ||
		got != "https://models.example.org:8443/gpu-vision/ep-a" {
		t.Errorf("it is reached at %s, and the route is for %v", got, host)
	}
}

func TestModelGatewayCheck(t *testing.T) {
	for want, change := range map[string]func(*ModelGateway){
		"":                       func(*ModelGateway) {},
		"kind":                   func(g *ModelGateway) { g.Kind = "traefik" },
		"address":                func(g *ModelGateway) { g.Address = "models.example.org" },
		"address: want https":    func(g *ModelGateway) { g.Address = "https://models.example.org/v1" },
		"gateway.namespace":      func(g *ModelGateway) { g.Gateway.Namespace = "" },
		"gateway.name:":          func(g *ModelGateway) { g.Gateway.Name = "A b" },
		"gateway.section":        func(g *ModelGateway) { g.Gateway.Section = "/" },
		"podNamespace":           func(g *ModelGateway) { g.PodNamespace = "*" },
		"endpointPicker.service": func(g *ModelGateway) { g.EndpointPicker.Service = "{name}-epp" },
		"keyCheck":               func(g *ModelGateway) { g.KeyCheck = "http://gpu-portal.svc" },
		"outside":                func(g *ModelGateway) { g.Outside = true },
		"keyCheck: want http": func(g *ModelGateway) {
			g.Kind, g.KeyCheck = GatewayKuadrant, "http://gpu-portal.svc/gateway"
		},
		"endpointPicker: envoy-ai-gateway": func(g *ModelGateway) { g.Kind = GatewayEnvoyAI },
		"keyCheck: want": func(g *ModelGateway) {
			g.Kind, g.EndpointPicker, g.KeyCheck = GatewayEnvoyAI, EndpointPicker{}, "gpu-portal.svc:8080"
		},
		"endpointPicker.port": func(g *ModelGateway) { g.EndpointPicker.Port = 70000 },
	} {
		g := models
		g.EndpointPicker.Service = "{workload}-epp"
		change(&g)
		switch err := g.Check(); {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("want a problem with %q, got %v", want, err)
		}
	}
	if err := (ModelGateway{Kind: GatewayEmbedded}).Check(); err != nil {
		t.Error(err)
	}
}

// TestPublishedIsValid against the definitions of the Inference Extension and of Kuadrant, which are not part of this
// repository.
func TestPublishedIsValid(t *testing.T) {
	bare, picked, guarded := publishedInput(), publishedInput(), guardedInput()
	picked.Site.ModelGateway.EndpointPicker = EndpointPicker{Service: "{workload}-epp", FailOpen: true}
	for kind, c := range map[string]struct {
		file   string
		inputs []Input
		spoil  func(spec map[string]any)
	}{
		InferencePoolKind: {"inference.networking.k8s.io_inferencepools.yaml", []Input{bare, picked},
			func(s map[string]any) { s["targetPorts"] = []any{map[string]any{"number": int64(0)}} }},
		AuthPolicyKind: {"kuadrant.io_authpolicies.yaml", []Input{guarded},
			func(s map[string]any) { delete(s, "targetRef") }},
		RateLimitPolicyKind: {"kuadrant.io_ratelimitpolicies.yaml", []Input{guarded},
			func(s map[string]any) {
				s["limits"] = map[string]any{"a": map[string]any{"rates": []any{map[string]any{"limit": int64(1), "window": "1d"}}}}
			}},
		TokenRateLimitPolicyKind: {"kuadrant.io_tokenratelimitpolicies.yaml", []Input{guarded},
			func(s map[string]any) { s["targetRef"].(map[string]any)["kind"] = "" }},
	} {
		schema := definition(t, c.file)
		for _, in := range c.inputs {
			made := routesOf(t, in)[kind]
			if made == nil {
				t.Fatalf("no %s", kind)
			}
			if err := validate.AgainstSchema(schema, made.Object, strfmt.Default); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			dropped(t, schema.Properties["spec"], made.Object["spec"], kind+": spec")
			c.spoil(made.Object["spec"].(map[string]any))
			if validate.AgainstSchema(schema, made.Object, strfmt.Default) == nil {
				t.Errorf("%s: the definition allows anything", kind)
			}
		}
	}
}

// dropped finds what a definition does not have: the API server would leave it out, or refuse it.
func dropped(t *testing.T, schema spec.Schema, value any, path string) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		for name, part := range v {
			field, known := schema.Properties[name]
			switch open := schema.AdditionalProperties; {
			case known:
				dropped(t, field, part, path+"."+name)
			case open != nil && open.Schema != nil:
				dropped(t, *open.Schema, part, path+"."+name)
			case open == nil && schema.Extensions["x-kubernetes-preserve-unknown-fields"] == nil:
				t.Errorf("the API server drops %s.%s", path, name)
			}
		}
	case []any:
		for _, part := range v {
			dropped(t, *schema.Items.Schema, part, path+"[]")
		}
	}
}

// definition reads the schema of a CustomResourceDefinition that a site has.
func definition(t *testing.T, file string) *spec.Schema {
	t.Helper()
	return definitionOf(t, file, "")
}

// definitionOf is that of a version, or of the first that the file has.
func definitionOf(t *testing.T, file, version string) *spec.Schema {
	t.Helper()
	dir := os.Getenv("PORTAL_TEST_CRDS")
	if dir == "" {
		dir = "../../../shared/crds"
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Skipf("not run: no %s in %s (PORTAL_TEST_CRDS)", file, dir)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct{ OpenAPIV3Schema json.RawMessage }
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	schema, i := &spec.Schema{}, 0
	for n, v := range crd.Spec.Versions {
		if v.Name == version {
			i = n
		}
	}
	if err := json.Unmarshal(crd.Spec.Versions[i].Schema.OpenAPIV3Schema, schema); err != nil {
		t.Fatal(err)
	}
	return schema
}

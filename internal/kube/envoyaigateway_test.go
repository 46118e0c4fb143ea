package kube

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
)

// envoyInput is an endpoint at Envoy AI Gateway, which asks about keys.
func envoyInput() Input {
	in := guardedInput()
	in.Site.ModelGateway.Kind = GatewayEnvoyAI
	return in
}

// Until the gateway asks about keys, calls are led nowhere, for pods ask for no token; and no key reaches a pod.
func TestEnvoyLeadsNowhereBeforeItAsks(t *testing.T) {
	for guarded, want := range map[bool]string{true: "svc", false: nowhere} {
		in := envoyInput()
		in.Guarded = guarded
		made := routesOf(t, in)
		host := at(t, made[BackendKind].Object, "spec", "endpoints", 0, "fqdn", "hostname").(string)
		if !strings.HasSuffix(host, want) {
			t.Errorf("guarded %v: led to %s", guarded, host)
		}
		removed := at(t, made[AIServiceBackendKind].Object, "spec", "headerMutation", "remove").([]any)
		if !slices.Contains(removed, any("authorization")) {
			t.Errorf("guarded %v: the pods are shown the key: %v", guarded, removed)
		}
	}
}

// Envoy asks before it knows the model, by the policy of whatever route the host has: each endpoint has one of its own.
func TestEachEndpointHasAHostAtEnvoy(t *testing.T) {
	in := envoyInput()
	made := routesOf(t, in)
	host := at(t, made[AIGatewayRouteKind].Object, "spec", "hostnames", 0).(string)
	u, err := url.Parse(in.Site.ModelGateway.URL(in.Workload.Namespace, in.Workload.Name))
	if err != nil || u.Hostname() != host || u.Port() != "8443" || host != in.Workload.Name+".models.example.org" {
		t.Errorf("it is reached at %s, and the route is for %s (%v)", u, host, err)
	}
	model := at(t, made[AIGatewayRouteKind].Object, "spec", "rules", 0, "matches", 0, "headers", 0, "value")
	if model != ".+" {
		t.Errorf("a server that knows its models alone is asked for %v", model)
	}
	in.Workload.Model = &catalog.Model{Source: catalog.FromHub, Name: "Qwen/Qwen2.5-1.5B-Instruct"}
	model = at(t, routesOf(t, in)[AIGatewayRouteKind].Object, "spec", "rules", 0, "matches", 0, "headers", 0, "value")
	if model != "Qwen/Qwen2.5-1.5B-Instruct" {
		t.Errorf("the model is %v", model)
	}
}

// The question is about the endpoint that is called, whatever the path of the call, which Envoy appends.
func TestWhatEnvoyAsks(t *testing.T) {
	in := envoyInput()
	policy := routesOf(t, in)[SecurityPolicyKind].Object
	path := at(t, policy, "spec", "extAuth", "http", "path").(string)
	for _, called := range []string{"/v1/chat/completions", "/v1/models?namespace=other",
		"/?endpoint=other&outside=true"} {
		u, err := url.ParseRequestURI(path + called)
		if err != nil {
			t.Fatal(err)
		}
		query := u.Query()
		if u.Path != endpointkey.AnswerPath || query.Get(endpointkey.QueryNamespace) != in.Workload.Namespace ||
			query.Get(endpointkey.QueryEndpoint) != in.Workload.Name {
			t.Errorf("for a call of %s it asks %s", called, u)
		}
	}
	if open := at(t, policy, "spec", "extAuth", "failOpen"); open != false {
		t.Error("calls go through where the portal does not answer")
	}
	in.Site.ModelGateway.KeyCheck = "https://portal.example.org"
	spec := at(t, routesOf(t, in)[keyBackendName(in.Workload.Name)].Object, "spec")
	if port := at(t, spec, "endpoints", 0, "fqdn", "port"); port != int64(443) ||
		at(t, spec, "tls", "sni") != "portal.example.org" {
		t.Errorf("the portal is asked at %v", spec)
	}
}

// A limit counts each key by itself, and there is one for each value that keys have.
func TestEnvoyLimits(t *testing.T) {
	for name, c := range map[string]struct {
		values    []int
		key, want int // the limit that the key of the call has, and the rate that counts it; 0 for none
	}{
		"its own": {[]int{600, 60, 60}, 60, 60}, "the other": {[]int{600, 60}, 600, 600},
		"no limit": {[]int{600, 60}, 0, 0}, "one that is not written yet": {[]int{600, 60}, 120, 600},
	} {
		var counted []int64
		for _, rule := range envoyLimits("limit", c.values, nil) {
			holds, byKey := true, false
			for _, h := range at(t, rule, "clientSelectors", 0, "headers").([]any) {
				header := h.(map[string]any)
				if header["type"] == "Distinct" {
					byKey = header["name"] == endpointkey.KeyHeader
					continue
				}
				holds = holds && (header["value"] == strconv.Itoa(c.key)) != (header["invert"] == true)
			}
			if !byKey {
				t.Errorf("%s: keys share a limit", name)
			}
			if holds {
				counted = append(counted, at(t, rule, "limit", "requests").(int64))
			}
		}
		if c.want == 0 && len(counted) > 0 || c.want > 0 && !slices.Equal(counted, []int64{int64(c.want)}) {
			t.Errorf("%s: want a limit of %d, got %v", name, c.want, counted)
		}
	}
}

// TestEnvoyIsValid against the definitions of Envoy AI Gateway and Envoy Gateway, which are not part of this
// repository.
func TestEnvoyIsValid(t *testing.T) {
	for kind, c := range map[string]struct {
		file, version string
		spoil         func(spec map[string]any)
	}{
		AIGatewayRouteKind: {"aigateway.envoyproxy.io_aigatewayroutes.yaml", "v1beta1",
			func(s map[string]any) { delete(s, "rules") }},
		AIServiceBackendKind: {"aigateway.envoyproxy.io_aiservicebackends.yaml", "v1beta1",
			func(s map[string]any) { s["schema"] = map[string]any{"name": "other"} }},
		BackendKind: {"gateway.envoyproxy.io_backends.yaml", "v1alpha1",
			func(s map[string]any) { s["endpoints"] = []any{} }},
		SecurityPolicyKind: {"gateway.envoyproxy.io_securitypolicies.yaml", "v1alpha1",
			func(s map[string]any) { s["extAuth"].(map[string]any)["failOpen"] = "no" }},
		BackendTrafficPolicyKind: {"gateway.envoyproxy.io_backendtrafficpolicies.yaml", "v1alpha1",
			func(s map[string]any) { s["rateLimit"].(map[string]any)["type"] = "Sometimes" }},
	} {
		t.Run(kind, func(t *testing.T) {
			schema := definitionOf(t, c.file, c.version)
			in := envoyInput()
			for n := range 2 * MaxKeyLimits {
				in.Limits.Requests, in.Limits.Tokens = append(in.Limits.Requests, n+1), append(in.Limits.Tokens, n+1)
			}
			made := routesOf(t, in)[kind]
			if err := validate.AgainstSchema(schema, made.Object, strfmt.Default); err != nil {
				t.Error(err)
			}
			dropped(t, schema.Properties["spec"], made.Object["spec"], "spec")
			c.spoil(made.Object["spec"].(map[string]any))
			if validate.AgainstSchema(schema, made.Object, strfmt.Default) == nil {
				t.Error("the definition allows anything")
			}
		})
	}
}

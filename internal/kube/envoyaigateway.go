package kube

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
)

// The objects of Envoy AI Gateway 1.1 and of the Envoy Gateway that it extends.
const (
	EnvoyAIAPI               = "aigateway.envoyproxy.io/v1beta1"
	EnvoyAPI                 = "gateway.envoyproxy.io/v1alpha1"
	AIGatewayRouteKind       = "AIGatewayRoute"
	AIServiceBackendKind     = "AIServiceBackend"
	BackendKind              = "Backend"
	SecurityPolicyKind       = "SecurityPolicy"
	BackendTrafficPolicyKind = "BackendTrafficPolicy"
)

const (
	modelHeader   = "x-ai-eg-model"           // where the gateway puts the model of a call
	costNamespace = "io.envoy.ai_gateway"     // of the metadata with the tokens of an answer
	costKey       = "gpu_portal_total_tokens" // in it
	// nowhere is where calls are led before it is certain that they are asked for a key.
	nowhere = "unguarded.invalid"
)

// keyBackendName is the Backend at which the gateway asks about keys. No endpoint's name has a dot.
func keyBackendName(endpoint string) string { return endpoint + ".key" }

// envoyObjects publish an endpoint at Envoy AI Gateway. It makes an HTTPRoute of the AIGatewayRoute's name, which the
// policies belong to.
func (r renderer) envoyObjects(g ModelGateway) []Object {
	objects := []Object{r.podsBackend(), r.keyBackend(g), r.serviceBackend(), r.securityPolicy(g)}
	if rules := slices.Concat(envoyLimits(endpointkey.RequestsHeader, r.Limits.Requests, nil),
		envoyLimits(endpointkey.TokensHeader, r.Limits.Tokens, tokenCost())); len(rules) > 0 {
		objects = append(objects, r.custom(EnvoyAPI, BackendTrafficPolicyKind, map[string]any{
			"targetRefs": []any{r.routeRef()},
			"rateLimit":  map[string]any{"type": "Global", "global": map[string]any{"rules": rules}}}))
	}
	return append(objects, r.aiRoute(g))
}

func backendAt(host string, port int64) map[string]any {
	return map[string]any{"endpoints": []any{map[string]any{"fqdn": map[string]any{"hostname": host, "port": port}}}}
}

// podsBackend is the endpoint's Service. Pods ask for no token, so that calls are led nowhere until the gateway says
// that it asks for keys.
func (r renderer) podsBackend() *unstructured.Unstructured {
	host := nowhere
	if r.Guarded {
		host = r.Workload.Name + "." + r.Workload.Namespace + ".svc"
	}
	return r.custom(EnvoyAPI, BackendKind, backendAt(host, ServicePort))
}

// keyBackend is the portal.
func (r renderer) keyBackend(g ModelGateway) *unstructured.Unstructured {
	u, _ := url.Parse(g.KeyCheck) // Check has seen it
	port, _ := strconv.ParseInt(u.Port(), 10, 32)
	if port == 0 {
		port = map[string]int64{"http": 80, "https": 443}[u.Scheme]
	}
	spec := backendAt(u.Hostname(), port)
	if u.Scheme == "https" {
		spec["tls"] = map[string]any{"wellKnownCACertificates": "System", "sni": u.Hostname()}
	}
	o := r.custom(EnvoyAPI, BackendKind, spec)
	o.SetName(keyBackendName(r.Workload.Name))
	return o
}

// serviceBackend says that the pods speak OpenAI. They see neither the key of a call nor what was said of it.
func (r renderer) serviceBackend() *unstructured.Unstructured {
	return r.custom(EnvoyAIAPI, AIServiceBackendKind, map[string]any{
		"schema":     map[string]any{"name": "OpenAI"},
		"backendRef": backendRef(r.Workload.Name),
		"headerMutation": map[string]any{"remove": []any{"authorization", endpointkey.KeyHeader, endpointkey.RequestsHeader,
			endpointkey.TokensHeader}},
	})
}

func backendRef(name string) map[string]any {
	group, _, _ := strings.Cut(EnvoyAPI, "/")
	return map[string]any{"group": group, "kind": BackendKind, "name": name}
}

// aiRoute leads the calls of the endpoint's own host to it. A host for each endpoint is what keeps keys apart: Envoy
// asks about a key before it knows the model of a call, so that of endpoints at one host it would ask about any. Its
// timeout is off: an answer is a stream that may last.
func (r renderer) aiRoute(g ModelGateway) *unstructured.Unstructured {
	w := r.Workload
	model := map[string]any{"type": "RegularExpression", "name": modelHeader, "value": ".+"} // the server knows its models
	if w.Model != nil {
		model["type"], model["value"] = "Exact", w.Model.ServedName()
	}
	u, _ := url.Parse(g.URL(w.Namespace, w.Name)) // Check has seen it
	return r.custom(EnvoyAIAPI, AIGatewayRouteKind, map[string]any{
		"parentRefs": []any{g.parent()},
		"hostnames":  []any{u.Hostname()},
		"rules": []any{map[string]any{
			"matches":       []any{map[string]any{"headers": []any{model}}},
			"backendRefs":   []any{map[string]any{"name": w.Name, "weight": int64(1)}},
			"timeouts":      map[string]any{"request": "0s"},
			"modelsOwnedBy": w.Tenant,
		}},
		"llmRequestCosts": []any{map[string]any{"metadataKey": costKey, "type": "TotalToken"}},
	})
}

// securityPolicy asks the portal about the key of each call. Envoy puts the path of the call behind that of the
// question, so that it ends within the query. Where the portal does not answer, no call goes through.
func (r renderer) securityPolicy(g ModelGateway) *unstructured.Unstructured {
	u, _ := url.Parse(g.keyCheckURL(r.Workload.Namespace, r.Workload.Name))
	return r.custom(EnvoyAPI, SecurityPolicyKind, map[string]any{
		"targetRefs": []any{r.routeRef()},
		"extAuth": map[string]any{
			"failOpen": false,
			"http": map[string]any{
				"backendRefs": []any{backendRef(keyBackendName(r.Workload.Name))},
				"path":        u.RequestURI() + "&" + endpointkey.QueryPath + "=",
				"headersToBackend": []any{endpointkey.KeyHeader, endpointkey.RequestsHeader,
					endpointkey.TokensHeader},
			},
			"headersToExtAuth": []any{"accept-language"},
		},
	})
}

// tokenCost is what a call takes of a limit of tokens: nothing before, what its answer took after it.
func tokenCost() map[string]any {
	return map[string]any{
		"request": map[string]any{"from": "Number", "number": int64(0)},
		"response": map[string]any{"from": "Metadata",
			"metadata": map[string]any{"namespace": costNamespace, "key": costKey}},
	}
}

// envoyLimits are the limits of limitClasses as rules of a rate limit in Redis, which counts each key by itself. The
// portal's answer about a key says by header which limit it has.
func envoyLimits(header string, values []int, cost map[string]any) (rules []any) {
	is := func(n int, not bool) any {
		match := map[string]any{"type": "Exact", "name": header, "value": strconv.Itoa(n)}
		if not {
			match["invert"] = true
		}
		return match
	}
	rule := func(n int, when ...any) any {
		each := append([]any{map[string]any{"type": "Distinct", "name": endpointkey.KeyHeader}}, when...)
		rule := map[string]any{"clientSelectors": []any{map[string]any{"headers": each}},
			"limit": map[string]any{"requests": int64(n), "unit": "Minute"}}
		if cost != nil {
			rule["cost"] = cost
		}
		return rule
	}
	values = limitClasses(values)
	if len(values) == 0 {
		return nil
	}
	others := []any{is(0, true)}
	for _, n := range values {
		rules = append(rules, rule(n, is(n, false)))
		others = append(others, is(n, true))
	}
	return append(rules, rule(slices.Max(values), others...))
}

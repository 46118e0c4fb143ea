package kube

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
)

// The policies of Kuadrant, as of its operator 1.4.
const (
	KuadrantAPI              = "kuadrant.io/v1"
	KuadrantTokensAPI        = "kuadrant.io/v1alpha1"
	AuthPolicyKind           = "AuthPolicy"
	RateLimitPolicyKind      = "RateLimitPolicy"
	TokenRateLimitPolicyKind = "TokenRateLimitPolicy"
)

// MaxKeyLimits is how many limits a policy has: keys of equal limits share one, which counts each key by itself. Where
// there are more, the least ones are written, and keys with higher limits have the highest of those.
const MaxKeyLimits = 32

// isAddress reports whether a text is scheme, host and port.
func isAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" &&
		strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == "" && u.User == nil
}

func (g ModelGateway) keyCheckURL(namespace, name string) string {
	query := url.Values{endpointkey.QueryNamespace: {namespace}, endpointkey.QueryEndpoint: {name}}
	if g.Outside {
		query.Set(endpointkey.QueryOutside, "true")
	}
	return strings.TrimSuffix(g.KeyCheck, "/") + endpointkey.AnswerPath + "?" + query.Encode()
}

// Names within the AuthPolicy. What it puts under identityName is auth.identity for the limits.
const (
	keyRule      = "key"
	identityName = "identity"
)

// Common Expression Language, as Authorino evaluates it. An expression that fails for want of a field is a no.
const (
	callersKey = "request.headers.authorization"
	keyIsGood  = "has(auth.metadata.key) && has(auth.metadata.key.id)"
	refusal    = `has(auth.metadata.key) && has(auth.metadata.key.error) ? {"error": auth.metadata.key.error} : ` +
		`{"error": {"message": "No key was sent, or it could not be checked.", "type": "invalid_request_error", ` +
		`"code": "invalid_api_key"}}`
	keyID       = "auth.metadata.key.id"
	keyRequests = "string(int(auth.metadata.key.requestsPerMinute))"
	keyTokens   = "string(int(auth.metadata.key.tokensPerMinute))"
)

// policies are who may call an endpoint, and how much. The keys themselves stay in the portal, which has hashes of them
// only: the gateway asks it about the key of each call.
func (r renderer) policies(g ModelGateway) []Object {
	if g.Kind != GatewayKuadrant {
		return nil
	}
	objects := []Object{r.authPolicy(g)}
	for _, limits := range []struct {
		api, kind, counts string
		values            []int
	}{
		{KuadrantAPI, RateLimitPolicyKind, "requests", r.Limits.Requests},
		{KuadrantTokensAPI, TokenRateLimitPolicyKind, "tokens", r.Limits.Tokens},
	} {
		if each := limitsOf(limits.counts, limits.values); each != nil {
			objects = append(objects, r.custom(limits.api, limits.kind,
				map[string]any{"targetRef": r.routeRef(), "limits": each}))
		}
	}
	return objects
}

// authPolicy asks the portal. Everybody is let as far as the question, for the answer is what decides.
func (r renderer) authPolicy(g ModelGateway) *unstructured.Unstructured {
	expression := func(text string) map[string]any { return map[string]any{"expression": text} }
	w := r.Workload
	return r.custom(KuadrantAPI, AuthPolicyKind, map[string]any{
		"targetRef": r.routeRef(),
		"rules": map[string]any{
			"authentication": map[string]any{keyRule: map[string]any{"anonymous": map[string]any{}}},
			"metadata": map[string]any{keyRule: map[string]any{"http": map[string]any{
				"url":     g.keyCheckURL(w.Namespace, w.Name),
				"method":  "GET",
				"headers": map[string]any{"Authorization": expression(callersKey)},
			}}},
			"authorization": map[string]any{keyRule: map[string]any{"patternMatching": map[string]any{
				"patterns": []any{map[string]any{"predicate": keyIsGood}}}}},
			"response": map[string]any{
				"success": map[string]any{"filters": map[string]any{identityName: map[string]any{
					"json": map[string]any{"properties": map[string]any{"key": expression(keyID),
						"requests": expression(keyRequests), "tokens": expression(keyTokens)}}}}},
				"unauthorized": map[string]any{"code": int64(401), "body": expression(refusal),
					"headers": map[string]any{"Content-Type": map[string]any{"value": "application/json"},
						"WWW-Authenticate": map[string]any{"value": `Bearer error="invalid_token"`}}},
			},
		},
	})
}

// limitClasses are the values that are written, each once, the least first.
func limitClasses(values []int) []int {
	values = slices.Clone(values)
	slices.Sort(values)
	values = slices.DeleteFunc(slices.Compact(values), func(n int) bool { return n <= 0 })
	return values[:min(len(values), MaxKeyLimits)]
}

// limitsOf names a limit for each value, and one for keys whose value has none; nil for no values. Policies cannot be
// without limits.
func limitsOf(counts string, values []int) map[string]any {
	values = limitClasses(values)
	if len(values) == 0 {
		return nil
	}
	limit := func(n int, when ...any) map[string]any {
		return map[string]any{
			"rates":    []any{map[string]any{"limit": int64(n), "window": "1m"}},
			"counters": []any{map[string]any{"expression": "auth.identity.key"}},
			"when":     when,
		}
	}
	predicate := func(is string, n int) any {
		return map[string]any{"predicate": "auth.identity." + counts + " " + is + ` "` + strconv.Itoa(n) + `"`}
	}
	limits := map[string]any{}
	others := []any{predicate("!=", 0)}
	for _, n := range values {
		limits[counts+"-"+strconv.Itoa(n)] = limit(n, predicate("==", n))
		others = append(others, predicate("!=", n))
	}
	limits[counts+"-other"] = limit(slices.Max(values), others...)
	return limits
}

// routeRef is the endpoint's HTTPRoute, to which its policies belong.
func (r renderer) routeRef() map[string]any {
	group, _, _ := strings.Cut(GatewayAPI, "/")
	return map[string]any{"group": group, "kind": HTTPRouteKind, "name": r.Workload.Name}
}

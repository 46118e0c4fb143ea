package kube

import (
	"fmt"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"

	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
)

// guarded is an endpoint at a gateway that Kuadrant guards.
func guardedInput() Input {
	in := publishedInput()
	in.Guarded, in.Limits = true, endpointkey.LimitValues{Requests: []int{60, 600}, Tokens: []int{100_000}}
	in.Site.ModelGateway.Kind, in.Site.ModelGateway.KeyCheck = GatewayKuadrant, "http://gpu-portal.gpu-portal.svc:8080"
	return in
}

// at reads below an object; it ends the test where nothing is.
func at(t *testing.T, from any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch key := step.(type) {
		case string:
			from = from.(map[string]any)[key]
		case int:
			from = from.([]any)[key]
		}
		if from == nil {
			t.Fatalf("nothing at %v of %v", step, path)
		}
	}
	return from
}

// Until Kuadrant enforces the policy, calls are led nowhere, for pods ask for no token; and no key reaches a pod.
func TestNothingIsLedPastThePolicies(t *testing.T) {
	for guarded, want := range map[bool]bool{true: true, false: false} {
		in := guardedInput()
		in.Guarded = guarded
		rule := at(t, routesOf(t, in)[HTTPRouteKind].Object, "spec", "rules", 0).(map[string]any)
		if _, led := rule["backendRefs"]; led != want {
			t.Errorf("guarded %v: led to the pods: %v", guarded, led)
		}
		if got := at(t, rule, "filters", 1, "requestHeaderModifier", "remove", 0); got != "Authorization" {
			t.Errorf("guarded %v: the pods are shown %v", guarded, got)
		}
	}
	in := publishedInput()
	if _, led := at(t, routesOf(t, in)[HTTPRouteKind].Object, "spec", "rules", 0).(map[string]any)["backendRefs"]; !led {
		t.Error("without Kuadrant there is nothing to wait for")
	}
}

// A limit counts each key by itself, and there is one for each value that keys have. A key whose value has none, be it
// too many or too new, has the highest that is written.
func TestKeyLimits(t *testing.T) {
	if got := limitsOf("requests", []int{0, -1}); got != nil {
		t.Errorf("no key has a limit, and there is %v", got)
	}
	var many []int
	for n := range 3 * MaxKeyLimits {
		many = append(many, 1000-n)
	}
	for name, c := range map[string]struct {
		values []int
		key    int // limit of the key of the call
		want   int // the rate that counts it; 0 for none
	}{
		"its own":                     {[]int{600, 60, 60}, 60, 60},
		"the other":                   {[]int{600, 60}, 600, 600},
		"no limit":                    {[]int{600, 60}, 0, 0},
		"one that is not written yet": {[]int{600, 60}, 120, 600},
		"among too many":              {many, 905, 905},
		"beyond too many":             {many, 1000, 1000 - 3*MaxKeyLimits + MaxKeyLimits},
	} {
		limits := limitsOf("requests", c.values)
		if len(limits) > MaxKeyLimits+1 {
			t.Errorf("%s: %d limits", name, len(limits))
		}
		var counted []string
		for of, limit := range limits {
			identity := map[string]any{"key": "abcd2345", "requests": fmt.Sprint(c.key), "tokens": "0"}
			auth := map[string]any{"identity": identity}
			holds := true
			for i := range at(t, limit, "when").([]any) {
				holds = holds && evaluate(t, at(t, limit, "when", i, "predicate").(string), auth) == true
			}
			if holds {
				counted = append(counted, fmt.Sprintf("%s %v by %v", of, at(t, limit, "rates", 0, "limit"),
					evaluate(t, at(t, limit, "counters", 0, "expression").(string), auth)))
			}
		}
		switch {
		case c.want == 0 && len(counted) == 0:
		case len(counted) != 1 || !strings.HasSuffix(counted[0], fmt.Sprintf(" %d by abcd2345", c.want)):
			t.Errorf("%s: want one limit of %d, got %v", name, c.want, counted)
		}
	}
}

// evaluate asks as Authorino does: auth and request are structs, and what is not there fails.
func evaluate(t *testing.T, expression string, auth map[string]any) any {
	t.Helper()
	object := cel.MapType(cel.StringType, cel.DynType)
	env, err := cel.NewEnv(cel.Variable("auth", object), cel.Variable("request", object))
	if err != nil {
		t.Fatal(err)
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		t.Fatalf("%s: %v", expression, issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := program.Eval(map[string]any{"auth": auth, "request": map[string]any{
		"headers": map[string]any{"authorization": "Bearer gpk_abcd2345.secret"}}})
	if err != nil {
		return nil
	}
	return got.Value()
}

// Who may call is what the portal answers: only an id lets a call through, and no other answer, nor none.
func TestThePortalDecidesWhoMayCall(t *testing.T) {
	rules := at(t, routesOf(t, guardedInput())[AuthPolicyKind].Object, "spec", "rules")
	decide := at(t, rules, "authorization", keyRule, "patternMatching", "patterns", 0, "predicate").(string)
	refuse := at(t, rules, "response", "unauthorized", "body", "expression").(string)
	for name, c := range map[string]struct {
		metadata map[string]any
		want     bool
	}{
		"a key that opens it": {map[string]any{keyRule: map[string]any{"id": "abcd2345", "requestsPerMinute": 60.0,
			"tokensPerMinute": 1_000_000.0}}, true},
		"an error of the portal":   {map[string]any{keyRule: map[string]any{"error": map[string]any{"message": "x"}}}, false},
		"a page of a proxy":        {map[string]any{keyRule: "<html>id</html>"}, false},
		"the portal is away":       {map[string]any{}, false},
		"another's metadata alone": {map[string]any{"id": map[string]any{"id": "x"}}, false},
	} {
		auth := map[string]any{"metadata": c.metadata}
		if got := evaluate(t, decide, auth); (got == true) != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if said := fmt.Sprint(evaluate(t, refuse, auth)); !c.want && name != "a page of a proxy" &&
			!strings.Contains(said, "message") {
			t.Errorf("%s: the caller is told %s", name, said)
		}
		if !c.want {
			continue
		}
		properties := at(t, rules, "response", "success", "filters", identityName, "json", "properties")
		for property, want := range map[string]string{"key": "abcd2345", "requests": "60", "tokens": "1000000"} {
			if got := evaluate(t, at(t, properties, property, "expression").(string), auth); got != want {
				t.Errorf("%s is %v for the limits, want %s", property, got, want)
			}
		}
	}
	http := at(t, rules, "metadata", keyRule, "http")
	const want = "http://gpu-portal.gpu-portal.svc:8080/gateway/key?endpoint=nb-anna-7f3c&namespace=gpu-vision"
	if got := at(t, http, "url"); got != want {
		t.Errorf("it asks %v, want %s", got, want)
	}
	if got := evaluate(t, at(t, http, "headers", "Authorization", "expression").(string), nil); got !=
		"Bearer gpk_abcd2345.secret" {
		t.Errorf("it shows the portal %v", got)
	}
}

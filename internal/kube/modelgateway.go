package kube

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Who carries the calls of programs to endpoints.
const (
	GatewayEmbedded   = "embedded"            // the portal's own gateway, with its keys and limits
	GatewayInferences = "inference-extension" // a Gateway that takes InferencePools of the Gateway API Inference Extension
	GatewayKuadrant   = "kuadrant"            // one that Kuadrant guards besides, which asks the portal about keys
	GatewayEnvoyAI    = "envoy-ai-gateway"    // Envoy AI Gateway, which does so too
)

// ModelGateway is a gateway of the site that carries the calls of programs to endpoints in place of the portal's own.
type ModelGateway struct {
	// embedded: the portal's own gateway, and nothing is published (what was is taken back); inference-extension: an
	// HTTPRoute and an InferencePool for each endpoint that speaks OpenAI; kuadrant: besides, policies of Kuadrant by
	// which the portal's keys open it, and their limits hold; envoy-ai-gateway: the same by an AIGatewayRoute and policies
	// of Envoy Gateway; default embedded, without the right to any of them
	Kind    string     `json:"kind,omitempty"`
	Gateway GatewayRef `json:"gateway,omitzero"` // the Gateway of the Gateway API that routes belong to
	// namespace of the gateway's pods, which NetworkPolicies let in to endpoints; default that of the Gateway
	PodNamespace string `json:"podNamespace,omitempty"`
	// where programs reach the gateway, https://HOST[:PORT]; an endpoint answers below /NAMESPACE/NAME, at Envoy AI
	// Gateway at https://NAME.HOST[:PORT]
	Address        string         `json:"address,omitempty"`
	EndpointPicker EndpointPicker `json:"endpointPicker,omitzero"`
	// where the gateway asks the portal about the key of a call, http[s]://HOST[:PORT]; with kuadrant and envoy-ai-gateway
	// only; default the portal's own address
	KeyCheck string `json:"keyCheck,omitempty"`
	// programs outside the company network reach the gateway: a key opens only what is open to outside; with kuadrant and
	// envoy-ai-gateway only; default everything that the key is for
	Outside bool `json:"outside,omitempty"`
}

// GatewayRef names a Gateway.
type GatewayRef struct {
	Namespace string `json:"namespace,omitempty"` // where the Gateway is
	Name      string `json:"name,omitempty"`      // of the Gateway
	Section   string `json:"section,omitempty"`   // its listener; default any that lets the route in
}

// EndpointPicker is the Service that tells the gateway which pod takes a call. Up to version 1.5 of the Inference
// Extension an InferencePool cannot be without one.
type EndpointPicker struct {
	// Service in the team's namespace; {workload} stands for the name of the endpoint; default none
	Service string `json:"service,omitempty"`
	Port    int32  `json:"port,omitempty"` // of that Service, for gRPC; default 9002
	// calls go to any pod while the picker does not answer; default they fail
	FailOpen bool `json:"failOpen,omitempty"`
}

// pickerPort is the one that the Inference Extension's own picker listens on.
const pickerPort = 9002

// workloadMark is replaced in the name of the picker's Service.
const workloadMark = "{workload}"

// Publishes reports whether endpoints are published to a gateway of the site.
func (g ModelGateway) Publishes() bool {
	return g.Kind == GatewayInferences || g.AsksForKeys()
}

// URL is where an endpoint is reached through the gateway.
func (g ModelGateway) URL(namespace, name string) string {
	if u, err := url.Parse(g.Address); g.Kind == GatewayEnvoyAI && err == nil {
		return u.Scheme + "://" + name + "." + u.Host
	}
	return strings.TrimSuffix(g.Address, "/") + pathOf(namespace, name)
}

func pathOf(namespace, name string) string { return "/" + namespace + "/" + name }

// Check lists what is missing or unknown.
func (g ModelGateway) Check() error {
	switch g.Kind {
	case "", GatewayEmbedded:
		return nil
	case GatewayInferences:
		if g.KeyCheck != "" || g.Outside {
			return fmt.Errorf("keyCheck, outside: only with kind %s or %s, for %s has no keys", GatewayKuadrant,
				GatewayEnvoyAI, g.Kind)
		}
	case GatewayKuadrant:
	case GatewayEnvoyAI:
		if g.EndpointPicker != (EndpointPicker{}) {
			return fmt.Errorf("endpointPicker: %s leads to the endpoint's Service, and asks none", g.Kind)
		}
	default:
		return fmt.Errorf("kind: %q is none of %s, %s, %s, %s", g.Kind, GatewayEmbedded, GatewayInferences, GatewayKuadrant,
			GatewayEnvoyAI)
	}
	u, err := url.Parse(g.Address)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || len(validation.IsDNS1123Subdomain(u.Hostname())) > 0 ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return fmt.Errorf("address: want https://HOST[:PORT], got %q", g.Address)
	case len(validation.IsDNS1123Label(g.Gateway.Namespace)) > 0:
		return fmt.Errorf("gateway.namespace: %q is not a DNS label", g.Gateway.Namespace)
	case len(validation.IsDNS1123Subdomain(g.Gateway.Name)) > 0:
		return fmt.Errorf("gateway.name: %q is not a DNS name", g.Gateway.Name)
	case g.Gateway.Section != "" && len(validation.IsDNS1123Subdomain(g.Gateway.Section)) > 0:
		return fmt.Errorf("gateway.section: %q is not a DNS name", g.Gateway.Section)
	case g.PodNamespace != "" && len(validation.IsDNS1123Label(g.PodNamespace)) > 0:
		return fmt.Errorf("podNamespace: %q is not a DNS label", g.PodNamespace)
	case g.EndpointPicker.Service != "" && len(validation.IsDNS1035Label(g.EndpointPicker.service("a"))) > 0:
		return fmt.Errorf("endpointPicker.service: %q is not a DNS label", g.EndpointPicker.Service)
	case g.KeyCheck != "" && !isAddress(g.KeyCheck):
		return fmt.Errorf("keyCheck: want http[s]://HOST[:PORT], got %q", g.KeyCheck)
	case g.EndpointPicker.Port < 0 || g.EndpointPicker.Port > 65535:
		return fmt.Errorf("endpointPicker.port: %d is no port", g.EndpointPicker.Port)
	}
	return nil
}

func (p EndpointPicker) service(name string) string {
	return strings.ReplaceAll(p.Service, workloadMark, name)
}

// The objects of a gateway of the site, as of the Gateway API v1 and the Inference Extension v1.
const (
	GatewayAPI        = "gateway.networking.k8s.io/v1"
	InferenceAPI      = "inference.networking.k8s.io/v1"
	HTTPRouteKind     = "HTTPRoute"
	InferencePoolKind = "InferencePool"
)

// PublishedKey is the annotation of a Deployment or InferenceService whose pods were made for a gateway of the site: it
// knows no token of theirs, so that they ask for none. It is read back: what runs keeps what it was started with.
const PublishedKey = LabelPrefix + "published"

// PublishedIn reads the annotation.
func PublishedIn(annotations map[string]string) bool { return annotations[PublishedKey] == "true" }

// CanPublish reports whether a gateway for models can carry the calls of a workload. One that sleeps while nobody calls
// it would sleep for all that such a gateway carries, and nothing but the portal's own wakes it.
func CanPublish(w workload.Workload) bool {
	return w.Kind == catalog.Endpoint && w.Image.SpeaksOpenAI() && !w.Replicas.ToZero()
}

// routes publish an endpoint: none where the site has no gateway for models, and none while its pods still ask for the
// token by which the portal's own gateway speaks to them.
func (r renderer) routes() []Object {
	g := r.Site.ModelGateway
	if !g.Publishes() || !r.Published || !CanPublish(r.Workload) {
		return nil
	}
	if g.Kind == GatewayEnvoyAI {
		return r.envoyObjects(g)
	}
	return append(append([]Object{r.inferencePool(g)}, r.policies(g)...), r.httpRoute(g))
}

// inferencePool is the pods that answer. Two versions side by side are both in it, and share the calls by their pods.
func (r renderer) inferencePool(g ModelGateway) *unstructured.Unstructured {
	selector := map[string]any{}
	for key, value := range AnswerSelector(r.Workload) {
		selector[key] = value
	}
	spec := map[string]any{
		"appProtocol": "http",
		"selector":    map[string]any{"matchLabels": selector},
		"targetPorts": []any{map[string]any{"number": int64(r.Workload.Image.Port)}},
	}
	if p := g.EndpointPicker; p.Service != "" {
		mode, port := "FailClose", p.Port
		if p.FailOpen {
			mode = "FailOpen"
		}
		if port == 0 {
			port = pickerPort
		}
		spec["endpointPickerRef"] = map[string]any{"group": "", "kind": "Service", "name": p.service(r.Workload.Name),
			"port": map[string]any{"number": int64(port)}, "failureMode": mode}
	}
	return r.custom(InferenceAPI, InferencePoolKind, spec)
}

// httpRoute leads from the endpoint's path at the gateway to its pods, which answer at the root. Its timeout is off: an
// answer is a stream that may last. Pods ask for no token, so that a route which policies are to guard leads nowhere
// before they do; the key of a call does not reach the pods.
func (r renderer) httpRoute(g ModelGateway) *unstructured.Unstructured {
	group, _, _ := strings.Cut(InferenceAPI, "/")
	u, _ := url.Parse(g.Address) // Check has seen it
	rule := map[string]any{
		"matches": []any{map[string]any{"path": map[string]any{"type": "PathPrefix",
			"value": pathOf(r.Workload.Namespace, r.Workload.Name) + "/v1"}}},
		"timeouts": map[string]any{"request": "0s"},
	}
	filters := []any{map[string]any{"type": "URLRewrite", "urlRewrite": map[string]any{
		"path": map[string]any{"type": "ReplacePrefixMatch", "replacePrefixMatch": "/v1"}}}}
	if g.Kind == GatewayKuadrant {
		filters = append(filters, map[string]any{"type": "RequestHeaderModifier",
			"requestHeaderModifier": map[string]any{"remove": []any{"Authorization"}}})
	}
	if g.Kind != GatewayKuadrant || r.Guarded {
		rule["backendRefs"] = []any{map[string]any{"group": group, "kind": InferencePoolKind, "name": r.Workload.Name,
			"weight": int64(1)}}
	}
	rule["filters"] = filters
	return r.custom(GatewayAPI, HTTPRouteKind, map[string]any{
		"parentRefs": []any{g.parent()},
		"hostnames":  []any{u.Hostname()},
		"rules":      []any{rule},
	})
}

func (r renderer) custom(api, kind string, spec map[string]any) *unstructured.Unstructured {
	meta := r.meta()
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetAPIVersion(api)
	o.SetKind(kind)
	o.SetName(meta.Name)
	o.SetNamespace(meta.Namespace)
	o.SetLabels(meta.Labels)
	o.SetAnnotations(meta.Annotations)
	return o
}

// allowModelGateway opens the ports of endpoints that speak OpenAI to the pods of the site's gateway. It is there in
// both cases, so that switching it off takes the rule away; where it was never on, it is not.
func (n space) allowModelGateway() *networkingv1.NetworkPolicy {
	spec := networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{ExposedKey: "true",
			componentLabel: string(catalog.Endpoint)}},
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
	}
	var numbers []int32
	for _, i := range n.catalog.Images {
		if i.SpeaksOpenAI() && i.Port > 0 {
			numbers = append(numbers, i.Port)
		}
	}
	slices.Sort(numbers)
	var ports []networkingv1.NetworkPolicyPort
	for _, number := range slices.Compact(numbers) {
		ports = append(ports, portOf(corev1.ProtocolTCP, number))
	}
	if g := n.site.ModelGateway; g.Publishes() && len(ports) > 0 {
		from := g.PodNamespace
		if from == "" {
			from = g.Gateway.Namespace
		}
		spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: peers([]Peer{InNamespace(from, nil)}), Ports: ports}}
	}
	return n.policy("portal-allow-model-gateway", spec)
}

// RouteKinds are the kinds of what an endpoint has at a gateway of the site.
func RouteKinds() []Ref {
	return []Ref{{APIVersion: InferenceAPI, Kind: InferencePoolKind}, {APIVersion: KuadrantAPI, Kind: AuthPolicyKind},
		{APIVersion: KuadrantAPI, Kind: RateLimitPolicyKind}, {APIVersion: KuadrantTokensAPI, Kind: TokenRateLimitPolicyKind},
		{APIVersion: GatewayAPI, Kind: HTTPRouteKind}, {APIVersion: EnvoyAPI, Kind: BackendKind},
		{APIVersion: EnvoyAIAPI, Kind: AIServiceBackendKind}, {APIVersion: EnvoyAPI, Kind: SecurityPolicyKind},
		{APIVersion: EnvoyAPI, Kind: BackendTrafficPolicyKind}, {APIVersion: EnvoyAIAPI, Kind: AIGatewayRouteKind}}
}

// Needs reports whether an endpoint that is published always has an object of one of RouteKinds; limits are there only
// where keys have some.
func (g ModelGateway) Needs(kind string) bool {
	switch kind {
	case InferencePoolKind, HTTPRouteKind:
		return g.Kind == GatewayInferences || g.Kind == GatewayKuadrant
	case AuthPolicyKind:
		return g.Kind == GatewayKuadrant
	case BackendKind, AIServiceBackendKind, SecurityPolicyKind, AIGatewayRouteKind:
		return g.Kind == GatewayEnvoyAI
	}
	return false
}

// Makes reports whether the gateway itself makes an object of a kind of what is published, which says whether a
// listener takes it: of an AIGatewayRoute an HTTPRoute with its name, labels and annotations.
func (g ModelGateway) Makes(kind string) bool {
	return g.Kind == GatewayEnvoyAI && kind == HTTPRouteKind
}

// AsksForKeys reports whether the gateway asks the portal about the key of each call.
func (g ModelGateway) AsksForKeys() bool {
	return g.Kind == GatewayKuadrant || g.Kind == GatewayEnvoyAI
}

// parent is the Gateway that routes belong to.
func (g ModelGateway) parent() map[string]any {
	parent := map[string]any{"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": g.Gateway.Namespace,
		"name": g.Gateway.Name}
	if g.Gateway.Section != "" {
		parent["sectionName"] = g.Gateway.Section
	}
	return parent
}

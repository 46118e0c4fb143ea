package charts_test

import (
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestCallersOutsideHaveWaysOfTheirOwn: each way in has another object for the external domain, with that host alone;
// without the setting there is none.
func TestCallersOutsideHaveWaysOfTheirOwn(t *testing.T) {
	const ways = `ingress:
  enabled: true
  external: {className: public, secret: models-tls, annotations: {example.org/waf: "on"}}
route:
  enabled: true
  external: {labels: {router: public}, secret: models-tls}
gateway:
  enabled: true
  parentRefs: [{name: inside}]
  external: {parentRefs: [{name: public}]}
`
	const setting = "  externalAppsDomain: models.example.com\n"
	inside := names(mustRender(t, needed+ways))
	objects := mustRender(t, needed+setting+ways)
	var more []string
	for _, name := range names(objects) {
		if !slices.Contains(inside, name) {
			more = append(more, name)
		}
	}
	want := []string{"HTTPRoute gpu-portal-external", "Ingress gpu-portal-external", "Route gpu-portal-external"}
	if !slices.Equal(more, want) {
		t.Fatalf("want %v more, got %v", want, more)
	}
	const host = "*.models.example.com"
	ingress := the[networkingv1.Ingress](t, objects, "Ingress", "gpu-portal-external")
	if spec := ingress.Spec; *spec.IngressClassName != "public" || len(spec.Rules) != 1 || spec.Rules[0].Host != host ||
		spec.TLS[0].SecretName != "models-tls" || ingress.Annotations["example.org/waf"] != "on" {
		t.Errorf("Ingress: %+v", ingress.Spec)
	}
	for _, o := range objects {
		switch o.GetKind() + " " + o.GetName() {
		case "Route gpu-portal-external":
			if at, _, _ := unstructured.NestedString(o.Object, "spec", "host"); at != "wildcard.models.example.com" ||
				o.GetLabels()["router"] != "public" {
				t.Errorf("Route: %s of %v", at, o.GetLabels())
			}
		case "HTTPRoute gpu-portal-external":
			hosts, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "hostnames")
			parents, _, _ := unstructured.NestedSlice(o.Object, "spec", "parentRefs")
			if !slices.Equal(hosts, []string{host}) || len(parents) != 1 {
				t.Errorf("HTTPRoute: %v of %v", hosts, parents)
			}
		}
	}
}

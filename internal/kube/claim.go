package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// podClaim is what the claim for devices is called within the pod.
const podClaim = "gpu"

// ClaimTemplateName names the template of a workload's claims for devices where nothing is avoided; "" for a workload
// that claims none. What a template asks for cannot be changed, so the name changes with it: the pod is replaced by one
// that claims the new devices, and the old template goes afterwards.
func ClaimTemplateName(w workload.Workload) string { return claimTemplateName(w, Avoid{}) }

func claimTemplateName(w workload.Workload, avoid Avoid) string {
	spec, err := claimSpec(w, avoid)
	if spec == nil || err != nil {
		return ""
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return w.Name + "-" + hex.EncodeToString(sum[:4])
}

// claimSpec is what the pods of a workload claim, nil for nothing. The labels go onto the claims, so that they can be
// told from others; nothing in here may depend on the generation, for each change is a new pod.
func claimSpec(w workload.Workload, avoid Avoid) (*resourcev1.ResourceClaimTemplateSpec, error) {
	c := w.Size.Accelerator.Claim
	if c == nil {
		return nil, nil
	}
	spec := &resourcev1.ResourceClaimTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
		ManagedByLabel: ManagedBy, TenantKey: w.Tenant, WorkloadKey: string(w.ID),
	}}}
	var problems []error
	for _, r := range c.Requests {
		request, err := deviceRequest(r, avoid)
		problems = append(problems, err)
		spec.Spec.Devices.Requests = append(spec.Spec.Devices.Requests, request)
	}
	if len(c.Requests) == 0 {
		problems = append(problems, errors.New("nothing is requested"))
	}
	for _, k := range c.Constraints {
		attribute := resourcev1.FullyQualifiedName(k.MatchAttribute)
		spec.Spec.Devices.Constraints = append(spec.Spec.Devices.Constraints,
			resourcev1.DeviceConstraint{Requests: slices.Clone(k.Requests), MatchAttribute: &attribute})
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("size %s: claim: %w", w.Size.Name, err)
	}
	return spec, nil
}

func deviceRequest(r catalog.DeviceRequest, avoid Avoid) (resourcev1.DeviceRequest, error) {
	request := resourcev1.DeviceRequest{Name: r.Name}
	if len(validation.IsDNS1123Label(r.Name)) > 0 {
		return request, fmt.Errorf("request %q is not a DNS label", r.Name)
	}
	if (r.DeviceClass == "") == (len(r.FirstAvailable) == 0) {
		return request, fmt.Errorf("request %q needs a device class or alternatives, and not both", r.Name)
	}
	if r.DeviceClass != "" {
		request.Exactly = &resourcev1.ExactDeviceRequest{
			DeviceClassName: r.DeviceClass, Selectors: selectors(r, avoid),
			AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: int64(r.Devices()),
		}
		return request, nil
	}
	for _, one := range r.FirstAvailable {
		if len(validation.IsDNS1123Label(one.Name)) > 0 || one.DeviceClass == "" || len(one.FirstAvailable) > 0 {
			return request, fmt.Errorf("alternative %q of request %q needs a DNS label as name and a device class", one.Name,
				r.Name)
		}
		request.FirstAvailable = append(request.FirstAvailable, resourcev1.DeviceSubRequest{
			Name: one.Name, DeviceClassName: one.DeviceClass, Selectors: selectors(one, avoid),
			AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: int64(one.Devices()),
		})
	}
	return request, nil
}

func selectors(r catalog.DeviceRequest, avoid Avoid) []resourcev1.DeviceSelector {
	var list []resourcev1.DeviceSelector
	for _, expression := range r.Selectors {
		list = append(list, resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: expression}})
	}
	return append(list, avoid.selectors()...)
}

func (r renderer) claimsDevices() bool { return r.claims != nil }

// claimTemplate lets each pod have a claim of its own, which goes with the pod.
func (r renderer) claimTemplate() *resourcev1.ResourceClaimTemplate {
	meta := r.meta()
	meta.Name = claimTemplateName(r.Workload, r.Avoid)
	return &resourcev1.ResourceClaimTemplate{
		TypeMeta:   metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaimTemplate"},
		ObjectMeta: meta,
		Spec:       *r.claims,
	}
}

func (r renderer) podClaims() []corev1.PodResourceClaim {
	if !r.claimsDevices() {
		return nil
	}
	name := claimTemplateName(r.Workload, r.Avoid)
	return []corev1.PodResourceClaim{{Name: podClaim, ResourceClaimTemplateName: &name}}
}

func (r renderer) containerClaims() []corev1.ResourceClaim {
	if !r.claimsDevices() {
		return nil
	}
	return []corev1.ResourceClaim{{Name: podClaim}}
}

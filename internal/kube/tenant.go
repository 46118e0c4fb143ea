package kube

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// Site is what the objects must know of the cluster that they are for. The zero value, with an Instance, is a plain
// Kubernetes cluster whose gateway runs in the namespace gpu-portal and whose workloads reach no internet.
type Site struct {
	Cluster  string // name in the configuration; sizes that are not offered there get no quota. "" counts as any
	Instance string // tells portals on one cluster apart; a label value
	// from where people's connections come; default: pods named gpu-portal in the namespace gpu-portal
	GatewayFrom    []Peer
	DNS            []Peer // where names are resolved; default: kube-dns, on OpenShift its own
	OpenShift      bool
	StorageClass   string         // "" for the cluster's default
	SnapshotClass  string         // VolumeSnapshotClass; "" for the cluster's default
	InternetEgress bool           // workloads may reach public addresses, never private ones
	Mirror         catalog.Mirror // from where images are pulled
	Access         Access         // who makes namespaces and binds the portal's rights in them
	ModelGateway   ModelGateway   // what carries the calls of programs to endpoints
	KEDA           KEDA           // where KEDA asks for the load of endpoints
}

// Peer is a set of pods: those with all PodLabels in namespaces with all NamespaceLabels. Empty PodLabels mean every
// pod there; empty NamespaceLabels are refused, for they would mean the whole cluster.
type Peer struct {
	NamespaceLabels map[string]string
	PodLabels       map[string]string
}

// namespaceName is the label that the API server puts on every namespace, with its name.
const namespaceName = "kubernetes.io/metadata.name"

// InNamespace is the pods with these labels in one namespace.
func InNamespace(name string, podLabels map[string]string) Peer {
	return Peer{NamespaceLabels: map[string]string{namespaceName: name}, PodLabels: podLabels}
}

// private lists what "the internet" does not hold: private, shared, link-local (cloud metadata), loopback, test,
// multicast and reserved networks, by the IANA special-purpose registries.
var private = map[string][]string{
	"0.0.0.0/0": {"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.168.0.0/16",
		"198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"},
	"::/0": {"::/127", "64:ff9b::/96", "64:ff9b:1::/48", "fc00::/7", "fe80::/10", "ff00::/8"},
}

// TenantObjects renders what the portal applies of a tenant, in the order in which it is applied: the namespace and the
// bindings of the portal's rights in it, where an administrator does not see to those, and what keeps the tenant in
// bounds.
func TenantObjects(t tenant.Tenant, c catalog.Catalog, site Site) ([]Object, error) {
	n, err := newSpace(t, site)
	if err != nil {
		return nil, err
	}
	n.catalog = c
	var objects []Object
	if site.Access.Bindings != BindAdmin {
		objects = n.access()
	}
	objects = append(objects, n.gpuQuota(), n.serviceQuota(), n.limits(), n.denyAll(), n.allowDNS(), n.allowGateway(),
		n.allowInternet())
	if n.site.ModelGateway.Kind != "" {
		objects = append(objects, n.allowModelGateway())
	}
	return append(objects, n.account()), nil
}

func newSpace(t tenant.Tenant, site Site) (space, error) {
	n := space{tenant: t, site: site.withDefaults(), owner: Owner{Instance: site.Instance, Tenant: t.Name}}
	if err := n.check(); err != nil {
		return space{}, fmt.Errorf("render tenant %q: %w", t.Name, err)
	}
	return n, nil
}

func (s Site) withDefaults() Site {
	if len(s.GatewayFrom) == 0 {
		s.GatewayFrom = []Peer{InNamespace("gpu-portal", map[string]string{"app.kubernetes.io/name": "gpu-portal"})}
	}
	switch {
	case len(s.DNS) > 0:
	case s.OpenShift:
		s.DNS = []Peer{InNamespace("openshift-dns", map[string]string{"dns.operator.openshift.io/daemonset-dns": "default"})}
	default:
		s.DNS = []Peer{InNamespace("kube-system", map[string]string{"k8s-app": "kube-dns"})}
	}
	return s
}

// space renders one tenant's namespace.
type space struct {
	tenant  tenant.Tenant
	catalog catalog.Catalog
	site    Site
	owner   Owner
}

func (n space) check() error {
	var problems []error
	if len(validation.IsDNS1123Label(n.tenant.NamespaceName())) > 0 {
		problems = append(problems, fmt.Errorf("namespace %q is not a DNS label", n.tenant.NamespaceName()))
	}
	for what, value := range map[string]string{"tenant": n.tenant.Name, "instance": n.site.Instance} {
		if value == "" || len(validation.IsValidLabelValue(value)) > 0 {
			problems = append(problems, fmt.Errorf("%s %q cannot be a label", what, value))
		}
	}
	for _, p := range slices.Concat(n.site.GatewayFrom, n.site.DNS) {
		if len(p.NamespaceLabels) == 0 {
			problems = append(problems, errors.New("a network peer without namespace labels would mean every namespace"))
		}
	}
	return errors.Join(problems...)
}

func (n space) meta(name string) metav1.ObjectMeta {
	return n.owner.meta("tenant", n.tenant.NamespaceName(), name)
}

func (n space) namespace() *corev1.Namespace {
	meta := n.owner.meta("tenant", "", n.tenant.NamespaceName())
	for _, mode := range []string{"enforce", "audit", "warn"} {
		meta.Labels["pod-security.kubernetes.io/"+mode] = "restricted"
		meta.Labels["pod-security.kubernetes.io/"+mode+"-version"] = "latest"
	}
	if n.site.OpenShift {
		// Else a controller rewrites the labels from what the namespace's accounts may use.
		meta.Labels["security.openshift.io/scc.podSecurityLabelSync"] = "false"
		meta.Annotations["openshift.io/display-name"] = n.tenant.Display()
	}
	return &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: meta}
}

// gpuQuota has a line for every resource and device class of the catalog, "0" where the tenant may have none: what a
// quota does not name is not limited.
func (n space) gpuQuota() *corev1.ResourceQuota {
	hard := corev1.ResourceList{}
	line := func(name string, q resource.Quantity) {
		sum := hard[corev1.ResourceName(name)]
		if sum.IsZero() {
			sum = *resource.NewQuantity(0, q.Format)
		}
		sum.Add(q)
		hard[corev1.ResourceName(name)] = sum
	}
	if n.claimsDevices() {
		for _, name := range vendorClasses {
			n.classLines(name, 0, line)
		}
	}
	for _, s := range n.catalog.Sizes {
		held, err := devices(s)
		if err != nil {
			continue // nothing of it can be started either
		}
		times := n.mayHold(s)
		for name, q := range held {
			q.Mul(times)
			line(corev1.DefaultResourceRequestsPrefix+string(name), q)
		}
		for name, q := range countedByHAMi(s, held) {
			q.Mul(times)
			line("limits."+string(name), q)
		}
		for name, count := range charged(s.Accelerator.Claim) {
			n.classLines(name, count*times, line)
		}
	}
	return n.quota("portal-gpu", hard)
}

// mayHold is how many workloads of a size the tenant may have.
func (n space) mayHold(s catalog.Size) int64 {
	if n.tenant.Disabled || !s.OfferedTo(n.tenant.Name) || n.site.Cluster != "" && !s.OfferedOn(n.site.Cluster) {
		return 0
	}
	return int64(n.tenant.QuotaOn(s.Name, n.site.Cluster))
}

// classLines are the two ways to a device of a class: by a claim, and by the name that each class has as an extended
// resource (from Kubernetes 1.36 on; an older one takes the line and counts nothing). The second counts claims too, so
// the numbers are the same.
func (n space) classLines(class string, count int64, line func(string, resource.Quantity)) {
	q := *resource.NewQuantity(count, resource.DecimalSI)
	line(class+".deviceclass.resource.k8s.io/devices", q)
	line(corev1.DefaultResourceRequestsPrefix+resourcev1.ResourceDeviceClassPrefix+class, q)
}

// claimsDevices reports whether some size on this cluster is a claim. Where none is, classes are left alone: a driver
// may stand behind nvidia.com/gpu itself, and then the claims that the scheduler makes for it count against its class
// as well.
func (n space) claimsDevices() bool {
	return slices.ContainsFunc(n.catalog.Sizes, func(s catalog.Size) bool {
		return s.Accelerator.Claim != nil && (n.site.Cluster == "" || s.OfferedOn(n.site.Cluster))
	})
}

// vendorClasses are those that the vendors' drivers bring: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu
// (deployments/helm), AMD's and Intel's alike. They match every device, so a tenant who could write claims would get
// past all sizes; there is no other right to a class than the quota.
var vendorClasses = []string{
	"gpu.nvidia.com", "mig.nvidia.com", "vfio.gpu.nvidia.com", "gpu.amd.com", "gpu.intel.com", "gaudi.intel.com",
}

// charged is what the quota counts for one claim: devices by class, and of alternatives the largest of each class,
// whichever is chosen in the end. Source: pkg/quota/v1/evaluator/core/resource_claims.go of Kubernetes 1.36.
func charged(c *catalog.Claim) map[string]int64 {
	counts := map[string]int64{}
	if c == nil {
		return counts
	}
	for _, r := range c.Requests {
		if r.DeviceClass != "" {
			counts[r.DeviceClass] += int64(r.Devices())
		}
		largest := map[string]int64{}
		for _, one := range r.FirstAvailable {
			largest[one.DeviceClass] = max(largest[one.DeviceClass], int64(one.Devices()))
		}
		for class, count := range largest {
			counts[class] += count
		}
	}
	return counts
}

// hami is the technology whose scheduler reads quotas of its own.
const hami catalog.Technology = "hami"

// countedByHAMi is what HAMi's scheduler holds against the keys "limits.": all cards of a pod together, while
// Kubernetes counts memory and cores of one. Source: pkg/device/quota.go of HAMi v2.10.
func countedByHAMi(s catalog.Size, held corev1.ResourceList) corev1.ResourceList {
	if s.Technology != hami {
		return nil
	}
	list := corev1.ResourceList{}
	for name, q := range held {
		q = q.DeepCopy()
		if string(name) != s.Accelerator.Resource {
			q.Mul(int64(s.Devices()))
		}
		list[name] = q
	}
	return list
}

// serviceQuota keeps a tenant from opening ways past the gateway.
func (n space) serviceQuota() *corev1.ResourceQuota {
	none := resource.MustParse("0")
	return n.quota("portal-services", corev1.ResourceList{corev1.ResourceServicesLoadBalancers: none,
		corev1.ResourceServicesNodePorts: none})
}

func (n space) quota(name string, hard corev1.ResourceList) *corev1.ResourceQuota {
	return &corev1.ResourceQuota{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuota"}, ObjectMeta: n.meta(name),
		Spec: corev1.ResourceQuotaSpec{Hard: hard},
	}
}

// limits fills in what a container does not say, and bounds its disk on the node without setting any aside. No GPU is
// named here: for a resource with a maximum and no default the API server makes the maximum the default, and every pod
// would silently get GPUs.
func (n space) limits() *corev1.LimitRange {
	return &corev1.LimitRange{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "LimitRange"}, ObjectMeta: n.meta("portal-defaults"),
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer,
			DefaultRequest: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("512Mi"),
				corev1.ResourceEphemeralStorage: resource.MustParse("0"),
			},
			Default: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("2Gi"),
				corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
			},
		}}},
	}
}

func (n space) policy(name string, spec networkingv1.NetworkPolicySpec) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"}, ObjectMeta: n.meta(name),
		Spec: spec,
	}
}

func (n space) denyAll() *networkingv1.NetworkPolicy {
	return n.policy("portal-default-deny", networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
	})
}

// allowDNS names both ports: on OpenShift, and with a local cache, names are resolved on 5353, and some networks look
// at the port behind the Service.
func (n space) allowDNS() *networkingv1.NetworkPolicy {
	var ports []networkingv1.NetworkPolicyPort
	for _, port := range []int32{53, 5353} {
		ports = append(ports, portOf(corev1.ProtocolUDP, port), portOf(corev1.ProtocolTCP, port))
	}
	return n.policy("portal-allow-dns", networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
		Egress:      []networkingv1.NetworkPolicyEgressRule{{To: peers(n.site.DNS), Ports: ports}},
	})
}

// allowGateway opens the ports of the catalog's images to the gateway alone. Ports are numbers, for not every network
// knows named ones.
func (n space) allowGateway() *networkingv1.NetworkPolicy {
	var numbers []int32
	for _, i := range n.catalog.Images {
		if i.Port > 0 {
			numbers = append(numbers, i.Port)
		}
		if i.SSH != nil {
			numbers = append(numbers, i.SSH.Port)
		}
		numbers = slices.AppendSeq(numbers, maps.Values(i.Ports))
	}
	slices.Sort(numbers)
	spec := networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{ExposedKey: "true"}},
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
	}
	var ports []networkingv1.NetworkPolicyPort
	for _, number := range slices.Compact(numbers) {
		ports = append(ports, portOf(corev1.ProtocolTCP, number))
	}
	if len(ports) > 0 { // a rule without ports would mean every port
		spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: peers(n.site.GatewayFrom), Ports: ports}}
	}
	return n.policy("portal-allow-gateway", spec)
}

// allowInternet is there in both cases, so that switching it off takes the rules away.
func (n space) allowInternet() *networkingv1.NetworkPolicy {
	spec := networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}}
	if n.site.InternetEgress {
		var to []networkingv1.NetworkPolicyPeer
		for _, all := range []string{"0.0.0.0/0", "::/0"} {
			to = append(to, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: all, Except: private[all]}})
		}
		spec.Egress = []networkingv1.NetworkPolicyEgressRule{{To: to}}
	}
	return n.policy("portal-allow-internet", spec)
}

func peers(list []Peer) []networkingv1.NetworkPolicyPeer {
	var out []networkingv1.NetworkPolicyPeer
	for _, p := range list {
		peer := networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: p.NamespaceLabels}}
		if len(p.PodLabels) > 0 {
			peer.PodSelector = &metav1.LabelSelector{MatchLabels: p.PodLabels}
		}
		out = append(out, peer)
	}
	return out
}

func portOf(protocol corev1.Protocol, number int32) networkingv1.NetworkPolicyPort {
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: new(intstr.FromInt32(number))}
}

// account has no token, and neither do pods that use it: workloads have no business with the API server.
func (n space) account() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: n.meta(AccountName),
		AutomountServiceAccountToken: new(bool),
	}
}

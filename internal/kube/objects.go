package kube

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Object is one typed Kubernetes object with its apiVersion and kind set.
type Object interface {
	runtime.Object
	metav1.Object
}

// Input is everything that the objects of a workload are rendered from.
type Input struct {
	Workload workload.Workload
	Tenant   tenant.Tenant
	Site     Site
	Token    string // the workload's own secret; needed when its image names a variable for it
	Avoid    Avoid  // what its pods go around
	// Secrets are the values of its secrets that there are, by workload.SecretUse.Keys.
	Secrets map[string][]byte
	// Published: its pods are made for a gateway of the site, and ask for no token; see PublishedKey.
	Published bool
	// Guarded: the gateway of the site asks about the key of each call, so that calls may be led to the endpoint's pods.
	Guarded bool
	// Limits are those of the keys that open it.
	Limits endpointkey.LimitValues
	// Scaled is the number of replicas that KEDA has set on the Deployment which is there; 0 for none. It stays, within
	// the bounds of the ScaledObject.
	Scaled int
	// LoadToken is that by which KEDA asks for the load of an endpoint; needed where KEDA scales it.
	LoadToken string
	// Overdue: the time limit of a job is over, and what cannot end by itself then goes.
	Overdue bool
	// JobStarted is when Kubernetes began with a job that is there already; zero before.
	JobStarted time.Time
}

// Names of what every workload has.
const (
	ServicePort    = 80     // of the Service; leads to the image's port
	PortName       = "http" // of the container's port
	metricsPort    = "metrics"
	TokenSecretKey = "token" // in the Secret
	ContainerName  = "main"
	AccountName    = "portal-workload" // the tenant's ServiceAccount without token
)

// maxName keeps room for what Kubernetes appends: a revision label is the name, a dash and ten characters, within 63.
const maxName = 52

// Objects renders a workload, in the order in which it is applied. A workload that shall be deleted has none, nor has a
// job that has ended: what the cluster still has of it must not be made again. Storage is created once and then left
// alone: its spec cannot be changed, and a later workload may use it.
func Objects(in Input) ([]Object, error) {
	if d := in.Workload.Desired; d == workload.WantDeleted || d == workload.Finished {
		return nil, nil
	}
	r, err := newRenderer(in)
	if err != nil {
		return nil, fmt.Errorf("render workload %s: %w", in.Workload.ID, err)
	}
	var objects []Object
	if r.hasToken() {
		objects = append(objects, r.secret())
	}
	if r.hasSecrets() {
		objects = append(objects, r.secrets())
	}
	if pull := r.pullSecret(); pull != nil {
		objects = append(objects, pull)
	}
	if in.Workload.Image.NeedsJobSet() && (in.Workload.Desired != workload.WantRunning || in.Overdue) {
		return nil, nil // nothing of it can be changed, so that it goes
	}
	if in.Workload.IsJob() && in.Workload.Desired != workload.WantRunning {
		return append(objects, r.job()), nil // its storage is not its own any more
	}
	if r.hasVolume() {
		objects = append(objects, r.claim())
	}
	for i, m := range in.Workload.Mounts {
		switch {
		case m.Foreign() || m.Copied() || r.firstOf(m.Claim) != i:
		case m.Personal:
			objects = append(objects, PersonalClaim(r.Site, r.Workload.Tenant, r.Workload.Namespace, r.Workload.Owner, m))
		default:
			objects = append(objects, r.sharedClaim(m))
		}
	}
	if r.claimsDevices() {
		objects = append(objects, r.claimTemplate())
	}
	running, err := r.running()
	if err != nil {
		return nil, fmt.Errorf("render workload %s: %w", in.Workload.ID, err)
	}
	return append(objects, running...), nil
}

// running are what makes the pods of a workload, and what leads to them.
func (r renderer) running() ([]Object, error) {
	switch w := r.Workload; {
	case w.Image.NeedsJobSet():
		set, err := r.jobSet()
		return []Object{r.peerPolicy(), set}, err
	case w.IsJob():
		return []Object{r.job()}, nil
	case w.Image.NeedsLeaderWorkerSet():
		set, err := r.leaderWorkerSet()
		return append([]Object{r.peerPolicy(), set, r.service()}, r.routes()...), err
	case w.Image.NeedsKServe():
		inference, err := r.inferenceService()
		return append([]Object{inference, r.service()}, r.routes()...), err
	case w.Kind == catalog.Endpoint:
		return slices.Concat([]Object{r.deployment(), r.service()}, r.routes(), r.scaling()), nil
	}
	return []Object{r.statefulSet(), r.service()}, nil
}

// Ref refers to an object that a workload has or may have.
type Ref struct{ APIVersion, Kind, Namespace, Name string }

// Names lists what is deleted with a workload, in the order of deletion: what makes pods first. Storage is not among
// them, it outlives the workload.
func Names(w workload.Workload) []Ref {
	runner := Ref{"apps/v1", "StatefulSet", w.Namespace, w.Name}
	if w.Kind == catalog.Endpoint {
		runner.Kind = "Deployment"
	}
	if w.Image.NeedsKServe() {
		runner = Ref{KServeAPI, InferenceServiceKind, w.Namespace, w.Name}
	}
	if w.Image.NeedsLeaderWorkerSet() {
		runner = Ref{LeaderWorkerSetAPI, LeaderWorkerSetKind, w.Namespace, GroupName(w)}
	}
	refs := []Ref{runner, {"v1", "Service", w.Namespace, w.Name}}
	if w.IsJob() {
		refs = []Ref{{"batch/v1", "Job", w.Namespace, w.Name}}
	}
	if w.Image.NeedsJobSet() {
		refs = []Ref{{JobSetAPI, JobSetKind, w.Namespace, w.Name}}
	}
	if w.Image.NeedsJobSet() || w.Image.NeedsLeaderWorkerSet() {
		refs = append(refs, Ref{"networking.k8s.io/v1", "NetworkPolicy", w.Namespace, PeerPolicyName(w)})
	}
	if slices.ContainsFunc(w.RevisionList(), func(r workload.Revision) bool { return r.Image.TokenEnv != "" }) {
		refs = append(refs, Ref{"v1", "Secret", w.Namespace, w.Name})
	}
	if len(held(w)) > 0 {
		refs = append(refs, Ref{"v1", "Secret", w.Namespace, SecretsName(w)})
	}
	if _, ok := secret.PullUse(w); ok {
		refs = append(refs, Ref{"v1", "Secret", w.Namespace, PullName(w)})
	}
	if slices.ContainsFunc(w.RevisionList(), func(r workload.Revision) bool { return r.Image.ScalesByKEDA() }) {
		refs = append(refs, Ref{KEDAAPI, ScaledObjectKind, w.Namespace, w.Name},
			Ref{KEDAAPI, TriggerAuthenticationKind, w.Namespace, w.Name},
			Ref{"v1", "Secret", w.Namespace, ScalingName(w)})
	}
	if name := ClaimTemplateName(w); name != "" {
		refs = append(refs, Ref{"resource.k8s.io/v1", "ResourceClaimTemplate", w.Namespace, name})
	}
	return refs
}

// RouteNames lists what an endpoint may have besides, where a gateway of the site carries its calls.
func RouteNames(w workload.Workload) []Ref {
	if w.Kind != catalog.Endpoint {
		return nil
	}
	var refs []Ref
	for _, kind := range RouteKinds() {
		refs = append(refs, Ref{kind.APIVersion, kind.Kind, w.Namespace, w.Name})
	}
	return append(refs, Ref{EnvoyAPI, BackendKind, w.Namespace, keyBackendName(w.Name)})
}

// PodSelector finds the pods of a workload. It never changes, for a StatefulSet's selector cannot.
func PodSelector(w workload.Workload) map[string]string {
	return map[string]string{WorkloadKey: string(w.ID)}
}

// renderer holds what the objects of one workload share.
type renderer struct {
	Input
	owner     Owner
	resources corev1.ResourceList
	shared    *resource.Quantity // size of /dev/shm; nil for the runtime's own
	storage   resource.Quantity
	claims    *resourcev1.ResourceClaimTemplateSpec // nil for none
	worker    bool                                  // the pod works for another one of its group: see working
}

func newRenderer(in Input) (renderer, error) {
	w := in.Workload
	r := renderer{Input: in, owner: Owner{Instance: in.Site.Instance, Tenant: w.Tenant, Workload: w.ID,
		Generation: w.Generation}}
	if err := in.check(); err != nil {
		return r, err
	}
	var err error
	if r.resources, err = Requests(w.Size); err != nil {
		return r, err
	}
	if r.claims, err = claimSpec(w, in.Avoid); err != nil {
		return r, err
	}
	if w.Size.SharedMem != "" {
		q, err := resource.ParseQuantity(w.Size.SharedMem)
		if err != nil || q.Sign() <= 0 {
			return r, fmt.Errorf("size %s: shared memory %q is not a quantity", w.Size.Name, w.Size.SharedMem)
		}
		r.shared = &q
	}
	r.storage = *resource.NewQuantity(int64(w.StorageGiB)<<30, resource.BinarySI)
	return r, nil
}

// check refuses what would end as an object in the wrong place, or as one that no API server takes.
func (in Input) check() error {
	w := in.Workload
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if len(validation.IsDNS1035Label(w.Name)) > 0 || len(w.Name) > maxName {
		add("name %q is not a DNS label of at most %d characters", w.Name, maxName)
	}
	in.checkBackend(add)
	if len(validation.IsDNS1123Label(w.Namespace)) > 0 {
		add("namespace %q is not a DNS label", w.Namespace)
	}
	for what, value := range map[string]string{"id": string(w.ID), "tenant": w.Tenant, "size": w.Size.Name,
		"instance": in.Site.Instance} {
		if value == "" || len(validation.IsValidLabelValue(value)) > 0 {
			add("%s %q cannot be a label", what, value)
		}
	}
	if w.Tenant != in.Tenant.Name {
		add("the workload belongs to tenant %q, not to %q", w.Tenant, in.Tenant.Name)
	}
	if !slices.Contains(catalog.WorkloadKinds(), w.Kind) {
		add("kind %q is unknown", w.Kind)
	}
	if w.IsJob() != (w.Job != nil) {
		add("a job, and nothing else, has a program of its own")
	}
	if w.Image.Reference == "" && !w.Image.OnServingRuntime() || !w.IsJob() && !portsOf(w.Image) {
		add("image %q has no reference or no port", w.Image.Name)
	}
	if w.Volume != "" && len(validation.IsDNS1123Label(w.Volume)) > 0 {
		add("storage %q is not a DNS label", w.Volume)
	}
	if in.hasVolume() && w.StorageGiB <= 0 {
		add("storage %q has no size", w.Volume)
	}
	checkMounts(w, add)
	for _, u := range w.Secrets {
		if len(validation.IsDNS1123Label(u.ID)) > 0 || len(validation.IsDNS1123Label(u.Name)) > 0 ||
			slices.ContainsFunc(u.Keys(), func(key string) bool { return len(validation.IsConfigMapKey(key)) > 0 }) {
			add("secret %q cannot be rendered", u.Name)
		}
	}
	if w.Image.OnServingRuntime() {
		if err := fetchable(w); err != nil {
			problems = append(problems, err)
		}
	}
	if in.hasToken() && in.Token == "" {
		add("the workload's token is missing")
	}
	return errors.Join(problems...)
}

// checkBackend adds what the operator behind an image could not run.
func (in Input) checkBackend(add func(format string, args ...any)) {
	w := in.Workload
	if w.Image.NeedsKServe() && len(w.Name) > maxKServeName {
		add("name %q is longer than the %d characters that KServe leaves", w.Name, maxKServeName)
	}
	if w.Image.NeedsJobSet() && len(w.Name) > maxJobSetName {
		add("name %q is longer than the %d characters that JobSet leaves", w.Name, maxJobSetName)
	}
	if w.Image.NeedsLeaderWorkerSet() && len(w.Name) > maxGroupName {
		add("name %q is longer than the %d characters that LeaderWorkerSet leaves", w.Name, maxGroupName)
	}
	if w.Image.NeedsLeaderWorkerSet() && w.Surges() {
		add("a group of pods is not there twice: its version stops before another one starts")
	}
	if w.IsJob() && !w.Image.NeedsJobSet() && w.Replicas.Want() > 1 {
		add("a Job has one pod; of several pods a job is on a JobSet")
	}
	if w.Image.NeedsKServe() && w.HasCanary() {
		add("KServe keeps no pods of two versions beside each other")
	}
	if w.ScaledByKEDA() && (in.LoadToken == "" || in.Site.KEDA.Address == "") {
		add("KEDA has no token or no address to ask for the load")
	}
}

// portsOf reports whether the server of an image has a port, or tunnels lead to one.
func portsOf(i catalog.Image) bool {
	return i.Port > 0 && i.Port <= 65535 || i.Port == 0 && i.Kind == catalog.Notebook && len(i.PortNames()) > 0
}

// checkMounts adds what no pod could have.
func checkMounts(w workload.Workload, add func(format string, args ...any)) {
	for _, m := range w.Mounts {
		name, personal := workload.PersonalName(w.Tenant, m.Claim)
		switch {
		case m.Personal && (!personal || name != m.Name || len(validation.IsValidLabelValue(m.Claim)) > 0 || m.GiB <= 0):
			add("personal volume %q cannot be rendered", m.Claim)
		case m.Dataset != "" && (m.Personal || !m.ReadOnly || len(validation.IsDNS1123Label(m.Dataset)) > 0 ||
			!workload.ValidSubPath(m.SubPath)):
			add("data set %q cannot be rendered", m.Dataset)
		case m.Copied() && (m.Dataset == "" || m.Claim != "" || m.GiB <= 0 || m.Bucket.Image == "" ||
			!workload.ValidBucket(m.Bucket.URL) || !w.HasSecret(m.Bucket.Secret)):
			add("data set %q cannot be copied", m.Dataset)
		case m.Foreign() && len(validation.IsDNS1123Label(m.Claim)) > 0:
			add("claim %q of the data set %q is not a DNS label", m.Claim, m.Dataset)
		case m.Personal, m.Foreign(), m.Copied():
		case len(validation.IsDNS1123Label(m.Name)) > 0 || m.Claim != workload.ClaimOf(w.Tenant, m.Name) ||
			len(validation.IsValidLabelValue(m.Claim)) > 0 || m.GiB <= 0 || m.Class == "" || m.Access == "":
			add("volume %q of the team cannot be rendered", m.Claim)
		}
	}
}

func (in Input) hasToken() bool { return in.Workload.Image.TokenEnv != "" && !in.Published }

// hasVolume: storage that the image has no place for is not made; it would wait for its first pod forever.
func (in Input) hasVolume() bool { return in.Workload.Volume != "" && in.Workload.Image.Home != "" }

// Requests is what a pod of the size asks for. The limit is the same: extended resources cannot be overcommitted, and
// for the others a neighbour must not be able to take what was promised.
func Requests(size catalog.Size) (corev1.ResourceList, error) {
	list, err := devices(size)
	if err != nil {
		return nil, err
	}
	for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: size.CPU,
		corev1.ResourceMemory: size.Memory} {
		q, err := resource.ParseQuantity(text)
		if err != nil || q.Sign() <= 0 {
			return nil, fmt.Errorf("size %s: %s %q is not a quantity above zero", size.Name, name, text)
		}
		list[name] = q
	}
	return list, nil
}

// devices is the part of Requests that is the accelerator's. It is empty for a claim, and for systems whose scheduler
// reads annotations.
func devices(size catalog.Size) (corev1.ResourceList, error) {
	list, a := corev1.ResourceList{}, size.Accelerator
	switch {
	case size.CPUOnly():
		return list, nil
	case size.Technology == catalog.DRA && a.Claim == nil:
		return nil, fmt.Errorf("size %s: technology %s needs a claim", size.Name, size.Technology)
	case a.Resource == "" && len(a.Extra) == 0 && a.Claim == nil && len(size.Placement.PodAnnotations) == 0:
		return nil, fmt.Errorf("size %s: technology %s needs a resource, a claim, or annotations that a scheduler reads",
			size.Name, size.Technology)
	}
	for name, text := range a.Extra {
		q, err := resource.ParseQuantity(text)
		switch {
		case !strings.Contains(name, "/") && !strings.HasPrefix(name, corev1.ResourceHugePagesPrefix):
			return nil, fmt.Errorf("size %s: %q is not an extended resource", size.Name, name)
		case err != nil || q.Sign() <= 0 || q.MilliValue()%1000 != 0:
			return nil, fmt.Errorf("size %s: %s %q is not a whole quantity above zero", size.Name, name, text)
		}
		list[corev1.ResourceName(name)] = q
	}
	if a.Resource != "" {
		list[corev1.ResourceName(a.Resource)] = *resource.NewQuantity(int64(size.Devices()), resource.DecimalSI)
	}
	return list, nil
}

func (r renderer) component() string { return string(r.Workload.Kind) }

func (r renderer) meta() metav1.ObjectMeta {
	return r.owner.meta(r.component(), r.Workload.Namespace, r.Workload.Name)
}

// runnerMeta is that of what makes the pods.
func (r renderer) runnerMeta() metav1.ObjectMeta {
	meta := r.meta()
	r.Avoid.annotate(meta.Annotations)
	if i := r.Workload.Image.Reference; r.Site.Mirror.Of(i) != i {
		meta.Annotations[MirrorKey] = r.Site.Mirror.Registry
	}
	if r.Published {
		meta.Annotations[PublishedKey] = "true"
	}
	if length := leaseOf(r.Workload); length > 0 {
		meta.Annotations[LeaseKey] = length.String()
	}
	specOf(r.Workload).annotate(meta.Annotations)
	return meta
}

// replicas is how many there shall be, or as many as KEDA has set. Stopping gives the GPU back and keeps everything
// else.
func (r renderer) replicas() *int32 {
	w := r.Workload
	switch {
	case w.Desired != workload.WantRunning:
		return new(int32(0))
	case w.ScaledByKEDA() && r.Scaled > 0:
		return new(int32(min(max(r.Scaled, w.Replicas.Least()), w.Replicas.Top())))
	}
	return new(int32(w.Replicas.Want()))
}

func (r renderer) secret() *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: r.meta(),
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{TokenSecretKey: []byte(r.Token)},
	}
}

func (r renderer) claim() *corev1.PersistentVolumeClaim {
	return r.Site.claim(r.Workload.Tenant, r.Workload.Namespace, r.Workload.Owner, r.Workload.Volume, r.storage)
}

// claim is storage of one person, of the storage class that the site has for it.
func (s Site) claim(tenant, namespace string, person identity.PersonID, name string,
	size resource.Quantity) *corev1.PersistentVolumeClaim {
	owner := Owner{Instance: s.Instance, Tenant: tenant, Volume: name}
	claim := &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: owner.meta("storage", namespace, name),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		},
	}
	if s.StorageClass != "" {
		claim.Spec.StorageClassName = &s.StorageClass
	}
	Spec{Owner: person}.annotate(claim.Annotations)
	return claim
}

// PersonalClaim renders a personal volume, which is made before a workload has it, or with the first one. A clone names
// its source, which Kubernetes copies once.
func PersonalClaim(site Site, tenant, namespace string, person identity.PersonID,
	m workload.Mount) *corev1.PersistentVolumeClaim {
	claim := site.claim(tenant, namespace, person, m.Claim, *resource.NewQuantity(int64(m.GiB)<<30, resource.BinarySI))
	switch {
	case m.Snapshot != "":
		claim.Spec.DataSource = snapshotSource(m.Snapshot)
	case m.From != "":
		claim.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: m.From}
	}
	return claim
}

// sharedClaim is a volume of the team: made with the first workload that has it, and the same whichever that is.
func (r renderer) sharedClaim(m workload.Mount) *corev1.PersistentVolumeClaim {
	owner := Owner{Instance: r.owner.Instance, Tenant: r.owner.Tenant, Volume: m.Claim}
	return &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: owner.meta("shared-storage", r.Workload.Namespace, m.Claim),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.PersistentVolumeAccessMode(m.Access)},
			StorageClassName: new(m.Class),
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(int64(m.GiB)<<30, resource.BinarySI)}},
		},
	}
}

// statefulSet runs a notebook: at most one pod, and never two on the same storage. Parallel, because under the ordered
// policy a pod that never gets ready keeps a corrected one from being made.
func (r renderer) statefulSet() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: r.runnerMeta(),
		Spec: appsv1.StatefulSetSpec{
			Replicas: r.replicas(), ServiceName: r.Workload.Name, PodManagementPolicy: appsv1.ParallelPodManagement,
			RevisionHistoryLimit: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: PodSelector(r.Workload)},
			Template: r.template(),
		},
	}
}

// canaryFor keeps Kubernetes from taking the previous pods away: in its eyes a canary is not available yet, and no pod
// may be missing. It answers all the same, for the gateway asks whether a pod is ready.
const canaryFor = 365 * 24 * 60 * 60 // seconds

// strategy is Recreate: with the default one an update waits for a spare GPU that may never come. Another revision
// comes up beside the one that answers where a spare GPU was found for it.
func (r renderer) strategy() appsv1.DeploymentStrategy {
	if !r.Workload.Surges() {
		return appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	return appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: new(intstr.FromInt32(0)),
			MaxSurge: new(intstr.FromInt32(1))}}
}

// deployment runs an endpoint.
// The deadline lies beyond the startup probe, for a big model takes long to load.
func (r renderer) deployment() *appsv1.Deployment {
	ready, progress := int32(0), int32(3600)
	if ro := r.Workload.Revisions.Rollout; ro != nil && ro.Canary != nil {
		ready, progress = canaryFor, math.MaxInt32 // which is none; it must be above the other
	}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: r.runnerMeta(),
		Spec: appsv1.DeploymentSpec{
			Replicas: r.replicas(), Strategy: r.strategy(),
			MinReadySeconds: ready, ProgressDeadlineSeconds: &progress, RevisionHistoryLimit: new(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: PodSelector(r.Workload)}, Template: r.template(),
		},
	}
}

// service leads to the port of the server; without one, to those that tunnels lead to.
func (r renderer) service() *corev1.Service {
	list := []corev1.ServicePort{{Name: PortName, Port: ServicePort, Protocol: corev1.ProtocolTCP,
		TargetPort: intstr.FromString(PortName)}}
	if r.Workload.Image.Port == 0 {
		list = nil
		for _, p := range ports(r.Workload.Image) {
			list = append(list, corev1.ServicePort{Name: p.Name, Port: p.ContainerPort, Protocol: p.Protocol,
				TargetPort: intstr.FromString(p.Name)})
		}
	}
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: r.meta(),
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Selector: AnswerSelector(r.Workload), Ports: list},
	}
}

package kube

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// requiredSCC pins the security context constraint on OpenShift: an account that may use a wider one must not get it
// here.
const requiredSCC = "openshift.io/required-scc"

const (
	homeVolume   = "home"
	sharedVolume = "shm"
	tempVolume   = "tmp"
	modelVolume  = "model"

	secretsVolume = "secrets"
)

// sharedGroup owns what a team shares, whatever image writes there: with a group for each image, the one that starts
// would take it from the others. It is "users", the group that the Jupyter project's images have anyway. On OpenShift
// all pods of a namespace have one group already.
const sharedGroup int64 = 100

// template is the pod of a workload. Its annotations carry no generation: a spec that changes nothing in the pod must
// not replace it.
func (r renderer) template() corev1.PodTemplateSpec {
	w := r.Workload
	labels := maps.Clone(w.Size.Placement.PodLabels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, r.owner.labels(r.component()))
	labels[SizeKey] = w.Size.Name
	if !w.IsJob() {
		labels[ExposedKey] = "true"
	}
	labels["app.kubernetes.io/name"] = w.Image.Like()
	if n := w.Revision(); n > 1 {
		labels[RevisionKey] = strconv.Itoa(n)
	}
	notes := maps.Clone(w.Size.Placement.PodAnnotations)
	if notes == nil {
		notes = map[string]string{}
	}
	if r.Site.OpenShift {
		notes[requiredSCC] = "restricted-v2"
	}
	maps.Copy(notes, Owner{Instance: r.owner.Instance, Tenant: r.owner.Tenant, Workload: r.owner.Workload}.annotations())
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: notes}, Spec: r.pod()}
}

// pod conforms to the Pod Security level "restricted". It mounts no token, sees no neighbours' addresses and stops
// within 30 s; Jupyter needs no more.
func (r renderer) pod() corev1.PodSpec {
	place := r.Workload.Size.Placement
	spec := corev1.PodSpec{
		ServiceAccountName:            AccountName,
		AutomountServiceAccountToken:  new(bool),
		EnableServiceLinks:            new(bool),
		TerminationGracePeriodSeconds: new(int64(30)),
		SecurityContext:               r.podSecurity(),
		NodeSelector:                  maps.Clone(place.NodeSelector),
		Tolerations:                   tolerations(place.Tolerations),
		SchedulerName:                 place.SchedulerName,
		PriorityClassName:             place.PriorityClass,
		Containers:                    []corev1.Container{r.container()},
		Volumes:                       r.volumes(),
		InitContainers:                r.initContainers(),
		ImagePullSecrets:              r.imagePullSecrets(),
		ResourceClaims:                r.podClaims(),
		Affinity:                      affinity(r.Workload.Size, r.Workload.AvoidNodes, r.Avoid),
	}
	if place.RuntimeClass != "" {
		spec.RuntimeClassName = &place.RuntimeClass
	}
	return spec
}

// podSecurity: on OpenShift the SCC picks user and group from the namespace's range, and refuses those of an image.
func (r renderer) podSecurity() *corev1.PodSecurityContext {
	s := &corev1.PodSecurityContext{
		RunAsNonRoot:   new(true),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if r.Site.OpenShift {
		return s
	}
	s.RunAsUser, s.FSGroup = r.Workload.Image.RunAsUser, r.Workload.Image.FSGroup
	if len(r.Workload.Mounts) > 0 {
		s.FSGroup = new(sharedGroup)
	}
	if s.FSGroup != nil { // a big home would otherwise be walked through at every start
		s.FSGroupChangePolicy = new(corev1.FSGroupChangeOnRootMismatch)
	}
	return s
}

func (r renderer) container() corev1.Container {
	i := r.image()
	command, args := i.Command, i.Args
	if job := r.Workload.Job; job != nil && len(job.Command)+len(job.Args) > 0 {
		if args = job.Args; len(job.Command) > 0 {
			command = job.Command
		}
	}
	c := corev1.Container{
		Name: MainContainer(r.Workload), Image: r.Site.Mirror.Of(i.Reference), ImagePullPolicy: corev1.PullIfNotPresent,
		Command: slices.Clone(command), Args: slices.Clone(args), Env: r.env(),
		Resources:    corev1.ResourceRequirements{Requests: r.resources, Limits: r.resources, Claims: r.containerClaims()},
		VolumeMounts: r.mounts(),
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(bool),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
	if !r.Workload.IsJob() && !r.worker { // those answer nobody
		c.Ports = ports(i)
		c.StartupProbe, c.ReadinessProbe, c.LivenessProbe = probes(r.Workload.Kind, i)
		c.Lifecycle = r.lifecycle()
	}
	return c
}

// drain is how long a replica that goes still answers: gateways and Services hear of it within that time. A part of the
// time in which a pod has to stop.
const drain = 5 // seconds

// lifecycle lets a replica of an endpoint answer for a while after it was told to go. "sleep" needs no program in the
// image, and Kubernetes 1.30.
func (r renderer) lifecycle() *corev1.Lifecycle {
	if r.Workload.Kind != catalog.Endpoint {
		return nil
	}
	return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: drain}}}
}

// image is that of the workload with its model in arguments and environment.
func (r renderer) image() catalog.Image {
	w := r.Workload
	nodes := w.Replicas.Nodes(w.Image)
	if r.worker {
		return w.Image.Working(w.Model, w.Size, nodes)
	}
	return w.Image.Serving(w.Model, w.Size, nodes)
}

// ports are where the server answers if it does, where it tells of itself if that is elsewhere, and those that tunnels
// lead to.
func ports(i catalog.Image) (list []corev1.ContainerPort) {
	add := func(name string, number int32) {
		list = append(list, corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: corev1.ProtocolTCP})
	}
	if i.Port != 0 {
		add(PortName, i.Port)
	}
	for _, name := range i.PortNames() {
		number, _ := i.Tunneled(name)
		add(name, number)
	}
	if r := i.Runtime; r != nil && r.Metrics.Port != 0 && r.Metrics.Port != i.Port {
		add(metricsPort, r.Metrics.Port)
	}
	return list
}

// podUID is the variable that a size may refer to, for systems that group processes by pod.
const podUID = "POD_UID"

// env is the variables of image, job and size by name, and the workload's secret. Without a GPU the runtime is told to
// show none: many images ask for all GPUs of the node in their own environment, and NVIDIA's runtime heeds that even
// where the pod asked for no device.
func (r renderer) env() []corev1.EnvVar {
	i := r.image()
	values := map[string]string{}
	maps.Copy(values, i.Env)
	peers, ranks := r.peerEnv()
	maps.Copy(values, peers)
	if r.Workload.Job != nil {
		maps.Copy(values, r.Workload.Job.Env)
	}
	maps.Copy(values, r.Workload.Size.Placement.Env)
	if i.TokenEnv != "" {
		delete(values, i.TokenEnv)
	}
	ofSecrets := r.secretEnv()
	for _, e := range ofSecrets {
		delete(values, e.Name)
	}
	var env []corev1.EnvVar
	for _, value := range r.Workload.Size.Placement.Env {
		if strings.Contains(value, "$("+podUID+")") { // it must stand before those that refer to it
			delete(values, podUID)
			env = []corev1.EnvVar{{Name: podUID, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
				APIVersion: "v1", FieldPath: "metadata.uid"}}}}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		env = append(env, corev1.EnvVar{Name: name, Value: values[name]})
	}
	for _, e := range ranks {
		if _, own := values[e.Name]; !own && !slices.ContainsFunc(ofSecrets, func(s corev1.EnvVar) bool {
			return s.Name == e.Name
		}) {
			env = append(env, e)
		}
	}
	if r.Workload.Size.CPUOnly() {
		env = append(env, corev1.EnvVar{Name: "NVIDIA_VISIBLE_DEVICES", Value: "void"})
	}
	for _, s := range i.SecretsFor(r.Workload.Model) {
		if slices.ContainsFunc(ofSecrets, func(e corev1.EnvVar) bool { return e.Name == s.Env }) {
			continue // who brings one of their own wants that
		}
		env = append(env, corev1.EnvVar{Name: s.Env, ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: s.Secret},
				Key: s.Key, Optional: new(true)}}})
	}
	env = append(env, ofSecrets...)
	if r.hasToken() && !r.worker {
		env = append(env, corev1.EnvVar{Name: i.TokenEnv,
			ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: r.Workload.Name}, Key: TokenSecretKey,
			}}})
	}
	return env
}

// volumes: storage, or in its place a directory that goes with the pod, so that a program finds its home writable
// either way; a /dev/shm of the size's own (it counts against the memory limit); and a /tmp that any user may write to.
func (r renderer) volumes() []corev1.Volume {
	var volumes []corev1.Volume
	switch {
	case r.hasVolume():
		volumes = append(volumes, corev1.Volume{Name: homeVolume, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: r.Workload.Volume},
		}})
	case r.Workload.Image.Home != "":
		volumes = append(volumes, emptyDir(homeVolume))
	}
	if r.shared != nil {
		volumes = append(volumes, corev1.Volume{Name: sharedVolume, VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: r.shared},
		}})
	}
	for i, m := range r.Workload.Mounts {
		if m.Copied() {
			volumes = append(volumes, copiedVolume(i, m))
			continue
		}
		if r.firstOf(m.Claim) != i || r.fetches(m) {
			continue
		}
		volumes = append(volumes, corev1.Volume{Name: mountVolume(i, m), VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: m.Claim,
				ReadOnly: !r.written(m.Claim)},
		}})
	}
	if m := r.Workload.Model; m != nil && m.Source == catalog.FromOCI {
		volumes = append(volumes, corev1.Volume{Name: modelVolume, VolumeSource: corev1.VolumeSource{
			Image: &corev1.ImageVolumeSource{Reference: r.Site.Mirror.Of(m.Name), PullPolicy: corev1.PullIfNotPresent}}})
	}
	if files := r.secretFiles(); files != nil {
		volumes = append(volumes, *files)
	}
	return append(volumes, emptyDir(tempVolume))
}

// firstOf is the first mount of a claim. A pod has each claim once: kubelets wait for ever for the second volume of
// one. Data sets can lie on the same volume, and on one that the workload has by its own name.
func (r renderer) firstOf(claim string) int {
	return slices.IndexFunc(r.Workload.Mounts, func(m workload.Mount) bool { return m.Claim == claim })
}

// written reports whether the pod may write to a claim by one of its mounts.
func (r renderer) written(claim string) bool {
	return slices.ContainsFunc(r.Workload.Mounts, func(m workload.Mount) bool { return m.Claim == claim && !m.ReadOnly })
}

// mountVolume is the name of a volume in the pod: that of its claim has a dot, which is not allowed there.
func mountVolume(i int, m workload.Mount) string {
	switch {
	case m.Personal:
		return "data-" + strconv.Itoa(i)
	case m.Dataset != "":
		return "dataset-" + strconv.Itoa(i)
	}
	return "team-" + strconv.Itoa(i)
}

func emptyDir(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

func (r renderer) mounts() []corev1.VolumeMount {
	var mounts []corev1.VolumeMount
	if r.Workload.Image.Home != "" {
		mounts = append(mounts, corev1.VolumeMount{Name: homeVolume, MountPath: r.Workload.Image.Home})
	}
	if r.shared != nil {
		mounts = append(mounts, corev1.VolumeMount{Name: sharedVolume, MountPath: "/dev/shm"})
	}
	for i, m := range r.Workload.Mounts {
		if r.fetches(m) {
			continue
		}
		first := i
		if !m.Copied() {
			first = r.firstOf(m.Claim)
		}
		mounts = append(mounts, corev1.VolumeMount{Name: mountVolume(first, r.Workload.Mounts[first]), MountPath: m.Path(),
			SubPath: m.SubPath, ReadOnly: m.ReadOnly})
	}
	if m := r.Workload.Model; m != nil && m.Source == catalog.FromOCI {
		mounts = append(mounts, corev1.VolumeMount{Name: modelVolume, MountPath: catalog.ModelDir, ReadOnly: true})
	}
	if r.secretFiles() != nil {
		mounts = append(mounts, corev1.VolumeMount{Name: secretsVolume, MountPath: workload.SecretsDir, ReadOnly: true})
	}
	return append(mounts, corev1.VolumeMount{Name: tempVolume, MountPath: "/tmp"})
}

// NotebookStartup is how long the kubelet lets a notebook's program try to answer before it ends it: the startup probe.
const NotebookStartup = 10 * time.Minute

// probes ask the image's health path, or those of its runtime. A notebook has ten minutes to answer first, an
// endpoint half an hour, for it loads a model. Only endpoints are restarted when they stop answering: a restart would
// cost a notebook its kernels, and a person sees that it does not answer.
func probes(kind catalog.WorkloadKind, i catalog.Image) (startup, ready, live *corev1.Probe) {
	get := func(path string) corev1.ProbeHandler {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(PortName),
			Scheme: corev1.URISchemeHTTP}}
	}
	if i.Port == 0 && len(i.PortNames()) > 0 {
		return portProbe(i), nil, nil
	}
	if i.HealthPath == "" { // those of a ServingRuntime stay
		return nil, nil, nil
	}
	readyPath, livePath := i.HealthPath, i.HealthPath
	if i.Runtime != nil {
		readyPath, livePath = cmp.Or(i.Runtime.ReadyPath, readyPath), cmp.Or(i.Runtime.LivePath, livePath)
	}
	startup = &corev1.Probe{ProbeHandler: get(i.HealthPath), PeriodSeconds: 2, TimeoutSeconds: 2,
		FailureThreshold: int32(NotebookStartup / (2 * time.Second))}
	ready = &corev1.Probe{ProbeHandler: get(readyPath), PeriodSeconds: 10, TimeoutSeconds: 5, FailureThreshold: 3}
	if kind == catalog.Endpoint {
		startup.PeriodSeconds, startup.FailureThreshold = 5, 360
		live = &corev1.Probe{ProbeHandler: get(livePath), PeriodSeconds: 20, TimeoutSeconds: 10, FailureThreshold: 6}
	}
	return startup, ready, live
}

// portProbe has an image without pages start when the first of its ports takes connections.
func portProbe(i catalog.Image) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{
		Port: intstr.FromString(i.PortNames()[0])}}, PeriodSeconds: 2, TimeoutSeconds: 2,
		FailureThreshold: int32(NotebookStartup / (2 * time.Second))}
}

func tolerations(list []catalog.Toleration) []corev1.Toleration {
	var out []corev1.Toleration
	for _, t := range list {
		operator := corev1.TolerationOperator(t.Operator)
		if operator == "" {
			operator = corev1.TolerationOpExists
		}
		out = append(out, corev1.Toleration{Key: t.Key, Operator: operator, Value: t.Value,
			Effect: corev1.TaintEffect(t.Effect)})
	}
	return out
}

// affinity is what a node selector cannot say; nil for nothing.
func affinity(size catalog.Size, unlicensed []string, bad Avoid) *corev1.Affinity {
	node := &corev1.NodeAffinity{}
	if terms := append(nodeMatch(size.Placement.NodeMatch), bad.requirement()...); len(terms) > 0 {
		node.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: terms}}}
	}
	if size.CPUOnly() {
		node.PreferredDuringSchedulingIgnoredDuringExecution = awayFromGPUs()
	}
	if len(unlicensed) > 0 && size.Technology == catalog.VGPU {
		node.PreferredDuringSchedulingIgnoredDuringExecution = awayFrom(unlicensed)
	}
	if node.RequiredDuringSchedulingIgnoredDuringExecution == nil &&
		node.PreferredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return &corev1.Affinity{NodeAffinity: node}
}

// nodeMatch is one term: all of its expressions must hold, whereas of several terms one would do.
func nodeMatch(list []catalog.NodeMatch) []corev1.NodeSelectorRequirement {
	var out []corev1.NodeSelectorRequirement
	for _, m := range list {
		out = append(out, corev1.NodeSelectorRequirement{Key: m.Key, Operator: corev1.NodeSelectorOperator(m.Operator),
			Values: slices.Clone(m.Values)})
	}
	return out
}

// awayFromGPUs asks the scheduler, without insisting, to leave the processors of GPU nodes to work that needs the GPUs.
func awayFromGPUs() []corev1.PreferredSchedulingTerm {
	return []corev1.PreferredSchedulingTerm{{Weight: 100, Preference: corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "nvidia.com/gpu.present",
			Operator: corev1.NodeSelectorOpDoesNotExist}},
	}}}
}

// awayFrom asks the scheduler to take another node than those that lack a license. It does not insist: where no other
// node is free the workload would wait forever, for what a pod was given is not changed when the license comes back.
func awayFrom(nodes []string) []corev1.PreferredSchedulingTerm {
	return []corev1.PreferredSchedulingTerm{{Weight: 100, Preference: corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpNotIn,
			Values: slices.Clone(nodes)}},
	}}}
}

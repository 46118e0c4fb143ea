package catalog

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Technology is how a GPU is given to pods: whole, partitioned or shared.
type Technology string

// The technologies that the portal itself knows something of. Others (HAMi, Volcano, KAI and what a site invents) are
// data: see TechnologyRule.
const (
	Full        Technology = "full"
	Passthrough Technology = "passthrough" // a whole card of a virtual machine that is a node
	MIG         Technology = "mig"
	VGPU        Technology = "vgpu"
	TimeSlicing Technology = "time-slicing"
	MPS         Technology = "mps"
	DRA         Technology = "dra"
	CPUOnly     Technology = "cpu"
)

// Isolation is what protects a share's memory and errors from its neighbours on the card.
type Isolation string

// The levels. Unknown is never shown as something better.
const (
	IsolationHard    Isolation = "hard"    // own memory and compute, in hardware
	IsolationMemory  Isolation = "memory"  // memory capped, compute shared
	IsolationNone    Isolation = "none"    // nothing enforced
	IsolationUnknown Isolation = "unknown" // cannot be told
)

// IsolationLevels lists every level, the strongest first.
func IsolationLevels() []Isolation { return slices.Clone(isolations) }

// Size is an entry of the catalog that people choose: accelerator, CPU, memory, isolation, price (in other systems:
// flavor, instance type).
type Size struct {
	Name         string      `json:"name"`               // DNS label, the word in API and SQL
	Title        string      `json:"title"`              // "MIG slice 10 GB"
	Titles       Titles      `json:"titles,omitempty"`   // in other languages
	Clusters     []string    `json:"clusters,omitempty"` // where it is offered; empty: everywhere
	Technology   Technology  `json:"technology"`
	Isolation    Isolation   `json:"isolation"`
	Accelerator  Accelerator `json:"accelerator"`
	CPU          string      `json:"cpu"`                    // Kubernetes quantity; request equals limit
	Memory       string      `json:"memory"`                 // Kubernetes quantity; request equals limit
	SharedMem    string      `json:"sharedMemory,omitempty"` // size of /dev/shm; counts against Memory
	Placement    Placement   `json:"placement,omitempty"`
	PricePerHour usage.Money `json:"pricePerHour"`
	LicensePool  string      `json:"licensePool,omitempty"` // takes one seat of this pool while it runs
	DefaultLease Duration    `json:"defaultLease"`
	MaxLease     Duration    `json:"maxLease"`
	// a lease becomes longer by itself, by DefaultLease up to MaxLease, while nobody waits for the size
	AutoExtend bool     `json:"autoExtend,omitempty"`
	Tenants    []string `json:"tenants,omitempty"` // who may see it; empty: everyone
	Order      int      `json:"order,omitempty"`

	Preemptible bool         `json:"preemptible,omitempty"` // the node can be taken away at any time: spot, preemptible
	Hidden      bool         `json:"hidden,omitempty"`      // not on offer; what runs goes on
	Deprecated  *Deprecation `json:"deprecated,omitempty"`  // still on offer, with a word of warning
}

// Deprecation says that an entry will be removed, and which one succeeds it.
type Deprecation struct {
	Message   string `json:"message"`             // the administrator's own sentence
	Successor string `json:"successor,omitempty"` // name of the entry to take instead
}

// Accelerator is the GPU part of a size. The zero value means CPU only. The device is an extended resource, or a claim,
// or, with schedulers that read annotations, neither.
type Accelerator struct {
	Vendor    string  `json:"vendor,omitempty"`    // "nvidia"
	Model     string  `json:"model,omitempty"`     // display name of the card: "H100 80GB"
	Profile   string  `json:"profile,omitempty"`   // "1g.10gb" for MIG, "L40S-24Q" for vGPU
	Resource  string  `json:"resource,omitempty"`  // extended resource, "nvidia.com/mig-1g.10gb"
	Count     int     `json:"count,omitempty"`     // how many of the resource; 1 where empty
	MemoryGiB float64 `json:"memoryGiB,omitempty"` // of GPU memory, all devices together
	Share     float64 `json:"share,omitempty"`     // of one card, 0..1; for several whole cards 1

	// Extra are extended resources that a pod takes beside Resource, with quantities: HAMi's nvidia.com/gpumem: "8000",
	// rdma/hca_a: "1".
	Extra map[string]string `json:"extra,omitempty"`
	Claim *Claim            `json:"claim,omitempty"` // technology dra: what a ResourceClaimTemplate asks for
}

// Claim is what a ResourceClaimTemplate of resource.k8s.io/v1 asks for.
type Claim struct {
	Requests    []DeviceRequest    `json:"requests"`
	Constraints []DeviceConstraint `json:"constraints,omitempty"`
}

// DeviceRequest asks for devices of a class, or for the first of several alternatives that can be had.
type DeviceRequest struct {
	Name string `json:"name"` // DNS label, unique in the claim
	// "gpu.nvidia.com", "mig.nvidia.com"; "" with FirstAvailable
	DeviceClass    string          `json:"deviceClass,omitempty"`
	Count          int             `json:"count,omitempty"`     // 1 where empty
	Selectors      []string        `json:"selectors,omitempty"` // CEL over device, all of them must hold
	FirstAvailable []DeviceRequest `json:"firstAvailable,omitempty"`
}

// DeviceConstraint asks that the devices of some requests agree in an attribute.
type DeviceConstraint struct {
	Requests       []string `json:"requests,omitempty"` // names; empty: all
	MatchAttribute string   `json:"matchAttribute"`     // "resource.kubernetes.io/pcieRoot"
}

// Devices is how many devices of a request one claim takes.
func (r DeviceRequest) Devices() int { return max(1, r.Count) }

// IsZero reports whether there is no accelerator at all.
func (a Accelerator) IsZero() bool {
	return a.Vendor == "" && a.Model == "" && a.Profile == "" && a.Resource == "" && a.Count == 0 && a.MemoryGiB == 0 &&
		a.Share == 0 &&
		len(a.Extra) == 0 && a.Claim == nil
}

// Placement is where a pod of this size may run.
type Placement struct {
	NodeSelector   map[string]string `json:"nodeSelector,omitempty"`
	NodeMatch      []NodeMatch       `json:"nodeMatch,omitempty"` // further conditions on labels, all of which must hold
	Tolerations    []Toleration      `json:"tolerations,omitempty"`
	RuntimeClass   string            `json:"runtimeClass,omitempty"`
	SchedulerName  string            `json:"schedulerName,omitempty"`
	PriorityClass  string            `json:"priorityClass,omitempty"`
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`
	PodLabels      map[string]string `json:"podLabels,omitempty"` // as KAI's queue; the portal's own labels cannot be set
	// of the container, as OrionX's ORION_GMEM; $(POD_UID) in a value is the pod's UID
	Env map[string]string `json:"env,omitempty"`
}

// NodeMatch is one required term of a node affinity, for what a selector cannot say: "memory above 40000", "one of
// these zones".
type NodeMatch struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"` // In, NotIn, Exists, DoesNotExist, Gt, Lt
	Values   []string `json:"values,omitempty"`
}

// Toleration is the part of a Kubernetes toleration that a size may use.
type Toleration struct {
	Key      string `json:"key"`
	Operator string `json:"operator,omitempty"` // Exists (default) or Equal
	Value    string `json:"value,omitempty"`
	Effect   string `json:"effect,omitempty"`
}

// CPUOnly reports whether the size has no GPU. A size may have one without naming a resource: a claim, or an annotation
// that another scheduler reads.
func (s Size) CPUOnly() bool { return s.Technology == CPUOnly }

// Devices is how many devices or shares of one a workload takes; 0 for CPU only. Of alternatives in a claim the first
// counts.
func (s Size) Devices() int {
	if s.CPUOnly() {
		return 0
	}
	c := s.Accelerator.Claim
	if c == nil {
		return max(1, s.Accelerator.Count)
	}
	n := 0
	for _, r := range c.Requests {
		if len(r.FirstAvailable) > 0 {
			r = r.FirstAvailable[0]
		}
		n += r.Devices()
	}
	return n
}

// SharesDevice reports whether others may be handed the very device that one of this size holds, so that what the
// device does is not its holder's doing alone.
func (s Size) SharesDevice() bool {
	switch s.Technology {
	case CPUOnly, Full, Passthrough, MIG, VGPU:
		return false
	case TimeSlicing, MPS:
		return true
	}
	return s.Isolation != IsolationHard
}

// SSH is the SSH server of a notebook's image. Whom it lets in is for the image to say: it reads the public keys of its
// owner from their secret.
type SSH struct {
	Port int32  `json:"port"` // another one than that of its pages
	User string `json:"user"` // who signs in: "jovyan"
}

// OfferedTo reports whether the tenant may see the size. What is hidden is offered to nobody.
func (s Size) OfferedTo(tenant string) bool {
	return !s.Hidden && (len(s.Tenants) == 0 || slices.Contains(s.Tenants, tenant))
}

// OfferedOn reports whether the size exists on the cluster.
func (s Size) OfferedOn(cluster string) bool {
	return len(s.Clusters) == 0 || slices.Contains(s.Clusters, cluster)
}

// WorkloadKind is notebook, endpoint or job: the kinds that an image can be for.
type WorkloadKind string

// The kinds of workload.
const (
	Notebook WorkloadKind = "notebook"
	Endpoint WorkloadKind = "endpoint"
	Job      WorkloadKind = "job"
)

// WorkloadKinds lists every kind.
func WorkloadKinds() []WorkloadKind { return []WorkloadKind{Notebook, Endpoint, Job} }

// Titles are translations of a title, by language tag ("de").
type Titles map[string]string

// In is the title in a language, as far as there is one; else the usual one.
func (t Titles) In(lang, usual string) string {
	if title := t[lang]; title != "" {
		return title
	}
	return usual
}

// TitleIn is what people who read a language see.
func (s Size) TitleIn(lang string) string { return s.Titles.In(lang, s.Title) }

// Called is its title in the language of whoever reads, as an argument of a Text.
func (s Size) Called() any { return s.Titles.called(s.Title) }

// Called is its title in the language of whoever reads, as an argument of a Text.
func (i Image) Called() any { return i.Titles.called(i.Title) }

func (t Titles) called(usual string) any {
	if len(t) == 0 {
		return usual
	}
	return i18n.Titled(usual, t)
}

// TitleIn is what people who read a language see.
func (i Image) TitleIn(lang string) string { return i.Titles.In(lang, i.Title) }

// Image is one entry of the image catalog: what a container starts and where it answers. One of kind job answers
// nowhere.
type Image struct {
	Name   string       `json:"name"`
	Title  string       `json:"title"`
	Titles Titles       `json:"titles,omitempty"` // in other languages
	Kind   WorkloadKind `json:"kind"`
	// with tag and digest: "quay.io/jupyter/pytorch-notebook:cuda12-2025@sha256:…"; "" where a ServingRuntime's serves
	Reference string            `json:"reference"`
	Command   []string          `json:"command,omitempty"`
	Args      []string          `json:"args,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	// the variable that receives the workload's own secret: JUPYTER_TOKEN
	TokenEnv string `json:"tokenEnv,omitempty"`
	// how the gateway shows that secret: "token" (Jupyter), "bearer", or "" for none
	Auth       string `json:"auth,omitempty"`
	Port       int32  `json:"port"`
	HealthPath string `json:"healthPath"`         // "" where a ServingRuntime has probes of its own
	OpenPath   string `json:"openPath,omitempty"` // where "Open" leads, "/lab"
	Home       string `json:"home,omitempty"`     // where storage is mounted; "" mounts none
	RunAsUser  *int64 `json:"runAsUser,omitempty"`
	FSGroup    *int64 `json:"fsGroup,omitempty"`
	SSH        *SSH   `json:"ssh,omitempty"` // nil: it has no SSH server
	// of a notebook: further TCP ports by name, to which gpuctl forward leads; one with these or SSH may have no Port
	Ports   map[string]int32 `json:"ports,omitempty"`
	Runtime *Runtime         `json:"runtime,omitempty"` // nil: args and env are as they are, and say which model it serves
	// of kind job, what makes the pods: a Job of one pod, or a JobSet where that is installed, of several pods that begin
	// and restart together; "" for a Job
	Backend Backend  `json:"backend,omitempty"`
	Tenants []string `json:"tenants,omitempty"` // allow list; empty: everyone
	Order   int      `json:"order,omitempty"`

	Hidden     bool         `json:"hidden,omitempty"`
	Deprecated *Deprecation `json:"deprecated,omitempty"`
}

// OfferedTo reports whether the tenant may use the image. What is hidden is offered to nobody.
func (i Image) OfferedTo(tenant string) bool {
	return !i.Hidden && (len(i.Tenants) == 0 || slices.Contains(i.Tenants, tenant))
}

// RunsAs reports whether the image can be started as that kind. A job can run in any image; one whose container is a
// ServingRuntime's may have none.
func (i Image) RunsAs(kind WorkloadKind) bool {
	return i.Kind == kind || kind == Job && (i.Reference != "" || !i.OnServingRuntime())
}

// ForJob is the image as a job runs it: nothing of it answers, and what starts the server of another kind's image is
// left out.
func (i Image) ForJob() Image {
	if i.Kind != Job {
		i.Command, i.Args = nil, nil
	}
	i = i.Serving(nil, Size{}, 0) // what a template would say of a model goes as well
	i.Kind, i.TokenEnv, i.Auth, i.Port, i.HealthPath, i.OpenPath, i.SSH, i.Runtime = Job, "", "", 0, "", "", nil, nil
	i.Ports = nil
	return i
}

// SSHPort is the name of the port of an image's SSH server.
const SSHPort = "ssh"

// PortNames are the names of the ports that a tunnel leads to, that of the SSH server among them, in order.
func (i Image) PortNames() []string {
	names := slices.Collect(maps.Keys(i.Ports))
	if i.SSH != nil {
		names = append(names, SSHPort)
	}
	slices.Sort(names)
	return names
}

// Tunneled is the port that a name or a number means, if a tunnel leads to it; "" means the SSH server.
func (i Image) Tunneled(port string) (int32, bool) {
	if i.SSH != nil && (port == "" || port == SSHPort || port == strconv.Itoa(int(i.SSH.Port))) {
		return i.SSH.Port, true
	}
	if n, named := i.Ports[port]; named {
		return n, true
	}
	for _, n := range i.Ports {
		if port == strconv.Itoa(int(n)) {
			return n, true
		}
	}
	return 0, false
}

// TeamImage is the name of a team's own image among all images. Names in the catalog are DNS labels and have no dot,
// so that the two never meet.
func TeamImage(team, name string) string { return team + "." + name }

// OfTeam reports whether the image is a team's own, which the catalog does not have.
func (i Image) OfTeam() bool { return strings.Contains(i.Name, ".") }

// customPrefix begins the names of custom images. DNS labels have no underscore.
const customPrefix = "custom_"

// Custom is the image with another reference, which a member has named for one workload alone. Command, variables, port
// and user stay those that were looked at once.
func (i Image) Custom(reference string) Image {
	i.Name, i.Title, i.Reference = customPrefix+i.Name, shortReference(reference), reference
	i.Titles, i.Tenants, i.Hidden, i.Deprecated = nil, nil, false, nil
	return i
}

// IsCustom reports whether a member has named the reference: neither the catalog nor the team has the image.
func (i Image) IsCustom() bool { return strings.HasPrefix(i.Name, customPrefix) }

// Like is the name of the catalog's image that a custom one is started like; of any other its own.
func (i Image) Like() string { return strings.TrimPrefix(i.Name, customPrefix) }

// shortReference is the last part of a repository, with its tag.
func shortReference(reference string) string {
	name, _, _ := strings.Cut(reference, "@")
	return name[strings.LastIndexByte(name, '/')+1:]
}

// TechnologyRule says of a technology what its sizes must look like. The portal brings rules for what the field uses; a
// catalog adds its own, so that a technology which is "a resource name and annotations" needs no program.
type TechnologyRule struct {
	Name      Technology  `json:"name"`
	Title     string      `json:"title"`     // what people read: "HAMi"
	Isolation []Isolation `json:"isolation"` // the levels that its sizes may claim
	// the extended resources it uses, path.Match patterns; none: annotations only
	Resources []string `json:"resources,omitempty"`
	// resources, annotations, labels or variables that each size must set, patterns too; "a|b": one of the two
	Needs       []string `json:"needs,omitempty"`
	Scheduler   string   `json:"scheduler,omitempty"`   // the scheduler that a size must name; "": kube-scheduler will do
	Single      bool     `json:"single,omitempty"`      // a workload gets one
	Uncountable bool     `json:"uncountable,omitempty"` // what is free cannot be told from what nodes advertise
	Source      string   `json:"source,omitempty"`      // where this is documented
}

// Catalog is all sizes, images and technology rules, in display order.
type Catalog struct {
	// the site's own; those that the portal brings are not repeated
	Technologies []TechnologyRule `json:"technologies,omitempty"`
	Sizes        []Size           `json:"sizes"`
	Images       []Image          `json:"images"`
}

// Size finds a size by name.
func (c Catalog) Size(name string) (Size, bool) {
	i := slices.IndexFunc(c.Sizes, func(s Size) bool { return s.Name == name })
	if i < 0 {
		return Size{}, false
	}
	return c.Sizes[i], true
}

// Image finds an image by name.
func (c Catalog) Image(name string) (Image, bool) {
	i := slices.IndexFunc(c.Images, func(s Image) bool { return s.Name == name })
	if i < 0 {
		return Image{}, false
	}
	return c.Images[i], true
}

// Resources lists every extended resource that some size turns into, sorted and without doubles: each needs a quota
// line, "0" where forbidden.
func (c Catalog) Resources() []string {
	var names []string
	for _, s := range c.Sizes {
		if s.Accelerator.Resource != "" {
			names = append(names, s.Accelerator.Resource)
		}
		names = slices.AppendSeq(names, maps.Keys(s.Accelerator.Extra))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// IsolationText is the one-line meaning of an isolation level.
func IsolationText(i Isolation) i18n.Text { return i18n.T("isolation." + string(i) + ".meaning") }

// IsolationWord is the name of an isolation level.
func IsolationWord(i Isolation) i18n.Text { return i18n.T("isolation." + string(i)) }

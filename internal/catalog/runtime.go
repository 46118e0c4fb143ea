package catalog

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Runtime makes an image of kind endpoint a server for models that are named with the start: arguments and environment
// of the image are templates over the Model then, see Placeholders. An image without one has its model in its
// arguments, or is a server of the site's own.
type Runtime struct {
	Engine Engine `json:"engine"`
	// what makes the pods: a Deployment, an InferenceService where KServe is installed, or a LeaderWorkerSet where that
	// is; "" for a Deployment
	Backend Backend `json:"backend,omitempty"`
	// what sets the number of replicas of an endpoint that scales by a metric: the portal, or KEDA where that is
	// installed, on a Deployment alone; "" for the portal
	Autoscaler Autoscaler `json:"autoscaler,omitempty"`
	// with backend leaderworkerset, over how many pods of its size an endpoint may be spread, and what all but the first
	// run in place of the image's command and args. The first serves; it waits for the others itself.
	MaxNodes      int      `json:"maxNodes,omitempty"`
	WorkerCommand []string `json:"workerCommand,omitempty"` // the image's own where empty
	WorkerArgs    []string `json:"workerArgs,omitempty"`    // templates, as args
	// with backend kserve, the ClusterServingRuntime or ServingRuntime whose container serves in place of the image's own,
	// and which of its supportedModelFormats: "huggingface"; KServe then fetches the model
	ServingRuntime string   `json:"servingRuntime,omitempty"`
	ModelFormat    string   `json:"modelFormat,omitempty"`
	Sources        []Source `json:"sources"` // where models may come from, the usual one first
	// Default is served where a start names no model; without one, and without Optional, a start must.
	Default  *Model `json:"default,omitempty"`
	Optional bool   `json:"optional,omitempty"` // the image brings a model of its own
	// what a model may be quantized to while it is loaded, as the engine calls it
	Quantizations []string `json:"quantizations,omitempty"`
	// from Secrets of the team's namespace, whatever is served; a start goes on without those that are not there
	Secrets []SecretVariable `json:"secrets,omitempty"`
	// when a replica may be called, and when it must be restarted; the image's healthPath where empty
	ReadyPath string         `json:"readyPath,omitempty"`
	LivePath  string         `json:"livePath,omitempty"`
	Metrics   RuntimeMetrics `json:"metrics,omitempty"`
}

// Engine is the kind of model server, which its API and metrics depend on.
type Engine string

// The engines.
const (
	VLLM     Engine = "vllm"
	Triton   Engine = "triton"
	NIM      Engine = "nim"
	LlamaCpp Engine = "llama.cpp"
	Other    Engine = "other" // whatever answers over HTTP
)

// Engines lists every engine.
func Engines() []Engine { return []Engine{VLLM, Triton, NIM, LlamaCpp, Other} }

// SpeaksOpenAI reports whether people try an endpoint by the routes of OpenAI (/v1/…): a server with a page of its own
// says so by its openPath.
func (i Image) SpeaksOpenAI() bool {
	if i.Kind != Endpoint {
		return false
	}
	return i.OpenPath == "" || strings.HasPrefix(i.OpenPath, "/v1/") || i.Runtime != nil && i.Runtime.Engine != Other
}

// Backend is the kind of object that makes the pods of an endpoint or of a job.
type Backend string

// The backends.
const (
	OnDeployment      Backend = "deployment"
	OnKServe          Backend = "kserve"          // an InferenceService; KServe makes a Deployment of it
	OnLeaderWorkerSet Backend = "leaderworkerset" // a group of pods, of which the first answers
	OnJob             Backend = "job"
	OnJobSet          Backend = "jobset" // a JobSet, of one pod or several; JobSet makes a Job of it
)

// Backends lists those of endpoints.
func Backends() []Backend { return []Backend{OnDeployment, OnKServe, OnLeaderWorkerSet} }

// JobBackends lists those of jobs.
func JobBackends() []Backend { return []Backend{OnJob, OnJobSet} }

// Autoscaler is what sets the number of replicas of an endpoint that scales by a metric.
type Autoscaler string

// The autoscalers.
const (
	ByPortal Autoscaler = "portal"
	ByKEDA   Autoscaler = "keda" // a ScaledObject; KEDA makes a HorizontalPodAutoscaler of it
)

// Autoscalers lists them.
func Autoscalers() []Autoscaler { return []Autoscaler{ByPortal, ByKEDA} }

// ScalesByKEDA reports whether an endpoint of the image scales on a cluster with KEDA alone.
func (i Image) ScalesByKEDA() bool {
	return i.Kind == Endpoint && i.Runtime != nil && i.Runtime.Autoscaler == ByKEDA
}

// NeedsJobSet reports whether a job of the image runs on a cluster with JobSet alone. Only such a job can have several
// pods.
func (i Image) NeedsJobSet() bool { return i.Kind == Job && i.Backend == OnJobSet }

// NeedsKServe reports whether an endpoint of the image runs on a cluster with KServe alone.
func (i Image) NeedsKServe() bool {
	return i.Kind == Endpoint && i.Runtime != nil && i.Runtime.Backend == OnKServe
}

// NeedsLeaderWorkerSet reports whether an endpoint of the image runs on a cluster with LeaderWorkerSet alone. Only such
// an endpoint can be spread over several pods.
func (i Image) NeedsLeaderWorkerSet() bool {
	return i.Kind == Endpoint && i.Runtime != nil && i.Runtime.Backend == OnLeaderWorkerSet
}

// PodsBackend is what makes the pods of an endpoint of the image.
func (i Image) PodsBackend() Backend {
	if i.Runtime == nil || i.Runtime.Backend == "" {
		return OnDeployment
	}
	return i.Runtime.Backend
}

// OnServingRuntime reports whether the container of an endpoint is that of a ServingRuntime of the cluster. The image
// may have no reference of its own then.
func (i Image) OnServingRuntime() bool { return i.NeedsKServe() && i.Runtime.ServingRuntime != "" }

// Source is a kind of model source that a runtime supports: the names that it allows, and the arguments, variables and
// secrets that it adds.
type Source struct {
	Kind ModelSource `json:"kind"`
	// what a model's name may begin with, up to a slash: "Qwen", "s3://models/released", "registry.example.org/models";
	// empty: anything
	From    []string          `json:"from,omitempty"`
	Args    []string          `json:"args,omitempty"` // after those of the image
	Env     map[string]string `json:"env,omitempty"`
	Secrets []SecretVariable  `json:"secrets,omitempty"` // as those of the runtime
}

// SecretVariable is an environment variable with a value from a Secret.
type SecretVariable struct {
	Env    string `json:"env"`    // HF_TOKEN
	Secret string `json:"secret"` // name in the team's namespace
	Key    string `json:"key"`
}

// RuntimeMetrics is where a model server exposes Prometheus metrics, and its names for the time to the first token,
// output tokens and queued requests.
type RuntimeMetrics struct {
	Path         string `json:"path,omitempty"`         // "" for none
	Port         int32  `json:"port,omitempty"`         // that of the image where 0
	FirstToken   string `json:"firstToken,omitempty"`   // histogram: seconds to the first token
	OutputTokens string `json:"outputTokens,omitempty"` // counter
	Queue        string `json:"queue,omitempty"`        // gauge: requests that wait
}

// ModelSource is where models come from: a hub, object storage, a registry, a volume.
type ModelSource string

// The sources.
const (
	FromHub     ModelSource = "hub"     // Hugging Face or a mirror of it: "Qwen/Qwen2.5-7B-Instruct"
	FromStorage ModelSource = "storage" // a path below the team's volumes or the workload's own storage
	FromS3      ModelSource = "s3"      // "s3://bucket/path"
	FromOCI     ModelSource = "oci"     // an image that is mounted, pinned by digest
)

// ModelSources lists every source.
func ModelSources() []ModelSource { return []ModelSource{FromHub, FromStorage, FromS3, FromOCI} }

// Model names what an endpoint serves: name, revision, context length, quantization.
type Model struct {
	Source        ModelSource `json:"source"`
	Name          string      `json:"name"`                    // as the source calls it
	Revision      string      `json:"revision,omitempty"`      // of the hub: commit, tag or branch
	ContextLength int         `json:"contextLength,omitempty"` // tokens; 0 for the model's own
	Quantization  string      `json:"quantization,omitempty"`  // "" for weights as they are stored
}

// SourceOf guesses the source of a model from its name, where none is given.
func SourceOf(name string) ModelSource {
	switch {
	case strings.HasPrefix(name, "/"):
		return FromStorage
	case strings.HasPrefix(name, "s3://"):
		return FromS3
	case strings.Contains(name, "@sha256:"):
		return FromOCI
	}
	return FromHub
}

// ModelDir is where a model that is an image is mounted, and where KServe puts one that it fetches
// (DefaultModelLocalMountPath of its pkg/constants).
const ModelDir = "/mnt/models"

// Location is the name that the server loads it by, where nothing fetches it before.
func (m Model) Location() string {
	if m.Source == FromOCI {
		return ModelDir
	}
	return m.Name
}

// ServedName is what callers write into "model": the name on the hub, else the last part of the path.
func (m Model) ServedName() string {
	switch m.Source {
	case FromHub:
		return m.Name
	case FromOCI:
		return path.Base(Repository(m.Name))
	}
	return path.Base(m.Name)
}

// TensorParallel is over how many devices of the size a server can split one model: whole cards alone, since slices and
// shares do not talk to each other.
func (s Size) TensorParallel() int {
	if s.Accelerator.Share < 1 {
		return 1
	}
	return max(1, s.Devices())
}

// The words that templates may hold.
const (
	modelWord        = "{model}"
	servedNameWord   = "{servedName}"
	revisionWord     = "{revision}"
	contextWord      = "{contextLength}"
	quantizationWord = "{quantization}"
	parallelWord     = "{tensorParallel}"
	portWord         = "{port}"

	// of a group of pods
	nodesWord  = "{nodes}"
	rankWord   = "{nodeRank}"
	leaderWord = "{leaderAddress}"
)

// What a container of a LeaderWorkerSet finds in its environment: LeaderWorkerSet sets both before everything else
// (AddLWSVariables of kubernetes-sigs/lws, v0.10), and Kubernetes puts them into arguments.
const (
	leaderVariable = "$(LWS_LEADER_ADDRESS)"
	rankVariable   = "$(LWS_WORKER_INDEX)" // 0 for the first pod
)

// Placeholders lists the placeholders of a runtime's templates.
func Placeholders() []string {
	return []string{modelWord, servedNameWord, revisionWord, contextWord, quantizationWord, parallelWord, portWord,
		nodesWord, rankWord, leaderWord}
}

var placeholder = regexp.MustCompile(`\{[A-Za-z]+\}`)

// Serving is the image as it serves a model on as many pods of a size as nodes says, 0 for what is no group: templates
// filled in, and what the source needs added. An argument or variable is left out where it holds a placeholder for
// something that was not said; so is the flag before an argument that is nothing but such a placeholder ("--ctx-size",
// "{contextLength}").
func (i Image) Serving(m *Model, s Size, nodes int) Image {
	if i.Runtime == nil {
		return i
	}
	values := i.values(m, s, nodes)
	args, env := slices.Clone(i.Args), maps.Clone(i.Env)
	if m != nil {
		source, _ := i.Runtime.Source(m.Source)
		args = append(args, source.Args...)
		if env == nil {
			env = map[string]string{}
		}
		maps.Copy(env, source.Env)
	}
	i.Args, i.Env = fillArgs(args, values), map[string]string{}
	for name, text := range env {
		if value, whole := fill(text, values); whole {
			i.Env[name] = value
		}
	}
	return i
}

// Working is the image as all pods of a group but the first run it: they answer nobody, and get what a source needs in
// their environment alone.
func (i Image) Working(m *Model, s Size, nodes int) Image {
	worker := i.Serving(m, s, nodes)
	if !i.NeedsLeaderWorkerSet() {
		return worker
	}
	if r := i.Runtime; len(r.WorkerCommand) > 0 {
		worker.Command = r.WorkerCommand
	}
	worker.Args, worker.Port, worker.HealthPath = fillArgs(i.Runtime.WorkerArgs, i.values(m, s, nodes)), 0, ""
	return worker
}

// values are what stands in place of placeholders; those that are not said are not among them, or are empty.
func (i Image) values(m *Model, s Size, nodes int) map[string]string {
	values := map[string]string{parallelWord: strconv.Itoa(s.TensorParallel()), portWord: strconv.Itoa(int(i.Port))}
	if nodes > 0 && i.NeedsLeaderWorkerSet() {
		maps.Copy(values, map[string]string{nodesWord: strconv.Itoa(nodes), rankWord: rankVariable,
			leaderWord: leaderVariable})
	}
	if m == nil {
		return values
	}
	location := m.Location()
	if i.OnServingRuntime() {
		location = ModelDir
	}
	maps.Copy(values, map[string]string{modelWord: location, servedNameWord: m.ServedName(),
		revisionWord: m.Revision, quantizationWord: m.Quantization})
	if m.ContextLength > 0 {
		values[contextWord] = strconv.Itoa(m.ContextLength)
	}
	return values
}

func fillArgs(args []string, values map[string]string) []string {
	var filled []string
	for at, text := range args {
		value, whole := fill(text, values)
		if whole {
			filled = append(filled, value)
			continue
		}
		if at > 0 && placeholder.FindString(text) == text && lonelyFlag(args[at-1]) && len(filled) > 0 {
			filled = filled[:len(filled)-1]
		}
	}
	return filled
}

// lonelyFlag is a flag whose value is the next argument.
func lonelyFlag(arg string) bool { return strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") }

// fill puts values in place of placeholders; whole is false where there is none for one of them.
func fill(text string, values map[string]string) (filled string, whole bool) {
	whole = true
	filled = placeholder.ReplaceAllStringFunc(text, func(word string) string {
		if values[word] == "" {
			whole = false
		}
		return values[word]
	})
	return filled, whole
}

// Source finds a source by its kind.
func (r Runtime) Source(kind ModelSource) (Source, bool) {
	i := slices.IndexFunc(r.Sources, func(s Source) bool { return s.Kind == kind })
	if i < 0 {
		return Source{}, false
	}
	return r.Sources[i], true
}

// SecretsFor are the variables from Secrets that a server of the model gets.
func (i Image) SecretsFor(m *Model) []SecretVariable {
	if i.Runtime == nil {
		return nil
	}
	secrets := slices.Clone(i.Runtime.Secrets)
	if m != nil {
		source, _ := i.Runtime.Source(m.Source)
		secrets = append(secrets, source.Secrets...)
	}
	return secrets
}

// ModelProblem is an invalid field of a Model.
type ModelProblem struct {
	Field  string // "name"
	Reason i18n.Text
}

// What names and revisions look like. All begin with a letter, a digit or a slash, so that none is taken for a flag,
// and none has a space, a quote, a dollar or a brace: they stand in arguments, which Kubernetes expands.
var (
	hubName      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}$`)
	filePath     = regexp.MustCompile(`^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$`)
	s3Name       = regexp.MustCompile(`^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9_][A-Za-z0-9._=-]*)+$`)
	revisionText = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$`)
	word         = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`)
)

// MaxContext bounds the context length; no model of today has a longer one.
const MaxContext = 10_000_000

const maxModelName = 500 // bytes

// CheckModel says what is wrong with a model for this runtime; home is where the image has its own storage.
func (r Runtime) CheckModel(m Model, home string) []ModelProblem {
	var problems []ModelProblem
	wrong := func(field string, reason i18n.Text) { problems = append(problems, ModelProblem{field, reason}) }
	source, ok := r.Source(m.Source)
	if !ok {
		return []ModelProblem{{"source", i18n.T("model.source_unknown", "Sources", r.sourceNames())}}
	}
	switch {
	case !named(m, home):
		wrong("name", i18n.T("model.name_"+string(m.Source)))
	case !source.allows(m.Name):
		wrong("name", i18n.T("model.not_allowed", "From", strings.Join(source.From, ", ")))
	}
	switch {
	case m.Revision == "":
	case m.Source != FromHub:
		wrong("revision", i18n.T("model.revision_hub_only"))
	case !revisionText.MatchString(m.Revision) || strings.Contains(m.Revision, ".."),
		r.ServingRuntime != "" && strings.Contains(m.Revision, "/"): // hf://owner/model:revision has no place for it
		wrong("revision", i18n.T("model.revision"))
	}
	if m.ContextLength < 0 || m.ContextLength > MaxContext {
		wrong("contextLength", i18n.T("model.context", "Most", MaxContext))
	}
	switch {
	case m.Quantization == "" || slices.Contains(r.Quantizations, m.Quantization):
	case len(r.Quantizations) == 0:
		wrong("quantization", i18n.T("model.quantization_none"))
	default:
		wrong("quantization", i18n.T("model.quantization", "Choices", strings.Join(r.Quantizations, ", ")))
	}
	return problems
}

func (r Runtime) sourceNames() string {
	names := make([]string, len(r.Sources))
	for i, s := range r.Sources {
		names[i] = string(s.Kind)
	}
	return strings.Join(names, ", ")
}

// named reports whether a source can have a model of this name.
func named(m Model, home string) bool {
	if len(m.Name) > maxModelName || strings.Contains(m.Name, "..") {
		return false
	}
	switch m.Source {
	case FromHub:
		return hubName.MatchString(m.Name)
	case FromStorage:
		return filePath.MatchString(m.Name) &&
			(TeamVolumeOf(m.Name) != "" || home != "" && strings.HasPrefix(m.Name, home+"/"))
	case FromS3:
		return s3Name.MatchString(m.Name)
	case FromOCI:
		return Pinned(m.Name)
	}
	return false
}

// SharedDir is where volumes of the team are found, each in a directory of its name.
const SharedDir = "/shared"

// TeamVolumeOf is the team volume that a path leads into; "" for none.
func TeamVolumeOf(file string) string {
	rest, shared := strings.CutPrefix(file, SharedDir+"/")
	name, _, below := strings.Cut(rest, "/")
	if !shared || !below {
		return ""
	}
	return name
}

func (s Source) allows(name string) bool {
	if s.Kind == FromOCI {
		name = Repository(name)
	}
	return len(s.From) == 0 || slices.ContainsFunc(s.From, func(from string) bool {
		from = strings.TrimSuffix(from, "/")
		return name == from || strings.HasPrefix(name, from+"/")
	})
}

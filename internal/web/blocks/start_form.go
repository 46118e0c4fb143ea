package blocks

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Values is the form as an address keeps it. The length of time is asked anew, and the key belongs to one page.
func (f StartForm) Values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"tenant": f.Tenant, "kind": f.Kind, "size": f.Size, "image": f.Image,
		"storage": f.Storage, "volume": f.Volume, "reason": f.Reason, "name": f.Name} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if f.CustomRef != "" {
		v.Set(CustomRefField, f.CustomRef)
	}
	for name, value := range f.ofEndpoint() {
		if value != "" {
			v.Set(name, value)
		}
	}
	if len(f.Mounts) > 0 {
		v["mounts"] = f.Mounts
	}
	if uses := chosen(f.Volumes); len(uses) > 0 {
		v["volumes"] = uses
	}
	if len(f.Datasets) > 0 {
		v["datasets"] = f.Datasets
	}
	if len(f.Secrets) > 0 {
		v["secrets"] = f.Secrets
	}
	for name, value := range f.ofGit() {
		if value != "" {
			v.Set(name, value)
		}
	}
	f.Hours.keep(v, "schedule.")
	return v
}

// StartForm is what was typed on the start page, as it was typed.
type StartForm struct {
	Tenant string
	Kind   string
	Size   string
	Image  string // with CustomRef what that is started like
	// CustomRef is the reference of an image of one's own; "" for none
	CustomRef string
	Lease     string
	Storage   string
	Volume    string
	Mounts    []string
	Volumes   []string // personal, see VolumeUses
	Datasets  []string
	Secrets   []string // as secret.Secret.Reference calls them
	Git       GitForm
	Cluster   string // "" leaves it to the portal
	Reason    string
	Name      string
	// Replaces is the workload in whose place this one is wanted.
	Replaces string
	// of a job alone
	Command   string // one line as a shell reads it
	Env       string // NAME=value, one on each line
	Retries   string
	Nodes     string
	TimeLimit string
	// of an endpoint alone
	Model        string // name or path; "" for the usual one of the image
	Revision     string
	Context      string // tokens
	Quantization string
	Min, Max     string // replicas
	Scaling      autoscale.Typed
	Reach        string    // request.External asks for access from outside
	Hours        HoursForm // whose hours it follows
	// Like is the workload after whose pattern a job is asked for; the fields are filled from it.
	Like string
	Key  string // made with the page: a double click sends the same one twice and gets one request

	// What the page shows; it is no part of the spec.
	Last string // the size used last, which stands for its class
	All  bool   // the table of all sizes is open
	// Manifest is true once it was asked what would be created
	Manifest bool
}

// ReadStartForm takes the form as posted. A preset or an "instead" button speaks louder than the field it fills.
func ReadStartForm(v url.Values) StartForm {
	f := StartForm{
		Tenant: v.Get("tenant"), Kind: v.Get("kind"), Size: v.Get("size"), Image: v.Get("image"), Lease: v.Get("lease"),
		CustomRef: v.Get(CustomRefField),
		Storage:   v.Get("storage"),
		Volume:    v.Get("volume"), Mounts: v["mounts"], Volumes: v["volumes"], Datasets: v["datasets"],
		Secrets: v["secrets"],
		Git:     GitForm{URL: v.Get("git.url"), Ref: v.Get("git.ref"), Secret: v.Get("git.secret")},
		Reason:  v.Get("reason"), Name: v.Get("name"), Key: v.Get("key"),
		Replaces: v.Get("replaces"),
		Command:  v.Get("command"), Env: v.Get("env"), Retries: v.Get("retries"), Nodes: v.Get("nodes"),
		TimeLimit: v.Get("timeLimit"),
		Model:     v.Get("model.name"), Revision: v.Get("model.revision"), Context: v.Get("model.contextLength"),
		Quantization: v.Get("model.quantization"), Min: v.Get("replicas.min"), Max: v.Get("replicas.max"),
		Scaling: autoscale.Typed{Metric: v.Get("scaling.metric"), Target: v.Get("scaling.target"),
			ScaleDownAfter: v.Get("scaling.scaleDownAfter"), ToZeroAfter: v.Get("scaling.toZeroAfter")},
		Reach:   v.Get("reach"),
		Hours:   ReadHours(v, "schedule."),
		Like:    v.Get("like"),
		Cluster: v.Get("cluster"), Last: v.Get("last"), All: v.Get("all") != "" && v.Get("fewer") == "",
		Manifest: v.Get("manifest") != "",
	}
	if f.Lease == "" { // the field for another one is empty while a preset is chosen
		f.Lease = v.Get("presetChosen")
	}
	if preset := v.Get("preset"); preset != "" {
		f.Lease = preset
	}
	if instead := v.Get("instead"); instead != "" {
		f.Size = instead
	}
	if instead := v.Get("instead_image"); instead != "" {
		f.Image = instead
	}
	return f
}

// Draft is the same spec as the API's body gives.
func (f StartForm) Draft() request.Draft {
	image, custom := f.Image, (*request.CustomImage)(nil)
	if strings.TrimSpace(f.CustomRef) != "" {
		image, custom = "", &request.CustomImage{Reference: f.CustomRef, Like: f.Image}
	}
	return request.Draft{Kind: catalog.WorkloadKind(f.Kind), Tenant: f.Tenant, Name: f.Name, Size: f.Size, Image: image,
		CustomImage: custom,
		Lease:       f.Lease,
		Storage:     f.Storage, Volume: f.Volume, Mounts: f.Mounts, Volumes: volumeUses(f.Volumes),
		Datasets: f.Datasets, Secrets: f.Secrets, Git: f.git(),
		Reason: f.Reason, Key: f.Key,
		Cluster:  f.Cluster,
		Replaces: workload.ID(f.Replaces), JobDraft: f.job(), Nodes: f.nodes(), Model: f.model(), Replicas: f.replicas(),
		Scaling: f.scaling(), Reach: f.reach(), Schedule: f.Hours.Scheduled()}
}

// model is what the form says of a model; nil where it says nothing, and for other kinds.
func (f StartForm) model() *catalog.Model {
	m := catalog.Model{Name: strings.TrimSpace(f.Model), Revision: strings.TrimSpace(f.Revision),
		Quantization: f.Quantization, ContextLength: number(f.Context, 0)}
	if f.Kind != string(catalog.Endpoint) || m == (catalog.Model{}) {
		return nil
	}
	return &m
}

// replicas are nil for one that stays one, and for other kinds. Where one end is left out it is like the other.
func (f StartForm) replicas() *workload.Range {
	least := number(f.Min, 1)
	r := workload.Range{Min: least, Max: number(f.Max, least)}
	if f.Kind != string(catalog.Endpoint) || r == (workload.Range{Min: 1, Max: 1}) {
		return nil
	}
	return &r
}

// scaling is how an endpoint scales by itself; nil where the form says nothing, and for other kinds. Fields that mean
// nothing without another are left out: they may still hold what was typed before.
func (f StartForm) scaling() *autoscale.Typed {
	t := f.Scaling
	if r := f.replicas(); r == nil || !r.ToZero() {
		t.ToZeroAfter = ""
	}
	if t.Metric == "" {
		t.Target, t.ScaleDownAfter = "", ""
	}
	if f.Kind != string(catalog.Endpoint) || t.IsZero() {
		return nil
	}
	return &t
}

// reach is what the form of an endpoint says of it.
func (f StartForm) reach() string {
	if f.Kind != string(catalog.Endpoint) {
		return ""
	}
	return f.Reach
}

// number reads a field; what is no number becomes one that nothing can be.
func number(text string, otherwise int) int {
	if strings.TrimSpace(text) == "" {
		return otherwise
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return -1
	}
	return n
}

// LikeModel fills in what an endpoint serves, and with how many replicas or on how many nodes.
func (f StartForm) LikeModel(i catalog.Image, m *catalog.Model, r workload.Range, p autoscale.Policy) StartForm {
	if m != nil {
		f.Model, f.Revision, f.Quantization = m.Name, m.Revision, m.Quantization
		if m.ContextLength > 0 {
			f.Context = strconv.Itoa(m.ContextLength)
		}
	}
	if n := r.Nodes(i); n > 0 {
		f.Nodes = strconv.Itoa(n)
	}
	if r.Most() > r.Lowest() {
		f.Min, f.Max = strconv.Itoa(r.Lowest()), strconv.Itoa(r.Most())
	}
	f.Scaling = p.Typed()
	return f
}

// CustomRefField is the field for the reference of an image of one's own.
const CustomRefField = "customImage.reference"

// LikeImage fills in an image; one of somebody's own by its reference, and what it is started like.
func (f StartForm) LikeImage(i catalog.Image) StartForm {
	f.Image, f.CustomRef = i.Like(), ""
	if i.IsCustom() {
		f.CustomRef = i.Reference
	}
	return f
}

// ImageValues are the fields of an image as an address keeps them.
func ImageValues(i catalog.Image) url.Values {
	f := StartForm{}.LikeImage(i)
	v := url.Values{"image": {f.Image}}
	if f.CustomRef != "" {
		v.Set(CustomRefField, f.CustomRef)
	}
	return v
}

// git is the repository to clone; nil where the form names none.
func (f StartForm) git() *request.GitDraft {
	if f.Git == (GitForm{}) {
		return nil
	}
	return &request.GitDraft{URL: f.Git.URL, Ref: f.Git.Ref, Secret: f.Git.Secret}
}

// ofGit are the fields of the repository by their names in the form.
func (f StartForm) ofGit() map[string]string {
	return map[string]string{"git.url": f.Git.URL, "git.ref": f.Git.Ref, "git.secret": f.Git.Secret}
}

// ofEndpoint are the fields that only an endpoint has, by their names in the form.
func (f StartForm) ofEndpoint() map[string]string {
	return map[string]string{"model.name": f.Model, "model.revision": f.Revision, "model.contextLength": f.Context,
		"model.quantization": f.Quantization, "replicas.min": f.Min, "replicas.max": f.Max, "nodes": f.Nodes,
		"reach": f.Reach, "scaling.metric": f.Scaling.Metric, "scaling.target": f.Scaling.Target,
		"scaling.scaleDownAfter": f.Scaling.ScaleDownAfter, "scaling.toZeroAfter": f.Scaling.ToZeroAfter}
}

// job is what the form says of a job; nothing for other kinds, whose fields may still hold what was typed before.
func (f StartForm) job() request.JobDraft {
	if f.Kind != string(catalog.Job) {
		return request.JobDraft{}
	}
	retries, err := strconv.Atoi(strings.TrimSpace(f.Retries))
	if err != nil && strings.TrimSpace(f.Retries) != "" {
		retries = -1 // which no job may have
	}
	return request.JobDraft{CommandLine: f.Command, EnvLines: f.Env, Retries: retries,
		TimeLimit: f.TimeLimit}
}

// nodes are the pods of a job or of an endpoint that is spread over several; 0 for one, and for notebooks.
func (f StartForm) nodes() int {
	if f.Kind == string(catalog.Notebook) {
		return 0
	}
	return number(f.Nodes, 0)
}

// LikeJob fills the form of a job after the pattern of another workload. Its name is made up anew.
func (f StartForm) LikeJob(w workload.Workload) StartForm {
	f.Tenant, f.Kind, f.Size, f.Cluster = w.Tenant, string(catalog.Job), w.Size.Name, w.Cluster
	f = f.LikeImage(w.Image)
	f.Mounts, f.Volumes, f.Storage = MountNames(w.Mounts), VolumeUses(w.Mounts), "0"
	f.Datasets = DatasetNames(w.Mounts)
	if w.Job == nil {
		return f
	}
	f.Command, f.Env, f.Retries = request.CommandLine(*w.Job), request.EnvLines(*w.Job), strconv.Itoa(w.Job.Retries)
	if n := w.Replicas.Most(); n > 1 {
		f.Nodes = strconv.Itoa(n)
	}
	if w.Job.TimeLimit > 0 {
		f.TimeLimit = w.Job.TimeLimit.String()
	}
	if lease := catalog.Duration(w.Lease.Until.Sub(w.Lease.From).Round(time.Minute)); lease > 0 {
		f.Lease = lease.String()
	}
	return f
}

package api

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// List is the form of every list.
type List[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next" doc:"Send it back as cursor to get the next page; empty on the last one"`
}

func list[T any](items []T, next string) List[T] {
	if items == nil {
		items = []T{}
	}
	return List[T]{Items: items, Next: next}
}

// Money is an amount as decimal text, so that no program rounds it by accident.
type Money struct {
	Amount   string `json:"amount" example:"12.40"`
	Currency string `json:"currency" example:"EUR"`
}

func money(m usage.Money) Money { return Money{Amount: m.Amount(), Currency: m.Currency} }

// Size is one entry of the price list as the caller's team sees it now.
type Size struct {
	Name          string    `json:"name"`
	Title         string    `json:"title"`
	Technology    string    `json:"technology"`
	Isolation     string    `json:"isolation" enum:"hard,memory,none,unknown"`
	IsolationText string    `json:"isolationText"`
	Model         string    `json:"model,omitempty"`
	Profile       string    `json:"profile,omitempty"`
	Resource      string    `json:"resource,omitempty"`
	Devices       int       `json:"devices"`
	MemoryGiB     float64   `json:"memoryGiB" doc:"GPU memory of all devices together"`
	Share         float64   `json:"share" doc:"Share of one card, 0 to 1"`
	CPU           string    `json:"cpu"`
	Memory        string    `json:"memory" doc:"Main memory, as a Kubernetes quantity"`
	PricePerHour  Money     `json:"pricePerHour"`
	DefaultLease  string    `json:"defaultLease"`
	MaxLease      string    `json:"maxLease"`
	LicensePool   string    `json:"licensePool,omitempty"`
	Seats         *Seats    `json:"seats,omitempty"`
	Cluster       string    `json:"cluster,omitempty"`
	Capacity      Capacity  `json:"capacity"`
	Quota         *Quota    `json:"quota,omitempty"`
	Decision      *Decision `json:"decision,omitempty" doc:"What the rules would say to a request for the default lease"`
	StartsNow     bool      `json:"startsNow"`
	Problem       string    `json:"problem,omitempty" doc:"Why it cannot be asked for now"`

	Deprecated *Deprecation `json:"deprecated,omitempty" doc:"It will go"`
}

// Deprecation says that an entry of the catalog will go.
type Deprecation struct {
	Message   string `json:"message"`
	Successor string `json:"successor,omitempty" doc:"Name of the entry to take instead"`
}

func deprecationView(d *catalog.Deprecation) *Deprecation {
	if d == nil {
		return nil
	}
	return &Deprecation{Message: d.Message, Successor: d.Successor}
}

// Capacity is how many of a size exist and are free. Known is false while the cluster has not been seen.
type Capacity struct {
	Known bool `json:"known"`
	Total int  `json:"total"`
	Free  int  `json:"free"`
}

// Quota is what a team holds and may hold of a size.
type Quota struct {
	Used  int `json:"used"`
	Limit int `json:"limit"`
}

// Seats is a license pool and its use.
type Seats struct {
	Pool  string `json:"pool"`
	Title string `json:"title"`
	Total int    `json:"total"`
	Used  int    `json:"used"`
	Free  int    `json:"free"`
}

func seatsView(s license.Seats) Seats {
	return Seats{Pool: s.Pool.Name, Title: s.Pool.Title, Total: s.Pool.Seats, Used: s.Used, Free: s.Free()}
}

// Decision is a rule's or a person's answer.
type Decision struct {
	Outcome  string `json:"outcome,omitempty" enum:"allow,approve,refuse"`
	Rule     string `json:"rule"`
	Sentence string `json:"sentence"`
	Needs    string `json:"needs,omitempty" doc:"First role whose approval is needed"`
	Steps    []Step `json:"steps,omitempty" doc:"Whose approvals are needed, in order; absent where a rule decides alone"`
	By       string `json:"by,omitempty" doc:"Name of the person who decided"`
	Auto     bool   `json:"auto,omitempty" doc:"A rule approved it and no person did"`
	Note     string `json:"note,omitempty"`

	Deferred *Deferred `json:"deferred,omitempty" doc:"An answer that has not taken effect yet: its giver can undo it"`
	Returned string    `json:"returned,omitempty" doc:"Why an approval could not take effect, of a request that waits again"`
}

// Deferred is an answer of an approver that takes effect later.
type Deferred struct {
	Answer string    `json:"answer" enum:"approve,reject"`
	By     string    `json:"by"`
	For    string    `json:"for,omitempty" doc:"In whose place"`
	Until  time.Time `json:"until" doc:"When it takes effect; it can be undone before that"`
}

// Step is one round of an approval.
type Step struct {
	From     []Approvers `json:"from" doc:"Whose approval is wanted"`
	All      bool        `json:"all,omitempty" doc:"Each of them, by different people; else any one"`
	After    string      `json:"after,omitempty" example:"8h" doc:"After so long without a decision those in then may decide too"`
	Then     []Approvers `json:"then,omitempty"`
	State    string      `json:"state,omitempty" enum:"done,open,later"`
	Consents []Consent   `json:"consents,omitempty" doc:"Who has approved"`
}

// Approvers is everybody with a role, in the team or on the whole platform, or everybody in a group.
type Approvers struct {
	Role  string `json:"role,omitempty" enum:"approver,owner,admin"`
	Scope string `json:"scope,omitempty" enum:"platform" doc:"platform: approvers of the team do not count"`
	Group string `json:"group,omitempty" maxLength:"200" doc:"As the sign-in provider spells it"`
}

// Consent is one approval.
type Consent struct {
	By   string    `json:"by"`
	For  string    `json:"for,omitempty" doc:"In whose place"`
	Note string    `json:"note,omitempty"`
	At   time.Time `json:"at"`

	Asked *Asked `json:"asked,omitempty" doc:"What stood there before, where this approval granted less"`
}

// Asked is what an approval granted less of.
type Asked struct {
	Size  string `json:"size,omitempty"`
	Lease string `json:"lease,omitempty"`
}

func askedView(c *policy.Change) *Asked {
	if c == nil {
		return nil
	}
	v := &Asked{Size: c.Size}
	if c.Lease > 0 {
		v.Lease = c.Lease.String()
	}
	return v
}

func approversView(list []identity.Approvers) []Approvers {
	var views []Approvers
	for _, p := range list {
		views = append(views, Approvers{Role: string(p.Role), Scope: string(p.Scope), Group: p.Group})
	}
	return views
}

func stepsView(steps []policy.Step) []Step {
	var views []Step
	for _, s := range steps {
		v := Step{From: approversView(s.From), All: s.All, Then: approversView(s.Then)}
		if s.After > 0 {
			v.After = s.After.String()
		}
		views = append(views, v)
	}
	return views
}

func verdictView(v policy.Verdict, l *i18n.Localizer) *Decision {
	d := &Decision{Outcome: string(v.Outcome), Rule: v.Rule, Sentence: l.Say(v.Sentence), Steps: stepsView(v.Steps)}
	if len(v.Steps) > 0 {
		d.Needs = string(policy.FirstRole(v.Steps))
	}
	return d
}

func decisionView(r request.Request, l *i18n.Localizer) Decision {
	d := r.Decision
	v := Decision{Rule: d.Rule, Sentence: l.Say(d.Sentence), Steps: stepsView(r.Steps()),
		By: d.ByName, Note: d.Note, Auto: r.State == request.Approved && d.By == ""}
	if len(d.Steps) > 0 {
		v.Needs = string(policy.FirstRole(d.Steps))
	}
	if d.Deferred != nil {
		v.Deferred = &Deferred{Answer: string(d.Deferred.Verb), By: d.Deferred.ByName, For: d.Deferred.ForName,
			Until: d.Deferred.Until}
	}
	if d.Returned != nil {
		v.Returned = l.Say(d.Returned.Why)
	}
	open, _ := r.OpenStep()
	for i := range v.Steps {
		switch {
		case i < open:
			v.Steps[i].State = "done"
		case i > open:
			v.Steps[i].State = "later"
		default:
			v.Steps[i].State = "open"
		}
	}
	for _, c := range d.Consents {
		if c.Step < len(v.Steps) {
			s := &v.Steps[c.Step]
			s.Consents = append(s.Consents, Consent{By: c.ByName, For: c.ForName, Note: c.Note, At: c.At,
				Asked: askedView(c.Change)})
		}
	}
	return v
}

func sizeView(s catalog.Size, l *i18n.Localizer) Size {
	return Size{
		Name: s.Name, Title: s.Title, Technology: string(s.Technology), Isolation: string(s.Isolation),
		IsolationText: l.Say(catalog.IsolationText(s.Isolation)),
		Model:         s.Accelerator.Model, Profile: s.Accelerator.Profile, Resource: s.Accelerator.Resource,
		Devices:   s.Devices(),
		MemoryGiB: s.Accelerator.MemoryGiB, Share: s.Accelerator.Share, CPU: s.CPU, Memory: s.Memory,
		PricePerHour: money(s.PricePerHour),
		DefaultLease: s.DefaultLease.String(), MaxLease: s.MaxLease.String(), LicensePool: s.LicensePool,
		Deprecated: deprecationView(s.Deprecated),
	}
}

func offerView(o request.Offer, l *i18n.Localizer) Size {
	v := sizeView(o.Size, l)
	v.Cluster = o.Cluster
	v.Capacity = Capacity{Known: o.Fit.Known, Total: o.Fit.Total, Free: o.Fit.Free}
	v.Quota = &Quota{Used: o.Quota.Used, Limit: o.Quota.Limit}
	v.Decision, v.StartsNow, v.Problem = verdictView(o.Verdict, l), o.StartsNow(), l.Say(o.Problem)
	if o.Seats != nil {
		s := seatsView(*o.Seats)
		v.Seats = &s
	}
	return v
}

// Image is one entry of the image catalog.
type Image struct {
	Name      string `json:"name"`
	Title     string `json:"title"`
	Kind      string `json:"kind" enum:"notebook,endpoint,job"`
	Reference string `json:"reference"`
	Port      int32  `json:"port"`
	SSH       *SSH   `json:"ssh,omitempty" doc:"Absent where it has no SSH server"`
	Ports     Ports  `json:"ports,omitempty" doc:"Further TCP ports by name, which tunnels lead to"`

	Deprecated *Deprecation `json:"deprecated,omitempty" doc:"It will go"`
	Runtime    *Runtime     `json:"runtime,omitempty" doc:"Of an endpoint whose model is chosen with the start"`
}

func imageView(i catalog.Image) Image {
	return Image{Name: i.Name, Title: i.Title, Kind: string(i.Kind), Reference: i.Reference, Port: i.Port,
		SSH: sshView(i.SSH), Ports: i.Ports,
		Deprecated: deprecationView(i.Deprecated), Runtime: runtimeView(i.Runtime)}
}

// Tenant is a team as the caller may see it.
type Tenant struct {
	Name      string           `json:"name"`
	Title     string           `json:"title"`
	Namespace string           `json:"namespace"`
	Roles     []string         `json:"roles" doc:"The caller's roles in it"`
	Quota     map[string]Quota `json:"quota" doc:"By size; by size@cluster where one cluster has a limit"`
	Disabled  bool             `json:"disabled"`
}

func tenantView(t tenant.Tenant, a identity.Actor, quotas map[string]request.Quota) Tenant {
	v := Tenant{Name: t.Name, Title: t.Display(), Namespace: t.NamespaceName(), Roles: []string{},
		Quota: map[string]Quota{}, Disabled: t.Disabled}
	for _, r := range a.Tenants[t.Name] {
		v.Roles = append(v.Roles, string(r))
	}
	for size, q := range quotas {
		v.Quota[size] = Quota{Used: q.Used, Limit: q.Limit}
	}
	return v
}

// Request is an ask and its decision.
type Request struct {
	ID           string        `json:"id"`
	Kind         string        `json:"kind" enum:"start,extend,resume,more-quota,external-reach"`
	State        string        `json:"state" enum:"pending,approved,rejected,withdrawn,expired"`
	Decision     Decision      `json:"decision"`
	Tenant       string        `json:"tenant"`
	Asker        string        `json:"asker"`
	Name         string        `json:"name"`
	Size         string        `json:"size"`
	Amount       int           `json:"amount,omitempty" doc:"For more quota: how many of the size the team may hold then"`
	Image        string        `json:"image" doc:"custom_<image of the catalog> where it is customImage"`
	Custom       *CustomImage  `json:"customImage,omitempty" doc:"The asker's own image with its digest; absent for one of the catalog or the team"`
	Cluster      string        `json:"cluster"`
	Lease        string        `json:"lease"`
	Storage      string        `json:"storage,omitempty"`
	Reason       string        `json:"reason"`
	Estimate     Money         `json:"estimate" doc:"Price of the whole lease, with the replicas that it starts with"`
	Replicas     *ReplicaRange `json:"replicas,omitempty" doc:"Of an endpoint that may have more than one"`
	Scaling      *Scaling      `json:"scaling,omitempty" doc:"Of an endpoint that scales by itself"`
	EstimateMost *Money        `json:"estimateMost,omitempty" doc:"Price with as many replicas as may be set; absent where that is the estimate"`
	Forecast     *Forecast     `json:"forecast,omitempty" doc:"When it will be ready, while it waits for people or for a license seat"`
	Workload     string        `json:"workload,omitempty" doc:"Id of the workload, once approved"`
	Reach        string        `json:"reach,omitempty" enum:"external" doc:"Of a start: access from outside is asked for beside it, once it is approved. Of external-reach: what is asked"`
	ReachUntil   *time.Time    `json:"reachUntil,omitempty" doc:"Until when; absent for as long as the endpoint is there"`
	Job          *Job          `json:"job,omitempty" doc:"What a job would run"`
	Nodes        int           `json:"nodes,omitempty" doc:"Of an endpoint over several nodes: pods that serve one model together"`
	Model        *Model        `json:"model,omitempty" doc:"What an endpoint would serve; absent where its image says so"`
	Replaces     string        `json:"replaces,omitempty" doc:"Id of the workload in whose place it is wanted"`
	CreatedAt    time.Time     `json:"createdAt"`
	ExpiresAt    time.Time     `json:"expiresAt"`
	DecidedAt    *time.Time    `json:"decidedAt,omitempty"`
	SeatOf       string        `json:"waitsForSeatOf,omitempty" doc:"The license pool of which a seat is all that it waits for; it is decided, and holds nothing meanwhile"`
	SeatSince    *time.Time    `json:"waitsForSeatSince,omitempty"`
	Version      int64         `json:"version" doc:"Counts the changes; send it back as seen to answer this one and no other"`
}

func requestView(r request.Request, l *i18n.Localizer) Request {
	v := Request{
		ID: string(r.ID), Kind: string(r.Kind), State: string(r.State), Tenant: r.Spec.Tenant, Asker: r.AskerName,
		Name: r.Spec.Name, Amount: r.Spec.Amount,
		Size: r.Spec.Size.Name, Image: r.Spec.Image.Name, Cluster: r.Spec.Cluster, Lease: r.Spec.Lease.String(),
		Reason:   r.Spec.Reason,
		Estimate: money(r.Estimate), Workload: string(r.Workload), CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
		Decision: decisionView(r, l), Version: r.Version,
	}
	v.Replicas, v.Model, v.Custom = rangeView(r.Spec.Replicas), modelView(r.Spec.Model), customView(r.Spec.Image)
	v.Scaling, v.Nodes = scalingView(r.Spec.Scaling), r.Spec.Replicas.Nodes(r.Spec.Image)
	if most := r.AtMost(); most != r.Estimate {
		view := money(most)
		v.EstimateMost = &view
	}
	v.Replaces, v.Job = string(r.Spec.Replaces), jobView(workload.Workload{Job: r.Spec.Job,
		Replicas: workload.Replicas{Range: r.Spec.Replicas}})
	if r.Spec.StorageGiB > 0 {
		v.Storage = fmt.Sprintf("%dGi", r.Spec.StorageGiB)
	}
	if r.Spec.Outside {
		v.Reach, v.ReachUntil = request.External, moment(r.Spec.OutsideUntil)
	}
	if !r.DecidedAt.IsZero() {
		v.DecidedAt = &r.DecidedAt
	}
	if r.WaitsForSeat() {
		v.SeatOf, v.SeatSince = r.Decision.Seat.Pool, moment(r.Decision.Seat.Since)
	}
	return v
}

// Workload is what runs.
type Workload struct {
	ID         string       `json:"id"`
	Name       string       `json:"name"`
	Kind       string       `json:"kind" enum:"notebook,endpoint,job"`
	Tenant     string       `json:"tenant"`
	Owner      string       `json:"owner"`
	Size       string       `json:"size"`
	Image      string       `json:"image" doc:"custom_<image of the catalog> where it is customImage"`
	Custom     *CustomImage `json:"customImage,omitempty" doc:"The owner's own image with its digest; absent for one of the catalog or the team"`
	Cluster    string       `json:"cluster"`
	Namespace  string       `json:"namespace"`
	Desired    string       `json:"desired" enum:"running,stopped,deleted,finished" doc:"finished: a job that has ended by itself"`
	State      string       `json:"state" enum:"queued,starting,running,asleep,stopping,stopped,ended,failed,succeeded" doc:"succeeded, and failed with desired finished: the end of a job"`
	Reason     string       `json:"reason" doc:"In plain words, why it is in this state; empty while all is well"`
	Detail     string       `json:"detail,omitempty" doc:"The cluster's own words"`
	Forecast   *Forecast    `json:"forecast,omitempty" doc:"When it will be ready, while it is queued or starts"`
	Replicas   Replicas     `json:"replicas"`
	Scaling    *Scaling     `json:"scaling,omitempty" doc:"Only of an endpoint that scales by itself"`
	Revision   int          `json:"revision,omitempty" doc:"Of an endpoint: the version that serves, or that did last"`
	Rollout    *Rollout     `json:"rollout,omitempty" doc:"Of an endpoint: a version on its way to take over"`
	Node       string       `json:"node,omitempty" doc:"Of several replicas: of one that answers, if any does"`
	Pod        string       `json:"pod,omitempty" doc:"Of several replicas: one that answers, if any does"`
	URL        string       `json:"url" doc:"Where it is opened, through the gateway; empty for a job, and for an image without pages"`
	Route      *Route       `json:"route,omitempty" doc:"Of an endpoint: its way through a gateway of the site"`
	Reach      *Reach       `json:"reach,omitempty" doc:"Of an endpoint on a site where one can be reached from outside"`
	SSH        *SSH         `json:"ssh,omitempty" doc:"Of its image; absent where that has no SSH server"`
	Ports      Ports        `json:"ports,omitempty" doc:"Of its image: further TCP ports by name, which tunnels lead to"`
	Volume     string       `json:"volume,omitempty"`
	Mounts     []string     `json:"mounts,omitempty" doc:"Names of the team's volumes that it has at /shared/<name>"`
	Volumes    []VolumeUse  `json:"volumes,omitempty" doc:"Personal volumes that it has at /data/<name>"`
	Datasets   []string     `json:"datasets,omitempty" doc:"Names of the team's data sets that it has at /datasets/<name>, read-only"`
	Secrets    []string     `json:"secrets,omitempty" doc:"Those that it was asked for with, as a request names them; the owner's own only to the owner and to admins"`
	Git        *Git         `json:"git,omitempty" doc:"The repository that is cloned before it starts"`
	Shared     bool         `json:"shared"`
	Lease      Lease        `json:"lease"`
	Cost       Money        `json:"cost" doc:"So far"`
	Request    string       `json:"request"`
	WaitsIn    string       `json:"waitsForSeatIn,omitempty" doc:"The request by which it stands in the line for a license seat to be resumed; only where one workload is read"`
	Job        *Job         `json:"job,omitempty" doc:"Only of a job"`
	Nodes      int          `json:"nodes,omitempty" doc:"Of an endpoint over several nodes: pods that serve one model together, each counted as a replica"`
	Model      *Model       `json:"model,omitempty" doc:"What an endpoint serves; absent where its image says so"`
	ExitCode   *int32       `json:"exitCode,omitempty" doc:"Of a job that has ended; absent where its program did not end by itself"`
	Activity   *Activity    `json:"activity,omitempty"`
	Edits      []Edit       `json:"edits,omitempty" doc:"What others set on its objects in the cluster"`
	ObservedAt *time.Time   `json:"observedAt,omitempty" doc:"When the cluster last confirmed it"`
	CreatedAt  time.Time    `json:"createdAt"`
}

// Job is what a job runs, and how it ended. The values of its variables are not told again.
type Job struct {
	Command    []string   `json:"command,omitempty"`
	Args       []string   `json:"args,omitempty"`
	Variables  []string   `json:"variables,omitempty" doc:"Names of those that were set"`
	Retries    int        `json:"retries"`
	Nodes      int        `json:"nodes" doc:"Pods that begin and restart together"`
	TimeLimit  string     `json:"timeLimit,omitempty"`
	Attempts   int        `json:"attempts,omitempty" doc:"How often it ran until it ended"`
	FinishedAt *time.Time `json:"finishedAt,omitempty"`
}

func jobView(w workload.Workload) *Job {
	if w.Job == nil {
		return nil
	}
	v := &Job{Command: w.Job.Command, Args: w.Job.Args, Variables: slices.Sorted(maps.Keys(w.Job.Env)),
		Retries: w.Job.Retries, Nodes: w.Replicas.Most()}
	if w.Job.TimeLimit > 0 {
		v.TimeLimit = w.Job.TimeLimit.String()
	}
	if w.Result != nil {
		v.Attempts, v.FinishedAt = w.Result.Attempts, moment(w.Result.At)
	}
	return v
}

// Lease is from when until when.
type Lease struct {
	From   time.Time `json:"from"`
	Until  time.Time `json:"until"`
	Ending bool      `json:"ending" doc:"The end has been announced"`
}

// Edit is a field of an object that somebody other than the portal set.
type Edit struct {
	Object  string     `json:"object" doc:"Kind and name"`
	Path    string     `json:"path"`
	By      string     `json:"by,omitempty" doc:"Field manager; absent where the cluster does not tell"`
	Outcome string     `json:"outcome" enum:"removed,refused,shown" doc:"Taken back; the cluster does not let it be taken back; it may stay"`
	At      *time.Time `json:"at,omitempty"`
}

// Activity is what a notebook server says of itself.
type Activity struct {
	At           time.Time `json:"at"`
	LastActivity time.Time `json:"lastActivity"`
	Kernels      []Kernel  `json:"kernels"`
}

// Kernel is one running kernel.
type Kernel struct {
	Name         string    `json:"name"`
	State        string    `json:"state"`
	LastActivity time.Time `json:"lastActivity"`
}

// Reach is from where programs call an endpoint with its keys.
type Reach struct {
	From  string     `json:"from" enum:"internal,external" doc:"external: also from outside the company network"`
	URL   string     `json:"url,omitempty" doc:"Where it is called from outside"`
	Until *time.Time `json:"until,omitempty" doc:"When that ends by itself; absent: with the endpoint"`
}

func (a *API) reachView(w workload.Workload) *Reach {
	if w.Kind != catalog.Endpoint || a.deps.ExternalURL == nil || a.deps.ExternalURL(w.Name) == "" {
		return nil
	}
	if !w.ReachedFromOutside(a.deps.Now()) {
		return &Reach{From: request.Internal}
	}
	return &Reach{From: request.External, URL: a.deps.ExternalURL(w.Name), Until: moment(w.Reach.Until)}
}

// Route is the way to an endpoint through a gateway of the site.
type Route struct {
	Address  string `json:"address" doc:"Base address of OpenAI clients"`
	Accepted bool   `json:"accepted" doc:"The gateway carries the calls; without it they go to url"`
	Detail   string `json:"detail,omitempty" doc:"The gateway's own words where it does not"`
}

func routeView(w workload.Workload) *Route {
	r := w.Observed.Route
	if r == nil {
		return nil
	}
	return &Route{Address: r.Address + "/v1", Accepted: r.Accepted, Detail: r.Detail}
}

func (a *API) workloadView(w workload.Workload, cost usage.Money, l *i18n.Localizer) Workload {
	v := Workload{
		ID: string(w.ID), Name: w.Name, Kind: string(w.Kind), Tenant: w.Tenant, Owner: w.OwnerName, Size: w.Size.Name,
		Image: w.Answering().Image.Name, Custom: customView(w.Answering().Image),
		Cluster: w.Cluster, Namespace: w.Namespace, Desired: string(w.Desired), State: string(w.State),
		Reason: l.Say(w.Reason),
		Detail: w.Observed.Detail, Node: w.Observed.Node, Pod: w.Observed.Pod, URL: a.deps.AppURL(w.Name), Volume: w.Volume,
		Shared: w.Granted(a.deps.Now()),
		Lease:  Lease{From: w.Lease.From, Until: w.Lease.Until, Ending: w.Ending()}, Cost: money(cost), Request: w.Request,
		CreatedAt: w.CreatedAt, Job: jobView(w), Replicas: replicasView(w, l), Scaling: scalingView(w.Replicas.Scaling),
		Nodes:    w.Replicas.Nodes(w.Image),
		Revision: revisionNumber(w), Rollout: rolloutView(w, l),
		Model: modelView(w.Answering().Model), Git: gitView(w.Git), SSH: sshView(w.Image.SSH),
		Ports: w.Image.Ports, Route: routeView(w), Reach: a.reachView(w),
	}
	if w.Result != nil {
		v.ExitCode = w.Result.ExitCode
	}
	if !w.HasAddress() {
		v.URL = ""
	}
	for _, m := range w.Mounts {
		if m.Personal {
			v.Volumes = append(v.Volumes, VolumeUse{Name: m.Claim, ReadOnly: m.ReadOnly})
			continue
		}
		if m.Dataset != "" {
			v.Datasets = append(v.Datasets, m.Dataset)
			continue
		}
		v.Mounts = append(v.Mounts, m.Name)
	}
	for _, e := range w.Observed.Edits {
		edit := Edit{Object: e.Object, Path: e.Path, By: e.By, Outcome: string(e.Outcome)}
		if at := e.At; !at.IsZero() {
			edit.At = &at
		}
		v.Edits = append(v.Edits, edit)
	}
	if !w.Observed.At.IsZero() {
		v.ObservedAt = &w.Observed.At
	}
	if act := w.Observed.Activity; act != nil {
		v.Activity = &Activity{At: act.At, LastActivity: act.LastActivity, Kernels: []Kernel{}}
		for _, k := range act.Kernels {
			v.Activity.Kernels = append(v.Activity.Kernels, Kernel{Name: k.Name, State: k.State, LastActivity: k.LastActivity})
		}
	}
	return v
}

// Device is one GPU, slice or share and what it does. A reading that is absent is unknown, never zero.
type Device struct {
	UUID        string   `json:"uuid"`
	Model       string   `json:"model"`
	Profile     string   `json:"profile,omitempty"`
	Node        string   `json:"node"`
	CardShared  bool     `json:"cardShared" doc:"Power and temperature belong to the whole card, which others use too"`
	Engine      *Reading `json:"enginePercent,omitempty"`
	MemoryUsed  *Reading `json:"memoryUsedMiB,omitempty"`
	MemoryTotal *Reading `json:"memoryTotalMiB,omitempty"`
	Power       *Reading `json:"powerWatts,omitempty"`
	Temperature *Reading `json:"temperatureCelsius,omitempty"`
	OwnEngine   *Reading `json:"ownEnginePercent,omitempty" doc:"What this workload alone uses; source apportioned where one value stands for several"`
	OwnMemory   *Reading `json:"ownMemoryMiB,omitempty"`
	OwnPower    *Reading `json:"ownPowerWatts,omitempty"`
	Licensed    *Reading `json:"vgpuLicensed,omitempty" doc:"1 while a vGPU guest has its license"`
}

// Reading is one value with its time.
type Reading struct {
	Value  float64   `json:"value"`
	Source string    `json:"source" enum:"measured,apportioned" doc:"apportioned: worked out from one value that stands for several workloads or slices"`
	At     time.Time `json:"at"`
}

func deviceView(d gpumetrics.Device) Device {
	return Device{UUID: d.UUID, Model: d.Model, Profile: d.Profile, Node: d.Node, CardShared: d.CardShared,
		Engine:     reading(d.Engine),
		MemoryUsed: reading(d.MemoryUsed), MemoryTotal: reading(d.MemoryTotal), Power: reading(d.Power),
		Temperature: reading(d.Temperature),
		OwnEngine:   reading(d.OwnEngine), OwnMemory: reading(d.OwnMemory), OwnPower: reading(d.OwnPower),
		Licensed: reading(d.License)}
}

func reading(r gpumetrics.Reading) *Reading {
	if !r.Known() {
		return nil
	}
	return &Reading{Value: r.Value, Source: r.Source.String(), At: r.At}
}

// Cluster is the inventory of one cluster.
type Cluster struct {
	Name    string     `json:"name"`
	TakenAt *time.Time `json:"takenAt,omitempty" doc:"When the cluster last confirmed it; absent while it has not been seen"`
	Nodes   []Node     `json:"nodes"`
}

// Node is one node and its accelerators.
type Node struct {
	Name        string     `json:"name"`
	Ready       bool       `json:"ready"`
	Cordoned    bool       `json:"cordoned"`
	Quarantined bool       `json:"quarantined" doc:"By an administrator, or all of its cards are: nothing new starts on it"`
	Model       string     `json:"model,omitempty"`
	Resources   []Resource `json:"resources"`
	Warnings    []string   `json:"warnings"`
}

// Resource is one extended resource of a node; different resources are never added.
type Resource struct {
	Name        string   `json:"name"`
	Capacity    int64    `json:"capacity"`
	Allocatable int64    `json:"allocatable"`
	Free        int64    `json:"free"`
	LeftOver    bool     `json:"leftOver,omitempty" doc:"The node's labels no longer name it: left over from a former layout, no device stands behind it"`
	Holders     []Holder `json:"holders"`
}

// Holder is who holds some of it. What other teams run is counted, not named.
type Holder struct {
	Workload  string `json:"workload,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Count     int64  `json:"count"`
}

// clusterView names holders only in the namespaces given, or all when named is nil.
func clusterView(s inventory.Snapshot, named map[string]bool, l *i18n.Localizer) Cluster {
	v := Cluster{Name: s.Cluster, Nodes: []Node{}}
	if !s.TakenAt.IsZero() {
		v.TakenAt = &s.TakenAt
	}
	for _, n := range s.Nodes {
		node := Node{Name: n.Name, Ready: n.Ready, Cordoned: n.Cordoned, Quarantined: n.Quarantined, Model: n.Model,
			Resources: []Resource{},
			Warnings:  []string{}}
		for _, warning := range n.Warnings {
			node.Warnings = append(node.Warnings, l.Say(warning))
		}
		for _, r := range n.Resources {
			res := Resource{Name: r.Name, Capacity: r.Capacity, Allocatable: r.Allocatable, Free: r.Free(), LeftOver: r.LeftOver,
				Holders: []Holder{}}
			for _, h := range r.Holders {
				holder := Holder{Count: h.Count}
				if named == nil || named[h.Namespace] {
					holder.Workload, holder.Namespace, holder.Pod = h.Workload, h.Namespace, h.Pod
				}
				res.Holders = append(res.Holders, holder)
			}
			node.Resources = append(node.Resources, res)
		}
		v.Nodes = append(v.Nodes, node)
	}
	return v
}

package workload

import (
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// ID identifies a workload and is never used again.
type ID string

// Desired is the state that people, the lease or the idle rules want; Observation.State follows it.
type Desired string

// The desired states.
const (
	WantRunning Desired = "running"
	WantStopped Desired = "stopped"
	WantDeleted Desired = "deleted"
	// Finished is what the cluster makes of a job that has ended by itself: nothing is wanted of it any more.
	Finished Desired = "finished"
)

// State is what a person sees of a workload. Moves between states are listed in states.go.
type State string

// The states.
const (
	Queued    State = "queued"    // wanted, not on a node yet
	Starting  State = "starting"  // on a node: image, volume, first answer
	Running   State = "running"   // answers; a job: its program runs
	Stopping  State = "stopping"  // told to stop, pod still there
	Stopped   State = "stopped"   // no pod; storage kept; can be resumed, but for a job
	Failed    State = "failed"    // cannot run until someone changes something; a job also: has ended without success
	Asleep    State = "asleep"    // an endpoint that nobody has called for a while; the first request wakes it
	Succeeded State = "succeeded" // a job that has ended with success
	Ended     State = "ended"     // deleted; only history is left
)

// Lease is from when until when a workload may hold its GPU.
type Lease struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// Over reports whether the lease has ended.
func (l Lease) Over(now time.Time) bool { return !now.Before(l.Until) }

// Left is what remains, never below zero.
func (l Lease) Left(now time.Time) time.Duration { return max(0, l.Until.Sub(now)) }

// ModelsHost is the host below the apps domain where the models of a key answer under one address. No workload can have
// this name.
const ModelsHost = "models"

// Workload is one notebook, endpoint or job. Size and Image are frozen when it is approved: what was approved is what
// is applied.
type Workload struct {
	ID         ID
	Name       string // DNS label, unique over the portal: host name and name of the Kubernetes objects
	Kind       catalog.WorkloadKind
	Tenant     string
	Owner      identity.PersonID
	OwnerName  string
	Size       catalog.Size
	Image      catalog.Image
	Cluster    string
	Namespace  string
	Volume     string // name of the PVC; "" for none
	StorageGiB int
	Desired    Desired
	Generation int64 // raised by each new spec; objects carry it
	State      State
	Reason     i18n.Text // why it is in this state, in plain words; zero while all is well
	Lease      Lease
	PlacedAt   time.Time // when a node was first found; the lease is counted from then
	WarnedAt   time.Time // when the end of the lease was last announced
	Grants     []Grant   // who may open it or read its logs besides the owner; also those that have ended
	Request    string    // the request that made it
	Observed   Observation
	CreatedAt  time.Time
	UpdatedAt  time.Time
	Version    int64 // optimistic lock

	// of Size.LicensePool for each replica, as the product's rule counted when it was granted; 0 where the size takes none
	LicenseSeats int
	Replicas     Replicas
	Revisions    Revisions      // of an endpoint; Image, Model and Mounts are those of the one that it is to run
	Trace        string         // of the call that requested last, as trace.Parent gave it; "" without tracing
	Mounts       []Mount        // volumes of the team, and personal ones of its owner
	Job          *Job           // nil for what is no job
	Model        *catalog.Model // of an endpoint; nil where its image has one
	Result       *Result        // of a job that has ended; nil before
	Secrets      []SecretUse    // of its owner or team, see SecretUse
	Git          *Git           // cloned before it starts; nil for none
	AvoidNodes   []string       // nodes that lacked a license when it was last told to run; avoided where possible
	Schedule     Schedule       // when it is stopped and started by itself
	Reach        Reach          // of an endpoint
}

// Resource is the owner and tenant by which rights are decided, without what the owner granted to others.
func (w Workload) Resource() identity.Resource {
	return identity.Resource{Tenant: w.Tenant, Owner: w.Owner}
}

// ResourceAt is Resource with the grants that hold now: what decides who opens it and reads its logs.
func (w Workload) ResourceAt(now time.Time) identity.Resource {
	r := w.Resource()
	for _, g := range w.Grants {
		if g.Holds(now) && g.To != ToLink {
			r.Grants = append(r.Grants, identity.Grant{Everybody: g.To == ToTeam, Person: g.Person, Group: g.Group,
				Use: g.Permission == MayUse})
		}
	}
	return r
}

// Holds reports whether the workload counts against quota and license seats: from the decision until its pod is gone.
func (w Workload) Holds() bool { return w.Desired == WantRunning || w.State == Stopping }

// Seats are the license seats that the workload takes alone while all its replicas have a place; zero for none.
func (w Workload) Seats() usage.Seats { return w.seatsFor(w.lasting()) }

func (w Workload) seatsFor(replicas int) usage.Seats {
	if w.Size.LicensePool == "" {
		return usage.Seats{}
	}
	return usage.Seats{Pool: w.Size.LicensePool, Count: int64(replicas * max(1, w.LicenseSeats))}
}

// SeatsAmong are the license seats that it holds where it is, with whom it shares them by the rules of its pool.
// Replicas of one person's workload share what other workloads of that person do.
func (w Workload) SeatsAmong(pools []license.Pool) usage.Seats {
	seats := w.seatsFor(max(1, w.Metered()))
	at := slices.IndexFunc(pools, func(p license.Pool) bool { return p.Name == seats.Pool })
	if seats.Pool == "" || at < 0 {
		return seats
	}
	t := w.Size.Checkout(pools[at], string(w.Owner))
	t.Cluster, t.Node, t.Seats = w.Cluster, w.Observed.Node, max(1, w.LicenseSeats)
	group, most := pools[at].Shared(t)
	if group != "" {
		seats.Count = int64(t.Seats)
	}
	seats.Group, seats.Most = group, int64(most)
	return seats
}

// Unsettled reports whether the cluster is still on its way to the spec.
func (w Workload) Unsettled() bool {
	return w.Observed.Generation < w.Generation || w.State == Queued || w.State == Starting || w.State == Stopping
}

// Observation is what the cluster says about a workload at one moment.
type Observation struct {
	At         time.Time `json:"at"`         // when the cluster last confirmed it
	Generation int64     `json:"generation"` // the spec that the objects in the cluster carry
	PodPresent bool      `json:"podPresent"` // a pod object exists, perhaps terminating
	Pod        string    `json:"pod,omitempty"`
	PodIP      string    `json:"podIP,omitempty"`
	Node       string    `json:"node,omitempty"`
	Ready      bool      `json:"ready"`  // of an endpoint: at least one replica is
	Failed     bool      `json:"failed"` // cannot go on by itself: wrong image, refused by admission, crash loop
	Restarts   int32     `json:"restarts,omitempty"`
	// when the notebook's program ended by itself, with exit code 0; zero while it has not
	ProgramEnded time.Time `json:"programEnded,omitzero"`
	Reason       i18n.Text `json:"reason"`             // one plain sentence with one changeable cause
	Detail       string    `json:"detail,omitempty"`   // the cluster's raw words, for the details fold
	Steps        []Step    `json:"steps,omitempty"`    // how far the start has come
	Result       *Result   `json:"result,omitempty"`   // how the job ended; nil while it has not
	Activity     *Activity `json:"activity,omitempty"` // what the notebook server says of itself
	// of an endpoint: its pods, those that are being deleted last; Pod, PodIP and Node are those of the first
	Pods   []Replica `json:"pods,omitempty"`
	Scaled bool      `json:"scaled,omitempty"` // the cluster has taken up how many there shall be
	// Missing is why the cluster does not make another pod of an endpoint that has fewer than it shall have; zero where
	// it has not refused one.
	Missing i18n.Text `json:"missing,omitzero"`
	// what KEDA has made of an endpoint; nil where it does not scale it
	Autoscaler *Autoscaler `json:"autoscaler,omitempty"`
	// what leads a gateway of the site to an endpoint; nil for none
	Route *Route `json:"route,omitempty"`
	// what is seen of a revision that is on its way; nil for none
	Rollout *RolloutObservation `json:"rollout,omitempty"`
	// what others set on the objects of the workload, those that were taken back within EditsKept first
	Edits []ForeignEdit `json:"edits,omitempty"`
}

// Autoscaler is what KEDA says and does to an endpoint.
type Autoscaler struct {
	Replicas int    `json:"replicas"`         // that it has set, perhaps beyond what there is room for
	Detail   string `json:"detail,omitempty"` // its raw words where it cannot scale
}

// Route is what a gateway of the site says of the way to an endpoint.
type Route struct {
	Address  string `json:"address"`  // where programs call it, without /v1
	Accepted bool   `json:"accepted"` // it carries the endpoint's calls
	// AsksForKeys: it lets in whoever the portal's keys let in.
	AsksForKeys bool   `json:"asksForKeys,omitempty"`
	Detail      string `json:"detail,omitempty"` // the gateway's raw words where it does not
}

// EditsKept is for how long an edit that was taken back is shown.
const EditsKept = 24 * time.Hour

// ForeignEdit is a field of an object of a workload that somebody else set. It carries no value, which may be a secret.
type ForeignEdit struct {
	Object  string     `json:"object"` // kind and name
	Path    string     `json:"path"`
	By      string     `json:"by,omitempty"` // field manager of the edit; "" for unknown
	Outcome EditAction `json:"outcome"`
	At      time.Time  `json:"at,omitzero"` // when it was taken back or refused; of one that is shown, when it was made
}

// EditAction is the reaction to a foreign edit: taken back, not possible to take back, or left.
type EditAction string

// The actions.
const (
	EditRemoved EditAction = "removed"
	EditRefused EditAction = "refused" // the cluster does not let it be taken back
	EditShown   EditAction = "shown"   // it may stay
)

// News reports whether an edit is more than shown.
func (e ForeignEdit) News() bool { return e.Outcome != EditShown }

// StepName names a step of a start, from the decision until it is ready.
type StepName string

// The steps of a start, in order.
const (
	StepDecided StepName = "decided"
	StepCreated StepName = "created"
	StepPlaced  StepName = "placed" // a node was found
	StepImage   StepName = "image"  // the image is there
	StepReady   StepName = "ready"
)

// Step is one step of a start; At is zero while it has not been reached.
type Step struct {
	Name StepName  `json:"name"`
	At   time.Time `json:"at"`
}

// Decided is when the workload was told to run, as the steps of its start have it; zero when they do not.
func (o Observation) Decided() time.Time {
	for _, s := range o.Steps {
		if s.Name == StepDecided {
			return s.At
		}
	}
	return time.Time{}
}

// Activity is the activity that a Jupyter server reports.
type Activity struct {
	At           time.Time `json:"at"`
	LastActivity time.Time `json:"lastActivity"`
	Kernels      []Kernel  `json:"kernels"`
	Connections  int       `json:"connections"`
}

// activityFresh is how old the word of a notebook server may be: it is asked every few seconds, and written down at
// least once a minute.
const activityFresh = 5 * time.Minute

// Fresh reports whether it is of now. A nil Activity is not: the server says nothing of itself.
func (a *Activity) Fresh(now time.Time) bool { return a != nil && now.Sub(a.At).Abs() <= activityFresh }

// Kernel is one running Jupyter kernel.
type Kernel struct {
	Name         string    `json:"name"`
	State        string    `json:"state"` // starting, idle, busy
	LastActivity time.Time `json:"lastActivity"`
	Connections  int       `json:"connections"`
}

// Holding is how many workloads of a tenant hold a size on a cluster, and with it seats of the pool. Where only seats
// count, Tenant, Size and Cluster are empty.
type Holding struct {
	Tenant      string
	Size        string
	Cluster     string
	LicensePool string
	Count       int
	Seats       int // of LicensePool, all of them together
}

// Volume is storage that outlives workloads.
type Volume struct {
	Name        string // name of the PVC, unique over the portal
	Tenant      string
	Owner       identity.PersonID
	OwnerName   string
	Cluster     string
	Namespace   string
	GiB         int
	Workload    ID // who has it as its home; "" for unused storage and what is mounted by name
	Deleted     bool
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Version     int64
	Share       TeamShare // of a team's volume
	DeleteAfter time.Time // when a team's volume goes that its owners have deleted; zero for one that stays
	Refused     Refusal   // of a volume that was to grow
	Personal    Personal  // of a personal volume

	// from when the time counts for which unused storage is kept; zero while it is used or kept forever
	UnusedFrom time.Time
	WarnedAt   time.Time     // when its end was last announced
	WarnedFor  time.Duration // how long after that it was said to be
}

// Resource is the owner and tenant by which rights are decided.
func (v Volume) Resource() identity.Resource {
	return identity.Resource{Tenant: v.Tenant, Owner: v.Owner}
}

// Cost is what a workload has cost: its meter up to now, with the license seats that it held, alone or with others, as
// statements have it. Storage is its owner's, not the workload's.
func Cost(intervals []usage.Interval, sharers usage.Sharers, prices usage.PriceList, now time.Time) usage.Money {
	total := usage.Cost(intervals, now)
	for _, seats := range prices.SeatsOf(intervals, sharers, usage.Span{Until: now}, total.Currency) {
		total = total.Add(seats.Cost())
	}
	return total
}

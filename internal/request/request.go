package request

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/schedule"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// ID identifies a request.
type ID string

// Kind is the type of a request.
type Kind string

// The kinds of request.
const (
	StartKind  Kind = "start"
	ExtendKind Kind = "extend"
)

// free reports whether requests of a kind take nothing of a budget, and cost nothing.
func (k Kind) free() bool { return k == QuotaKind || k == ReachKind }

// State is pending, approved, rejected, withdrawn or expired.
type State string

// The states. Pending can become any of the others, and those never change.
const (
	Pending   State = "pending"
	Approved  State = "approved"
	Rejected  State = "rejected"
	Withdrawn State = "withdrawn"
	Expired   State = "expired"
)

// Draft is a request as typed or posted, unchecked. Web and API both produce it.
type Draft struct {
	Kind    catalog.WorkloadKind
	Tenant  string
	Name    string // optional; slugged
	Size    string
	Image   string
	Cluster string // optional
	Lease   string // "8h"
	Storage string // "10Gi"; "" or "0" for none
	Volume  string // optional: kept storage to use instead of new
	Reason  string
	// idempotency key; the same key of the same person gives the same request, and with another spec a Conflict
	Key string
	// Replaces is a workload in whose place this one is wanted, in another size for example. It goes on until somebody
	// stops it.
	Replaces workload.ID `json:",omitempty"`
	Mounts   []string    `json:",omitempty"` // names of the team's volumes
	Volumes  []VolumeUse `json:",omitempty"` // personal volumes of the asker
	Datasets []string    `json:",omitempty"` // names of data sets that the team offers
	// Nodes are pods that begin together, of a job on JobSet or an endpoint on LeaderWorkerSet; 0 for one
	Nodes int `json:",omitempty"`
	// Replicas of an endpoint; nil for one
	Replicas *workload.Range `json:",omitempty"`
	// Scaling of an endpoint; nil for a number that its owner sets
	Scaling *autoscale.Typed `json:",omitempty"`
	// Model of an endpoint; nil for the image's usual one. Without a source, its name says which.
	Model *catalog.Model `json:",omitempty"`
	// Schedule is whose hours it follows; nil for its team's
	Schedule *Scheduled `json:",omitempty"`
	JobDraft
	// Secrets are names of one's own, or of the team's: those with secret.TeamPrefix, or where none of one's own has the
	// name
	Secrets []string  `json:",omitempty"`
	Git     *GitDraft `json:",omitempty"` // nil for none
	// Reach of an endpoint: "external" asks beside the start that it is reached from outside the company network; ""
	// and "internal" do not
	Reach string `json:",omitempty"`
	// CustomImage is asked for in place of Image, which is empty then; nil for none
	CustomImage *CustomImage `json:",omitempty"`
}

// CustomImage is an image that neither the catalog nor the team has.
type CustomImage struct {
	Reference string `json:"reference"` // with registry; by its tag or pinned by digest
	Like      string `json:"like"`      // the catalog's image that it is started like
}

// CustomOf is how a request names an image: by its name, or where a member has named its reference, by that. One of the
// two is zero.
func CustomOf(i catalog.Image) (name string, custom *CustomImage) {
	if i.IsCustom() {
		return "", &CustomImage{Reference: i.Reference, Like: i.Like()}
	}
	return i.Name, nil
}

// VolumeUse is a personal volume that a workload shall have.
type VolumeUse struct {
	Name     string `json:"name"` // of the volume, or as its owner calls it in the tenant
	ReadOnly bool   `json:"readOnly,omitempty"`
}

// Scheduled is the schedule that a workload follows: its own, its team's, or none.
type Scheduled struct {
	Mode  workload.ScheduleMode `json:"mode"`
	Hours *schedule.Hours       `json:"hours,omitempty"` // of workload.OwnHours
}

// Spec is a checked Draft with size and image as the catalog had them: what would be granted.
type Spec struct {
	Kind       catalog.WorkloadKind `json:"kind"`
	Tenant     string               `json:"tenant"`
	Name       string               `json:"name"`
	Size       catalog.Size         `json:"size"`
	Image      catalog.Image        `json:"image"`
	Cluster    string               `json:"cluster"`
	Lease      catalog.Duration     `json:"lease"`
	StorageGiB int                  `json:"storageGiB"`
	Volume     string               `json:"volume,omitempty"` // kept storage to use
	Mounts     []workload.Mount     `json:"mounts,omitempty"` // the team's volumes, personal ones and data sets
	Reason     string               `json:"reason"`
	Workload   workload.ID          `json:"workload,omitempty"` // for an extension: which one
	// for an extension: the whole lease before it, when it was asked for
	LeaseBefore catalog.Duration `json:"leaseBefore,omitempty"`
	// for more quota: how many of the size the tenant may hold then
	Amount   int         `json:"amount,omitempty"`
	Replaces workload.ID `json:"replaces,omitempty"` // for a start: in whose place
	// of an endpoint; zero for one. It starts with the least, its owner may set up to the most
	Replicas workload.Range   `json:"replicas,omitzero"`
	Scaling  autoscale.Policy `json:"scaling,omitzero"` // of an endpoint
	// for a job alone
	Job *workload.Job `json:"job,omitempty"`
	// of an endpoint; nil where its image has one
	Model *catalog.Model `json:"model,omitempty"`
	// nil for the team's hours
	Schedule *Scheduled `json:"schedule,omitempty"`
	// without values
	Secrets []workload.SecretUse `json:"secrets,omitempty"`
	Git     *workload.Git        `json:"git,omitempty"`
	// of an endpoint that shall be reached from outside the company network: a start asks for that beside
	Outside bool `json:"outside,omitempty"`
	// of access from outside: until when; zero for as long as the endpoint is there
	OutsideUntil time.Time `json:"outsideUntil,omitzero"`
}

// Request is one start, extension, resume, edit, raise of quota or access from outside, from its submission to its end
// state.
type Request struct {
	ID        ID
	Kind      Kind
	Asker     identity.PersonID
	AskerName string
	Spec      Spec
	State     State
	Decision  Decision
	Estimate  usage.Money // price of the whole lease, with the replicas that it starts with
	// EstimateMost is that with as many replicas as may be set; zero where that is the same
	EstimateMost usage.Money
	Workload     workload.ID // what came of it, or what is to be extended
	Key          string
	// Fingerprint is what was sent with the key, see fingerprint; "" without a key.
	Fingerprint string
	CreatedAt   time.Time
	ExpiresAt   time.Time // an undecided request expires then
	DecidedAt   time.Time
	Version     int64
}

// Decision is the answer of a rule or of people. For a pending request it names the rule, the steps of approvers that
// it asks for, and who has approved.
type Decision struct {
	Rule       string            `json:"rule"`            // name of the rule
	Sentence   i18n.Text         `json:"sentence"`        // what it means for the asker
	Steps      []policy.Step     `json:"steps,omitempty"` // whose approvals are needed; none where a rule decided
	Consents   []policy.Consent  `json:"consents,omitempty"`
	Since      time.Time         `json:"since,omitzero"` // when the open step began
	Reassigned []Reassignment    `json:"reassigned,omitempty"`
	Seat       *SeatWait         `json:"seat,omitempty"`     // everything is decided, and a seat is missing
	Deferred   *Deferred         `json:"deferred,omitempty"` // an answer that has not taken effect yet
	Returned   *Returned         `json:"returned,omitempty"` // the last approval that could not take effect
	Extended   *Extended         `json:"extended,omitempty"` // what a granted extension changed
	Facts      *policy.Facts     `json:"facts,omitempty"`    // what the rules saw
	By         identity.PersonID `json:"by,omitempty"`       // the person who decided; "" when a rule did
	ByName     string            `json:"byName,omitempty"`
	Note       string            `json:"note,omitempty"`
}

// TTL is how long a request waits for a decision.
const TTL = 7 * 24 * time.Hour

// States lists every state.
func States() []State { return []State{Pending, Approved, Rejected, Withdrawn, Expired} }

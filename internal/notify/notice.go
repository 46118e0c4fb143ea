package notify

import (
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Kind is what a notice is about; people choose channels by it.
type Kind string

// The kinds of notice.
const (
	Waiting   Kind = "waiting" // a request waits for one's word
	Decided   Kind = "decided" // one's own request was decided
	Ready     Kind = "ready"   // a workload can be opened, or a job has succeeded
	Failed    Kind = "failed"  // a workload cannot start, or ended by itself
	Lease     Kind = "lease"   // ends soon
	Idle      Kind = "idle"    // a GPU is left idle, or was stopped for that
	Stopped   Kind = "stopped"
	Budget    Kind = "budget"
	Statement Kind = "statement" // what a team's last month came to
	License   Kind = "license"
	Broken    Kind = "broken"  // an administrator called the node or card under one's workload bad
	Drift     Kind = "drift"   // somebody else changed objects in the cluster, or made one that pretends to be ours
	Storage   Kind = "storage" // will be reclaimed, or was
	Token     Kind = "token"   // an API token expires soon
	Test      Kind = "test"
)

// Kinds lists what people can choose about.
func Kinds() []Kind {
	return []Kind{Waiting, Decided, Ready, Failed, Lease, Idle, Stopped, Budget, Statement, License, Broken, Drift,
		Storage, Token}
}

// KindsFor lists those that can reach somebody: what waits for them only who decides requests, what a team spends only
// those who own one.
func KindsFor(a identity.Actor, decides bool) []Kind {
	owns := slices.ContainsFunc(a.TenantNames(), func(t string) bool { return a.In(t, identity.Owner) })
	return slices.DeleteFunc(Kinds(), func(k Kind) bool {
		return k == Waiting && !decides || (k == Budget || k == Statement) && !owns
	})
}

// Channel is a transport: mail, webhook or chat.
type Channel string

// The channels.
const (
	Mail    Channel = "mail"
	Chat    Channel = "chat"
	Webhook Channel = "webhook"
)

// Channels lists every channel in the order of forms.
func Channels() []Channel { return []Channel{Mail, Chat, Webhook} }

// Preferences are what a person chose. The zero value is what counts for somebody who never chose.
type Preferences struct {
	Language string `json:"language,omitempty"`
	// nil for who never chose; an empty one is a choice and has to be kept as it is
	Channels map[Kind][]Channel `json:"channels"`
}

// usual is what somebody hears of by mail who never chose: what waits for them or takes something away, and not what
// they see anyway.
var usual = []Kind{Waiting, Decided, Failed, Lease, Idle, Budget, Statement, License, Broken, Drift, Storage, Token}

// By are the channels of a kind of notice.
func (p Preferences) By(k Kind) []Channel {
	if p.Channels != nil {
		return p.Channels[k]
	}
	if slices.Contains(usual, k) {
		return []Channel{Mail}
	}
	return nil
}

// Address is where chat messages or webhooks go: of a person, or of a team for the kinds of notice it wants. What must
// stay secret is sealed.
type Address struct {
	ID        string
	Channel   Channel
	Person    identity.PersonID // who entered it
	Tenant    string            // whose it is; "" for the person's own
	Host      string            // what people see of it
	Sealed    string            // target, with the portal's key
	Kinds     []Kind            // of a team's; a person chooses in Preferences
	CreatedAt time.Time
}

// State is the progress of a delivery: due, sending, sent or given up.
type State string

// The states of a delivery.
const (
	Due     State = "due"
	Sending State = "sending"
	Sent    State = "sent"
	GaveUp  State = "failed"
)

// Delivery is one message on its way to one recipient.
type Delivery struct {
	ID        string
	Event     int64 // number of the audit event; 0 for a test
	Kind      Kind
	Recipient string            // id of the person, or of a team's address: with event and channel it is unique
	Person    identity.PersonID // "" for a team's address
	Name      string            // of the recipient, for people
	Address   string            // id of the address; "" for mail
	Channel   Channel
	Notice    Notice
	State     State
	Attempts  int
	NextAt    time.Time // when it may be tried; while it is being sent: when somebody else may try it
	Problem   i18n.Text // why the last attempt failed; zero where none did
	Error     string    // what the other side or the system said then, without secrets; "" where nobody said anything
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Notice is a message in its reader's words.
type Notice struct {
	Kind     Kind   `json:"kind"`
	Language string `json:"language"`
	Title    string `json:"title"`
	Body     string `json:"body"`
	Link     string `json:"link"`
	Open     string `json:"open"`   // words of the link
	Footer   string `json:"footer"` // why one gets this, and where to change it
	Tenant   string `json:"tenant,omitempty"`
	Request  string `json:"request,omitempty"`
	Workload string `json:"workload,omitempty"`
}

// Message is a notice rendered for one channel.
type Message struct {
	Notice
	ID     string // the same in each attempt
	At     time.Time
	To     string // e-mail address
	ToName string
	Target Target
}

// Target is where a chat message or webhook goes.
type Target struct {
	URL     string   `json:"url"`
	Secrets []string `json:"secrets,omitempty"` // whsec_…, the newest first; a webhook is signed with each
}

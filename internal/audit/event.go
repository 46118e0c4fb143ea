package audit

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Kind names what happened, "<noun>.<past verb>". Each has a sentence "audit.<kind>" in the messages.
type Kind string

// The kinds of event.
const (
	RequestSubmitted  Kind = "request.submitted"
	RequestEdited     Kind = "request.edited"
	RequestConsented  Kind = "request.consented"  // one of several approvals
	RequestQueued     Kind = "request.queued"     // decided, and it waits for a license seat
	RequestEscalated  Kind = "request.escalated"  // others may speak in its open step as well
	RequestReassigned Kind = "request.reassigned" // from one approver to another
	RequestTakenBack  Kind = "request.taken_back"
	RequestDeferred   Kind = "request.deferred" // answered; the answer takes effect when it cannot be undone any more
	RequestUndone     Kind = "request.undone"   // a deferred answer, by who gave it
	RequestReturned   Kind = "request.returned" // a deferred approval could not take effect
	RequestApproved   Kind = "request.approved"
	// RequestAutoApproved is by a rule, on behalf of the asker: nobody had to decide.
	RequestAutoApproved  Kind = "request.auto_approved"
	RequestRejected      Kind = "request.rejected"
	RequestWithdrawn     Kind = "request.withdrawn"
	RequestExpired       Kind = "request.expired"
	RequestRefused       Kind = "request.refused"
	QuotaRaised          Kind = "quota.raised"
	ImpersonationBegun   Kind = "impersonation.begun" // an administrator sees the portal as somebody else
	ImpersonationEnded   Kind = "impersonation.ended"
	ImpersonationRefused Kind = "impersonation.refused" // they tried to change something
	AccessRefused        Kind = "access.refused"        // a call was answered 401, 403 or 404
	WorkloadCreated      Kind = "workload.created"
	WorkloadStopped      Kind = "workload.stopped"
	WorkloadStarted      Kind = "workload.started"
	WorkloadExtended     Kind = "workload.extended"
	WorkloadShared       Kind = "workload.shared"
	WorkloadScaled       Kind = "workload.scaled"
	WorkloadScalingSet   Kind = "workload.scaling_set"   // its owner changed how it scales
	WorkloadScalingShort Kind = "workload.scaling_short" // it needs more replicas than there is room for
	WorkloadSlept        Kind = "workload.slept"         // nobody has called it
	WorkloadWoken        Kind = "workload.woken"         // somebody called it
	RevisionStarted      Kind = "revision.started"       // of an endpoint; somebody asked for another one
	RevisionServing      Kind = "revision.serving"       // it is ready and has taken over
	RevisionFailed       Kind = "revision.failed"        // it did not get ready; the previous one goes on
	RevisionAborted      Kind = "revision.aborted"       // before it was ready
	RevisionSplit        Kind = "revision.split"         // another part of the calls goes to a canary
	RevisionPromoted     Kind = "revision.promoted"      // a canary is to take over
	// WorkloadIdle is a warning that a GPU is left idle; the detail has what was measured, as that of WorkloadIdleStopped.
	WorkloadIdle        Kind = "workload.idle"
	WorkloadIdleStopped Kind = "workload.idle_stopped"
	WorkloadExited      Kind = "workload.exited"     // its program ended by itself, and it was stopped
	WorkloadKeptAlive   Kind = "workload.kept-alive" // somebody says that they still need it
	IdleSaved           Kind = "idle.saved"          // the settings of what counts as idle
	ScheduleSet         Kind = "schedule.set"        // when it is stopped and started by itself
	ScheduleSkipped     Kind = "schedule.skipped"    // its next stop by the clock is left out, or that was taken back
	ScheduleStopped     Kind = "schedule.stopped"    // the clock stopped it
	ScheduleStarted     Kind = "schedule.started"
	ScheduleWarned      Kind = "schedule.warned"      // a stop by the clock was announced
	ScheduleMissed      Kind = "schedule.not_started" // a start by the clock could not be
	TerminalOpened      Kind = "terminal.opened"
	TerminalClosed      Kind = "terminal.closed" // the detail has how long it was open and why it ended
	FileDownloaded      Kind = "file.downloaded" // out of a container; the detail has its path and bytes
	FileUploaded        Kind = "file.uploaded"
	TunnelOpened        Kind = "tunnel.opened"
	TunnelClosed        Kind = "tunnel.closed" // the detail has how long, how many bytes and why it ended
	WorkloadDeleted     Kind = "workload.deleted"
	WorkloadObserved    Kind = "workload.observed"
	ObjectRepaired      Kind = "object.repaired"  // the portal took back what somebody set on an object of it
	ObjectContested     Kind = "object.contested" // it comes back again and again
	ObjectAltered       Kind = "object.altered"   // it cannot be taken back
	ObjectSpoofed       Kind = "object.spoofed"   // an object carries the portal's labels and is not the portal's
	LeaseWarned         Kind = "lease.warned"
	LeaseEnded          Kind = "lease.ended"
	VolumeShared        Kind = "volume.shared" // made for a whole team
	VolumeAdded         Kind = "volume.added"  // made by a person for themselves
	VolumeExpanded      Kind = "volume.expanded"
	VolumeNotExpanded   Kind = "volume.not_expanded" // its cluster would not have it
	VolumeEnding        Kind = "volume.ending"       // a team's volume was deleted, and can be taken back for a time
	VolumeRestored      Kind = "volume.restored"
	VolumeDeleted       Kind = "volume.deleted"
	VolumeWarned        Kind = "volume.warned" // unused storage will be reclaimed
	VolumeKept          Kind = "volume.kept"   // somebody keeps it for longer
	VolumeReclaimed     Kind = "volume.reclaimed"
	SnapshotTaken       Kind = "snapshot.taken" // of a volume; the detail has its name
	SnapshotDeleted     Kind = "snapshot.deleted"
	SnapshotAdopted     Kind = "snapshot.adopted" // the cluster has one that the database did not know
	DatasetOffered      Kind = "dataset.offered"  // to a team; the detail has its name, the volume is its claim
	DatasetChanged      Kind = "dataset.changed"
	DatasetWithdrawn    Kind = "dataset.withdrawn"
	SignedIn            Kind = "session.started"
	SignInRefused       Kind = "session.refused"
	SignedOut           Kind = "session.ended"
	SessionClosed       Kind = "session.closed" // by the portal, because the provider does not vouch for it any more
	StandingEnded       Kind = "standing.ended" // the provider does not stand for somebody any more; tokens are refused
	SessionsEnded       Kind = "sessions.ended" // by their person or an administrator
	PersonDisabled      Kind = "person.disabled"
	PersonEnabled       Kind = "person.enabled"
	HoldingsTransferred Kind = "person.holdings_transferred" // what somebody held was given to somebody else
	TokenCreated        Kind = "token.created"
	TokenRevoked        Kind = "token.revoked"
	TokenExpiring       Kind = "token.expiring" // announced to its owner
	EmbedCreated        Kind = "embed.created"  // an address for a panel in another site's page
	EmbedRevoked        Kind = "embed.revoked"
	SecretCreated       Kind = "secret.created" // of a person or a team; the detail has its name and kind
	SecretReplaced      Kind = "secret.replaced"
	SecretDeleted       Kind = "secret.deleted"
	KeyCreated          Kind = "key.created" // of an endpoint
	KeyRotated          Kind = "key.rotated"
	KeyRevoked          Kind = "key.revoked"
	ReachOpened         Kind = "reach.opened" // an endpoint is reached from outside the company network
	ReachClosed         Kind = "reach.closed" // by a person, at once
	CatalogSaved        Kind = "catalog.saved"
	LicenseEntered      Kind = "license.entered"
	LicenseRemoved      Kind = "license.removed"
	LicenseLost         Kind = "license.lost"         // a node's, or that of a workload there
	HardwareQuarantined Kind = "hardware.quarantined" // a node or card; also one for each workload there
	QuarantineEnded     Kind = "hardware.quarantine_ended"
	LicenseChosen       Kind = "license.chosen" // what becomes of starts that find a pool full
	PriceAdded          Kind = "price.added"
	PriceEnded          Kind = "price.ended"
	StatementSent       Kind = "statement.sent" // of a month that is over, to a team's owners
	RulesSaved          Kind = "rules.saved"
	TenantSaved         Kind = "tenant.saved"
	MemberAdded         Kind = "member.added"
	MemberRemoved       Kind = "member.removed"
	MemberRefused       Kind = "member.refused" // somebody who may not name approvers tried to
	BudgetSet           Kind = "budget.set"
	BudgetRemoved       Kind = "budget.removed"
	BudgetRefunded      Kind = "budget.refunded"
	BudgetWarned        Kind = "budget.warned" // a level of its month is used
	DelegationCreated   Kind = "delegation.created"
	DelegationEnded     Kind = "delegation.ended" // before its time
	AddressEntered      Kind = "address.entered"  // for notifications
	AddressRemoved      Kind = "address.removed"
	DeliveryRetried     Kind = "delivery.retried" // a message that had failed is sent once more
	AdviceDismissed     Kind = "advice.dismissed" // to take another size
	AdviceRestored      Kind = "advice.restored"
	ClusterHeld         Kind = "cluster.held" // nothing is done in it: it carries more than the database knows
	ClusterResumed      Kind = "cluster.resumed"
	ClusterAdded        Kind = "cluster.added"      // in the portal
	ClusterReplaced     Kind = "cluster.replaced"   // its credentials
	ClusterRemoved      Kind = "cluster.removed"    // from the portal; nothing in it was changed
	DifferenceAdopted   Kind = "difference.adopted" // the database became what the cluster has
	DifferenceReleased  Kind = "difference.released"
	DifferenceApplied   Kind = "difference.applied" // the cluster is made what the database has
	LogLevelSet         Kind = "loglevel.set"       // in every replica, for a time
)

// Outcome is what became of what an event tells.
type Outcome string

// The outcomes: most things were done.
const (
	Done    Outcome = "done"
	Refused Outcome = "refused" // by a rule or a right
	Failed  Outcome = "failed"  // was allowed, and could not be
)

// outcomes are those of the kinds that tell of something that did not come about.
var outcomes = map[Kind]Outcome{RequestRefused: Refused, ImpersonationRefused: Refused, AccessRefused: Refused,
	SignInRefused: Refused, MemberRefused: Refused, RequestReturned: Failed, WorkloadScalingShort: Failed,
	RevisionFailed: Failed, ScheduleMissed: Failed, VolumeNotExpanded: Failed, ObjectAltered: Failed,
	ObjectContested: Failed, LicenseLost: Failed}

// Outcome is what became of it.
func (k Kind) Outcome() Outcome {
	if o, ok := outcomes[k]; ok {
		return o
	}
	return Done
}

// Kinds lists every kind, for guards that walk them.
func Kinds() []Kind {
	return []Kind{RequestSubmitted, RequestEdited, RequestConsented, RequestEscalated, RequestReassigned, RequestTakenBack,
		RequestDeferred, RequestUndone, RequestReturned,
		RequestQueued, RequestApproved, RequestAutoApproved, RequestRejected, RequestWithdrawn, RequestExpired,
		RequestRefused, QuotaRaised,
		ImpersonationBegun, ImpersonationEnded, ImpersonationRefused, AccessRefused, WorkloadCreated,
		WorkloadStopped, WorkloadStarted, WorkloadExtended, WorkloadShared, WorkloadScaled, WorkloadScalingSet,
		WorkloadScalingShort, WorkloadSlept, WorkloadWoken, RevisionStarted, RevisionServing, RevisionFailed,
		RevisionAborted, RevisionSplit, RevisionPromoted, WorkloadIdle, WorkloadIdleStopped,
		WorkloadExited, WorkloadKeptAlive, ScheduleSet, ScheduleSkipped, ScheduleStopped,
		ScheduleStarted, ScheduleWarned, ScheduleMissed,
		IdleSaved, TerminalOpened, TerminalClosed, FileDownloaded, FileUploaded, TunnelOpened, TunnelClosed,
		WorkloadDeleted, WorkloadObserved, ObjectRepaired, ObjectContested, ObjectAltered,
		ObjectSpoofed, LeaseWarned, LeaseEnded,
		VolumeShared, VolumeAdded, VolumeExpanded, VolumeNotExpanded, VolumeEnding, VolumeRestored, VolumeDeleted,
		VolumeWarned, VolumeKept, VolumeReclaimed, DatasetOffered, DatasetChanged, DatasetWithdrawn,
		SnapshotTaken, SnapshotDeleted, SnapshotAdopted,
		SignedIn, SignInRefused, SignedOut, SessionClosed, StandingEnded,
		SessionsEnded,
		PersonDisabled, PersonEnabled, HoldingsTransferred, TokenCreated, TokenRevoked, TokenExpiring, EmbedCreated,
		EmbedRevoked, SecretCreated, SecretReplaced, SecretDeleted, KeyCreated, KeyRotated,
		KeyRevoked, ReachOpened, ReachClosed, CatalogSaved,
		LicenseEntered, LicenseRemoved, LicenseChosen, LicenseLost, HardwareQuarantined, QuarantineEnded, PriceAdded,
		PriceEnded,
		StatementSent, RulesSaved, BudgetSet, BudgetRemoved, BudgetRefunded, BudgetWarned,
		TenantSaved, MemberAdded, MemberRemoved, MemberRefused, DelegationCreated, DelegationEnded, AddressEntered,
		AddressRemoved, DeliveryRetried, AdviceDismissed, AdviceRestored, ClusterHeld, ClusterResumed,
		ClusterAdded, ClusterReplaced, ClusterRemoved, DifferenceAdopted,
		DifferenceReleased, DifferenceApplied, LogLevelSet}
}

// Event is one thing that happened. Seq is given by the store and orders events; At is display only.
type Event struct {
	Seq       int64
	At        time.Time
	Kind      Kind
	Actor     identity.PersonID
	ActorName string // of the actor, as it was then
	Address   string
	// Via says how the actor came in, Credential is the id of their session or token, never the secret, and CredentialName
	// what they called the token.
	Via            identity.Via
	Credential     string
	CredentialName string
	Behalf         identity.PersonID // in whose place the actor spoke; "" for their own
	BehalfName     string
	Tenant         string
	Request        string
	Workload       string
	Volume         string
	Rule           string    // the rule that decided, if one did
	Detail         i18n.Text // note, reason, what changed
	Changes        []Change  // before and after, where something was changed that has both
}

// By begins an event with who did it.
func By(a identity.Actor, kind Kind, at time.Time) Event {
	e := Event{Kind: kind, At: at, Actor: a.Person.ID, ActorName: a.Person.Name, Address: a.Address, Via: a.Via,
		Credential: a.Session, CredentialName: a.Credential}
	if a.Impersonator != nil {
		e.Actor, e.ActorName, e.Behalf, e.BehalfName = a.Impersonator.ID, a.Impersonator.Name, a.Person.ID, a.Person.Name
	}
	if e.Via == identity.ViaToken && e.Credential != "" {
		e.Credential = identity.TokenPrefix + e.Credential // as people see it on their account
	}
	return e
}

// RulePrefix begins the actor of what a rule decided; the rule's name follows.
const RulePrefix = "rule:"

// ByRule begins an event with the rule that decided it, on behalf of the person whom it is about. No person did it, so
// it has no address and no credential.
func ByRule(rule string, about identity.Person, kind Kind, at time.Time) Event {
	return Event{Kind: kind, At: at, Actor: identity.PersonID(RulePrefix + rule), ActorName: "Rule " + rule,
		Via: identity.ViaSystem, Behalf: about.ID, BehalfName: about.Name, Rule: rule}
}

// For says in whose place the actor spoke. One's own place is none.
func (e Event) For(p identity.Person) Event {
	if p.ID != e.Actor {
		e.Behalf, e.BehalfName = p.ID, p.Name
	}
	return e
}

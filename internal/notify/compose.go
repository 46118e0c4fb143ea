package notify

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Facts are what a notice is composed of, beside the event.
type Facts struct {
	Request     *request.Request // of the event, if it names one
	Workload    *workload.Workload
	Volume      *workload.Volume
	People      []identity.Actor // everybody who may hear of it, with their roles and those for whom they stand in
	Preferences map[identity.PersonID]Preferences
	Addresses   []Address
	Mail        bool   // there is a mail server
	Language    string // of those who did not choose
	URL         string // of the portal
	Now         time.Time
}

// topic is what becomes of an event: the kind of notice, which words, and who hears of it.
type topic struct {
	kind    Kind
	words   string
	concern func(e audit.Event, f Facts, a identity.Actor) bool
}

// topics are the events that people are told of. Budgets, leases and storage name their events themselves; those that
// no room writes yet do no harm.
var topics = map[audit.Kind][]topic{
	audit.RequestSubmitted:    {{Waiting, "waiting", decides}},
	audit.RequestEdited:       {{Waiting, "waiting", decides}},
	audit.RequestConsented:    {{Waiting, "waiting", decides}},
	audit.RequestEscalated:    {{Waiting, "waiting", reached}},
	audit.RequestReassigned:   {{Waiting, "reassigned", named(audit.ReassignedTo)}},
	audit.RequestTakenBack:    {{Waiting, "reclaimed", named(audit.ReassignedTo)}},
	audit.RequestReturned:     {{Waiting, "waiting", decides}},
	audit.RequestApproved:     {{Decided, "decided.approved", goesOn}},
	audit.RequestAutoApproved: {{Decided, "decided.approved", waited}},
	audit.RequestRejected:     {{Decided, "decided.rejected", asks}},
	audit.RequestExpired:      {{Decided, "decided.expired", asks}},
	audit.RequestQueued:       {{Decided, "decided.queued", asks}},
	audit.WorkloadObserved: {{Ready, "ready", turned(workload.Running)}, {Failed, "failed", turned(workload.Failed)},
		{Ready, "job.done", turned(workload.Succeeded)}, {Failed, "job.failed", turned(workload.Failed)}},
	audit.LeaseWarned:         {{Lease, "lease", owns}},
	"workload.warned":         {{Lease, "lease", owns}},
	audit.LeaseEnded:          {{Stopped, "stopped", owns}},
	audit.ScheduleWarned:      {{Lease, "schedule", owns}},
	audit.ScheduleMissed:      {{Failed, "schedule.missed", owns}},
	audit.WorkloadStopped:     {{Stopped, "stopped", owns}},
	audit.WorkloadExited:      {{Stopped, "stopped", owns}},
	audit.WorkloadIdle:        {{Idle, "idle", owns}},
	audit.WorkloadIdleStopped: {{Idle, "idle.stopped", owns}},
	audit.WorkloadDeleted:     {{Stopped, "stopped", owns}},
	"budget.warned":           {{Budget, "budget", leads}},
	audit.StatementSent:       {{Statement, "statement", leads}},
	audit.LicenseLost:         {{License, "license", holdsOrRuns}},
	audit.HardwareQuarantined: {{Broken, "broken", ownsOrLeads}},
	audit.ObjectRepaired:      {{Drift, "drift", ownsLeadsOrRuns}},
	audit.ObjectContested:     {{Drift, "drift", ownsLeadsOrRuns}},
	audit.ObjectAltered:       {{Drift, "drift", ownsLeadsOrRuns}},
	audit.ObjectSpoofed:       {{Drift, "drift.spoofed", ownsLeadsOrRuns}},
	"volume.warned":           {{Storage, "storage", keeps}},
	"volume.reclaimed":        {{Storage, "storage.reclaimed", keeps}},
	audit.VolumeDeleted:       {{Storage, "storage.deleted", keeps}},
	audit.VolumeEnding:        {{Storage, "storage.going", leads}},
	audit.VolumeRestored:      {{Storage, "storage.back", leads}},
	audit.VolumeNotExpanded:   {{Storage, "storage.not_grown", leads}},
	audit.DelegationCreated:   {{Waiting, "delegation.created", named(audit.Delegate)}},
	audit.DelegationEnded:     {{Waiting, "delegation.ended", named(audit.Delegate)}},
	audit.TokenExpiring:       {{Token, "token", named(audit.TokenHolder)}},
}

func decides(_ audit.Event, f Facts, a identity.Actor) bool {
	return f.Request != nil && request.Awaits(*f.Request, a, f.Now)
}

// reached are those whose approval counts since the step escalated: the others were told when it began.
func reached(_ audit.Event, f Facts, a identity.Actor) bool {
	return f.Request != nil && request.Reached(*f.Request, a, f.Now)
}

func asks(_ audit.Event, f Facts, a identity.Actor) bool {
	return f.Request != nil && f.Request.Asker == a.Person.ID
}

// goesOn is asks for what begins with the approval. What has to wait for a license seat is told with that, in one
// message.
func goesOn(e audit.Event, f Facts, a identity.Actor) bool { return !inLine(e) && asks(e, f, a) }

func inLine(e audit.Event) bool {
	return e.Kind == audit.RequestApproved && slices.ContainsFunc(e.Changes,
		func(c audit.Change) bool { return c.Field == audit.SeatPool })
}

// waited is asks for what a rule approved after a wait for a license seat. What it approves at once is answered to the
// asker where they asked.
func waited(e audit.Event, f Facts, a identity.Actor) bool {
	return asks(e, f, a) && slices.ContainsFunc(e.Changes, func(c audit.Change) bool { return c.Field == audit.SeatPool })
}

func owns(_ audit.Event, f Facts, a identity.Actor) bool {
	return f.Workload != nil && f.Workload.Owner == a.Person.ID
}

func keeps(_ audit.Event, f Facts, a identity.Actor) bool {
	return f.Volume != nil && f.Volume.Owner == a.Person.ID
}

// named is the one whom an event names in a field: whom somebody chose to decide, or chose no longer.
func named(field string) func(audit.Event, Facts, identity.Actor) bool {
	return func(e audit.Event, _ Facts, a identity.Actor) bool {
		return slices.ContainsFunc(e.Changes, func(c audit.Change) bool {
			return c.Field == field && (c.New == string(a.Person.ID) || c.Old == string(a.Person.ID))
		})
	}
}

func leads(e audit.Event, _ Facts, a identity.Actor) bool { return a.In(e.Tenant, identity.Owner) }

// ownsOrLeads: the owner of a workload, and those of its team. What names no workload is for the record.
func ownsOrLeads(e audit.Event, f Facts, a identity.Actor) bool {
	return owns(e, f, a) || f.Workload != nil && leads(e, f, a)
}

// ownsLeadsOrRuns: whose object it is, and administrators, for it takes rights in the cluster to change one.
func ownsLeadsOrRuns(e audit.Event, f Facts, a identity.Actor) bool {
	return owns(e, f, a) || e.Tenant != "" && e.Workload == "" && leads(e, f, a) || a.Is(identity.Admin)
}

// holdsOrRuns: owners hear of their workload, administrators of the node, once however many workloads are on it.
func holdsOrRuns(e audit.Event, f Facts, a identity.Actor) bool {
	return owns(e, f, a) || e.Workload == "" && a.Is(identity.Admin)
}

// turned is owns for an observation that a workload has got into a state, which the event's detail names.
func turned(to workload.State) func(audit.Event, Facts, identity.Actor) bool {
	return func(e audit.Event, f Facts, a identity.Actor) bool { return changesTo(e, to) && owns(e, f, a) }
}

func changesTo(e audit.Event, to workload.State) bool {
	state, _ := e.Detail.Args["To"].(i18n.Text)
	return state.ID == "state."+string(to)
}

// fits: a job is told of at its end, in words of its own; that it runs is no news.
func (t topic) fits(f Facts) bool {
	job := f.Workload != nil && f.Workload.IsJob()
	switch t.words {
	case "ready":
		return !job
	case "failed":
		return !job || f.Workload.Desired != workload.Finished
	case "job.done", "job.failed":
		return job && f.Workload.Desired == workload.Finished
	}
	return true
}

// happened reports whether an event is what the topic is about, whoever hears of it: for teams' addresses.
func (t topic) happened(e audit.Event, f Facts) bool {
	switch t.kind {
	case Token: // nobody else's business
		return false
	case Ready, Failed:
		if !t.fits(f) {
			return false
		}
	}
	switch t.kind {
	case Decided:
		return !inLine(e)
	case Ready:
		return changesTo(e, workload.Running) || changesTo(e, workload.Succeeded)
	case Failed:
		return changesTo(e, workload.Failed)
	case Waiting: // a team hears that a request begins to wait; whom it reaches after that is told to those alone
		return t.words == "waiting" && f.Request != nil && f.Request.State == request.Pending &&
			e.Kind != audit.RequestEscalated
	}
	return true
}

// Notifies reports whether anybody may hear of events of this kind, so that nothing is read for the others.
func Notifies(k audit.Kind) bool { return len(topics[k]) > 0 }

// Compose says who hears of an event, through which channels, in which words. What somebody did themselves they are not
// told. The deliveries have no ids yet.
func Compose(e audit.Event, f Facts, w *Words) ([]Delivery, error) {
	var list []Delivery
	for _, t := range topics[e.Kind] {
		for _, a := range f.People {
			if a.Person.Disabled || a.Person.ID == e.Actor || !t.fits(f) || !t.concern(e, f, a) {
				continue
			}
			preferences := f.Preferences[a.Person.ID]
			for _, channel := range preferences.By(t.kind) {
				d := Delivery{Event: e.Seq, Kind: t.kind, Recipient: string(a.Person.ID), Person: a.Person.ID, Name: a.Person.Name,
					Channel: channel}
				if !f.reach(&d, a.Person) {
					continue
				}
				if err := f.word(&d, t, e, preferences.Language, w); err != nil {
					return nil, err
				}
				list = append(list, d)
			}
		}
		for _, address := range f.Addresses {
			if address.Tenant == "" || address.Tenant != e.Tenant || !slices.Contains(address.Kinds, t.kind) ||
				!t.happened(e, f) {
				continue
			}
			d := Delivery{Event: e.Seq, Kind: t.kind, Recipient: address.ID, Name: address.Tenant, Address: address.ID,
				Channel: address.Channel}
			if err := f.word(&d, t, e, "", w); err != nil {
				return nil, err
			}
			list = append(list, d)
		}
	}
	return list, nil
}

// reach finds where a person's message goes; false where there is no such way to them.
func (f Facts) reach(d *Delivery, p identity.Person) bool {
	if d.Channel == Mail {
		return f.Mail && p.Email != ""
	}
	i := slices.IndexFunc(f.Addresses, func(a Address) bool {
		return a.Tenant == "" && a.Person == p.ID &&
			a.Channel == d.Channel
	})
	if i >= 0 {
		d.Address = f.Addresses[i].ID
	}
	return i >= 0
}

func (f Facts) word(d *Delivery, t topic, e audit.Event, language string, w *Words) error {
	if language == "" {
		language = f.Language
	}
	args := Args{Who: e.ActorName, Tenant: e.Tenant, Note: w.say(language, e.Detail), Volume: e.Volume}
	say := w.bundle.Exactly(language)
	if long, ok := e.Detail.Args["For"].(string); ok {
		args.For = span(say, long)
	}
	args.Ends = moment(say, e.Detail.Args["At"])
	path := "/"
	if f.Workload != nil {
		args.Name, args.Reason = f.Workload.Name, w.say(language, f.Workload.Reason)
		args.Size = f.Workload.Size.TitleIn(say.Lang())
		args.Until = say.Moment(f.Workload.Lease.Until, time.UTC)
		path = "/workloads/" + string(f.Workload.ID)
	}
	if r := f.Request; r != nil && (t.kind == Waiting || t.kind == Decided) {
		args.Name, args.Asker, args.Reason, args.Tenant = r.Spec.Name, r.AskerName, r.Spec.Reason, r.Spec.Tenant
		args.Size = r.Spec.Size.TitleIn(say.Lang())
		path = "/requests/" + string(r.ID)
		if t.kind == Waiting {
			path = "/approvals/" + string(r.ID)
		}
		if given, ok := r.ReassignedTo(d.Person); ok && e.Kind == audit.RequestReassigned {
			args.Note = given.Reason
		}
	}
	switch t.kind {
	case Token:
		args.Name, _ = e.Detail.Args["Name"].(string)
		path = "/account"
	case Waiting:
		if f.Request == nil {
			path = "/approvals/delegations"
		}
	case Storage:
		path = "/storage"
		if f.Volume != nil && f.Volume.OfTeam() {
			path = "/team/" + f.Volume.Tenant + "/volumes"
		}
	case Budget:
		path = "/usage"
	case Statement:
		of, _ := e.Detail.Args["Month"].(string)
		args.Month, args.Totals = month(say, of), w.say(language, e.Detail)
		path = f.statement(d.Person, of)
	case License:
		if f.Workload == nil {
			path = "/licenses"
		}
	case Drift:
		if f.Workload == nil && e.Tenant != "" {
			path = "/team/" + e.Tenant
		}
	}
	n, err := w.Notice(language, t.kind, t.words, args, strings.TrimRight(f.URL, "/"), path)
	n.Tenant, n.Request, n.Workload = e.Tenant, e.Request, e.Workload
	d.Notice = n
	return err
}

// statement is where the page of a month's statement is. Who is in several teams sees it by team, so that there is a
// line with the sums of the message.
func (f Facts) statement(reader identity.PersonID, month string) string {
	q := url.Values{"month": {month}, "scope": {string(usage.Team)}}
	i := slices.IndexFunc(f.People, func(a identity.Actor) bool { return a.Person.ID == reader })
	if i >= 0 && len(f.People[i].TenantNames()) > 1 {
		q.Set("by", "team")
	}
	return "/usage?" + q.Encode()
}

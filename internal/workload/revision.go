package workload

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Revisions are the versions of what an endpoint runs. The zero Revisions are one, as it was started.
type Revisions struct {
	Serving int        `json:"serving,omitempty"` // its number; 0 for the first
	List    []Revision `json:"list,omitempty"`    // oldest first; empty while there is but one
	Rollout *Rollout   `json:"rollout,omitempty"` // nil while none is on its way
	// Seamless is the generation whose pods come beside the previous ones, which answer until they are gone; 0 for none.
	Seamless int64 `json:"seamless,omitempty"`
}

// Revision is one version of an endpoint. What is the same for all of them (its size, its name) is the workload's.
type Revision struct {
	Number  int            `json:"number"`
	Image   catalog.Image  `json:"image"`
	Model   *catalog.Model `json:"model,omitempty"`
	Mounts  []Mount        `json:"mounts,omitempty"`
	Of      int            `json:"of,omitempty"` // it is an older one again; 0 for none
	By      string         `json:"by"`           // name of the person
	At      time.Time      `json:"at"`
	State   RevisionState  `json:"state"`
	Changed time.Time      `json:"changed,omitzero"` // since when it is in its state
	Reason  i18n.Text      `json:"reason,omitzero"`  // why it failed
	Detail  string         `json:"detail,omitempty"` // the cluster's words for that
}

// RevisionState is how far the rollout of a revision has come.
type RevisionState string

// The states of a revision.
const (
	RevisionStarting RevisionState = "starting" // takes no traffic yet
	RevisionServing  RevisionState = "serving"
	RevisionFormer   RevisionState = "former" // served, until another one did
	RevisionFailed   RevisionState = "failed" // never got ready
	RevisionAborted  RevisionState = "aborted"
)

// RevisionStates lists every state.
func RevisionStates() []RevisionState {
	return []RevisionState{RevisionStarting, RevisionServing, RevisionFormer, RevisionFailed, RevisionAborted}
}

// Rollout is a revision on its way to take over from another one.
type Rollout struct {
	From int `json:"from"`
	To   int `json:"to"`
	// StopFirst: the previous one stops before the new one starts, since no GPU is spare.
	StopFirst bool      `json:"stopFirst,omitempty"`
	Deadline  time.Time `json:"deadline"` // not ready by then, it has failed
	// Canary: it stays beside the one that answers until somebody promotes it; nil for one that takes over when it is
	// ready.
	Canary *Canary `json:"canary,omitempty"`
}

// Canary is one replica of a new revision that gets a share of the calls, to try it.
type Canary struct {
	Percent int  `json:"percent"`         // of the calls that name no revision, 0 to MostPercent
	Ready   bool `json:"ready,omitempty"` // it was, so that no deadline holds any more
}

// MostPercent is the largest part that a canary takes: what takes all of them is promoted.
const MostPercent = 99

// RolloutObservation is the status of the pods of a revision that is rolling out.
type RolloutObservation struct {
	Revision int       `json:"revision"`
	Pod      string    `json:"pod,omitempty"`
	Ready    int       `json:"ready"`
	Failed   bool      `json:"failed,omitempty"` // cannot go on by itself
	Reason   i18n.Text `json:"reason,omitzero"`
	Detail   string    `json:"detail,omitempty"`
}

// How long a revision may take to get ready, and how many are remembered.
const (
	UsualReadyWithin = 30 * time.Minute // as long as a model may load, see kube
	LeastReadyWithin = time.Minute
	MostReadyWithin  = 2 * time.Hour
	keptRevisions    = 10
)

// Revision is the number of what the workload is to run now.
func (w Workload) Revision() int {
	if r := w.Revisions.Rollout; r != nil {
		return r.To
	}
	return max(1, w.Revisions.Serving)
}

// RevisionList are all that are remembered, oldest first.
func (w Workload) RevisionList() []Revision {
	if len(w.Revisions.List) > 0 {
		return w.Revisions.List
	}
	return []Revision{{Number: w.Revision(), Image: w.Image, Model: w.Model, Mounts: w.Mounts, By: w.OwnerName,
		At: w.CreatedAt.UTC(), State: RevisionServing, Changed: w.CreatedAt.UTC()}}
}

// RevisionAt gives one of those that are remembered.
func (w Workload) RevisionAt(number int) (Revision, bool) {
	list := w.RevisionList()
	i := slices.IndexFunc(list, func(r Revision) bool { return r.Number == number })
	if i < 0 {
		return Revision{}, false
	}
	return list[i], true
}

// AsRevision is the workload as pods of one of its revisions are: with that one's image and model.
func (w Workload) AsRevision(number int) Workload {
	if number == w.Revision() {
		return w
	}
	if r, ok := w.RevisionAt(number); ok {
		return w.running(r)
	}
	return w
}

func (w Workload) running(r Revision) Workload {
	w.Image, w.Model, w.Mounts = r.Image, r.Model, r.Mounts
	return w
}

// lasting is how many replicas there are for longer than another revision takes to come up: a canary is one of them.
func (w Workload) lasting() int {
	if w.HasCanary() {
		return w.Replicas.Want() + w.Replicas.Surge
	}
	return w.Replicas.Want()
}

// HasCanary reports whether a canary is beside the revision that answers, or is coming up there.
func (w Workload) HasCanary() bool {
	return w.Revisions.Rollout != nil && w.Revisions.Rollout.Canary != nil
}

// Answering is the workload as the version is that answers: the previous one, while another one comes up beside it.
func (w Workload) Answering() Workload {
	if w.Surges() {
		return w.AsRevision(w.Revisions.Rollout.From)
	}
	return w
}

// Surges reports whether a revision comes up beside the one that answers meanwhile.
func (w Workload) Surges() bool { return w.Revisions.Rollout != nil && !w.Revisions.Rollout.StopFirst }

// Revisable reports whether it has versions.
func (w Workload) Revisable() bool { return w.Kind == catalog.Endpoint }

// CanRevise reports whether another revision can be asked for.
func (w Workload) CanRevise() bool {
	return w.Revisable() && w.Desired == WantRunning && !w.Replicas.Asleep && w.State != Ended &&
		w.Revisions.Rollout == nil
}

// RollbackTo is the revision that a roll back without a number leads to: the one that serves while another is on its
// way, else the last one that served before. 0 where there is none.
func (w Workload) RollbackTo() int {
	if w.Revisions.Rollout != nil {
		return w.Revisions.Rollout.From
	}
	former := Revision{}
	for _, r := range w.Revisions.List {
		if r.State == RevisionFormer && !r.Changed.Before(former.Changed) {
			former = r
		}
	}
	return former.Number
}

// CanRollBack reports whether the portal can go back to a revision now.
func (w Workload) CanRollBack(number int) bool {
	if r := w.Revisions.Rollout; r != nil {
		return number == r.From && w.Desired == WantRunning
	}
	r, ok := w.RevisionAt(number)
	return ok && r.State == RevisionFormer && w.CanRevise()
}

// Update is the spec of a new revision and how it is rolled out.
type Update struct {
	Image       catalog.Image
	Model       *catalog.Model
	Mounts      []Mount
	Of          int // the older revision that it is again; 0 for none
	StopFirst   bool
	ReadyWithin time.Duration
	Percent     *int // of the calls, for a canary; nil for one that takes over when it is ready
}

// Revise begins to roll out another revision. The caller checks rules, quota, seats and room.
func Revise(u Update) Change {
	return func(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
		switch {
		case !w.Revisable():
			return w, nil, fault.New(fault.Conflict, i18n.T("versions.endpoints_only"))
		case !w.CanDelete():
			return w, nil, gone()
		case w.Revisions.Rollout != nil:
			return w, nil, fault.New(fault.Conflict, i18n.T("versions.busy", "Version", w.Revisions.Rollout.To))
		case !w.CanRevise():
			return w, nil, fault.New(fault.Conflict, i18n.T("versions.not_running"))
		case w.Same(u):
			return w, nil, fault.New(fault.Conflict, i18n.T("versions.same", "Version", w.Revision()))
		}
		now = now.UTC()
		list, from := slices.Clone(w.RevisionList()), w.Revision()
		next := Revision{Number: list[len(list)-1].Number + 1, Image: u.Image, Model: u.Model, Mounts: u.Mounts, Of: u.Of,
			By: a.Person.Name, At: now, State: RevisionStarting, Changed: now}
		changes := append(audit.Changed("revision", from, next.Number), w.changesTo(next)...)
		w = w.running(next)
		w.Generation, w.UpdatedAt = w.Generation+1, now
		w.Revisions = Revisions{Serving: from, List: kept(append(list, next), from),
			Rollout: &Rollout{From: from, To: next.Number, StopFirst: u.StopFirst, Deadline: now.Add(u.ReadyWithin)}}
		if u.Percent != nil {
			w.Revisions.Rollout.Canary = &Canary{Percent: *u.Percent}
			changes = append(changes, audit.Changed("percent", 0, *u.Percent)...)
		}
		if u.StopFirst {
			w.State, w.Observed.Steps = Queued, nil
			w.Reason = i18n.T("versions.starting", "Version", next.Number)
		} else {
			w.Revisions.Seamless, w.Replicas.Surge = w.Generation, 1
		}
		detail := i18n.T("versions.asked", "Version", next.Number)
		if u.Of > 0 {
			detail = i18n.T("versions.asked_again", "Version", next.Number, "Of", u.Of)
		}
		return w, []audit.Event{changed(w, a, audit.RevisionStarted, now, detail, changes)}, nil
	}
}

// Same reports whether an update would change nothing.
func (w Workload) Same(u Update) bool {
	return sameJSON(w.Image, u.Image) && sameJSON(w.Model, u.Model)
}

// sameJSON compares as the database keeps things: an empty list comes back as none.
func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// changesTo is what a revision changes, as the record has it.
func (w Workload) changesTo(next Revision) (list []audit.Change) {
	from, to := modelWords(w.Model), modelWords(next.Model)
	for _, c := range []struct{ field, from, to string }{{"image", w.Image.Name, next.Image.Name},
		{"reference", w.Image.Reference, next.Image.Reference}, {"model", from, to}} {
		if c.from != c.to {
			list = append(list, audit.Changed(c.field, c.from, c.to)...)
		}
	}
	return list
}

func modelWords(m *catalog.Model) string {
	if m == nil {
		return ""
	}
	words := m.Name
	if m.Revision != "" {
		words += "@" + m.Revision
	}
	if m.ContextLength > 0 {
		words += " " + strconv.Itoa(m.ContextLength)
	}
	return strings.TrimSpace(words + " " + m.Quantization)
}

// kept drops the oldest, but neither the one that serves nor the first of those left over.
func kept(list []Revision, serving int) []Revision {
	for len(list) > keptRevisions {
		i := slices.IndexFunc(list, func(r Revision) bool { return r.Number != serving })
		list = slices.Delete(list, i, i+1)
	}
	return list
}

// Abort ends a rollout: the previous revision goes on, or starts again.
func Abort(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
	r := w.Revisions.Rollout
	if r == nil {
		return w, nil, nil
	}
	to, from := r.To, r.From
	w = w.revert(RevisionAborted, i18n.Text{}, "", now)
	return w, []audit.Event{changed(w, a, audit.RevisionAborted, now, i18n.T("versions.aborted", "Version", to, "From",
		from), audit.Changed("revision", to, from))}, nil
}

// revert puts the previous revision back.
func (w Workload) revert(state RevisionState, why i18n.Text, detail string, now time.Time) Workload {
	r := *w.Revisions.Rollout
	before, ok := w.RevisionAt(r.From)
	if !ok {
		return w
	}
	w = w.running(before)
	w.Generation, w.UpdatedAt = w.Generation+1, now
	list := slices.Clone(w.Revisions.List)
	for i := range list {
		if list[i].Number == r.To {
			list[i].State, list[i].Reason, list[i].Detail, list[i].Changed = state, why, detail, now.UTC()
		}
	}
	w.Revisions = Revisions{Serving: r.From, List: list}
	w.Replicas = w.Replicas.surged()
	if !r.StopFirst {
		w.Revisions.Seamless = w.Generation
	} else if w.Desired == WantRunning {
		w.State, w.Reason, w.Observed.Steps = Queued, i18n.T("versions.starting", "Version", r.From), nil
	}
	return w
}

// surged ends the time in which one replica more may be there: it counts until its pod is gone.
func (r Replicas) surged() Replicas {
	r.Held, r.Surge = r.Hold(), 0
	return r
}

// rollOut works out what an observation means for a revision that is on its way.
func (w Workload) rollOut(obs Observation, now time.Time) (Workload, []audit.Event) {
	r := w.Revisions.Rollout
	if r == nil || w.Desired == WantDeleted {
		return w, nil
	}
	if w.Desired != WantRunning || w.Replicas.Asleep { // the next start is that of what is known to work
		to := r.To
		w = w.revert(RevisionAborted, i18n.T("versions.stopped"), "", now)
		return w, []audit.Event{revisionEvent(w, audit.RevisionAborted, now, i18n.T("versions.aborted", "Version", to,
			"From", w.Revisions.Serving))}
	}
	seen := obs.Rollout
	if seen != nil && seen.Revision != r.To {
		seen = nil
	}
	tried := r.Canary != nil && r.Canary.Ready
	switch {
	case seen != nil && seen.Ready > 0 && r.Canary != nil:
		if tried {
			return w, nil
		}
		next := *r
		next.Canary = &Canary{Percent: r.Canary.Percent, Ready: true}
		w.Revisions.Rollout = &next
		return w, []audit.Event{revisionEvent(w, audit.RevisionServing, now, i18n.T("versions.takes", "Version", r.To,
			"Percent", r.Canary.Percent))}
	case seen != nil && seen.Ready > 0 && obs.Generation >= w.Generation:
		return w.rolledOut(now)
	case seen != nil && seen.Failed, !tried && !now.Before(r.Deadline):
		why, detail := i18n.T("versions.late"), ""
		if seen != nil && !seen.Reason.IsZero() {
			why, detail = seen.Reason, seen.Detail
		}
		w = w.revert(RevisionFailed, why, detail, now)
		return w, []audit.Event{revisionEvent(w, audit.RevisionFailed, now, i18n.T("versions.failed_because", "Version",
			r.To, "From", r.From, "Reason", why))}
	}
	return w, nil
}

func (w Workload) rolledOut(now time.Time) (Workload, []audit.Event) {
	r := *w.Revisions.Rollout
	list := slices.Clone(w.Revisions.List)
	for i := range list {
		switch list[i].Number {
		case r.From:
			list[i].State, list[i].Changed = RevisionFormer, now.UTC()
		case r.To:
			list[i].State, list[i].Changed = RevisionServing, now.UTC()
		}
	}
	w.Revisions = Revisions{Serving: r.To, List: list, Seamless: w.Revisions.Seamless}
	w.Replicas, w.UpdatedAt = w.Replicas.surged(), now
	return w, []audit.Event{revisionEvent(w, audit.RevisionServing, now, i18n.T("versions.serves", "Version", r.To))}
}

func revisionEvent(w Workload, kind audit.Kind, now time.Time, detail i18n.Text) audit.Event {
	e := audit.By(identity.System(), kind, now)
	e.Tenant, e.Workload, e.Detail = w.Tenant, string(w.ID), detail
	return e
}

// canary is the one that is beside the revision that answers, once it was ready.
func (w Workload) canary() (Canary, error) {
	r := w.Revisions.Rollout
	switch {
	case r == nil || r.Canary == nil:
		return Canary{}, fault.New(fault.Conflict, i18n.T("versions.no_canary"))
	case !r.Canary.Ready:
		return Canary{}, fault.New(fault.Conflict, i18n.T("versions.canary_starting", "Version", r.To))
	}
	return *r.Canary, nil
}

// CanPromote reports whether there is a canary that was ready.
func (w Workload) CanPromote() bool {
	_, err := w.canary()
	return err == nil && w.Desired == WantRunning
}

// Promote lets a canary replace the revision that serves.
func Promote(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
	c, err := w.canary()
	if err != nil {
		return w, nil, err
	}
	r := *w.Revisions.Rollout
	r.Canary, r.Deadline = nil, now.UTC().Add(UsualReadyWithin)
	w.Generation, w.UpdatedAt = w.Generation+1, now
	w.Revisions.Rollout, w.Revisions.Seamless = &r, w.Generation
	return w, []audit.Event{changed(w, a, audit.RevisionPromoted, now, i18n.T("versions.asked", "Version", r.To),
		audit.Changed("percent", c.Percent, 100))}, nil
}

// Split sets the share of the calls that a canary gets.
func Split(percent int) Change {
	return func(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
		if percent < 0 || percent > MostPercent {
			return w, nil, fault.InvalidFields([]fault.Field{{Name: "percent", Reason: i18n.T("versions.percent_range", "Most",
				MostPercent)}})
		}
		c, err := w.canary()
		if err != nil || c.Percent == percent {
			return w, nil, err
		}
		r := *w.Revisions.Rollout
		r.Canary = &Canary{Percent: percent, Ready: true}
		w.Revisions.Rollout, w.UpdatedAt = &r, now
		return w, []audit.Event{changed(w, a, audit.RevisionSplit, now, i18n.T("versions.takes", "Version", r.To, "Percent",
			percent), audit.Changed("percent", c.Percent, percent))}, nil
	}
}

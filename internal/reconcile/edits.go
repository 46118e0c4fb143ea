package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// edits remembers what others did to objects: what was said of it, so that a fight over an object does not fill the
// audit record, and what the page of a workload shows.
type edits struct {
	mu    sync.Mutex
	told  map[Key]notice
	back  map[workload.ID][]workload.ForeignEdit // taken back or refused
	shown map[workload.ID][]workload.ForeignEdit // may stay
}

// notice is what was said of an object last.
type notice struct {
	sign  string
	times int       // since it was said first
	at    time.Time // when it was said last
}

const (
	contestedAfter = 4         // repairs of the same fields until it is called a fight
	foldedFor      = time.Hour // how often a fight is told
	mostEdits      = 20        // shown of one workload
	mostPaths      = 5         // named in one event
)

func newEdits() *edits {
	return &edits{told: map[Key]notice{}, back: map[workload.ID][]workload.ForeignEdit{},
		shown: map[workload.ID][]workload.ForeignEdit{}}
}

// kindOf says which event a repair is worth: the first one of its fields, then one when it has become a fight, and one
// an hour while that lasts. "" for none.
func (m *edits) kindOf(k Key, kind audit.Kind, sign string, now time.Time) audit.Kind {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.told[k]
	if t.sign != sign || now.Sub(t.at) > 2*foldedFor {
		m.told[k] = notice{sign: sign, times: 1, at: now}
		return kind
	}
	t.times++
	if kind == audit.ObjectRepaired && (t.times == contestedAfter ||
		t.times > contestedAfter && now.Sub(t.at) >= foldedFor) {
		t.at, kind = now, audit.ObjectContested
	} else {
		kind = ""
	}
	m.told[k] = t
	return kind
}

// took notes what was taken back of a workload.
func (m *edits) took(id workload.ID, list []workload.ForeignEdit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.back[id] = merge(list, m.back[id])
}

// show notes what may stay.
func (m *edits) show(id workload.ID, desired DesiredObjects, found map[Key]Existing, pods []workload.ForeignEdit) {
	list := pods
	for _, o := range desired.Objects {
		e, exists := found[o.Key]
		if !exists || e.Deleting || !o.mayTouch(e) {
			continue
		}
		for _, edit := range e.edits {
			if !edit.Strict {
				list = append(list, foreign(o.Key, edit, workload.EditShown, edit.At))
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shown[id] = list
}

// of is what the page of a workload shows: what was taken back of late, also by an earlier leader, and what stays.
func (m *edits) of(w workload.Workload, now time.Time) []workload.ForeignEdit {
	m.mu.Lock()
	defer m.mu.Unlock()
	earlier := slices.DeleteFunc(slices.Clone(w.Observed.Edits), func(e workload.ForeignEdit) bool { return !e.News() })
	list := merge(m.back[w.ID], earlier)
	list = slices.DeleteFunc(list, func(e workload.ForeignEdit) bool { return now.Sub(e.At) > workload.EditsKept })
	list = append(list, m.shown[w.ID]...)
	return list[:min(len(list), mostEdits)]
}

func (m *edits) forget(id workload.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.back, id)
	delete(m.shown, id)
}

// merge puts newer edits before older ones and drops the older ones of the same fields.
func merge(newer, older []workload.ForeignEdit) []workload.ForeignEdit {
	list := slices.Clone(newer)
	for _, o := range older {
		if !slices.ContainsFunc(list, func(n workload.ForeignEdit) bool {
			return n.Object == o.Object && n.Path == o.Path && n.By == o.By
		}) {
			list = append(list, o)
		}
	}
	return list[:min(len(list), mostEdits)]
}

func foreign(k Key, e Edit, action workload.EditAction, at time.Time) workload.ForeignEdit {
	return workload.ForeignEdit{Object: k.Kind + " " + k.Name, Path: e.Path, By: e.By, Outcome: action,
		At: at.UTC().Truncate(time.Second)}
}

// reportRepair records what is about to be taken back, or cannot be, before it happens: a controller that is killed in
// between tells it twice rather than never.
func (l *loop) reportRepair(ctx context.Context, r Repair) error {
	kind, action, outcome := audit.ObjectRepaired, workload.EditRemoved, "removed"
	if r.Refused != "" {
		kind, action, outcome = audit.ObjectAltered, workload.EditRefused, "refused"
	}
	now := l.o.Now()
	l.stats.foreign.WithLabelValues(l.name, r.Kind, outcome).Inc()
	if r.Workload != "" {
		var list []workload.ForeignEdit
		for _, e := range r.Edits {
			list = append(list, foreign(r.Key, e, action, now))
		}
		l.edits.took(r.Workload, list)
	}
	sign := digest(append(append([]string{outcome}, pathsOf(r.Edits)...), managersOf(r.Edits)...)...)
	if kind = l.edits.kindOf(r.Key, kind, sign, now); kind == "" {
		return nil
	}
	e := audit.By(identity.System(), kind, now)
	e.Tenant, e.Workload, e.Volume = r.Tenant, string(r.Workload), r.Volume
	e.Detail = i18n.T(sentences[kind], "Object", r.Key.String(), "Paths", paths(r.Edits), "By", by(r.Edits))
	return l.o.Store.Append(ctx, e)
}

// sentences are the details of events; they name fields and field managers, never values.
var sentences = map[audit.Kind]string{
	audit.ObjectRepaired:  "reconcile.object_repaired",
	audit.ObjectContested: "reconcile.object_contested",
	audit.ObjectAltered:   "reconcile.object_altered",
}

// paths names the fields, as many as fit into a sentence.
func paths(edits []Edit) string {
	list := pathsOf(edits)
	if more := len(list) - mostPaths; more > 0 {
		list = append(slices.Clip(list[:mostPaths]), fmt.Sprintf("+%d", more))
	}
	return strings.Join(list, ", ")
}

// by names who did it as the API server knows it: field managers, with the time of the last edit.
func by(edits []Edit) string {
	var names []string
	for _, name := range managersOf(edits) {
		names = append(names, cmp.Or(name, "?"))
	}
	text := strings.Join(names, ", ")
	if at := latest(edits); !at.IsZero() {
		text += " (" + at.UTC().Format("2006-01-02 15:04:05 UTC") + ")"
	}
	return text
}

// podEdits are ephemeral containers, which no template has: somebody put them into a running pod, and only the end of
// the pod takes them away.
func (l *loop) podEdits(w workload.Workload) []workload.ForeignEdit {
	var list []workload.ForeignEdit
	for _, p := range l.gather(w).pods {
		for _, c := range p.Spec.EphemeralContainers {
			list = append(list, workload.ForeignEdit{Object: "Pod " + p.Name, Path: "spec.ephemeralContainers[" + c.Name + "]",
				Outcome: workload.EditShown})
		}
	}
	return list
}

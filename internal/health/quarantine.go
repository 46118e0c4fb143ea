package health

import (
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Kind is whether a node or a single card is quarantined.
type Kind string

// The kinds.
const (
	Node Kind = "node"
	Card Kind = "card"
)

// Kinds lists node and card.
func Kinds() []Kind { return []Kind{Node, Card} }

// Target is a node, or a card by its UUID.
type Target struct {
	Cluster string
	Kind    Kind
	Name    string
}

// Quarantine keeps new pods off a node or a card, by an administrator.
type Quarantine struct {
	Target
	Node   string // on which a card was when it was quarantined; of a node its own name
	Note   string
	By     identity.PersonID
	ByName string
	At     time.Time
}

// mostNote is how long a note may be, in characters.
const mostNote = 500

// names of nodes and UUIDs of cards; a UUID gets into expressions of claims.
var names = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$`)

// check cleans a note, without which nobody would know what to do about the card.
func check(p Target, note string) (string, error) {
	if p.Kind != Node && p.Kind != Card || !names.MatchString(p.Name) || p.Kind == Card && len(p.Name) > 63 {
		return "", fault.New(fault.NotFound, i18n.T("health.no_place"))
	}
	note = strings.TrimSpace(note)
	if note == "" || !utf8.ValidString(note) || utf8.RuneCountInString(note) > mostNote {
		return "", fault.InvalidFields([]fault.Field{{Name: "note", Reason: i18n.T("health.note_wrong", "Most", mostNote)}})
	}
	return note, nil
}

// say names the place to people.
func (p Target) say(node string) i18n.Text {
	if p.Kind == Node {
		return i18n.T("health.the_node", "Node", p.Name)
	}
	return i18n.T("health.the_card", "Card", p.Name, "Node", node)
}

// event is what the record says of a change: from one note to another, "" for none.
func event(a identity.Actor, kind audit.Kind, m Quarantine, before, after string, now time.Time) audit.Event {
	e := audit.By(a, kind, now)
	note := after
	if note == "" {
		note = before
	}
	e.Detail = i18n.T("health.quarantine_detail", "Place", m.say(m.Node), "Note", note)
	e.Changes = audit.Changed("note", before, after)
	return e
}

// Holder is a workload that holds something of a node or card.
type Holder struct {
	*workload.Workload      // of all who ask: only read
	Sure               bool // of a card: it is known to be on this one, and not only on its node
}

// audited is one event for each holder, so that its people are told.
func audited(e audit.Event, m Quarantine, holders []Holder) []audit.Event {
	events := []audit.Event{e}
	for _, h := range holders {
		own := e
		own.Tenant, own.Workload, own.Changes = h.Tenant, string(h.ID), nil
		words := "health.affected"
		if m.Kind == Card && !h.Sure {
			words = "health.perhaps_affected"
		}
		own.Detail = i18n.T(words, "Place", m.say(m.Node), "Note", m.Note)
		events = append(events, own)
	}
	return events
}

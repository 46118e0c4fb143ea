package drift

import (
	"encoding/json"
	"fmt"
	"time"
)

// Position is where a database is. The audit record is a chain of hashes, so Audit and Link together name one history:
// two databases with the same pair agree on everything before.
type Position struct {
	Database string `json:"database"` // random, drawn when the schema is made; a restored backup has the same
	Epoch    int64  `json:"epoch"`    // how often the lead was taken
	Audit    int64  `json:"audit"`    // number of the last audit event
	Link     string `json:"link"`     // hash of that event; "" while there is none
	Outbox   int64  `json:"outbox"`   // number of the last change, purged ones included
}

// IsZero reports whether there is no position.
func (p Position) IsZero() bool { return p == Position{} }

// Covers reports whether everything up to another position of the same history is in this one.
func (p Position) Covers(o Position) bool {
	return p.Database == o.Database && p.Epoch >= o.Epoch && p.Audit >= o.Audit && p.Outbox >= o.Outbox
}

// Checkpoint is a position as it is left in a cluster.
type Checkpoint struct {
	Position
	At time.Time `json:"at"`
}

// String is the checkpoint as an annotation.
func (m Checkpoint) String() string {
	text, _ := json.Marshal(m) // plain values, which cannot fail
	return string(text)
}

// ParseCheckpoint reads an annotation.
func ParseCheckpoint(text string) (Checkpoint, error) {
	var m Checkpoint
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return Checkpoint{}, fmt.Errorf("read the checkpoint of a namespace: %w", err)
	}
	if m.Database == "" || m.Epoch < 0 || m.Audit < 0 || m.Outbox < 0 {
		return Checkpoint{}, fmt.Errorf("read the checkpoint of a namespace: %q names no position", text)
	}
	return m, nil
}

// Cause is why a cluster is held.
type Cause string

// The causes.
const (
	Older        Cause = "older"         // the database lacks what was done: a restored backup, or lost transactions
	Diverged     Cause = "diverged"      // the database went another way from some point on: a former primary
	Other        Cause = "other"         // the objects were made from another database
	NoCheckpoint Cause = "no_checkpoint" // there is no checkpoint, and objects are ahead of the database
)

// Causes lists every cause.
func Causes() []Cause { return []Cause{Older, Diverged, Other, NoCheckpoint} }

// Divergence says in which way a database is not the one that left the checkpoint, "" where it has all of it. Link is
// that of the database's own event with the checkpoint's number, "" for none.
func Divergence(database Position, checkpoint Checkpoint, link string) Cause {
	switch {
	case checkpoint.Database != database.Database:
		return Other
	case !database.Covers(checkpoint.Position):
		return Older
	case link != checkpoint.Link:
		return Diverged
	}
	return ""
}

// Hold says that nothing is done in a cluster until an administrator has decided.
type Hold struct {
	Cluster    string
	Since      time.Time
	Cause      Cause
	Checkpoint Checkpoint // what was found; zero for none
	Database   Position   // where the database was then
	Decided    int64      // differences that were decided since
}

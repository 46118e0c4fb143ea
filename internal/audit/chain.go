package audit

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	strictjson "sigs.k8s.io/json"
)

// Record is an event as it is stored and exported: what its link is taken over. All fields are texts and numbers that
// no program rewrites on the way.
type Record struct {
	Seq       int64  `json:"seq"`
	At        int64  `json:"at"` // microseconds since 1970, UTC
	Kind      string `json:"kind"`
	Actor     string `json:"actor"`
	ActorName string `json:"actorName"`
	Address   string `json:"address"`
	Tenant    string `json:"tenant"`
	Request   string `json:"request"`
	Workload  string `json:"workload"`
	Volume    string `json:"volume"`
	Rule      string `json:"rule"`
	Detail    string `json:"detail"` // JSON of the sentence, as stored
	Link      string `json:"link"`

	Behalf         string `json:"behalf,omitempty"`
	BehalfName     string `json:"behalfName,omitempty"`
	Via            string `json:"via,omitempty"`
	Credential     string `json:"credential,omitempty"`
	CredentialName string `json:"credentialName,omitempty"`
	Changes        string `json:"changes,omitempty"` // JSON of the changes, as stored
}

// Next is the link that an event must have when the one before it has the link previous: SHA-256 in hexadecimal over
// the previous link and every field. Each field goes in with its length first, so that nothing can be moved from one
// field into the next.
func (r Record) Next(previous string) string {
	h := sha256.New()
	number := func(n int64) {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], uint64(n))
		h.Write(b[:])
	}
	number(r.Seq)
	number(r.At)
	for _, text := range []string{previous, r.Kind, r.Actor, r.ActorName, r.Address, r.Tenant, r.Request, r.Workload,
		r.Volume,
		r.Rule, r.Detail, r.Behalf, r.BehalfName, r.Via, r.Credential, r.CredentialName, r.Changes} {
		number(int64(len(text)))
		io.WriteString(h, text) //nolint:errcheck // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Chain checks records one after another, in the order of their numbers. The zero value is ready.
type Chain struct {
	Count int64  // records seen
	First int64  // number of the first one
	Last  int64  // number of the last one
	Head  string // link of the last one: note it elsewhere, and a later loss of the end can be shown
}

// Break is the first place where a chain does not hold.
type Break struct {
	Seq    int64
	Reason string
}

// Error is the break in one line.
func (b *Break) Error() string { return fmt.Sprintf("event %d: %s", b.Seq, b.Reason) }

// Add takes the next record. The error is a *Break when it does not follow from those before. An extract that begins
// later than event 1 is trusted in its first record, for what was before is not at hand.
func (c *Chain) Add(r Record) error {
	switch {
	case c.Count > 0 && r.Seq != c.Last+1:
		return &Break{r.Seq, fmt.Sprintf("the one before it is %d, some are missing or out of order", c.Last)}
	case r.Link == "":
		return &Break{r.Seq, "it has no link"}
	case c.Count == 0 && r.Seq != 1:
		c.First = r.Seq
	case r.Link != r.Next(c.Head):
		return &Break{r.Seq, "its link does not hold: it was changed, or the one before it was"}
	}
	if c.Count == 0 {
		c.First = r.Seq
	}
	c.Count, c.Last, c.Head = c.Count+1, r.Seq, r.Link
	return nil
}

// Verify reads a dump, one record a line, and checks it as a whole. The error is a *Break, or says what could not be
// read.
func Verify(dump io.Reader) (Chain, error) {
	var c Chain
	lines := bufio.NewScanner(dump)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var r Record
		if err := readRecord(lines.Bytes(), &r); err != nil {
			return c, fmt.Errorf("line %d is no record: %w", n, err)
		}
		if err := c.Add(r); err != nil {
			return c, err
		}
	}
	if err := lines.Err(); err != nil {
		return c, err
	}
	if c.Count == 0 {
		return c, errors.New("there are no records")
	}
	return c, nil
}

// readRecord reads one line. A field that the record does not have is in no link, so whoever adds one could make a
// verified dump say anything; the same goes for a name that stands there twice or in other letters, and for what
// follows the record.
func readRecord(line []byte, r *Record) error {
	unknown, err := strictjson.UnmarshalStrict(line, r, strictjson.DisallowUnknownFields,
		strictjson.DisallowDuplicateFields)
	return errors.Join(append(unknown, err)...)
}

package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// chained makes records whose links hold.
func chained(n int) []Record {
	records := make([]Record, n)
	head := ""
	for i := range records {
		r := Record{Seq: int64(i + 1), At: int64(1_700_000_000_000_000 + i), Kind: "request.approved", Actor: "p-1",
			ActorName: "Ada", Address: "192.0.2.7", Tenant: "vision",
			Request: "r-1", Workload: "w-1", Volume: "v", Rule: "whole-gpus", Detail: `{"id":"note","args":{"Note":"<ok>"}}`}
		if i%2 == 1 { // every other one is from before these were recorded
			r.Behalf, r.BehalfName, r.Via, r.Credential, r.CredentialName, r.Changes = "p-2", "Eve", "token", "gpp_1", "nightly",
				`[{"field":"shared","new":"true"}]`
		}
		r.Link = r.Next(head)
		head, records[i] = r.Link, r
	}
	return records
}

func dump(t *testing.T, records []Record) *bytes.Buffer {
	t.Helper()
	b := &bytes.Buffer{}
	for _, r := range records {
		if err := json.NewEncoder(b).Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func TestVerifyHolds(t *testing.T) {
	records := chained(50)
	c, err := Verify(dump(t, records))
	if err != nil || c.Count != 50 || c.First != 1 || c.Last != 50 || c.Head != records[49].Link {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := Verify(dump(t, records[20:])); err != nil || c.First != 21 || c.Count != 30 {
		t.Errorf("an extract: %+v, %v", c, err)
	}
}

// Whatever field of whatever record is changed, and whichever record is missing, doubled or moved, the first broken
// place is named.
func TestEveryChangeBreaksTheChain(t *testing.T) {
	const n = 12
	fields := reflect.TypeFor[Record]().NumField()
	for i := range n {
		for f := range fields {
			records := chained(n)
			field := reflect.ValueOf(&records[i]).Elem().Field(f)
			if field.Kind() == reflect.String {
				field.SetString(field.String() + "x")
			} else {
				field.SetInt(field.Int() + 1)
			}
			if at := brokenAt(t, records); at < int64(i+1) || at > int64(i+2) {
				t.Errorf("field %d of event %d changed: broken at %d", f, i+1, at)
			}
		}
		if i > 0 && i < n-1 { // the loss of the first or last makes an extract; the noted head tells
			if at := brokenAt(t, slices.Delete(chained(n), i, i+1)); at != int64(i+2) {
				t.Errorf("event %d is missing: broken at %d", i+1, at)
			}
		}
	}
	for range 50 {
		records := chained(n)
		rand.Shuffle(n, func(i, j int) { records[i], records[j] = records[j], records[i] })
		if slices.IsSortedFunc(records, func(a, b Record) int { return int(a.Seq - b.Seq) }) {
			continue
		}
		brokenAt(t, records)
	}
}

// A text moved from the end of one field to the beginning of the next is another record.
func TestFieldsDoNotRunTogether(t *testing.T) {
	a, b := Record{Seq: 1, Actor: "ab", ActorName: "c"}, Record{Seq: 1, Actor: "a", ActorName: "bc"}
	if a.Next("") == b.Next("") {
		t.Error("want different links")
	}
}

// TestTheLinkOfAKnownEvent pins the format, computed by another program: 64-bit big-endian numbers and lengths.
func TestTheLinkOfAKnownEvent(t *testing.T) {
	r := Record{Seq: 7, At: 1_700_000_000_000_000, Kind: "request.approved", Actor: "p-1", ActorName: "Ada",
		Address: "192.0.2.7", Tenant: "vision", Request: "r-1", Workload: "w-1", Volume: "v", Rule: "whole-gpus",
		Detail: `{"id":""}`, Behalf: "p-2", BehalfName: "Bo", Via: "token", Credential: "t-1", CredentialName: "ci",
		Changes: "[]"}
	if got, want := r.Next("before"), "050da1c4a0d82804a2cf24b6b855923a7240e7d66cf44e35d8ad3b0fb3df6cf3"; got != want {
		t.Errorf("want %s, got %s", want, got)
	}
}

func TestAnEventWithoutALink(t *testing.T) {
	for name, c := range map[string]struct {
		records []Record
		at      int64
	}{
		"first":            {[]Record{{Seq: 1}}, 1},
		"after the others": {append(chained(3), Record{Seq: 4}), 4},
	} {
		if at := brokenAt(t, c.records); at != c.at {
			t.Errorf("%s: want a break at %d, got %d", name, c.at, at)
		}
	}
}

func TestWhatIsNoDump(t *testing.T) {
	for _, text := range []string{"", "\n\n", "{", "seq,at\n1,2", "[]", strings.Repeat("x", 2<<20)} {
		if _, err := Verify(strings.NewReader(text)); err == nil {
			t.Errorf("%.20q: want an error", text)
		}
	}
}

func brokenAt(t *testing.T, records []Record) int64 {
	t.Helper()
	_, err := Verify(dump(t, records))
	var b *Break
	if !errors.As(err, &b) {
		t.Errorf("want a break, got %v", err)
		return 0
	}
	return b.Seq
}

// TestWhatNoLinkHoldsIsRefused: a field that is in no link could say anything in a verified dump.
func TestWhatNoLinkHoldsIsRefused(t *testing.T) {
	whole := dump(t, chained(3)).String()
	for name, change := range map[string]func(string) string{
		"a field more": func(s string) string {
			return strings.Replace(s, `{"seq":2,`, `{"seq":2,"approvedBy":"eve",`,
				1)
		},
		"in other letters": func(s string) string { return strings.Replace(s, `{"seq":2,`, `{"seq":2,"Actor":"eve",`, 1) },
		"a name twice":     func(s string) string { return strings.Replace(s, `{"seq":2,`, `{"seq":2,"actor":"eve",`, 1) },
		"something behind": func(s string) string { return strings.Replace(s, "}\n", "} {}\n", 1) },
		"a list in a field": func(s string) string {
			return strings.Replace(s, `"actorName":"Ada"`, `"actorName":["Ada"]`,
				1)
		},
	} {
		if _, err := Verify(strings.NewReader(change(whole))); err == nil || !strings.Contains(err.Error(), "is no record") {
			t.Errorf("%s: want a refusal that names the line, got %v", name, err)
		}
	}
	if _, err := Verify(strings.NewReader(whole)); err != nil {
		t.Error(err)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte(`{"seq":1,"at":1,"kind":"request.approved","actor":"p-1","link":""}`))
	f.Add([]byte("{\"seq\":1}\n\n{\"seq\":2}"))
	f.Add([]byte("[]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Verify(bytes.NewReader(data))
		if err == nil && (c.Count < 1 || c.Last-c.First+1 != c.Count) {
			t.Errorf("verified, and the numbers do not agree: %+v", c)
		}
	})
}

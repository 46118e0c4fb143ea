package license

import (
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

var pools = []Pool{vcs, {Name: "vws", Feature: "NVIDIA RTX Virtual Workstation"}}

func utf16le(text string) []byte {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(text)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return out
}

func TestCSV(t *testing.T) {
	day := func(y, m, d int) time.Time { return time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC) }
	want := []Entitlement{
		{ID: "line-2", Pool: "vcs", Reference: "Größe 7", Seats: 24, From: day(2026, 1, 1), Until: day(2027, 1, 1),
			Origin: Imported},
		{ID: "line-3", Pool: "vws", Seats: 2, Origin: Imported},
	}
	const comma = "Feature Name,Total Quantity,Start Date,End Date,Entitlement ID,Product " +
		"Family\nNVIDIA-Virtual-Compute-Server,24,2026-01-01,2026-12-31,Größe 7,x\nvws,2,,,\n"
	for sentence, file := range map[string][]byte{
		"commas":                     []byte(comma),
		"a mark of UTF-8":            append([]byte{0xef, 0xbb, 0xbf}, comma...),
		"UTF-16, as spreadsheets do": utf16le(strings.ReplaceAll(comma, ",", "\t")),
		"semicolons and German dates": []byte(
			"feature;seats;from;until;reference;productFamily\r\nvcs;24;01.01.2026;31.12.2026;Größe 7;x\r\nVWS;2;;;\r\n\r\n"),
		"Latin-1, as old spreadsheets do": []byte(
			"feature;seats;from;until;reference;productFamily\r\nvcs;24;01.01.2026;31.12.2026;Gr\xf6\xdfe 7;x\r\nVWS;2;;;\r\n"),
		"quoted, other order": []byte("reference,\"until\",pool,count,validFrom,Product Family\n\"Größe " +
			"7\",2027-01-01T00:00:00Z,vcs,24,2026-01-01,x\n,,vws,2,,\n"),
	} {
		got := ParseCSV(file, pools, nil)
		if len(got.Problems) > 0 || len(got.Ignored) != 1 {
			t.Errorf("%s: %+v", sentence, got)
		}
		if diff := cmp.Diff(want, got.Entitlements); diff != "" {
			t.Errorf("%s: %s", sentence, diff)
		}
	}
}

func TestCSVNamesEveryProblem(t *testing.T) {
	type problem struct {
		Line int
		ID   string
	}
	for sentence, c := range map[string]struct {
		file string
		want []problem
	}{
		"nothing":         {"", []problem{{0, "licenses.csv_empty"}}},
		"a heading alone": {"feature,seats\n", []problem{{0, "licenses.csv_empty"}}},
		"other columns":   {"Name,Owner\na,b\n", []problem{{1, "licenses.csv_column"}, {1, "licenses.csv_column"}}},
		"a column twice":  {"feature,seats,count\nvcs,1,2\n", []problem{{1, "licenses.csv_twice"}}},
		"a picture":       {"\x89PNG\r\n\x1a\n\x00\x00", []problem{{0, "licenses.csv_encoding"}}},
		"an open quote":   {"feature,seats\nvcs,\"1\nvcs,2\n", []problem{{2, "licenses.csv_broken"}}},
		"each line by itself": {
			"feature,seats,from,until,reference\nvcs,-3,,,\nother,many,03/04/2026,,\nvcs,1,2026-02-01,2026-01-01,\n",
			[]problem{{2, "licenses.seats_too_few"}, {3, "licenses.csv_pool"}, {3, "licenses.csv_number"},
				{3, "licenses.csv_date"}, {4, "licenses.ends_before"}}},
		"the same purchase twice, and one that is entered": {"feature,seats,reference\nvcs,1,A\nvcs,2,A\nvcs,2,B\nvcs,3,B\n",
			[]problem{{3, "licenses.overlaps"}, {5, "licenses.overlaps"}}},
	} {
		p := ParseCSV([]byte(c.file), pools, []Entitlement{{ID: "e", Pool: "vcs", Reference: "B", Seats: 1}})
		var got []problem
		for _, x := range p.Problems {
			got = append(got, problem{x.Line, x.Reason.ID})
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", sentence, diff)
		}
	}
	if p := ParseCSV(make([]byte, MaxCSV+1), pools, nil); len(p.Problems) != 1 ||
		p.Problems[0].Reason.ID != "licenses.csv_big" {
		t.Errorf("a file that is too big: %+v", p.Problems)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte("feature,seats,from,until,reference\nvcs,24,2026-01-01,2026-12-31,A\n"))
	f.Add(utf16le("feature\tseats\nvcs\t3\n"))
	f.Add([]byte("feature;seats\n\"vcs;1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := ParseCSV(data, pools, nil)
		if len(p.Problems)+len(p.Entitlements) == 0 {
			t.Error("neither lines nor problems")
		}
		for i, e := range p.Entitlements {
			if len(Check(e, p.Entitlements[:i])) > 0 || e.Seats <= 0 || e.Pool == "" {
				t.Errorf("not sound: %+v", e)
			}
		}
	})
}

// TestCSVSaysWhatBecomesOfEachLine: a purchase that is entered already is changed by its reference, in place, or left
// alone.
func TestCSVSaysWhatBecomesOfEachLine(t *testing.T) {
	there := []Entitlement{{ID: "l-a", Pool: "vcs", Reference: "A", Seats: 1}, {ID: "l-b", Pool: "vcs", Reference: "B",
		Seats: 2},
		{ID: "l-c", Pool: "vcs", Reference: "C", Seats: 2}, {ID: "l-d", Pool: "vcs", Reference: "C", Seats: 2}}
	p := ParseCSV([]byte("feature,seats,reference\nvcs,1,A\nvcs,5,B\nvcs,4,\nvcs,-4,N\nvcs,9,C\nvws,5,B\n"), pools, there)
	want := []ImportOutcome{Unchanged, Changed, Added, Refused, Refused, Added}
	var got []ImportOutcome
	for _, l := range p.Lines {
		got = append(got, l.Outcome)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if l := p.Lines[1]; l.Line != 3 || l.Was.ID != "l-b" || l.Seats != "5" || l.Reference != "B" {
		t.Errorf("want the third line to stand for the second entry, got %+v", l)
	}
	if l := p.Lines[3]; l.Seats != "-4" || len(l.Reasons) != 1 || l.Reasons[0].ID != "licenses.seats_too_few" {
		t.Errorf("want the number as it stands, with its reason, got %+v", l)
	}
	ids := map[string]bool{}
	for _, e := range p.Entitlements {
		ids[e.ID] = true
	}
	if len(p.Entitlements) != 3 || !ids["l-b"] || ids["l-a"] {
		t.Errorf("want the change in place, two new ones, and nothing of what is the same, got %+v", p.Entitlements)
	}
}

func TestCSVSaysHowItWasRead(t *testing.T) {
	for want, file := range map[string][]byte{"UTF-8": []byte("feature,seats\nvcs,1\n"),
		"UTF-16": utf16le("feature,seats\nvcs,1\n"), "Latin-1": []byte("feature,seats\nvcs,1\nvws,2,\xe4\n")} {
		if p := ParseCSV(file, pools, nil); p.Encoding != want || len(p.Problems) > 0 {
			t.Errorf("want %s, got %q and %+v", want, p.Encoding, p.Problems)
		}
	}
}

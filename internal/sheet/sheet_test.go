package sheet

import (
	"encoding/csv"
	"strings"
	"testing"
)

func TestNothingRuns(t *testing.T) {
	var out strings.Builder
	w := NewWriter(&out)
	row := []string{"=1+1", "+1", "-1+1", "-1.50", "-1\n=1", "@cmd", "\tx", "\rx", "", "a=b", "say \"hi\", all"}
	if err := w.Write(row); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "'=1+1,'+1,'-1+1,-1.50,\"'-1\n=1\",'@cmd,'\tx,\"'\rx\",,a=b,\"say \"\"hi\"\", all\"\n"
	if got := out.String(); got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	if row[0] != "=1+1" {
		t.Error("the caller's row was changed")
	}
}

// FuzzRow: no cell runs, each is read back as it was written, and writing it again changes nothing.
func FuzzRow(f *testing.F) {
	for _, cell := range []string{"=1+1", "-1.50", "\"", "a,b", "\r\n", "\t=", "'=x", "\ufeff=1", ""} {
		f.Add(cell, "b")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		var out strings.Builder
		w := NewWriter(&out)
		if err := w.Write([]string{a, b}); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		row, err := csv.NewReader(strings.NewReader(out.String())).Read()
		if err != nil || len(row) != 2 {
			t.Fatalf("%q: %q, %v", out.String(), row, err)
		}
		for i, cell := range []string{a, b} {
			want := strings.ReplaceAll(Harmless(cell), "\r\n", "\n") // encoding/csv reads line ends as one
			if row[i] != want {
				t.Errorf("%q: want %q, got %q", cell, want, row[i])
			}
			if Harmless(Harmless(cell)) != Harmless(cell) {
				t.Errorf("%q: twice is not once", cell)
			}
			if c := Harmless(cell); c != "" && strings.ContainsRune("=+@\t\r", rune(c[0])) {
				t.Errorf("%q runs", c)
			}
		}
	})
}

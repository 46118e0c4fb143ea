package sheet

import (
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

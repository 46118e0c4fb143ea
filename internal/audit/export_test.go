package audit

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// shelf is a store in memory.
type shelf struct {
	events  []Event
	records []Record
	fail    error
}

func (s shelf) Events(_ context.Context, f Filter) ([]Event, string, error) {
	at, _ := strconv.Atoi(f.Cursor)
	end := min(at+f.Limit, len(s.events))
	next := ""
	if end < len(s.events) {
		next = strconv.Itoa(end)
	}
	return s.events[at:end], next, s.fail
}

func (s shelf) Records(_ context.Context, after int64, limit int) ([]Record, error) {
	return s.records[min(int(after), len(s.records)):min(int(after)+limit, len(s.records))], s.fail
}

func TestExportRecordsIsWhatVerifyReads(t *testing.T) {
	var b bytes.Buffer
	want := chained(1_234)
	sent, err := ExportRecords(context.Background(), shelf{records: want}, &b)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Verify(&b)
	if diff := cmp.Diff(sent, got); diff != "" || err != nil || got.Count != 1_234 {
		t.Error(diff, err, got)
	}
}

func TestABrokenRecordIsExportedWhole(t *testing.T) {
	records := chained(600)
	records[10].ActorName = "Eve"
	var b bytes.Buffer
	_, err := ExportRecords(context.Background(), shelf{records: records}, &b)
	var broken *Break
	if !errors.As(err, &broken) || broken.Seq != 11 {
		t.Errorf("want a break at event 11, got %v", err)
	}
	if lines := bytes.Count(b.Bytes(), []byte("\n")); lines != 600 {
		t.Errorf("want all 600 lines, got %d", lines)
	}
}

func TestExportCSV(t *testing.T) {
	var events []Event
	for i := range 1_001 {
		events = append(events, Event{Seq: int64(i), At: time.Unix(1_700_000_000, 0), Kind: RequestRejected,
			ActorName: `=HYPERLINK("https://evil.example")`, Detail: i18n.Literal("a,\n\"b\"")})
	}
	var b bytes.Buffer
	say := func(t i18n.Text) string { return t.ID }
	if err := ExportCSV(context.Background(), shelf{events: events}, Filter{}, say, &b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 1_002 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if got := rows[7][5]; got != `'=HYPERLINK("https://evil.example")` {
		t.Errorf("a spreadsheet would run %s", got)
	}
	if rows[1][1] != "2023-11-14T22:13:20Z" || rows[1][3] != "audit.request.rejected" {
		t.Error(rows[1])
	}
}

func TestExportSaysWhenTheStoreIsAway(t *testing.T) {
	gone := errors.New("gone")
	if _, err := ExportRecords(context.Background(), shelf{fail: gone}, &bytes.Buffer{}); !errors.Is(err, gone) {
		t.Error(err)
	}
	if err := ExportCSV(context.Background(), shelf{fail: gone}, Filter{}, func(i18n.Text) string { return "" },
		&bytes.Buffer{}); !errors.Is(err, gone) {
		t.Error(err)
	}
}

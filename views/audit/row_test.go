package audit

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/views/markup"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// TestRowsAreAsRead: testdata/rows.html is what somebody has read and found right, each value escaped, and an outcome
// told only where it is not OK.
func TestRowsAreAsRead(t *testing.T) {
	t.Parallel()
	bundle, err := i18n.Load()
	if err != nil {
		t.Fatal(err)
	}
	at := ui.TimeModel{Machine: "2026-01-02T03:04:05Z", Exact: "2 Jan 2026, 03:04 UTC", Words: "now", Mode: ui.TimeLocal}
	links := []LinkModel{{"w<1>", "/workloads/w-1"}, {"r-1", "javascript:alert(1)"}}
	var out strings.Builder
	ctx := markup.WithOutermost(ui.WithLocalizer(context.Background(), bundle.For("en")))
	for _, r := range []RowModel{
		{Seq: "1"},
		{Seq: "2", Day: at, Time: at, Who: `A "B" & C`, What: "did <it>", Detail: "d'e", Team: "Vision",
			Rule: "small & cheap", Links: links[:1]},
		{Seq: "3", Day: at, SameDay: true, Time: at, Who: "A", What: "did", Links: links},
		{Seq: "4", Who: "A", What: "did", Links: links, Facts: []FactModel{{"address", "<192.0.2.1>"}, {"via", "session"}}},
		{Seq: "5", Who: "A", Facts: []FactModel{{"rule", "r"}}, Changes: []ChangeModel{{"f", "a", "b"}, {"<g>", "", "&"},
			{"h", "'", ""}, {"i", "", ""}}},
		{Seq: "6", Changes: []ChangeModel{{"f", "a", "b"}}},
		{Seq: "7", Who: "A", What: "did", Outcome: ui.StateModel{Kind: ui.OK, Word: "OK", Test: "outcome"}},
		{Seq: "8", Who: "A", What: "did", Outcome: ui.StateModel{Kind: ui.Warning, Word: "refused", Test: "outcome"}},
	} {
		if err := row(r).Render(ctx, &out); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	want, err := os.ReadFile("testdata/rows.html")
	if err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != string(want) {
		t.Errorf("want\n%s\ngot\n%s", want, got)
	}
}

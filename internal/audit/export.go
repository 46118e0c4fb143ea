package audit

import (
	"context"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/sheet"
)

// Reader gives what is stored: events for people, newest first, and records for proof, oldest first.
type Reader interface {
	Events(ctx context.Context, f Filter) (events []Event, next string, err error)
	Records(ctx context.Context, after int64, limit int) ([]Record, error)
}

// exportPage is how much is read at once; it bounds the memory of an export, not its length.
const exportPage = 500

// ExportRecords writes the whole record, one JSON object a line, oldest first: what Verify reads. It checks the chain
// on the way and gives what it saw; a *Break does not stop the export, for then it is needed most.
func ExportRecords(ctx context.Context, from Reader, to io.Writer) (Chain, error) {
	var c Chain
	var broken error
	out := json.NewEncoder(to)
	for after := int64(0); ; {
		records, err := from.Records(ctx, after, exportPage)
		if err != nil {
			return c, err
		}
		for _, r := range records {
			if broken == nil {
				broken = c.Add(r)
			}
			if err := out.Encode(r); err != nil {
				return c, err
			}
			after = r.Seq
		}
		if len(records) < exportPage {
			return c, broken
		}
	}
}

// CredentialOf names what the actor came in with: "nightly (gpp_…)", or the id alone.
func (e Event) CredentialOf() string {
	if e.CredentialName == "" {
		return e.Credential
	}
	return e.CredentialName + " (" + e.Credential + ")"
}

// changesOf is every change in one cell: "shared: false → true; …".
func changesOf(changes []Change) string {
	parts := make([]string, len(changes))
	for i, c := range changes {
		parts[i] = c.Field + ": " + c.Old + " → " + c.New
	}
	return strings.Join(parts, "; ")
}

// ExportCSV writes the events that a filter chooses as comma-separated values for a spreadsheet, newest first, in the
// words of say.
func ExportCSV(ctx context.Context, from Reader, f Filter, say func(i18n.Text) string, to io.Writer) error {
	out := sheet.NewWriter(to)
	if err := out.Write([]string{"seq", "time", "kind", "what", "person", "person_name", "address", "tenant", "request",
		"workload", "volume", "rule", "detail", "on behalf of", "via", "credential", "changes"}); err != nil {
		return err
	}
	f.Limit, f.Cursor = exportPage, ""
	for {
		events, next, err := from.Events(ctx, f)
		if err != nil {
			return err
		}
		for _, e := range events {
			row := []string{strconv.FormatInt(e.Seq, 10), e.At.UTC().Format(time.RFC3339Nano), string(e.Kind),
				say(i18n.T("audit." + string(e.Kind))), string(e.Actor), e.ActorName, e.Address,
				e.Tenant, e.Request, e.Workload, e.Volume, e.Rule, say(e.Detail), e.BehalfName, string(e.Via), e.CredentialOf(),
				changesOf(e.Changes)}
			if err := out.Write(row); err != nil {
				return err
			}
		}
		if err := out.Flush(); err != nil || next == "" {
			return err
		}
		f.Cursor = next
	}
}

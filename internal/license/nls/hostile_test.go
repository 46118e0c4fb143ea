package nls

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/untrusted/untrustedtest"
)

// TestAnyAnswerIsReadInTime walks answers of the greatest length: a license server is another's machine.
func TestAnyAnswerIsReadInTime(t *testing.T) {
	t.Parallel()
	fill := func(head, piece string) string { return head + strings.Repeat(piece, (mostBytes-len(head))/len(piece)) }
	for name, body := range map[string]string{
		"deep":            fill(`{"virtualGroups":`, "["),
		"deep and beside": fill(`{"virtualGroups":[],"x":`, `{"a":`),
		"endless pages":   `{"virtualGroups":[],"paginationInfo":{"totalPages":2000000000}}`,
		"too long":        fill(``, " ") + "     ",
		"keys":            fill(`{`, `"a":1,`),
	} {
		untrustedtest.Within(t, name, func() {
			_, err := ask(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }, nil)
			if err == nil {
				t.Errorf("%s: want a failure", name)
			}
		})
	}
}

// FuzzFeature: what is taken over is printable, short, and counts that can be.
func FuzzFeature(f *testing.F) {
	f.Add("NVIDIA RTX Virtual Workstation", "P", "2026-01-01", "2026-12-31T00:00:00Z", 5, 3, "lab")
	f.Add("a\x00b\u202e", "", "", "permanent", -1, 0, "\xff")
	f.Add("", "", "0000-00-00", "9999-12-31", 1<<40, 1, "")
	f.Fuzz(func(t *testing.T, name, product, start, end string, total, used int, group string) {
		got, err := feature{Name: name, Product: product, Start: start, End: end, Total: &total, InUse: &used}.read(group)
		if err != nil {
			return
		}
		for _, text := range []string{got.Name, got.Product, got.Reference} {
			if clean(text) != text || len([]rune(text)) > 200 {
				t.Errorf("%q is not clean", text)
			}
		}
		if got.Name == "" || got.Total < 0 || got.InUse < 0 || got.Total > mostSeats || got.InUse > mostSeats {
			t.Errorf("%+v", got)
		}
		var _ license.Feature = got
	})
}

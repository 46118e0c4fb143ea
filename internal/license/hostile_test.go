package license

import (
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/untrusted/untrustedtest"
)

// TestAnyFileIsReadInTime walks files of the greatest length, each made to be expensive in another way.
func TestAnyFileIsReadInTime(t *testing.T) {
	t.Parallel()
	fill := func(head, piece string) []byte {
		return []byte(head + strings.Repeat(piece, (MaxCSV-len(head))/len(piece)))
	}
	for name, data := range map[string][]byte{
		"lines":          fill("feature,seats\n", "vcs,1\n"),
		"columns":        fill("feature,seats", ",feature"),
		"fields":         fill("feature,seats\n", ","),
		"one open quote": fill("feature,seats\n\"", "a"),
		"quotes":         fill("feature,seats\n", `"`),
		"line ends":      fill("", "\n"),
		"references":     fill("feature,seats,reference\n", "vcs,1,A\n"),
		"no text":        make([]byte, MaxCSV),
	} {
		untrustedtest.Within(t, name, func() {
			if p := ParseCSV(data, pools, nil); len(p.Problems)+len(p.Entitlements) == 0 {
				t.Errorf("%s: neither lines nor problems", name)
			}
		})
	}
}

package offer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/untrusted/untrustedtest"
)

// levels nests a value n deep.
func levels(n int, open, inside, shut string) string {
	return strings.Repeat(open, n) + inside + strings.Repeat(shut, n)
}

// TestDeepJSONIsRefusedAtOnce: 240 bytes of nested objects held a core for an hour, for each level was passed over
// twice.
func TestDeepJSONIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"forty objects":      levels(40, `{"a":`, "1", "}"),
		"nine thousand":      levels(9000, `{"a":`, "1", "}"),
		"lists":              levels(9000, `[`, "1", "]"),
		"under a known name": `{"sizes":` + levels(9000, `[{"a":`, "1", "}]") + `}`,
		"as long as allowed": levels(maxText/8, `{"a":`, "", ""),
	} {
		untrustedtest.Within(t, name, func() {
			if _, err := FromJSON(text); err == nil {
				t.Errorf("%s: want a refusal", name)
			}
		})
	}
}

// TestEachNodeIsWrittenOnce: as deep as is allowed, the time does not double with each level.
func TestEachNodeIsWrittenOnce(t *testing.T) {
	t.Parallel()
	text := `{"sizes":[` + levels(29, `{"a":`, `"x"`, "}") + `]}`
	untrustedtest.Within(t, "29 levels", func() {
		if out, err := FromJSON(text); err != nil || strings.Count(out, "a:") != 29 {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// TestAnyTextIsCheckedInTime walks texts of the greatest length, each made to be expensive in another way.
func TestAnyTextIsCheckedInTime(t *testing.T) {
	t.Parallel()
	fill := func(piece string) string { return strings.Repeat(piece, maxText/len(piece)) }
	var chain, wide strings.Builder
	chain.WriteString("sizes:\n")
	for i := 0; chain.Len() < maxText-100; i++ { // each is succeeded by the next
		fmt.Fprintf(&chain, "- {name: s%d, deprecated: {message: m, successor: s%d}}\n", i, i+1)
	}
	wide.WriteString("sizes:\n")
	for i := 0; wide.Len() < maxText-100; i++ {
		fmt.Fprintf(&wide, "- {name: s%d, x%d: 1}\n", i, i)
	}
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 9), i)
	}
	for name, text := range map[string]string{
		"flow lists":     fill("["),
		"flow maps":      fill("{a: "),
		"block lists":    "sizes:\n" + fill("- "),
		"indented":       indented(900),
		"one long line":  fill("x"),
		"quotes":         fill(`"`),
		"comments":       fill("#\n"),
		"anchors":        fill("- &a 1\n"),
		"aliases":        bomb + "sizes: *a9\n",
		"holds itself":   "sizes: &a [*a,*a]\nimages: *a\n",
		"questions":      fill("? "),
		"a chain":        chain.String(),
		"wrong all over": wide.String(),
		"documents":      fill("---\n"),
		"unknown names":  "sizes:\n- name: a\n" + fill("  b: 1\n"),
	} {
		untrustedtest.Within(t, name, func() {
			if c := checkText(text, nil, catalog.Default(), nil); len(c.Problems) == 0 {
				t.Errorf("%s: want problems", name)
			}
		})
	}
}

func indented(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
	}
	return b.String()
}

package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/untrusted/untrustedtest"
)

// TestAnyRuleIsCompiledInTime: CEL took 13 s for one kilobyte of nested maps, and a text may hold sixty of them.
func TestAnyRuleIsCompiledInTime(t *testing.T) {
	t.Parallel()
	nest := func(n int, open, inside, shut string) string {
		return strings.Repeat(open, n) + inside + strings.Repeat(shut, n)
	}
	for name, when := range map[string]string{
		"maps":         nest(240, "{1:", "1", "}") + " == {}",
		"lists":        nest(240, "[", "", "]") + " == []",
		"parentheses":  nest(1900, "(", "true", ")"),
		"macros":       nest(60, "[1,2].exists(x,", "true", ")"),
		"conditions":   nest(200, "true?", "true", ":true"),
		"not":          nest(3900, "!", "true", ""),
		"a long sum":   "1" + strings.Repeat("+1", 1900) + " == 1",
		"alternatives": strings.Repeat("true||", 600) + "true",
		"open":         nest(900, "a?(", "", ""),
		"a pattern":    "'" + strings.Repeat("a", 900) + "'.matches('" + strings.Repeat("(a*)*", 400) + "')",
	} {
		var text strings.Builder
		for i := 0; text.Len()+len(when) < maxText-100 && i < maxRules; i++ {
			fmt.Fprintf(&text, "- {name: r%d, when: \"%s\", outcome: allow}\n", i, when)
		}
		untrustedtest.Within(t, name, func() {
			p, problems := Parse(text.String())
			if p == nil == (len(problems) == 0) {
				t.Errorf("%s: a policy or problems, got %v, %d", name, p, len(problems))
			}
		})
	}
}

func TestDeepExpressionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, n := range []int{maxNesting + 10, 200} {
		when := strings.Repeat("[", n) + strings.Repeat("]", n) + " == []"
		if _, problems := Parse("- {name: a, when: '" + when + "', outcome: allow}\n"); len(problems) != 1 {
			t.Errorf("%d levels: want one problem, got %v", n, problems)
		}
	}
}

func TestATextThatIsTooLongIsNotCompiled(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("- {name: a, when: 'true', outcome: allow}\n", maxText/30)
	if _, problems := Parse(text); len(problems) != 1 || problems[0].Line != 1 {
		t.Errorf("want one problem, got %d", len(problems))
	}
}

// TestTheCheckEndsWithItsCaller: whoever has left needs no answer.
func TestTheCheckEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	admin := identity.Actor{Person: identity.Person{ID: "p-1"}, Via: identity.ViaToken,
		Global: []identity.Role{identity.Admin}}
	s := &Service{}
	if _, _, err := s.Check(ctx, admin, "- {name: a, when: 'true', outcome: allow}\n"); !errors.Is(err, context.Canceled) {
		t.Errorf("want the end of the call, got %v", err)
	}
	if p, problems, err := s.Check(t.Context(), admin, "- {name: a, when: 'true', outcome: allow}\n"); err != nil ||
		p == nil || len(problems) > 0 {
		t.Errorf("%v %v %v", p, problems, err)
	}
}

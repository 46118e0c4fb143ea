package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each is read as rows, and written again it decides every example as before.
func TestWhatRowsCanSayIsReadAndWritten(t *testing.T) {
	t.Parallel()
	for when, rows := range map[string]int{
		`true`: 0, `request.gpus > 1.0`: 1, `request.budget_set`: 1, `!request.budget_set && request.free == -1`: 2,
		`request.size in ["a", "b"] || request.person.startsWith("dana")`:                          2,
		`"owner" in request.roles && !("x" in request.groups)`:                                     2,
		`(request.hours > 8.0 || request.cost >= 10.5) && request.workload != "endpoint"`:          3,
		`request.size == "a\"b" && (request.hour < 6 || request.hour >= 22 || request.weekday==0)`: 4,
	} {
		c, ok := ReadCondition(when)
		if !ok || len(c) != rows {
			t.Errorf("%s: want %d rows, got %v %v", when, rows, c, ok)
			continue
		}
		text, problems := c.CEL()
		again, ok := ReadCondition(text)
		if len(problems) > 0 || !ok || !cmp.Equal(c, again) {
			t.Errorf("%s: written as %s: %v %v", when, text, problems, again)
		}
		decideAlike(t, when, text)
	}
	for _, r := range Defaults() {
		c, ok := ReadCondition(r.When)
		if !ok {
			t.Errorf("%s cannot be read", r.When)
			continue
		}
		text, _ := c.CEL()
		decideAlike(t, r.When, text)
	}
}

func decideAlike(t *testing.T, a, b string) {
	t.Helper()
	policyOf := func(when string) *Policy {
		p, problems := Compile([]Rule{{Name: "it", When: when, Outcome: Refuse}, {Name: "else", When: "true",
			Outcome: Allow}})
		if len(problems) > 0 {
			t.Fatalf("%s: %v", when, problems)
		}
		return p
	}
	p, q := policyOf(a), policyOf(b)
	for _, e := range Examples() {
		if p.Decide(e.Facts).Rule != q.Decide(e.Facts).Rule {
			t.Errorf("%s and %s differ", a, b)
		}
	}
}

func TestWhatRowsCannotSayIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"", "false", "a b", `(request.gpus > 1.0 && request.hours > 2.0) || request.hours > 9.0`,
		`request.hours + 1.0 > 3.0`, `1.0 < request.gpus`, `request.size.contains("x")`, `request.nothing == "x"`,
		`request.groups.exists(g, g == "x")`, `!(request.gpus > 1.0)`, `request.hours > request.cost`,
		`request.size in ["a,b"]`, `request.size == " a"`, `request.size < "a"`} {
		if c, ok := ReadCondition(when); ok {
			t.Errorf("%s: read as %v", when, c)
		}
	}
}

func TestAWrongRowIsNamed(t *testing.T) {
	t.Parallel()
	for field, term := range map[string]Term{"fact-0": {Fact: "request.luck", Op: Is, Value: "1"},
		"op-0":    {Fact: "request.size", Op: More, Value: "a"},
		"value-0": {Fact: "request.hours", Op: More, Value: "many"}} {
		if _, problems := (Condition{term}).CEL(); len(problems) != 1 || problems[0].Name != field {
			t.Errorf("%s: got %v", field, problems)
		}
	}
	if text, problems := (Condition{{Fact: "request.hours", Op: More, Value: "8,5"}}).CEL(); len(problems) > 0 ||
		text != "request.hours > 8.5" {
		t.Errorf("got %s %v", text, problems)
	}
}

const ruleText = `# Ours.
- name: big # a card
  when: request.gpus >= 1.0
  outcome: approve
  steps:
  - from: [owner]
  - from: [approver]
# The rest.
- name: rest
  when: 'true'
  outcome: allow
`

func TestOneRuleIsWrittenAmongTheOthers(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		name   string
		rule   Rule
		before string
	}{
		strings.Replace(ruleText, ">= 1.0", "> 2.0", 1): {"big", Rule{Name: "big", When: "request.gpus > 2.0",
			Outcome: Approve}, "rest"},
		ruleText + "- name: last\n  when: \"true\"\n  outcome: refuse\n  sentence: No.\n": {"", Rule{Name: "last",
			When: "true", Outcome: Refuse, Sentence: "No."}, ""},
	} {
		got, err := Written(ruleText, c.name, c.rule, c.before)
		if err != nil {
			t.Fatal(err)
		}
		p, problems := Parse(got)
		q, others := Parse(want)
		if len(problems)+len(others) > 0 || !cmp.Equal(p.Rules(), q.Rules()) || !strings.Contains(got, "# The rest.") ||
			!strings.Contains(got, "# a card") {
			t.Errorf("%v %v %s", problems, others, cmp.Diff(want, got))
		}
	}
	moved, err := Written(ruleText, "rest", Rule{Name: "rest", When: "true", Outcome: Allow}, "big")
	if p, problems := Parse(moved); err != nil || len(problems) > 0 || p.Rules()[0].Name != "rest" {
		t.Errorf("%v %v", err, problems)
	}
	for _, text := range []string{"a: 1", "[", ""} {
		if _, err := Written(text, "", Rule{}, ""); err == nil {
			t.Errorf("%q: want an error", text)
		}
	}
}

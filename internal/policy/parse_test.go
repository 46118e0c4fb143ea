package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	rules := append(Defaults(), Rule{Name: "big: \"ones\"", When: "request.gpus > 4.0\n&& request.tenant == 'vision'",
		Outcome: Approve, Sentence: "Größe # eins",
		Steps: []Step{{From: []identity.Approvers{{Role: identity.Owner}, {Group: "gpu-security"},
			{Role: identity.Approver, Scope: identity.PlatformScope}}, All: true,
			After: catalog.Duration(8 * 3600e9), Then: []identity.Approvers{{Role: identity.Admin}}}}})
	p, problems := Parse(Write(rules))
	if problems != nil {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(rules, p.Rules()); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

// TestProblemsNameTheirPlace: the column is that of the character in the text, not in the expression.
func TestProblemsNameTheirPlace(t *testing.T) {
	cases := map[string]struct{ text, place, message string }{
		"a typo": {"- name: a\n  when: request.gpu > 1.0\n  outcome: allow\n", "line 2, column 16",
			"undefined field 'gpu'"},
		"in quotes": {"- name: a\n  when: \"request.gpu > 1.0\"\n  outcome: allow\n", "line 2, column 17",
			"undefined field"},
		"in a block": {"- name: a\n  when: |\n    request.gpus > 1.0 &&\n      request.gpu > 1.0\n  outcome: " +
			"allow\n", "line 4, column 14", "undefined field"},
		"another type": {"- name: a\n  when: request.hours > 'x'\n  outcome: allow\n", "line 2, column 23",
			"no matching overload"},
		"not a question": {"- name: a\n  when: request.hours\n  outcome: allow\n", "line 2, column 9",
			"must say true or false"},
		"not CEL": {"- name: a\n  when: request.gpus >\n  outcome: allow\n", "line 2, column", "Syntax error"},
		"an unknown key": {"- name: a\n  when: 'true'\n  outcome: allow\n  tenant: x\n", "line 4, column 3",
			"unknown key \"tenant\""},
		"without end": {"- name: a\n  when: request.groups.all(a, request.groups.all(b, request.groups.all(c, a+b " +
			"!= c)))\n  outcome: allow\n", "line 2, column 9", "takes too long"},
		"a key twice": {"- name: a\n  when: 'true'\n  when: 'true'\n  outcome: allow\n", "line 3, column 3",
			"twice"},
		"no outcome": {"- name: ok\n  when: 'true'\n  outcome: allow\n- name: a\n  when: 'true'\n",
			"line 4, column 3", "unknown outcome"},
		"a name twice": {"- {name: a, when: 'true', outcome: allow}\n- {name: a, when: 'true', outcome: allow}\n",
			"line 2, column 3", "used twice"},
		"an odd length": {"- name: a\n  when: 'true'\n  outcome: approve\n  steps:\n  - from: [owner]\n    after: long\n  " +
			"  then: [admin]\n", "line 6, column 12", "length of time"},
		"a role that reads": {"- name: a\n  when: 'true'\n  outcome: approve\n  steps:\n  - from: [auditor]\n",
			"line 1, column 3", "approves nothing"},
		"a scope that is none": {"- name: a\n  when: 'true'\n  outcome: approve\n  steps:\n  - from: [{role: approver, " +
			"scope: team}]\n", "line 1, column 3", "the only scope"},
		"a scope of another role": {"- name: a\n  when: 'true'\n  outcome: approve\n  steps:\n  - from: [{role: owner, " +
			"scope: platform}]\n", "line 1, column 3", "the only scope"},
		"approvers that are both": {"- name: a\n  when: 'true'\n  outcome: approve\n  steps:\n  - from: [{role: owner, group: " +
			"x}]\n", "line 1, column 3", "either a role or a group"},
		"not a list": {"name: a\n", "line 1", "list of rules"},
		"nothing":    {"", "line 1", "list of rules"},
		"not YAML":   {"- name: a\n  when: 'x\n", "line", "not readable as YAML"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, problems := Parse(c.text)
			if p != nil || len(problems) == 0 || !strings.HasPrefix(problems[0].Error(), c.place) ||
				!strings.Contains(problems[0].Error(), c.message) {
				t.Errorf("want %s: %s, got %v", c.place, c.message, problems)
			}
		})
	}
}

func TestEveryProblemIsListed(t *testing.T) {
	_,
		problems := Parse("- {name: a, when: request.gpu > 1.0, outcome: allow}\n- {name: b, when: request.x + request.y, " +
		"outcome: allow}\n")
	if len(problems) != 3 {
		t.Errorf("want three, got %v", problems)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Write(Defaults()))
	f.Add("- name: a\n  when: |\n    request.gpu\n  outcome: allow\n  steps: [{from: [owner]}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, problems := Parse(text)
		if (p == nil) == (len(problems) == 0) {
			t.Fatalf("want either a policy or problems, got %v and %v", p, problems)
		}
		if p == nil {
			return
		}
		again, problems := Parse(Write(p.Rules()))
		if problems != nil || cmp.Diff(p.Rules(), again.Rules()) != "" {
			t.Errorf("not the same when written and read again: %v\n%s", problems, Write(p.Rules()))
		}
	})
}

// BenchmarkDecide puts a request to 200 rules of which the last one says something.
func BenchmarkDecide(b *testing.B) {
	var rules []Rule
	for range 199 {
		rules = append(rules, Rule{Name: "r" + strings.Repeat("x", len(rules)/10) + string(rune('a'+len(rules)%10)),
			When: `request.gpus > 8.0 && request.tenant in ["a", "b"] && request.hour > 20`, Outcome: Refuse})
	}
	p, problems := Compile(append(rules, Rule{Name: "last", When: "request.hours <= 24.0", Outcome: Allow}))
	if problems != nil {
		b.Fatal(problems)
	}
	f := Facts{GPUs: 9, Tenant: "vision", Hours: 8, Hour: 21}
	for b.Loop() {
		if v := p.Decide(f); v.Rule != "last" {
			b.Fatal(v)
		}
	}
}

package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/identity"
)

func TestDefaults(t *testing.T) {
	p, problems := Compile(Defaults())
	if problems != nil {
		t.Fatal(problems)
	}
	cases := map[string]struct {
		facts Facts
		want  Verdict
	}{
		"a slice for a day starts at once": {Facts{Share: 1.0 / 7, Hours: 24},
			Verdict{Outcome: Allow, Rule: "shares-and-slices"}},
		"a whole card needs an approver": {Facts{GPUs: 1, Hours: 1}, Verdict{Outcome: Approve, Rule: "whole-gpus",
			Steps: OneOf(identity.Approver)}},
		"two whole cards need one too": {Facts{GPUs: 2, Hours: 1}, Verdict{Outcome: Approve, Rule: "several-gpus",
			Steps: OneOf(identity.Approver)}},
		"a slice for four days needs one too": {Facts{Share: 0.5, Hours: 96}, Verdict{Outcome: Approve, Rule: "long-leases",
			Steps: OneOf(identity.Approver)}},
		"a slice for two days does as well": {Facts{Share: 1.0 / 7, Hours: 48},
			Verdict{Outcome: Allow, Rule: "shares-and-slices"}},
		"a turn on a card for a day starts at once": {Facts{Share: 0.25, Isolation: "none", Workload: "notebook", Hours: 24},
			Verdict{Outcome: Allow, Rule: "shares-and-slices"}},
		"a turn for two days is no way to train": {Facts{Share: 0.25, Isolation: "none", Workload: "notebook", Hours: 48},
			Verdict{Outcome: Approve, Rule: "not-to-share", Steps: OneOf(identity.Approver)}},
		"a turn is no way to serve": {Facts{Share: 0.25, Isolation: "none", Workload: "endpoint", Hours: 8},
			Verdict{Outcome: Approve, Rule: "not-to-share", Steps: OneOf(identity.Approver)}},
		"a slice serves": {Facts{Share: 0.25, Isolation: "hard", Workload: "endpoint", Hours: 48},
			Verdict{Outcome: Allow, Rule: "shares-and-slices"}},
		"without a GPU nothing is shared": {Facts{Isolation: "none", Workload: "endpoint", Hours: 48},
			Verdict{Outcome: Allow, Rule: "shares-and-slices"}},
		"exactly 72 hours is not yet too long": {Facts{Hours: 72}, Verdict{Outcome: Allow, Rule: "shares-and-slices"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := p.Decide(c.facts)
			if got.Sentence.IsZero() {
				t.Error("want a sentence for the person, got none")
			}
			if own := got.Sentence.ID == "policy.not_to_share"; own != (got.Rule == "not-to-share") {
				t.Errorf("the rule %s says %s", got.Rule, got.Sentence.ID)
			}
			got.Sentence = c.want.Sentence
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompileListsEveryProblem(t *testing.T) {
	_, problems := Compile([]Rule{
		{Name: "typo", When: `request.gpu > 1.0`, Outcome: Allow},
		{Name: "not-a-question", When: `request.hours`, Outcome: Allow},
		{Name: "fine", When: `true`, Outcome: Allow},
		{Name: "fine", When: `true`, Outcome: Allow},
		{Name: "odd", When: `true`, Outcome: "maybe"},
		{Name: "nobody", When: `true`, Outcome: Approve, Steps: []Step{{}}},
		{Name: "readers", When: `true`, Outcome: Approve, By: identity.Auditor},
		{Name: "never", When: `true`, Outcome: Approve,
			Steps: []Step{{From: []identity.Approvers{{Group: "x"}}, Then: []identity.Approvers{{Role: identity.Admin}}}}},
		{Name: "asked-for-nothing", When: `true`, Outcome: Allow, Steps: OneOf(identity.Approver)},
	})
	if len(problems) != 8 {
		t.Fatalf("want 8 problems, got %d: %v", len(problems), problems)
	}
}

func TestARuleThatFailsNeverAllows(t *testing.T) {
	p, problems := Compile([]Rule{{Name: "division", When: `1 / request.hour > 0`, Outcome: Allow}})
	if problems != nil {
		t.Fatal(problems)
	}
	if got := p.Decide(Facts{Hour: 0}); got.Outcome != Approve || got.Rule != "division" {
		t.Errorf("want an approval by rule division, got %+v", got)
	}
}

func TestNoRuleNeverAllows(t *testing.T) {
	p, _ := Compile(nil)
	if got := p.Decide(Facts{}); got.Outcome != Approve {
		t.Errorf("want approve, got %s", got.Outcome)
	}
}

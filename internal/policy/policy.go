package policy

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/ext"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Outcome is what a rule decides: allow, approve or refuse.
type Outcome string

// The outcomes.
const (
	Allow   Outcome = "allow"
	Approve Outcome = "approve" // needs an approval
	Refuse  Outcome = "refuse"
)

// Rule is one rule of the list: a CEL condition and its Outcome.
type Rule struct {
	Name     string        `json:"name"`               // shown to people
	When     string        `json:"when"`               // CEL over the facts of a request; must give a bool
	Outcome  Outcome       `json:"outcome"`            // allow, approve (needs an approval) or refuse
	By       identity.Role `json:"by,omitempty"`       // who approves, where one step is enough; default approver
	Steps    []Step        `json:"steps,omitempty"`    // who approves, in order; instead of by
	Sentence string        `json:"sentence,omitempty"` // shown to the person who asked; default a general one
}

// Facts are the variables of rules; the cel tags are their names. They are kept with each request, so that other rules
// can be tried on it later.
type Facts struct {
	Kind       string   `cel:"kind" json:"kind"`         // "start", "extend", "more-quota", "external-reach"
	Workload   string   `cel:"workload" json:"workload"` // "notebook", "endpoint", "job"
	Tenant     string   `cel:"tenant" json:"tenant"`
	Person     string   `cel:"person" json:"person"` // e-mail address of the asker
	Roles      []string `cel:"roles" json:"roles"`   // of the asker in the tenant
	Groups     []string `cel:"groups" json:"groups"` // of the asker, as the sign-in provider spells them
	Size       string   `cel:"size" json:"size"`
	Technology string   `cel:"technology" json:"technology"`
	Isolation  string   `cel:"isolation" json:"isolation"`
	GPUs       float64  `cel:"gpus" json:"gpus"`   // whole cards that the size takes: 0 for shares and slices
	Share      float64  `cel:"share" json:"share"` // of one card
	Hours      float64  `cel:"hours" json:"hours"` // whole lease, with what it already had
	Cost       float64  `cel:"cost" json:"cost"`   // of the whole lease, in the currency's major unit
	QuotaUsed  int64    `cel:"quota_used" json:"quotaUsed"`
	QuotaLimit int64    `cel:"quota_limit" json:"quotaLimit"`
	// what the team may still hold of the size, before this
	QuotaLeft    int64 `cel:"quota_left" json:"quotaLeft"`
	Free         int64 `cel:"free" json:"free"`                  // how many of the size could start now; -1 when unknown
	Hour         int64 `cel:"hour" json:"hour"`                  // of the day, UTC
	Weekday      int64 `cel:"weekday" json:"weekday"`            // UTC; 0 is Sunday
	PastRequests int64 `cel:"past_requests" json:"pastRequests"` // of the asker, granted in the last 30 days
	// what those were estimated at, in the currency's major unit
	PastCost float64 `cel:"past_cost" json:"pastCost"`
	// whether the team has a budget
	BudgetSet bool `cel:"budget_set" json:"budgetSet"`
	// share of the month's budget, before this; 1 without a budget, below 0 where more was used
	BudgetLeft float64 `cel:"budget_left" json:"budgetLeft"`
	// share of the month's budget that this takes; 0 without a budget
	BudgetCost float64 `cel:"budget_cost" json:"budgetCost"`
	// license pool of the size; "" where it takes no seat
	SeatPool   string `cel:"seat_pool" json:"seatPool"`
	SeatsTaken int64  `cel:"seats_taken" json:"seatsTaken"` // seats that this takes of the pool; 0 without one
	// free seats of the pool, before this; -1 while nobody knows how many there are, and without a pool
	SeatsLeft    int64 `cel:"seats_left" json:"seatsLeft"`
	SeatsTotal   int64 `cel:"seats_total" json:"seatsTotal"`     // all seats of the pool; -1 like seats_left
	SeatsWaiting int64 `cel:"seats_waiting" json:"seatsWaiting"` // requests that wait for seats of the pool already
	// replicas of an endpoint; 1 of everything else. A least of 0: it sleeps while nobody calls it
	ReplicasMin int64 `cel:"replicas_min" json:"replicasMin"`
	ReplicasMax int64 `cel:"replicas_max" json:"replicasMax"` // as many as its owner may set
	// what an endpoint serves; empty for everything else, and where the image brings its model
	Model Model `cel:"model" json:"model,omitzero"`
	// whether the asker named the image's reference: neither the catalog nor the team has it
	CustomImage bool `cel:"custom_image" json:"customImage,omitempty"`
}

// Model is the model of an endpoint, as rules see it.
type Model struct {
	Source        string `cel:"source" json:"source,omitempty"` // "hub", "storage", "s3", "oci"
	Name          string `cel:"name" json:"name,omitempty"`
	Revision      string `cel:"revision" json:"revision,omitempty"`
	ContextLength int64  `cel:"context_length" json:"contextLength,omitempty"` // 0: the model's own
	Quantization  string `cel:"quantization" json:"quantization,omitempty"`
	Engine        string `cel:"engine" json:"engine,omitempty"` // of the image: "vllm"
}

// Verdict is the decision of the rules: outcome, the rule's name, and the steps of approvers.
type Verdict struct {
	Outcome  Outcome
	Rule     string
	Steps    []Step // whose approvals are needed; for Approve only, and then at least one
	Sentence i18n.Text
}

// Who names the approvers of all steps, as in "team owner, then approver".
func (v Verdict) Who() i18n.Text { return Who(v.Steps) }

// Policy is a compiled set of rules.
type Policy struct {
	env       *cel.Env
	rules     []Rule
	programs  []cel.Program
	approvers []identity.Approvers
	why       i18n.Text // said instead of the usual sentence; zero for that
}

// UnreadableRule is the name of the decision while none of the saved rules can be read.
const UnreadableRule = "rules-unreadable"

// Unreadable is the policy that sends everything to an approver. It is in effect where administrators have saved rules
// and this program can read none of them: neither what they replaced nor anything that is allowed may come back by
// that.
func Unreadable() *Policy {
	p, problems := Compile([]Rule{{Name: UnreadableRule, When: "true", Outcome: Approve}})
	if len(problems) > 0 {
		panic(problems[0]) // a constant
	}
	p.why = i18n.T("policy.unreadable")
	return p
}

// Rules are the rules that the policy was made of.
func (p *Policy) Rules() []Rule { return p.rules }

// Approvers are everybody whose approval some rule asks for, each once.
func (p *Policy) Approvers() []identity.Approvers { return p.approvers }

// notToShare is the rule for what a share without isolation is wrong for: a service whose response times count, and
// long work, which on a share is mostly training. It has a sentence of its own.
const notToShare = "not-to-share"

// Defaults make sense out of the box: shares and slices start at once inside quota, for up to 72 hours; whole GPUs,
// longer leases, and what is better not on a share without isolation need an approver. Between a day and three a slice
// is still nobody's to wait for: the quota bounds what a team can take, and the lease gives it back.
func Defaults() []Rule {
	return []Rule{
		{Name: "several-gpus", When: `request.gpus > 1.0`, Outcome: Approve, By: identity.Approver},
		{Name: "whole-gpus", When: `request.gpus >= 1.0`, Outcome: Approve, By: identity.Approver},
		{Name: notToShare, When: `request.isolation == "none" && request.share > 0.0 && request.share < 1.0 && ` +
			`(request.workload == "endpoint" || request.hours > 24.0)`, Outcome: Approve, By: identity.Approver},
		{Name: "long-leases", When: `request.hours > 72.0`, Outcome: Approve, By: identity.Approver},
		{Name: "shares-and-slices", When: `true`, Outcome: Allow},
	}
}

// Compile checks all rules and lists every problem, each with the rule and, for CEL, line and column.
func Compile(rules []Rule) (*Policy, []error) {
	p, found := compileAll(context.Background(), rules)
	var problems []error
	for _, w := range found {
		text := w.message
		if w.line > 0 {
			text = fmt.Sprintf("line %d, column %d: %s", w.line, w.column, text)
		}
		problems = append(problems, fmt.Errorf("rule %d %q: %s", w.rule+1, rules[w.rule].Name, text))
	}
	return p, problems
}

// wrong is what is wrong with one of several rules; line and column are those of its expression, 1 and up, 0 for the
// rule as a whole.
type wrong struct {
	rule, line, column int
	message            string
}

func compileAll(ctx context.Context, rules []Rule) (*Policy, []wrong) {
	env, err := cel.NewEnv(
		ext.NativeTypes(reflect.TypeFor[Facts](), ext.ParseStructTags(true)),
		cel.Variable("request", cel.ObjectType("policy.Facts")),
		cel.ParserRecursionLimit(maxNesting),
	)
	if err != nil {
		return nil, []wrong{{message: err.Error()}}
	}
	p := &Policy{env: env, rules: rules}
	var found []wrong
	seen := map[string]bool{}
	for i, r := range rules {
		if ctx.Err() != nil { // nobody waits for the answer any more
			return nil, []wrong{{message: ctx.Err().Error()}}
		}
		program, problems := compile(env, r)
		if seen[r.Name] && len(problems) == 0 {
			problems = []wrong{{message: "the name is used twice"}}
		}
		seen[r.Name] = true
		for _, w := range problems {
			w.rule = i
			found = append(found, w)
		}
		p.programs = append(p.programs, program)
		p.add(r.steps())
	}
	if len(found) > 0 {
		return nil, found
	}
	return p, nil
}

func (p *Policy) add(steps []Step) {
	for _, s := range steps {
		for _, approver := range slices.Concat(s.From, s.Then) {
			if !slices.Contains(p.approvers, approver) {
				p.approvers = append(p.approvers, approver)
			}
		}
	}
}

func compile(env *cel.Env, r Rule) (cel.Program, []wrong) {
	if err := r.check(); err != nil {
		return nil, []wrong{{message: err.Error()}}
	}
	ast, issues := env.Compile(r.When)
	if issues.Err() != nil {
		var found []wrong
		for _, e := range issues.Errors() {
			found = append(found, wrong{line: e.Location.Line(), column: e.Location.Column() + 1, message: e.Message})
		}
		return nil, found
	}
	if ast.OutputType() != cel.BoolType {
		return nil, []wrong{{line: 1, column: 1, message: fmt.Sprintf("must say true or false, gives %s", ast.OutputType())}}
	}
	if cost, err := env.EstimateCost(ast, sizes{}); err != nil || cost.Max > maxCost {
		return nil, []wrong{{line: 1, column: 1, message: fmt.Sprintf("takes too long to work out: at worst %d steps, at "+
			"most %d", cost.Max, maxCost)}}
	}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, []wrong{{line: 1, column: 1, message: err.Error()}}
	}
	return program, nil
}

// maxNesting bounds how deep an expression nests: CEL's type checker needs more than cubic time in it, 13 s for one
// kilobyte of {1:{1:...}} at the parser's own limit of 250. The built-in rules need less than 9.
const maxNesting = 24

// maxCost bounds an expression when it is written, by CEL's own estimate; counting while it is worked out would take as
// long again.
const maxCost = 100_000

// sizes tells the estimate how long texts and lists can be at most.
type sizes struct{}

// EstimateSize is 256 for all that a person has: characters of a name, groups.
func (sizes) EstimateSize(checker.AstNode) *checker.SizeEstimate {
	return &checker.SizeEstimate{Max: 256}
}

// EstimateCallCost leaves calls to CEL.
func (sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

const (
	maxName     = 60  // characters; it is shown in lists
	maxSentence = 500 // characters
	maxWhen     = 4000
)

// check is everything but the expression.
func (r Rule) check() error {
	switch {
	case r.Name == "":
		return fmt.Errorf("a rule needs a name")
	case utf8.RuneCountInString(r.Name) > maxName:
		return fmt.Errorf("a name has at most %d characters", maxName)
	case utf8.RuneCountInString(r.Sentence) > maxSentence:
		return fmt.Errorf("a sentence has at most %d characters", maxSentence)
	case len(r.When) > maxWhen:
		return fmt.Errorf("\"when\" has at most %d bytes", maxWhen)
	case strings.TrimSpace(r.When) == "":
		return fmt.Errorf("\"when\" is missing: what has to be so; true for always")
	case r.Outcome != Allow && r.Outcome != Approve && r.Outcome != Refuse:
		return fmt.Errorf("unknown outcome %q: allow, approve or refuse", r.Outcome)
	case r.Outcome != Approve && (len(r.Steps) > 0 || r.By != ""):
		return fmt.Errorf("\"by\" and \"steps\" are for the outcome approve")
	case len(r.Steps) > 0 && r.By != "":
		return fmt.Errorf("\"by\" and \"steps\": only one of them can be meant")
	}
	for i, s := range r.steps() {
		if err := s.check(); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// Decide applies the rules to the facts. Where no rule matches, an approval is needed: nothing is allowed by omission.
func (p *Policy) Decide(f Facts) Verdict {
	if !f.BudgetSet {
		f.BudgetLeft, f.BudgetCost = 1, 0
	}
	// once for all rules: it is most of the work
	facts, err := cel.NewActivation(map[string]any{"request": p.env.CELTypeAdapter().NativeToValue(f)})
	if err != nil {
		return verdict(Rule{Name: "no-rule", Outcome: Approve}, i18n.T("policy.rule_failed"))
	}
	for i, program := range p.programs {
		out, _, err := program.Eval(facts)
		if err != nil {
			return verdict(Rule{Name: p.rules[i].Name, Outcome: Approve}, i18n.T("policy.rule_failed"))
		}
		if matched, ok := out.Value().(bool); ok && matched {
			return verdict(p.rules[i], p.why)
		}
	}
	return verdict(Rule{Name: "no-rule", Outcome: Approve}, i18n.T("policy.no_rule"))
}

// steps are whose approvals a rule needs: one approver's where it says nothing.
func (r Rule) steps() []Step {
	switch {
	case r.Outcome != Approve:
		return nil
	case len(r.Steps) > 0:
		return r.Steps
	case r.By != "":
		return OneOf(r.By)
	}
	return OneOf(identity.Approver)
}

// Verdict is what the rule leads to.
func (r Rule) Verdict() Verdict { return verdict(r, i18n.Text{}) }

func verdict(r Rule, sentence i18n.Text) Verdict {
	v := Verdict{Outcome: r.Outcome, Rule: r.Name, Steps: r.steps(), Sentence: sentence}
	switch {
	case r.Sentence != "":
		v.Sentence = i18n.Literal(r.Sentence)
	case r.Name == notToShare && v.Sentence.IsZero():
		v.Sentence = i18n.T("policy.not_to_share", "By", v.Who())
	case v.Sentence.IsZero():
		v.Sentence = i18n.T("policy."+string(r.Outcome), "By", v.Who())
	}
	return v
}

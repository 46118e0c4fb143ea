package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Problem is an error in the text of rules. Line and column begin with 1; 0 where none can be named.
type Problem struct {
	Line, Column int
	Rule         string // its name, as far as it has one
	Message      string
}

// Error is the problem in one line.
func (p Problem) Error() string {
	text := p.Message
	if p.Rule != "" {
		text = fmt.Sprintf("%q: %s", p.Rule, text)
	}
	switch {
	case p.Column > 0:
		return fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, text)
	case p.Line > 0:
		return fmt.Sprintf("line %d: %s", p.Line, text)
	}
	return text
}

// maxRules bounds what every request has to be put to.
const maxRules = 500

// Parse reads and compiles a text: a YAML list of rules. Every problem is listed; without any the policy is not nil.
func Parse(text string) (*Policy, []Problem) { return parse(context.Background(), text) }

// parse is Parse that ends between two rules when the context does.
func parse(ctx context.Context, text string) (*Policy, []Problem) {
	if len(text) > maxText {
		return nil, []Problem{{Line: 1, Message: fmt.Sprintf("at most %d bytes", maxText)}}
	}
	p := parser{lines: strings.Split(text, "\n")}
	p.list(text)
	if len(p.problems) > 0 {
		return nil, p.sorted()
	}
	rules := make([]Rule, len(p.rules))
	for i, r := range p.rules {
		rules[i] = r.rule
	}
	compiled, wrong := compileAll(ctx, rules)
	for _, w := range wrong {
		p.place(w)
	}
	if len(p.problems) > 0 {
		return nil, p.sorted()
	}
	return compiled, nil
}

// parser goes on after a problem. It knows where each rule and its expression stand.
type parser struct {
	lines    []string
	rules    []parsed
	problems []Problem
}

type parsed struct {
	rule Rule
	at   *yaml.Node
	when *yaml.Node
}

func (p *parser) sorted() []Problem {
	slices.SortStableFunc(p.problems, func(a, b Problem) int { return a.Line - b.Line })
	return p.problems
}

func (p *parser) problem(n *yaml.Node, rule, format string, args ...any) {
	p.problems = append(p.problems, Problem{Line: n.Line, Column: n.Column, Rule: rule,
		Message: fmt.Sprintf(format, args...)})
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

func (p *parser) list(text string) {
	var doc yaml.Node
	err := yaml.NewDecoder(bytes.NewReader([]byte(text))).Decode(&doc)
	if err != nil && !errors.Is(err, io.EOF) {
		message, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
		if m := yamlLine.FindStringSubmatch(message); m != nil {
			line, _ = strconv.Atoi(m[1])
			message = strings.Replace(message, m[0], "", 1)
		}
		p.problems = append(p.problems, Problem{Line: line, Message: "not readable as YAML: " + message})
		return
	}
	if err != nil || len(doc.Content) == 0 || doc.Content[0].Kind != yaml.SequenceNode {
		p.problems = append(p.problems, Problem{Line: 1, Message: "a list of rules is wanted, each beginning with \"- " +
			"name:\""})
		return
	}
	if n := len(doc.Content[0].Content); n > maxRules {
		p.problem(doc.Content[0], "", "%d rules: at most %d", n, maxRules)
		return
	}
	for _, n := range doc.Content[0].Content {
		p.rule(n)
	}
}

// fields calls a reader for each key of a mapping; keys that nobody reads, and doubled ones, are problems.
func (p *parser) fields(n *yaml.Node, name string, readers map[string]func(*yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		p.problem(n, name, "want \"key: value\" lines")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		read := readers[key.Value]
		switch {
		case read == nil:
			p.problem(key, name, "unknown key %q", key.Value)
		case seen[key.Value]:
			p.problem(key, name, "%q stands here twice", key.Value)
		default:
			read(n.Content[i+1])
		}
		seen[key.Value] = true
	}
}

func (p *parser) text(into *string, name *string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.ScalarNode {
			p.problem(n, *name, "want text")
			return
		}
		*into = n.Value
	}
}

func (p *parser) rule(n *yaml.Node) {
	r := parsed{at: n}
	var outcome, by string
	p.fields(n, nameOf(n), map[string]func(*yaml.Node){
		"name": p.text(&r.rule.Name, &r.rule.Name), "outcome": p.text(&outcome, &r.rule.Name),
		"by": p.text(&by, &r.rule.Name), "sentence": p.text(&r.rule.Sentence, &r.rule.Name),
		"when":  func(w *yaml.Node) { r.when = w; p.text(&r.rule.When, &r.rule.Name)(w) },
		"steps": func(s *yaml.Node) { r.rule.Steps = p.steps(s, nameOf(n)) },
	})
	r.rule.Outcome, r.rule.By = Outcome(outcome), identity.Role(by)
	p.rules = append(p.rules, r)
}

func nameOf(n *yaml.Node) string {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "name" {
			return n.Content[i+1].Value
		}
	}
	return ""
}

func (p *parser) steps(n *yaml.Node, name string) []Step {
	if n.Kind != yaml.SequenceNode {
		p.problem(n, name, "\"steps\" is a list, each step beginning with \"- from:\"")
		return nil
	}
	var steps []Step
	for _, item := range n.Content {
		var s Step
		p.fields(item, name, map[string]func(*yaml.Node){
			"from": func(n *yaml.Node) { s.From = p.approvers(n, name) },
			"then": func(n *yaml.Node) { s.Then = p.approvers(n, name) },
			"all": func(n *yaml.Node) {
				if err := n.Decode(&s.All); err != nil {
					p.problem(n, name, "\"all\" is true or false")
				}
			},
			"after": func(n *yaml.Node) {
				var err error
				if s.After, err = catalog.ParseDuration(n.Value); err != nil || s.After == 0 {
					p.problem(n, name, "\"after\" is a length of time such as 8h or 2d")
				}
			},
		})
		steps = append(steps, s)
	}
	return steps
}

// approvers reads a list of "approver", "role: approver, scope: platform" or "group: name".
func (p *parser) approvers(n *yaml.Node, name string) []identity.Approvers {
	if n.Kind != yaml.SequenceNode {
		p.problem(n, name, "want a list such as [approver, {group: gpu-security}]")
		return nil
	}
	var list []identity.Approvers
	for _, item := range n.Content {
		var approver identity.Approvers
		if item.Kind == yaml.ScalarNode {
			approver.Role = identity.Role(item.Value)
		} else {
			var role, scope string
			p.fields(item, name, map[string]func(*yaml.Node){"role": p.text(&role, &name), "scope": p.text(&scope, &name),
				"group": p.text(&approver.Group, &name)})
			approver.Role, approver.Scope = identity.Role(role), identity.Scope(scope)
		}
		list = append(list, approver)
	}
	return list
}

// place turns what is wrong with a rule into a place of the text: for an expression the very character where the text
// has it as it was written.
func (p *parser) place(w wrong) {
	r := p.rules[w.rule]
	out := Problem{Line: r.at.Line, Column: r.at.Column, Rule: r.rule.Name, Message: w.message}
	if n := r.when; w.line > 0 && n != nil {
		out.Line, out.Column = n.Line, n.Column
		switch single := n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0; {
		case n.Style&yaml.LiteralStyle != 0 && n.Line+w.line <= len(p.lines):
			line := p.lines[n.Line+w.line-1]
			out.Line, out.Column = n.Line+w.line, len(line)-len(strings.TrimLeft(line, " "))+w.column
			if first := p.lines[n.Line]; w.line > 1 { // later lines may be indented more than the block
				out.Column = len(first) - len(strings.TrimLeft(first, " ")) + w.column
			}
		case single && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
			out.Column += w.column
		case single:
			out.Column += w.column - 1
		}
	}
	p.problems = append(p.problems, out)
}

// Write gives rules as a text that Parse reads: what an administrator begins with.
func Write(rules []Rule) string {
	type step struct {
		From  []any  `yaml:"from,flow"`
		All   bool   `yaml:"all,omitempty"`
		After string `yaml:"after,omitempty"`
		Then  []any  `yaml:"then,flow,omitempty"`
	}
	type rule struct {
		Name     string `yaml:"name"`
		When     string `yaml:"when"`
		Outcome  string `yaml:"outcome"`
		By       string `yaml:"by,omitempty"`
		Steps    []step `yaml:"steps,omitempty"`
		Sentence string `yaml:"sentence,omitempty"`
	}
	approvers := func(list []identity.Approvers) []any {
		var out []any
		for _, p := range list {
			switch {
			case p.Group != "":
				out = append(out, map[string]string{"group": p.Group})
			case p.Scope != "":
				out = append(out, map[string]string{"role": string(p.Role), "scope": string(p.Scope)})
			default:
				out = append(out, string(p.Role))
			}
		}
		return out
	}
	list := []rule{}
	for _, r := range rules {
		w := rule{Name: r.Name, When: r.When, Outcome: string(r.Outcome), By: string(r.By), Sentence: r.Sentence}
		for _, s := range r.Steps {
			out := step{From: approvers(s.From), All: s.All, Then: approvers(s.Then)}
			if s.After > 0 {
				out.After = s.After.String()
			}
			w.Steps = append(w.Steps, out)
		}
		list = append(list, w)
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(list); err != nil { // strings and bools only
		return ""
	}
	return b.String()
}

package policy

import (
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Condition is an expression as rows of a form. All rows must hold; those joined by Or are one group, of which
// one must.
// Without rows it is always so.
type Condition []Term

// Term is one row of a Condition: a fact, a comparison, and a value as typed.
type Term struct {
	Or    bool   // it is another way for the row above to hold
	Fact  string // "request.hours"
	Op    Op
	Value string
}

// Op is a comparison operator of a Term.
type Op string

// The comparisons, each for some types of facts.
const (
	Is         Op = "=="
	IsNot      Op = "!="
	Less       Op = "<"
	AtMost     Op = "<="
	More       Op = ">"
	AtLeast    Op = ">="
	OneOfThem  Op = "in"       // of several texts, separated by commas
	StartsWith Op = "starts"   // a text begins like this
	Contains   Op = "contains" // a list has it
	Lacks      Op = "lacks"    // a list has it not
)

// Ops are all comparisons, in the order of a menu.
func Ops() []Op {
	return []Op{Is, IsNot, More, AtLeast, Less, AtMost, OneOfThem, StartsWith, Contains, Lacks}
}

// opsOf are the comparisons that a type of fact has.
var opsOf = map[string][]Op{
	"string": {Is, IsNot, OneOfThem, StartsWith}, "double": {Is, IsNot, More, AtLeast, Less, AtMost},
	"int": {Is, IsNot, More, AtLeast, Less, AtMost}, "bool": {Is}, "list(string)": {Contains, Lacks},
}

func typeOf(fact string) string {
	all := FactNames()
	if i := slices.IndexFunc(all, func(f Fact) bool { return f.Name == fact }); i >= 0 {
		return all[i].Type
	}
	return ""
}

// CEL writes the expression. Fields are named by their row: "value-2".
func (c Condition) CEL() (string, []fault.Field) {
	var groups [][]string
	var problems []fault.Field
	for i, t := range c {
		text, field, reason := t.cel()
		if !reason.IsZero() {
			problems = append(problems, fault.Field{Name: field + "-" + strconv.Itoa(i), Reason: reason})
		}
		if t.Or && len(groups) > 0 {
			groups[len(groups)-1] = append(groups[len(groups)-1], text)
		} else {
			groups = append(groups, []string{text})
		}
	}
	if len(groups) == 0 {
		return "true", nil
	}
	var parts []string
	for _, g := range groups {
		part := strings.Join(g, " || ")
		if len(g) > 1 && len(groups) > 1 {
			part = "(" + part + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " && "), problems
}

func (t Term) cel() (text, field string, reason i18n.Text) {
	kind, value := typeOf(t.Fact), strings.TrimSpace(t.Value)
	switch {
	case kind == "":
		return "", "fact", i18n.T("policy.row_fact")
	case !slices.Contains(opsOf[kind], t.Op):
		return "", "op", i18n.T("policy.row_op")
	case value == "" && kind != "string":
		return "", "value", i18n.T("policy.row_value")
	}
	switch t.Op {
	case OneOfThem:
		var list []string
		for v := range strings.SplitSeq(value, ",") {
			if v = strings.TrimSpace(v); v != "" {
				list = append(list, quoted(v))
			}
		}
		if len(list) == 0 {
			return "", "value", i18n.T("policy.row_value")
		}
		return t.Fact + " in [" + strings.Join(list, ", ") + "]", "", i18n.Text{}
	case StartsWith:
		return t.Fact + ".startsWith(" + quoted(value) + ")", "", i18n.Text{}
	case Contains:
		return quoted(value) + " in " + t.Fact, "", i18n.Text{}
	case Lacks:
		return "!(" + quoted(value) + " in " + t.Fact + ")", "", i18n.Text{}
	}
	literal, reason := literalOf(kind, value)
	return t.Fact + " " + string(t.Op) + " " + literal, "value", reason
}

// literalOf is a typed value as CEL wants it for a type: 72 of a double is 72.0.
func literalOf(kind, value string) (string, i18n.Text) {
	switch kind {
	case "double":
		f, err := strconv.ParseFloat(strings.Replace(value, ",", ".", 1), 64)
		if err != nil || f != f || f > 1e12 || f < -1e12 {
			return "", i18n.T("policy.row_number")
		}
		text := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		return text, i18n.Text{}
	case "int":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return "", i18n.T("policy.row_whole")
		}
		return strconv.FormatInt(n, 10), i18n.Text{}
	case "bool":
		if value != "true" && value != "false" {
			return "", i18n.T("policy.row_bool")
		}
		return value, i18n.Text{}
	}
	return quoted(value), i18n.Text{}
}

// quoted is a text as CEL reads it: what Go escapes, CEL does as well.
func quoted(value string) string { return strconv.Quote(value) }

// ReadCondition reads an expression as rows; ok is false for one that rows cannot say.
func ReadCondition(when string) (c Condition, ok bool) {
	if len(when) > maxWhen {
		return nil, false
	}
	env, err := cel.NewEnv(cel.ParserRecursionLimit(maxNesting))
	if err != nil {
		return nil, false
	}
	parsed, issues := env.Parse(when)
	if issues.Err() != nil {
		return nil, false
	}
	root := parsed.NativeRep().Expr()
	if v, is := constant(root); is && v == "true" {
		return nil, true
	}
	for _, group := range flat(root, operators.LogicalAnd) {
		for i, e := range flat(group, operators.LogicalOr) {
			t, ok := readTerm(e)
			if !ok {
				return nil, false
			}
			t.Or = i > 0
			c = append(c, t)
		}
	}
	return c, true
}

// flat are the operands of an operator, however they are put in brackets.
func flat(e ast.Expr, op string) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != op {
		return []ast.Expr{e}
	}
	var all []ast.Expr
	for _, arg := range e.AsCall().Args() {
		all = append(all, flat(arg, op)...)
	}
	return all
}

var comparisons = map[string]Op{operators.Equals: Is, operators.NotEquals: IsNot, operators.Less: Less,
	operators.LessEquals: AtMost, operators.Greater: More, operators.GreaterEquals: AtLeast}

// readTerm reads one comparison of a fact with a value, in the order in which it is written by a Condition.
func readTerm(e ast.Expr) (Term, bool) {
	if fact, ok := factOf(e); ok && typeOf(fact) == "bool" {
		return Term{Fact: fact, Op: Is, Value: "true"}, true
	}
	if e.Kind() != ast.CallKind {
		return Term{}, false
	}
	call := e.AsCall()
	args := call.Args()
	switch name := call.FunctionName(); {
	case name == operators.LogicalNot:
		return readNot(args[0])
	case name == operators.In:
		return readIn(args[0], args[1])
	case name == "startsWith" && call.IsMemberFunction() && len(args) == 1:
		fact, known := factOf(call.Target())
		value, is := constant(args[0])
		return Term{Fact: fact, Op: StartsWith, Value: value}, known && is && same(fact, StartsWith, value)
	case comparisons[name] != "":
		fact, known := factOf(args[0])
		value, is := constant(args[1])
		return Term{Fact: fact, Op: comparisons[name], Value: value}, known && is && same(fact, comparisons[name], value)
	}
	return Term{}, false
}

// same reports whether a row of these says the same again: types fit, and the form changes nothing of the value.
func same(fact string, op Op, value string) bool {
	_, _, reason := Term{Fact: fact, Op: op, Value: value}.cel()
	return reason.IsZero() && strings.TrimSpace(value) == value
}

func readNot(e ast.Expr) (Term, bool) {
	t, ok := readTerm(e)
	switch {
	case ok && t.Op == Contains:
		t.Op = Lacks
	case ok && t.Op == Is && typeOf(t.Fact) == "bool" && t.Value == "true":
		t.Value = "false"
	default:
		return Term{}, false
	}
	return t, true
}

func readIn(left, right ast.Expr) (Term, bool) {
	if fact, known := factOf(right); known {
		value, is := constant(left)
		return Term{Fact: fact, Op: Contains, Value: value}, is && same(fact, Contains, value)
	}
	fact, known := factOf(left)
	if !known || right.Kind() != ast.ListKind {
		return Term{}, false
	}
	var values []string
	for _, e := range right.AsList().Elements() {
		value, is := constant(e)
		if !is || e.AsLiteral().Type() != types.StringType || value == "" || strings.Contains(value, ",") ||
			strings.TrimSpace(value) != value {
			return Term{}, false
		}
		values = append(values, value)
	}
	value := strings.Join(values, ", ")
	return Term{Fact: fact, Op: OneOfThem, Value: value}, same(fact, OneOfThem, value)
}

func factOf(e ast.Expr) (string, bool) {
	if e.Kind() != ast.SelectKind || e.AsSelect().IsTestOnly() || e.AsSelect().Operand().Kind() != ast.IdentKind {
		return "", false
	}
	fact := e.AsSelect().Operand().AsIdent() + "." + e.AsSelect().FieldName()
	return fact, typeOf(fact) != ""
}

// constant is a literal as one would type it.
func constant(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	switch v := e.AsLiteral().(type) {
	case types.String:
		return string(v), true
	case types.Double:
		return strconv.FormatFloat(float64(v), 'f', -1, 64), true
	case types.Int:
		return strconv.FormatInt(int64(v), 10), true
	case types.Bool:
		return strconv.FormatBool(bool(v)), true
	}
	return "", false
}

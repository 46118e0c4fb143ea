package capacity

import (
	"fmt"
	"reflect"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/version"
)

// The two types that Kubernetes adds to CEL for devices.
var (
	quantityType = cel.ObjectType("kubernetes.Quantity", traits.ComparerType)
	semverType   = cel.ObjectType("kubernetes.Semver", traits.ComparerType)
)

// ordered is a value that can be compared with others of its kind.
type ordered interface {
	ref.Val
	compare(other ref.Val) (order int, ok bool)
}

type quantity struct{ resource.Quantity }

func parseQuantity(text string) ref.Val {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return types.NewErr("%q is no quantity", text)
	}
	return quantity{q}
}

func (q quantity) compare(other ref.Val) (int, bool) {
	o, ok := other.(quantity)
	if !ok {
		return 0, false
	}
	return q.Cmp(o.Quantity), true
}

// Equal compares amounts, however they are written.
func (q quantity) Equal(other ref.Val) ref.Val {
	order, ok := q.compare(other)
	return types.Bool(ok && order == 0)
}

// Type is Kubernetes' own.
func (q quantity) Type() ref.Type { return quantityType }

// Value is the quantity.
func (q quantity) Value() any { return q.Quantity }

// ConvertToNative gives the quantity and nothing else.
func (q quantity) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("a quantity is no %s", t)
}

// ConvertToType refuses all others.
func (q quantity) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("a quantity is no %s", t.TypeName())
}

type semver struct{ *version.Version }

func parseSemver(text string) ref.Val {
	v, err := version.ParseSemantic(text)
	if err != nil {
		return types.NewErr("%q is no semantic version", text)
	}
	return semver{v}
}

func (v semver) compare(other ref.Val) (int, bool) {
	o, ok := other.(semver)
	switch {
	case !ok:
		return 0, false
	case v.LessThan(o.Version):
		return -1, true
	case o.LessThan(v.Version):
		return 1, true
	}
	return 0, true
}

// Equal compares versions.
func (v semver) Equal(other ref.Val) ref.Val {
	order, ok := v.compare(other)
	return types.Bool(ok && order == 0)
}

// Type is Kubernetes' own.
func (v semver) Type() ref.Type { return semverType }

// Value is the version.
func (v semver) Value() any { return v.Version }

// ConvertToNative gives the version and nothing else.
func (v semver) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("a version is no %s", t)
}

// ConvertToType refuses all others.
func (v semver) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("a version is no %s", t.TypeName())
}

// functions are those on quantities and versions.
func functions() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Function("quantity", cel.Overload("string_to_quantity", []*cel.Type{cel.StringType}, quantityType,
			ofText(parseQuantity))),
		cel.Function("isQuantity", cel.Overload("is_quantity_string", []*cel.Type{cel.StringType}, cel.BoolType,
			ofText(isGood(parseQuantity)))),
		cel.Function("semver", cel.Overload("string_to_semver", []*cel.Type{cel.StringType}, semverType,
			ofText(parseSemver))),
		cel.Function("isSemver", cel.Overload("is_semver_string", []*cel.Type{cel.StringType}, cel.BoolType,
			ofText(isGood(parseSemver)))),
		comparison("compareTo", cel.IntType, func(order int) ref.Val { return types.Int(order) }),
		comparison("isGreaterThan", cel.BoolType, func(order int) ref.Val { return types.Bool(order > 0) }),
		comparison("isLessThan", cel.BoolType, func(order int) ref.Val { return types.Bool(order < 0) }),
		arithmetic("add", func(a *resource.Quantity, b resource.Quantity) { a.Add(b) }),
		arithmetic("sub", func(a *resource.Quantity, b resource.Quantity) { a.Sub(b) }),
		ofQuantity("sign", cel.IntType, func(q resource.Quantity) ref.Val { return types.Int(q.Sign()) }),
		ofQuantity("isInteger", cel.BoolType, func(q resource.Quantity) ref.Val {
			_,
				ok := q.AsInt64()
			return types.Bool(ok)
		}),
		ofQuantity("asInteger", cel.IntType, asInteger),
		ofQuantity("asApproximateFloat", cel.DoubleType,
			func(q resource.Quantity) ref.Val { return types.Double(q.AsApproximateFloat64()) }),
		ofVersion("major", (*version.Version).Major), ofVersion("minor", (*version.Version).Minor),
		ofVersion("patch", (*version.Version).Patch),
	}
}

func ofText(f func(string) ref.Val) cel.OverloadOpt {
	return cel.UnaryBinding(func(v ref.Val) ref.Val { return f(v.Value().(string)) })
}

func isGood(parse func(string) ref.Val) func(string) ref.Val {
	return func(text string) ref.Val { return types.Bool(!types.IsError(parse(text))) }
}

// comparison exists for both types; a value of unknown type, as attributes are, is told at run time.
func comparison(name string, result *cel.Type, of func(order int) ref.Val) cel.EnvOption {
	binding := cel.BinaryBinding(func(a, b ref.Val) ref.Val {
		if left, ok := a.(ordered); ok {
			if order, ok := left.compare(b); ok {
				return of(order)
			}
		}
		return types.MaybeNoSuchOverloadErr(b)
	})
	return cel.Function(name, cel.MemberOverload("quantity_"+name, []*cel.Type{quantityType, quantityType}, result,
		binding),
		cel.MemberOverload("semver_"+name, []*cel.Type{semverType, semverType}, result, binding))
}

func arithmetic(name string, do func(*resource.Quantity, resource.Quantity)) cel.EnvOption {
	binding := cel.BinaryBinding(func(a, b ref.Val) ref.Val {
		left, ok := a.(quantity)
		if !ok {
			return types.MaybeNoSuchOverloadErr(a)
		}
		sum := left.DeepCopy()
		switch right := b.(type) {
		case quantity:
			do(&sum, right.Quantity)
		case types.Int:
			do(&sum, *resource.NewQuantity(int64(right), resource.DecimalSI))
		default:
			return types.MaybeNoSuchOverloadErr(b)
		}
		return quantity{sum}
	})
	return cel.Function(name, cel.MemberOverload("quantity_"+name, []*cel.Type{quantityType, quantityType}, quantityType,
		binding),
		cel.MemberOverload("quantity_"+name+"_int", []*cel.Type{quantityType, cel.IntType}, quantityType, binding))
}

func ofQuantity(name string, result *cel.Type, f func(resource.Quantity) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.MemberOverload("quantity_"+name, []*cel.Type{quantityType}, result,
		cel.UnaryBinding(func(v ref.Val) ref.Val {
			q, ok := v.(quantity)
			if !ok {
				return types.MaybeNoSuchOverloadErr(v)
			}
			return f(q.Quantity)
		})))
}

func asInteger(q resource.Quantity) ref.Val {
	n, ok := q.AsInt64()
	if !ok {
		return types.NewErr("%s is no whole number", q.String())
	}
	return types.Int(n)
}

func ofVersion(name string, f func(*version.Version) uint) cel.EnvOption {
	return cel.Function(name, cel.MemberOverload("semver_"+name, []*cel.Type{semverType}, cel.IntType,
		cel.UnaryBinding(func(v ref.Val) ref.Val {
			s, ok := v.(semver)
			if !ok {
				return types.MaybeNoSuchOverloadErr(v)
			}
			return types.Int(f(s.Version))
		})))
}

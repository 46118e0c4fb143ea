package capacity

import (
	"fmt"
	"reflect"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/ext"

	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// selector is a compiled CEL expression over one device, as the scheduler evaluates them (resource.k8s.io/v1,
// CELDeviceSelector).
type selector struct{ program cel.Program }

// mostCost is what the scheduler lets one evaluation cost (k8s.io/api/resource/v1, CELSelectorExpressionMaxCost).
const mostCost = 1_000_000

// selectors remembers what was compiled: a catalog has a few dozen expressions and each is asked of thousands of
// devices.
var selectors = struct {
	sync.Mutex
	known map[string]*selector
}{known: map[string]*selector{}}

const mostSelectors = 1_000

// compile gives the selector of an expression, or the error that an API server would give for it.
func compile(expression string) (*selector, error) {
	selectors.Lock()
	defer selectors.Unlock()
	if s := selectors.known[expression]; s != nil {
		return s, nil
	}
	env, err := deviceEnv()
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	program, err := env.Program(ast, cel.CostLimit(mostCost), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, err
	}
	if len(selectors.known) >= mostSelectors {
		clear(selectors.known)
	}
	s := &selector{program}
	selectors.known[expression] = s
	return s, nil
}

// matches evaluates the expression for a device. An error ends the whole attempt of the scheduler, not only the look at
// this device; so it is no plain "no".
func (s *selector) matches(d *device) (bool, error) {
	out, _, err := s.program.Eval(d)
	if err != nil {
		return false, err
	}
	yes, ok := out.Value().(bool)
	if !ok {
		return false, fmt.Errorf("a selector gives true or false, this one %s", out.Type())
	}
	return yes, nil
}

// deviceEnv has what selectors may use: the variable device and, of the functions that Kubernetes adds to CEL, those on
// quantities and versions (k8s.io/apiserver/pkg/cel/library, v0.36).
var deviceEnv = sync.OnceValues(func() (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.Variable("device", cel.DynType), cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true),
		ext.Strings(ext.StringsVersion(2)), ext.Sets(), ext.Bindings(), ext.Lists(ext.ListsVersion(3)),
		ext.TwoVarComprehensions(),
	}
	return cel.NewEnv(append(options, functions()...)...)
})

// device is one device as CEL sees it. Nothing is built in advance: an expression looks at two or three of some fifteen
// values.
type device struct{ *inventory.Device }

// ResolveName gives the variable device.
func (d *device) ResolveName(name string) (any, bool) {
	if name != "device" {
		return nil, false
	}
	return lookup(d.field), true
}

// Parent ends the search for names.
func (d *device) Parent() cel.Activation { return nil }

func (d *device) field(name string) (ref.Val, bool) {
	switch name {
	case "driver":
		return types.String(d.Driver), true
	case "attributes":
		return domains(d.attribute), true
	case "capacity":
		return domains(d.capacity), true
	case "allowMultipleAllocations":
		return types.Bool(d.Multiple), true
	}
	return nil, false
}

// domains has every domain: one that a device has nothing under is empty, as in Kubernetes.
func domains(of func(qualified string) (ref.Val, bool)) lookup {
	return func(domain string) (ref.Val, bool) {
		return lookup(func(name string) (ref.Val, bool) { return of(domain + "/" + name) }), true
	}
}

func (d *device) attribute(qualified string) (ref.Val, bool) {
	a, ok := d.Attributes[qualified]
	switch {
	case !ok:
		return nil, false
	case a.String != nil:
		return types.String(*a.String), true
	case a.Int != nil:
		return types.Int(*a.Int), true
	case a.Bool != nil:
		return types.Bool(*a.Bool), true
	case a.Version != nil:
		return parseSemver(*a.Version), true
	}
	return nil, false
}

func (d *device) capacity(qualified string) (ref.Val, bool) {
	text, ok := d.Capacity[qualified]
	if !ok {
		return nil, false
	}
	return parseQuantity(text), true
}

// lookup is a map of CEL that is asked by key alone; an expression that walks over all keys finds none.
type lookup func(key string) (ref.Val, bool)

// Find looks an attribute up; CEL's has() calls it.
func (l lookup) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.Value().(string)
	if !ok {
		return nil, false
	}
	return l(name)
}

// Get looks an attribute up, and is an error where it is absent.
func (l lookup) Get(key ref.Val) ref.Val {
	if v, ok := l.Find(key); ok {
		return v
	}
	return types.NewErr("no such key: %v", key.Value())
}

// Contains answers the operator "in".
func (l lookup) Contains(key ref.Val) ref.Val { _, ok := l.Find(key); return types.Bool(ok) }

// The rest of a map, as far as one without a list of keys can have it.

func (lookup) Size() ref.Val         { return types.IntZero }
func (lookup) Equal(ref.Val) ref.Val { return types.False }
func (lookup) Type() ref.Type        { return types.MapType }
func (l lookup) Value() any          { return map[string]any{} }
func (lookup) Iterator() traits.Iterator {
	return types.NewDynamicList(types.DefaultTypeAdapter, []any{}).Iterator()
}
func (lookup) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("a part of a device is no %s", t)
}
func (l lookup) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("a part of a device is no %s", t.TypeName())
}

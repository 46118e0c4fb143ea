package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Limits of resource.k8s.io/v1 (k8s.io/api/resource/v1, types.go).
const (
	maxClaimDevices = 32
	maxAlternatives = 8
	maxSelectors    = 32
	maxSelector     = 10 << 10 // bytes
	maxConstraints  = 32
	maxAttribute    = 32 // characters of the name behind the domain
)

// alternatives are the requests that name a class: each request, or what it may be instead.
func (c *Claim) alternatives() []DeviceRequest {
	if c == nil {
		return nil
	}
	var all []DeviceRequest
	for _, r := range c.Requests {
		if len(r.FirstAvailable) > 0 {
			all = append(all, r.FirstAvailable...)
		} else {
			all = append(all, r)
		}
	}
	return all
}

func (k *checker) claimed(at string, a Accelerator) {
	if a.Resource != "" {
		k.at(at+".resource", "a size with a claim has no resource beside it: the pod would take both")
	}
	if a.Claim == nil || len(a.Claim.Requests) == 0 {
		k.at(at+".claim", "the technology dra needs a claim with at least one request")
		return
	}
	k.claim(at+".claim", *a.Claim)
}

func (k *checker) claim(at string, c Claim) {
	seen, devices := map[string]bool{}, 0
	for i, r := range c.Requests {
		at := fmt.Sprintf("%s.requests[%d]", at, i)
		k.requestName(at, r.Name, seen)
		if len(r.FirstAvailable) == 0 {
			k.exactly(at, r)
			devices += r.Devices()
			continue
		}
		devices += k.firstAvailable(at, r)
	}
	if devices > maxClaimDevices {
		k.at(at+".requests", "%d devices; a claim has at most %d", devices, maxClaimDevices)
	}
	if len(c.Constraints) > maxConstraints {
		k.at(at+".constraints", "a claim has at most %d constraints", maxConstraints)
	}
	for i, constraint := range c.Constraints {
		k.constraint(fmt.Sprintf("%s.constraints[%d]", at, i), c, constraint)
	}
}

func (k *checker) requestName(at, name string, seen map[string]bool) {
	switch {
	case len(validation.IsDNS1123Label(name)) > 0:
		k.at(at+".name", "%q is not a name: small letters, digits and dashes, at most 63", name)
	case seen[name]:
		k.at(at+".name", "%q is the name of another request", name)
	}
	seen[name] = true
}

// exactly checks a request for devices of one class.
func (k *checker) exactly(at string, r DeviceRequest) {
	if len(validation.IsDNS1123Subdomain(r.DeviceClass)) > 0 {
		k.at(at+".deviceClass", "%q is not the name of a device class such as gpu.nvidia.com", r.DeviceClass)
	}
	if r.Count < 0 || r.Count > maxClaimDevices || r.Count == 0 && k.lines[at+".count"] > 0 {
		k.at(at+".count", "%d is not a number of devices: 1 to %d", r.Count, maxClaimDevices)
	}
	if len(r.Selectors) > maxSelectors {
		k.at(at+".selectors", "a request has at most %d selectors", maxSelectors)
		return
	}
	for i, selector := range r.Selectors {
		if mistake := selectorMistake(selector); mistake != "" {
			k.at(fmt.Sprintf("%s.selectors[%d]", at, i), "%s", mistake)
		}
	}
}

// firstAvailable checks a list of alternatives and counts the devices of the largest, for which quota is charged.
func (k *checker) firstAvailable(at string, r DeviceRequest) (devices int) {
	for _, f := range []struct {
		field string
		set   bool
	}{{".deviceClass", r.DeviceClass != ""}, {".count", k.lines[at+".count"] > 0 || r.Count != 0},
		{".selectors", len(r.Selectors) > 0}} {
		if f.set {
			k.at(at+f.field, "a request with firstAvailable leaves this to the alternatives")
		}
	}
	if len(r.FirstAvailable) > maxAlternatives {
		k.at(at+".firstAvailable", "%d alternatives; a request has at most %d", len(r.FirstAvailable), maxAlternatives)
	}
	seen := map[string]bool{}
	for i, alternative := range r.FirstAvailable {
		at := fmt.Sprintf("%s.firstAvailable[%d]", at, i)
		k.requestName(at, alternative.Name, seen)
		if len(alternative.FirstAvailable) > 0 {
			k.at(at+".firstAvailable", "an alternative has no alternatives of its own")
		}
		k.exactly(at, alternative)
		devices = max(devices, alternative.Devices())
	}
	return devices
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (k *checker) constraint(at string, c Claim, constraint DeviceConstraint) {
	domain, name, qualified := strings.Cut(constraint.MatchAttribute, "/")
	if !qualified || len(validation.IsDNS1123Subdomain(domain)) > 0 || len(domain) > 63 || !identifier.MatchString(name) ||
		len(name) > maxAttribute {
		k.at(at+".matchAttribute", "%q is not an attribute with its domain, such as resource.kubernetes.io/pcieRoot",
			constraint.MatchAttribute)
	}
	seen := map[string]bool{}
	for i, request := range constraint.Requests {
		at := fmt.Sprintf("%s.requests[%d]", at, i)
		switch {
		case seen[request]:
			k.at(at, "%q stands here twice", request)
		case !c.hasRequest(request):
			k.at(at, "the claim has no request %q", request)
		}
		seen[request] = true
	}
}

// hasRequest: an alternative is named main/sub.
func (c Claim) hasRequest(name string) bool {
	main, sub, nested := strings.Cut(name, "/")
	i := slices.IndexFunc(c.Requests, func(r DeviceRequest) bool { return r.Name == main })
	return i >= 0 && (!nested || slices.ContainsFunc(c.Requests[i].FirstAvailable,
		func(r DeviceRequest) bool { return r.Name == sub }))
}

// selectorMistake says why a selector would be refused by an API server, as far as its types tell; "" where nothing is
// wrong. What an expression costs is not estimated here.
func selectorMistake(expression string) string {
	if strings.TrimSpace(expression) == "" || len(expression) > maxSelector {
		return fmt.Sprintf("a selector is a CEL expression of at most %d bytes", maxSelector)
	}
	env, err := selectorEnv()
	if err != nil {
		return err.Error()
	}
	ast, issues := env.Compile(expression)
	if err := issues.Err(); err != nil {
		first := issues.Errors()[0]
		return fmt.Sprintf("not a CEL expression over device: %s (column %d); known are device.driver, "+
			"device.attributes['<domain>'].<name>, "+
			"device.capacity['<domain>'].<name>, device.allowMultipleAllocations", first.Message, first.Location.Column()+1)
	}
	if t := ast.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return fmt.Sprintf("a selector gives true or false, this one a value of type %s", t)
	}
	return ""
}

// selectorEnv declares what selectors may use, for checking types only: nothing is evaluated here. The functions are
// those that Kubernetes adds to CEL (k8s.io/apiserver/pkg/cel/library) and a DeviceClass may use
// (k8s.io/dynamic-resource-allocation/cel), v0.36.
var selectorEnv = sync.OnceValues(func() (*cel.Env, error) {
	quantity, semver := cel.OpaqueType("kubernetes.Quantity"), cel.OpaqueType("kubernetes.Semver")
	byDomain := func(t *cel.Type) *cel.Type { return cel.MapType(cel.StringType, cel.MapType(cel.StringType, t)) }
	overloads := func(name string, of func(t *cel.Type, id string) cel.FunctionOpt) cel.EnvOption {
		return cel.Function(name, of(quantity, "quantity_"+name), of(semver, "semver_"+name))
	}
	compare := func(result *cel.Type) func(*cel.Type, string) cel.FunctionOpt {
		return func(t *cel.Type, id string) cel.FunctionOpt { return cel.MemberOverload(id, []*cel.Type{t, t}, result) }
	}
	member := func(name string, t, result *cel.Type, args ...*cel.Type) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload(t.TypeName()+"_"+name, append([]*cel.Type{t}, args...), result))
	}
	arithmetic := func(name string) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload("quantity_"+name, []*cel.Type{quantity, quantity}, quantity),
			cel.MemberOverload("quantity_"+name+"_int", []*cel.Type{quantity, cel.IntType}, quantity))
	}
	return cel.NewEnv(
		cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true), ext.Strings(ext.StringsVersion(2)), ext.Sets(),
		ext.Bindings(), ext.TwoVarComprehensions(),
		ext.Lists(ext.ListsVersion(3)),
		cel.Variable("device.driver", cel.StringType), cel.Variable("device.attributes", byDomain(cel.DynType)),
		cel.Variable("device.capacity", byDomain(quantity)), cel.Variable("device.allowMultipleAllocations", cel.BoolType),
		cel.Function("quantity", cel.Overload("string_to_quantity", []*cel.Type{cel.StringType}, quantity)),
		cel.Function("isQuantity", cel.Overload("is_quantity_string", []*cel.Type{cel.StringType}, cel.BoolType)),
		cel.Function("semver", cel.Overload("string_to_semver", []*cel.Type{cel.StringType}, semver),
			cel.Overload("string_bool_to_semver", []*cel.Type{cel.StringType, cel.BoolType}, semver)),
		cel.Function("isSemver", cel.Overload("is_semver_string", []*cel.Type{cel.StringType}, cel.BoolType),
			cel.Overload("is_semver_string_bool", []*cel.Type{cel.StringType, cel.BoolType}, cel.BoolType)),
		overloads("compareTo", compare(cel.IntType)), overloads("isGreaterThan", compare(cel.BoolType)),
		overloads("isLessThan", compare(cel.BoolType)),
		arithmetic("add"), arithmetic("sub"), member("sign", quantity, cel.IntType),
		member("isInteger", quantity, cel.BoolType),
		member("asInteger", quantity, cel.IntType), member("asApproximateFloat", quantity, cel.DoubleType),
		member("major", semver, cel.IntType), member("minor", semver, cel.IntType), member("patch", semver, cel.IntType),
		member("find", cel.StringType, cel.StringType, cel.StringType), member("findAll", cel.StringType,
			cel.ListType(cel.StringType), cel.StringType),
	)
})

package reconciletest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/gpu-portal/gpu-portal/charts"
)

// Call is one entry of the API server's audit log: who asked for what, and what came of it.
type Call struct {
	Stage          string
	Verb           string
	RequestURI     string
	UserAgent      string
	User           struct{ Username string }
	ObjectRef      struct{ Resource, Namespace, Name, APIGroup, Subresource string }
	ResponseStatus struct {
		Code    int
		Message string
	}
}

// String is for messages of tests.
func (c Call) String() string {
	return fmt.Sprintf("%s %s: %d %s", c.Verb, c.RequestURI, c.ResponseStatus.Code, c.ResponseStatus.Message)
}

// Calls reads what accounts did from an audit log, also from the files that it was split into.
func Calls(log string, accounts ...string) ([]Call, error) {
	ext := filepath.Ext(log)
	files, err := filepath.Glob(strings.TrimSuffix(log, ext) + "*" + ext)
	if err != nil {
		return nil, err
	}
	var all []Call
	for _, path := range files {
		calls, err := callsIn(path, accounts)
		if err != nil {
			return nil, err
		}
		all = append(all, calls...)
	}
	return all, nil
}

func callsIn(path string, accounts []string) ([]Call, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var calls []Call
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var c Call
		if json.Unmarshal(lines.Bytes(), &c) != nil {
			continue // the last line may still be written
		}
		if slices.Contains(accounts, c.User.Username) && c.UserAgent != charts.CheckAgent {
			calls = append(calls, c)
		}
	}
	return calls, lines.Err()
}

// Refused lists what RBAC or the admission policy refused, each once. What a quota or another admission plugin refuses
// is not about rights. Neither is a refusal by an API server that has just started: until its authorizer has read the
// bindings and the roles it refuses everything. That shows between two answers to the same call, and where it misses a
// role that every cluster has. A watch that nobody begins again is answered once: there it shows between that answer
// and another watch of the account in the same namespace.
func Refused(calls []Call) []string {
	var list []string
	for n, c := range calls {
		text, lacking := c.String(), c.unauthorized()
		if lacking && (c.beforeRoles() || answered(c, calls[:n]) && (answered(c, calls[n+1:]) || watches(c, calls[n+1:]))) {
			continue
		}
		denied := lacking || strings.Contains(c.ResponseStatus.Message, "ValidatingAdmissionPolicy")
		if denied && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// unauthorized reports whether the authorizer refused the call: `User "x" cannot watch resource "pods"`.
func (c Call) unauthorized() bool {
	return c.ResponseStatus.Code == 403 && strings.Contains(c.ResponseStatus.Message, fmt.Sprintf("User %q cannot ",
		c.User.Username))
}

// beforeRoles reports whether the authorizer had read the bindings and not yet the roles.
func (c Call) beforeRoles() bool {
	return strings.Contains(c.ResponseStatus.Message, `"system:basic-user" not found`)
}

// answered reports whether the authorizer let the same account do the same.
func answered(c Call, calls []Call) bool {
	return slices.ContainsFunc(calls, func(o Call) bool {
		same := o.User == c.User && o.Verb == c.Verb && o.ObjectRef.APIGroup == c.ObjectRef.APIGroup &&
			o.ObjectRef.Resource == c.ObjectRef.Resource && o.ObjectRef.Subresource == c.ObjectRef.Subresource &&
			o.ObjectRef.Namespace == c.ObjectRef.Namespace
		return same && o.ResponseStatus.Code < 300
	})
}

// watches reports whether the authorizer let the same account watch something else in the same namespace.
func watches(c Call, calls []Call) bool {
	return c.Verb == "watch" && slices.ContainsFunc(calls, func(o Call) bool {
		return o.User == c.User && o.Verb == c.Verb && o.ObjectRef.Namespace == c.ObjectRef.Namespace &&
			o.ResponseStatus.Code < 300
	})
}

// Unused lists what rules grant and nobody used, "verb group/resource". Making by server-side apply is a patch in the
// log, answered with 201, and needs both verbs. Bind is no call of its own: a RoleBinding that was made has used it.
func Unused(rules []rbacv1.PolicyRule, calls []Call) []string {
	used := map[string]bool{}
	for _, c := range calls {
		if c.ResponseStatus.Code == 403 {
			continue
		}
		resource := c.ObjectRef.APIGroup + "/" + c.ObjectRef.Resource
		if c.ObjectRef.Subresource != "" {
			resource += "/" + c.ObjectRef.Subresource
		}
		if c.ObjectRef.Resource == "" {
			resource, _, _ = strings.Cut(c.RequestURI, "?")
		}
		used[c.Verb+" "+resource] = true
		if c.Verb == "patch" && c.ResponseStatus.Code == 201 {
			used["create "+resource] = true
			used["bind rbac.authorization.k8s.io/clusterroles"] = used["bind rbac.authorization.k8s.io/clusterroles"] ||
				c.ObjectRef.Resource == "rolebindings"
		}
	}
	var list []string
	for _, granted := range grantedBy(rules) {
		if !used[granted] {
			list = append(list, granted)
		}
	}
	return list
}

func grantedBy(rules []rbacv1.PolicyRule) []string {
	var list []string
	for _, r := range rules {
		for _, verb := range r.Verbs {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					list = append(list, verb+" "+group+"/"+resource)
				}
			}
			for _, path := range r.NonResourceURLs {
				list = append(list, verb+" "+path)
			}
		}
	}
	return list
}

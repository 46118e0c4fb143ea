package reconciletest

import (
	"fmt"
	"testing"
)

// call is a watch of pods by an account, as the API server's audit log has it.
func call(user string, code int, message string) Call {
	c := Call{Verb: "watch", RequestURI: "/api/v1/pods"}
	c.User.Username, c.ObjectRef.Resource = user, "pods"
	c.ResponseStatus.Code, c.ResponseStatus.Message = code, message
	return c
}

func TestRefused(t *testing.T) {
	forbidden := `pods is forbidden: User "a" cannot watch resource "pods" in API group "" at the cluster scope`
	missing := `: RBAC: [clusterrole.rbac.authorization.k8s.io "portal" not found]`
	unread := `: RBAC: [clusterrole.rbac.authorization.k8s.io "portal" not found, ` +
		`clusterrole.rbac.authorization.k8s.io "system:basic-user" not found]`
	allowed, refused := call("a", 200, ""), call("a", 403, forbidden)
	other, elsewhere := call("a", 200, ""), call("a", 200, "")
	other.ObjectRef.Resource, elsewhere.ObjectRef.Resource, elsewhere.ObjectRef.Namespace = "events", "events", "x"
	for name, c := range map[string]struct {
		calls []Call
		want  int
	}{
		"allowed":                              {[]Call{allowed}, 0},
		"never allowed":                        {[]Call{refused}, 1},
		"twice the same":                       {[]Call{refused, refused}, 1},
		"allowed only before":                  {[]Call{allowed, refused}, 1},
		"allowed only after":                   {[]Call{refused, allowed}, 1},
		"while an authorizer starts":           {[]Call{allowed, refused, refused, allowed}, 0},
		"while one starts, then another watch": {[]Call{allowed, refused, other}, 0},
		"another watch, and never this one":    {[]Call{other, refused, other}, 1},
		"another watch in another namespace":   {[]Call{allowed, refused, elsewhere}, 1},
		"before the roles are read":            {[]Call{allowed, call("a", 403, forbidden+unread)}, 0},
		"a role of ours is missing":            {[]Call{allowed, call("a", 403, forbidden+missing)}, 1},
		"another account is allowed":           {[]Call{call("b", 200, ""), refused, call("b", 200, "")}, 1},
		"a quota, not a right":                 {[]Call{call("a", 403, "exceeded quota: gpu")}, 0},
		"the chart's admission policy":         {[]Call{call("a", 422, "ValidatingAdmissionPolicy 'x' denied request")}, 1},
		"the policy, though allowed besides":   {[]Call{allowed, call("a", 422, "ValidatingAdmissionPolicy"), allowed}, 1},
	} {
		if got := Refused(c.calls); len(got) != c.want {
			t.Errorf("%s: want %d, got %v", name, c.want, fmt.Sprint(got))
		}
	}
}

package identity

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/fault"
)

// TestNobodyMayDoAnything: neither nobody nor somebody who has been shut out, whatever roles they have and whatever the
// thing is.
func TestNobodyMayDoAnything(t *testing.T) {
	out := Actor{Person: Person{ID: "p-1", Disabled: true}, Global: []Role{Approver, Admin, Auditor},
		Tenants: map[string][]Role{"vision": {Developer, Owner, Approver}}}
	for _, a := range []Actor{{}, {Global: []Role{Admin}}, out} {
		for _, action := range Actions() {
			for _, thing := range []Resource{{}, {Tenant: "vision"}, {Tenant: "vision", Owner: a.Person.ID, Shared: true}} {
				if Can(a, action, thing) {
					t.Errorf("%+v may %s %+v", a, action, thing)
				}
			}
		}
		if err := Known(a); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%+v is known: %v", a, err)
		}
	}
	if Can(Actor{Person: Person{ID: "p-2"}, Global: []Role{Admin}}, "no.such", Resource{}) {
		t.Error("an action without a rule was allowed")
	}
}

// TestNobodyDecidesTheirOwn holds for every role, also for all of them at once.
func TestNobodyDecidesTheirOwn(t *testing.T) {
	a := Actor{Person: Person{ID: "p-1"}, Global: []Role{Approver, Admin},
		Tenants: map[string][]Role{"vision": {Owner, Approver}}}
	if Can(a, DecideRequest, Resource{Tenant: "vision", Owner: "p-1"}) {
		t.Error("one's own request was decided")
	}
	if !Can(a, DecideRequest, Resource{Tenant: "vision", Owner: "p-2"}) {
		t.Error("another's request was not")
	}
}

func TestCredentials(t *testing.T) {
	c := NewCredential()
	back, ok := ParseCredential(c.String())
	if !ok || back != c || !back.Matches(c.Hash()) || back.Matches(NewCredential().Hash()) || back.Matches("") {
		t.Errorf("want the same credential back, got %+v", back)
	}
	for _, text := range []string{"", ".", "a.", ".b", "ab"} {
		if _, ok := ParseCredential(text); ok {
			t.Errorf("%q was read as a credential", text)
		}
	}
}

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
			for _, thing := range []Resource{{}, {Tenant: "vision"}, {Tenant: "vision", Owner: a.Person.ID,
				Grants: []Grant{{Everybody: true, Use: true}, {Person: "p-1", Use: true}}}} {
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

// TestGrantsLetMembersInAndNobodyElse: whom a grant names reads; who may use opens as well; all in the team alone.
func TestGrantsLetMembersInAndNobodyElse(t *testing.T) {
	member := func(id PersonID, groups ...string) Actor {
		return Actor{Person: Person{ID: id, Groups: groups}, Tenants: map[string][]Role{"vision": {Developer}}}
	}
	stranger := Actor{Person: Person{ID: "p-otto", Groups: []string{"phd"}}, Tenants: map[string][]Role{"speech": {Owner}}}
	looking := member("p-otto")
	looking.Impersonator = &Person{ID: "p-pat"}
	for name, c := range map[string]struct {
		a           Actor
		g           Grant
		reads, uses bool
	}{
		"the team":               {member("p-otto"), Grant{Everybody: true, Use: true}, true, true},
		"the team, to read":      {member("p-otto"), Grant{Everybody: true}, true, false},
		"the person":             {member("p-otto"), Grant{Person: "p-otto", Use: true}, true, true},
		"another person":         {member("p-emil"), Grant{Person: "p-otto", Use: true}, false, false},
		"of the group":           {member("p-otto", "phd"), Grant{Group: "phd", Use: true}, true, true},
		"not of the group":       {member("p-otto", "staff"), Grant{Group: "phd", Use: true}, false, false},
		"a grant for nobody":     {member(""), Grant{Use: true}, false, false},
		"by name, of no team":    {stranger, Grant{Person: "p-otto", Use: true}, false, false},
		"by group, of no team":   {stranger, Grant{Group: "phd", Use: true}, false, false},
		"through another's eyes": {looking, Grant{Person: "p-otto", Use: true}, false, false},
	} {
		r := Resource{Tenant: "vision", Owner: "p-dana", Grants: []Grant{c.g}}
		if got := Can(c.a, ReadLogs, r); got != c.reads {
			t.Errorf("%s: reads %v", name, got)
		}
		if got := Can(c.a, OpenWorkload, r); got != c.uses {
			t.Errorf("%s: uses %v", name, got)
		}
		if Can(c.a, ChangeWorkload, r) {
			t.Errorf("%s: changes it", name)
		}
	}
}

// TestOnlyMembersStart: pages look for the teams in which somebody may start something among their own.
func TestOnlyMembersStart(t *testing.T) {
	for _, via := range []Via{ViaSession, ViaToken, ViaConsole, ViaEmbed, ViaSystem} {
		a := Actor{Person: Person{ID: "p"}, Via: via, Global: []Role{Admin, Approver, Auditor, Owner, Developer},
			Tenants: map[string][]Role{"other": {Owner}}}
		team := Resource{Tenant: "team", Owner: "p", Grants: []Grant{{Everybody: true}}}
		if a.Member("team") || Can(a, SubmitRequest, team) {
			t.Errorf("%s: somebody of no role in a team starts something in it", via)
		}
		if a.Tenants["team"] = []Role{Developer}; !Can(a, SubmitRequest, team) && via != ViaEmbed {
			t.Errorf("%s: a developer does not", via)
		}
	}
}

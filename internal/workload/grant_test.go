package workload

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

func TestAGrantEndsAtItsEnd(t *testing.T) {
	w := running()
	w.Grants = []Grant{{ID: "g", To: ToPerson, Person: "p-otto", Permission: MayUse, Until: now.Add(time.Hour)}}
	otto := identity.Actor{Person: identity.Person{ID: "p-otto"},
		Tenants: map[string][]identity.Role{w.Tenant: {identity.Developer}}}
	for at, want := range map[time.Duration]bool{0: true, time.Hour - 1: true, time.Hour: false, 2 * time.Hour: false} {
		if err := PermitAt(otto, identity.OpenWorkload, w, now.Add(at)); (err == nil) != want {
			t.Errorf("after %s: %v", at, err)
		}
	}
	if err := Permit(otto, identity.OpenWorkload, w); !fault.Is(err, fault.Forbidden) {
		t.Errorf("without a time no grant counts, got %v", err)
	}
}

func TestWhoIsGrantedAnewHasTheNewTermsAlone(t *testing.T) {
	w := running()
	change := func(c Change) {
		t.Helper()
		var err error
		if w, _, err = c(w, dana, now); err != nil {
			t.Fatal(err)
		}
	}
	change(granting(Grant{ID: "1", To: ToPerson, Person: "p-otto", Permission: MayUse, Until: now.Add(time.Hour)}))
	change(granting(Grant{ID: "2", To: ToGroup, Group: "phd", Permission: MayRead}))
	change(granting(Grant{ID: "3", To: ToPerson, Person: "p-otto", Permission: MayRead}))
	if len(w.Grants) != 2 || w.Grants[1].ID != "3" {
		t.Errorf("got %+v", w.Grants)
	}
	change(granting(Grant{ID: "l", To: ToLink, Permission: MayUse}))
	change(granting(Grant{ID: "4", To: ToPerson, Person: "p-emil", Link: "l", Permission: MayUse}))
	change(revoking("l"))
	if len(w.Grants) != 2 {
		t.Errorf("with a link those who followed it go, got %+v", w.Grants)
	}
	if _, _, err := revoking("l")(w, dana, now); !fault.Is(err, fault.NotFound) {
		t.Errorf("a grant ends once, got %v", err)
	}
}

func TestALinkOpensForItsSecretUntilItEnds(t *testing.T) {
	w, secret := running(), identity.NewCredential()
	w.Grants = []Grant{{ID: "l", To: ToLink, SecretHash: secret.Hash(), Until: now.Add(time.Hour)}}
	for name, c := range map[string]struct {
		secret string
		at     time.Time
		ok     bool
	}{"right": {secret.Secret, now, true}, "wrong": {identity.NewCredential().Secret, now, false}, "none": {"", now,
		false},
		"over": {secret.Secret, now.Add(time.Hour), false}} {
		if _, ok := w.link(c.secret, c.at); ok != c.ok {
			t.Errorf("%s: %v", name, ok)
		}
	}
	if r := w.ResourceAt(now); len(r.Grants) != 0 {
		t.Errorf("a link alone lets nobody in, got %+v", r.Grants)
	}
}

func TestMoreGrantsThanAreAskedWithEachCall(t *testing.T) {
	w := running()
	for i := range mostGrants + 1 {
		var err error
		w, _, err = granting(Grant{To: ToPerson, Person: identity.PersonID(rune('a' + i)), Permission: MayUse})(w, dana, now)
		if (err == nil) != (i < mostGrants) {
			t.Fatalf("%d: %v", i, err)
		}
	}
}

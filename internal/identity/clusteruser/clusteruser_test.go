package clusteruser

import (
	"context"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

const issuer = "https://login.example.org"

type people []identity.Person

func (p people) Person(_ context.Context, id identity.PersonID) (identity.Person, error) {
	for _, one := range p {
		if one.ID == id {
			return one, nil
		}
	}
	return identity.Person{}, fault.New(fault.NotFound, i18n.T("store.no_person"))
}

func (p people) People(_ context.Context, search string, limit int) (found []identity.Person, _ error) {
	for _, one := range p {
		if strings.Contains(strings.ToLower(one.Name+" "+one.Email), strings.ToLower(search)) && len(found) < limit {
			found = append(found, one)
		}
	}
	return found, nil
}

func person(from, subject, email string) identity.Person {
	return identity.Person{ID: identity.NewPersonID(from, subject), Issuer: from, Subject: subject, Email: email}
}

func TestWhoAUserOfTheClusterIs(t *testing.T) {
	t.Parallel()
	known := people{person(issuer, "42", "ada@example.org"), person("https://other.example.org", "43", "eve@example.org"),
		person(issuer, "44", "twin@example.org"), person(issuer, "45", "TWIN@example.org"),
		person(issuer, "46", "not-ada@example.org")}
	bySubject, byEmail := Identity{Issuer: issuer, From: "username", Prefix: "oidc:", Is: Subject},
		Identity{Issuer: issuer, From: "username", Is: Email}
	for sentence, c := range map[string]struct {
		by   Identity
		user User
		want string // subject; "" for nobody
	}{
		"by subject":                     {bySubject, User{Name: "oidc:42"}, "42"},
		"a user of another provider":     {bySubject, User{Name: "42"}, ""},
		"a subject that never signed in": {bySubject, User{Name: "oidc:41"}, ""},
		"the prefix alone":               {bySubject, User{Name: "oidc:"}, ""},
		"somebody of another issuer":     {bySubject, User{Name: "oidc:43"}, ""},
		"by address":                     {byEmail, User{Name: "Ada@Example.org"}, "42"},
		"an address of another issuer":   {byEmail, User{Name: "eve@example.org"}, ""},
		"an address of two":              {byEmail, User{Name: "twin@example.org"}, ""},
		"a part of an address":           {byEmail, User{Name: "ada"}, ""},
		"by uid": {Identity{Issuer: issuer, From: "uid", Is: Subject}, User{Name: "ada",
			UID: "42"}, "42"},
		"by an extra": {Identity{Issuer: issuer, From: "extra/e/sub", Is: Subject}, User{Name: "ada",
			Extra: map[string][]string{"e/sub": {"42"}}}, "42"},
		"an extra that is not there": {Identity{Issuer: issuer, From: "extra/e/sub", Is: Subject}, User{Name: "42"},
			""},
		"an extra with two values": {Identity{Issuer: issuer, From: "extra/e/sub", Is: Subject},
			User{Extra: map[string][]string{"e/sub": {"42", "46"}}}, ""},
		"a service account with a known uid": {Identity{Issuer: issuer, From: "uid", Is: Subject},
			User{Name: "system:serviceaccount:a:b", UID: "42"}, ""},
	} {
		p, err := c.by.Person(t.Context(), known, c.user)
		if c.want == "" {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %+v %v", sentence, p, err)
			}
			continue
		}
		if err != nil || p.Subject != c.want {
			t.Errorf("%s: %+v %v", sentence, p, err)
		}
	}
}

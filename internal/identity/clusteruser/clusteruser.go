// Package clusteruser matches users of a Kubernetes cluster with people of the sign-in provider. Both come from one
// provider: it gives the cluster the name that users have there, and the portal issuer and subject. Identity.Person
// looks a User up, by subject or by e-mail address. No I/O but through People.
package clusteruser

import (
	"context"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// User is somebody as the cluster knows them (authentication.k8s.io UserInfo).
type User struct {
	Name  string
	UID   string
	Extra map[string][]string
}

// Identity says which person of the sign-in provider a user of the cluster is.
type Identity struct {
	Issuer string // of the portal's sign-in provider
	From   string // what of the user tells it: username, uid or extra/KEY
	Prefix string // what the cluster puts before it
	Is     string // what it is at the provider: subject or email
}

// What a user's name is at the provider.
const (
	Subject = "subject"
	Email   = "email"
)

// People is the part of the store that matching needs.
type People interface {
	Person(ctx context.Context, id identity.PersonID) (identity.Person, error)
	People(ctx context.Context, search string, limit int) ([]identity.Person, error)
}

// value is what the user is called at the provider, "" for a user whom another provider vouches for.
func (i Identity) value(u User) string {
	value := u.Name
	switch key, extra := strings.CutPrefix(i.From, "extra/"); {
	case i.From == "uid":
		value = u.UID
	case extra && len(u.Extra[key]) == 1:
		value = u.Extra[key][0]
	case extra:
		return ""
	}
	value, ours := strings.CutPrefix(value, i.Prefix)
	if !ours || strings.HasPrefix(u.Name, "system:") { // service accounts, and users of client certificates
		return ""
	}
	return value
}

// mostOfOneAddress bounds the search; the address of two people is nobody's.
const mostOfOneAddress = 50

// Person is who a user of the cluster is. NotFound for nobody, and for an e-mail address that two people have.
func (i Identity) Person(ctx context.Context, people People, u User) (identity.Person, error) {
	nobody := fault.New(fault.NotFound, i18n.T("store.no_person"))
	value := i.value(u)
	if value == "" {
		return identity.Person{}, nobody
	}
	if i.Is != Email {
		return people.Person(ctx, identity.NewPersonID(i.Issuer, value))
	}
	found, err := people.People(ctx, value, mostOfOneAddress)
	if err != nil {
		return identity.Person{}, err
	}
	var is []identity.Person
	for _, p := range found {
		if p.Issuer == i.Issuer && strings.EqualFold(p.Email, value) {
			is = append(is, p)
		}
	}
	if len(is) != 1 || len(found) == mostOfOneAddress {
		return identity.Person{}, nobody
	}
	return is[0], nil
}

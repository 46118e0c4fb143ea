package oidctest

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"sync"
	"time"
)

// Tamper changes an ID token before it is signed.
type Tamper func(t *Token)

// Set gives a claim another value.
func Set(claim string, value any) Tamper { return func(t *Token) { t.Claims[claim] = value } }

// Drop leaves claims out.
func Drop(claims ...string) Tamper {
	return func(t *Token) {
		for _, claim := range claims {
			delete(t.Claims, claim)
		}
	}
}

// ExpiredSince makes the token end this long before now.
func ExpiredSince(now time.Time, d time.Duration) Tamper { return Set("exp", now.Add(-d).Unix()) }

// ValidAfter makes the token begin this long after now.
func ValidAfter(now time.Time, d time.Duration) Tamper { return Set("nbf", now.Add(d).Unix()) }

// Unsigned sends the token with `alg: none` (RFC 8725, section 2.1).
func Unsigned(t *Token) { t.Algorithm, t.Key = "none", nil }

// Missing leaves the whole ID token out of the answer.
func Missing(t *Token) { t.Algorithm = "" }

// UnknownKeyID names a key that nobody published.
func UnknownKeyID(t *Token) { t.KeyID = "nobody-knows-this-key" }

// PublicKeyAsSecret is the old trick with HS256: the published key, as PEM, is the secret of a MAC.
func PublicKeyAsSecret(t *Token) {
	private, ok := t.Key.(*rsa.PrivateKey)
	if !ok {
		return
	}
	der, _ := x509.MarshalPKIXPublicKey(private.Public()) // an RSA key always marshals
	t.Algorithm, t.Key = "HS256", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// ForeignKey signs with a key that is not the provider's, under the name of one that is.
func ForeignKey(t *Token) { t.Key = foreignKey().Key }

var foreignKey = sync.OnceValue(mustKey)

// GroupsOverage is what Microsoft's provider sends when someone is in too many groups: a pointer instead of the groups.
// https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference#groups-overage-claim
func GroupsOverage(t *Token) {
	delete(t.Claims, "groups")
	t.Claims["_claim_names"] = map[string]string{"groups": "src1"}
	t.Claims["_claim_sources"] = map[string]any{
		"src1": map[string]string{"endpoint": "https://graph.example/v1.0/me/getMemberObjects"}}
}

package oidctest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/go-jose/go-jose/v4"
)

// Token is an ID token before it is signed: what a Tamper may change. Algorithm "none" leaves the signature out;
// "HS256" takes Key as bytes; any other takes Key as the private key for it. An Algorithm of "" leaves the whole ID
// token out of the answer.
type Token struct {
	Claims    map[string]any
	Algorithm string
	KeyID     string
	Key       any
}

// idToken writes the ID token of a sign-in, after the tests' changes.
func (p *Provider) idToken(user User, g *grant, access string) (string, error) {
	now, key := p.now(), p.keys.signing()
	token := &Token{Algorithm: string(jose.RS256), KeyID: key.KeyID, Key: key.Key, Claims: map[string]any{
		"iss": p.options.Issuer, "sub": user.Subject, "aud": p.options.ClientID,
		"exp": now.Add(tokenLife).Unix(), "iat": now.Unix(), "auth_time": now.Unix(),
		"nonce": g.nonce, "sid": g.sid, "at_hash": accessHash(access),
	}}
	if g.nonce == "" {
		delete(token.Claims, "nonce")
	}
	addPersonal(token.Claims, user)
	p.mu.Lock()
	tampers := p.hooks.tampers
	p.mu.Unlock()
	for _, tamper := range tampers {
		tamper(token)
	}
	return token.sign()
}

// addPersonal are the claims that ID token and userinfo share.
func addPersonal(claims map[string]any, user User) {
	claims["name"] = user.Name
	claims["email"] = user.Email
	claims["email_verified"] = true
	claims["groups"] = append([]string{}, user.Groups...)
}

// accessHash is at_hash of OpenID Connect Core section 3.1.3.6.
func accessHash(access string) string {
	sum := sha256.Sum256([]byte(access))
	return base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2])
}

func (t *Token) sign() (string, error) {
	payload, err := json.Marshal(t.Claims)
	if err != nil {
		return "", fmt.Errorf("write claims: %w", err)
	}
	switch t.Algorithm {
	case "":
		return "", nil
	case "none":
		return t.unsigned(payload) + ".", nil
	case "HS256":
		// By hand: no library would put a public key into a MAC.
		secret, _ := t.Key.([]byte)
		text := t.unsigned(payload)
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(text))
		return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), nil
	}
	signer, err := jose.NewSigner(jose.SigningKey{
		Algorithm: jose.SignatureAlgorithm(t.Algorithm), Key: jose.JSONWebKey{Key: t.Key, KeyID: t.KeyID},
	}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("make a signer: %w", err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("sign: %w", err)
	}
	return signed.CompactSerialize()
}

func (t *Token) unsigned(payload []byte) string {
	// strings always marshal
	header, _ := json.Marshal(map[string]string{"alg": t.Algorithm, "kid": t.KeyID, "typ": "JWT"})
	return base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(payload)
}

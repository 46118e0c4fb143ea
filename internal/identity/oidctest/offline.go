package oidctest

import (
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// offlineGrant is what a refresh token says of itself, so that one outlives the process when the keys do: those who are
// signed in at the portal stay signed in when everything on the machine starts again. Within one process a token is
// good once; the process after knows nothing of that.
type offlineGrant struct {
	User  string `json:"user"`
	Nonce string `json:"nonce"`
	SID   string `json:"sid"`
	Salt  string `json:"salt"`
}

// sealGrant writes a refresh token for a sign-in.
func (k *Keys) sealGrant(g *grant) string {
	// strings always marshal
	text, _ := json.Marshal(offlineGrant{User: g.user, Nonce: g.nonce, SID: g.sid, Salt: randomText()})
	return base64.RawURLEncoding.EncodeToString(text) + "." + base64.RawURLEncoding.EncodeToString(k.mac(text))
}

// openGrant reads a token that sealGrant wrote with the same keys; nil for any other.
func (k *Keys) openGrant(token string) *grant {
	body, sum, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return nil
	}
	mac, err := base64.RawURLEncoding.DecodeString(sum)
	if err != nil || !hmac.Equal(mac, k.mac(text)) {
		return nil
	}
	var g offlineGrant
	if json.Unmarshal(text, &g) != nil {
		return nil
	}
	return &grant{user: g.User, nonce: g.Nonce, sid: g.SID, offline: true, used: true}
}

// mac is over the oldest key, which stays when keys are rotated.
func (k *Keys) mac(text []byte) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	private, _ := k.set[len(k.set)-1].Key.(*rsa.PrivateKey)
	key := sha256.Sum256(private.D.Bytes())
	mac := hmac.New(sha256.New, key[:])
	mac.Write(text)
	return mac.Sum(nil)
}

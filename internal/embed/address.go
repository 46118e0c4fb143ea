package embed

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Panel is what is shown.
type Panel string

// The panels. The subject of Workload is its id, that of Team the tenant's name; the others have none.
const (
	Workload Panel = "workload"
	Team     Panel = "team"
	Fleet    Panel = "fleet"
	Licenses Panel = "licenses"
)

// Panels lists all of them.
func Panels() []Panel { return []Panel{Workload, Team, Fleet, Licenses} }

// Theme is the look of a panel; "" for what the reader's system says.
type Theme string

// The themes.
const (
	Light Theme = "light"
	Dark  Theme = "dark"
)

// Address is all that an address says; all of it is signed.
type Address struct {
	ID      string            `json:"i"`
	Panel   Panel             `json:"p"`
	Subject string            `json:"s,omitempty"`
	Theme   Theme             `json:"t,omitempty"`
	Maker   identity.PersonID `json:"m"`
	Until   int64             `json:"u"` // Unix seconds
}

// maxToken bounds what is read at all, in bytes.
const maxToken = 1000

// ErrSignature says that a token was not made with this key, or not in this form.
var ErrSignature = errors.New("the signature of the embed address is wrong")

// ErrEnded says that a token was good and has ended.
var ErrEnded = errors.New("the embed address has ended")

// Signer makes and verifies tokens with a key that is used for nothing else, the same in every replica.
type Signer struct{ Key []byte }

// strict refuses a second spelling of the same bytes.
var strict = base64.RawURLEncoding.Strict()

// Sign gives the token of an address: what it says, a dot, and an HMAC-SHA256 of that.
func (s Signer) Sign(a Address) (string, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return "", err
	}
	said := strict.EncodeToString(text)
	return said + "." + strict.EncodeToString(s.mac(said)), nil
}

// Verify reads a token. ErrSignature for one that Sign did not make, ErrEnded for one whose time is over.
func (s Signer) Verify(token string, now time.Time) (a Address, _ error) {
	said, mac, found := strings.Cut(token, ".")
	if !found || len(token) > maxToken || strings.ContainsAny(token, "\r\n") { // which the decoder skips
		return a, ErrSignature
	}
	sum, err := strict.DecodeString(mac)
	if err != nil || !hmac.Equal(sum, s.mac(said)) {
		return a, ErrSignature
	}
	text, err := strict.DecodeString(said)
	if err != nil || json.Unmarshal(text, &a) != nil {
		return Address{}, ErrSignature
	}
	if now.Unix() >= a.Until {
		return a, ErrEnded
	}
	return a, nil
}

func (s Signer) mac(said string) []byte {
	mac := hmac.New(sha256.New, s.Key)
	mac.Write([]byte(said))
	return mac.Sum(nil)
}

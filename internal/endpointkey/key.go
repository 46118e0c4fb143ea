package endpointkey

import (
	"crypto/rand"
	"encoding/base32"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Prefix begins every key, so that people and scanners for leaked secrets can find one.
const Prefix = "gpk_"

const (
	idLength = 8 // characters of base32
	alphabet = "abcdefghijklmnopqrstuvwxyz234567"
)

// Key is one consumer's key. It is made, rotated and revoked at one endpoint, Workload, and may open others too.
type Key struct {
	ID       string
	Workload workload.ID
	// Also are further endpoints that the key opens, at most MaxAlso, in the order of their ids.
	Also       []workload.ID
	Name       string
	SecretHash string
	// FormerHash is of the secret before the last rotation; it opens until FormerUntil.
	FormerHash  string
	FormerUntil time.Time
	Limits      Limits
	CreatedBy   identity.PersonID
	CreatorName string
	CreatedAt   time.Time
	RotatedAt   time.Time
	ExpiresAt   time.Time
	LastUsedAt  time.Time
	RevokedAt   time.Time
}

// Shown is what people recognize a key by after it was made.
func (k Key) Shown() string { return Prefix + k.ID }

// Endpoints are all that the key opens, the one that it was made at first.
func (k Key) Endpoints() []workload.ID { return append([]workload.ID{k.Workload}, k.Also...) }

// Opens reports whether the key is for an endpoint. Whether its secret and its time are good is for Check to say.
func (k Key) Opens(id workload.ID) bool { return k.Workload == id || slices.Contains(k.Also, id) }

// Expired reports whether the key has reached its end.
func (k Key) Expired(now time.Time) bool { return !now.Before(k.ExpiresAt) }

// State is how a key is, for people.
type State string

// The states of a key.
const (
	Active   State = "active"
	Replaced State = "replaced" // was rotated; the previous secret still opens
	Ending   State = "ending"   // within EndsSoon
	Expired  State = "expired"
	Revoked  State = "revoked"
)

// EndsSoon is how long before its end a key is called Ending.
const EndsSoon = 7 * 24 * time.Hour

// State is how the key is now.
func (k Key) State(now time.Time) State {
	switch {
	case !k.RevokedAt.IsZero():
		return Revoked
	case k.Expired(now):
		return Expired
	case now.Before(k.FormerUntil):
		return Replaced
	case k.ExpiresAt.Sub(now) <= EndsSoon:
		return Ending
	}
	return Active
}

// life is how long the key was made for, or rotated for.
func (k Key) life() time.Duration {
	from := k.CreatedAt
	if k.RotatedAt.After(from) {
		from = k.RotatedAt
	}
	return k.ExpiresAt.Sub(from)
}

// What Check says no with. ErrExpired is only told to who has the secret.
var (
	ErrWrong   = errors.New("endpointkey: not the secret of a key")
	ErrExpired = errors.New("endpointkey: the key has expired")
)

// Check reports whether a secret opens the key now.
func (k Key) Check(c identity.Credential, now time.Time) error {
	current := c.Matches(k.SecretHash)
	former := k.FormerHash != "" && c.Matches(k.FormerHash)
	switch {
	case !k.RevokedAt.IsZero() || !current && !former:
		return ErrWrong
	case k.Expired(now), !current && !now.Before(k.FormerUntil):
		return ErrExpired
	}
	return nil
}

func newCredential() identity.Credential {
	var b [idLength * 5 / 8]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return identity.Credential{ID: base32.NewEncoding(alphabet).WithPadding(base32.NoPadding).EncodeToString(b[:]),
		Secret: identity.NewCredential().Secret}
}

// Parse reads "gpk_<id>.<secret>"; ok is false for anything else.
func Parse(text string) (c identity.Credential, ok bool) {
	text, ok = strings.CutPrefix(text, Prefix)
	if !ok {
		return c, false
	}
	c, ok = identity.ParseCredential(text)
	return c, ok && isID(c.ID)
}

func isID(text string) bool {
	return len(text) == idLength && strings.Trim(text, alphabet) == ""
}

// In reports whether a text has a key in it.
func In(text string) bool {
	for {
		_, after, found := strings.Cut(text, Prefix)
		if !found {
			return false
		}
		if len(after) > idLength && isID(after[:idLength]) && after[idLength] == '.' {
			return true
		}
		text = after
	}
}

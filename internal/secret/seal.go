package secret

import (
	"errors"
	"strings"
)

// Key seals texts and opens them. About is bound to the text: it opens only with the same.
type Key struct {
	ID   string // short, without a dot, different for each key
	Seal func(about, text string) (string, error)
	Open func(about, sealed string) (string, error)
}

// Keyring is the key that seals, first, and those before it, which only open.
type Keyring []Key

var errKey = errors.New("it was sealed with a key that this portal does not have")

// Seal gives the text with the key's id in front. It opens only with the same about.
func (r Keyring) Seal(about, text string) (string, error) {
	sealed, err := r[0].Seal(about, text)
	return r[0].ID + "." + sealed, err
}

// Open reads what Seal made. An error where none of the keys did.
func (r Keyring) Open(about, sealed string) (string, error) {
	id, sealed, _ := strings.Cut(sealed, ".")
	for _, k := range r {
		if k.ID == id {
			return k.Open(about, sealed)
		}
	}
	return "", errKey
}

func (r Keyring) seal(s Secret, text string) (string, error) { return r.Seal(binding(s), text) }

func (r Keyring) open(s Secret) (string, error) { return r.Open(binding(s), s.Sealed) }

// Current reports whether a text was sealed with the present key.
func (r Keyring) Current(sealed string) bool {
	id, _, _ := strings.Cut(sealed, ".")
	return id == r[0].ID
}

// binding is whose and which secret a text belongs to: a row that gets the text of another one does not open.
func binding(s Secret) string {
	return strings.Join([]string{s.ID, string(s.Person), s.Tenant, string(s.Kind)}, "\x00")
}

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

// seal gives the text with the key's id in front.
func (r Keyring) seal(s Secret, text string) (string, error) {
	sealed, err := r[0].Seal(binding(s), text)
	return r[0].ID + "." + sealed, err
}

// open reads what seal made of the same secret.
func (r Keyring) open(s Secret) (string, error) {
	id, sealed, _ := strings.Cut(s.Sealed, ".")
	for _, k := range r {
		if k.ID == id {
			return k.Open(binding(s), sealed)
		}
	}
	return "", errKey
}

// current reports whether a text was sealed with the present key.
func (r Keyring) current(sealed string) bool {
	id, _, _ := strings.Cut(sealed, ".")
	return id == r[0].ID
}

// binding is whose and which secret a text belongs to: a row that gets the text of another one does not open.
func binding(s Secret) string {
	return strings.Join([]string{s.ID, string(s.Person), s.Tenant, string(s.Kind)}, "\x00")
}

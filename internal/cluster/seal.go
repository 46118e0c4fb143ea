package cluster

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/secret"
)

var errKey = errors.New("it was sealed with a key that this portal does not have")

// contents is what is encrypted.
type contents struct {
	Access   Access `json:"access"`
	Settings string `json:"settings,omitempty"` // YAML, see Draft
}

// binding is which cluster a text belongs to: a row that gets the text of another one does not open.
func binding(name string) string { return "cluster\x00" + name }

func seal(keys secret.Keyring, name string, c contents) (string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	sealed, err := keys[0].Seal(binding(name), string(text))
	return keys[0].ID + "." + sealed, err
}

func open(keys secret.Keyring, c Cluster) (contents, error) {
	id, sealed, _ := strings.Cut(c.Sealed, ".")
	for _, k := range keys {
		if k.ID != id {
			continue
		}
		text, err := k.Open(binding(c.Name), sealed)
		if err != nil {
			return contents{}, err
		}
		var is contents
		return is, json.Unmarshal([]byte(text), &is)
	}
	return contents{}, errKey
}

// current reports whether a text was sealed with the present key.
func current(keys secret.Keyring, sealed string) bool {
	id, _, _ := strings.Cut(sealed, ".")
	return id == keys[0].ID
}

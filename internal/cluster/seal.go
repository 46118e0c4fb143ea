package cluster

import (
	"encoding/json"

	"github.com/gpu-portal/gpu-portal/internal/secret"
)

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
	return keys.Seal(binding(name), string(text))
}

func open(keys secret.Keyring, c Cluster) (contents, error) {
	text, err := keys.Open(binding(c.Name), c.Sealed)
	if err != nil {
		return contents{}, err
	}
	var is contents
	err = json.Unmarshal([]byte(text), &is)
	return is, err
}

package oidctest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-jose/go-jose/v4"
)

// Keys are the signing keys of a provider, the newest first. The newest signs, all are published.
type Keys struct {
	mu   sync.Mutex
	set  []jose.JSONWebKey
	file string // where they are kept; empty for a test
}

// NewKeys draws one fresh RSA key.
func NewKeys() (*Keys, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	return &Keys{set: []jose.JSONWebKey{key}}, nil
}

// LoadKeys reads the keys from a file, or draws one and writes it there when the file does not exist yet. The file
// holds private keys and is readable by its owner only.
func LoadKeys(file string) (*Keys, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		k, err := NewKeys()
		if err != nil {
			return nil, err
		}
		k.file = file
		return k, k.save()
	}
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, fmt.Errorf("read keys from %s: %w", file, err)
	}
	for _, key := range set.Keys {
		if _, private := key.Key.(*rsa.PrivateKey); !private {
			return nil, fmt.Errorf("read keys from %s: key %q is not a private RSA key", file, key.KeyID)
		}
	}
	if len(set.Keys) == 0 {
		return nil, fmt.Errorf("read keys from %s: no key in it", file)
	}
	return &Keys{set: set.Keys, file: file}, nil
}

func newKey() (jose.JSONWebKey, error) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return jose.JSONWebKey{}, fmt.Errorf("draw a key: %w", err)
	}
	sum := sha256.Sum256(private.N.Bytes())
	id := base64.RawURLEncoding.EncodeToString(sum[:9])
	return jose.JSONWebKey{Key: private, KeyID: id, Algorithm: string(jose.RS256), Use: "sig"}, nil
}

// save writes a new file and renames it, so that a crash leaves the old keys or the new ones.
func (k *Keys) save() error {
	if k.file == "" {
		return nil
	}
	data, err := json.MarshalIndent(jose.JSONWebKeySet{Keys: k.set}, "", "  ")
	if err != nil {
		return fmt.Errorf("write keys: %w", err)
	}
	temp, err := os.CreateTemp(filepath.Dir(k.file), filepath.Base(k.file)+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("write keys: %w", err)
	}
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), k.file)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return fmt.Errorf("write keys: %w", err)
	}
	return nil
}

// signing is the newest key.
func (k *Keys) signing() jose.JSONWebKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.set[0]
}

func (k *Keys) published() jose.JSONWebKeySet {
	k.mu.Lock()
	defer k.mu.Unlock()
	var public jose.JSONWebKeySet
	for _, key := range k.set {
		public.Keys = append(public.Keys, key.Public())
	}
	return public
}

// rotate draws a new signing key. The old ones stay published when keepOld is set.
func (k *Keys) rotate(keepOld bool) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.set
	k.set = []jose.JSONWebKey{key}
	if keepOld {
		k.set = append(k.set, old...)
	}
	return k.save()
}

// replace draws a new signing key under the id of the one that signed so far, which is published no more.
func (k *Keys) replace() error {
	key, err := newKey()
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key.KeyID = k.set[0].KeyID
	k.set[0] = key
	return k.save()
}

func (p *Provider) publicKeys(w http.ResponseWriter, _ *http.Request) {
	set := p.keys.published()
	p.mu.Lock()
	change := p.hooks.published
	p.mu.Unlock()
	if change != nil {
		change(&set)
	}
	writeJSON(w, http.StatusOK, set)
}

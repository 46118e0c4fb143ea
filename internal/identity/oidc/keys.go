package oidc

import (
	"context"
	"crypto/ecdsa"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"
)

const (
	keyInterval = 15 * time.Second // at most one fetch in this time, whatever tokens come (T-OIDC-5)
	keyLife     = time.Hour        // then keys that the provider withdrew are gone here too
)

// keySet is the provider's published keys. go-oidc's RemoteKeySet does not serve: it fetches anew for every signature
// that its keys do not verify, and logout tokens may be posted by anybody; it keeps withdrawn keys until then; and it
// says with the same error that a signature is bad and that the keys cannot be had.
type keySet struct {
	url    string
	http   *http.Client
	now    func() time.Time
	note   func(answers bool)
	asking singleflight.Group

	mu      sync.Mutex
	keys    []jose.JSONWebKey
	at      time.Time // of the last fetch that worked
	triedAt time.Time
	lastErr error
}

var errNoKey = errors.New("no published key has made this signature")

// prepare fetches keys if this token needs it: there are none yet, they are old, or none of them made its signature,
// such as when one was replaced under the same key id. It fails when keys are needed and cannot be had; it does not say
// that the signature is good.
func (k *keySet) prepare(ctx context.Context, token string) error {
	signed, err := parse(token)
	if err != nil {
		return nil // Verify says why
	}
	k.mu.Lock()
	now := k.now()
	old := k.at.IsZero() || now.Sub(k.at) >= keyLife
	_, err = verify(signed, k.keys)
	wanted := old || err != nil
	early := !k.triedAt.IsZero() && now.Sub(k.triedAt) < keyInterval
	lastErr := k.lastErr
	k.mu.Unlock()
	switch {
	case !wanted, early && !old:
		return nil
	case early && lastErr != nil:
		return lastErr
	}
	answer := k.asking.DoChan("keys", func() (any, error) { return nil, k.fetch(context.WithoutCancel(ctx)) })
	select {
	case <-ctx.Done():
		return ctx.Err()
	case a := <-answer:
		return a.Err
	}
}

// VerifySignature checks the signature with the keys at hand; see prepare. Issuer, audience and time are go-oidc's to
// check.
func (k *keySet) VerifySignature(_ context.Context, token string) ([]byte, error) {
	signed, err := parse(token)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	keys := k.keys
	k.mu.Unlock()
	return verify(signed, keys)
}

func parse(token string) (*jose.JSONWebSignature, error) {
	var taken []jose.SignatureAlgorithm
	for _, a := range algorithms {
		taken = append(taken, jose.SignatureAlgorithm(a))
	}
	signed, err := jose.ParseSignedCompact(token, taken)
	if err != nil {
		return nil, err
	}
	if len(signed.Signatures) != 1 {
		return nil, errors.New("a token needs exactly one signature")
	}
	return signed, nil
}

// verify tries the keys with the token's key id. A token without one is taken only while there is a single key (OpenID
// Connect Core section 10.1).
func verify(signed *jose.JSONWebSignature, keys []jose.JSONWebKey) ([]byte, error) {
	header := signed.Signatures[0].Header
	if header.KeyID == "" && len(keys) != 1 {
		return nil, errNoKey
	}
	for _, key := range keys {
		if header.KeyID != "" && key.KeyID != header.KeyID || key.Algorithm != "" && key.Algorithm != header.Algorithm {
			continue
		}
		if payload, err := signed.Verify(key); err == nil {
			return payload, nil
		}
	}
	return nil, errNoKey
}

// fetch looks at the interval once more, since callers that wait for their turn may have been served by the one before.
func (k *keySet) fetch(ctx context.Context) error {
	k.mu.Lock()
	early, lastErr := !k.triedAt.IsZero() && k.now().Sub(k.triedAt) < keyInterval, k.lastErr
	k.mu.Unlock()
	if early {
		return lastErr
	}
	keys, err := k.download(ctx)
	k.note(err == nil)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.triedAt, k.lastErr = k.now(), err
	if err == nil {
		k.keys, k.at = keys, k.triedAt
	}
	return err
}

func (k *keySet) download(ctx context.Context) ([]jose.JSONWebKey, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, nil)
	if err != nil {
		return nil, fmt.Errorf("fetch keys: %w", err)
	}
	answer, err := k.http.Do(ask)
	if err != nil {
		return nil, fmt.Errorf("fetch keys: %w", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("fetch keys: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch keys: the provider answers %s", answer.Status)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, fmt.Errorf("fetch keys: %w", err)
	}
	var keys []jose.JSONWebKey
	for _, raw := range set.Keys {
		if key, ok := usable(raw); ok {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// usable reads one key that may sign tokens for us. Others, such as for encryption or of kinds that we do not know, are
// passed over, as RFC 7517 section 5 asks.
func usable(raw json.RawMessage) (jose.JSONWebKey, bool) {
	var key jose.JSONWebKey
	if err := json.Unmarshal(raw, &key); err != nil || key.Use != "" && key.Use != "sig" {
		return jose.JSONWebKey{}, false
	}
	key = key.Public()
	switch public := key.Key.(type) {
	case *rsa.PublicKey:
		return key, public.N.BitLen() >= 2048
	case *ecdsa.PublicKey:
		return key, true
	}
	return jose.JSONWebKey{}, false
}

package oidc

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

const (
	sealPurpose  = "gpu-portal sign-in flow 1" // keeps our key apart from other uses of the same secret
	tokenPurpose = "gpu-portal refresh token 1"
	maxSealed    = 4000 // a browser keeps cookies of up to 4096 bytes, name included
	minKey       = 32
)

// Seal makes a cookie value of a flow that nobody else can read or change (AES-256-GCM). It fails when the key has
// fewer than 32 bytes.
func Seal(key []byte, f Flow) (string, error) {
	aead, err := aeadOf(key, sealPurpose)
	if err != nil {
		return "", err
	}
	var plain bytes.Buffer
	writer := json.NewEncoder(&plain)
	writer.SetEscapeHTML(false) // a cookie is small, and this is no page
	if err := writer.Encode(f); err != nil {
		return "", fmt.Errorf("seal a sign-in: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(aead.Seal(nil, nil, plain.Bytes(), []byte(sealPurpose))), nil
}

// Open reads what Seal made with the same key. Anything else, and a flow that took longer than ten minutes, is a
// Forbidden fault.
func Open(key []byte, sealed string, now time.Time) (Flow, error) {
	aead, err := aeadOf(key, sealPurpose)
	if err != nil {
		return Flow{}, err
	}
	if len(sealed) > maxSealed {
		return Flow{}, flowLost(errors.New("the cookie is too long"))
	}
	data, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return Flow{}, flowLost(err)
	}
	plain, err := aead.Open(nil, nil, data, []byte(sealPurpose))
	if err != nil {
		return Flow{}, flowLost(err)
	}
	var f Flow
	if err := json.Unmarshal(plain, &f); err != nil {
		return Flow{}, flowLost(err)
	}
	if !f.current(now) {
		return Flow{}, flowLost(errors.New("it began at " + f.IssuedAt.UTC().Format(time.RFC3339)))
	}
	f.ReturnTo = LocalPath(f.ReturnTo)
	return f, nil
}

// flowLost is the fault of a callback that belongs to no sign-in of this browser.
func flowLost(cause error) error {
	return fault.Wrap(fault.Forbidden, cause, i18n.T("signin.flow_lost"))
}

// SealToken makes a refresh token unreadable without the key, and worthless beside another session than the one with
// this id. It fails when the key has fewer than 32 bytes. No token is no text.
func SealToken(key []byte, session, token string) (string, error) {
	if token == "" {
		return "", nil
	}
	aead, err := aeadOf(key, tokenPurpose)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(aead.Seal(nil, nil, []byte(token), []byte(session))), nil
}

// OpenToken reads what SealToken made with the same key for the same session; anything else is an error.
func OpenToken(key []byte, session, sealed string) (string, error) {
	aead, err := aeadOf(key, tokenPurpose)
	if err != nil {
		return "", err
	}
	data, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return "", fmt.Errorf("open a refresh token: %w", err)
	}
	plain, err := aead.Open(nil, nil, data, []byte(session))
	if err != nil {
		return "", fmt.Errorf("open a refresh token: %w", err)
	}
	return string(plain), nil
}

// aeadOf draws its nonces itself: one of 96 random bits for every use.
func aeadOf(secret []byte, purpose string) (cipher.AEAD, error) {
	if len(secret) < minKey {
		return nil, fmt.Errorf("the key for the %s has %d bytes, it needs %d", purpose, len(secret), minKey)
	}
	key, err := hkdf.Key(sha256.New, secret, nil, purpose, 32)
	if err != nil {
		return nil, fmt.Errorf("derive the key for the %s: %w", purpose, err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

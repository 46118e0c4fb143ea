package app

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidc"
	"github.com/gpu-portal/gpu-portal/internal/registry"
	"github.com/gpu-portal/gpu-portal/internal/secret"
)

// keyring is the portal's key, and those before it that the settings name.
func keyring(c config.Config, key []byte) (secret.Keyring, error) {
	ring := secret.Keyring{keyOf(key)}
	for _, file := range c.WorkloadSecrets.PreviousKeyFiles {
		previous, err := config.ReadKey(file)
		if err != nil {
			return nil, fmt.Errorf("secrets.previousKeyFiles: %w", err)
		}
		ring = append(ring, keyOf(previous))
	}
	return ring, nil
}

// keyOf seals as addresses of notifications and refresh tokens are sealed, with a key of its own.
func keyOf(key []byte) secret.Key {
	own := derive(key, "secrets of workloads")
	return secret.Key{ID: hex.EncodeToString(derive(key, "id of the key for secrets")[:4]),
		Seal: func(about, text string) (string, error) { return oidc.SealToken(own, about, text) },
		Open: func(about, sealed string) (string, error) { return oidc.OpenToken(own, about, sealed) }}
}

// resolveImage asks a registry for a tag's digest with the secrets, which are made after the teams.
func (a *App) resolveImage(ctx context.Context, team, reference string) (registry.Manifest, error) {
	return a.secretService.Resolve(ctx, team, reference)
}

func (a *App) newSecrets() *secret.Service {
	return secret.New(secret.Options{Store: a.store, Keys: a.keyring, Team: a.teamKnown,
		Client: a.config.WorkloadSecrets.Guard().Client(), Now: a.now, NewID: a.newID,
		Logger: a.log})
}

func notOpenShift(k config.Cluster) bool { return !k.OpenShift }

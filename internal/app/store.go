package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/store"
)

// OpenStore opens the database and brings it to this version's schema.
func OpenStore(ctx context.Context, c config.Config) (*store.Store, error) {
	return openStore(ctx, c, store.Options{})
}

func openStore(ctx context.Context, c config.Config, o store.Options) (*store.Store, error) {
	st, err := store.Open(ctx, c.Database, o)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if err := st.Migrate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("bring the database up to date: %w", err), st.Close())
	}
	return st, nil
}

// secretKey reads the portal's key, or makes one beside an SQLite database. Workload secrets are derived from it, so
// every replica needs the same.
func secretKey(c config.Config) ([]byte, error) {
	file := c.SecretKeyFile
	if file == "" {
		path, embedded := strings.CutPrefix(c.Database, "sqlite:")
		if !embedded {
			return nil, errors.New("secretKeyFile: needed with PostgreSQL, the same file for every replica; make one with: " +
				"openssl rand -hex 32")
		}
		file = filepath.Join(filepath.Dir(path), "portal.key")
		if err := makeKey(file); err != nil {
			return nil, err
		}
	}
	key, err := config.ReadKey(file)
	if err != nil {
		return nil, fmt.Errorf("secretKeyFile: %w", err)
	}
	return key, nil
}

// makeKey writes a fresh key unless there is one; of two starts at once, one wins.
func makeKey(file string) error {
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails, see crypto/rand
	part := fmt.Sprintf("%s.%d", file, os.Getpid())
	if err := os.WriteFile(part, []byte(hex.EncodeToString(key[:])+"\n"), 0o600); err != nil {
		return fmt.Errorf("make a secret key: %w", err)
	}
	err := os.Link(part, file)
	_ = os.Remove(part)
	if err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make a secret key: %w", err)
	}
	return nil
}

// CreateToken makes an API token for a person from the command line; the person's row is made when they have never
// signed in.
func CreateToken(ctx context.Context, st *store.Store, p identity.Person, label string, life time.Duration,
	now time.Time) (string, error) {
	p.ID = identity.NewPersonID(p.Issuer, p.Subject)
	known, err := st.Person(ctx, p.ID)
	switch {
	case fault.Is(err, fault.NotFound) || err == nil && len(p.Groups) > 0:
		p.SeenAt = now
		if err := st.SavePerson(ctx, p); err != nil {
			return "", err
		}
	case err != nil:
		return "", err
	default:
		p = known
	}
	credential := identity.NewCredential()
	token := identity.Token{ID: credential.ID, Name: label, SecretHash: credential.Hash(), Person: p.ID, CreatedAt: now,
		ExpiresAt: now.Add(life)}
	event := audit.By(identity.Actor{Person: p}, audit.TokenCreated, now)
	if err := st.CreateToken(ctx, token, event); err != nil {
		return "", err
	}
	return identity.TokenPrefix + credential.String(), nil
}

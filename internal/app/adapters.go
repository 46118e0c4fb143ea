package app

import (
	"context"
	"os"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/serve"
)

// secretOf reads the client secret from the configuration or its file; config has checked that the file can be read.
func secretOf(c config.Config) string {
	if c.OIDC.ClientSecretFile == "" {
		return c.OIDC.ClientSecret
	}
	text, err := os.ReadFile(c.OIDC.ClientSecretFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// people says who someone is now.
type people struct{ app *App }

func (p people) Actor(ctx context.Context, id identity.PersonID) (identity.Actor, error) {
	person, err := p.app.store.Person(ctx, id)
	if err != nil {
		return identity.Actor{}, err
	}
	return p.app.actor(person, identity.ViaSession), nil
}

func (p people) ActorByToken(ctx context.Context, bearer string) (identity.Actor, error) {
	return serve.ActorByToken(ctx, p.app.store, p.app.actor, bearer, p.app.now())
}

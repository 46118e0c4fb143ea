package app

import (
	"cmp"
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidc"
	"github.com/gpu-portal/gpu-portal/internal/notify"
)

// notifyEvery is how often each controller looks for events to tell of and messages to send; several share the work by
// claims.
const notifyEvery = time.Second

// newNotify puts together who is told of what. Addresses are sealed with a key of their own.
func (a *App) newNotify(bundle *i18n.Bundle, key []byte) (*notify.Service, error) {
	words, err := notify.LoadWords(bundle)
	if err != nil {
		return nil, err
	}
	own, c := derive(key, "notification addresses"), a.config.Notify
	return notify.New(notify.Options{Store: a.store, Actor: a.actor, Delegators: a.delegations.For, Words: words,
		Guard: c.Guard(), Mail: c.Server(), URL: a.config.URL, Language: cmp.Or(c.Language, notify.Languages()[0]),
		Seal: func(id, text string) (string, error) { return oidc.SealToken(own, id, text) },
		Open: func(id, sealed string) (string, error) { return oidc.OpenToken(own, id, sealed) },
		Now:  a.now, NewID: a.newID, Logger: a.log}), nil
}

// notifyLoop composes and sends until the context ends.
func (a *App) notifyLoop(ctx context.Context) error { return a.notify.Run(ctx, notifyEvery) }

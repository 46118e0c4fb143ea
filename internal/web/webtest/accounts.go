package webtest

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/accounts"
)

func (w *World) newAccounts(now func() time.Time) *accounts.Service {
	return &accounts.Service{Store: w.Store, Actor: w.Site.Directory.Actor, Now: now, Idle: 12 * time.Hour,
		Limits: identity.TokenLimits{Lifetime: 90 * 24 * time.Hour, StandingAge: 24 * time.Hour}}
}

// signedIn is Anna at her desk and on her phone, which she uses now.
func (w *World) signedIn() {
	at := func(ago time.Duration) time.Time { return Now.Add(-ago) }
	sessions := []identity.Session{
		{ID: "s-" + string(Anna.ID), Person: Anna.ID, CreatedAt: at(3 * time.Hour), SeenAt: at(time.Minute),
			EndsAt: Now.Add(6 * 24 * time.Hour), Address: "192.0.2.7",
			Agent: "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Version/19.0 Mobile/15E148 " +
				"Safari/604.1"},
		{ID: "s-desk", Person: Anna.ID, CreatedAt: at(26 * time.Hour), SeenAt: at(40 * time.Minute),
			EndsAt: Now.Add(5 * 24 * time.Hour), Address: "198.51.100.24",
			Agent: "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"},
		{ID: "s-script", Person: Anna.ID, CreatedAt: at(2 * time.Hour), SeenAt: at(time.Hour),
			EndsAt: Now.Add(6 * 24 * time.Hour), Address: "2001:db8::17", Agent: "curl/8.14.1"}}
	for _, n := range sessions {
		check(w.CreateSession(bg, n))
	}
}

// left is a world whose Anna has left, and an administrator has disabled her account.
func left(s Scope) *World {
	w := Busy(s)
	check(w.Disable(bg, Anna.ID, "Left the company at the end of October.",
		audit.By(w.Actor(Dora), audit.PersonDisabled, Now.Add(-26*time.Hour))))
	return w
}

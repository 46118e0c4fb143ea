package app

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/config"
)

// TestATokenLastsAsLongAsTheStandingOfItsOwner: while nobody asks the provider, tokens count for a day after it told of
// their owner; a sign-in makes them count again (T-TOKEN-2).
func TestATokenLastsAsLongAsTheStandingOfItsOwner(t *testing.T) {
	w := newWorld(t)
	w.browser().signIn(developer)
	token := w.longToken(developer)
	w.clock.pass(24*time.Hour - time.Minute)
	if got := w.call(token, http.MethodGet, "/api/v1/me", nil).status; got != http.StatusOK {
		t.Errorf("within the day: want 200, got %d", got)
	}
	w.clock.pass(2 * time.Minute)
	refused := w.call(token, http.MethodGet, "/api/v1/me", nil)
	if refused.status != http.StatusUnauthorized || !strings.Contains(refused.body, "signs in to the portal once") {
		t.Errorf("after the day: want 401 that says to sign in, got %d %s", refused.status, refused.body)
	}
	if other := w.call(token+"x", http.MethodGet, "/api/v1/me", nil); strings.Contains(other.body, "signs in") {
		t.Errorf("without the secret the reason is told: %s", other.body)
	}
	w.browser().signIn(developer)
	if got := w.call(token, http.MethodGet, "/api/v1/me", nil).status; got != http.StatusOK {
		t.Errorf("after the sign-in: want 200, got %d", got)
	}
}

// TestALeaverIsOut: somebody who is removed at the provider loses session and tokens with the next refresh of their
// groups, however long the tokens were made for (T-TOKEN-2, T-SESS-1). Of two browsers one may only have been signed out
// there, so the standing ends with the last.
func TestALeaverIsOut(t *testing.T) {
	w := newWorld(t)
	first, second := w.browser(), w.browser()
	first.signIn(admin)
	second.signIn(admin)
	token := w.longToken(admin)
	if got := w.call(token, http.MethodGet, "/api/v1/audit", nil).status; got != http.StatusOK {
		t.Fatalf("an administrator's token: want 200, got %d", got)
	}
	w.provider.RemoveUser(admin)
	w.clock.pass(10 * time.Minute)
	for i, c := range []struct {
		browser *browser
		token   int
	}{{first, http.StatusOK}, {second, http.StatusUnauthorized}} {
		if got := c.browser.get("/storage").status; got != http.StatusSeeOther {
			t.Errorf("session %d: want to be sent to sign in, got %d", i, got)
		}
		if got := w.call(token, http.MethodGet, "/api/v1/audit", nil).status; got != c.token {
			t.Errorf("the token after session %d ended: want %d, got %d", i, c.token, got)
		}
	}
	w.clock.pass(365 * 24 * time.Hour)
	if got := w.call(token, http.MethodGet, "/api/v1/me", nil).status; got != http.StatusUnauthorized {
		t.Errorf("a year later: want 401, got %d", got)
	}
}

// TestALongestLifeReachesTokensThatExist: a shorter setting ends tokens that were made for longer.
func TestALongestLifeReachesTokensThatExist(t *testing.T) {
	w := newWorld(t, func(c *config.Config) {
		c.Tokens.MaxLifetime, c.Tokens.MaxStandingAge = catalog.Duration(time.Hour), catalog.Duration(100*24*time.Hour)
	})
	token := w.longToken(developer)
	for _, c := range []struct {
		pass time.Duration
		want int
	}{{59 * time.Minute, http.StatusOK}, {time.Minute, http.StatusUnauthorized}} {
		w.clock.pass(c.pass)
		if got := w.call(token, http.MethodGet, "/api/v1/me", nil).status; got != c.want {
			t.Errorf("want %d, got %d", c.want, got)
		}
	}
}

// longToken is one that was made for a year.
func (w *world) longToken(subject string) string {
	w.t.Helper()
	text, err := CreateToken(w.t.Context(), w.store, w.person(subject), "test", 365*24*time.Hour, w.clock.now())
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

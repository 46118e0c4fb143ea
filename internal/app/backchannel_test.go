package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidctest"
	"github.com/gpu-portal/gpu-portal/internal/serve"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
)

// ended says at the portal that the provider has ended a session of a person, or all of theirs, and gives the status.
func (w *world) endedThere(subject, sid string, tampers ...oidctest.Tamper) int {
	w.t.Helper()
	token, err := w.provider.LogoutToken(subject, sid, tampers...)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.logout(token)
}

func (w *world) logout(token string) int {
	w.t.Helper()
	answer, err := oidctest.SendLogout(w.url+serve.BackChannelPath, token)
	if err != nil {
		w.t.Fatal(err)
	}
	if got := answer.Header.Get("Cache-Control"); got != "no-store" {
		w.t.Errorf("want no-store, got %q", got)
	}
	return answer.StatusCode
}

// TestTheProviderEndsASession: page, stream and what hangs on the session end at once, that session only, and it is on
// record (OpenID Connect Back-Channel Logout 1.0).
func TestTheProviderEndsASession(t *testing.T) {
	w := newWorld(t)
	here, there, others := w.browser(), w.browser(), w.browser()
	here.signIn(developer)
	sid := w.provider.Sessions(developer)[0]
	there.signIn(developer)
	others.signIn(other)
	stream := here.stream(t)
	if got := w.endedThere(developer, sid); got != http.StatusOK {
		t.Fatalf("want 200, got %d", got)
	}
	select {
	case text := <-stream:
		if !strings.Contains(text, "event: reload") {
			t.Errorf("want the open page told to load again, got %q", text)
		}
	case <-time.After(time.Minute):
		t.Error("the stream is still open")
	}
	for name, c := range map[string]struct {
		b    *browser
		want int
	}{"the session": {here, http.StatusSeeOther}, "another of the person": {there, http.StatusOK},
		"another person": {others, http.StatusOK}} {
		if got := c.b.get("/storage").status; got != c.want {
			t.Errorf("%s: want %d, got %d", name, c.want, got)
		}
	}
	if got := w.endedThere(developer, ""); got != http.StatusOK {
		t.Errorf("all of a person: want 200, got %d", got)
	}
	if a, b := there.get("/storage").status, others.get("/storage").status; a != http.StatusSeeOther ||
		b != http.StatusOK {
		t.Errorf("all of a person: want them out and nobody else, got %d and %d", a, b)
	}
	w.wantClosed("oidc.ended_there oidc.ended_there")
	if got := w.endedThere(developer, ""); got != http.StatusOK {
		t.Errorf("nothing left to end: want 200, got %d", got)
	}
}

// TestOnlyItsSignatureCounts: the route takes calls from anywhere, and whoever's cookie comes with one means nothing. A
// token works once, and bad ones are refused without ending anything, on record, and after a while unread.
func TestOnlyItsSignatureCounts(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	b.signIn(developer)
	b.headers = map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
	spoiled, err := w.provider.LogoutToken(developer, "", oidctest.ForeignKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"", "x", spoiled} {
		if got := b.post(serve.BackChannelPath, url.Values{"logout_token": {token}}); got.status != http.StatusBadRequest ||
			!strings.Contains(got.body, "invalid_request") || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%.10q: want 400, got %d %s", token, got.status, got.body)
		}
	}
	b.headers = map[string]string{}
	if b.get("/storage").status != http.StatusOK {
		t.Error("a bad token ended a session")
	}
	if got := w.call("", http.MethodGet, serve.BackChannelPath, nil).status; got == http.StatusOK {
		t.Errorf("GET: %d", got)
	}
	good, err := w.provider.LogoutToken(developer, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := w.logout(good); got != http.StatusOK {
		t.Fatalf("want 200, got %d", got)
	}
	b.signIn(developer)
	if got := w.logout(good); got != http.StatusBadRequest || b.get("/storage").status != http.StatusOK {
		t.Errorf("a token that came before: want 400 and the session kept, got %d", got)
	}
	if rows := w.events(audit.SignInRefused); len(rows) != 1 || rows[0].Detail.ID != "oidc.logout_refused" {
		t.Errorf("want the refusals on record, folded, got %+v", rows)
	}
	limited := false
	for range 100 {
		limited = limited || w.logout("x") == http.StatusTooManyRequests
	}
	if !limited {
		t.Error("bad tokens without end are all looked at")
	}
	w.clock.pass(time.Minute)
	if err := w.server.FlushRefusals(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if got := w.endedThere(developer, ""); got != http.StatusOK {
		t.Errorf("a minute later: want 200, got %d", got)
	}
}

// TestConsentInTheMiddle: a provider that gives a refresh token only after asking is asked again at once, so that the
// first sign-in already is one that can be renewed.
func TestConsentInTheMiddle(t *testing.T) {
	w := newWorld(t)
	w.provider.WantConsent(true)
	b := w.browser()
	again := b.comeBack(b.wayToProvider(), developer)
	target, _ := again.page(t).Find("main a").Attr("href")
	if !strings.Contains(target, "prompt=consent") || b.session() != "" {
		t.Fatalf("want to be sent to the provider again, got %d %s", again.status, again.body)
	}
	if in := b.comeBack(target, developer); in.header.Get("Location") != "/storage" {
		t.Errorf("want to be led back, got %d %v", in.status, in.header)
	}
	id, _, _ := strings.Cut(b.cookies[edge.Session].Value, ".")
	if s, err := w.store.Session(t.Context(), id); err != nil || s.RefreshToken == "" || s.ProviderSession == "" {
		t.Errorf("want a session that can be renewed and ended, got %+v, %v", s, err)
	}
	if next := w.browser().wayToProvider(); !strings.Contains(next, "prompt=consent") {
		t.Errorf("the next sign-in asks at once, got %s", next)
	}
}

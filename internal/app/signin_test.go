package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
)

// TestSignInAndOut: a sign-in gives a fresh session each time and is recorded once, as are its end and its refusal
// (T-SESS-2, T-AUDIT-1).
func TestSignInAndOut(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	planted := identity.NewCredential().String()
	b.cookies[edge.Session] = &http.Cookie{Name: edge.Session, Value: planted}
	in := b.signIn(developer)
	if in.status != http.StatusSeeOther || in.header.Get("Location") != "/storage" {
		t.Fatalf("want to be led back, got %d %s", in.status, in.body)
	}
	first := b.session()
	if first == planted || first == "" {
		t.Error("the session must be a new one")
	}
	c := b.cookies[edge.Session]
	if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("session cookie: %+v", c)
	}
	if got := b.get("/storage").status; got != http.StatusOK {
		t.Errorf("want the page, got %d", got)
	}

	stale := w.browser()
	stale.cookies[edge.Session] = &http.Cookie{Name: edge.Session, Value: first}
	b.signIn(other)
	if b.session() == first {
		t.Error("another person, the same session")
	}
	if got := stale.get("/storage").status; got != http.StatusSeeOther {
		t.Errorf("the session before must have ended, got %d", got)
	}

	value := b.session()
	out := b.post("/signout", url.Values{})
	if b.session() != "" || out.status != http.StatusOK && out.status != http.StatusSeeOther {
		t.Errorf("signing out: %d, cookie %q", out.status, b.session())
	}
	b.cookies[edge.Session] = &http.Cookie{Name: edge.Session, Value: value}
	if got := b.get("/storage").status; got != http.StatusSeeOther {
		t.Errorf("the session must be dead, got %d", got)
	}

	refused := w.browser().get("/signin/callback?code=x&state=y")
	if refused.status != http.StatusForbidden {
		t.Errorf("want 403 for an answer that nobody asked for, got %d", refused.status)
	}
	for kind, want := range map[audit.Kind]int{audit.SignedIn: 2, audit.SignedOut: 1, audit.SignInRefused: 1} {
		if got := len(w.events(kind)); got != want {
			t.Errorf("%s: want %d, got %d", kind, want, got)
		}
	}
	for _, e := range w.events() {
		if e.Address != "127.0.0.1" && e.Address != "::1" {
			t.Errorf("%s: from %q", e.Kind, e.Address)
		}
	}
}

// TestADisabledPersonStaysOut: neither by the provider, who knows nothing of it, nor by a session or a token.
func TestADisabledPersonStaysOut(t *testing.T) {
	w := newWorld(t)
	b, token := w.signedIn(developer), w.token(developer)
	w.disable(developer)
	if got := b.get("/storage").status; got != http.StatusSeeOther {
		t.Errorf("session: want to be sent to sign in, got %d", got)
	}
	if got := w.call(token, http.MethodGet, "/api/v1/me", nil).status; got != http.StatusUnauthorized {
		t.Errorf("token: want 401, got %d", got)
	}
	fresh := w.browser()
	if in := fresh.signIn(developer); in.status != http.StatusForbidden || fresh.session() != "" {
		t.Errorf("sign-in: want 403 and no session, got %d %q", in.status, fresh.session())
	}
	if in, no := len(w.events(audit.SignedIn)), len(w.events(audit.SignInRefused)); in != 0 || no != 1 {
		t.Errorf("want one refusal and no session in the record, got %d and %d", no, in)
	}
}

// TestSessionLimits: a session ends when it is not used, and at the latest after its whole time (T-SESS-3).
func TestSessionLimits(t *testing.T) {
	w := newWorld(t)
	idle, busy := w.browser(), w.browser()
	idle.signIn(developer)
	busy.signIn(owner)
	for at := time.Duration(0); at < 7*24*time.Hour-11*time.Hour; at += 11 * time.Hour {
		if got := busy.get("/storage").status; got != http.StatusOK {
			t.Fatalf("in use, after %s: want the page, got %d", at, got)
		}
		w.clock.pass(11 * time.Hour)
	}
	if got := idle.get("/storage").status; got != http.StatusSeeOther {
		t.Errorf("not in use: want to be sent to sign in, got %d", got)
	}
	w.clock.pass(11 * time.Hour)
	if got := busy.get("/storage").status; got != http.StatusSeeOther {
		t.Errorf("after seven days: want to be sent to sign in, got %d", got)
	}
	token := w.token(developer)
	w.clock.pass(time.Hour)
	if got := w.call(token, http.MethodGet, "/api/v1/me", nil).status; got != http.StatusUnauthorized {
		t.Errorf("token after its time: want 401, got %d", got)
	}
}

func TestTamperedCredentials(t *testing.T) {
	w := newWorld(t)
	good, token := w.signedIn(developer).session(), w.token(developer)
	id, secret, _ := strings.Cut(good, ".")
	foreign, _, _ := strings.Cut(w.signedIn(other).session(), ".")
	for name, value := range map[string]string{"another secret": id + ".AAAA", "another session's id": foreign + "." +
		secret, "no secret": id + ".", "no id": "." + secret, "more": good + "A",
		"hash as secret": id + "." + identity.HashSecret(secret), "SQL": "' OR 1=1 --.x", "long": strings.Repeat("a", 300) +
			".b", "a token": strings.TrimPrefix(token, identity.TokenPrefix), "empty": ""} {
		b := w.browser()
		b.cookies[edge.Session] = &http.Cookie{Name: edge.Session, Value: value}
		if got := b.get("/storage").status; got != http.StatusSeeOther {
			t.Errorf("cookie, %s: want to be sent to sign in, got %d", name, got)
		}
	}
	for name, value := range map[string]string{"a session": good, "a session with the prefix": identity.TokenPrefix + good,
		"no prefix": strings.TrimPrefix(token, identity.TokenPrefix), "more": token + "A",
		"nothing": " ", "another secret": token[:len(token)-4] + "AAAA"} {
		if got := w.call(value, http.MethodGet, "/api/v1/me", nil).status; got != http.StatusUnauthorized {
			t.Errorf("token, %s: want 401, got %d", name, got)
		}
	}
	// A session of the gateway opens one workload and nothing of the portal.
	p, credential := w.person(developer), identity.NewCredential()
	child := identity.Session{ID: credential.ID, SecretHash: credential.Hash(), Person: p.ID, Parent: id, Workload: "w-x",
		CreatedAt: time.Now(), SeenAt: time.Now(), EndsAt: time.Now().Add(time.Hour)}
	if err := w.store.CreateSession(t.Context(), child); err != nil {
		t.Fatal(err)
	}
	b := w.browser()
	b.cookies[edge.Session] = &http.Cookie{Name: edge.Session, Value: credential.String()}
	if got := b.get("/storage").status; got != http.StatusSeeOther {
		t.Errorf("a gateway session at the portal: want to be sent to sign in, got %d", got)
	}
	// It ends with the one that it hangs on.
	b.cookies[edge.Session].Value = good
	b.post("/signout", url.Values{})
	if _, err := w.store.Session(t.Context(), child.ID); err == nil {
		t.Error("the gateway session outlived the sign-out")
	}
}

// TestStreamsEnd: an open page is told within five seconds that its session, token or role has ended (T-SESS-1).
func TestStreamsEnd(t *testing.T) {
	ends := map[string]func(t *testing.T, w *world, b *browser){
		"sign-out":        func(_ *testing.T, _ *world, b *browser) { b.post("/signout", url.Values{}) },
		"person disabled": func(_ *testing.T, w *world, _ *browser) { w.disable(developer) },
		"another role": func(t *testing.T, w *world, _ *browser) {
			p := w.person(developer)
			p.Groups = []string{"speech-devs"}
			if err := w.store.SavePerson(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.browser()
			b.signIn(developer)
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/live?page=home", nil)
			r.AddCookie(&http.Cookie{Name: edge.Session, Value: b.session()})
			reply, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer reply.Body.Close()
			ended := make(chan string, 1)
			go func() { ended <- read(t, &http.Response{Body: reply.Body, Header: http.Header{}}).body }()
			end(t, w, b)
			select {
			case text := <-ended:
				if !strings.Contains(text, "event: reload") {
					t.Errorf("want to be told to load again, got %q", text)
				}
			case <-time.After(time.Minute):
				t.Error("the stream is still open")
			}
		})
	}
}

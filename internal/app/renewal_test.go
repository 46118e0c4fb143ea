package app

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidctest"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
)

// stream opens a page's stream; the channel gives all that it said when it has ended.
func (b *browser) stream(t *testing.T) <-chan string {
	t.Helper()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, b.w.url+"/live?page=home", nil)
	r.AddCookie(&http.Cookie{Name: edge.Session, Value: b.session()})
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if reply.StatusCode != http.StatusOK {
		t.Fatalf("the stream answers %s", reply.Status)
	}
	t.Cleanup(func() { _ = reply.Body.Close() })
	ended := make(chan string, 1)
	go func() { ended <- read(t, &http.Response{Body: reply.Body, Header: http.Header{}}).body }()
	return ended
}

// TestGroupsFollowTheProvider: what changes at the provider while somebody is signed in reaches their session, their
// token and their open page by the time that groups are read again (T-OIDC-3, T-SESS-1).
func TestGroupsFollowTheProvider(t *testing.T) {
	many := make([]string, 2000)
	for i := range many {
		many[i] = fmt.Sprintf("group-%04d", i)
	}
	many[1234] = "speech-devs"
	cases := map[string]struct {
		change func(p *oidctest.Provider)
		status int    // of a page afterwards; 303 is the way to sign in
		teams  string // of the token afterwards
		admin  bool
		token  int
		closed string // reason in the record
	}{
		"in no group any more": {change: func(p *oidctest.Provider) { p.SetGroups(developer) }, status: http.StatusOK,
			token: http.StatusOK},
		"in another group": {change: func(p *oidctest.Provider) { p.SetGroups(developer, "speech-devs") },
			status: http.StatusOK, teams: "speech", token: http.StatusOK},
		"in two thousand": {change: func(p *oidctest.Provider) { p.SetGroups(developer, many...) }, status: http.StatusOK,
			teams: "speech", token: http.StatusOK},
		"in too many for a token, told beside it": {change: func(p *oidctest.Provider) {
			p.SetGroups(developer, "speech-devs")
			p.Tamper(oidctest.GroupsOverage)
		},
			status: http.StatusOK, teams: "speech", token: http.StatusOK},
		"in groups named like roles": {change: func(p *oidctest.Provider) {
			p.SetGroups(developer, "admin", "role:admin", "owner", "auditor")
		}, status: http.StatusOK, token: http.StatusOK},
		"groups are not told": {change: func(p *oidctest.Provider) {
			p.Tamper(oidctest.Drop("groups"))
			p.UserInfo(func(claims map[string]any) { delete(claims, "groups") })
		}, status: http.StatusSeeOther, token: http.StatusUnauthorized, closed: "oidc.renewal_no_groups"},
		"signed out there": {change: func(p *oidctest.Provider) { p.EndSignIns() }, status: http.StatusSeeOther,
			token: http.StatusUnauthorized, closed: "oidc.renewal_refused"},
		"removed there": {change: func(p *oidctest.Provider) { p.RemoveUser(developer) }, status: http.StatusSeeOther,
			token: http.StatusUnauthorized, closed: "oidc.renewal_refused"},
		"switched off there": {change: func(p *oidctest.Provider) { p.DisableUser(developer, true) },
			status: http.StatusSeeOther, token: http.StatusUnauthorized, closed: "oidc.account_off"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.browser()
			b.signIn(developer)
			token := w.token(developer)
			ended := b.stream(t)
			w.clock.pass(time.Minute)
			c.change(w.provider)
			if got := b.get("/storage").status; got != http.StatusOK {
				t.Fatalf("before the groups are due: want the page, got %d", got)
			}
			asked := w.provider.Requests(oidctest.TokenPath)
			w.clock.pass(9 * time.Minute)
			select {
			case text := <-ended:
				if !strings.Contains(text, "event: reload") {
					t.Errorf("want the open page told to load again, got %q", text)
				}
			case <-time.After(time.Minute):
				t.Error("the open page was not told")
			}
			if got := b.get("/storage").status; got != c.status {
				t.Errorf("want %d, got %d", c.status, got)
			}
			if got := w.provider.Requests(oidctest.TokenPath) - asked; got != 1 {
				t.Errorf("want the provider asked once, got %d times", got)
			}
			me := w.call(token, http.MethodGet, "/api/v1/me", nil)
			if me.status != c.token {
				t.Errorf("token: want %d, got %d", c.token, me.status)
			}
			if p, err := w.store.Person(t.Context(), w.person(developer).ID); err == nil {
				a := w.actor(p, identity.ViaToken)
				if got := strings.Join(a.TenantNames(), " "); c.token == http.StatusOK && got != c.teams || len(a.Global) > 0 {
					t.Errorf("want the teams %q and no role beyond, got %q %v", c.teams, got, a.Global)
				}
			}
			w.wantClosed(c.closed)
		})
	}
}

// wantClosed asks for one row about a session that the portal ended, for this reason; "" for none.
func (w *world) wantClosed(reason string) {
	w.t.Helper()
	var got []string
	for _, e := range w.events(audit.SessionClosed) {
		got = append(got, e.Detail.ID)
	}
	if strings.Join(got, " ") != reason {
		w.t.Errorf("record: want %q, got %q", reason, got)
	}
}

// TestASessionThatTheProviderEndedSaysSo: and the person who is let in by the provider again is let in here.
func TestASessionThatTheProviderEndedSaysSo(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	b.signIn(developer)
	w.provider.DisableUser(developer, true)
	w.clock.pass(10 * time.Minute)
	to := b.get("/storage").header.Get("Location")
	if page := b.get(to); !strings.Contains(page.body, "Your session has ended. Sign in again.") {
		t.Errorf("%s does not say that the session has ended", to)
	}
	if fresh := w.browser().get("/storage").header.Get("Location"); strings.Contains(fresh, "ended") {
		t.Errorf("somebody who never signed in is told that a session has ended: %s", fresh)
	}
	w.provider.DisableUser(developer, false)
	if in := b.signIn(developer); in.status != http.StatusSeeOther || b.get("/storage").status != http.StatusOK {
		t.Errorf("want to be let in again, got %d", in.status)
	}
}

// TestTheProviderIsAway: groups count for an hour, then nobody is let in by them until it is back. No session ends by
// it, and who wants to leave can.
func TestTheProviderIsAway(t *testing.T) {
	w := newWorld(t)
	b, leaver := w.browser(), w.browser()
	b.signIn(developer)
	leaver.signIn(owner)
	w.provider.Fail(oidctest.Breaks)
	w.clock.pass(59 * time.Minute)
	if got := b.get("/storage").status; got != http.StatusOK {
		t.Errorf("within the hour: want the page, got %d", got)
	}
	ended := b.stream(t)
	w.clock.pass(time.Minute)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the open page was not told")
	}
	refused := b.get("/storage")
	if refused.status != http.StatusServiceUnavailable || !strings.Contains(refused.body, "your groups is too old") ||
		refused.header.Get("Retry-After") == "" {
		t.Errorf("after the hour: want the plain sentence and when to come back, got %d", refused.status)
	}
	if got := b.get("/static/nothing").status; got != http.StatusNotFound {
		t.Errorf("what needs no name: want 404, got %d", got)
	}
	if got := b.get("/api/v1/me").status; got != http.StatusServiceUnavailable {
		t.Errorf("API: want 503, got %d", got)
	}
	old := leaver.session()
	leaver.post("/signout", nil)
	id, _, _ := strings.Cut(old, ".")
	if _, err := w.store.Session(t.Context(), id); err == nil || leaver.session() != "" {
		t.Error("nobody may be kept from signing out")
	}
	w.provider.Fail(oidctest.Works)
	w.clock.pass(time.Minute)
	if got := b.get("/storage").status; got != http.StatusOK {
		t.Errorf("back again: want the page, got %d", got)
	}
	w.wantClosed("")
}

// TestSessionWithoutRefreshToken ends with the provider's token, or as long after as the site allows (T-SESS-3).
func TestSessionWithoutRefreshToken(t *testing.T) {
	for name, c := range map[string]struct {
		withoutRefresh time.Duration
		idle           time.Duration
		ends           time.Duration
	}{"with the token": {0, 0, time.Hour}, "some time after": {30 * time.Minute, 0, 90 * time.Minute},
		"idle first": {0, 20 * time.Minute, 20 * time.Minute}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(s *config.Config) {
				s.OIDC.OfflineAccess, s.OIDC.MaxSessionWithoutRefresh, s.Session.Idle = "never", catalog.Duration(c.withoutRefresh),
					catalog.Duration(c.idle)
			})
			b := w.browser()
			b.signIn(developer)
			if age := time.Duration(b.cookies[edge.Session].MaxAge) * time.Second; age > time.Hour+c.withoutRefresh ||
				age < time.Hour+c.withoutRefresh-time.Minute {
				t.Errorf("the cookie lasts %s", age)
			}
			w.clock.pass(c.ends - time.Minute)
			if id, _, _ := strings.Cut(b.session(), "."); c.idle == 0 {
				if got := b.get("/storage").status; got != http.StatusOK {
					t.Errorf("before its end: want the page, got %d", got)
				}
			} else if _, err := w.store.Session(t.Context(), id); err != nil {
				t.Error(err)
			}
			w.clock.pass(time.Minute)
			if got := b.get("/storage").status; got != http.StatusSeeOther {
				t.Errorf("at its end: want to be sent to sign in, got %d", got)
			}
		})
	}
}

// TestTheGatewayReadsGroupsToo: somebody who only has a notebook open loses it when the provider ends the sign-in.
func TestTheGatewayReadsGroupsToo(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	b.signIn(developer)
	id, _, _ := strings.Cut(b.session(), ".")
	behind := sessions{w.store, w.renewals}
	if _, err := behind.Session(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	w.provider.EndSignIns()
	w.clock.pass(10 * time.Minute)
	if _, err := behind.Session(t.Context(), id); err == nil {
		t.Error("the gateway still finds the session")
	}
	w.wantClosed("oidc.renewal_refused")
}

// TestRefusedSignInsAreCounted: one row at once, and then one a minute with a count, however many come.
func TestRefusedSignInsAreCounted(t *testing.T) {
	w := newWorld(t)
	for range 50 {
		if got := w.browser().get("/signin/callback?code=x&state=y").status; got != http.StatusForbidden {
			t.Fatalf("want 403, got %d", got)
		}
	}
	rows := func(want ...string) {
		t.Helper()
		var got []string
		all := w.events(audit.SignInRefused)
		for i := len(all) - 1; i >= 0; i-- {
			got = append(got, fmt.Sprint(all[i].Detail.ID, " ", all[i].Detail.Args["Count"]))
		}
		if strings.Join(got, ", ") != strings.Join(want, ", ") {
			t.Errorf("want %q, got %q", want, got)
		}
	}
	flush := func() {
		t.Helper()
		if err := w.server.FlushRefusals(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	flush()
	rows("signin.flow_lost <nil>")
	w.clock.pass(time.Minute)
	flush()
	rows("signin.flow_lost <nil>", "audit.refused_more 49")
	w.browser().get("/signin/callback?code=x&state=y")
	w.clock.pass(time.Minute)
	flush()
	rows("signin.flow_lost <nil>", "audit.refused_more 49", "audit.refused_more 1")
	w.clock.pass(time.Minute)
	flush() // quiet for a minute: the next one is written at once again
	w.browser().get("/signin/callback?code=x&state=y")
	rows("signin.flow_lost <nil>", "audit.refused_more 49", "audit.refused_more 1", "signin.flow_lost <nil>")
}

// TestRefreshTokensAreSealed: whoever reads the database cannot go on as somebody else.
func TestRefreshTokensAreSealed(t *testing.T) {
	file := ""
	w := newWorld(t, func(c *config.Config) { file = strings.TrimPrefix(c.Database, "sqlite:") })
	b := w.browser()
	b.signIn(developer)
	id, _, _ := strings.Cut(b.session(), ".")
	s, err := w.store.Session(t.Context(), id)
	if err != nil || s.RefreshToken == "" {
		t.Fatalf("no refresh token: %v", err)
	}
	given := w.provider.RefreshTokens()
	if len(given) != 1 {
		t.Fatalf("want one refresh token given, got %d", len(given))
	}
	for _, part := range []string{file, file + "-wal"} {
		if text, err := os.ReadFile(part); err == nil && bytes.Contains(text, []byte(given[0])) {
			t.Errorf("the refresh token is readable in %s", part)
		}
	}
	if strings.Contains(w.log.String(), given[0]) {
		t.Error("the refresh token is in the log")
	}
}

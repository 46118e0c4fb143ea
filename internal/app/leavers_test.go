package app

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidctest"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
)

// TestATokenLastsAsLongAsTheStandingOfItsOwner: where nobody can ask the provider, tokens count for a day after it told
// of their owner; a sign-in makes them count again (T-TOKEN-2).
func TestATokenLastsAsLongAsTheStandingOfItsOwner(t *testing.T) {
	w := newWorld(t, func(c *config.Config) { c.OIDC.OfflineAccess = "never" })
	w.browser().signIn(developer)
	token := w.longToken(developer)
	w.clock.pass(24*time.Hour - time.Minute)
	if got := w.call(token, http.MethodGet, "/api/v1/me", nil).status; got != http.StatusOK {
		t.Errorf("within the day: want 200, got %d", got)
	}
	w.clock.pass(2 * time.Minute)
	refused := w.call(token, http.MethodGet, "/api/v1/me", nil)
	if refused.status != http.StatusUnauthorized || !strings.Contains(refused.body, "once its owner signs in") {
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
// groups, however long the tokens were made for (T-TOKEN-2, T-SESS-1). Of two browsers one may only have been signed
// out there: the token asks with the other, which is refused as well.
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
	for i, b := range []*browser{first, second} {
		if got := b.get("/storage").status; got != http.StatusSeeOther {
			t.Errorf("session %d: want to be sent to sign in, got %d", i, got)
		}
		if got := w.call(token, http.MethodGet, "/api/v1/audit", nil).status; got != http.StatusUnauthorized {
			t.Errorf("the token after session %d ended: want 401, got %d", i, got)
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

// TestAnAdministratorDisablesSomebody: their session, token, open stream and way to a notebook end, and come back with
// enabling but for the session (T-SESS-1, T-TOKEN-2). Each of both can be sent twice.
func TestAnAdministratorDisablesSomebody(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	b.signIn(developer)
	by, token, item := w.token(admin), w.token(developer), w.running(developer, "vision")
	notebook := w.gatewayCookie(b, string(item.ID))
	if got := w.atNotebook(item.Name, notebook); got == http.StatusUnauthorized {
		t.Fatalf("before: the gateway answers %d", got)
	}
	ended, byToken := b.stream(t), w.tokenStream(token)
	path := "/api/v1/people/" + string(w.person(developer).ID)
	for range 2 {
		off := w.call(by, http.MethodPost, path+"/disable", map[string]any{"note": "has left"})
		if how, _ := off.json(t)["disabled"].(map[string]any); off.status != http.StatusOK || how["note"] != "has left" ||
			how["name"] != "Adam Admin" {
			t.Fatalf("disable: %d %s", off.status, off.body)
		}
	}
	for what, stream := range map[string]<-chan string{"session": ended, "token": byToken} {
		select {
		case <-stream:
		case <-time.After(time.Minute):
			t.Errorf("the stream by %s is still open", what)
		}
	}
	if got := b.get("/storage").status; got != http.StatusSeeOther {
		t.Errorf("session: want to be sent to sign in, got %d", got)
	}
	if got := w.call(token, http.MethodGet, "/api/v1/me", nil).status; got != http.StatusUnauthorized {
		t.Errorf("token: want 401, got %d", got)
	}
	if got := w.atNotebook(item.Name, notebook); got != http.StatusUnauthorized {
		t.Errorf("notebook: want 401, got %d", got)
	}
	for range 2 {
		if on := w.call(by, http.MethodPost, path+"/enable", nil); on.status != http.StatusOK ||
			on.json(t)["disabled"] != nil {
			t.Fatalf("enable: %d %s", on.status, on.body)
		}
	}
	if got := w.call(token, http.MethodGet, "/api/v1/me", nil).status; got != http.StatusOK {
		t.Errorf("token of somebody who is enabled again: want 200, got %d", got)
	}
	if got := b.get("/storage").status; got != http.StatusSeeOther {
		t.Errorf("the old session: want it over, got %d", got)
	}
	b.signIn(developer)
	if got := b.get("/storage").status; got != http.StatusOK {
		t.Errorf("after a new sign-in: want 200, got %d", got)
	}
	if off, on := len(w.events(audit.PersonDisabled)), len(w.events(audit.PersonEnabled)); off != 1 || on != 1 {
		t.Errorf("record: want one of each, got %d and %d", off, on)
	}
}

// tokenStream opens the home page's stream with an API token.
func (w *world) tokenStream(token string) <-chan string {
	w.t.Helper()
	r, _ := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.url+"/live?page=home", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	reply, err := http.DefaultClient.Do(r)
	if err != nil || reply.StatusCode != http.StatusOK {
		w.t.Fatal(reply, err)
	}
	w.t.Cleanup(func() { _ = reply.Body.Close() })
	ended := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(reply.Body)
		ended <- string(text)
	}()
	return ended
}

// gatewayCookie is a session of the gateway that hangs on a browser's.
func (w *world) gatewayCookie(b *browser, workload string) *http.Cookie {
	w.t.Helper()
	parent, _, _ := strings.Cut(b.session(), ".")
	now, credential := w.clock.now(), identity.NewCredential()
	if err := w.store.CreateSession(w.t.Context(), identity.Session{ID: credential.ID, SecretHash: credential.Hash(),
		Person: w.person(developer).ID, Parent: parent, Workload: workload, CreatedAt: now, SeenAt: now,
		EndsAt: now.Add(time.Hour)}); err != nil {
		w.t.Fatal(err)
	}
	return &http.Cookie{Name: "__Host-gpu-workload", Value: credential.String()}
}

// atNotebook is how the gateway answers a program at a notebook's own host.
func (w *world) atNotebook(name string, cookie *http.Cookie) int {
	w.t.Helper()
	r, _ := http.NewRequest(http.MethodGet, w.url+"/api/contents", nil)
	r.Host = name + "." + r.Host
	r.AddCookie(cookie)
	reply, err := noRedirect.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	return read(w.t, reply).status
}

// TestNobodyDisablesThemself: neither by page nor over the API, and of two administrators one is always left.
func TestNobodyDisablesThemself(t *testing.T) {
	w := newWorld(t)
	token, id := w.token(admin), string(w.person(admin).ID)
	for _, name := range []string{id, "me"} {
		got := w.call(token, http.MethodPost, "/api/v1/people/"+name+"/disable", map[string]any{})
		if got.status != http.StatusConflict || !strings.Contains(got.body, "Ask another administrator") {
			t.Errorf("%s: want a conflict with a way out, got %d %s", name, got.status, got.body)
		}
	}
	b := w.signedIn(admin)
	if got := b.post("/admin/people/"+id+"/disable", url.Values{}); got.status != http.StatusConflict {
		t.Errorf("page: want 409, got %d", got.status)
	}
	if got := b.get("/storage").status; got != http.StatusOK {
		t.Errorf("want to be still in, got %d", got)
	}
}

// TestSignInsAndTokensEnd: people list and end their own, administrators those of others, nobody else any.
func TestSignInsAndTokensEnd(t *testing.T) {
	w := newWorld(t)
	desk, phone := w.browser(), w.browser()
	phone.headers["User-Agent"] = "Mozilla/5.0 (Linux; Android 16) Chrome/142.0"
	desk.signIn(developer)
	phone.signIn(developer)
	list := phone.get("/api/v1/people/me/sessions").json(t)["items"].([]any)
	var others []string
	for _, item := range list {
		n := item.(map[string]any)
		if n["current"] != true {
			others = append(others, n["id"].(string))
		} else if n["agent"] != phone.headers["User-Agent"] || n["address"] == "" {
			t.Errorf("the sign-in does not say where it is: %v", n)
		}
	}
	if len(list) != 2 || len(others) != 1 {
		t.Fatalf("want two sign-ins, one of them this one, got %v", list)
	}
	path := "/api/v1/people/" + string(w.person(developer).ID)
	mine, by := w.token(developer), w.token(admin)
	for name, c := range map[string]struct {
		token, path string
		want        int
	}{"another's session": {w.token(other), path + "/sessions/" + others[0], http.StatusNotFound},
		"all as another": {w.token(owner), path + "/sessions", http.StatusNotFound},
		"as an auditor":  {w.token(auditor), path + "/tokens", http.StatusForbidden}} {
		if got := w.call(c.token, http.MethodDelete, c.path, nil).status; got != c.want {
			t.Errorf("%s: want %d, got %d", name, c.want, got)
		}
	}
	if got := w.call(mine, http.MethodDelete, "/api/v1/people/me/sessions/"+others[0], nil).status; got != http.StatusOK {
		t.Errorf("one's own: want 200, got %d", got)
	}
	if got := desk.get("/storage").status; got != http.StatusSeeOther {
		t.Errorf("the one that was ended: want to be sent to sign in, got %d", got)
	}
	for range 2 {
		if got := w.call(by, http.MethodDelete, path+"/sessions", nil).status; got != http.StatusOK {
			t.Errorf("all, by an administrator: want 200, got %d", got)
		}
	}
	if got := phone.get("/storage").status; got != http.StatusSeeOther {
		t.Errorf("want every sign-in over, got %d", got)
	}
	tokens := w.call(by, http.MethodGet, path+"/tokens", nil).json(t)["items"].([]any)
	if len(tokens) != 1 || strings.Contains(mine, tokens[0].(map[string]any)["id"].(string)+".") != true {
		t.Fatalf("want one token, got %v", tokens)
	}
	if got := w.call(by, http.MethodDelete, path+"/tokens/"+tokens[0].(map[string]any)["id"].(string),
		nil).status; got != http.StatusOK {
		t.Errorf("revoke: want 200, got %d", got)
	}
	if got := w.call(mine, http.MethodGet, "/api/v1/me", nil).status; got != http.StatusUnauthorized {
		t.Errorf("a revoked token: want 401, got %d", got)
	}
	if got := len(w.events(audit.SessionsEnded)); got != 2 {
		t.Errorf("record: want two ends of sign-ins, got %d", got)
	}
}

// TestALeaverHandsOver: workloads, storage and pending requests in one team go to another member of it, once; what the
// recipient has a word on stays.
func TestALeaverHandsOver(t *testing.T) {
	w := newWorld(t)
	item, kept, spec := w.running(developer, "vision"), w.unusedVolume(developer, "vision"), w.pending(developer, "vision")
	path, by := "/api/v1/people/"+w.personID(developer), w.token(admin)
	w.personID(both)
	held := w.call(by, http.MethodGet, path+"/holdings", nil).json(t)
	if len(held["workloads"].([]any)) != 1 || len(held["volumes"].([]any)) != 2 || len(held["requests"].([]any)) != 1 {
		t.Fatalf("holdings: %v", held)
	}
	give := func(tenant, to string) answer {
		return w.call(by, http.MethodPost, path+"/transfer", map[string]any{"tenant": tenant, "to": w.personID(to)})
	}
	for name, got := range map[string]answer{"another team's": give("vision", other), "an administrator": give("vision",
		admin), "themself": give("vision", developer)} {
		if got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: want 422, got %d", name, got.status)
		}
	}
	if got := give("vision", owner); got.status != http.StatusOK || got.json(t)["volumes"] != 2.0 {
		t.Fatalf("hand over: %d %s", got.status, got.body)
	}
	to := w.person(owner).ID
	is, err := w.store.Workload(t.Context(), item.ID)
	v, err2 := w.store.Volume(t.Context(), kept.Name)
	r, err3 := w.store.Request(t.Context(), spec.ID)
	if err != nil || err2 != nil || err3 != nil || is.Owner != to || v.Owner != to || r.Asker != to ||
		is.OwnerName != "Olga Owner" || is.Generation != item.Generation || is.Desired != item.Desired {
		t.Errorf("want all of it the owner's and running on, got %s %s %s", is.OwnerName, v.OwnerName, r.AskerName)
	}
	if _, err := w.requests.Approvals.Approve(t.Context(), w.actorOf(approver), r, ""); err != nil {
		t.Errorf("a request that was handed over is decided like any other: %v", err)
	}
	if got := len(w.events(audit.HoldingsTransferred)); got != 4 {
		t.Errorf("record: want an event for each of four things, got %d", got)
	}
	if again := give("vision", owner).json(t); again["workloads"] != 0.0 {
		t.Errorf("the second time: %v", again)
	}
}

// TestNobodyIsGivenWhatTheyDecided: a request that the recipient has consented to stays where it is.
func TestNobodyIsGivenWhatTheyDecided(t *testing.T) {
	w := newWorld(t)
	spec := w.pending(developer, "vision")
	w.save(func(tx request.Tx) error {
		r, err := tx.Request(t.Context(), spec.ID)
		if err != nil {
			return err
		}
		r.Decision.Reassigned = append(slices.Clone(r.Decision.Reassigned), request.Reassignment{From: w.person(approver).ID,
			To: w.person(both).ID, ToName: "Bo Both", At: w.clock.now()})
		_, err = tx.SaveRequest(t.Context(), r)
		return err
	})
	got := w.call(w.token(admin), http.MethodPost, "/api/v1/people/"+w.personID(developer)+"/transfer",
		map[string]any{"tenant": "vision", "to": w.personID(both)}).json(t)
	if left, _ := got["left"].([]any); len(left) != 1 || left[0] != string(spec.ID) || got["requests"] != 0.0 {
		t.Errorf("want the request left, got %v", got)
	}
	if r, err := w.store.Request(t.Context(), spec.ID); err != nil || r.Asker != w.person(developer).ID {
		t.Errorf("the request is %s's, %v", r.AskerName, err)
	}
}

// TestAnExpiringTokenIsAnnounced: once, a week before its end by default, to its owner and nobody else.
func TestAnExpiringTokenIsAnnounced(t *testing.T) {
	w := newWorld(t)
	w.longToken(developer) // the settings end it after 90 days
	w.token(developer)     // lives for an hour: who made it knows
	announced := func() int {
		if err := w.announceTokens(t.Context()); err != nil {
			t.Fatal(err)
		}
		return len(w.events(audit.TokenExpiring))
	}
	w.clock.pass(82 * 24 * time.Hour)
	if got := announced(); got != 0 {
		t.Errorf("eight days before: want nothing, got %d", got)
	}
	w.clock.pass(25 * time.Hour)
	for range 2 {
		if got := announced(); got != 1 {
			t.Errorf("a week before: want one, got %d", got)
		}
	}
	e := w.events(audit.TokenExpiring)[0]
	words, err := notify.LoadWords(i18n.MustLoad())
	if err != nil {
		t.Fatal(err)
	}
	list, err := notify.Compose(e, notify.Facts{People: []identity.Actor{w.actorOf(developer), w.actorOf(other)},
		Mail: true, Language: "en", URL: w.url, Now: w.clock.now()}, words)
	if err != nil || len(list) != 1 || list[0].Person != w.person(developer).ID ||
		!strings.HasPrefix(list[0].Notice.Title, "API token expires: test") || !strings.HasSuffix(list[0].Notice.Link,
		"/account") {
		t.Errorf("want one message to the owner %+v of %+v, got %+v, %v", w.actorOf(developer).Person, e, list, err)
	}
}

// TestTokensFollowTheProviderWithoutASession: whoever signed out, or whose session is over, is asked for at the
// provider all the same when a token of theirs is used; groups follow, and somebody who is removed there is out.
func TestTokensFollowTheProviderWithoutASession(t *testing.T) {
	for name, leave := range map[string]func(w *world, b *browser){
		"signed out": func(_ *world, b *browser) { b.post("/signout", nil) },
		"session over": func(w *world, _ *browser) {
			w.clock.pass(8 * 24 * time.Hour)
			if err := w.store.PurgeOld(w.t.Context(), w.clock.now()); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.browser()
			b.signIn(developer)
			token, cookie := w.longToken(developer), b.session()
			leave(w, b)
			w.provider.SetGroups(developer, "speech-devs")
			w.clock.pass(11 * time.Minute)
			me := w.call(token, http.MethodGet, "/api/v1/me", nil)
			if me.status != http.StatusOK || !strings.Contains(me.body, "speech") || strings.Contains(me.body, "vision") {
				t.Errorf("want the groups of now, got %d %s", me.status, me.body)
			}
			b.cookies[edge.Session] = &http.Cookie{Name: edge.Session, Value: cookie}
			if got := b.get("/storage").status; got != http.StatusSeeOther {
				t.Errorf("the session opens again: %d", got)
			}
			w.provider.Fail(oidctest.Breaks)
			w.clock.pass(12 * time.Hour)
			if got := w.call(token, http.MethodGet, "/api/v1/me", nil).status; got != http.StatusOK {
				t.Errorf("while the provider is away, within the standing age: want 200, got %d", got)
			}
			w.provider.Fail(oidctest.Works)
			w.provider.RemoveUser(developer)
			w.clock.pass(time.Minute)
			refused := w.call(token, http.MethodGet, "/api/v1/me", nil)
			if refused.status != http.StatusUnauthorized || !strings.Contains(refused.body, "once its owner signs in") {
				t.Errorf("removed there: want 401 that says to sign in, got %d %s", refused.status, refused.body)
			}
		})
	}
}

package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func TestWayIn(t *testing.T) {
	w := newWorld(t)
	state, location := w.toPortal("nb-anna", "/lab/tree/a%2Fb.ipynb?reset=1")
	if got := location.Scheme + "://" + location.Host + location.Path; got != portalURL+"/gateway/authorize" {
		t.Fatalf("want the portal's own page, got %s", got)
	}
	callback := w.authorize(annaPortal, location)
	if !strings.HasPrefix(callback, "http://nb-anna.apps.test/.gpu-portal/callback?") {
		t.Fatalf("want the workload's own host, got %s", callback)
	}
	path := strings.TrimPrefix(callback, "http://nb-anna.apps.test")
	res := w.get("nb-anna", path, with(navigation, "Cookie", edge.State+"="+state)...)
	if got, want := res.Header.Get("Location"), "http://nb-anna.apps.test/lab/tree/a%2Fb.ipynb?reset=1"; got != want ||
		res.StatusCode != http.StatusSeeOther {
		t.Errorf("want 303 to %s, got %d to %s", want, res.StatusCode, got)
	}
	var session *http.Cookie
	for _, c := range res.Cookies() {
		if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" ||
			!strings.HasPrefix(c.Name, "__Host-") {
			t.Errorf("cookie %s is not as it must be: %s", c.Name, c.Raw)
		}
		if c.Name == edge.Workload {
			session = c
		}
		if c.Name == edge.State && c.MaxAge >= 0 {
			t.Error("want the state deleted")
		}
	}
	credential, ok := identity.ParseCredential(session.Value)
	if !ok {
		t.Fatalf("want id and secret, got %q", session.Value)
	}
	s := w.sessions[credential.ID]
	if s.Parent != annaPortal || s.Workload != "w-nb-anna" || s.Person != "anna" ||
		strings.Contains(s.SecretHash, credential.Secret) || !credential.Matches(s.SecretHash) {
		t.Errorf("want a session that hangs on the portal's and opens one workload, got %+v", s)
	}
	saw := sawOf(t, w.get("nb-anna", "/lab", "Cookie", session.Name+"="+session.Value))
	if saw.Host != "nb-anna.apps.test" || saw.Header.Get("Authorization") != "token "+podSecret {
		t.Errorf("want the pod to see its host and its own secret, got %+v", saw)
	}
	if res := w.get("nb-anna", path, with(navigation, "Cookie",
		edge.State+"="+state)...); res.StatusCode != http.StatusBadRequest || len(res.Cookies()) != 0 {
		t.Errorf("want a replayed code refused, got %d with %v", res.StatusCode, res.Cookies())
	}
}

func TestCodesThatDoNotLetIn(t *testing.T) {
	cases := map[string]func(w *world, name, path, state *string){
		"for another workload": func(w *world, name, _, _ *string) { *name = "nb-other" },
		"after 30 seconds":     func(w *world, _, _, _ *string) { w.pass(30 * time.Second) },
		"state of another browser": func(_ *world, _, _, state *string) {
			*state = strings.Repeat("a", 43)
		},
		"no state cookie": func(_ *world, _, _, state *string) { *state = "" },
		"empty state": func(_ *world, _, path, state *string) {
			*state, *path = "", strings.Replace(*path, "state=", "x=", 1)
		},
		"a code of one's own": func(_ *world, _, path, _ *string) { *path = strings.Replace(*path, "code=", "code=x", 1) },
		"no code":             func(_ *world, _, path, _ *string) { *path = strings.Replace(*path, "code=", "x=", 1) },
		"after signing out":   func(w *world, _, _, _ *string) { _ = w.EndSession(w.t.Context(), annaPortal) },
		"after the workload's deletion": func(w *world, _, _, _ *string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			delete(w.workloads, "nb-anna")
		},
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			state, location := w.toPortal("nb-anna", "/")
			host, path := "nb-anna", strings.TrimPrefix(w.authorize(annaPortal, location), "http://nb-anna.apps.test")
			before := len(w.sessions)
			spoil(w, &host, &path, &state)
			res := w.get(host, path, with(navigation, "Cookie", edge.State+"="+state)...)
			if res.StatusCode != http.StatusBadRequest || len(res.Cookies()) != 0 || len(w.sessions) > before {
				t.Errorf("want 400 and no session, got %d with %v", res.StatusCode, res.Cookies())
			}
		})
	}
}

func TestAuthorizeRefuses(t *testing.T) {
	w := newWorld(t)
	state := strings.Repeat("s", 43)
	w.change("nb-other", func(wl *workload.Workload) { wl.State, wl.Desired = workload.Ended, workload.WantDeleted })
	disabled := w.actors["anna"]
	disabled.Person.Disabled = true
	token := w.actors["anna"]
	token.Via = identity.ViaToken
	cases := map[string]struct {
		actor       identity.Actor
		name, state string
		want        fault.Kind
	}{
		"a colleague, not shared":   {w.actors["jonas"], "nb-anna", state, fault.Forbidden},
		"somebody of another team":  {w.actors["eve"], "nb-anna", state, fault.NotFound},
		"no such workload":          {w.actors["anna"], "nb-nobody", state, fault.NotFound},
		"a name that is none":       {w.actors["anna"], "evil.example.org/x", state, fault.NotFound},
		"deleted":                   {w.actors["anna"], "nb-other", state, fault.NotFound},
		"disabled":                  {disabled, "nb-anna", state, fault.NotFound},
		"nobody":                    {identity.Actor{}, "nb-anna", state, fault.Unauthenticated},
		"an API token":              {token, "nb-anna", state, fault.Unauthenticated},
		"no state":                  {w.actors["anna"], "nb-anna", "", fault.Invalid},
		"a state that no browser's": {w.actors["anna"], "nb-anna", strings.Repeat("&", 43), fault.Invalid},
	}
	var sentences []string
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			to, err := w.gw.Authorize(t.Context(), c.actor, annaPortal, c.name, "/", c.state)
			if to != "" || !fault.Is(err, c.want) {
				t.Errorf("want %s, got %q, %v", c.want, to, err)
			}
			if c.want == fault.Forbidden && !strings.Contains(err.Error(), "not_shared") {
				t.Errorf("want the owner named, got %v", err)
			}
			if c.want == fault.NotFound {
				sentences = append(sentences, err.Error())
			}
		})
	}
	if len(slices.Compact(sentences)) != 1 {
		t.Errorf("want the same words for what is not there and what one may not open, got %v", sentences)
	}
	if len(w.codes) != 0 {
		t.Error("want no code made")
	}
	w.change("nb-anna", func(wl *workload.Workload) { wl.Grants = withTheTeam })
	if _, err := w.gw.Authorize(t.Context(), w.actors["jonas"], jonasPortal, "nb-anna", "/", state); err != nil {
		t.Errorf("want a colleague let in when it is shared, got %v", err)
	}
}

// Several tabs that open at once share one state, so that each finds its way back.
func TestSeveralTabsAtOnce(t *testing.T) {
	w := newWorld(t)
	first, _ := w.toPortal("nb-anna", "/")
	res := w.get("nb-anna", "/lab", with(navigation, "Cookie", edge.State+"="+first)...)
	if to, _ := res.Location(); to.Query().Get("state") != first {
		t.Error("want the state of the first tab used again")
	}
	res = w.get("nb-anna", "/lab", with(navigation, "Cookie", edge.State+"=chosen by a page")...)
	if to, _ := res.Location(); len(to.Query().Get("state")) != 43 {
		t.Error("want a fresh state instead of one that is none of ours")
	}
}

func TestANewWayInEndsTheOldOne(t *testing.T) {
	w := newWorld(t)
	old := w.signIn(annaPortal, "nb-anna")
	state, location := w.toPortal("nb-anna", "/")
	path := strings.TrimPrefix(w.authorize(annaPortal, location), "http://nb-anna.apps.test")
	w.get("nb-anna", path, with(navigation, "Cookie", edge.State+"="+state+"; "+old)...)
	w.pass(60 * time.Millisecond) // longer than an answer holds
	if res := w.get("nb-anna", "/", "Cookie", old); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("want the replaced cookie dead, got %d", res.StatusCode)
	}
}

var returnTargets = []string{
	"//evil.test", "/\\evil.test", "\\\\evil.test", "/\t/evil.test", "\t//evil.test", " //evil.test", "/ /evil.test",
	"/%2f%2fevil.test", "/%5cevil.test", "/%09/evil.test",
	"https:evil.test", "https:///evil.test", "https://evil.test", "http:/\\evil.test", "///evil.test", "////evil.test",
	"/./ /evil.test", "/.//evil.test", "/..//evil.test",
	"@evil.test", "/@evil.test", "//nb-anna.apps.test@evil.test", "http://nb-anna.apps.test.evil.test", ".evil.test",
	"evil.test", "javascript:alert(1)", "data:text/html,x",
	"/\r\nLocation: http://evil.test", "/%0d%0aLocation:%20http://evil.test", "/\u2215/evil.test", "／／evil.test",
	"/／evil.test", "\u3002evil.test", "", "?x=//evil.test", "#//evil.test",
	"/?x=\r\nSet-Cookie: a=b", "/\x00/evil.test", "/" + strings.Repeat("a", 10<<10), "/%", "/%zz", "/a?b=%zz",
	"/a#//evil.test", "/a?b#c", "/.gpu-portal/callback?code=x",
	"/.gpu-portal/../.gpu-portal/callback", "/;//evil.test", "/:80", ":80", "/a b", "/a\"b<c>", "/?q=a b\"<>", "/日本",
	"/?q=日本", "//", "/", "/lab", "*", "http:evil", "//[::1]/", "/[::1]",
	"/" + strings.Repeat("\xcd", 2000), "/a//b", "/a/%2e%2e//evil.test", "/%2e%2e/%2fevil.test", "/\u00a0/evil.test",
	"/\ufeff/evil.test", "mailto:a@b",
}

func TestReturnTargets(t *testing.T) {
	for _, target := range returnTargets {
		checkLocal(t, target)
	}
	for target, want := range map[string]string{"/lab?reset": "/lab?reset", "/a%2Fb?c=%20d&e": "/a%2Fb?c=%20d&e",
		"/日本": "/%E6%97%A5%E6%9C%AC", "/": "/"} {
		if got := localPath(target); got != want {
			t.Errorf("want %q kept as %q, got %q", target, want, got)
		}
	}
}

// checkLocal asks that the address a browser is sent to lies on the workload's host, and can stand in a header.
func checkLocal(t *testing.T, target string) {
	t.Helper()
	got := localPath(target)
	to := "http://nb-anna.apps.test" + got
	u, err := url.Parse(to)
	if err != nil || u.Host != "nb-anna.apps.test" || u.User != nil || !strings.HasPrefix(got, "/") ||
		strings.HasPrefix(u.Path, "//") {
		t.Errorf("%q became %q", target, got)
	}
	if strings.ContainsFunc(got, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' || r == '"' || r == '<' }) {
		t.Errorf("%q became %q, which may not stand in a header", target, got)
	}
	if again := localPath(got); again != got {
		t.Errorf("%q became %q and then %q", target, got, again)
	}
}

func FuzzReturnTarget(f *testing.F) {
	for _, target := range returnTargets {
		f.Add(target)
	}
	f.Fuzz(checkLocal)
}

func TestHosts(t *testing.T) {
	w := newWorld(t)
	for host, want := range map[string]bool{
		"nb.apps.test": true, "NB.apps.TEST:8080": true, "apps.test": false, "portal.test": false, "a.b.apps.test": true,
		"nbapps.test": false, "": false, "[::1]:80": false,
	} {
		if got := w.gw.Serves(host); got != want {
			t.Errorf("Serves(%q): want %t, got %t", host, want, got)
		}
	}
	for _, host := range []string{"a.b", "-x", "x-", "a_b", strings.Repeat("x", 64), "ä", "a%2eb"} {
		if _, ok := w.gw.workloadName(host + ".apps.test"); ok {
			t.Errorf("want %q to be no workload's name", host)
		}
	}
	for domain, portal := range map[string]string{"": portalURL, "portal.test": portalURL, "a/b": portalURL,
		"apps.test": "ftp://x"} {
		if _, err := New(Options{PortalURL: portal, AppsDomain: domain, Workloads: w, Sessions: w, Actors: w, Keys: w,
			Pods: w.gw.opts.Pods}); err == nil {
			t.Errorf("want apps domain %q of %q refused", domain, portal)
		}
	}
	local, err := New(Options{PortalURL: "http://localhost:8080", AppsDomain: "localhost", Workloads: w, Sessions: w,
		Actors: w, Keys: w, Pods: w.gw.opts.Pods})
	if err != nil || local.URL("nb") != "http://nb.localhost:8080" || local.Serves("localhost:8080") ||
		!local.Serves("nb.localhost:8080") {
		t.Errorf("want localhost to work with *.localhost, got %v", err)
	}
}

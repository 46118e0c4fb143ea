package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/clusteruser"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
)

// call is one of the console's proxy, as the portal's own handler saw it.
type call struct {
	method, path, host, language, flash string
	header                              http.Header
}

// portal stands in for the pages: it sets a cookie, redirects after a POST, and remembers what came.
func portal(seen *[]call) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*seen = append(*seen, call{r.Method, r.URL.RequestURI(), r.Host, r.Header.Get("Accept-Language"),
			edge.Value(r, edge.Flash), r.Header.Clone()})
		http.SetCookie(w, edge.Cookie(edge.Theme, "dark", time.Hour))
		if r.Method == http.MethodPost {
			http.SetCookie(w, edge.Cookie(edge.Flash, "stopped:w-1", time.Minute))
			http.Redirect(w, r, "/workloads/w-1", http.StatusSeeOther)
			return
		}
		fmt.Fprint(w, "<p>a page</p>")
	})
}

// console is a handler whose API server knows the tokens "ada" and "eve"; only Ada is somebody in the portal.
func testHandler(t *testing.T, seen *[]call) *Handler {
	t.Helper()
	bundle, err := i18n.Load()
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(Options{Plugin: "gpu-portal", Version: "v1.2.3", URL: "https://gpu.example.org", Pages: portal(seen),
		Bundle: bundle, Decides: func(a identity.Actor) bool { return a.Person.ID == "p-ada" },
		Workloads: func(_ context.Context, _ identity.Actor, namespace string) (int, error) { return len(namespace), nil },
		Review: func(_ context.Context, token string) (clusteruser.User, error) {
			if token != "ada" && token != "eve" {
				return clusteruser.User{}, fault.New(fault.Unauthenticated, i18n.T("console.token"))
			}
			return clusteruser.User{Name: token}, nil
		},
		Person: func(_ context.Context, u clusteruser.User) (identity.Actor, error) {
			if u.Name != "ada" {
				return identity.Actor{}, fault.New(fault.NotFound, i18n.T("store.no_person"))
			}
			return identity.Actor{Person: identity.Person{ID: "p-ada"}}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func ask(h http.Handler, method, target string, header map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader("a=b"))
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestOnlyAUserOfTheClusterGetsAPage(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct {
		path   string
		header map[string]string
		want   int
	}{
		"a page":                     {"/", map[string]string{"Authorization": "Bearer ada"}, 200},
		"without a token":            {"/", nil, 401},
		"another kind of credential": {"/", map[string]string{"Authorization": "Basic ada"}, 401},
		"a token that nobody knows":  {"/", map[string]string{"Authorization": "Bearer mallory"}, 401},
		"nobody in the portal":       {"/", map[string]string{"Authorization": "Bearer eve"}, 403},
		"as somebody else": {"/", map[string]string{"Authorization": "Bearer ada", "Impersonate-User": "eve"},
			403},
		"as a group": {"/", map[string]string{"Authorization": "Bearer ada", "Impersonate-Group": "x"}, 403},
		"as the console calls groups": {"/", map[string]string{"Authorization": "Bearer ada",
			"X-Console-Impersonate-Groups": "x"}, 403},
		"the API":                  {"/api/v1/workloads", map[string]string{"Authorization": "Bearer ada"}, 404},
		"credentials":              {"/account", map[string]string{"Authorization": "Bearer ada"}, 404},
		"the way out":              {"/signout", map[string]string{"Authorization": "Bearer ada"}, 404},
		"one behind two slashes":   {"//admin/sizes", map[string]string{"Authorization": "Bearer ada"}, 404},
		"an administrator's page":  {"/admin/sizes", map[string]string{"Authorization": "Bearer ada"}, 404},
		"files need no name":       {"/console-plugin/plugin-manifest.json", nil, 200},
		"a file that is not there": {"/console-plugin/../plugin.go", nil, 404},
	} {
		var seen []call
		w := ask(testHandler(t, &seen), http.MethodGet, c.path, c.header)
		if w.Code != c.want {
			t.Errorf("%s: want %d, got %d %s", sentence, c.want, w.Code, w.Body)
		}
		if reached := len(seen) > 0; reached != (c.want == 200 && sentence == "a page") {
			t.Errorf("%s: reached the pages: %v", sentence, reached)
		}
		if c.want == 403 && strings.HasPrefix(sentence, "nobody") && !strings.Contains(w.Body.String(),
			"https://gpu.example.org") {
			t.Errorf("%s: no way to sign in: %s", sentence, w.Body)
		}
	}
}

// TestNothingForTheConsolesOriginGoesOut: no cookie, and no redirect that a fetch would follow to a page of the console.
func TestNothingForTheConsolesOriginGoesOut(t *testing.T) {
	t.Parallel()
	var seen []call
	h := testHandler(t, &seen)
	w := ask(h, http.MethodPost, "/workloads/w-1/stop", map[string]string{"Authorization": "Bearer ada",
		"Content-Type": "application/x-www-form-urlencoded", "Cookie": "__Host-gpu-portal=stolen"})
	if w.Code != http.StatusNoContent || w.Header().Get("Set-Cookie") != "" || w.Header().Get("Location") != "" ||
		w.Header().Get(locationHeader) != "/workloads/w-1" || w.Header().Get(flashHeader) != "stopped:w-1" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	w = ask(h, http.MethodGet, "/workloads/w-1?a=1&console-language=ko", map[string]string{"Authorization": "Bearer ada",
		flashHeader: "stopped:w-1"})
	if w.Header().Get("Set-Cookie") != "" {
		t.Errorf("a cookie: %v", w.Header())
	}
	if len(seen) != 2 {
		t.Fatalf("%d calls", len(seen))
	}
	for _, c := range seen {
		if c.host != "gpu.example.org" || c.header.Get("Authorization") != "" || strings.Contains(c.header.Get("Cookie"),
			"stolen") {
			t.Errorf("the pages see %+v", c)
		}
	}
	if got := seen[1]; got.path != "/workloads/w-1?a=1" || got.language != "ko" || got.flash != "stopped:w-1" {
		t.Errorf("the second: %+v", got)
	}
}

func TestWhatThePluginAsksBesidePages(t *testing.T) {
	t.Parallel()
	var seen []call
	h := testHandler(t, &seen)
	for path, want := range map[string]string{"/console/me": `{"decides":true}`,
		"/console/projects/gpu-vision": `{"text":"10 GPU workloads","workloads":10}`,
		"/console/projects/v":          `{"text":"1 GPU workload","workloads":1}`} {
		w := ask(h, http.MethodGet, path, map[string]string{"Authorization": "Bearer ada"})
		if got := strings.TrimSpace(w.Body.String()); w.Code != 200 || got != want {
			t.Errorf("%s: %d %s", path, w.Code, got)
		}
		if w := ask(h, http.MethodGet, path, nil); w.Code != 401 {
			t.Errorf("%s without a token: %d", path, w.Code)
		}
		if w := ask(h, http.MethodPost, path, map[string]string{"Authorization": "Bearer ada"}); w.Code != 405 {
			t.Errorf("POST %s: %d", path, w.Code)
		}
	}
}

func TestTheManifestNamesWhatTheScriptHas(t *testing.T) {
	t.Parallel()
	h := testHandler(t, new([]call))
	get := func(name string) string {
		w := ask(h, http.MethodGet, assetsPrefix+name, nil)
		if w.Code != 200 {
			t.Fatalf("%s: %d", name, w.Code)
		}
		return w.Body.String()
	}
	var m manifest
	if err := json.Unmarshal([]byte(get("plugin-manifest.json")), &m); err != nil {
		t.Fatal(err)
	}
	if m.Version != "1.2.3" || m.BaseURL != "/api/plugins/gpu-portal/" {
		t.Errorf("%+v", m)
	}
	var words map[string]string
	if err := json.Unmarshal([]byte(get("locales/en/plugin__gpu-portal.json")), &words); err != nil {
		t.Fatal(err)
	}
	script := get(m.LoadScripts[0])
	for _, e := range m.Extensions {
		for name, value := range e.Properties {
			code, is := value.(map[string]any)
			if is && !strings.Contains(script, "\n  "+code["$codeRef"].(string)+":") {
				t.Errorf("%s %s: the script has no %v", e.Type, name, code)
			}
			text, is := value.(string)
			if key, found := strings.CutPrefix(text, "%plugin__gpu-portal~"); is && found && words[strings.TrimSuffix(key,
				"%")] == "" {
				t.Errorf("%s %s: no words for %s", e.Type, name, text)
			}
		}
	}
	if get("locales/fr/plugin__gpu-portal.json") != get("locales/en/plugin__gpu-portal.json") ||
		get("locales/ko/plugin__gpu-portal.json") == get("locales/en/plugin__gpu-portal.json") ||
		get("locales/de/plugin__gpu-portal.json") == get("locales/en/plugin__gpu-portal.json") {
		t.Error("French readers get English words, Korean readers their own")
	}
	for version, want := range map[string]string{"v1.2.3": "1.2.3", "0769798-dirty": "0.0.0-build-0769798-dirty",
		"dev": "0.0.0-build-dev"} {
		o := h.o
		o.Version = version
		if got := manifestOf(o).Version; got != want {
			t.Errorf("%s: want %s, got %s", version, want, got)
		}
	}
}

// apiServer answers SelfSubjectReview as one does, and counts.
func apiServer(t *testing.T, asked *int, status *int) *rest.Config {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked++
		if *status != 0 {
			http.Error(w, "trouble", *status)
			return
		}
		if r.Header.Get("Authorization") != "Bearer sesame" {
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{
			UserInfo: authenticationv1.UserInfo{Username: "ada", UID: "7", Extra: map[string]authenticationv1.ExtraValue{
				"example.org/sub": {"42"}}}}})
	}))
	t.Cleanup(s.Close)
	return &rest.Config{Host: s.URL, BearerToken: "the portal's own"}
}

func TestATokenIsReviewedOnceAMinute(t *testing.T) {
	t.Parallel()
	asked, status, now := 0, 0, time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	v := NewReviewer(apiServer(t, &asked, &status), func() time.Time { return now })
	for range 3 {
		u, err := v.Review(t.Context(), "sesame")
		if err != nil || u.Name != "ada" || u.UID != "7" || u.Extra["example.org/sub"][0] != "42" {
			t.Fatalf("%+v %v", u, err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	if _, err := v.Review(t.Context(), "wrong"); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a wrong token: %v", err)
	}
	if until, ok := v.Until(sessionOf("sesame")); !ok || !until.Equal(now.Add(streamsFor)) {
		t.Errorf("until %v %v", until, ok)
	}
	if _, ok := v.Until(sessionOf("wrong")); ok {
		t.Error("a stream for a wrong token")
	}
	now = now.Add(reviewedFor)
	status = http.StatusServiceUnavailable
	if _, err := v.Review(t.Context(), "sesame"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("while the API server is away: %v", err)
	}
	status = http.StatusUnauthorized
	if _, err := v.Review(t.Context(), "sesame"); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("after the token was revoked: %v", err)
	}
	if _, ok := v.Until(sessionOf("sesame")); ok {
		t.Error("its stream goes on")
	}
}

func TestReviewsAreBounded(t *testing.T) {
	t.Parallel()
	asked, status, now := 0, 0, time.Now()
	v := NewReviewer(apiServer(t, &asked, &status), func() time.Time { return now })
	refused := 0
	for n := range 4 * reviewsPerSec {
		if _, err := v.Review(t.Context(), fmt.Sprint("guess", n)); fault.Is(err, fault.TooMany) {
			refused++
		}
	}
	if refused == 0 || asked+refused != 4*reviewsPerSec {
		t.Errorf("%d asked, %d refused", asked, refused)
	}
}

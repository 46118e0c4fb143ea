package oidctest

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"
)

const verifier = "a-verifier-of-forty-three-characters-or-more-0"

func people() []User {
	return []User{
		{Subject: "mara", Name: "Mara Vogel", Email: "mara@example.test", Groups: []string{"vision-developers"},
			What: "developer of team vision"},
		{Subject: "ida", Name: "Ida <b>Admin</b>", Email: "ida@example.test", Groups: []string{"gpu-admins"},
			What: "platform admin"},
	}
}

func request(p *Provider, change func(url.Values)) string {
	q := url.Values{
		"client_id": {p.ClientID()}, "redirect_uri": {"http://localhost:8080/auth/callback"}, "response_type": {"code"},
		"scope": {"openid"}, "state": {"st"}, "nonce": {"no"},
		"code_challenge": {challengeOf(verifier)}, "code_challenge_method": {"S256"},
	}
	if change != nil {
		change(q)
	}
	return p.Issuer() + AuthorizePath + "?" + q.Encode()
}

func noRedirects() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func fetch(t *testing.T, reply *http.Response, err error) *goquery.Document {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	doc, err := goquery.NewDocumentFromReader(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestPageListsEverybodyAndOneClickSignsIn(t *testing.T) {
	p := Start(t, Options{Users: people()})
	reply, err := http.Get(request(p, nil))
	doc := fetch(t, reply, err)
	var buttons, names []string
	doc.Find("button").Each(func(_ int, b *goquery.Selection) { buttons = append(buttons, b.Text()) })
	doc.Find("[data-test=person] h2").Each(func(_ int, h *goquery.Selection) { names = append(names, h.Text()) })
	want := []string{"Continue as Mara Vogel", "Continue as Ida <b>Admin</b>", "Do not sign in"}
	if diff := cmp.Diff(want, buttons); diff != "" {
		t.Errorf("buttons (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Mara Vogel", "Ida <b>Admin</b>"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if n := doc.Find("script, [style], style").Length(); n != 0 {
		t.Errorf("the page must do without scripts and inline style, found %d", n)
	}
	if policy := reply.Header.Get("Content-Security-Policy"); !strings.Contains(policy,
		"form-action 'self' http://localhost:8080;") {
		t.Errorf("the form could not lead back to the client under %q", policy)
	}

	form := url.Values{"sub": {"mara"}}
	doc.Find("input[type=hidden]").Each(func(_ int, in *goquery.Selection) {
		form.Set(in.AttrOr("name", ""), in.AttrOr("value", ""))
	})
	posted, err := noRedirects().PostForm(p.Issuer()+doc.Find("form").AttrOr("action", ""), form)
	fetch(t, posted, err)
	back, err := posted.Location()
	if err != nil {
		t.Fatal(err)
	}
	if q := back.Query(); back.Host != "localhost:8080" || q.Get("code") == "" || q.Get("state") != "st" ||
		q.Get("iss") != p.Issuer() {
		t.Errorf("sent back to %s", back)
	}
}

func TestStyleIsServed(t *testing.T) {
	p := Start(t, Options{Users: people()})
	reply, err := http.Get(p.Issuer() + stylePath)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if ct := reply.Header.Get("Content-Type"); reply.StatusCode != 200 || !strings.HasPrefix(ct, "text/css") {
		t.Errorf("got %s, %s", reply.Status, ct)
	}
}

func TestAuthorizeRefuses(t *testing.T) {
	p := Start(t, Options{Users: people()})
	cases := map[string]struct {
		change func(url.Values)
		status int
		code   string
	}{
		"an unknown client":          {func(q url.Values) { q.Set("client_id", "x") }, 400, ""},
		"a redirect to another host": {func(q url.Values) { q.Set("redirect_uri", "https://evil.example/cb") }, 400, ""},
		"a host that looks like ours": {func(q url.Values) { q.Set("redirect_uri", "http://localhost.evil.example/") }, 400,
			""},
		"a name before our host": {func(q url.Values) { q.Set("redirect_uri", "http://localhost@evil.example/") }, 400, ""},
		"a script as redirect":   {func(q url.Values) { q.Set("redirect_uri", "javascript:alert(1)") }, 400, ""},
		"no PKCE":                {func(q url.Values) { q.Del("code_challenge") }, 303, "invalid_request"},
		"PKCE without hash":      {func(q url.Values) { q.Set("code_challenge_method", "plain") }, 303, "invalid_request"},
		"another flow":           {func(q url.Values) { q.Set("response_type", "token") }, 303, "unsupported_response_type"},
		"no openid scope":        {func(q url.Values) { q.Set("scope", "email") }, 303, "invalid_scope"},
		"nobody may be asked":    {func(q url.Values) { q.Set("prompt", "none") }, 303, "login_required"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			reply, err := noRedirects().Get(request(p, c.change))
			fetch(t, reply, err)
			got := ""
			if back, err := reply.Location(); err == nil {
				got = back.Query().Get("error")
			}
			if reply.StatusCode != c.status || got != c.code {
				t.Errorf("want %d %q, got %d %q", c.status, c.code, reply.StatusCode, got)
			}
		})
	}
}

func TestLoopbackRedirectsAreTaken(t *testing.T) {
	for _, target := range []string{
		"http://localhost:1/cb", "https://portal.localhost/cb", "http://127.0.0.1:8080/cb?x=1", "http://[::1]:9/cb",
		"http://127.1.2.3/",
	} {
		if _, ok := loopback(target); !ok {
			t.Errorf("%s was refused", target)
		}
	}
}

func trade(t *testing.T, p *Provider, form url.Values, secret string) (int, string) {
	t.Helper()
	r, err := http.NewRequest("POST", p.Issuer()+TokenPath, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(url.QueryEscape(p.ClientID()), url.QueryEscape(secret))
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(body)
}

func TestCodeWorksOnceWithItsVerifierAndSecret(t *testing.T) {
	p := Start(t, Options{Users: people()})
	code := func() url.Values {
		back, err := Choose(http.DefaultClient, request(p, nil), "mara")
		if err != nil {
			t.Fatal(err)
		}
		return url.Values{
			"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")},
			"redirect_uri": {"http://localhost:8080/auth/callback"}, "code_verifier": {verifier},
		}
	}
	form := code()
	if status, body := trade(t, p, form, p.ClientSecret()); status != 200 || !strings.Contains(body, "id_token") {
		t.Fatalf("want tokens, got %d %s", status, body)
	}
	if status, body := trade(t, p, form, p.ClientSecret()); status != 400 || !strings.Contains(body, "invalid_grant") {
		t.Errorf("a second time: want a refusal, got %d %s", status, body)
	}
	form = code()
	form.Set("code_verifier", verifier+"x")
	if status, _ := trade(t, p, form, p.ClientSecret()); status != 400 {
		t.Errorf("another verifier: want 400, got %d", status)
	}
	if status, _ := trade(t, p, code(), "wrong"); status != 401 {
		t.Errorf("a wrong secret: want 401, got %d", status)
	}
}

func TestKeysOutliveARestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	first, err := LoadKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.rotate(true); err != nil {
		t.Fatal(err)
	}
	second, err := LoadKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(second.published().Keys); got != 2 || second.signing().KeyID != first.signing().KeyID {
		t.Errorf("want both keys and the same one signing, got %d", got)
	}
	for _, key := range second.published().Keys {
		if !key.IsPublic() {
			t.Error("a private key would be published")
		}
	}
}

func TestLogoutSendsBackAndForgets(t *testing.T) {
	p := Start(t, Options{Users: people()})
	jar, _ := cookiejar.New(nil)
	client := noRedirects()
	client.Jar = jar
	reply, err := client.Get(p.Issuer() + LogoutPath +
		"?client_id=gpu-portal&state=s&post_logout_redirect_uri=http://localhost:8080/bye")
	fetch(t, reply, err)
	if got := reply.Header.Get("Location"); got != "http://localhost:8080/bye?state=s" {
		t.Errorf("sent to %q", got)
	}
	reply, err = client.Get(p.Issuer() + LogoutPath +
		"?client_id=gpu-portal&post_logout_redirect_uri=http://evil.example/")
	if doc := fetch(t, reply, err); doc.Find("h1").Text() != "You are signed out" {
		t.Errorf("want a page of our own, got %s", reply.Status)
	}
	reply, err = client.Get(p.Issuer() + LogoutPath + "?id_token_hint=a.b.c")
	fetch(t, reply, err)
	if reply.StatusCode != http.StatusBadRequest {
		t.Errorf("a foreign token: want 400, got %s", reply.Status)
	}
}

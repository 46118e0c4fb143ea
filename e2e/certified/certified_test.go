package certified

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/app"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/serve"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

const (
	secret   = "a-secret-of-the-one-client-of-this-test"
	patience = 2 * time.Minute // of whoever waits for a process or a stream; what is right comes at once
)

// clock is the portal's time: the machine's plus what a test lets pass.
type clock struct {
	mu sync.Mutex
	on time.Duration
}

func (c *clock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return time.Now().Add(c.on) }

func (c *clock) pass(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.on += d }

// world is a portal and the provider, both as processes would be: they speak over the network only.
type world struct {
	t             *testing.T
	url, provider string
	people        string // file of those whom the provider knows
	clock         clock
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	listener := listen(t)
	w := &world{
		t:      t,
		url:    fmt.Sprintf("http://localhost:%d", portOf(listener)),
		people: filepath.Join(dir, "people.json"),
	}
	w.know(map[string]any{"dana": map[string]any{"name": "Dana Dev", "email": "dana@example.org", "email_verified": true,
		"groups": []string{"vision-devs"}}})
	w.startProvider()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	w.must(os.WriteFile(kubeconfig, []byte(nowhere), 0o600))
	c, err := config.Load("", func(string) string { return "" }, func(c *config.Config) {
		*c = config.Config{
			Listen:   listener.Addr().String(),
			URL:      w.url,
			Database: "sqlite:" + filepath.Join(dir, "portal.db"),
			OIDC:     config.OIDC{Issuer: w.provider, ClientID: "gpu-portal", ClientSecret: secret},
			Clusters: []config.Cluster{{Name: "main", Kubeconfig: kubeconfig}},
			Tenants: []tenant.Tenant{{Name: "vision", Quota: map[string]int{"cpu": 1},
				Groups: map[identity.Role][]string{identity.Developer: {"vision-devs"}}}},
		}
	})
	w.must(err)
	portal, err := app.New(t.Context(), c, "test", slog.New(slog.DiscardHandler), app.WithClock(w.clock.now))
	w.must(err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- portal.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return w
}

// nowhere is a cluster where nothing listens.
const nowhere = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: none}}]
current-context: c
`

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) know(people map[string]any) {
	w.t.Helper()
	text, err := json.Marshal(people)
	w.must(err)
	w.must(os.WriteFile(w.people, text, 0o600))
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

// startProvider runs it until the test ends, and waits until it answers.
func (w *world) startProvider() {
	w.t.Helper()
	free := listen(w.t)
	port := portOf(free)
	w.must(free.Close())
	w.provider = fmt.Sprintf("http://127.0.0.1:%d", port)
	settings, err := json.Marshal(map[string]any{"port": port, "portal": w.url, "secret": secret, "people": w.people,
		"backChannel": w.url + serve.BackChannelPath})
	w.must(err)
	cmd := exec.Command("node", "provider.mjs", string(settings))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	w.must(err)
	var trouble strings.Builder
	cmd.Stderr = &trouble
	w.must(cmd.Start())
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if w.t.Failed() {
			w.t.Logf("the provider: %s", trouble.String())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "ready" {
		w.t.Fatalf("the provider does not start (make node_modules fetches it): %q, %v", line, err)
	}
}

// browser keeps cookies and follows what it is told to.
type browser struct {
	*world
	client *http.Client
	asked  []string // addresses at the provider that the portal sent it to
}

func (w *world) browser() *browser {
	jar, err := cookiejar.New(nil)
	w.must(err)
	return &browser{world: w, client: &http.Client{Jar: hostJar{jar}, Timeout: patience}}
}

// hostJar treats http://localhost and 127.0.0.1 as a secure channel, as browsers do.
type hostJar struct{ *cookiejar.Jar }

func secure(u *url.URL) *url.URL { s := *u; s.Scheme = "https"; return &s }

func (j hostJar) SetCookies(u *url.URL, c []*http.Cookie) { j.Jar.SetCookies(secure(u), c) }
func (j hostJar) Cookies(u *url.URL) []*http.Cookie       { return j.Jar.Cookies(secure(u)) }

// page is where a call ended after its redirects.
type page struct {
	status int
	at     *url.URL
	*goquery.Document
}

func (b *browser) do(r *http.Request) page {
	b.t.Helper()
	r.Header.Set("Accept", "text/html")
	if r.Method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", r.URL.Scheme+"://"+r.URL.Host)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	answer, err := b.client.Do(r)
	b.must(err)
	defer answer.Body.Close()
	doc, err := goquery.NewDocumentFromReader(answer.Body)
	b.must(err)
	return page{answer.StatusCode, answer.Request.URL, doc}
}

func (b *browser) get(address string) page {
	b.t.Helper()
	r, err := http.NewRequest(http.MethodGet, address, nil)
	b.must(err)
	return b.do(r)
}

// submit sends the form of a page as it stands, with what a person adds.
func (b *browser) submit(p page, fields url.Values) page {
	b.t.Helper()
	form := p.Find("form").First()
	action, ok := form.Attr("action")
	if !ok {
		text, _ := p.Html()
		b.t.Fatalf("%s has no form: %s", p.at, text)
	}
	form.Find("input[name]").Each(func(_ int, input *goquery.Selection) {
		if name := input.AttrOr("name", ""); !fields.Has(name) {
			fields.Set(name, input.AttrOr("value", ""))
		}
	})
	target, err := p.at.Parse(action)
	b.must(err)
	r, err := http.NewRequest(http.MethodPost, target.String(), strings.NewReader(fields.Encode()))
	b.must(err)
	return b.do(r)
}

// signIn goes the whole way, through as many pages as the provider shows, and gives the page of the portal at its end.
func (b *browser) signIn(who string) page {
	b.t.Helper()
	p := b.submit(b.get(b.url+"/signin?return=/storage"), url.Values{})
	for range 20 {
		host := "http://" + p.at.Host
		target, onward := p.Find("main a[href^='" + b.provider + "']").Attr("href")
		switch {
		case host == b.provider && p.Find("input[name=login]").Length() > 0:
			p = b.submit(p, url.Values{"login": {who}, "password": {"x"}})
		case host == b.provider:
			p = b.submit(p, url.Values{})
		case onward:
			b.asked = append(b.asked, target)
			p = b.get(target)
		default:
			return p
		}
	}
	b.t.Fatal("the sign-in does not end")
	return page{}
}

// me is who the API says that this browser is.
func (b *browser) me() (status int, is map[string]any) {
	b.t.Helper()
	answer, err := b.client.Get(b.url + "/api/v1/me")
	b.must(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	b.must(err)
	_ = json.Unmarshal(text, &is)
	return answer.StatusCode, is
}

// TestTheCertifiedProvider: name, e-mail and groups come from the userinfo endpoint; the first sign-in already has a
// refresh token; leaving there ends the session here at once; and groups are read again, until nobody is there.
func TestTheCertifiedProvider(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	if p := b.signIn("dana"); p.status != http.StatusOK || p.at.Path != "/storage" {
		text, _ := p.Html()
		t.Fatalf("want the page that was asked for, got %d %s %s", p.status, p.at, text)
	}
	if len(b.asked) != 2 || strings.Contains(b.asked[0], "prompt") || !strings.Contains(b.asked[1], "prompt=consent") {
		t.Errorf("want consent asked for once it turned out to be needed, got %q", b.asked)
	}
	status, is := b.me()
	if person := fmt.Sprint(is); status != http.StatusOK || !strings.Contains(person, "Dana Dev") ||
		!strings.Contains(person, "dana@example.org") || !strings.Contains(person, "vision") {
		t.Errorf("want name, address and team, got %d %v", status, is)
	}
	second := w.browser()
	if second.signIn("dana"); len(second.asked) != 1 || !strings.Contains(second.asked[0], "prompt=consent") {
		t.Errorf("want what was learned used, got %q", second.asked)
	}

	stream, err := b.client.Get(w.url + "/live?page=home")
	w.must(err)
	defer stream.Body.Close()
	ended := make(chan string, 1)
	go func() { text, _ := io.ReadAll(stream.Body); ended <- string(text) }()
	b.submit(b.get(w.provider+"/session/end"), url.Values{"logout": {"yes"}})
	select {
	case text := <-ended:
		if !strings.Contains(text, "event: reload") {
			t.Errorf("want the open page told to load again, got %q", text)
		}
	case <-time.After(patience):
		t.Error("the stream is still open")
	}
	if status, _ := b.me(); status != http.StatusUnauthorized {
		t.Errorf("the session that ended at the provider: want 401, got %d", status)
	}
	if status, _ := second.me(); status != http.StatusOK {
		t.Errorf("another session: want 200, got %d", status)
	}
	w.know(map[string]any{"dana": map[string]any{"name": "Dana Dev", "groups": []string{}}})
	w.clock.pass(11 * time.Minute)
	if status, is := second.me(); status != http.StatusOK || strings.Contains(fmt.Sprint(is), "vision") {
		t.Errorf("want the groups read again, got %d %v", status, is)
	}

	w.know(map[string]any{})
	w.clock.pass(11 * time.Minute)
	if status, _ := second.me(); status != http.StatusUnauthorized {
		t.Errorf("somebody whom the provider does not know any more: want 401, got %d", status)
	}
}

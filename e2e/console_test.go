package e2e

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// consoleAddress is where the portal of the stories answers the console's proxy.
var consoleAddress string

// withConsole gives the portal of the stories a listener for the console, whose users are those of the API server.
func withConsole(config map[string]any) {
	consoleAddress = freeAddress()
	config["console"] = map[string]any{"listen": consoleAddress, "userPrefix": "oidc:"}
}

// answersTheConsole waits for that listener, which may be later than the portal's own.
func answersTheConsole(ctx context.Context) error {
	for {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", consoleAddress)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the portal's listener for the console: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// openShift stands in for the console's server, for one user who has signed in there: it serves the plugin's files and
// proxies to the portal by the rules of the console's own server (pkg/proxy, pkg/plugins of openshift/console 4.22).
func openShift(t *testing.T, token, language, theme string) string {
	t.Helper()
	target, err := url.Parse("http://" + consoleAddress)
	if err != nil {
		t.Fatal(err)
	}
	csrf := fmt.Sprintf("csrf-%d", time.Now().UnixNano())
	mux := http.NewServeMux()
	mux.Handle("/api/plugins/gpu-portal/", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.URL.Path = "/console-plugin/" + strings.TrimPrefix(r.In.URL.Path, "/api/plugins/gpu-portal/")
		r.Out.Header.Del("Cookie")
		r.Out.Header.Del("X-CSRFToken")
	}})
	proxy := &httputil.ReverseProxy{FlushInterval: 100 * time.Millisecond, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.SetXForwarded()
		r.Out.Header.Del("X-Forwarded-Proto")
		r.Out.Header.Del("X-Forwarded-Host")
		r.Out.URL.Path = strings.TrimPrefix(r.In.URL.Path, "/api/proxy/plugin/gpu-portal/portal")
		for _, name := range []string{"Cookie", "X-CSRFToken", "Origin"} {
			r.Out.Header.Del(name)
		}
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}, ModifyResponse: func(r *http.Response) error {
		r.Header.Set("Content-Security-Policy", "sandbox;")
		r.Header.Del("Server")
		if len(r.Cookies()) > 0 {
			t.Errorf("the portal sets a cookie for the console's origin: %v", r.Header["Set-Cookie"])
		}
		return nil
	}}
	mux.HandleFunc("/api/proxy/plugin/gpu-portal/portal/", func(w http.ResponseWriter, r *http.Request) {
		cookie, err := r.Cookie("csrf-token")
		safe := r.Method == http.MethodGet || r.Method == http.MethodHead
		if !safe && (err != nil || subtle.ConstantTimeCompare([]byte(cookie.Value),
			[]byte(r.Header.Get("X-CSRFToken"))) != 1) {
			http.Error(w, "invalid CSRFToken", http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(w, r)
	})
	script := hostScript(t)
	mux.HandleFunc("/host.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write(script)
	})
	mux.Handle("/patternfly/", http.StripPrefix("/patternfly/",
		http.FileServer(http.Dir(filepath.Join(root, "e2e", "console", "node_modules", "@patternfly", "patternfly")))))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "csrf-token", Value: csrf, Path: "/", SameSite: http.SameSiteStrictMode})
		w.Header().Set("Content-Security-Policy", "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' "+
			"data:; frame-src 'none'; object-src 'none'")
		fmt.Fprintf(w, `<!DOCTYPE html><html lang=%q class=%q><head><meta charset="utf-8"><title>OpenShift</title>
			<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
			<link rel="stylesheet" href="/patternfly/patternfly.css"><style>%s</style></head>
			<body><div id="app"></div><script type="module" src="/host.js"></script></body></html>`, language, theme, consoleStyle)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() }) // streams end with their pages, which are open
	return strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
}

// consoleStyle is what the frame of the host page needs beside PatternFly.
const consoleStyle = `html, body, #app { height: 100%; margin: 0 }
	.host-brand { font: 600 1.25rem "Red Hat Display", system-ui, sans-serif }
	@media (max-width: 48rem) { .host-sidebar { display: none } }`

// hostScript is the host page with the console's real loader.
func hostScript(t *testing.T) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "host.js")
	build := exec.Command("node_modules/.bin/esbuild", "host.js", "--bundle", "--format=esm", "--minify",
		`--define:process.env.NODE_ENV="production"`, "--outfile="+out)
	build.Dir = filepath.Join(root, "e2e", "console")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	script, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return script
}

// atTheConsole is somebody who has signed in at the OpenShift console.
func atTheConsole(t *testing.T, who string, l look, language string) (*person, string) {
	t.Helper()
	token := world.UserTokens[who]
	if token == "" {
		token = who
	}
	theme := ""
	if l.Dark {
		theme = "pf-v6-theme-dark"
	}
	address := openShift(t, token, language, theme)
	p := visit(t, l)
	p.who, p.within = who, ".gp-console" // what is around is not ours
	return p, address
}

// TestTheManifestIsOneOfTheConsole: the console's build has nothing against it.
func TestTheManifestIsOneOfTheConsole(t *testing.T) {
	answer, err := http.Get("http://" + consoleAddress + "/console-plugin/plugin-manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var manifest bytes.Buffer
	if _, err := manifest.ReadFrom(answer.Body); err != nil {
		t.Fatal(err)
	}
	check := func(text []byte) string {
		c := exec.Command("node", "check.js")
		c.Dir, c.Stdin = filepath.Join(root, "e2e", "console"), bytes.NewReader(text)
		said, err := c.Output()
		if err != nil {
			t.Fatalf("%v %s", err, said)
		}
		return string(said)
	}
	if said := check(manifest.Bytes()); said != "" {
		t.Error(said)
	}
	if said := check(bytes.Replace(manifest.Bytes(), []byte(`"component"`), []byte(`"componant"`), 1)); said == "" {
		t.Error("the check finds nothing in a manifest that is wrong")
	}
}

// TestTheConsoleHasOurColours: the pages draw with the PatternFly of the console, which is older than the portal's.
func TestTheConsoleHasOurColours(t *testing.T) {
	theirs, err := os.ReadFile(filepath.Join(root, "e2e", "console", "node_modules", "@patternfly", "patternfly",
		"patternfly.css"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get("http://" + consoleAddress + "/console-plugin/plugin.css")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	ours, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	token := regexp.MustCompile(`var\((--pf-[a-z0-9-]+)\)`) // one with a second choice after it may be missing
	used := token.FindAllSubmatch(ours, -1)
	if len(used) < 10 {
		t.Fatalf("only %d tokens of PatternFly in plugin.css", len(used))
	}
	for _, u := range used {
		if !bytes.Contains(theirs, append(slices.Clone(u[1]), ':')) {
			t.Errorf("the console has no %s", u[1])
		}
	}
}

// TestInTheConsole: a notebook from the console's pages, with what changes by itself, and nothing of the portal's
// session.
func TestInTheConsole(t *testing.T) {
	dana, console := atTheConsole(t, "dana", look{}, "en")
	dana.open(console + "/gpus")
	dana.sees("[data-test=gpu-portal] h1")
	dana.reads("[data-test=gpu-portal-mine]", "My GPUs")
	dana.do(dana.assert.Locator(dana.at("[data-test=gpu-portal-approvals]")).ToHaveCount(0))
	dana.click("[data-test=gpu-portal-start]")
	dana.sees("[data-test=gpu-portal] form [data-test=send]")
	dana.do(dana.assert.Locator(dana.page.Locator("nav[aria-label=Console] [aria-current=page]")).ToHaveText("Start"))
	dana.accessible()
	dana.shot("start")
	dana.click("[data-test=gpu-portal] [data-test=size-cpu]")
	dana.reads("[data-summary-bar]", "CPU only") // drawn by the server while the form is filled in
	dana.click("[data-test=gpu-portal] details:has([name=name]) > summary")
	dana.fill("[data-test=gpu-portal] [name=name]", "from-the-console")
	dana.click("[data-test=gpu-portal] [data-test=send]")
	dana.reads("[data-test=workload-head] [data-test=state]", "Running") // by the stream: nobody loads the page again
	id := strings.TrimPrefix(mustPath(t, dana.page.URL()), "/gpus/workloads/")
	t.Cleanup(func() { as(t, "dana").remove(id) })
	dana.do(dana.assert.Locator(dana.page.Locator("nav[aria-label=Console] [aria-current=page]")).ToHaveText("My GPUs")) // and no other
	dana.shot("workload")
	dana.accessible()
	dana.click("[data-test=gpu-portal] [data-test=stop]")
	dana.sees("[data-test=gpu-portal] :is([data-test=stop-confirm], .gp-toast)")
	asks, err := dana.at("[data-test=stop-confirm]").IsVisible() // while nobody knows whether it is at work
	dana.do(err)
	if asks {
		dana.click("[data-test=stop-confirm]")
	}
	dana.sees("[data-test=gpu-portal] .gp-toast")
	w := as(t, "dana").reaches(id, "stopped")
	if w["name"] != "from-the-console" {
		t.Errorf("%v", w)
	}
	cookies, err := dana.context.Cookies()
	dana.do(err)
	if len(cookies) != 1 || cookies[0].Name != "csrf-token" {
		t.Errorf("want the console's cookie alone, got %v", cookies)
	}
	dana.expecting("403")
	for name, header := range map[string]string{"a user": "Impersonate-User", "a group": "X-Console-Impersonate-Groups"} {
		status, err := dana.page.Evaluate(fmt.Sprintf(`async () => (await fetch('/api/proxy/plugin/gpu-portal/portal/',
			{headers: {%q: 'pat'}})).status`, header))
		dana.do(err)
		if status != http.StatusForbidden {
			t.Errorf("as %s: %v", name, status)
		}
	}
	dana.open(console + "/project/e2e-" + runID + "-vision")
	has := len(items(as(t, "dana").ok(http.StatusOK, http.MethodGet, "/workloads?tenant=vision", nil)))
	dana.reads("[data-test=gpu-workloads]", fmt.Sprintf("%d GPU workload", has)) // of other stories too
	dana.reads("[data-test=humanized]", "25.6 %")
	query, err := dana.at("[data-test=query]").TextContent()
	dana.do(err)
	answer, err := http.Get(world.Prometheus + "/api/v1/query?" + url.Values{"query": {query}}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var result struct{ Status, Error string }
	if err := json.NewDecoder(answer.Body).Decode(&result); err != nil || result.Status != "success" {
		t.Errorf("%s: %+v %v", query, result, err)
	}
}

// TestApprovalsInTheConsole stand in the navigation of approvers alone.
func TestApprovalsInTheConsole(t *testing.T) {
	dana := as(t, "dana")
	r := dana.start("h100", map[string]any{"name": "console-asks", "reason": "Two days of fine-tuning for the paper."})
	t.Cleanup(func() { dana.call(http.MethodPost, "/requests/"+str(r["id"])+"/withdraw", nil) })
	ada, console := atTheConsole(t, "ada", look{Dark: true}, "ko")
	ada.open(console + "/gpus")
	ada.reads("[data-test=gpu-portal-approvals]", "승인")
	ada.click("[data-test=gpu-portal-approvals]")
	ada.sees("[data-test=gpu-portal] h1")
	ada.reads("[data-test=gpu-portal]", "Two days of fine-tuning for the paper.")
	ada.contrasts()
	ada.shot("approval")
	ada.fill("[data-test=gpu-portal] [name=note]", "Take a slice.")
	ada.click("[data-test=gpu-portal] [data-test=reject]")
	waittest.Until(t, "the rejection", func() error {
		a := dana.ok(http.StatusOK, http.MethodGet, "/requests/"+str(r["id"]), nil)
		if a["state"] != "rejected" {
			return fmt.Errorf("%v", a["state"])
		}
		return nil
	})
	ada.shot("rejected")
}

// TestAStrangerInTheConsole is told what to do, at 360 px.
func TestAStrangerInTheConsole(t *testing.T) {
	config, err := clientcmd.BuildConfigFromFlags("", world.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	stranger, console := atTheConsole(t, config.BearerToken, look{Width: 360}, "en") // a user of another provider
	stranger.expecting("403")
	stranger.open(console + "/gpus")
	stranger.reads("[data-test=console-unknown]", "The portal does not know you yet")
	stranger.fitsTheWindow()
	to, err := stranger.at("[data-test=console-sign-in]").GetAttribute("href")
	stranger.do(err)
	if to != portal.URL {
		t.Errorf("want %s, got %s", portal.URL, to)
	}
	stranger.shot("unknown")
}

func mustPath(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Path
}

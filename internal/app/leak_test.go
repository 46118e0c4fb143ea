package app

import (
	"archive/zip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidc"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidctest"
	"github.com/gpu-portal/gpu-portal/internal/trace"
)

// TestNothingLeaks runs the ways in and the ways to fail, and looks for secrets in everything that came out: pages,
// errors, log, record, database (T-LEAK, T-TOKEN-1).
func TestNothingLeaks(t *testing.T) {
	dir := t.TempDir()
	key := []byte("canary-of-the-secret-key-32-byte")
	keyFile := filepath.Join(dir, "canary-key-file")
	if err := os.WriteFile(keyFile, []byte(hex.EncodeToString(key)), 0o600); err != nil {
		t.Fatal(err)
	}
	database := filepath.Join(dir, "canary-database.db")
	spans := tracetest.NewInMemoryExporter()
	w := newWorldWith(t, []Option{WithTraces(trace.By(sdk.NewTracerProvider(sdk.WithSyncer(spans))))},
		func(c *config.Config) { c.SecretKeyFile, c.Database = keyFile, "sqlite:"+database })
	var out, archives strings.Builder
	keep := func(a answer) answer { out.WriteString(a.body + "\n"); _ = a.header.Write(&out); return a }

	b := w.browser()
	keep(b.signIn(developer))
	secret := func(cookie string) string { _, s, _ := strings.Cut(cookie, "."); return s }
	session, token := b.session(), w.token(developer)
	canaries := map[string]string{
		"client secret": w.provider.ClientSecret(), "client secret, escaped": url.QueryEscape(w.provider.ClientSecret()),
		"secret key": hex.EncodeToString(key), "secret key, raw": string(key),
		"database path": "canary-database", "key file": "canary-key-file", "cluster token": "canary-kubeconfig-token",
		"session": secret(session), "token": secret(token),
	}
	for name, canary := range w.givenByTheProvider(b) {
		canaries[name] = canary
	}
	item := w.running(developer, "vision")
	canaries["key of a workload"] = w.secrets.Token(item)
	hook := b.post("/account/notifications/addresses", url.Values{"channel": {"webhook"},
		"url": {"https://hooks.example.org/canary-of-the-hook"}})
	canaries["address of a webhook"] = "canary-of-the-hook"
	if canaries["secret of a webhook"] = wordWith(hook.body, "whsec_"); canaries["secret of a webhook"] == "" {
		t.Fatalf("no secret on the page: %d", hook.status)
	}
	keep(b.get("/account/notifications"))
	for _, path := range []string{"/", "/start", "/account", "/requests", "/storage", "/fleet", "/team", "/licenses",
		"/readyz", "/none", "/api/v1/openapi.json", "/api/docs"} {
		keep(b.get(path))
	}
	for name, canary := range w.keepsCanaries(b, token, keep) {
		canaries[name] = canary
	}
	fresh := b.post("/account/tokens", url.Values{"name": {"t"}, "lasts": {"7d"}})
	made := wordWith(fresh.body, "gpup_")
	if made == "" {
		t.Fatal("no token on the page")
	}
	canaries["token made on the page"] = secret(made)
	keep(b.get("/account"))
	adm := w.token(admin)
	for _, route := range w.routes() {
		_, pattern, _ := strings.Cut(route, " ")
		got := w.ask(route, w.fill(pattern, developer, "vision"), w.signedIn(admin), adm)
		keep(got)
		if got.header.Get("Content-Type") == "application/zip" {
			archives.WriteString(unzipped(t, got.body))
		}
	}
	if !strings.Contains(archives.String(), "# configuration.yaml") {
		t.Error("the support bundle was not read")
	}
	keep(w.call(token+"x", http.MethodGet, "/api/v1/me", nil))
	keep(w.call(token, http.MethodPost, "/api/v1/requests", `{"kind":"`+token+`"}`))

	// The provider fails in each of its ways, at the moment when the secret is on its way.
	for _, failure := range []oidctest.Failure{oidctest.Breaks, oidctest.Refuses} {
		x := w.browser()
		target, _ := x.post("/signin", url.Values{}).page(t).Find("main a").Attr("href")
		back, err := oidctest.Choose(http.DefaultClient, target, developer)
		if err != nil {
			t.Fatal(err)
		}
		w.provider.Fail(failure, oidctest.TokenPath)
		canaries["code "+back.Query().Get("code")[:4]] = back.Query().Get("code")
		keep(x.get(back.RequestURI()))
		w.provider.Fail(oidctest.Works)
	}
	keep(b.post("/signout", url.Values{}))

	data, err := os.ReadFile(database)
	if err != nil {
		t.Fatal(err)
	}
	wal, _ := os.ReadFile(database + "-wal")
	numbers := httptest.NewRecorder()
	w.meters.handler().ServeHTTP(numbers, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	record := w.signedIn(auditor).get("/audit/export")
	if record.status != http.StatusOK || len(record.body) < 1000 {
		t.Errorf("the export of the record: %d, %d bytes", record.status, len(record.body))
	}
	told := fmt.Sprintf("%+v", spans.GetSpans())
	if !strings.Contains(told, "/api/v1/requests") ||
		!strings.Contains(numbers.Body.String(), "gpu_portal_http_requests_total") {
		t.Error("nothing was traced or counted")
	}
	for name, canary := range canaries {
		if len(canary) < 8 {
			t.Errorf("the %s is %q: nothing to look for", name, canary)
		}
		for place, text := range map[string]string{"an answer": out.String(), "the log": w.log.String(),
			"the database": string(data) + string(wal), "the metrics": numbers.Body.String(), "the traces": told,
			"the export of the record": record.body, "the support bundle": archives.String()} {
			if name == "database path" && place == "the log" || place == "the support bundle" &&
				(name == "database path" || name == "key file") {
				continue // which file could not be opened, which files are set: where a secret is, and not what it is
			}
			if i := strings.Index(text, canary); i >= 0 &&
				!(place == "an answer" && (name == "session" && strings.Contains(text[max(0, i-60):i], "Set-Cookie") ||
					name == "ID token" && strings.HasSuffix(text[:i], "id_token_hint="))) { // the way out, for their own browser
				t.Errorf("the %s is in %s: …%s…", name, place, text[max(0, i-60):min(len(text), i+20)])
			}
		}
	}
}

// givenByTheProvider are the tokens of a session, which its row has sealed.
func (w *world) givenByTheProvider(b *browser) map[string]string {
	w.t.Helper()
	id, _, _ := strings.Cut(b.session(), ".")
	session, err := w.store.Session(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	refresh, err := oidc.OpenToken(w.renewals.Key, session.ID, session.RefreshToken)
	if err != nil {
		w.t.Fatal(err)
	}
	hint := w.renewals.IDToken(session)
	if strings.Count(hint, ".") != 2 {
		w.t.Fatalf("%q is no ID token", hint)
	}
	return map[string]string{"refresh token": refresh, "ID token": hint}
}

// wordWith is the last word of a page that begins so and has a secret behind it.
func wordWith(page, prefix string) string {
	found := ""
	for _, word := range strings.FieldsFunc(page, func(r rune) bool { return strings.ContainsRune(` "<>&;`, r) }) {
		if strings.HasPrefix(word, prefix) && len(word) > len(prefix)+20 {
			found = word
		}
	}
	return found
}

// unzipped is what the files of an archive hold, each after a line with its name.
func unzipped(t *testing.T, archive string) string {
	t.Helper()
	r, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "# %s\n%s\n", f.Name, text)
	}
	return out.String()
}

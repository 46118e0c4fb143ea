package app

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidctest"
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
	w := newWorld(t, func(c *config.Config) { c.SecretKeyFile, c.Database = keyFile, "sqlite:"+database })
	var out strings.Builder
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
	for _, path := range []string{"/", "/start", "/account", "/requests", "/storage", "/fleet", "/team", "/licenses",
		"/readyz", "/none", "/api/v1/openapi.json", "/api/docs"} {
		keep(b.get(path))
	}
	fresh := b.post("/account/tokens", url.Values{"name": {"t"}, "lasts": {"7d"}})
	made := ""
	for _, word := range strings.FieldsFunc(fresh.body, func(r rune) bool { return strings.ContainsRune(` "<>&;=`, r) }) {
		if strings.HasPrefix(word, "gpup_") && strings.Contains(word, ".") {
			made = word
		}
	}
	if made == "" {
		t.Fatal("no token on the page")
	}
	canaries["token made on the page"] = secret(made)
	keep(b.get("/account"))
	adm := w.token(admin)
	for _, route := range w.routes() {
		_, pattern, _ := strings.Cut(route, " ")
		keep(w.ask(route, w.fill(pattern, developer, "vision"), w.signedIn(admin), adm))
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
	for name, canary := range canaries {
		for place, text := range map[string]string{"an answer": out.String(), "the log": w.log.String(),
			"the database": string(data) + string(wal)} {
			if place == "the log" && name == "database path" {
				continue // a log may say which file could not be opened
			}
			if i := strings.Index(text, canary); i >= 0 &&
				!(place == "an answer" && (name == "session" && strings.Contains(text[max(0, i-60):i], "Set-Cookie"))) {
				t.Errorf("the %s is in %s: …%s…", name, place, text[max(0, i-60):min(len(text), i+20)])
			}
		}
	}
}

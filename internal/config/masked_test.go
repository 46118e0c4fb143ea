package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/license/nls"
)

// TestMaskedShowsNoSecret puts a canary wherever a secret can stand.
func TestMaskedShowsNoSecret(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "api-key")
	if err := os.WriteFile(file, []byte("canary-in-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "portal.key"), []byte("canary-of-sqlite\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Config{Database: "postgres://portal:canary-p%21@db/portal?sslpassword=canary-q", URL: "https://gpu.example.org",
		OIDC:   OIDC{Issuer: "https://login.example.org", ClientSecret: "canary-oidc"},
		Notify: Notify{Mail: &Mail{Host: "mail", Username: "portal", Password: "canary-mail"}},
		Clusters: []Cluster{{Name: "main", Metrics: Metrics{Headers: map[string]string{"X-Key": "canary-header"},
			Params: map[string][]string{"key": {"canary-param"}}}, PodAccess: "socks5://me:canary-socks@host:1080"}},
		LicenseServers: []nls.Config{{Name: "cls", APIKeyFile: file}}}
	text, err := c.Masked()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "canary") {
		t.Errorf("a secret is shown:\n%s", text)
	}
	for _, want := range []string{"postgres://portal:********@db/portal", "gpu.example.org", file, "X-Key"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not shown:\n%s", want, text)
		}
	}
	got := c.Secrets()
	for _, want := range []string{"canary-p!", "canary-q", "canary-oidc", "canary-mail", "canary-header", "canary-param",
		"canary-socks", "canary-in-a-file"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not among the secrets: %q", want, got)
		}
	}
	if got := (Config{Database: "sqlite:" + filepath.Join(dir, "portal.db")}).Secrets(); !slices.Contains(got,
		"canary-of-sqlite") {
		t.Errorf("the key beside the database is not among the secrets: %q", got)
	}
}

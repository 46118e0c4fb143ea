package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestALogStoreOfACluster: its own stands above the one for all, and the file is that of a site.
func TestALogStoreOfACluster(t *testing.T) {
	dir := t.TempDir()
	auth := filepath.Join(dir, "auth")
	if err := os.WriteFile(auth, []byte("portal:canary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(file(t, `
oidc: {issuer: "https://login.example.org"}
logStore:
  kind: loki
  url: https://logging-loki-gateway-http.openshift-logging.svc:8080/api/logs/v1/application
  query: >-
    {kubernetes_namespace_name="{namespace}", kubernetes_pod_name=~"{pod}", kubernetes_container_name="{container}"}
    | json | line_format "{{.message}}"
  podField: kubernetes_pod_name
  basicAuthFile: `+auth+`
clusters:
- {name: a}
- {name: b, logStore: {kind: elasticsearch, url: "http://opensearch:9200", index: "logs-*", tokenFile: nowhere}}
`), nothing, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"Loki", "Elasticsearch"} {
		if s, err := c.LogStoreOf(c.Clusters[i]); err != nil || s.Name() != want {
			t.Errorf("cluster %d: want %s, got %v, %v", i, want, s, err)
		}
	}
	if s, err := (Config{}).LogStoreOf(Cluster{Name: "a"}); s != nil || err != nil {
		t.Errorf("a store of no settings: %v, %v", s, err)
	}
	if !slices.Contains(c.Secrets(), "portal:canary") {
		t.Errorf("the credentials are not among the secrets: %q", c.Secrets())
	}
	if warnings := strings.Join(c.Warnings(), "\n"); !strings.Contains(warnings,
		"clusters b: logStore: the credentials for opensearch:9200 cross the network in the clear") ||
		strings.Count(warnings, "logStore") != 1 {
		t.Error(warnings)
	}
	for text, want := range map[string]string{"url: \"https://x\"": "logStore.kind: ",
		"kind: loki, url: \"https://x\", caFile: nowhere": "logStore.caFile: "} {
		_, err := Load(file(t, "oidc: {issuer: \"https://x\"}\nclusters: [{name: a}]\nlogStore: {"+text+"}\n"), nothing, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %s, got %v", text, want, err)
		}
	}
}

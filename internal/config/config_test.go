package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/kube"
)

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "portal.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func nothing(string) string { return "" }

const enough = `
oidc: {issuer: https://id.example.org}
clusters: [{name: main, kubeconfig: kubeconfig}]
`

func linesOf(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

func TestLittleIsEnough(t *testing.T) {
	c, err := Load(file(t, enough), nothing, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.URL != "http://localhost:8080" || c.AppsDomain != "localhost" || c.Session.Idle.Std() != 12*time.Hour ||
		c.OIDC.Refresh.Std() != 10*time.Minute || c.OIDC.StaleGroupsTTL.Std() != time.Hour ||
		c.Tokens.Limits() != (identity.TokenLimits{Lifetime: 90 * 24 * time.Hour, StandingAge: 24 * time.Hour}) ||
		!c.Has(RoleGateway) {
		t.Errorf("want the defaults, got %+v", c)
	}
	if k := c.Storage.RetentionRules(); len(c.Lease.WarningTimes()) != 3 || k.Period != 0 || len(k.Warnings) != 2 {
		t.Errorf("want the usual announcements, and storage kept for ever, got %v %+v", c.Lease.WarningTimes(), k)
	}
	if w := c.Warnings(); len(w) > 0 {
		t.Errorf("want no warning on localhost, got %q", w)
	}
}

// TestEveryProblemIsListed: each problem has its place, and one start tells all of them, those of spelling included.
func TestEveryProblemIsListed(t *testing.T) {
	_, err := Load(file(t, `
listne: 127.0.0.1:8080
listen: nowhere
metricsListen: 9090
tracesEndpoint: collector:4318
url: https://gpu.example.org/portal?x
log: {level: loud, format: xml}
database: mysql://x
roles: [web, gatway]
clusterNetworks: [inside]
trustedProxies: [10.0.0.1]
session: {idle: -1h}
health: {recentErrorWindow: 1m}
serving: {wakeWithin: 1h, heldRequests: -1}
branding: {logo: nowhere.svg, color: "#06c"}
secrets: {previousKeyFiles: [nowhere], gitImage: "git:latest", rcloneImage: "rclone@sha256:1",
  registryHosts: ["https://x"], registryNetworks: [x]}
terminal: {idle: 2h, longest: 1h, perPerson: -1}
tunnel: {idle: 2h, longest: 1h, maxGiB: -1}
embed: {allowedOrigins: ["https://*.example.org", "https://grafana.example.org/d"]}
console: {listen: "0.0.0.0:9443", plugin: A_B, cluster: x, userFrom: mail, userIs: name}
lease: {warnings: [1h, 0s]}
storage: {retention: 30 days, warnings: [0s]}
schedule: {holidays: [{date: 2026-02-30, name: No day}], quietHours: [{days: [today], from: "20:00", until: "07:00"}]}
oidc: {clientId: x, clientSecret: a, clientSecretFile: b, offlineAccess: sometimes, refresh: 2h, staleGroupsTTL: 1h}
tokens: {maxStandingAge: 1h}
platform: {admins: [x], admin: [""]}
licensePools: [{name: a, seats: -1}, {name: a, rules: [{device: vgpu, unit: month, source: x}]}, {seats: 1, series: [D]}]
licensePollInterval: 10ms
logStore: {kind: loki, url: "http://loki:3100", query: '{pod=~"{pod}"}'}
clusters: [{name: Main, logStore: {kind: splunk, url: "https://x"}, modelGateway: {kind: traefik}},
  {name: b, podAccess: ssh}, {name: b, kubeConfig: x, agents: {port: 70000}}]
tenants:
- {name: vision, quota: {cpu: -1}, groups: {developers: [v]}}
- {name: vision}
- {name: kube, namespace: kube-system}
- {name: speech, namespace: gpu-vision}
rules: [{name: r, when: "request.nothing", outcome: allow}]
`), nothing, nil)
	got := strings.Join(linesOf(err), "\n")
	for _, want := range []string{
		`unknown field "listne"`, `unknown field "oidc.clientId"`, `unknown field "clusters[2].kubeConfig"`, "listen: ",
		"metricsListen: ", "log.level: ", "log.format: ", "tracesEndpoint: ",
		"secrets.previousKeyFiles[0]: ", "secrets.gitImage: ", "secrets.rcloneImage: ", "secrets.registryHosts: ",
		"secrets.registryNetworks: ",
		"terminal.longest: ", "terminal: perPerson", "tunnel.longest: ", "tunnel: perPerson",
		"clusterNetworks[0]: ", "embed.allowedOrigins[0]: ", "embed.allowedOrigins[1]: ",
		"url: ", "database: ", "secretKeyFile: ", `roles: unknown role "gatway"`,
		"trustedProxies: ", "session: ", "health.recentErrorWindow: ",
		"serving.wakeWithin: ", "serving.heldRequests: ",
		"console.certFile: ", "console.plugin: ", "console.cluster: ", "console.userFrom: ", "console.userIs: ",
		`branding.color: "#06c" is no color`, "oidc.clientSecret and oidc.clientSecretFile",
		"oidc.issuer: ",
		"oidc.offlineAccess: ", "oidc.staleGroupsTTL: ", "tokens.maxStandingAge: ",
		"platform.admins: unknown role", "platform.admin: a group has no name",
		"licensePools[0].seats: ", "licensePools[1].name: ", "licensePools[2].name: ", "licensePollInterval: ",
		"licensePools[1].rules[0].unit: ", "licensePools[2].series[0]: ",
		"lease.warnings[1]: ", "schedule.holidays[0]: ", "schedule.quietHours: ",
		"configuration: storage: ", "logStore.query: ", "clusters[0].logStore.kind: ",
		"clusters[0].name: ", "clusters[0].modelGateway.kind: ",
		"clusters[1].podAccess: ",
		"clusters[2].name: ",
		"clusters[2].agents.port: ",
		"tenants[0].quota.cpu: ", "tenants[0].groups.developers: unknown role", "tenants[1].name: ", "tenants[2].namespace: ",
		"tenants[3].namespace: ", `rule 1 "r"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want a line with %q", want)
		}
	}
	if n := strings.Count(got, "\n") + 1; n != 65 {
		t.Errorf("want one line for each problem, 65, got %d", n)
	}
	if t.Failed() {
		t.Log(got)
	}
}

// TestWhoWins: flags stand above the environment, which stands above the file.
func TestWhoWins(t *testing.T) {
	env := map[string]string{"PORTAL_LISTEN": "127.0.0.1:2", "PORTAL_DATABASE": "sqlite:env.db",
		"PORTAL_ROLES": "web, gateway"}
	c, err := Load(file(t, enough+"listen: 127.0.0.1:1\ndatabase: sqlite:file.db\ninstance: file\n"),
		func(name string) string { return env[name] },
		func(c *Config) { c.Listen = "127.0.0.1:3" })
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"127.0.0.1:3", "sqlite:env.db", "file", "http://localhost:3", "web gateway"}
	if diff := cmp.Diff(want, []string{c.Listen, c.Database, c.Instance, c.URL, strings.Join(c.Roles, " ")}); diff != "" {
		t.Error(diff)
	}
}

func TestAddresses(t *testing.T) {
	const fine, warned = "", "warned"
	cases := map[string]struct{ url, apps, want string }{
		"all on this machine":        {"http://localhost:8080", "localhost", fine},
		"another site for workloads": {"https://gpu.example.org", "gpu-apps.net", fine},
		"a port of their own":        {"https://gpu.example.org", "gpu-apps.net:8443", fine},
		"a slash at the end":         {"https://gpu.example.org/", "gpu-apps.net", fine},
		"OpenShift: siblings under the same name": {"https://gpu-portal.apps.ocp.example.org", "work.apps.ocp.example.org",
			warned},
		"two hosts of one owner":                   {"https://gpu.example.co.uk", "apps.example.co.uk", warned},
		"two owners under one public suffix":       {"https://a.github.io", "b.github.io", fine},
		"workloads that nobody elsewhere can open": {"https://gpu.example.org", "localhost", warned},
		"the same host":                            {"https://gpu.example.org", "gpu.example.org", "appsDomain: "},
		"the same host in capitals":                {"https://GPU.example.org", "gpu.EXAMPLE.org", "appsDomain: "},
		"workloads below the portal":               {"https://gpu.example.org", "apps.gpu.example.org", "appsDomain: "},
		"the portal below the workloads":           {"https://portal.apps.example.org", "apps.example.org", "appsDomain: "},
		"a star":                                   {"https://gpu.example.org", "*.example.net", "appsDomain: "},
		"an address instead of a domain":           {"https://gpu.example.org", "https://example.net", "appsDomain: "},
		"no encryption":                            {"http://gpu.example.org", "gpu-apps.net", "url: "},
		"a path":                                   {"https://example.org/gpu", "gpu-apps.net", "url: "},
		"somebody in it":                           {"https://me:secret@example.org", "gpu-apps.net", "url: "},
		"no address":                               {"gpu.example.org", "gpu-apps.net", "url: "},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Load(file(t, enough+"url: "+c.url+"\nappsDomain: '"+c.apps+"'\n"), nothing, nil)
			switch {
			case c.want == fine || c.want == warned:
				if err != nil {
					t.Fatal(err)
				}
				if warns := len(got.Warnings()) > 0; warns != (c.want == warned) {
					t.Errorf("want warned %t, got %q", c.want == warned, got.Warnings())
				}
			case len(linesOf(err)) != 1 || !strings.HasPrefix(err.Error(), c.want):
				t.Errorf("want one problem with %s got %v", c.want, err)
			}
		})
	}
}

// TestExternalAppsDomain: a domain of its own, which no ingress of the others leads to.
func TestExternalAppsDomain(t *testing.T) {
	for domain, fine := range map[string]bool{"": true, "models.example.com": true, "MODELS.example.com:8443": true,
		"models.localhost": true, "gpu.example.org": false, "gpu-apps.net": false,
		"out.gpu-apps.net": false, "net": false, "models.gpu.example.org": false, "example.org": false,
		"*.example.com":       false,
		"https://example.com": false, "gpu-apps.net:8443": false} {
		got, err := Load(file(t, enough+"url: https://gpu.example.org\nappsDomain: gpu-apps.net\nexternalAppsDomain: '"+
			domain+"'\n"), nothing, nil)
		switch {
		case fine && (err != nil || got.ExternalAppsDomain != strings.ToLower(domain)):
			t.Errorf("%q: got %q, %v", domain, got.ExternalAppsDomain, err)
		case !fine && (len(linesOf(err)) != 1 || !strings.HasPrefix(err.Error(), "externalAppsDomain: ")):
			t.Errorf("%q: want one problem with it, got %v", domain, err)
		}
	}
	if _, err := Load(file(t, enough+"externalAppsDomain: localhost\n"), nothing, nil); err == nil {
		t.Error("it is appsDomain on this machine")
	}
	outside := strings.Replace(enough, "kubeconfig: kubeconfig", "kubeconfig: kubeconfig, modelGateway: {kind: kuadrant, "+
		"outside: true, address: 'https://a.example.org', gateway: {namespace: gateways, name: models}}", 1)
	for domain, want := range map[string]string{"": "clusters[0].modelGateway.outside: ", "models.example.com": ""} {
		_, err := Load(file(t, outside+"externalAppsDomain: '"+domain+"'\n"), nothing, nil)
		if got := fmt.Sprint(err); (err != nil) != (want != "") || !strings.HasPrefix(got, want) && want != "" {
			t.Errorf("a gateway for outside with the domain %q: want %q, got %v", domain, want, err)
		}
	}
}

// TestClientSecretFile: a file that could not be read became a client without a secret, and every sign-in failed with
// the provider's words.
func TestClientSecretFile(t *testing.T) {
	for name, path := range map[string]string{"missing": filepath.Join(t.TempDir(), "none"), "empty": file(t, " \n")} {
		_, err := Load(file(t, enough), nothing, func(c *Config) { c.OIDC.ClientSecretFile = path })
		if err == nil || !strings.Contains(err.Error(), "oidc.clientSecretFile: ") {
			t.Errorf("%s: want a problem with its place, got %v", name, err)
		}
	}
	if _, err := Load(file(t, enough), nothing, func(c *Config) {
		c.OIDC.ClientSecretFile = file(t, "secret\n")
	}); err != nil {
		t.Error(err)
	}
}

func TestNotEvenYAML(t *testing.T) {
	for name, text := range map[string]string{"tabs": "\tlisten: x", "twice": "listen: a\nlisten: b\n",
		"a list": "- a\n"} {
		if _, err := Load(file(t, text), nothing, nil); err == nil {
			t.Errorf("%s: want a problem", name)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml"), nothing, nil); err == nil {
		t.Error("a file that is not there: want a problem")
	}
}

// TestDatabaseCommands: a slip in the file must not send "portal migrate" to the default database.
func TestDatabaseCommands(t *testing.T) {
	if c, err := LoadDatabase(file(t, "database: sqlite:x.db\n"), nothing, nil); err != nil ||
		c.Database != "sqlite:x.db" {
		t.Errorf("want the database and no problem, got %s %v", c.Database, err)
	}
	for name, text := range map[string]string{"misspelt": "databse: sqlite:x.db\n", "no YAML": "\tdatabase: x",
		"no database": "database: mysql://x\n"} {
		if _, err := LoadDatabase(file(t, text), nothing, nil); err == nil {
			t.Errorf("%s: want a problem", name)
		}
	}
}

// What carries endpoints' calls needs rights of its own, also while it is given up; a team cannot have its namespace.
func TestTheRightsOfAModelGateway(t *testing.T) {
	for kind, want := range map[string]bool{"": false, "embedded": true, "inference-extension": true, "kuadrant": true,
		"envoy-ai-gateway": true} {
		k := Cluster{ModelGateway: kube.ModelGateway{Kind: kind, Gateway: kube.GatewayRef{Namespace: "gateways"}}}
		if got := k.Rights().ModelGateway; got != want {
			t.Errorf("%q: the rights are asked for: %v", kind, got)
		}
		if got := k.Rights().Kuadrant; got != (kind == "embedded" || kind == "kuadrant") {
			t.Errorf("%q: the rights to Kuadrant's policies are asked for: %v", kind, got)
		}
		if got := k.Rights().EnvoyAIGateway; got != (kind == "embedded" || kind == "envoy-ai-gateway") {
			t.Errorf("%q: the rights to objects of Envoy AI Gateway are asked for: %v", kind, got)
		}
		rule := Config{TenantNamespaces: []string{"*"}, Clusters: []Cluster{k}}.NamespaceRule()
		if rule.Problem("gateways").IsZero() {
			t.Errorf("%q: the gateway's namespace can be a team's", kind)
		}
	}
}

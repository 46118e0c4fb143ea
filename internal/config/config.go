package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/currency"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/license/nls"
	"github.com/gpu-portal/gpu-portal/internal/limit"
	"github.com/gpu-portal/gpu-portal/internal/logging"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Config is every setting. docs/configuration.md is generated from the comments of its fields: what the setting means,
// then "; default X" where the zero value means something else.
type Config struct {
	// address of portal and gateway, host:port; default 127.0.0.1:8080
	Listen string `json:"listen,omitempty"`
	// address of /metrics, host:port, without sign-in: for Prometheus only; default none
	MetricsListen string `json:"metricsListen,omitempty"`
	Log           Log    `json:"log,omitempty"`
	// OTLP/HTTP endpoint for traces, such as "http://collector:4318"; default none
	TracesEndpoint string `json:"tracesEndpoint,omitempty"`
	// how browsers reach the portal, without a path; default http://localhost:PORT, PORT as in listen
	URL string `json:"url,omitempty"`
	// workloads answer at NAME.<appsDomain>. Another site than that of url, or their cookies reach the portal; default
	// localhost
	AppsDomain string `json:"appsDomain,omitempty"`
	// programs outside the company network call endpoints that are approved for it at NAME.<externalAppsDomain>, with a
	// key. The ingress that the Internet reaches leads here; neither below url and appsDomain nor above them; default
	// none, and nothing is reached from outside
	ExternalAppsDomain string `json:"externalAppsDomain,omitempty"`
	// CIDRs of proxies whose X-Forwarded-For is believed; default none
	TrustedProxies []string `json:"trustedProxies,omitempty"`
	// sqlite:PATH or postgres://USER:PASSWORD@HOST/DB; default sqlite:portal.db
	Database string `json:"database,omitempty"`
	// file with 32 random bytes in hex, the same for every replica. Needed with PostgreSQL; default a file beside the
	// SQLite database, made at the first start
	SecretKeyFile string `json:"secretKeyFile,omitempty"`
	// what this process does: web (pages and API), gateway, controller; default all three
	Roles []string `json:"roles,omitempty"`
	// tells portals on one cluster apart, in labels of their objects; default default
	Instance string    `json:"instance,omitempty"`
	OIDC     OIDC      `json:"oidc,omitempty"`
	Session  Session   `json:"session,omitempty"`
	Tokens   Tokens    `json:"tokens,omitempty"`
	Clusters []Cluster `json:"clusters,omitempty"` // at least one
	// CIDRs in which API servers and Prometheus of clusters must be that administrators add in the portal; default every
	// address but those of the portal's own machine and of its link (loopback, link-local, multicast)
	ClusterNetworks []string `json:"clusterNetworks,omitempty"`
	// groups with a role in every tenant, by role: admin, approver, auditor. "*" in a name stands for any characters
	Platform tenant.Roles `json:"platform,omitempty"`
	// tenants; those that administrators make or change in the portal are in the database, which wins entry by entry
	Tenants []tenant.Tenant `json:"tenants,omitempty"`
	// names that tenants' namespaces may have, "*" for any characters: ["gpu-*"]. The chart's admission policy refuses
	// others; default any
	TenantNamespaces []string `json:"tenantNamespaces,omitempty"`
	// groups of every tenant, by role: owner: ["gpu-{team}-owners"]
	TeamGroups tenant.Roles `json:"teamGroups,omitempty"`
	// repositories that owners, and members where owners allow it, may take images from:
	// ["registry.example.org/{team}/*"]; default none
	TeamImages []string `json:"teamImages,omitempty"`
	// a registry with copies, for a site without the Internet: images of workloads are pulled from it
	ImageMirror catalog.Mirror `json:"imageMirror,omitzero"`
	// page of an image scanner for one image, with {registry}, {repository}, {tag} and {digest}:
	// https://scans.example.org/{repository}@{digest}; pages about an image lead there; default none
	ImageScans catalog.ScanLink `json:"imageScans,omitempty"`
	// owners may give and take the role approver in their tenant, never their own; without it administrators alone may
	OwnersNameApprovers bool `json:"ownersNameApprovers,omitempty"`

	// YAML file of sizes and images, in force until administrators save a catalog in the portal; default a built-in one
	CatalogFile string `json:"catalogFile,omitempty"`
	// rules in CEL on what starts at once, what needs an approval and what is refused, in force until administrators save
	// rules in the portal; default the built-in ones
	Rules []policy.Rule `json:"rules,omitempty"`
	// seats of licensed software, such as NVIDIA vGPU; sizes name the pool that they take seats of
	LicensePools []license.Pool `json:"licensePools,omitempty"`
	// NVIDIA License System servers that say how many seats there are
	LicenseServers []nls.Config   `json:"licenseServers,omitempty"`
	Limits         request.Limits `json:"limits,omitempty"`
	// calls in a minute, by class: signIn, badToken, flow (one sign-in), call, preview, notice (test
	// notifications), embed (embedded panels)
	RateLimits limit.Rates `json:"rateLimits,omitempty"`
	Approvals  Approvals   `json:"approvals,omitempty"`
	Lease      Lease       `json:"lease,omitempty"`
	Storage    Storage     `json:"storage,omitempty"`
	// who offers and charges, in exports for finance; default GPU Portal
	Organization    string   `json:"organization,omitempty"`
	Notify          Notify   `json:"notify,omitempty"`
	Advice          Advice   `json:"advice,omitempty"`
	Idle            Idle     `json:"idle,omitempty"`
	Health          Health   `json:"health,omitempty"`
	Serving         Serving  `json:"serving,omitempty"`
	Help            Help     `json:"help,omitempty"`
	Schedule        Schedule `json:"schedule,omitempty"`
	Terminal        Terminal `json:"terminal,omitempty"`
	Tunnel          Tunnel   `json:"tunnel,omitempty"`
	Branding        Branding `json:"branding,omitempty"`
	Console         Console  `json:"console,omitzero"`
	LogStore        LogStore `json:"logStore,omitzero"` // of clusters that have none of their own
	Embed           Embed    `json:"embed,omitempty"`
	WorkloadSecrets Secrets  `json:"secrets,omitempty"`
	// currency of every price and statement, an ISO 4217 code. The catalog must agree; default EUR
	Currency string `json:"currency,omitempty"`
	// IANA zone by whose clocks months of statements begin and end, "Europe/Berlin"; default UTC
	TimeZone string `json:"timeZone,omitempty"`
	// how often license servers are asked, and what vGPUs say of their licenses is read. At least 1s, and a vendor's
	// service may limit calls; default 1m
	LicensePollInterval catalog.Duration `json:"licensePollInterval,omitempty"`
}

// OIDC is the sign-in provider (OpenID Connect). Redirect URI: <url>/signin/callback. Back-channel logout URI:
// <url>/signin/backchannel-logout.
type OIDC struct {
	Issuer           string `json:"issuer,omitempty"`           // issuer URL, as in the discovery document; needed
	ClientID         string `json:"clientID,omitempty"`         // name of this portal at the provider; default gpu-portal
	ClientSecret     string `json:"clientSecret,omitempty"`     // or clientSecretFile. Neither: a public client
	ClientSecretFile string `json:"clientSecretFile,omitempty"` // file with the client secret
	GroupsClaim      string `json:"groupsClaim,omitempty"`      // claim with the names of groups; default groups
	// scopes that are asked for; default openid, profile, email, and groups unless the provider lists scopes without it
	Scopes []string `json:"scopes,omitempty"`
	Name   string   `json:"name,omitempty"` // text on the sign-in button; default OpenID Connect
	// show and use addresses that the provider does not call verified (Entra, Cognito)
	AcceptUnverifiedEmail bool `json:"acceptUnverifiedEmail,omitempty"`
	// whether to ask for a refresh token with the scope offline_access: auto (where the provider lists it), always, never.
	// Groups of those who are signed in are read again with it. Keycloak gives one in any case; default auto
	OfflineAccess string `json:"offlineAccess,omitempty"`
	// whether to send prompt=consent with offline_access: auto (once a sign-in brought no refresh token without it),
	// always, never. Some providers ignore the scope otherwise (OpenID Connect Core, section 11); default auto
	Consent string `json:"consent,omitempty"`
	// how old groups may be before they are read again; default 10m
	Refresh catalog.Duration `json:"refresh,omitempty"`
	// how old groups may be while the provider does not answer; then nobody is let in; default 1h
	StaleGroupsTTL catalog.Duration `json:"staleGroupsTTL,omitempty"`
	// how much longer than the provider's token a session without a refresh token may last; default 0s
	MaxSessionWithoutRefresh catalog.Duration `json:"maxSessionWithoutRefresh,omitempty"`
}

// Session bounds sign-ins.
type Session struct {
	Idle     catalog.Duration `json:"idle,omitempty"`     // a session ends when unused for so long; default 12h
	Absolute catalog.Duration `json:"absolute,omitempty"` // a session ends after so long in any case; default 7d
	Most     int              `json:"most,omitempty"`     // sessions of a person; the longest unused end first; default 50
	Pages    int              `json:"pages,omitempty"`    // open pages of one person that update themselves; default 64
}

// Tokens bounds API tokens.
type Tokens struct {
	// longest life of a token, also of those that exist; default 90d
	MaxLifetime catalog.Duration `json:"maxLifetime,omitempty"`
	// how long ago the provider may have confirmed a token's owner, by a sign-in or a refresh. Older tokens are refused
	// until the owner signs in. At least oidc.refresh; default 1d
	MaxStandingAge catalog.Duration `json:"maxStandingAge,omitempty"`
	// how long before its end the owner of a token is told, once; default 7d
	ExpiryNotice catalog.Duration `json:"expiryNotice,omitempty"`
	// longest life of a key of a model endpoint, counted when it is made or rotated; default 90d
	MaxKeyLifetime catalog.Duration `json:"maxKeyLifetime,omitempty"`
}

// Limits are the bounds as identity knows them.
func (t Tokens) Limits() identity.TokenLimits {
	return identity.TokenLimits{Lifetime: t.MaxLifetime.Std(), StandingAge: t.MaxStandingAge.Std()}
}

func (t Tokens) withDefaults(refresh catalog.Duration) Tokens {
	const day = catalog.Duration(24 * time.Hour)
	t.MaxLifetime = cmp.Or(t.MaxLifetime, 90*day)
	t.MaxStandingAge = cmp.Or(t.MaxStandingAge, max(day, refresh))
	t.ExpiryNotice = cmp.Or(t.ExpiryNotice, 7*day)
	t.MaxKeyLifetime = cmp.Or(t.MaxKeyLifetime, 90*day)
	return t
}

func (t Tokens) problems(refresh catalog.Duration) []error {
	if t.MaxStandingAge < refresh {
		return []error{errors.New("tokens.maxStandingAge: must not be shorter than oidc.refresh")}
	}
	return nil
}

// Cluster is one Kubernetes or OpenShift cluster.
type Cluster struct {
	Name string `json:"name"` // DNS label, unique, at most 40 characters; needed
	// kubeconfig file; default the service account of the portal's own pod
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Context    string `json:"context,omitempty"` // context of the kubeconfig; default its current one
	// base URL of Prometheus, or of anything with its HTTP API; default none, and no GPU metrics
	Prometheus string `json:"prometheus,omitempty"`
	// file with a bearer token for Prometheus, read anew for each query; default none
	PrometheusTokenFile string   `json:"prometheusTokenFile,omitempty"`
	Metrics             Metrics  `json:"metrics,omitzero"`
	LogStore            LogStore `json:"logStore,omitzero"` // in place of the one for all clusters
	// how the gateway reaches pods: direct, socks5://HOST:PORT, apiserver (the API server's proxy, for images without auth
	// only: it drops the secret that servers such as Jupyter ask for); default direct
	PodAccess string `json:"podAccess,omitempty"`
	// an OpenShift cluster: pods run as the user that the namespace's range gives them
	OpenShift    bool   `json:"openShift,omitempty"`
	StorageClass string `json:"storageClass,omitempty"` // of workloads' volumes; default that of the cluster
	// VolumeSnapshotClass of snapshots of volumes, with access.snapshots; default that of the cluster
	SnapshotClass string `json:"snapshotClass,omitempty"`
	// classes that team owners may make shared volumes of; default none
	SharedStorage []workload.Class `json:"sharedStorage,omitempty"`
	// workloads may reach public addresses, never private ones; without it they reach DNS alone
	InternetEgress bool `json:"internetEgress,omitempty"`
	// namespace of the portal's gateway, from which NetworkPolicies let calls in; default gpu-portal
	GatewayNamespace string `json:"gatewayNamespace,omitempty"`
	Agents           Agents `json:"agents,omitzero"`
	// how the portal comes by its rights in tenants' namespaces; the chart sets it
	Access kube.Access `json:"access,omitzero"`
	// what carries the calls of programs to endpoints
	ModelGateway kube.ModelGateway `json:"modelGateway,omitzero"`
	KEDA         kube.KEDA         `json:"keda,omitzero"` // how KEDA reaches the portal, with access.keda
	Added        *Added            `json:"-"`             // nil: it is of the configuration
}

// Rights is Access with what the other settings of the cluster ask for.
func (k Cluster) Rights() kube.Access {
	a := k.Access
	kind := k.ModelGateway.Kind
	a.ModelGateway = a.ModelGateway || kind != ""
	a.Kuadrant = a.Kuadrant || kind == kube.GatewayKuadrant || kind == kube.GatewayEmbedded // which takes all back
	a.EnvoyAIGateway = a.EnvoyAIGateway || kind == kube.GatewayEnvoyAI || kind == kube.GatewayEmbedded
	return a
}

func (k *Cluster) defaults() {
	setDefault(&k.PodAccess, "direct")
	setDefault(&k.GatewayNamespace, "gpu-portal")
}

// Agents says where a cluster's node agents are. Whoever may create pods in the namespace can speak for the node that
// such a pod runs on.
type Agents struct {
	Namespace string `json:"namespace,omitempty"` // of the agents; default none, no agent is asked
	// labels of the agents' pods; default app.kubernetes.io/name=gpu-portal-agent
	Labels    map[string]string `json:"labels,omitempty"`
	Port      int               `json:"port,omitempty"`      // TCP port of the agents; default 9410
	TokenFile string            `json:"tokenFile,omitempty"` // file with the bearer token that they ask for; default none
}

// Roles of a process.
const (
	RoleWeb        = "web"
	RoleGateway    = "gateway"
	RoleController = "controller"
)

// Has reports whether this process plays the role.
func (c Config) Has(role string) bool { return slices.Contains(c.Roles, role) }

// Load reads a file ("" for none), applies PORTAL_* variables and defaults, and validates. All problems are in one
// error, one a line.
func Load(path string, env func(string) string, override func(*Config)) (Config, error) {
	c, problems, err := read(path, env, override)
	if err != nil {
		return c, err
	}
	return c, lines(append(problems, c.problems()...))
}

// LoadDatabase is Load for commands that need the database only: what is missing for serving is no problem, a file that
// cannot be read is one. Without that, a slip in the file would send the command to the default database.
func LoadDatabase(path string, env func(string) string, override func(*Config)) (Config, error) {
	c, problems, err := read(path, env, override)
	if err != nil {
		return c, err
	}
	return c, lines(append(problems, c.databaseProblems()...))
}

func read(path string, env func(string) string, override func(*Config)) (c Config, problems []error, err error) {
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return c, nil, fmt.Errorf("read the configuration: %w", err)
		}
		problems = decode(data, &c)
	}
	c.fromEnv(env)
	if override != nil {
		override(&c)
	}
	c.defaults()
	return c, problems, nil
}

// lines is all problems in one error, one a line; nil for none.
func lines(problems []error) error {
	for i, problem := range problems {
		problems[i] = oneLine(problem)
	}
	return errors.Join(problems...)
}

// oneLine keeps a problem that was told with line breaks, as those of rules are, apart from the next one.
func oneLine(err error) error {
	text := err.Error()
	if !strings.Contains(text, "\n") {
		return err
	}
	return errors.New(strings.Join(strings.Fields(text), " "))
}

// decode reads a file one setting at a time, so that a value that cannot be read does not hide the problems of the
// others.
func decode(data []byte, c *Config) []error {
	text, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return []error{fmt.Errorf("configuration: %w", err)}
	}
	var settings map[string]json.RawMessage
	if err := json.Unmarshal(text, &settings); err != nil {
		return []error{errors.New("configuration: the file must hold settings such as \"listen: 127.0.0.1:8080\"")}
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		one, err := json.Marshal(map[string]json.RawMessage{name: settings[name]})
		if err != nil {
			return append(problems, fmt.Errorf("configuration: %s: %w", name, err))
		}
		unknown, err := strictjson.UnmarshalStrict(one, c, strictjson.DisallowUnknownFields,
			strictjson.DisallowDuplicateFields)
		if err != nil {
			problems = append(problems, fmt.Errorf("configuration: %s: %w", name, err))
		}
		for _, e := range unknown {
			problems = append(problems, fmt.Errorf("configuration: %w", e))
		}
	}
	return problems
}

// fromEnv fills what a container platform hands over as variables; one cluster is the common case.
func (c *Config) fromEnv(env func(string) string) {
	for name, field := range map[string]*string{
		"PORTAL_LOG_LEVEL": &c.Log.Level, "PORTAL_LOG_FORMAT": &c.Log.Format,
		"PORTAL_LISTEN": &c.Listen, "PORTAL_METRICS_LISTEN": &c.MetricsListen,
		"OTEL_EXPORTER_OTLP_ENDPOINT": &c.TracesEndpoint, "PORTAL_URL": &c.URL, "PORTAL_APPS_DOMAIN": &c.AppsDomain,
		"PORTAL_DATABASE":        &c.Database,
		"PORTAL_SECRET_KEY_FILE": &c.SecretKeyFile, "PORTAL_OIDC_ISSUER": &c.OIDC.Issuer,
		"PORTAL_OIDC_CLIENT_ID":     &c.OIDC.ClientID,
		"PORTAL_OIDC_CLIENT_SECRET": &c.OIDC.ClientSecret, "PORTAL_OIDC_CLIENT_SECRET_FILE": &c.OIDC.ClientSecretFile,
	} {
		if v := env(name); v != "" {
			*field = v
		}
	}
	if v := env("PORTAL_ROLES"); v != "" {
		c.Roles = strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' })
	}
}

func (c *Config) defaults() {
	setDefault(&c.Listen, "127.0.0.1:8080")
	setDefault(&c.Log.Level, "info")
	setDefault(&c.Log.Format, logging.Text)
	setDefault(&c.AppsDomain, "localhost")
	setDefault(&c.Database, "sqlite:portal.db")
	setDefault(&c.Instance, "default")
	setDefault(&c.Organization, "GPU Portal")
	setDefault(&c.Currency, "EUR")
	setDefault(&c.OIDC.ClientID, "gpu-portal")
	setDefault(&c.OIDC.GroupsClaim, "groups")
	setDefault(&c.OIDC.Name, "OpenID Connect")
	if _, port, err := net.SplitHostPort(c.Listen); err == nil {
		setDefault(&c.URL, "http://localhost:"+port)
	}
	c.URL, c.AppsDomain = strings.TrimRight(c.URL, "/"), strings.ToLower(c.AppsDomain)
	c.ExternalAppsDomain = strings.ToLower(c.ExternalAppsDomain)
	if len(c.Roles) == 0 {
		c.Roles = []string{RoleWeb, RoleGateway, RoleController}
	}
	setDefault(&c.OIDC.OfflineAccess, "auto")
	setDefault(&c.OIDC.Consent, "auto")
	if c.OIDC.Refresh == 0 {
		c.OIDC.Refresh = catalog.Duration(10 * time.Minute)
	}
	if c.OIDC.StaleGroupsTTL == 0 {
		c.OIDC.StaleGroupsTTL = max(catalog.Duration(time.Hour), c.OIDC.Refresh)
	}
	c.Tokens = c.Tokens.withDefaults(c.OIDC.Refresh)
	if c.Embed.MaxLifetime == 0 {
		c.Embed.MaxLifetime = catalog.Duration(90 * 24 * time.Hour)
	}
	if c.Session.Idle == 0 {
		c.Session.Idle = catalog.Duration(12 * time.Hour)
	}
	if c.Session.Absolute == 0 {
		c.Session.Absolute = catalog.Duration(7 * 24 * time.Hour)
	}
	if c.Session.Most == 0 {
		c.Session.Most = 50
	}
	if c.Limits.MinLease == 0 {
		c.Limits.MinLease = request.DefaultLimits().MinLease
	}
	if c.Limits.MaxStorageGiB == 0 {
		c.Limits.MaxStorageGiB = request.DefaultLimits().MaxStorageGiB
	}
	if c.Limits.MaxReplicas == 0 {
		c.Limits.MaxReplicas = request.DefaultLimits().MaxReplicas
	}
	if c.Storage.Grace == 0 {
		c.Storage.Grace = catalog.Duration(7 * 24 * time.Hour)
	}
	if c.Rules == nil {
		c.Rules = policy.Defaults()
	}
	for i := range c.Clusters {
		c.Clusters[i].defaults()
	}
	c.Console = c.Console.withDefaults(c.Clusters)
	c.Terminal = c.Terminal.withDefaults()
	c.Tunnel = c.Tunnel.withDefaults()
}

func setDefault(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// problems lists everything that would keep the portal from working as meant.
func (c Config) problems() []error {
	_, rules := policy.Compile(c.Rules)
	return slices.Concat(c.addressProblems(), c.listenProblems(), c.Log.problems(), c.Embed.problems(),
		c.WorkloadSecrets.problems(), c.databaseProblems(), c.processProblems(), c.OIDC.problems(),
		c.Tokens.problems(c.OIDC.Refresh), c.sessionProblems(), c.limitProblems(), c.placeProblems(), c.Approvals.problems(),
		c.Advice.problems(), c.Idle.problems(), c.Health.problems(), c.Serving.problems(), c.Help.problems(),
		c.Schedule.problems(c.TimeZone), c.Terminal.problems(), c.Tunnel.problems(), c.LogStore.problems(),
		c.Branding.problems(), c.networkProblems(), c.Console.problems(c.Listen, c.Clusters),
		warningProblems("lease.warnings", c.Lease.Warnings), c.Storage.problems(), c.secretProblems(), c.Notify.problems(),
		c.clusterProblems(), c.poolProblems(), c.peopleProblems(), c.imageProblems(), c.tenantProblems(), rules)
}

// listenProblems are those of the addresses at which the portal answers, or sends its traces to.
func (c Config) listenProblems() (all []error) {
	add := func(format string, args ...any) { all = append(all, fmt.Errorf(format, args...)) }
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		add("listen: %q is not host:port", c.Listen)
	}
	if u, err := url.Parse(c.TracesEndpoint); c.TracesEndpoint != "" &&
		(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		add("tracesEndpoint: %q is not an address such as http://collector:4318", c.TracesEndpoint)
	}
	if c.MetricsListen != "" {
		switch _, port, err := net.SplitHostPort(c.MetricsListen); {
		case err != nil:
			add("metricsListen: %q is not host:port", c.MetricsListen)
		case port != "0" && strings.HasSuffix(c.Listen, ":"+port):
			add("metricsListen: %s is the port of listen: metrics are for Prometheus and not for everybody", port)
		}
	}
	return all
}

// processProblems are those of what this process does and whom it believes.
func (c Config) processProblems() (all []error) {
	for _, r := range c.Roles {
		if r != RoleWeb && r != RoleGateway && r != RoleController {
			all = append(all, fmt.Errorf("roles: unknown role %q: web, gateway, controller", r))
		}
	}
	for _, cidr := range c.TrustedProxies {
		if _, _, err := net.ParseCIDR(cidr); err != nil {
			all = append(all, fmt.Errorf("trustedProxies: %q is not a network such as 10.0.0.0/8", cidr))
		}
	}
	return all
}

// sessionProblems are those of the sessions of people, and of the key that seals them.
func (c Config) sessionProblems() (all []error) {
	if c.SecretKeyFile == "" && !strings.HasPrefix(c.Database, "sqlite:") {
		all = append(all, errors.New("secretKeyFile: needed with PostgreSQL, the same file for every replica; make one "+
			"with: openssl rand -hex 32"))
	}
	if c.Session.Idle < 0 || c.Session.Absolute < 0 {
		all = append(all, errors.New("session: idle and absolute must be longer than nothing"))
	}
	if c.Session.Most < 0 || c.Session.Pages < 0 {
		all = append(all, errors.New("session: most and pages must not be below zero"))
	}
	return all
}

// limitProblems are those of what people may ask for, how often and how much.
func (c Config) limitProblems() (all []error) {
	for _, class := range slices.Sorted(maps.Keys(c.RateLimits)) {
		if _, known := limit.Defaults()[class]; !known {
			all = append(all, fmt.Errorf("rateLimits: unknown class %q: %s", class, strings.Join(limit.Names(), ", ")))
		}
		if c.RateLimits[class].Burst < 0 {
			all = append(all, fmt.Errorf("rateLimits.%s: burst must not be below zero", class))
		}
	}
	if c.Limits.MinLease < 0 || c.Limits.MaxStorageGiB < 0 {
		all = append(all, errors.New("limits: minLease and maxStorageGiB must not be below zero"))
	}
	return all
}

// placeProblems are those of money and time as the site counts them.
func (c Config) placeProblems() (all []error) {
	if unit, err := currency.ParseISO(c.Currency); err != nil || unit.String() != c.Currency {
		all = append(all, fmt.Errorf("currency: %q is not an ISO 4217 currency such as EUR", c.Currency))
	}
	if _, err := time.LoadLocation(c.TimeZone); err != nil {
		all = append(all, fmt.Errorf("timeZone: %q is no time zone such as Europe/Berlin", c.TimeZone))
	}
	return all
}

func (s Storage) problems() []error {
	all := warningProblems("storage.warnings", s.Warnings)
	if s.Retention < 0 {
		all = append(all, errors.New("storage.retention: must not be below zero"))
	}
	if s.Grace < 0 {
		all = append(all, errors.New("storage.grace: must not be below zero"))
	}
	return all
}

// peopleProblems are those of the groups that give rights.
func (c Config) peopleProblems() []error {
	all := groupProblems("platform", c.Platform, identity.Approver, identity.Admin, identity.Auditor)
	all = append(all, groupProblems("teamGroups", c.TeamGroups, tenant.MemberRoles...)...)
	for _, role := range slices.Sorted(maps.Keys(c.TeamGroups)) {
		for _, rule := range c.TeamGroups[role] {
			if err := tenant.NamedProblem(rule); err != nil && rule != "" {
				all = append(all, fmt.Errorf("teamGroups.%s: %w", role, err))
			}
		}
	}
	return all
}

// imageProblems are those of where images come from and who looks through them.
func (c Config) imageProblems() (all []error) {
	for _, pattern := range c.TeamImages {
		if err := tenant.ImagesFromProblem(pattern); err != nil {
			all = append(all, fmt.Errorf("teamImages: %w", err))
		}
	}
	if err := c.ImageMirror.Problem(); err != nil {
		all = append(all, fmt.Errorf("imageMirror.%w", err))
	}
	if err := c.ImageScans.Problem(); err != nil {
		all = append(all, fmt.Errorf("imageScans: %w", err))
	}
	return all
}

func (o OIDC) problems() []error {
	var all []error
	if o.Issuer == "" {
		all = append(all, errors.New("oidc.issuer: the address of the sign-in provider is missing (file, "+
			"PORTAL_OIDC_ISSUER or --oidc-issuer)"))
	}
	return append(all, o.renewalProblems()...)
}

func (o OIDC) renewalProblems() []error {
	var all []error
	for _, choice := range []struct{ name, value string }{{"offlineAccess", o.OfflineAccess}, {"consent", o.Consent}} {
		if !slices.Contains([]string{"auto", "always", "never"}, choice.value) {
			all = append(all, fmt.Errorf("oidc.%s: %q is none of auto, always, never", choice.name, choice.value))
		}
	}
	if o.StaleGroupsTTL < o.Refresh {
		all = append(all, errors.New("oidc.staleGroupsTTL: must not be shorter than oidc.refresh"))
	}
	return all
}

// secretProblems looks at the client secret now: a file that cannot be read would otherwise become a client without a
// secret.
func (c Config) secretProblems() []error {
	if c.OIDC.ClientSecretFile == "" {
		return nil
	}
	if c.OIDC.ClientSecret != "" {
		return []error{errors.New("oidc.clientSecret and oidc.clientSecretFile: only one of them can be meant")}
	}
	text, err := os.ReadFile(c.OIDC.ClientSecretFile)
	switch {
	case err != nil:
		return []error{fmt.Errorf("oidc.clientSecretFile: %w", err)}
	case strings.TrimSpace(string(text)) == "":
		return []error{fmt.Errorf("oidc.clientSecretFile: %s is empty", c.OIDC.ClientSecretFile)}
	}
	return nil
}

func (c Config) databaseProblems() []error {
	for _, prefix := range []string{"sqlite:", "postgres://", "postgresql://"} {
		if strings.HasPrefix(c.Database, prefix) {
			return nil
		}
	}
	return []error{errors.New("database: want sqlite:PATH or postgres://…")}
}

func (c Config) poolProblems() []error {
	var all []error
	seen := map[string]bool{}
	for i, p := range c.LicensePools {
		switch {
		case p.Name == "":
			all = append(all, fmt.Errorf("licensePools[%d].name: it is missing", i))
		case seen[p.Name]:
			all = append(all, fmt.Errorf("licensePools[%d].name: %q is used twice", i, p.Name))
		}
		if p.Seats < 0 {
			all = append(all, fmt.Errorf("licensePools[%d].seats: %d is below zero", i, p.Seats))
		}
		seen[p.Name] = true
		if p.Product != "" && !slices.Contains(license.Products(), p.Product) {
			all = append(all, fmt.Errorf("licensePools[%d].product: %q is none of %v", i, p.Product, license.Products()))
		}
		if p.OnExhaustion != "" && !slices.Contains(license.ExhaustionPolicies(), p.OnExhaustion) {
			all = append(all, fmt.Errorf("licensePools[%d].onExhaustion: %q is none of %v", i, p.OnExhaustion,
				license.ExhaustionPolicies()))
		}
		for _, err := range license.CheckRules(p.Rules) {
			all = append(all, fmt.Errorf("licensePools[%d].%w", i, err))
		}
		for j, series := range p.Series {
			if !slices.Contains(license.AllSeries(), series) {
				all = append(all, fmt.Errorf("licensePools[%d].series[%d]: %q is none of %v", i, j, series, license.AllSeries()))
			}
		}
		if p.Server != "" && !slices.ContainsFunc(c.LicenseServers, func(s nls.Config) bool { return s.Name == p.Server }) {
			all = append(all, fmt.Errorf("licensePools[%d].server: there is no license server %q", i, p.Server))
		}
	}
	if every := c.LicensePollInterval.Std(); every != 0 && every < time.Second {
		all = append(all, fmt.Errorf("licensePollInterval: %s is less than a second", every))
	}
	servers := map[string]bool{}
	for i, s := range c.LicenseServers {
		for _, err := range s.Check() {
			all = append(all, fmt.Errorf("licenseServers[%d].%w", i, err))
		}
		if servers[s.Name] {
			all = append(all, fmt.Errorf("licenseServers[%d].name: %q is used twice", i, s.Name))
		}
		servers[s.Name] = true
	}
	return all
}

// groupProblems finds misspelt roles, which would give their groups nothing, and empty group names.
func groupProblems(place string, groups map[identity.Role][]string, known ...identity.Role) []error {
	var all []error
	for _, role := range slices.Sorted(maps.Keys(groups)) {
		if !slices.Contains(known, role) {
			all = append(all, fmt.Errorf("%s.%s: unknown role: %s", place, role, strings.Trim(fmt.Sprint(known), "[]")))
		}
		if slices.Contains(groups[role], "") {
			all = append(all, fmt.Errorf("%s.%s: a group has no name", place, role))
		}
	}
	return all
}

func (c Config) clusterProblems() []error {
	var all []error
	if len(c.Clusters) == 0 {
		all = append(all, errors.New("clusters: at least one is needed (file or --kubeconfig)"))
	}
	seen := map[string]bool{}
	for i, k := range c.Clusters {
		switch {
		case !tenant.Label(k.Name, 40):
			all = append(all, fmt.Errorf("clusters[%d].name: %q is not a DNS label", i, k.Name))
		case seen[k.Name]:
			all = append(all, fmt.Errorf("clusters[%d].name: %q is used twice", i, k.Name))
		}
		seen[k.Name] = true
		if k.PodAccess != "direct" && k.PodAccess != "apiserver" && !strings.HasPrefix(k.PodAccess, "socks5://") {
			all = append(all, fmt.Errorf("clusters[%d].podAccess: %q is none of direct, apiserver, socks5://host:port", i,
				k.PodAccess))
		}
		if err := k.Access.Check(); err != nil {
			all = append(all, fmt.Errorf("clusters[%d].access.%w", i, err))
		}
		if err := k.ModelGateway.Check(); err != nil {
			all = append(all, fmt.Errorf("clusters[%d].modelGateway.%w", i, err))
		}
		if err := k.KEDA.Check(); err != nil {
			all = append(all, fmt.Errorf("clusters[%d].keda.%w", i, err))
		}
		if k.ModelGateway.Outside && c.ExternalAppsDomain == "" {
			all = append(all, fmt.Errorf("clusters[%d].modelGateway.outside: nothing can be opened to outside without "+
				"externalAppsDomain, so no key would open anything", i))
		}
		if k.Agents.Port < 0 || k.Agents.Port > 65535 {
			all = append(all, fmt.Errorf("clusters[%d].agents.port: %d is no port", i, k.Agents.Port))
		}
		for j, class := range k.SharedStorage {
			if class.Name == "" || class.Access != workload.ManyNodes && class.Access != workload.OneNode {
				all = append(all, fmt.Errorf("clusters[%d].sharedStorage[%d]: a name and an access are needed, ReadWriteMany or "+
					"ReadWriteOnce", i, j))
			}
			if class.VolumeGiB < 0 || class.TeamGiB < 0 {
				all = append(all, fmt.Errorf("clusters[%d].sharedStorage[%d]: volumeGiB and teamGiB must not be below zero", i, j))
			}
		}
		for _, err := range slices.Concat(k.metricsProblems(), k.LogStore.problems()) {
			all = append(all, fmt.Errorf("clusters[%d].%w", i, err))
		}
	}
	return all
}

// namespaceProblems are for those who read the start's log.
var namespaceProblems = map[string]string{
	"tenant.namespace_wrong":   "cannot be a team's namespace",
	"tenant.namespace_own":     "is the portal's own namespace, or that of its node agents",
	"tenant.namespace_pattern": "matches none of tenantNamespaces",
}

// NamespaceRule says which namespaces can be tenants'.
func (c Config) NamespaceRule() tenant.NamespaceRule {
	r := tenant.NamespaceRule{Names: c.TenantNamespaces}
	for _, k := range c.Clusters {
		for _, own := range []string{k.GatewayNamespace, k.Agents.Namespace, k.Access.Namespace(),
			k.ModelGateway.Gateway.Namespace, k.ModelGateway.PodNamespace} {
			if own != "" && !slices.Contains(r.Own, own) {
				r.Own = append(r.Own, own)
			}
		}
	}
	return r
}

func (c Config) tenantProblems() []error {
	var all []error
	seen, spaces, rule := map[string]bool{}, map[string]string{}, c.NamespaceRule()
	for i, t := range c.Tenants {
		space := t.NamespaceName()
		switch {
		case !tenant.Label(t.Name, 50):
			all = append(all, fmt.Errorf("tenants[%d].name: %q is not a DNS label of at most 50 characters", i, t.Name))
		case seen[t.Name]:
			all = append(all, fmt.Errorf("tenants[%d].name: %q is used twice", i, t.Name))
		case !rule.Problem(space).IsZero():
			all = append(all, fmt.Errorf("tenants[%d].namespace: %q %s", i, space, namespaceProblems[rule.Problem(space).ID]))
		case spaces[space] != "":
			all = append(all, fmt.Errorf("tenants[%d].namespace: %q belongs to tenant %s already", i, space, spaces[space]))
		}
		for _, size := range slices.Sorted(maps.Keys(t.Quota)) {
			if n := t.Quota[size]; n < 0 {
				all = append(all, fmt.Errorf("tenants[%d].quota.%s: %d is below zero", i, size, n))
			}
		}
		all = append(all, groupProblems(fmt.Sprintf("tenants[%d].groups", i), t.Groups, identity.Developer, identity.Owner,
			identity.Approver)...)
		seen[t.Name], spaces[space] = true, t.Name
	}
	return all
}

package doctor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// well is a site where nothing is wrong.
func well() Facts {
	host := func(name string) Host {
		return Host{Name: name, Addresses: []string{"192.0.2.1"}, Names: []string{name}, Fits: true, Trusted: true,
			Until: noon.AddDate(0, 3, 0)}
	}
	return Facts{At: noon, Process: Process{Name: "web-1", Version: "1", Roles: []string{"web"}},
		Database: Database{Engine: "PostgreSQL", Version: "15.4 (Debian)", Have: 1, Want: 1, Encoding: "UTF8", Most: 100},
		Provider: Provider{Issuer: "https://login.example.org", Says: "https://login.example.org",
			Methods: []string{"S256"}, Scopes: []string{"openid", "profile", "email"}, Claims: []string{"groups"},
			Group: "groups"},
		Portal: host("gpu.example.org"), Apps: host("*.apps.example.net"),
		Clusters: []Cluster{{Name: "main", Version: "v1.33.2",
			Rights:   []RightsOf{{Role: "cluster", Asked: 9}, {Role: "logs", Optional: true, Asked: 3}},
			APIs:     map[string]string{"resource.k8s.io": "v1"},
			Nodes:    Nodes{Asked: true, All: 3, WithGPU: 1, Resources: map[string]int64{"nvidia.com/gpu": 4}},
			Storage:  Storage{Asked: true, Wanted: []string{"standard"}},
			Metrics:  Metrics{Set: true, Cards: 4, Views: []View{{Name: "work", State: "whole"}}},
			LogStore: LogStore{Name: "Loki"}}},
		Licenses:   []License{{Name: "cls", Features: 2}},
		Registries: []Registry{{Name: "docker.io"}}}
}

func TestAWellSiteHasNoFinding(t *testing.T) {
	list := Judge(well())
	for _, f := range list {
		if f.State == Warning || f.State == Failed {
			t.Errorf("%s is %s: %v", f.Check, f.State, f.Found)
		}
		if !slices.Contains(Checks(), f.Check) {
			t.Errorf("%s is not among the checks", f.Check)
		}
	}
	if Worst(list) != OK {
		t.Errorf("the worst is %s", Worst(list))
	}
}

func TestEachTroubleIsFound(t *testing.T) {
	type want struct {
		check string
		state State
		found string
	}
	for sentence, c := range map[string]struct {
		change func(f *Facts)
		want
	}{
		"wrong settings": {func(f *Facts) { f.Settings.Problems = []string{"listen: x"} },
			want{"settings", Failed, "doctor.settings_wrong"}},
		"snapshots are not there": {func(f *Facts) { f.Clusters[0].Snapshots = true },
			want{"api.snapshots", Failed, "doctor.snapshots_absent"}},
		"JobSet is not there": {func(f *Facts) { f.Clusters[0].JobSet = true },
			want{"api.jobset", Failed, "doctor.jobset_absent"}},
		"LeaderWorkerSet is not there": {func(f *Facts) { f.Clusters[0].LeaderWorkerSet = true },
			want{"api.leaderworkerset", Failed, "doctor.leaderworkerset_absent"}},
		"KEDA is not there": {func(f *Facts) { f.Clusters[0].KEDA = true },
			want{"api.keda", Failed, "doctor.keda_absent"}},
		"KServe is not there": {func(f *Facts) { f.Clusters[0].KServe = true },
			want{"api.kserve", Failed, "doctor.kserve_absent"}},
		"the Gateway API is not there": {func(f *Facts) { f.Clusters[0].ModelGateway = true },
			want{"api.gateway", Failed, "doctor.model_gateway_absent"}},
		"the Inference Extension is not there": {func(f *Facts) { f.Clusters[0].ModelGateway = true },
			want{"api.inference", Failed, "doctor.model_gateway_absent"}},
		"Kuadrant is not there": {func(f *Facts) { f.Clusters[0].Kuadrant = true },
			want{"api.kuadrant", Failed, "doctor.kuadrant_absent"}},
		"Envoy AI Gateway is not there": {func(f *Facts) { f.Clusters[0].EnvoyAIGateway = true },
			want{"api.envoyaigateway", Failed, "doctor.envoyaigateway_absent"}},
		"doubtful settings": {func(f *Facts) { f.Settings.Warnings = []string{"x"} },
			want{"settings", Warning, "doctor.settings_doubt"}},
		"the database is away": {func(f *Facts) { f.Database.Err = "refused" }, want{"database", Failed,
			"doctor.no_answer"}},
		"the server is too old": {func(f *Facts) { f.Database.Version = "12.9" }, want{"database", Failed, "literal"}},
		"the schema is old":     {func(f *Facts) { f.Database.Want = 2 }, want{"schema", Warning, "doctor.schema_old"}},
		"the schema is newer":   {func(f *Facts) { f.Database.Have = 2 }, want{"schema", Failed, "doctor.schema_new"}},
		"a standby": {func(f *Facts) { f.Database.ReadOnly = true }, want{"server", Failed,
			"doctor.server_read_only"}},
		"a crash would lose": {func(f *Facts) { f.Database.Unsafe = []string{"fsync = off"} },
			want{"server", Warning, "doctor.server_unsafe"}},
		"another encoding": {func(f *Facts) { f.Database.Encoding = "LATIN1" },
			want{"server", Failed, "doctor.server_encoding"}},
		"few connections": {func(f *Facts) { f.Database.Most = 20 }, want{"server", Warning, "doctor.server_connections"}},
		"clocks apart": {func(f *Facts) { f.Database.Skew = -16 * time.Second },
			want{"clock.database", Warning, "doctor.clock"}},
		"nobody signs in": {func(f *Facts) { f.Provider.Err = "404" }, want{"signin", Failed, "doctor.no_answer"}},
		"another issuer":  {func(f *Facts) { f.Provider.Says += "/" }, want{"signin", Failed, "doctor.issuer"}},
		"no PKCE":         {func(f *Facts) { f.Provider.Methods = []string{"plain"} }, want{"pkce", Warning, "doctor.pkce"}},
		"a scope is not known": {func(f *Facts) { f.Provider.Asked = []string{"openid", "roles"} },
			want{"scopes", Warning, "doctor.scopes"}},
		"no groups": {func(f *Facts) { f.Provider.Claims = []string{"sub"} }, want{"groups", Warning,
			"doctor.groups"}},
		"no administrators": {func(f *Facts) { f.Provider.NoAdmins = true }, want{"admins", Warning, "doctor.admins"}},
		"no name":           {func(f *Facts) { f.Apps.DNSErr = "no such host" }, want{"address.apps", Failed, "doctor.dns"}},
		"no certificate":    {func(f *Facts) { f.Portal.TLSErr = "refused" }, want{"address.portal", Warning, "doctor.tls"}},
		"another name's certificate": {func(f *Facts) { f.Apps.Fits = false },
			want{"address.apps", Failed, "doctor.cert_names"}},
		"a certificate that is over": {func(f *Facts) { f.Apps.Until = noon.Add(-time.Hour) },
			want{"address.apps", Failed, "doctor.cert_over"}},
		"a certificate that ends soon": {func(f *Facts) { f.Apps.Until = noon.AddDate(0, 0, 20) },
			want{"address.apps", Warning, "doctor.cert_soon"}},
		"an unknown authority": {func(f *Facts) { f.Portal.Trusted = false },
			want{"address.portal", Warning, "doctor.cert_untrusted"}},
		"the cluster is away": {func(f *Facts) { f.Clusters[0].Err = "refused" }, want{"cluster", Failed,
			"doctor.no_answer"}},
		"an old cluster": {func(f *Facts) { f.Clusters[0].Version = "v1.29.4" }, want{"cluster", Warning, "literal"}},
		"a needed right": {func(f *Facts) { f.Clusters[0].Rights[0].Missing = []string{"list nodes"} },
			want{"rights.cluster", Failed, "doctor.rights_missing"}},
		"an optional right": {func(f *Facts) { f.Clusters[0].Rights[1].Missing = []string{"get pods/log"} },
			want{"rights.logs", Warning, "doctor.rights_missing"}},
		"no GPU": {func(f *Facts) { f.Clusters[0].Nodes.WithGPU = 0 }, want{"nodes", Failed, "doctor.nodes_none"}},
		"a GPU that nothing offers": {func(f *Facts) { f.Clusters[0].Nodes.Unplugged = []string{"gpu-2"} },
			want{"nodes", Warning, "doctor.nodes_unplugged"}},
		"no storage class": {func(f *Facts) { f.Clusters[0].Storage.Missing = []string{"fast"} },
			want{"storage", Failed, "doctor.storage_missing"}},
		"no default class": {func(f *Facts) { f.Clusters[0].Storage.Wanted = nil },
			want{"storage", Warning, "doctor.storage_none"}},
		"no Prometheus": {func(f *Facts) { f.Clusters[0].Metrics = Metrics{} },
			want{"prometheus", Warning, "doctor.prometheus_none"}},
		"Prometheus is away": {func(f *Facts) { f.Clusters[0].Metrics.Err = "refused" },
			want{"prometheus", Warning, "doctor.no_answer"}},
		"the log store refuses": {func(f *Facts) { f.Clusters[0].LogStore = LogStore{Name: "Loki", Err: "401"} },
			want{"logstore", Warning, "doctor.no_answer"}},
		"a view without data": {func(f *Facts) { f.Clusters[0].Metrics.Views[0].State = "nothing" },
			want{"series", Warning, "doctor.series_nothing"}},
		"the license server is away": {func(f *Facts) { f.Licenses[0].Err = "401" },
			want{"licenses", Warning, "doctor.no_answer"}},
		"a registry is away": {func(f *Facts) { f.Registries[0].Err = "refused" },
			want{"images", Warning, "doctor.no_answer"}},
	} {
		f := well()
		c.change(&f)
		var bad []Finding
		for _, one := range Judge(f) {
			if one.State == Warning || one.State == Failed {
				bad = append(bad, one)
			}
		}
		found := slices.IndexFunc(bad, func(one Finding) bool { return one.Check == c.check })
		if found < 0 {
			t.Errorf("%s: want %s, got %+v", sentence, c.check, bad)
			continue
		}
		one := bad[found]
		if one.State != c.state || one.Found.ID != c.found {
			t.Errorf("%s: want %s %s, got %s %s", sentence, c.state, c.found, one.State, one.Found.ID)
		}
		if one.Mend.IsZero() || one.Cost.IsZero() {
			t.Errorf("%s: it is not said what it costs, or how to mend it", sentence)
		}
	}
}

// TestACertificateThatHoldsSaysFromWhenItCosts: nothing is refused before that day.
func TestACertificateThatHoldsSaysFromWhenItCosts(t *testing.T) {
	f := well()
	f.Apps.Until = noon.AddDate(0, 0, 20)
	list := Judge(f)
	one := list[slices.IndexFunc(list, func(one Finding) bool { return one.Check == "address.apps" })]
	if one.Cost.ID != "doctor.apps_cost_after" {
		t.Errorf("want what follows after that day, got %s", one.Cost.ID)
	}
}

// TestProcessesMakeOneList: the pages' process may not list nodes, the controller's does.
func TestProcessesMakeOneList(t *testing.T) {
	web, controller := well(), well()
	web.Clusters[0].Nodes, web.Clusters[0].Rights = Nodes{}, []RightsOf{{Role: "logs", Optional: true, Asked: 3,
		Missing: []string{"get pods/log"}}}
	controller.Process.Name, controller.Provider = "controller-1", Provider{}
	controller.Clusters[0].Metrics.Err = "refused"
	web.Clusters[0].Metrics.Err = "refused"
	got := map[string]Finding{}
	for _, f := range Merge([]Facts{web, controller}) {
		if was, twice := got[f.Check]; twice {
			t.Errorf("%s is there twice: %s and %s", f.Check, was.State, f.State)
		}
		got[f.Check] = f
	}
	for check, want := range map[string]struct {
		state   State
		process string
	}{"nodes": {OK, ""}, "signin": {OK, ""}, "rights.logs": {Warning, "web-1"}, "prometheus": {Warning, ""},
		"rights.cluster": {OK, ""}} {
		if f := got[check]; f.State != want.state || f.Process != want.process {
			t.Errorf("%s: want %s of %q, got %s of %q", check, want.state, want.process, f.State, f.Process)
		}
	}
}

func TestTheTextIsAlignedAndSaysHowToMend(t *testing.T) {
	f := well()
	f.Clusters[0].Rights[1].Missing = []string{"get pods/log\nFAILED forged"}
	var out strings.Builder
	if err := Write(&out, i18n.MustLoad().For("en"), Judge(f)); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"WARNING  Logs and events access (main)", "get pods/log FAILED forged\n",
		"Fix: Set rbac.logs in the chart.", "Failed: 0 · Warnings: 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	columns := map[int]bool{}
	for _, line := range strings.Split(text, "\n") {
		for _, found := range []string{"Valid", "Version 1", "2 products"} {
			if at := strings.Index(line, found); at > 0 {
				columns[at] = true
			}
		}
	}
	if len(columns) != 1 {
		t.Errorf("want one column, got %v in\n%s", columns, text)
	}
}

package example_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/app"
	"github.com/gpu-portal/gpu-portal/internal/app/example"
	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidctest"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestExampleData: a month that goes through the services, the same each time, whose record holds, with something for
// each page to show and nothing left to run.
func TestExampleData(t *testing.T) {
	if testing.Short() {
		t.Skip("a month through the services of a whole portal: make test runs it")
	}
	t.Parallel()
	provider := oidctest.Start(t, oidctest.Options{})
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	seed := func() string {
		dir := t.TempDir()
		c, err := config.Load("", func(string) string { return "" }, func(defaults *config.Config) {
			*defaults = settings(t, dir, provider)
		})
		if err != nil {
			t.Fatal(err)
		}
		log := slog.New(slog.DiscardHandler)
		if err := example.Seed(t.Context(), c, log, now); err != nil {
			t.Fatal(err)
		}
		if err := example.Seed(t.Context(), c, log, now); !errors.Is(err, example.ErrNotEmpty) {
			t.Errorf("a second time: want it refused, got %v", err)
		}
		st, err := app.OpenStore(t.Context(), config.Config{Database: "sqlite:" + filepath.Join(dir, "portal.db")})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = st.Close() }()
		var dump bytes.Buffer
		if _, err := audit.ExportRecords(t.Context(), st, &dump); err != nil {
			t.Fatal(err)
		}
		chain, err := audit.Verify(bytes.NewReader(dump.Bytes()))
		if err != nil || chain.Count < 100 {
			t.Fatalf("want a month of events whose links hold, got %d, %v", chain.Count, err)
		}
		for _, kind := range []audit.Kind{audit.RequestSubmitted, audit.RequestApproved, audit.RequestRejected,
			audit.RequestWithdrawn, audit.RequestExpired, audit.RequestRefused, audit.WorkloadStopped, audit.BudgetSet,
			audit.PriceAdded, audit.TenantSaved, audit.WorkloadCreated, audit.WorkloadDeleted} {
			if !strings.Contains(dump.String(), fmt.Sprintf("%q", kind)) {
				t.Errorf("nothing of %s", kind)
			}
		}
		living, err := st.Living(t.Context())
		if err != nil || len(living) != 0 {
			t.Errorf("want nothing that runs, got %d, %v", len(living), err)
		}
		ended, _, err := st.Workloads(t.Context(), workload.Filter{Ended: true, Limit: 500})
		if err != nil || len(ended) == 0 {
			t.Fatalf("%d workloads, %v", len(ended), err)
		}
		ids := make([]workload.ID, len(ended))
		for i, item := range ended {
			ids[i] = item.ID
		}
		intervals, err := st.Intervals(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		var cost int64
		for _, item := range ended {
			for _, i := range intervals[item.ID] {
				if i.Until.IsZero() || i.Until.After(now) || !i.UnknownUntil.IsZero() && i.UnknownUntil.Sub(i.Until) > time.Minute {
					t.Errorf("%s: %+v", item.ID, i)
				}
			}
			cost += usage.Cost(intervals[item.ID], now).Minor
		}
		if cost == 0 {
			t.Error("nothing costs anything")
		}
		waiting, _, err := st.Requests(t.Context(), request.Filter{States: []request.State{request.Pending}, Limit: 100})
		if err != nil || len(waiting) == 0 {
			t.Errorf("want something in the inbox, got %d, %v", len(waiting), err)
		}
		teams := map[string]bool{}
		for _, item := range ended {
			teams[item.Tenant] = true
			if !strings.HasSuffix(item.OwnerName, "example)") {
				t.Errorf("%s of %s does not say that it is an example", item.ID, item.OwnerName)
			}
		}
		if len(teams) != 3 {
			t.Errorf("want three teams, got %v", teams)
		}
		months := &usage.Service{Store: st, Zone: time.UTC, Now: func() time.Time { return now }}
		statement, err := months.Statement(t.Context(), identity.Actor{Person: identity.Person{ID: "p-audit"},
			Global: []identity.Role{identity.Auditor}}, usage.All, months.Month())
		if err != nil || len(statement.Lines) == 0 {
			t.Errorf("want a statement with lines, got %d, %v", len(statement.Lines), err)
		}
		return fmt.Sprint(chain.Head, len(ended), cost, exampleEngines(t, months, cost))
	}
	if a, b := seed(), seed(); a != b {
		t.Errorf("two months differ: %s and %s", a, b)
	}
}

// settings are those of a site with three teams and a cluster that nobody reaches.
func settings(t *testing.T, dir string, provider *oidctest.Provider) config.Config {
	t.Helper()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(nowhere), 0o600); err != nil {
		t.Fatal(err)
	}
	quota := map[string]int{"cpu": 1000, "mig-1g.10gb": 7, "vgpu-12q": 100, "h100": 1000}
	developers := func(group string) map[identity.Role][]string {
		return map[identity.Role][]string{identity.Developer: {group}}
	}
	return config.Config{Listen: "127.0.0.1:0", URL: "http://localhost:8080",
		Database: "sqlite:" + filepath.Join(dir, "portal.db"),
		OIDC: config.OIDC{Issuer: provider.Issuer(), ClientID: provider.ClientID(),
			ClientSecret: provider.ClientSecret()},
		Clusters: []config.Cluster{{Name: "main", Kubeconfig: kubeconfig, Prometheus: "http://127.0.0.1:1"}},
		Platform: tenant.Roles{identity.Approver: {"approvers"}, identity.Admin: {"admins"}, identity.Auditor: {"auditors"}},
		Tenants: []tenant.Tenant{{Name: "vision", Title: "Vision", Quota: quota, Groups: developers("vision-devs")},
			{Name: "speech", Quota: quota, Groups: developers("speech-devs")},
			{Name: "closed", Quota: quota, Disabled: true, Groups: developers("closed-devs")}},
		LicensePools: []license.Pool{{Name: "nvidia-vws", Title: "NVIDIA vWS", Feature: "NVIDIA RTX Virtual Workstation",
			Seats: 5}}}
}

const nowhere = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: t}}]
current-context: c
`

// exampleEngines looks at how busy the example's GPUs were, month by month: some well used, some idle, some of the time
// unknown, and none of it changes what the ledger says.
func exampleEngines(t *testing.T, months *usage.Service, ledger int64) (uses []usage.EngineUse) {
	t.Helper()
	auditor := identity.Actor{Person: identity.Person{ID: "p-audit"}, Global: []identity.Role{identity.Auditor}}
	var total, idle, grouped int64
	kinds := map[string]int{}
	for _, month := range []usage.Month{months.Month().Add(-1), months.Month()} {
		s, err := months.Statement(t.Context(), auditor, usage.All, month)
		if err != nil {
			t.Fatal(err)
		}
		sum := s.Total()
		total, idle = total+minorOf(sum.Cost), idle+minorOf(sum.Idle)
		for _, person := range s.By(usage.Groupings["person"]) {
			grouped += minorOf(person.Idle)
		}
		for _, l := range s.Lines {
			use := l.CardUse()
			if l.Engine.Measured > l.Held || l.IdleCost().Minor > l.Cost().Minor {
				t.Errorf("more is known than was held: %+v", l)
			}
			uses = append(uses, l.Engine)
			kinds[exampleKind(use)]++
		}
	}
	if total != ledger || grouped != idle || idle <= 0 || idle >= total {
		t.Errorf("the ledger has %d, statements %d, of it idle %d, by person %d", ledger, total, idle, grouped)
	}
	for _, kind := range []string{"unknown", "well used", "between", "idle", "known in part"} {
		if kinds[kind] == 0 {
			t.Errorf("nothing is %s: %v", kind, kinds)
		}
	}
	return uses
}

func exampleKind(u usage.CardUse) string {
	switch {
	case !u.Known():
		return "unknown"
	case u.Coverage() < 0.95:
		return "known in part"
	case u.Mean() > 60:
		return "well used"
	case u.Mean() < 10:
		return "idle"
	}
	return "between"
}

func minorOf(list []usage.Money) (all int64) {
	for _, m := range list {
		all += m.Minor
	}
	return all
}

package webtest

import (
	"context"
	"log/slog"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/logging"
)

func newDoctor(w *World) *doctor.Service {
	return doctor.NewService(doctor.ServiceOptions{Store: w.Store, ID: "p-web-1", Process: doctor.Process{Name: "web-1",
		Version: "test"}, Now: w.now, Levels: logging.NewLevels(logging.Options{Store: w.Store, Level: new(slog.LevelVar),
		Configured: "info", Now: w.now}), Settings: func() (string, error) { return "url: http://localhost:8080\n", nil },
		Secrets: func() []string { return nil }})
}

// facts are those of a site where nothing is wrong.
func facts(name string, roles ...string) doctor.Facts {
	host := func(name string) doctor.Host {
		return doctor.Host{Name: name, Addresses: []string{"192.0.2.10"}, Names: []string{name}, Fits: true, Trusted: true,
			Until: Now.AddDate(0, 3, 0)}
	}
	return doctor.Facts{At: Now.Add(-2 * time.Minute), Took: time.Second,
		Process:  doctor.Process{Name: name, Version: "1.8.0", Roles: roles, Started: Now.Add(-30 * time.Hour)},
		Database: doctor.Database{Engine: "PostgreSQL", Version: "15.4", Have: 1, Want: 1, Encoding: "UTF8", Most: 100},
		Provider: doctor.Provider{Issuer: "https://login.example.org", Says: "https://login.example.org",
			Methods: []string{"S256"}, Scopes: []string{"openid", "profile", "email"}, Claims: []string{"groups"},
			Group: "groups"},
		Portal: host("gpu.example.org"), Apps: host("*.gpu-apps.example.net"),
		Clusters: []doctor.Cluster{{Name: "local", Version: "v1.33.2", Rights: []doctor.RightsOf{
			{Role: "cluster", Asked: 14}, {Role: "tenant", Asked: 52}, {Role: "logs", Optional: true, Asked: 3}},
			APIs:    map[string]string{"resource.k8s.io": "v1", "nvidia.com": "v1"},
			Nodes:   doctor.Nodes{Asked: true, All: 9, WithGPU: 6, Resources: map[string]int64{"nvidia.com/gpu": 14}},
			Storage: doctor.Storage{Asked: true, Wanted: []string{"fast"}},
			Metrics: doctor.Metrics{Set: true, Cards: 22, Views: []doctor.View{{Name: "work", State: "whole"}}}}},
		Licenses: []doctor.License{{Name: "cls", Features: 2}}}
}

func (w *World) reported(h doctor.Heartbeat, f doctor.Facts) {
	check(w.Store.SaveReport(bg, doctor.Report{ID: "p-" + f.Process.Name, SeenAt: Now.Add(-10 * time.Second),
		Heartbeat: h, CheckedAt: f.At, Facts: f}, Now.Add(-time.Hour)))
}

func (w *World) ran(list ...jobs.Run) {
	for _, r := range list {
		check(w.Store.SaveJobRun(context.Background(), r))
	}
}

func ranWell(name string, ago, took time.Duration) jobs.Run {
	return jobs.Run{Job: name, Started: Now.Add(-ago), Took: took, Outcome: jobs.Done, LastDone: Now.Add(-ago)}
}

func leading() doctor.Heartbeat {
	return doctor.Heartbeat{Leads: true, Reconcile: map[string]int{"local": 2}}
}

// healthy is a site where every check is well.
func healthy(s Scope) *World {
	w := Busy(s)
	w.reported(leading(), facts("portal-0", "web", "gateway", "controller"))
	w.ran(ranWell("budgets-settle", 40*time.Second, 12*time.Millisecond),
		ranWell("leases-extend", 20*time.Second, 4*time.Millisecond))
	return w
}

// ailing is a site of two replicas where several things are to be mended.
func ailing(s Scope) *World {
	w := Busy(s)
	web, controller := facts("gpu-portal-7d9f-x2k4p", "web", "gateway"), facts("gpu-portal-controller-0", "controller")
	web.Clusters[0].Rights = []doctor.RightsOf{{Role: "logs", Optional: true, Asked: 3, Namespace: "gpu-vision",
		Missing: []string{"get pods/log (gpu-vision)", "list events (gpu-vision)"}}}
	web.Clusters[0].Nodes, web.Clusters[0].Storage = doctor.Nodes{}, doctor.Storage{}
	web.Apps.Until = Now.AddDate(0, 0, 9)
	web.Provider.Says = "https://login.example.org/"
	controller.Provider, controller.Portal, controller.Apps = doctor.Provider{}, doctor.Host{}, doctor.Host{}
	controller.Clusters[0].Rights = controller.Clusters[0].Rights[:2]
	controller.Clusters[0].Nodes.Unplugged = []string{"gpu-05", "gpu-06"}
	for _, f := range []*doctor.Facts{&web, &controller} {
		f.Clusters[0].Metrics.Views = []doctor.View{{Name: "work", State: "partly",
			Missing: []string{"DCGM_FI_PROF_GR_ENGINE_ACTIVE"}}}
	}
	w.reported(doctor.Heartbeat{Hung: []string{"notifications"}}, web)
	w.reported(leading(), controller)
	w.ran(ranWell("budgets-settle", 40*time.Second, 12*time.Millisecond), jobs.Run{Job: "licenses-poll",
		Started: Now.Add(-30 * time.Second), Took: 20 * time.Second, Outcome: jobs.Failed, Failures: 4,
		Error: "license server cls: 401 Unauthorized", LastDone: Now.Add(-5 * time.Hour)},
		jobs.Run{Job: "storage-reclaim", Started: Now.Add(-50 * time.Second), Outcome: jobs.Skipped})
	return w
}

// examined is ailing while somebody has asked for the checks.
func examined(s Scope) *World {
	w := ailing(s)
	check(w.Store.WantChecks(bg, Now.Add(-time.Second)))
	return w
}

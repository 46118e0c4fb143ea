package request

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func TestAVersionComesUpBesideTheOtherWhereThereIsRoom(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*workload.Workload, *Facts)
		why    string
	}{
		"room":              {func(*workload.Workload, *Facts) {}, ""},
		"nobody knows":      {func(_ *workload.Workload, f *Facts) { f.Fit.Known, f.Fit.Free = false, 0 }, ""},
		"no GPU is free":    {func(_ *workload.Workload, f *Facts) { f.Fit.Free = 0 }, "versions.stop_room"},
		"the quota is full": {func(_ *workload.Workload, f *Facts) { f.Quota.Used = 2 }, "versions.stop_quota"},
		"no license seat": {func(w *workload.Workload, f *Facts) {
			w.Size.LicensePool = "vws"
			f.Seats = &license.Seats{Pool: license.Pool{Name: "vws", Seats: 2}, Used: 2}
		}, "versions.stop_seat"},
		"storage of its own": {func(w *workload.Workload, _ *Facts) { w.Volume, w.Image.Home = "kept", "/models" },
			"versions.stop_storage"},
	} {
		t.Run(name, func(t *testing.T) {
			w, f := workload.Workload{Kind: catalog.Endpoint, Size: slice, Image: llm}, facts(t)
			c.change(&w, &f)
			if why := notSpare(w, specOf(w, 0, ""), f); why.ID != c.why {
				t.Errorf("want %q, got %q", c.why, why.ID)
			}
		})
	}
}

// What the rules say of the size was decided when the endpoint started; what they say of the model counts.
func TestRulesDecideAboutTheModelOfAVersion(t *testing.T) {
	rules, problems := policy.Compile([]policy.Rule{
		{Name: "no-such", When: `request.model.name == "a/no"`, Outcome: policy.Refuse},
		{Name: "asked", When: `request.model.name == "a/ask"`, Outcome: policy.Approve},
		{Name: "big", When: `request.gpus >= 1.0`, Outcome: policy.Approve},
		{Name: "rest", When: `true`, Outcome: policy.Allow},
	})
	if problems != nil {
		t.Fatal(problems)
	}
	for model, want := range map[string]bool{"a/yes": true, "a/ask": false, "a/no": false} {
		for _, size := range []catalog.Size{slice, whole} {
			f := facts(t)
			f.Policy = rules
			spec := Spec{Kind: catalog.Endpoint, Tenant: "vision", Size: size, Image: llm, Lease: hours(8), Cluster: "main",
				Model: &catalog.Model{Source: catalog.FromHub, Name: model}}
			err := allowed(spec, workload.Range{Min: 1, Max: 1}, dana, f)
			if (err == nil) != want || err != nil && !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s on %s: %v", model, size.Name, err)
			}
		}
	}
}

func TestCheckAVersion(t *testing.T) {
	o := serving()
	s := &Service{core: &core{now: func() time.Time { return now }, site: func() Site {
		return Site{Catalog: o.Catalog, Clusters: o.Clusters, Limits: o.Limits}
	}}}
	server, _ := o.Catalog.Image("server")
	running := workload.Workload{Kind: catalog.Endpoint, Tenant: "vision", Size: slice, Image: server,
		Model: &catalog.Model{Source: catalog.FromHub, Name: "a/one"}}
	for name, c := range map[string]struct {
		draft  RevisionDraft
		image  string
		model  string
		fields string
	}{
		"another model":              {RevisionDraft{Model: &catalog.Model{Name: "a/two"}}, "server", "a/two", ""},
		"another runtime":            {RevisionDraft{Image: "usual"}, "usual", "a/one", ""},
		"one that takes no model":    {RevisionDraft{Image: "llm"}, "llm", "", ""},
		"an image that is not there": {RevisionDraft{Image: "evil"}, "", "", "image"},
		"an image for notebooks":     {RevisionDraft{Image: "lab"}, "lab", "", "image"},
		"no such model":              {RevisionDraft{Model: &catalog.Model{Name: "x"}}, "server", "x", "model.name"},
		"no time at all":             {RevisionDraft{Image: "usual", ReadyWithin: "10s"}, "usual", "a/one", "readyWithin"},
		"a day":                      {RevisionDraft{Image: "usual", ReadyWithin: "1d"}, "usual", "a/one", "readyWithin"},
	} {
		t.Run(name, func(t *testing.T) {
			ask, got, model := s.revised(running, tenant.Tenant{Name: "vision"}, c.draft), "", ""
			for _, f := range ask.fields {
				got += f.Name
			}
			if ask.Model != nil {
				model = ask.Model.Name
			}
			if got != c.fields || ask.Image.Name != c.image || model != c.model {
				t.Errorf("%s with %q, problems in %q", ask.Image.Name, model, got)
			}
		})
	}
}

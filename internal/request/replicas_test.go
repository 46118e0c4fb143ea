package request

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func endpointDraft(least, most int) Draft {
	return Draft{Kind: catalog.Endpoint, Tenant: "vision", Size: "slice", Image: "llm", Lease: "8h",
		Replicas: &workload.Range{Min: least, Max: most}}
}

func TestCheckReplicas(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Draft)
		reason string
	}{
		"one to four":        {func(*Draft) {}, ""},
		"nothing said":       {func(d *Draft) { d.Replicas = nil }, ""},
		"a notebook":         {func(d *Draft) { d.Kind, d.Image = catalog.Notebook, "lab" }, "replicas.endpoints_only"},
		"it may sleep":       {func(d *Draft) { d.Replicas.Min = 0 }, ""},
		"none at all":        {func(d *Draft) { *d.Replicas = workload.Range{} }, "replicas.range"},
		"below none":         {func(d *Draft) { d.Replicas.Min = -1 }, "replicas.range"},
		"most below least":   {func(d *Draft) { d.Replicas.Min = 5 }, "replicas.range"},
		"above the ceiling":  {func(d *Draft) { d.Replicas.Max = 33 }, "replicas.range"},
		"storage of its own": {func(d *Draft) { d.Image, d.Storage = "llm-home", "10Gi" }, "replicas.storage"},
		"shares of a vGPU":   {func(d *Draft) { d.Size = "shared-vgpu" }, "replicas.shared_vgpu"},
	} {
		t.Run(name, func(t *testing.T) {
			o, d := offering(), endpointDraft(1, 4)
			home, vgpu := llm, slice
			home.Name, home.Home = "llm-home", "/models"
			vgpu.Name, vgpu.LicensePool, vgpu.Technology = "shared-vgpu", "vws", catalog.TimeSlicing
			vgpu.Accelerator.Profile = "A40-12Q"
			o.Catalog.Images, o.Catalog.Sizes = append(o.Catalog.Images, home), append(o.Catalog.Sizes, vgpu)
			c.change(&d)
			_, fields := Check(d, o)
			switch {
			case c.reason == "" && len(fields) > 0, c.reason != "" && len(fields) != 1:
				t.Fatalf("want %q, got %v", c.reason, fields)
			case c.reason != "" && (fields[0].Name != "replicas" || fields[0].Reason.ID != c.reason):
				t.Errorf("want %q, got %v", c.reason, fields)
			}
		})
	}
}

// What a start takes is what it starts with, times the size; what rules decide about is what its owner may set.
func TestAStartCountsItsReplicas(t *testing.T) {
	w, fields := Check(endpointDraft(2, 3), offering())
	if len(fields) > 0 {
		t.Fatal(fields)
	}
	f := facts(t)
	out, err := Submit(w, dana, f)
	if err != nil || out.Workload == nil {
		t.Fatalf("want it to start, got %v", err)
	}
	if r := out.Workload.Replicas; r.Want() != 2 || r.Hold() != 2 || r.Most() != 3 {
		t.Errorf("want two of at most three, got %+v", r)
	}
	if got, most := out.Request.Estimate.Minor, out.Request.AtMost().Minor; got != 2*800 || most != 3*800 {
		t.Errorf("want the price of two, and of three at most, got %d and %d", got, most)
	}
	f.Quota.Used = 1
	if _, err := Submit(w, dana, f); err == nil {
		t.Error("want two refused where one is left")
	}
	c := startClaim(w, f)
	one := startClaim(Spec{Tenant: w.Tenant, Size: w.Size, Lease: w.Lease}, f)
	if c.Replicas != 2 || one.Replicas != 1 {
		t.Errorf("want the budget asked for two, got %d and %d", c.Replicas, one.Replicas)
	}
	ask := func(c budget.Claim) int64 {
		return budget.Wanted(c, budget.GPUHours, nil, usage.MonthOf(now, time.UTC).Span(time.UTC), now).Held
	}
	if ask(c) != 2*ask(one) || ask(one) == 0 {
		t.Errorf("want twice the hours held, got %d and %d", ask(c), ask(one))
	}
}

func TestRulesSeeTheMostReplicas(t *testing.T) {
	w := Spec{Kind: catalog.Endpoint, Tenant: "vision", Size: whole, Image: llm, Lease: hours(1), Cluster: "main",
		Replicas: workload.Range{Min: 1, Max: 4}}
	seen := PolicyFacts(StartKind, w, dana, facts(t), w.Lease.Std())
	if seen.GPUs != 4 || seen.Cost != 28 {
		t.Errorf("want four cards for 28.00, got %v for %v", seen.GPUs, seen.Cost)
	}
	v := facts(t).Policy.Decide(seen)
	if v.Outcome != policy.Approve || v.Rule != "several-gpus" {
		t.Errorf("want the rule for several cards, got %+v", v)
	}
}

func TestReplicasTakeSeats(t *testing.T) {
	w := Spec{Kind: catalog.Endpoint, Tenant: "vision", Size: slice, Image: llm, Lease: hours(1), Cluster: "main",
		Replicas: workload.Range{Min: 3, Max: 3}}
	w.Size.LicensePool = "vws"
	f := facts(t)
	f.Quota.Limit = 9
	f.Seats = &license.Seats{Pool: license.Pool{Name: "vws", Seats: 4}, Used: 2}
	if got := f.additionalSeats(w); got != 3 {
		t.Errorf("want three seats, got %d", got)
	}
	if !f.seatRefused(w) {
		t.Error("want three refused where two are left")
	}
	w.Replicas = workload.Range{Min: 2, Max: 9}
	if f.seatsMissing(w) {
		t.Error("want two to have their seats: more are looked at when they are set")
	}
}

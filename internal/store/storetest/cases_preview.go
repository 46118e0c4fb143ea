package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// renderer fails where Kubernetes objects could not be rendered: a claim needs a size, a label a cluster.
type renderer struct{}

// Manifest names what would be created.
func (renderer) Manifest(w workload.Workload, _ tenant.Tenant) (string, error) {
	if w.Cluster == "" || w.Volume != "" && w.StorageGiB == 0 {
		return "", errors.New("this cannot be rendered")
	}
	return w.Name, nil
}

// previewed is a service whose drafts can come to anything: granted, put before an approver, refused by a rule, in the
// line for a seat, without quota, budget, name or cluster.
func previewed(t *testing.T, s *store.Store) (*request.Service, identity.Actor) {
	t.Helper()
	service, ada := Service(s, 40)
	site := service.Site()
	named := func(name string, change func(*catalog.Size)) catalog.Size {
		size := site.Catalog.Sizes[0]
		size.Name, size.Title, size.Clusters = name, name, nil
		change(&size)
		return size
	}
	site.Catalog.Sizes = append(site.Catalog.Sizes,
		named("whole", func(z *catalog.Size) { z.Accelerator.Share, z.Technology = 1, catalog.Full }),
		named("refused", func(*catalog.Size) {}), named("scarce", func(*catalog.Size) {}),
		named("none", func(*catalog.Size) {}),
		named("vgpu", func(z *catalog.Size) { z.LicensePool = "rtx" }),
		named("full-pool", func(z *catalog.Size) { z.LicensePool = "small" }))
	site.Pools = []license.Pool{{Name: "rtx", Title: "RTX", Seats: 2, WhenFull: license.Queue},
		{Name: "small", Title: "Small", Seats: 1}}
	site.Clusters = []string{"west", "east"}
	site.Directory.Tenants = []tenant.Tenant{{Name: "vision", Quota: map[string]int{"mig-10gb": 40, "whole": 40,
		"refused": 40, "scarce": 1, "vgpu": 40, "full-pool": 40}}, {Name: "off", Disabled: true}}
	site.Policy, _ = policy.Compile(append([]policy.Rule{{Name: "never", When: `request.size == "refused"`,
		Outcome: policy.Refuse}}, policy.Defaults()...))
	service.Site = func() request.Site { return site }
	service.Renderer, service.Budgets = renderer{}, Budgets(s, service.Now)
	set(t, service.Budgets, 4000, budget.Stop)
	ada.Tenants["off"] = []identity.Role{identity.Developer}
	return service, ada
}

// draftsOf makes drafts of the real and the impossible, the same ones each time.
func draftsOf(n int) []request.Draft {
	chance := rand.New(rand.NewPCG(3, 9))
	one := func(usual string, rare ...string) string {
		if chance.IntN(4) > 0 {
			return usual
		}
		return rare[chance.IntN(len(rare))]
	}
	sizes := []string{"mig-10gb", "mig-10gb", "whole", "refused", "scarce", "none", "vgpu", "full-pool"}
	var list []request.Draft
	for range n {
		d := request.Draft{Kind: catalog.Notebook, Tenant: one("vision", "off", "nobody's"),
			Name: fmt.Sprintf("name-%d", chance.IntN(60)), Size: one(sizes[chance.IntN(len(sizes))], "unknown", ""),
			Image: one("torch", "torch", "unknown"), Cluster: one("", "west", "moon"), Lease: one("1h", "2h", "500h", "soon"),
			Storage: one("10Gi", "0", "1Gi", "much"), Reason: one("because", ""),
			Volume:   one("", "own", "own", "used", "foreign", "elsewhere", "gone", "no such"),
			Replaces: workload.ID(one("", "w-own", "w-foreign", "w-none"))}
		if mount := one("", "data", "data", "no-such"); mount != "" {
			d.Mounts = []string{mount}
		}
		list = append(list, d)
	}
	return list
}

// furnish keeps what the drafts name.
func furnish(t *testing.T, s *store.Store) {
	t.Helper()
	for name, change := range map[string]func(*workload.Volume){
		"own": func(*workload.Volume) {}, "used": func(v *workload.Volume) { v.Workload = "w-own" },
		"foreign":   func(v *workload.Volume) { v.Owner = "p-bob" },
		"elsewhere": func(v *workload.Volume) { v.Cluster = "east" },
		"gone":      func(v *workload.Volume) { v.Deleted = true },
	} {
		v := workload.Volume{Name: name, Tenant: "vision", Owner: "p-ada", OwnerName: "Ada", Cluster: "west",
			Namespace: "gpu-vision", GiB: 5, CreatedAt: later(0), UpdatedAt: later(0)}
		change(&v)
		saveVolume(t, s, v)
	}
	data := workload.Volume{Name: workload.ClaimOf("vision", "data"), Tenant: "vision", Cluster: "west",
		Namespace: "gpu-vision", GiB: 5, CreatedAt: later(0), UpdatedAt: later(0), Share: share}
	saveVolume(t, s, data)
	for id, owner := range map[string]identity.PersonID{"w-own": "p-ada", "w-foreign": "p-bob"} {
		w := Workload(id)
		w.Owner, w.Volume, w.LicenseSeats, w.Request = owner, "", 0, "r-of-"+id
		saveWorkload(t, s, w)
	}
}

// said is a field problem for comparing: its words, but for names that are drawn anew each time.
func said(fields []fault.Field) []string {
	var list []string
	for _, f := range fields {
		list = append(list, f.Name+": "+f.Reason.ID)
	}
	return list
}

// cameTo is what became of a draft in one word for the tally, as the preview says and as the answer does.
func cameTo(p request.Preview) string {
	switch {
	case len(p.Fields) > 0:
		return "problems"
	case !p.Refused.IsZero():
		return "refused by " + p.Verdict.Rule
	case p.Verdict.Outcome == policy.Approve:
		return "pending by " + p.Verdict.Rule
	case p.Place > 0:
		return "in line by " + p.Verdict.Rule
	}
	return "approved by " + p.Verdict.Rule
}

func became(r request.Request, err error, p request.Preview) string {
	switch {
	case fault.Is(err, fault.Invalid):
		return "problems"
	case fault.Is(err, fault.Forbidden) && fault.As(err).Sentence.ID == p.Refused.ID:
		return "refused by " + p.Verdict.Rule
	case err != nil:
		return err.Error()
	case r.WaitsForSeat():
		return "in line by " + r.Decision.Rule
	}
	return string(r.State) + " by " + r.Decision.Rule
}

var previewCases = cases{
	"a preview is what sending does: the same outcome, rule and problems": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		service, ada := previewed(t, s)
		furnish(t, s)
		tally := map[string]int{}
		for i, d := range draftsOf(400) {
			before := got(s.LastChange(ctx))(t)
			p, err := service.Preview(ctx, ada, d)
			if err != nil {
				t.Fatalf("draft %d: a preview is never trouble, got %v of %+v", i, err, d)
			}
			if now := got(s.LastChange(ctx))(t); now != before {
				t.Fatalf("draft %d: the preview wrote something", i)
			}
			r, err := service.Submit(ctx, ada, d)
			if want, is := cameTo(p), became(r, err, p); want != is {
				t.Errorf("draft %d: previewed as %q, came to %q (%v): %+v", i, want, is, err, d)
			}
			var fields []fault.Field
			if fault.Is(err, fault.Invalid) {
				fields = fault.As(err).Fields
			}
			equal(t, said(p.Fields), said(fields))
			tally[cameTo(p)]++
			for _, f := range p.Fields {
				tally[f.Reason.ID]++
			}
		}
		for _, seen := range []string{"approved by shares-and-slices", "pending by whole-gpus", "refused by never",
			"in line by shares-and-slices", "request.name_taken", "request.volume_unknown", "request.volume_in_use",
			"request.mount_unknown", "request.replaces_unknown", "request.cluster_unknown", "request.quota_full",
			"request.size_not_allowed", "request.no_seat", "request.reason_needed", "budget.over", "request.tenant_disabled",
			"request.tenant_unknown", "request.size_unknown", "request.lease_too_long"} {
			if tally[seen] == 0 {
				t.Errorf("no draft came to %q: %v", seen, slices.Sorted(maps.Keys(tally)))
			}
		}
	},
	"a read-only transaction sees one moment and writes nothing": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		must(t, s.ReadOnly(ctx, func(in request.Reader) error {
			if _, err := in.Request(ctx, "r-1"); !fault.Is(err, fault.NotFound) {
				t.Errorf("want nothing there, got %v", err)
			}
			saveRequest(t, s, Request("r-1"))
			if _, err := in.Request(ctx, "r-1"); !fault.Is(err, fault.NotFound) {
				t.Errorf("want what was saved meanwhile not to be seen, got %v", err)
			}
			return nil
		}))
		_ = got(s.Request(ctx, "r-1"))(t)
		fails(t, fault.Forbidden, s.ReadOnly(ctx, func(request.Reader) error {
			return fault.New(fault.Forbidden, Event(0).Detail)
		}))
	},
}

package request

import (
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestAQuotaOfACluster: where the quota of a cluster is used up the sentence names it, another cluster is taken where
// nobody chose one, and what is held elsewhere does not count.
func TestAQuotaOfACluster(t *testing.T) {
	d, o := draft(), offering()
	d.Cluster = ""
	o.Clusters = []string{"main", "west"}
	size := d.Size
	o.Tenant.Quota = map[string]int{size: 4, tenant.QuotaKey(size, "main"): 0, tenant.QuotaKey(size, "west"): 1}
	w, problems := Check(d, o)
	if problems != nil || w.Cluster != "west" {
		t.Fatalf("want the cluster that the team may use, got %q, %v", w.Cluster, problems)
	}
	d.Cluster = "main"
	if w, problems = Check(d, o); problems != nil || w.Cluster != "main" {
		t.Fatalf("want the cluster that was chosen, got %q, %v", w.Cluster, problems)
	}
	bundle, err := i18n.Load()
	if err != nil {
		t.Fatal(err)
	}
	held := []workload.Holding{{Tenant: o.Tenant.Name, Size: size, Cluster: "west", Count: 1}}
	for cluster, want := range map[string]string{"main": "This team may not use", "west": "Your team uses 1 of 1"} {
		w.Cluster = cluster
		f := facts(t)
		f.Quota = QuotaOf(o.Tenant, size, cluster, held)
		_, err := Submit(w, dana, f)
		got := fault.As(err)
		if got == nil || len(got.Fields) != 1 {
			t.Fatalf("%s: want one problem, got %v", cluster, err)
		}
		text := bundle.For("en").Say(got.Fields[0].Reason)
		if !strings.HasPrefix(text, want) || !strings.Contains(text, "on cluster "+cluster) {
			t.Errorf("%s: %s", cluster, text)
		}
	}
}

func TestWhatIsOverTheQuotaOfACluster(t *testing.T) {
	w := []Compared{{Request: "r-3", Spec: Spec{Cluster: "west"}}, {Request: "r-2", Spec: Spec{Cluster: "main"}},
		{Request: "r-1", Spec: Spec{Cluster: "west"}}}
	for i := range w {
		w[i].Spec.Size.Name = "h100"
	}
	held := []workload.Holding{{Tenant: "vision", Size: "h100", Cluster: "west", Count: 2},
		{Tenant: "vision", Size: "h100", Cluster: "main", Count: 1}}
	for name, c := range map[string]struct {
		quota map[string]int
		want  map[string][]ID // by cluster
	}{
		"inside":             {map[string]int{"h100": 3, "h100@west": 2}, map[string][]ID{}},
		"one cluster":        {map[string]int{"h100": 3, "h100@west": 1}, map[string][]ID{"west": {"r-3"}}},
		"one forbids":        {map[string]int{"h100": 3, "*@west": 0}, map[string][]ID{"west": {"r-3", "r-1"}}},
		"all and one of all": {map[string]int{"h100": 2, "h100@main": 0}, map[string][]ID{"": {"r-3"}, "main": {"r-2"}}},
	} {
		got := quotaExcesses(tenant.Tenant{Name: "vision", Quota: c.quota}, map[string][]Compared{"h100": w}, held)
		if len(got) != len(c.want) {
			t.Errorf("%s: want %v, got %+v", name, c.want, got)
		}
		for _, e := range got {
			var ids []ID
			for _, r := range e.Started {
				ids = append(ids, r.Request)
			}
			if want := c.want[e.Cluster]; strings.Join(texts(ids), " ") != strings.Join(texts(want), " ") {
				t.Errorf("%s on %q: want %v, got %v", name, e.Cluster, want, ids)
			}
		}
	}
}

func texts(ids []ID) (list []string) {
	for _, id := range ids {
		list = append(list, string(id))
	}
	return list
}

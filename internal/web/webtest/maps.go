package webtest

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// pool is nodes of one kind.
type pool struct {
	prefix   string
	nodes    int
	product  string // as GFD labels it
	model    string // as DCGM calls it
	cards    int
	slices   []string // of each card; none: it is whole
	shares   int64    // of each card; 0: it is not shared
	resource string
}

// mixedPools are what a company of some size has.
var mixedPools = []pool{
	{prefix: "h100-", nodes: 5, product: "NVIDIA-H100-80GB-HBM3", model: "NVIDIA H100 80GB HBM3", cards: 8,
		resource: "nvidia.com/gpu"},
	{prefix: "h100-mig-", nodes: 3, product: "NVIDIA-H100-80GB-HBM3", model: "NVIDIA H100 80GB HBM3", cards: 4,
		slices: []string{"3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"}},
	{prefix: "a100-", nodes: 4, product: "NVIDIA-A100-SXM4-40GB", model: "NVIDIA A100-SXM4-40GB", cards: 8,
		resource: "nvidia.com/gpu"},
	{prefix: "l40s-", nodes: 6, product: "NVIDIA-L40S", model: "NVIDIA L40S", cards: 4, resource: "nvidia.com/gpu"},
	{prefix: "l4-", nodes: 5, product: "NVIDIA-L4", model: "NVIDIA L4", cards: 2, shares: 4,
		resource: "nvidia.com/gpu.shared"},
	{prefix: "t4-", nodes: 8, product: "Tesla-T4", model: "Tesla T4", cards: 1, resource: "nvidia.com/gpu"},
}

var mixedTeams = []string{"gpu-vision", "gpu-speech", "gpu-vision", "batch", "gpu-speech"}

// Mixed is a busy world with a fleet of several models: whole cards, slices, shares, idle ones, a node that is not
// ready, a cordoned one, and one without metrics.
func Mixed(s Scope) *World {
	w := Ill(s)
	snapshot, fleet := w.Inventory("local"), *w.Fleets["local"]
	addPools(&snapshot, &fleet, mixedPools)
	for i := range snapshot.Nodes {
		switch n := &snapshot.Nodes[i]; n.Name {
		case "a100-4":
			n.Ready, n.Warnings = false, []i18n.Text{i18n.T("inventory.not_ready")}
		case "l40s-2":
			n.Cordoned, n.Warnings = true, []i18n.Text{i18n.T("inventory.cordoned")}
		}
	}
	w.PutInventory(snapshot)
	w.Fleets["local"] = &fleet
	report := w.Reports["local"]
	for _, n := range fleet.Nodes {
		for _, c := range n.Cards {
			if strings.Contains(c.UUID, n.Name) && n.Name != "l4-3" { // of those of the pools
				report.Health = append(report.Health, gpumetrics.Card{UUID: c.UUID, Model: c.Model, Node: n.Name, At: Now,
					TellsErrors: true, ECCUncorrected: known(0, gpumetrics.Count)})
			}
		}
	}
	w.Reports["local"] = report
	w.Pasts["GPU-h100-1-0"], w.Pasts["GPU-0"] = Past(), cutPast()
	w.Hours = pastHour(&fleet)
	return w
}

// pastHour has every card do something else in every hour; nothing is known of what is more than five days ago.
func pastHour(f *gpumetrics.Fleet) func(time.Time) gpumetrics.PastUse {
	return func(until time.Time) gpumetrics.PastUse {
		use := map[[2]string]float32{}
		if Now.Sub(until) > 5*24*time.Hour {
			return gpumetrics.PastUse{}
		}
		hour := float64(until.Unix() / 3600)
		for i, n := range f.Nodes {
			for j, c := range n.Cards {
				for k, cell := range c.Cells {
					wave := 50 + 50*math.Sin(hour/4+float64(i)+float64(j+k)/3)
					use[[2]string{c.UUID, cell.Instance}] = float32(wave)
				}
			}
		}
		return gpumetrics.NewPastUse(until, use)
	}
}

func addPools(s *inventory.Snapshot, f *gpumetrics.Fleet, pools []pool) {
	for _, p := range pools {
		for i := range p.nodes {
			name := fmt.Sprintf("%s%d", p.prefix, i+1)
			node, use := p.node(name, len(s.Nodes))
			s.Nodes = append(s.Nodes, node)
			if p.prefix != "t4-" || i > 0 { // of one node there are no metrics
				f.Nodes = append(f.Nodes, use)
			}
		}
	}
}

// node is one of a pool, with what its cards do.
func (p pool) node(name string, seed int) (inventory.Node, gpumetrics.Node) {
	n := inventory.Node{Name: name, Ready: true, Model: p.product,
		Labels: map[string]string{"nvidia.com/gpu.product": p.product},
		Cards:  inventory.Cards{Known: true, Count: int64(p.cards)}}
	if p.shares > 0 {
		n.Labels["nvidia.com/gpu.replicas"] = fmt.Sprint(p.shares)
		n.Labels["nvidia.com/gpu.sharing-strategy"] = "time-slicing"
	}
	held, count := map[string][]inventory.Holder{}, map[string]int64{}
	use := gpumetrics.Node{Name: name}
	for c := range p.cards {
		card := gpumetrics.CardUse{UUID: fmt.Sprintf("GPU-%s-%d", name, c), Model: p.model}
		parts := max(1, len(p.slices))
		for k := range parts {
			resource, cell := p.resource, gpumetrics.Cell{Part: 1}
			x := (seed*7 + c*13 + k*5 + seed*c) % 23
			if p.slices != nil {
				cell.Profile, cell.Instance = p.slices[k], fmt.Sprint(k+1)
				cell.Part = float64(cell.Profile[0]-'0') / 7
				resource = "nvidia.com/mig-" + cell.Profile
			}
			load, pod := 0.0, gpumetrics.Pod{Namespace: mixedTeams[x%len(mixedTeams)],
				Name: fmt.Sprintf("work-%s-%d-%d", name, c, k)}
			switch {
			case x < 4: // free
				pod.Name = ""
			case x < 7:
				load = 1
			default:
				load = float64(20 + x*3)
			}
			count[resource] += max(1, p.shares)
			if pod.Name != "" {
				cell.Pods = []gpumetrics.Pod{pod}
				held[resource] = append(held[resource], inventory.Holder{Namespace: pod.Namespace, Pod: pod.Name, Count: 1})
			}
			cell.Engine, cell.Memory = known(load, gpumetrics.Percent), known(load*300, gpumetrics.MiB)
			cell.Total = known(40*1024, gpumetrics.MiB)
			card.Cells = append(card.Cells, cell)
		}
		use.Cards = append(use.Cards, card)
	}
	for resource, all := range count {
		n.Resources = append(n.Resources, inventory.Resource{Name: resource, Capacity: all, Allocatable: all,
			Holders: held[resource]})
	}
	return n, use
}

// mixedPrices are what cards and slices of the pools cost an hour, in cents.
var mixedPrices = map[string]int64{"NVIDIA H100 80GB HBM3": 390, "3g.40gb": 165, "2g.20gb": 110, "1g.10gb": 55,
	"NVIDIA A100-SXM4-40GB": 220, "NVIDIA L40S": 120, "NVIDIA L4": 25, "Tesla T4": 45}

// wasteful is Mixed with the workloads of two teams, of which some do nothing for their money.
func wasteful(s Scope) *World {
	w := Mixed(s)
	owners := map[string]identity.Person{"gpu-vision": Anna, "gpu-speech": Olaf}
	for _, n := range w.Fleets["local"].Nodes {
		for _, c := range n.Cards {
			for _, cell := range c.Cells {
				for _, pod := range cell.Pods {
					owner, ours := owners[pod.Namespace]
					if !ours || !strings.HasPrefix(pod.Name, "work-") {
						continue
					}
					b := w.Workload(pod.Name, owner, "h100")
					b.Size.PricePerHour.Minor = mixedPrices[cmp.Or(cell.Profile, c.Model)]
					b.Running(n.Name, 30*time.Hour, 18*time.Hour)
					b.Observed.Pod = pod.Name
					w.Add(b)
					w.Used[string(b.ID)] = used(24*60, cell.Engine.Value)
				}
			}
		}
	}
	return w
}

// Crowd is a busy world with so many nodes in four pools, each with eight cards, one of them in slices.
func (w *World) Crowd(nodes int) {
	snapshot, fleet := inventory.Snapshot{Cluster: "local", TakenAt: Now.Add(-2 * time.Second)},
		gpumetrics.Fleet{At: Now.Add(-4 * time.Second)}
	whole := func(prefix, product, model string, part int) pool {
		return pool{prefix: prefix, nodes: nodes * part / 100, product: product, model: model, cards: 8,
			resource: "nvidia.com/gpu"}
	}
	cut := whole("mig-", "NVIDIA-H100-80GB-HBM3", "NVIDIA H100 80GB HBM3", 20)
	cut.slices = []string{"2g.20gb", "2g.20gb", "1g.10gb", "1g.10gb", "1g.10gb"}
	addPools(&snapshot, &fleet, []pool{whole("h200-", "NVIDIA-H200", "NVIDIA H200", 40),
		whole("h100-", "NVIDIA-H100-80GB-HBM3", "NVIDIA H100 80GB HBM3", 25), cut,
		whole("l40s-", "NVIDIA-L40S", "NVIDIA L40S", 15)})
	w.PutInventory(snapshot)
	w.Fleets = map[string]*gpumetrics.Fleet{"local": &fleet}
	w.Hours = pastHour(&fleet)
}

// huge is a world with 5,000 nodes.
func huge(s Scope) *World {
	w := Busy(s)
	w.Crowd(5000)
	return w
}

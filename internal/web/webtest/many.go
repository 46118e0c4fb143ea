package webtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Mix is i at another place of 0..59, so that no two columns of a list come in the same order.
func Mix(i, step int) int { return i * step % 60 }

// Many adds sixty workloads of Anna's, of which the last ten are stopped: trial-00 is the newest, and each column of a
// list puts them in an order of its own.
func (w *World) Many() {
	w.Used = usage.EngineUses{}
	for i := range 60 {
		size := "h100"
		if i%2 > 0 {
			size = "mig-1g.10gb"
		}
		b := w.Workload(fmt.Sprintf("trial-%02d", i), Anna, size)
		since, left := HeldFor(i), time.Duration(Mix(i, 7)+2)*time.Hour
		if i < 50 {
			b.Running("gpu-01", since, left)
		} else {
			b.Stopped(workload.Lease{From: Now.Add(-since), Until: Now.Add(left)})
			b.Observed = workload.Observation{}
		}
		b.CreatedAt = Now.Add(-time.Duration(i+1) * time.Minute)
		w.Add(b)
		if i < 50 {
			r := w.Readings[b.Observed.Pod]
			now := float64(Mix(i, 11))
			r.History = scaled(r.History, now)
			r.Live.Devices[0].Engine.Value = now
			w.Readings[b.Observed.Pod] = r
			w.Used[string(b.ID)] = usage.EngineUse{Measured: 100 * time.Hour, Busy: time.Duration(Mix(i, 11)) * time.Hour}
		}
	}
}

// scaled is a line of the same shape that ends at a value.
func scaled(line []gpumetrics.Point, last float64) []gpumetrics.Point {
	out := slices.Clone(line)
	if len(out) == 0 || out[len(out)-1].Value == 0 {
		return out
	}
	by := last / out[len(out)-1].Value
	for i := range out {
		out[i].Value = min(100, out[i].Value*by)
	}
	return out
}

// HeldFor is for how long a workload of Many has held its GPU.
func HeldFor(i int) time.Duration { return time.Duration(Mix(i, 13)+1) * 20 * time.Minute }

// ManyVolumes adds sixty volumes of Anna's.
func (w *World) ManyVolumes() {
	for i := range 60 {
		w.PutVolume(workload.Volume{Name: fmt.Sprintf("data-%02d", i), Tenant: "vision", Owner: Anna.ID,
			OwnerName: Anna.Name, Cluster: "local", Namespace: "gpu-vision", GiB: 1 + Mix(i, 7),
			CreatedAt:  Now.Add(-time.Duration(Mix(i, 11)+1) * time.Hour),
			UnusedFrom: Now.Add(-time.Duration(Mix(i, 13)+1) * time.Hour)})
	}
}

// ManyTeams adds sixty teams with budgets, every fourth of them closed, and the last ten without one.
func (w *World) ManyTeams() {
	dora := w.Actor(Dora)
	for i := range 60 {
		t := tenant.Tenant{Name: fmt.Sprintf("team-%02d", i), Title: fmt.Sprintf("lab-%02d", i),
			Namespace: fmt.Sprintf("space-%02d", Mix(i, 7)), Disabled: i%4 == 0,
			Groups: map[identity.Role][]string{identity.Owner: {fmt.Sprintf("team-%02d-lead", i)}}}
		have(w.Tenants.Save(bg, dora, tenant.Draft{New: true, Name: t.Name, Title: t.Title, Namespace: t.Namespace,
			Groups: t.Groups, Disabled: t.Disabled, Note: "many"}))
		w.Site.Directory.Tenants = append(w.Site.Directory.Tenants, t)
		if i < 50 {
			have(w.BudgetService.Set(bg, dora, t.Name, budget.Draft{Unit: "EUR", Amount: int64(Mix(i, 11)+1) * 100_00,
				AtLimit: budget.Stop}))
		}
	}
}

// ManyPeople has sixty more have signed in.
func (w *World) ManyPeople() {
	for i := range 60 {
		p := person(fmt.Sprintf("guest%02d", i), fmt.Sprintf("guest-%02d", i), "vision-dev")
		p.SeenAt = Now.Add(-time.Duration(Mix(i, 7)+1) * time.Hour)
		check(w.SavePerson(bg, p))
	}
}

// ManyShared gives team vision sixty volumes.
func (w *World) ManyShared() {
	for i := range 60 {
		name := fmt.Sprintf("corpus-%02d", i)
		w.PutVolume(workload.Volume{Name: workload.ClaimOf("vision", name), Tenant: "vision", Owner: Ben.ID,
			OwnerName: Ben.Name, Cluster: "local", Namespace: "gpu-vision", GiB: 1 + Mix(i, 7), CreatedAt: Now,
			Share: workload.TeamShare{Name: name, Class: "nfs", Access: workload.ManyNodes}})
	}
}

// ManyImages gives team vision sixty images.
func (w *World) ManyImages() {
	images := make([]tenant.Image, 60)
	for i := range images {
		name := fmt.Sprintf("train-%02d", i)
		images[i] = tenant.Image{Name: name, Title: name, Like: "jupyterlab", Retired: i%2 > 0,
			Reference: "registry.example.org/vision/" + name + "@sha256:" + strings.Repeat("0", 64)}
	}
	w.OwnImages(images...)
}

// ManyTokens gives Anna sixty tokens, of which the last ten were never used.
func (w *World) ManyTokens() {
	for i := range 60 {
		t := identity.Token{ID: fmt.Sprintf("many%012d", i), Name: fmt.Sprintf("ci-%02d", i), Person: Anna.ID,
			CreatedAt: Now.Add(-48*time.Hour - time.Duration(i)*time.Minute),
			ExpiresAt: Now.Add(time.Duration(Mix(i, 7)+1) * time.Hour)}
		if i < 50 {
			t.LastUsedAt = Now.Add(-time.Duration(Mix(i, 11)+1) * time.Hour)
		}
		check(w.CreateToken(bg, t, audit.By(w.Actor(Anna), audit.TokenCreated, t.CreatedAt)))
	}
}

// ManyMachines has sixty nodes with vGPUs of which nobody tells.
func (w *World) ManyMachines() {
	var nodes []string
	for i := range 60 {
		nodes = append(nodes, fmt.Sprintf("vgpu-%02d", i))
	}
	w.Virtual = map[string][]string{"local": nodes}
	check(w.LicenseService.Refresh(bg))
}

// ManyPast adds sixty events of one person, and as many messages that did not get through.
func (w *World) ManyPast() {
	for i := range 60 {
		at := Now.Add(-time.Duration(i+1) * time.Minute)
		check(w.Append(bg, audit.Event{At: at, Kind: audit.MemberAdded, Actor: "many", ActorName: "Many",
			Tenant: "vision"}))
		w.PutDelivery(notify.Delivery{ID: fmt.Sprintf("many-%02d", i), Kind: notify.Decided, Name: Ben.Name,
			Channel: notify.Mail, State: notify.GaveUp, Attempts: 1, CreatedAt: at})
	}
}

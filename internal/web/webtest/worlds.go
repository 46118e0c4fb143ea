package webtest

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/podlogs"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func unreachable(s Scope) *World {
	w := Busy(s)
	w.SetAway(page.Outage{System: page.ClusterSystem, Name: "local", Since: Now.Add(-25 * time.Minute)},
		page.Outage{System: page.PrometheusSystem, Since: Now.Add(-4 * time.Minute)})
	w.Readings = Readings{}
	known := w.Inventory("local")
	known.TakenAt = Now.Add(-25 * time.Minute)
	w.PutInventory(known)
	return w
}

func withBudget(d budget.Draft) func(Scope) *World {
	return func(s Scope) *World {
		w := Busy(s)
		have(w.BudgetService.Set(bg, w.Actor(Dora), "vision", d))
		return w
	}
}

var budgeted = withBudget(budget.Draft{Unit: "EUR", Amount: 100_000, AtLimit: budget.Approval})

var overdrawn = withBudget(budget.Draft{Unit: "EUR", Amount: 100, AtLimit: budget.Approval}) // something runs already

// livedIn has a notebook in which somebody worked all morning.
func livedIn(s Scope) *World {
	w := Busy(s)
	item := w.Work("w-train-resnet")
	before := func(d time.Duration) time.Time { return Now.Add(-d) }
	anna := func(kind audit.Kind, ago time.Duration, detail i18n.Text) audit.Event {
		e := audit.By(w.Actor(Anna), kind, before(ago))
		e.Detail = detail
		return e
	}
	warned := audit.By(identity.System(), audit.LeaseWarned, before(40*time.Minute))
	for _, e := range []audit.Event{
		anna(audit.TerminalOpened, 110*time.Minute, i18n.T("terminal.opened", "Container", "main")),
		anna(audit.FileUploaded, 105*time.Minute, i18n.T("files.passed", "Path", "/home/jovyan/train.py", "Bytes",
			4096)),
		anna(audit.TerminalClosed, 90*time.Minute, i18n.T("terminal.closed", "Container", "main", "For", "20m", "End",
			i18n.T("terminal.end_left"))),
		warned,
		anna(audit.WorkloadExtended, 35*time.Minute, i18n.T("workload.lease_until", "Until",
			item.Lease.Until.Format(time.RFC3339))),
	} {
		e.Workload, e.Tenant = string(item.ID), item.Tenant
		check(w.Append(bg, e))
	}
	return w
}

// labelled has the labels of GPU feature discovery on the node with shared cards.
func labelled(s Scope) *World {
	w := Busy(s)
	inv := w.Inventory("local")
	for i, n := range inv.Nodes {
		if n.Name == "gpu-05" {
			inv.Nodes[i].Labels = maps.Clone(n.Labels)
			inv.Nodes[i].Labels["nvidia.com/gpu.replicas"], inv.Nodes[i].Labels["nvidia.com/gpu.count"] = "4", "2"
		}
	}
	w.PutInventory(inv)
	return w
}

// allHeld has both H100 in use: what is queued for one waits for the first that ends.
func allHeld(s Scope) *World {
	w := Busy(s)
	w.Add(w.Workload("bert-large", Olaf, "h100").Running("gpu-03", 2*time.Hour, 40*time.Minute))
	inv := w.Inventory("local")
	for i, n := range inv.Nodes {
		if n.Name == "gpu-03" {
			of := &inv.Nodes[i].Resources[0]
			of.Holders = append(slices.Clone(of.Holders), inventory.Holder{Namespace: "gpu-speech", Pod: "bert-large-0",
				Workload: "w-bert-large", Count: 1})
		}
	}
	w.PutInventory(inv)
	waits := w.Work("w-sweep-lr")
	waits.Reason = i18n.T("explain.in_use", "Size", "H100 80 GB", "Count", 2)
	waits.Observed.Reason = waits.Reason
	w.PutWork(waits)
	return w
}

// joined is a month in which somebody was added to the team by hand.
func joined(s Scope) *World {
	w := month(s)
	check(w.Store.AddMember(bg, tenant.Member{Tenant: "vision", Person: Olaf.ID, Role: identity.Developer, By: Ben.Name,
		Granted: []identity.PersonID{Ben.ID}, At: Now.Add(-22 * time.Hour)},
		audit.By(w.Actor(Ben), audit.MemberAdded, Now.Add(-22*time.Hour))))
	check(w.Tenants.Refresh(bg))
	w.Site.Directory = w.Tenants.Directory()
	return w
}

// licensed is a month with licenses of a purchase that ends.
func licensed(s Scope) *World {
	w := month(s)
	w.Entitle(license.Entitlement{ID: "l-1", Pool: "nvidia-vws", Reference: "PO-2026-0117", Origin: license.Manual,
		Seats: 4, From: Now.AddDate(0, -8, 0), Until: time.Date(2027, 4, 1, 0, 0, 0, 0, time.UTC), Author: string(Dora.ID),
		AuthorName: Dora.Name})
	for day := 1; day <= 20; day++ { // more often two at a time as the weeks went by
		for i := range 1 + (20-day)/12 {
			w.Add(w.Workload(fmt.Sprintf("render-%02d-%d", day, i), Ben, "vgpu-12q").Held(
				time.Duration(day)*24*time.Hour-time.Duration(i)*time.Hour, 5*time.Hour))
		}
	}
	check(w.LicenseService.Refresh(bg))
	return w
}

// month is a world that people have worked in for three weeks, with what became of an approved request, a budget, and
// how busy the GPUs were.
func month(s Scope) *World {
	w := Busy(s)
	w.Add(w.Workload("nb-anna-anna2", Anna, "h100").Held(6*24*time.Hour-20*time.Minute, 4*time.Hour))
	approved := w.Request("r-anna2")
	approved.Workload = "w-nb-anna-anna2"
	w.PutRequest(approved)
	w.worked()
	for _, change := range []struct {
		by   identity.Person
		kind audit.Kind
		ago  time.Duration
	}{{Dora, audit.CatalogSaved, 6 * 24 * time.Hour}, {Dora, audit.PriceAdded, 3 * 24 * time.Hour},
		{Ben, audit.MemberAdded, 22 * time.Hour}, {Dora, audit.RulesSaved, 3 * time.Hour}} {
		check(w.Append(bg, audit.By(w.Actor(change.by), change.kind, Now.Add(-change.ago))))
	}
	have(w.BudgetService.Set(bg, w.Actor(Dora), "vision", budget.Draft{Unit: "EUR", Amount: 500_00,
		AtLimit: budget.Approval}))
	return w
}

// worked has three people work on the days of three weeks, and says how busy their GPUs were.
func (w *World) worked() { w.Busied(w.workedDays()) }

// workedDays is worked, and how busy those GPUs were.
func (w *World) workedDays() map[workload.ID]usage.EngineUse {
	uses := map[workload.ID]usage.EngineUse{}
	for day := 1; day <= 20; day++ {
		for i, b := range []*Work{w.Workload(fmt.Sprintf("resnet-%02d", day), Anna, "mig-1g.10gb"),
			w.Workload(fmt.Sprintf("eval-%02d", day), Ben, "mig-3g.40gb"),
			w.Workload(fmt.Sprintf("asr-%02d", day), Olaf, "h100")} {
			if at := Now.AddDate(0, 0, -day); at.Weekday() == time.Saturday || at.Weekday() == time.Sunday || (day+i)%4 == 0 {
				continue
			}
			held := time.Duration(3+Mix(day+i, 7)%6) * time.Hour
			w.Add(b.Held(time.Duration(day)*24*time.Hour+time.Hour, held))
			uses[b.ID] = usage.EngineUse{Measured: held, Busy: held * 6 / 10, Idle: held / time.Duration(4+i)}
		}
	}
	uses["w-train-resnet"] = usage.EngineUse{Measured: 3 * time.Hour, Busy: 110 * time.Minute, Idle: 20 * time.Minute}
	uses["w-llm-chat"] = usage.EngineUse{Measured: 23 * time.Hour, Busy: 14 * time.Hour, Idle: 2 * time.Hour}
	uses["w-asr-train"] = usage.EngineUse{Measured: time.Hour, Busy: 50 * time.Minute}
	return uses
}

// manyOfAMonth is many, whose workloads ran on the days of three weeks.
func manyOfAMonth(s Scope) *World {
	w := many(s)
	uses := map[workload.ID]usage.EngineUse{}
	for i := range 60 {
		id := workload.ID(fmt.Sprintf("w-trial-%02d", i))
		one := w.Metered(id)[0]
		one.From = Now.AddDate(0, 0, -1-Mix(i, 7)%20)
		held := 2800 * time.Minute / time.Duration(Mix(i, 13)+2) // few cost most, most cost little
		one.Until = one.From.Add(held)
		w.Meter(id, one)
		uses[id] = usage.EngineUse{Measured: held, Busy: held * time.Duration(40+Mix(i, 11)) / 100, Idle: held / 12}
	}
	maps.Copy(uses, w.workedDays())
	w.Busied(uses)
	return w
}

// mixedOfAMonth is Mixed, at the end of three weeks of work.
func mixedOfAMonth(s Scope) *World {
	w := Mixed(s)
	w.worked()
	return w
}

// pressed is a world where cards fail and a team has spent more than it has.
func pressed(s Scope) *World {
	w := Ill(s)
	d := budget.Draft{Unit: "EUR", Amount: 75_00, AtLimit: budget.Approval}
	have(w.BudgetService.Set(bg, w.Actor(Dora), "vision", d))
	return w
}

var counting = withBudget(budget.Draft{Unit: budget.GPUHours, Amount: 300 * budget.GPUHours.Parts(),
	AtLimit: budget.Stop})

// quiet is a world where Prometheus responds, and knows the pod, but not all values.
func quiet(s Scope) *World {
	w := Busy(s)
	r := w.Readings["train-resnet-0"]
	d := &r.Live.Devices[0]
	d.MemoryUsed, d.OwnMemory, d.OwnPower = gpumetrics.Reading{}, gpumetrics.Reading{}, gpumetrics.Reading{}
	d.Power = gpumetrics.Reading{Unit: gpumetrics.Watt, Why: gpumetrics.TooOld, At: Now.Add(-6 * time.Minute)}
	w.Readings["train-resnet-0"] = r
	return w
}

// fresh is a world with people, a price list and an inventory, where nothing runs.
func fresh(s Scope) *World {
	w := Empty(s)
	w.cluster()
	w.works()
	return w
}

func unmet(s Scope) *World {
	w := Busy(s)
	w.Unmet(
		usage.UnmetRequest{At: Now.Add(-50 * time.Hour), Person: "p-1", Size: "h100", Reason: usage.UnmetQuota},
		usage.UnmetRequest{At: Now.Add(-50*time.Hour + 10*time.Minute), Person: "p-1", Size: "h100",
			Reason: usage.UnmetQuota},
		usage.UnmetRequest{At: Now.Add(-49 * time.Hour), Person: "p-2", Size: "h100", Reason: usage.UnmetQuota},
		usage.UnmetRequest{At: Now.Add(-2 * time.Hour), Person: "p-2", Size: "mig-3g.40gb", Reason: usage.UnmetWithdrawn,
			Waited: 95 * time.Minute},
		usage.UnmetRequest{At: Now.Add(-time.Hour), Person: "p-3", Size: "a-size-of-last-year", Reason: usage.UnmetRule},
		usage.UnmetRequest{At: Now.AddDate(0, -1, 0), Person: "p-3", Size: "h100", Reason: usage.UnmetQuota},
	)
	return w
}

func counted(s Scope) *World {
	w := Busy(s)
	w.Counted()
	return w
}

func priced(s Scope) *World {
	w := Busy(s)
	w.PutPrices(usage.PriceList{
		{ID: "p-1", Kind: usage.PriceCard, Subject: "H100 80GB", Rate: 250_000, From: Now.Add(-90 * 24 * time.Hour),
			AuthorName: "Dora Dahl"},
		{ID: "p-2", Kind: usage.PriceMemory, Rate: 420, From: Now.Add(-90 * 24 * time.Hour), Until: Now.Add(-24 * time.Hour),
			AuthorName: "Dora Dahl"},
		{ID: "p-3", Kind: usage.PriceSize, Subject: "mig-1g.10gb", Tenant: "vision", Rate: 60_000,
			From: Now.Add(10 * 24 * time.Hour), AuthorName: "Dora Dahl"},
		{ID: "p-4", Kind: usage.PriceStorage, Rate: 8000, From: Now.Add(-time.Hour), AuthorName: "Dora Dahl"},
		{ID: "p-5", Kind: usage.PriceSize, Subject: "h100", Rate: 275_000, From: Now.Add(40 * 24 * time.Hour),
			AuthorName: "Dora Dahl"},
	}...)
	return w
}

// Images is a world with a team that has images of its own.
func Images(s Scope) *World {
	digest := "@sha256:" + strings.Repeat("8d15e7a2", 8)
	w := Busy(s)
	w.OwnImages(
		tenant.Image{Name: "train", Title: "Training, PyTorch 2.9", Reference: "registry.example.org/vision/train:1.4" +
			digest, Like: "jupyterlab", Note: "With our data loaders. Take it for the street scenes."},
		tenant.Image{Name: "serve", Title: "Detector", Reference: "registry.example.org/vision/detector:0.9" + digest,
			Like: "vllm"},
		tenant.Image{Name: "train-old", Title: "Training, PyTorch 2.7", Reference: "registry.example.org/vision/train:1.2" +
			digest, Like: "jupyterlab", Retired: true},
		tenant.Image{Name: "tried", Title: "Tried once", Reference: "ghcr.io/somebody/notebook:2" + digest,
			Like: "jupyterlab"})
	w.Site.Scans = "https://scans.example.org/{repository}@{digest}"
	train, _ := w.Site.Catalog.Image("jupyterlab")
	train.Name, train.Title = catalog.TeamImage("vision", "train"), "Training, PyTorch 2.9"
	w.RunsImage("w-train-resnet", train)
	chat := w.Work("w-llm-chat").Image
	w.RunsImage("w-llm-chat", chat.Custom("registry.example.org/vision/chat:0.3"+digest))
	return w
}

// unlogged is a world where the administrator has not granted the right to logs.
func unlogged(s Scope) *World {
	w := Busy(s)
	w.Logs.Refusal = fault.New(fault.Unavailable, i18n.T("podlogs.no_right", "Resource", "pods/log", "Namespace",
		"gpu-vision", "Cluster", "local"))
	return w
}

// logsKept is a world with a log store, from which the lines of a pod come that is gone.
func logsKept(s Scope) *World {
	w := Busy(s)
	w.Logs.Kept = true
	w.Logs.Written["w-old-notes"] = append([]podlogs.Line{{Note: i18n.T("podlogs.kept", "Store", "Loki")},
		{Note: i18n.T("podlogs.kept_partial", "Store", "Loki")}},
		Lines("[I ServerApp] Jupyter Server 2.17.0 is running\n[I ServerApp] Shutting down 1 kernel")...)
	return w
}

// sharing is a world with a team that has storage of its own, one volume of which is in a workload.
func sharing(s Scope) *World {
	w := Busy(s)
	data := workload.Volume{Name: "vision.data", Tenant: "vision", Owner: Ben.ID, OwnerName: Ben.Name, Cluster: "local",
		Namespace: "gpu-vision", GiB: 2048, CreatedAt: Now.Add(-40 * 24 * time.Hour),
		Share: workload.TeamShare{Name: "data", Class: "nfs", Access: workload.ManyNodes, ReadOnly: true,
			Note: "Street scenes, all years."}}
	scratch := data
	scratch.Name, scratch.GiB, scratch.Share = "vision.scratch", 500, workload.TeamShare{Name: "scratch", Class: "fast",
		Access: workload.OneNode}
	w.PutVolume(data)
	w.PutVolume(scratch)
	b := w.Workload("segment", Anna, "mig-1g.10gb").Running("gpu-01", time.Hour, 2*time.Hour)
	b.Mounts = []workload.Mount{data.Mounted()}
	w.Add(b)
	check(w.SaveClaim(bg, data.Name, workload.ClaimState{Phase: workload.ClaimBound, Asked: 2 << 40, Has: 2 << 40,
		At: Now.Add(-20 * time.Second)}))
	check(w.SaveClaim(bg, scratch.Name, workload.ClaimState{At: Now.Add(-20 * time.Second)}))
	return w
}

// offering is a world with data sets: a directory of shared storage that a workload has, and a claim that somebody else
// has made.
func offering(s Scope) *World {
	w := sharing(s)
	d := workload.Dataset{Team: "vision", Name: "imagenet", Title: "ImageNet 2012", Note: "For research alone.",
		Source: workload.DatasetSource{Volume: "data", Cluster: "local", SubPath: "images/2012"}, By: Ben.ID,
		ByName: Ben.Name, CreatedAt: Now.Add(-40 * 24 * time.Hour), UpdatedAt: Now.Add(-40 * 24 * time.Hour)}
	archive := d
	archive.Name, archive.Title, archive.Note = "archive", "", ""
	archive.Source = workload.DatasetSource{Claim: "archive-nfs", Cluster: "local"}
	check(w.ChangeExclusively(bg, func(tx workload.Tx) error {
		if err := tx.SaveDataset(bg, d); err != nil {
			return err
		}
		return tx.SaveDataset(bg, archive)
	}))
	b := w.Workload("classify", Anna, "mig-1g.10gb").Running("gpu-01", time.Hour, 2*time.Hour)
	b.Mounts = []workload.Mount{d.Mounted(w.Volume("vision.data"))}
	w.Add(b)
	return w
}

// personal is a world with volumes that Anna has made: one that a workload has, one that grows, and a clone that cannot
// be made.
func storagePriced(s Scope) *World {
	w := Busy(s)
	w.PutPrices(usage.Price{ID: "p-1", Kind: usage.PriceStorage, Rate: 10_000, From: Now.Add(-100 * time.Hour)})
	return w
}

func personal(s Scope) *World {
	w := Busy(s)
	add := func(name, from string, gib int, c workload.ClaimState) workload.Volume {
		v := workload.Volume{Name: workload.PersonalClaim("vision", Anna.ID, name), Tenant: "vision", Owner: Anna.ID,
			OwnerName: Anna.Name, Cluster: "local", Namespace: "gpu-vision", GiB: gib, CreatedAt: Now.Add(-9 * 24 * time.Hour),
			Personal: workload.Personal{Name: name, From: from}}
		w.PutVolume(v)
		c.At = Now.Add(-20 * time.Second)
		check(w.SaveClaim(bg, v.Name, c))
		return v
	}
	corpus := add("corpus", "", 100, workload.ClaimState{Phase: workload.ClaimBound, Asked: 100 << 30, Has: 100 << 30})
	add("checkpoints", "", 200, workload.ClaimState{Phase: workload.ClaimBound, Asked: 200 << 30, Has: 150 << 30,
		Reason: i18n.T("explain.grow_pod")})
	add("corpus-copy", corpus.Name, 100, workload.ClaimState{Phase: workload.ClaimPending, Asked: 100 << 30,
		Reason: i18n.T("explain.disk_clone_failed"), Detail: "the driver does not support cloning"})
	b := w.Workload("segment", Anna, "mig-1g.10gb").Running("gpu-01", time.Hour, 2*time.Hour)
	b.Mounts = []workload.Mount{corpus.Mounted()}
	w.Add(b)
	return w
}

// snapshots is personal with snapshots in every state that they can be in.
func snapshots(s Scope) *World {
	w := personal(s)
	v := w.Volume(workload.PersonalClaim("vision", Anna.ID, "corpus"))
	for i, one := range []struct {
		name  string
		age   time.Duration
		state workload.SnapshotState
	}{
		{"before-cleaning", 48 * time.Hour, workload.SnapshotState{UID: "u-1", Ready: true, Bytes: 100 << 30,
			TakenAt: Now.Add(-48 * time.Hour)}},
		{"lost", 24 * time.Hour, workload.SnapshotState{UID: "u-2", Gone: true, Reason: i18n.T("snapshot.gone")}},
		{"broken", 2 * time.Hour, workload.SnapshotState{UID: "u-3", Failed: true, Reason: i18n.T("snapshot.failed"),
			Detail: "Failed to check and update snapshot content: the driver has no room"}},
		{"waiting", time.Hour, workload.SnapshotState{UID: "u-4"}},
		{"now", time.Minute, workload.SnapshotState{}},
	} {
		one.state.At = Now.Add(-time.Duration(i) * time.Second)
		check(w.ChangeExclusively(bg, func(tx workload.Tx) error {
			return tx.AddVolumeSnapshot(bg, workload.VolumeSnapshot{ID: workload.SnapshotID(v.Name, one.name),
				Volume: v.Name, Name: one.name, Tenant: v.Tenant, Cluster: v.Cluster, Namespace: v.Namespace,
				CreatedAt: Now.Add(-one.age), State: one.state})
		}))
	}
	return w
}

// states is a world with shared storage in every state that it can be in.
func states(s Scope) *World {
	w := sharing(s)
	add := func(name string, gib int, c workload.ClaimState, change func(*workload.Volume)) {
		v := workload.Volume{Name: workload.ClaimOf("vision", name), Tenant: "vision", Owner: Ben.ID, OwnerName: Ben.Name,
			Cluster: "local", Namespace: "gpu-vision", GiB: gib, CreatedAt: Now.Add(-40 * 24 * time.Hour),
			Share: workload.TeamShare{Name: name, Class: "nfs", Access: workload.ManyNodes}}
		if change != nil {
			change(&v)
		}
		w.PutVolume(v)
		if c.At.IsZero() {
			c.At = Now.Add(-20 * time.Second)
		}
		check(w.SaveClaim(bg, v.Name, c))
	}
	bound := func(gib int64) workload.ClaimState {
		return workload.ClaimState{Phase: workload.ClaimBound, Asked: gib << 30, Has: gib << 30}
	}
	add("growing", 200, workload.ClaimState{Phase: workload.ClaimBound, Asked: 200 << 30, Has: 100 << 30,
		Reason: i18n.T("explain.grow_pod")}, nil)
	add("going", 50, bound(50), func(v *workload.Volume) { v.DeleteAfter = Now.Add(6 * 24 * time.Hour) })
	add("lost", 50, workload.ClaimState{Phase: workload.ClaimLost, Asked: 50 << 30, Reason: i18n.T("explain.disk_lost")},
		nil)
	add("stale", 50, func() workload.ClaimState { c := bound(50); c.At = Now.Add(-2 * time.Hour); return c }(), nil)
	add("stiff", 10, bound(10), func(v *workload.Volume) {
		v.Refused = workload.Refusal{GiB: 100, Cause: "volume.refused_class", At: Now.Add(-time.Hour),
			Words: `persistentvolumeclaims "vision.stiff" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize`}
	})
	add("waiting", 50, workload.ClaimState{Phase: workload.ClaimPending, Asked: 50 << 30,
		Reason: i18n.T("explain.storage_full")}, nil)
	return w
}

// many has long lists of everything.
func many(s Scope) *World {
	w := Busy(s)
	w.Many()
	w.ManyVolumes()
	w.ManyTeams()
	w.ManyPeople()
	return w
}

func long(s Scope) *World {
	w := Busy(s)
	w.Add(w.Workload("a-name-as-long-as-names-may-be-at-the-mo", Anna,
		"gpu-shared").Queued(strings.Repeat("No node has a free share of an L40S, and the next one is not known. ", 4),
		3*time.Hour))
	w.Ask("r-long", Olaf, "speech", "h100", "3d",
		strings.Repeat("We need this for the evaluation of the multilingual model before the review. ", 6), 5*time.Hour)
	return w
}

// serving is a world where somebody asks for an endpoint with a model of the hub, in several replicas.
func serving(s Scope) *World {
	w := Busy(s)
	w.Ask("r-serve", Olaf, "speech", "h100", "3d", "Transcripts for the help desk.", 3*time.Hour)
	r := w.Request("r-serve")
	image, _ := w.Site.Catalog.Image("vllm")
	r.Spec.Kind, r.Spec.Image, r.Spec.StorageGiB = catalog.Endpoint, image, 0
	r.Spec.Name = "ep-olaf-serve"
	r.Spec.Model = &catalog.Model{Source: catalog.FromHub, Name: "Qwen/Qwen2.5-7B-Instruct", Revision: "main",
		ContextLength: 8192, Quantization: "fp8"}
	r.Spec.Replicas = workload.Range{Min: 1, Max: 2}
	w.PutRequest(r)
	return w
}

// lost is a world where the cluster was silent for a while, and then a pod was gone.
func lost(s Scope) *World {
	w := Busy(s)
	i := w.Metered("w-old-notes")[0]
	i.UnknownUntil = i.Until.Add(50 * time.Minute)
	w.Meter("w-old-notes", i)
	return w
}

// charged is a world where of some GPUs it is known how busy they were, of others not; seats and storage have a price.
func charged(s Scope) *World {
	w := Busy(s)
	w.Busied(map[workload.ID]usage.EngineUse{"w-train-resnet": {Measured: 3 * time.Hour, Busy: time.Hour,
		Idle: 90 * time.Minute}, "w-llm-chat": {Measured: 20 * time.Hour, Busy: 14 * time.Hour, Idle: 2 * time.Hour}})
	w.PutPrices(usage.PriceList{{ID: "p-1", Kind: usage.PriceSeat, Subject: "nvidia-vws", Rate: 4_000_000,
		From: Now.Add(-100 * time.Hour)}, {ID: "p-2", Kind: usage.PriceStorage, Rate: 8000,
		From: Now.Add(-100 * time.Hour)}}...)
	return w
}

func vanished(s Scope) *World {
	w := Empty(s)
	return w
}

// slow is a world where Prometheus has not responded yet.
func slow(s Scope) *World {
	w := Busy(s)
	w.RangesErr = context.DeadlineExceeded
	return w
}

func dark(s Scope) *World {
	w := Busy(s)
	w.Fleets, w.Used, w.Readings = nil, nil, Readings{}
	return w
}

// unrecorded is a world where nothing of the month is on record yet.
func unrecorded(s Scope) *World {
	w := Busy(s)
	w.Unrecorded()
	return w
}

// unanswered is a world where Prometheus has never answered.
func unanswered(s Scope) *World {
	w := Busy(s)
	w.Reports = map[string]gpumetrics.Report{"local": {}}
	return w
}

func ended(s Scope) *World {
	w := Busy(s)
	b := w.Workload("gone", Anna, "cpu").Stopped(workload.Lease{From: Now.Add(-9 * time.Hour),
		Until: Now.Add(-time.Hour)})
	b.State, b.Desired = workload.Ended, workload.WantDeleted
	w.Add(b)
	return w
}

// batch is a world with a job that runs, one that has succeeded and one that has failed.
func batch(s Scope) *World {
	w := Busy(s)
	w.Add(w.Workload("finetune", Anna, "mig-1g.10gb").Job().Running("gpu-02", 47*time.Minute, 7*time.Hour))
	w.Add(w.Workload("eval-sweep", Anna, "mig-1g.10gb").Job().Ran(0, 83*time.Minute, 1).Volume(20))
	w.Add(w.Workload("pretrain", Anna, "mig-1g.10gb").Job().Ran(1, 12*time.Minute, 3))
	w.Logs.Written["w-finetune"] = LinesUntil(Now.Add(-2*time.Second), "loading 12,480 samples from /data/faces\n"+
		"epoch 1/3  loss 0.914  41.2 samples/s\nsaved checkpoint epoch-1.pt\nepoch 2/3  loss 0.611  41.6 samples/s\n"+
		"saved checkpoint epoch-2.pt\nepoch 3/3  step 118/780  loss 0.573")
	w.Logs.Written["w-eval-sweep"] = LinesUntil(Now.Add(-2*time.Second),
		"epoch 2/3 loss 0.512\nepoch 3/3 loss 0.307\nsaved checkpoint model.pt")
	w.Logs.Written["w-pretrain"] = LinesUntil(Now, "epoch 1/3 loss 0.934\nTraceback (most recent call last):\n"+
		"  File \"train.py\", line 41, in <module>\nRuntimeError: loss is nan")
	return w
}

// OnJobSet lets the clusters of a world run jobs on JobSet, and names the image that runs so.
func OnJobSet(w *World) (image string) {
	image = "pytorch-job"
	w.Site.JobSet, w.Site.Catalog.Images = w.Site.Clusters, slices.Clone(w.Site.Catalog.Images)
	at := slices.IndexFunc(w.Site.Catalog.Images, func(i catalog.Image) bool { return i.Name == image })
	w.Site.Catalog.Images[at].Backend = catalog.OnJobSet
	return image
}

// OnNodes lets the clusters of a world run endpoints on LeaderWorkerSet, and names the image that runs so.
func OnNodes(w *World) (image string) {
	image = "vllm"
	w.Site.LeaderWorkerSet, w.Site.Catalog.Images = w.Site.Clusters, slices.Clone(w.Site.Catalog.Images)
	at := slices.IndexFunc(w.Site.Catalog.Images, func(i catalog.Image) bool { return i.Name == image })
	r := *w.Site.Catalog.Images[at].Runtime
	r.Backend, r.MaxNodes, r.WorkerCommand = catalog.OnLeaderWorkerSet, 4, []string{"ray", "start"}
	w.Site.Catalog.Images[at].Runtime = &r
	return image
}

// overNodes is a world with an image on LeaderWorkerSet, and an endpoint over four nodes that runs in it.
func overNodes(s Scope) *World {
	w := Busy(s)
	OnNodes(w)
	w.Add(w.Workload("llm-large", Anna, "mig-1g.10gb").Endpoint().Running("gpu-02", 47*time.Minute, 7*time.Hour).
		Between(4, 4, 4, 4))
	return w
}

// nodes is a world with an image on JobSet, and a job of four pods that runs in it.
func nodes(s Scope) *World {
	w := Busy(s)
	OnJobSet(w)
	w.Add(w.Workload("pretrain", Anna, "mig-1g.10gb").Job().Running("gpu-02", 47*time.Minute, 7*time.Hour).
		Between(4, 4, 4, 4))
	return w
}

// published is an endpoint whose calls a gateway of the site carries.
func published(s Scope) *World {
	return routed(s, workload.Route{Address: "https://models.example.org/gpu-vision/llm-chat", Accepted: true})
}

// unrouted is one whose route the gateway of the site does not take.
func unrouted(s Scope) *World {
	return routed(s, workload.Route{Address: "https://models.example.org/gpu-vision/llm-chat",
		Detail: "HTTPRoute NotAllowedByListeners: no listener lets routes of the namespace gpu-vision in"})
}

func routed(s Scope, r workload.Route) *World {
	w := Busy(s)
	item := w.Work("w-llm-chat")
	item.Observed.Route = &r
	w.PutWork(item)
	return w
}

// withSSH is busy, with an SSH server in the image of a notebook.
func withSSH(s Scope) *World {
	w := Busy(s)
	item := w.Work("w-train-resnet")
	item.Image.SSH = &catalog.SSH{Port: 2222, User: "jovyan"}
	item.Image.Ports = map[string]int32{"tensorboard": 6006, "grpc": 8001}
	w.PutWork(item)
	return w
}

// withoutPages is busy, with a notebook that has TCP ports and no pages.
func withoutPages(s Scope) *World {
	w := Busy(s)
	item := w.Work("w-train-resnet")
	item.Image.Port, item.Image.HealthPath, item.Image.OpenPath, item.Image.Auth, item.Image.TokenEnv = 0, "", "", "", ""
	item.Image.Ports = map[string]int32{"dask": 8786}
	w.PutWork(item)
	return w
}

func changed(s Scope) *World {
	w := Busy(s)
	w.Add(w.Workload("segment-cells", Anna, "mig-1g.10gb").ChangedByOthers(false))
	return w
}

// answered is a world where an approver has answered some requests just now, so that it can be undone.
func answered(verb request.Verb, ids ...request.ID) func(Scope) *World {
	return func(s Scope) *World {
		w := Busy(s)
		w.Site.Undo = request.UndoPeriod
		for _, id := range ids {
			_, err := w.RequestService.Approvals.Answer(bg, w.Actor(Carla), id,
				request.DecisionInput{Verb: verb, Seen: 1, Undoable: true})
			check(err)
		}
		return w
	}
}

// crowded is a world with more requests than fit on a page, most of them decided by a rule.
func crowded(s Scope) *World {
	w := Busy(s)
	asked := []struct {
		of     string // whose request it is like
		name   string
		hours  int64
		reason string
	}{
		{"r-anna1", "detector-night", 8, "The night shots lose every third pedestrian."},
		{"r-olaf1", "asr-dialects", 4, "Dialect recordings arrived, the decoder needs another pass."},
		{"r-anna1", "depth-sweep", 4, "Six learning rates for the depth head."},
		{"r-anna1", "export-check", 2, "Comparing the exported model with the checkpoint."},
		{"r-olaf1", "tts-voices", 6, "Two new voices for the reading app."},
		{"r-anna1", "label-review", 2, "Reviewing labels of the autumn set with the model beside."},
		{"r-anna1", "segment-large", 8, "A batch of 32 does not fit a slice."},
	}
	for i := range 80 {
		a := asked[i/4%len(asked)]
		r := w.Request(request.ID(a.of))
		hour := r.Spec.Size.PricePerHour.For(time.Hour)
		r.Spec.Name, r.Spec.Reason, r.Spec.Lease = a.name, a.reason, catalog.Duration(a.hours)*catalog.Duration(time.Hour)
		r.Estimate.Minor = hour.Minor * a.hours
		r.ID, r.Key, r.Fingerprint = request.ID(fmt.Sprintf("r-crowd-%02d", i)), "", ""
		r.CreatedAt = r.CreatedAt.Add(-time.Duration(i) * time.Hour)
		if i%4 > 0 {
			r.State, r.Decision.Steps, r.Decision.Rule = request.Approved, nil, "shares-and-slices"
		}
		w.PutRequest(r)
	}
	return w
}

// given is a world where an approver gave a request to the administrator.
func given(s Scope) *World {
	w := Busy(s)
	have(w.RequestService.Approvals.Reassign(bg, w.Actor(Carla), "r-anna1",
		request.ReassignInput{To: Dora.ID, Reason: "You know the cluster that it is for."}))
	return w
}

// edited is a world whose catalog has a history: a price, a hidden size and a deprecated one.
func edited(s Scope) *World {
	w := Busy(s)
	dora := w.Actor(Dora)
	w.Clock = Now.Add(-3 * time.Hour)
	save := func(_ offer.Revision, err error) {
		check(err)
		w.Clock = w.Clock.Add(time.Hour)
	}
	save(w.Offer.Save(bg, dora, offer.Draft{Text: strings.Replace(string(catalog.DefaultYAML()), "minor: 55",
		"minor: 60", 1), Note: "Power has become dearer."}))
	save(w.Offer.Change(bg, dora, offer.Change{Action: offer.Hide, List: offer.Sizes, Name: "gpu-shared"}, 1))
	save(w.Offer.Change(bg, dora, offer.Change{Action: offer.Deprecate, List: offer.Sizes, Name: "vgpu-12q",
		Message: "The A40 leave in May; a slice does the same work.", Successor: "mig-1g.10gb"}, 2))
	w.Clock = Now
	return w
}

// unreadable is a world whose newest catalog is of a later release.
func unreadable(s Scope) *World {
	w := edited(s)
	check(w.SaveCatalog(bg, offer.Revision{Version: 4, Text: "sizes:\n- name: cpu\n  colour: red\n",
		AuthorName: "Dora Dahl",
		At:         Now.Add(-time.Minute)}))
	check(w.Offer.Refresh(bg))
	return w
}

// covered is a world with delegations.
func covered(s Scope) *World {
	w := Busy(s)
	w.Away(Carla, Ben)
	w.Away(Dora, Carla)
	w.Away(Carla, Anna)
	return w
}

var broken = url.Values{"base": {"3"}, "action": {"save"},
	"text": {strings.NewReplacer("isolation: hard", "isolation: steel", "memory: 8Gi",
		"memory: lots").Replace(string(catalog.DefaultYAML()))}}

var dearer = url.Values{"action": {"check"}, "text": {strings.Replace(string(catalog.DefaultYAML()), "minor: 55",
	"minor: 60",
	1)}}

var shorter = url.Values{"list": {"sizes"}, "name": {"h100"}, "title": {"Whole H100"}, "technology": {"full"},
	"isolation": {"hard"}, "accelerator.vendor": {"nvidia"}, "accelerator.model": {"H100 80GB"},
	"accelerator.resource": {"nvidia.com/gpu"}, "accelerator.count": {"1"}, "accelerator.memoryGiB": {"80"},
	"accelerator.share": {"1"}, "memory": {"192Gi"}, "sharedMemory": {"32Gi"}, "maxLease": {"3h"}, "action": {"check"},
	"cpu":          {"16"},
	"pricePerHour": {"5"}, "defaultLease": {"2h"}}

var misfit = url.Values{"list": {"sizes"}, "name": {"h100"}, "title": {"Whole H100"}, "technology": {"full"},
	"isolation": {"hard"}, "accelerator.vendor": {"nvidia"}, "accelerator.model": {"H100 80GB"},
	"accelerator.resource": {"nvidia.com/gpu"}, "accelerator.count": {"1"}, "accelerator.memoryGiB": {"80"},
	"accelerator.share": {"1"}, "memory": {"192Gi"}, "sharedMemory": {"32Gi"}, "maxLease": {"3h"}, "action": {"check"},
	"cpu":          {"lots"},
	"pricePerHour": {"5"}, "defaultLease": {"4h"}}

var stale = url.Values{"base": {"1"}, "action": {"save"}, "text": {string(catalog.DefaultYAML())}}

var wrongJob = url.Values{"tenant": {"vision"}, "kind": {"job"}, "size": {"mig-1g.10gb"}, "image": {"jupyterlab"},
	"lease": {"1h"}, "command": {"python train.py | tee log"}, "env": {"EPOCHS"}, "retries": {"many"}, "timeLimit": {"3h"},
	"key": {"k"}}

var wrongModel = url.Values{"tenant": {"vision"}, "kind": {"endpoint"}, "size": {"mig-1g.10gb"}, "image": {"vllm"},
	"lease": {"1h"}, "model.name": {"--trust-remote-code"}, "model.contextLength": {"long"}, "storage": {"10Gi"},
	"replicas.min": {"1"}, "replicas.max": {"3"}, "key": {"k"}}

var wrong = url.Values{"tenant": {"vision"}, "kind": {"notebook"}, "size": {"h100"}, "image": {"jupyterlab"},
	"lease": {"10 years"}, "storage": {"lots"}, "name": {"train-resnet"}, "key": {"k"}}

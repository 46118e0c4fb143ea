package webtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/story"
)

// Scene is one page in one state, as one person sees it.
type Scene struct {
	Area, Name string
	Person     identity.Person
	World      func() *World
	Path       string
	Form       url.Values // posted where it is not nil
}

// Scenes are the states of every page; the storybook shows them, tests walk them.
func Scenes() []Scene {
	away := func() *World {
		w := Busy()
		w.SetAway(page.Outage{System: page.ClusterSystem, Name: "local", Since: Now.Add(-25 * time.Minute)},
			page.Outage{System: page.PrometheusSystem, Since: Now.Add(-4 * time.Minute)})
		w.Readings = Readings{}
		s := w.Snaps["local"]
		s.TakenAt = Now.Add(-25 * time.Minute)
		w.Snaps["local"] = s
		return w
	}
	withBudget := func(d budget.Draft) func() *World {
		return func() *World {
			w := Busy()
			if _, err := w.BudgetService.Set(context.Background(), w.Actor(Dora), "vision", d); err != nil {
				panic(err)
			}
			return w
		}
	}
	budgeted := withBudget(budget.Draft{Unit: "EUR", Amount: 100_000, AtLimit: budget.Approval})
	overdrawn := withBudget(budget.Draft{Unit: "EUR", Amount: 100, AtLimit: budget.Approval}) // something runs already
	// cards fail, and a team has spent more than it has
	pressed := func() *World {
		w := Ill()
		d := budget.Draft{Unit: "EUR", Amount: 100, AtLimit: budget.Approval}
		if _, err := w.BudgetService.Set(context.Background(), w.Actor(Dora), "vision", d); err != nil {
			panic(err)
		}
		return w
	}
	counting := withBudget(budget.Draft{Unit: budget.GPUHours, Amount: 300 * budget.GPUHours.Parts(),
		AtLimit: budget.Stop})
	quiet := func() *World { // Prometheus answers, and knows the pod, but not all values
		w := Busy()
		r := w.Readings["train-resnet-0"]
		d := &r.Live.Devices[0]
		d.MemoryUsed, d.OwnMemory, d.OwnPower = gpumetrics.Reading{}, gpumetrics.Reading{}, gpumetrics.Reading{}
		d.Power = gpumetrics.Reading{Unit: gpumetrics.Watt, Why: gpumetrics.TooOld, At: Now.Add(-6 * time.Minute)}
		w.Readings["train-resnet-0"] = r
		return w
	}
	drifted := func() *World {
		w := Busy()
		w.Drifts.Restored()
		w.SetAway(page.Outage{System: page.HeldSystem, Name: "local", Since: Now.Add(-12 * time.Minute)})
		return w
	}
	left := func() *World { // Anna has left, and an administrator has disabled her account
		w := Busy()
		w.Off[Anna.ID] = identity.Person{DisabledAt: Now.Add(-26 * time.Hour), DisabledBy: Dora.Name,
			DisabledNote: "Left the company at the end of October."}
		w.Sessions = nil
		return w
	}
	fresh := func() *World { // people and price list, an inventory, and nothing that runs
		w := Empty()
		w.fleet()
		return w
	}
	unmet := func() *World {
		w := Busy()
		w.Unmet.List = []usage.UnmetRequest{
			{At: Now.Add(-50 * time.Hour), Person: "p-1", Size: "h100", Reason: usage.UnmetQuota},
			{At: Now.Add(-50*time.Hour + 10*time.Minute), Person: "p-1", Size: "h100", Reason: usage.UnmetQuota},
			{At: Now.Add(-49 * time.Hour), Person: "p-2", Size: "h100", Reason: usage.UnmetQuota},
			{At: Now.Add(-2 * time.Hour), Person: "p-2", Size: "mig-3g.40gb", Reason: usage.UnmetWithdrawn,
				Waited: 95 * time.Minute},
			{At: Now.Add(-time.Hour), Person: "p-3", Size: "a-size-of-last-year", Reason: usage.UnmetRule},
		}
		return w
	}
	counted := func() *World {
		w := Busy()
		w.FleetHours.Counted()
		return w
	}
	priced := func() *World {
		w := Busy()
		w.PriceList.List = usage.PriceList{
			{ID: "p-1", Kind: usage.PriceCard, Subject: "H100 80GB", Rate: 250_000, From: Now.Add(-90 * 24 * time.Hour),
				Name: "Dora Dahl"},
			{ID: "p-2", Kind: usage.PriceMemory, Rate: 420, From: Now.Add(-90 * 24 * time.Hour), Until: Now.Add(-24 * time.Hour),
				Name: "Dora Dahl"},
			{ID: "p-3", Kind: usage.PriceSize, Subject: "mig-1g.10gb", Tenant: "vision", Rate: 60_000,
				From: Now.Add(10 * 24 * time.Hour), Name: "Dora Dahl"},
			{ID: "p-4", Kind: usage.PriceStorage, Rate: 8000, From: Now.Add(-time.Hour), Name: "Dora Dahl"},
		}
		return w
	}
	imaged := func() *World { // a team with images of its own
		digest := "@sha256:" + strings.Repeat("8d15e7a2", 8)
		return Busy().OwnImages(
			tenant.Image{Name: "train", Title: "Training, PyTorch 2.9", Reference: "registry.example.org/vision/train:1.4" +
				digest, Like: "jupyterlab", Note: "With our data loaders. Take it for the street scenes."},
			tenant.Image{Name: "serve", Title: "Detector", Reference: "registry.example.org/vision/detector:0.9" + digest,
				Like: "vllm"},
			tenant.Image{Name: "train-old", Title: "Training, PyTorch 2.7", Reference: "registry.example.org/vision/train:1.2" +
				digest, Like: "jupyterlab", Retired: true},
			tenant.Image{Name: "tried", Title: "Tried once", Reference: "ghcr.io/somebody/notebook:2" + digest,
				Like: "jupyterlab"})
	}
	unlogged := func() *World { // the administrator has not granted the right to logs
		w := Busy()
		w.Logs.Refusal = fault.New(fault.Unavailable, i18n.T("podlogs.no_right", "Resource", "pods/log", "Namespace",
			"gpu-vision", "Cluster", "local"))
		return w
	}
	sharing := func() *World { // a team with storage of its own, one volume of which is in a workload
		w := Busy()
		data := workload.Volume{Name: "vision.data", Tenant: "vision", Owner: Ben.ID, OwnerName: Ben.Name, Cluster: "local",
			Namespace: "gpu-vision", GiB: 2048, CreatedAt: Now.Add(-40 * 24 * time.Hour),
			Share: workload.TeamShare{Name: "data", Class: "nfs", Access: workload.ManyNodes, ReadOnly: true,
				Note: "Street scenes, all years."}}
		scratch := data
		scratch.Name, scratch.GiB, scratch.Share = "vision.scratch", 500, workload.TeamShare{Name: "scratch", Class: "fast",
			Access: workload.OneNode}
		w.Vols[data.Name], w.Vols[scratch.Name] = data, scratch
		b := w.Workload("segment", Anna, "mig-1g.10gb").Running("gpu-01", time.Hour, 2*time.Hour)
		b.Mounts = []workload.Mount{data.Mounted()}
		w.Add(b)
		w.VolClaims = map[string]workload.ClaimState{data.Name: {Phase: workload.ClaimBound, Asked: 2 << 40, Has: 2 << 40,
			At: Now.Add(-20 * time.Second)}, scratch.Name: {At: Now.Add(-20 * time.Second)}}
		return w
	}
	states := func() *World { // shared storage in every state that it can be in
		w := sharing()
		add := func(name string, gib int, c workload.ClaimState, change func(*workload.Volume)) {
			v := workload.Volume{Name: workload.ClaimOf("vision", name), Tenant: "vision", Owner: Ben.ID, OwnerName: Ben.Name,
				Cluster: "local", Namespace: "gpu-vision", GiB: gib, CreatedAt: Now.Add(-40 * 24 * time.Hour),
				Share: workload.TeamShare{Name: name, Class: "nfs", Access: workload.ManyNodes}}
			if change != nil {
				change(&v)
			}
			w.Vols[v.Name] = v
			if c.At.IsZero() {
				c.At = Now.Add(-20 * time.Second)
			}
			w.VolClaims[v.Name] = c
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
	many := func() *World {
		w := Busy()
		for i := range 40 {
			w.Add(w.Workload(fmt.Sprintf("sweep-%02d", i), Anna, "mig-1g.10gb").Running("gpu-01", time.Duration(i+1)*time.Hour,
				time.Duration(i+1)*time.Hour))
		}
		return w
	}
	long := func() *World {
		w := Busy()
		w.Add(w.Workload("a-name-as-long-as-names-may-be-at-the-mo", Anna,
			"gpu-shared").Queued(strings.Repeat("No node has a free share of an L40S, and the next one is not known. ", 4),
			3*time.Hour))
		w.Ask("r-long", Olaf, "speech", "h100", "3d",
			strings.Repeat("We need this for the evaluation of the multilingual model before the review. ", 6), 5*time.Hour)
		return w
	}
	lost := func() *World { // the cluster was silent for a while, and then a pod was gone
		w := Busy()
		i := &w.Held["w-old-notes"][0]
		i.UnknownUntil = i.Until.Add(50 * time.Minute)
		return w
	}
	// of some GPUs it is known how busy they were, of others not; seats and storage have a price
	charged := func() *World {
		w := Busy()
		w.Engine = map[workload.ID]usage.EngineUse{"w-train-resnet": {Measured: 3 * time.Hour, Busy: time.Hour,
			Idle: 90 * time.Minute}, "w-llm-chat": {Measured: 20 * time.Hour, Busy: 14 * time.Hour, Idle: 2 * time.Hour}}
		w.PriceList.List = usage.PriceList{{ID: "p-1", Kind: usage.PriceSeat, Subject: "nvidia-vws", Rate: 4_000_000,
			From: Now.Add(-100 * time.Hour)}, {ID: "p-2", Kind: usage.PriceStorage, Rate: 8000, From: Now.Add(-100 * time.Hour)}}
		if err := w.Prices.Refresh(context.Background()); err != nil {
			panic(err)
		}
		return w
	}
	vanished := func() *World { w := Empty(); w.Snaps = map[string]inventory.Snapshot{}; return w }
	slow := func() *World { // Prometheus has not answered yet
		w := Busy()
		w.RangesErr = context.DeadlineExceeded
		return w
	}
	dark := func() *World {
		w := Busy()
		w.Fleets, w.Used, w.Readings = nil, nil, Readings{}
		return w
	}
	unrecorded := func() *World { // nothing of the month is on record yet
		w := Busy()
		w.Unrecorded()
		return w
	}
	unanswered := func() *World { // Prometheus has never answered
		w := Busy()
		w.Reports = map[string]gpumetrics.Report{"local": {}}
		return w
	}
	ended := func() *World {
		w := Busy()
		b := w.Workload("gone", Anna, "cpu").Stopped(workload.Lease{From: Now.Add(-9 * time.Hour),
			Until: Now.Add(-time.Hour)})
		b.State, b.Desired = workload.Ended, workload.WantDeleted
		w.Add(b)
		return w
	}
	changed := func() *World {
		w := Busy()
		w.Add(w.Workload("segment-cells", Anna, "mig-1g.10gb").ChangedByOthers(false))
		return w
	}
	given := func() *World { // one request, from an approver to the administrator
		w := Busy()
		if _, err := w.RequestService.Approvals.Reassign(context.Background(), w.Actor(Carla), "r-anna1",
			request.ReassignInput{To: Dora.ID, Reason: "You know the cluster that it is for."}); err != nil {
			panic(err)
		}
		return w
	}
	edited := func() *World { // a history with a price, a hidden size and one that goes
		w := Busy()
		dora := w.Actor(Dora)
		w.Clock = Now.Add(-3 * time.Hour)
		save := func(_ offer.Revision, err error) {
			if err != nil {
				panic(err)
			}
			w.Clock = w.Clock.Add(time.Hour)
		}
		ctx := context.Background()
		save(w.Offer.Save(ctx, dora, offer.Draft{Text: strings.Replace(string(catalog.DefaultYAML()), "minor: 55",
			"minor: 60", 1), Note: "Power has become dearer."}))
		save(w.Offer.Change(ctx, dora, offer.Change{Verb: offer.Hide, List: offer.Sizes, Name: "gpu-shared"}, 1))
		save(w.Offer.Change(ctx, dora, offer.Change{Verb: offer.Deprecate, List: offer.Sizes, Name: "vgpu-12q",
			Message: "The A40 leave in May; a slice does the same work.", Successor: "mig-1g.10gb"}, 2))
		w.Clock = Now
		return w
	}
	unreadable := func() *World { // after an upgrade
		w := edited()
		w.Catalogs.Revisions = append(w.Catalogs.Revisions,
			offer.Revision{Version: 4, Text: "sizes:\n- name: cpu\n  colour: red\n", Name: "Dora Dahl",
				At: Now.Add(-time.Minute)})
		if err := w.Offer.Refresh(context.Background()); err != nil {
			panic(err)
		}
		return w
	}
	covered := func() *World { // who decides in whose place
		w := Busy()
		w.Away(Carla, Ben)
		w.Away(Dora, Carla)
		w.Away(Carla, Anna)
		return w
	}
	broken := url.Values{"base": {"3"}, "do": {"save"},
		"text": {strings.NewReplacer("isolation: hard", "isolation: steel", "memory: 8Gi",
			"memory: lots").Replace(string(catalog.DefaultYAML()))}}
	dearer := url.Values{"do": {"check"}, "text": {strings.Replace(string(catalog.DefaultYAML()), "minor: 55", "minor: 60",
		1)}}
	stale := url.Values{"base": {"1"}, "do": {"save"}, "text": {string(catalog.DefaultYAML())}}
	wrong := url.Values{"tenant": {"vision"}, "kind": {"notebook"}, "size": {"h100"}, "image": {"jupyterlab"},
		"lease": {"10 years"}, "storage": {"lots"}, "name": {"train-resnet"}, "key": {"k"}}
	return []Scene{
		{"platform", "a working day", Dora, Busy, "/platform", nil},
		{"platform", "cards fail, a budget is used up", Dora, pressed, "/platform", nil},
		{"platform", "an auditor's look", Eli, edited, "/platform", nil},
		{"platform", "Prometheus never answered", Dora, dark, "/platform", nil},
		{"platform", "nothing runs", Dora, fresh, "/platform", nil},
		{"platform", "no cluster was read", Dora, vanished, "/platform", nil},
		{"help", "the documents", Dora, Busy, "/help", nil},
		{"help", "the user guide", Anna, Busy, "/help/users", nil},
		{"search", "a developer's", Anna, Busy, "/search?q=train", nil},
		{"search", "an administrator's", Dora, Busy, "/search?q=a", nil},
		{"search", "nothing typed", Dora, Busy, "/search", nil},
		{"search", "nothing found", Anna, Busy, "/search?q=zzz", nil},
		{"home", "busy", Anna, Busy, "/", nil},
		{"home", "team, as its owner", Ben, Busy, "/?scope=team", nil},
		{"home", "empty", Anna, fresh, "/", nil},
		{"home", "nobody's member", Nemo, Busy, "/", nil},
		{"home", "approver", Carla, Busy, "/", nil},
		{"home", "many", Anna, many, "/", nil},
		{"home", "long texts", Anna, long, "/", nil},
		{"home", "cluster and metrics away", Anna, away, "/", nil},
		{"start", "first visit", Anna, fresh, "/start", nil},
		{"start", "whole card, needs an approval", Anna, Busy, "/start?size=h100", nil},
		{"start", "vgpu, takes a seat", Ben, Busy, "/start?size=vgpu-12q", nil},
		{"start", "came back with problems", Anna, Busy, "/start", wrong},
		{"start", "nothing known of the cluster", Anna, vanished, "/start", nil},
		{"start", "all sizes compared", Anna, Busy, "/start?all=1", nil},
		{"start", "many sizes", Anna, EverySize, "/start", nil},
		{"start", "many sizes compared", Anna, EverySize, "/start?all=1", nil},
		{"start", "two sizes", Anna, twoSizes, "/start", nil},
		{"start", "all taken", Anna, allTaken, "/start?size=mig-1g.10gb", nil},
		{"start", "no quota left", Anna, noQuota, "/start?size=h100&all=1", nil},
		{"start", "refused by a rule", Anna, allRefused, "/start", nil},
		{"start", "endpoint", Anna, Busy, "/start?kind=endpoint", nil},
		{"start", "sizing, questions", Anna, Busy, "/start/size?tenant=vision&reason=kept", nil},
		{"start", "sizing, answered", Anna, Busy,
			"/start/size?tenant=vision&work=inference&model=Llama+3.1+8B&precision=fp16&sharing=tenants&lease=8h", nil},
		{"start", "sizing, nothing will do", Anna, Busy,
			"/start/size?tenant=vision&work=train&billions=70&sharing=alone&lease=7d", nil},
		{"start", "sizing, the ways on a platform", Anna, Busy,
			"/start/size?tenant=vision&work=inference&sharing=tenants&lease=8h&platform=cloud&latency=on", nil},
		{"start", "sizing, came back with problems", Anna, Busy,
			"/start/size?tenant=vision&work=train&billions=many&memory=-1", nil},
		{"start", "not allowed", Nemo, Busy, "/start", nil},
		{"workload", "running", Anna, Busy, "/workloads/w-train-resnet", nil},
		{"workload", "endpoint, shared, ending", Anna, Busy, "/workloads/w-llm-chat", nil},
		{"workload", "queued", Anna, Busy, "/workloads/w-sweep-lr", nil},
		{"workload", "failed", Anna, Busy, "/workloads/w-vlm-test", nil},
		{"workload", "stopped", Anna, Busy, "/workloads/w-old-notes", nil},
		{"workload", "ended", Anna, ended, "/workloads/w-gone", nil},
		{"workload", "some readings unknown", Anna, quiet, "/workloads/w-train-resnet", nil},
		{"workload", "metrics away", Anna, away, "/workloads/w-train-resnet", nil},
		{"workload", "a colleague's", Ben, Busy, "/workloads/w-llm-chat", nil},
		{"workload", "an auditor's look", Eli, Busy, "/workloads/w-train-resnet", nil},
		{"workload", "changed by others", Anna, changed, "/workloads/w-segment-cells", nil},
		{"workload", "logs", Anna, Busy, "/workloads/w-train-resnet/logs", nil},
		{"workload", "logs, searched", Anna, Busy, "/workloads/w-train-resnet/logs?q=EPOCH&lines=scroll", nil},
		{"workload", "logs of several containers", Anna, Busy, "/workloads/w-vlm-test/logs", nil},
		{"workload", "logs, no pod", Anna, Busy, "/workloads/w-old-notes/logs", nil},
		{"workload", "logs, right missing", Anna, unlogged, "/workloads/w-train-resnet/logs", nil},
		{"workload", "events", Anna, Busy, "/workloads/w-vlm-test/events", nil},
		{"workload", "events, none", Anna, Busy, "/workloads/w-train-resnet/events", nil},
		{"workload", "events, right missing", Anna, unlogged, "/workloads/w-train-resnet/events", nil},
		{"workload", "objects", Anna, Busy, "/workloads/w-train-resnet/objects", nil},
		{"workload", "metrics", Anna, Busy, "/workloads/w-train-resnet/metrics", nil},
		{"workload", "metrics, nothing measured", Anna, Busy, "/workloads/w-llm-chat/metrics?range=30d&pause=1", nil},
		{"workload", "metrics, still being read", Anna, slow, "/workloads/w-train-resnet/metrics?range=90d", nil},
		{"workload", "history", Anna, Busy, "/workloads/w-train-resnet/history", nil},
		{"workload", "extend", Anna, Busy, "/workloads/w-train-resnet/extend", nil},
		{"workload", "extend, came back", Anna, Busy, "/workloads/w-train-resnet/extend",
			url.Values{"lease": {"90d"}, "reason": {"why not"}}},
		{"workload", "delete", Anna, Busy, "/workloads/w-train-resnet/delete", nil},
		{"workload", "stop", Anna, Busy, "/workloads/w-train-resnet/stop", nil},
		{"requests", "mine", Anna, Busy, "/requests", nil},
		{"requests", "none", Anna, fresh, "/requests", nil},
		{"requests", "one, waiting", Anna, Busy, "/requests/r-anna1", nil},
		{"requests", "one, rejected", Anna, Busy, "/requests/r-anna0", nil},
		{"requests", "one, approved", Anna, Busy, "/requests/r-anna2", nil},
		{"requests", "approvals", Carla, Busy, "/approvals", nil},
		{"requests", "approvals, long reason", Carla, long, "/approvals", nil},
		{"requests", "approvals, none", Carla, fresh, "/approvals", nil},
		{"requests", "approvals, in line for a seat", Carla, seatLine, "/approvals", nil},
		{"requests", "delegations, none", Carla, Busy, "/approvals/delegations", nil},
		{"requests", "delegations, found", Carla, Busy, "/approvals/delegations?find=an", nil},
		{"requests", "delegations, nobody found", Carla, Busy, "/approvals/delegations?find=zz", nil},
		{"requests", "delegations, both ways", Carla, covered, "/approvals/delegations", nil},
		{"requests", "delegations, decides nothing", Anna, covered, "/approvals/delegations", nil},
		{"requests", "delegations, came back", Carla, Busy, "/approvals/delegations",
			url.Values{"find": {"anna"}, "from": {"soon"}, "until": {"2026-11-30"}}},
		{"requests", "change", Anna, Busy, "/requests/r-anna1/edit", nil},
		{"requests", "change, came back", Anna, Busy, "/requests/r-anna1/edit",
			url.Values{"size": {"h100"}, "lease": {"soon"}, "reason": {"why not"}}},
		{"requests", "give to another approver", Carla, Busy, "/approvals/r-anna1/reassign", nil},
		{"requests", "give to another approver, came back", Carla, Busy, "/approvals/r-anna1/reassign",
			url.Values{"person": {"p-anna"}, "seen": {"1"}}},
		{"requests", "approvals, given away", Carla, given, "/approvals/r-anna1", nil},
		{"requests", "approvals, given to me", Dora, given, "/approvals/r-anna1", nil},
		{"requests", "approvals, all ticked", Carla, Busy, "/approvals?tick=all", nil},
		{"requests", "approvals, changed while it was read", Carla, Busy, "/approvals/r-anna1?seen=7", nil},
		{"requests", "approvals, more than was asked", Carla, Busy, "/approvals/r-anna1/approve",
			url.Values{"lease": {"9h"}, "seen": {"1"}}},
		{"requests", "approvals, several decided", Carla, Busy, "/approvals/bulk",
			url.Values{"verb": {"approve"}, "request": {"r-anna1@1", "r-olaf1@1"}}},
		{"requests", "approvals, decided already", Carla, Busy, "/approvals/r-anna0", nil},
		{"storage", "mine", Anna, Busy, "/storage", nil},
		{"storage", "none", Anna, fresh, "/storage", nil},
		{"storage", "delete", Anna, Busy, "/storage/datasets-kept/delete", nil},
		{"usage", "mine, this month", Anna, Busy, "/usage", nil},
		{"usage", "the team by person", Ben, Busy, "/usage?scope=team&by=person", nil},
		{"usage", "everybody by size", Dora, lost, "/usage?scope=all&by=size", nil},
		{"usage", "idle GPUs, seats and storage have their cost", Ben, charged, "/usage?scope=team&by=workload", nil},
		{"usage", "everybody by team", Eli, Busy, "/usage?scope=all&by=team", nil},
		{"usage", "before the first recorded hour", Dora, unrecorded, "/usage?by=workload", nil},
		{"usage", "a month in which nothing was held", Anna, Busy, "/usage?month=2025-01", nil},
		{"budgets", "every team", Dora, budgeted, "/admin/budgets", nil},
		{"budgets", "one, with its book", Dora, budgeted, "/admin/budgets/vision", nil},
		{"budgets", "one, a member's look", Anna, budgeted, "/admin/budgets/vision", nil},
		{"budgets", "one, overdrawn", Dora, overdrawn, "/admin/budgets/vision", nil},
		{"budgets", "every team, one overdrawn", Dora, overdrawn, "/admin/budgets", nil},
		{"budgets", "one, in GPU-hours", Dora, counting, "/admin/budgets/vision", nil},
		{"budgets", "one, not set", Dora, Busy, "/admin/budgets/vision", nil},
		{"budgets", "one, came back", Dora, Busy, "/admin/budgets/vision", url.Values{"amount": {"1,2,3"}, "unit": {"EUR"},
			"atLimit": {"stop"}, "version": {"0"}}},
		{"fleet", "a developer's look", Anna, Busy, "/fleet", nil},
		{"fleet", "an administrator's look", Dora, Busy, "/fleet", nil},
		{"fleet", "old", Anna, away, "/fleet", nil},
		{"fleet", "use, by workload", Dora, Busy, "/fleet/use?cluster=local&node=gpu-01", nil},
		{"fleet", "use, as a developer sees it", Anna, Busy, "/fleet/use", nil},
		{"fleet", "use, by team, paused", Eli, Busy, "/fleet/use?group=team&pause=1", nil},
		{"fleet", "use, Prometheus never answered", Anna, dark, "/fleet/use", nil},
		{"fleet", "health", Dora, Ill, "/fleet/health", nil},
		{"fleet", "health, every card", Dora, Ill, "/fleet/health?state=all", nil},
		{"fleet", "health, an auditor's look", Eli, Ill, "/fleet/health?state=quarantined", nil},
		{"fleet", "health, nothing found", Dora, Ill, "/fleet/health?q=zz", nil},
		{"fleet", "health, nobody speaks", Dora, unanswered, "/fleet/health", nil},
		{"fleet", "mark a node", Dora, Ill, "/fleet/health/mark?cluster=local&kind=node&name=gpu-01", nil},
		{"fleet", "mark a card", Dora, Ill, "/fleet/health/mark?cluster=local&kind=card&name=GPU-2", nil},
		{"fleet", "mark a node, came back", Dora, Ill, "/fleet/health/mark",
			url.Values{"cluster": {"local"}, "kind": {"node"}, "name": {"gpu-01"}, "note": {" "}}},
		{"workload", "on a bad node", Anna, Ill, "/workloads/w-llm-chat", nil},
		{"fleet", "nothing known", Anna, vanished, "/fleet", nil},
		{"advice", "sizes that do not suit", Anna, advised, "/usage/advice", nil},
		{"advice", "one was put away", Anna, putAway, "/usage/advice", nil},
		{"advice", "everybody's, an auditor's look", Eli, advised, "/usage/advice", nil},
		{"advice", "nothing is known yet", Anna, Busy, "/usage/advice", nil},
		{"advice", "on the page of a workload", Anna, advised, "/workloads/w-digits", nil},
		{"idle", "nothing is set", Dora, Busy, "/admin/idle", nil},
		{"idle", "a setting", Dora, idling, "/admin/idle", nil},
		{"idle", "an auditor's look", Eli, idling, "/admin/idle", nil},
		{"idle", "what another setting would do", Dora, idling, "/admin/idle/preview", idleTried},
		{"idle", "what it would do is not known", Dora, untold, "/admin/idle/preview", idleTried},
		{"idle", "with problems", Dora, idling, "/admin/idle", url.Values{"base": {"1"}, "for-0": {"all"},
			"action-0": {"stop"}, "after-0": {"soon"}, "below-0": {"99"}, "keep-0": {""}}},
		{"idle", "a workload is stopped soon", Anna, idling, "/workloads/w-train-resnet", nil},
		{"idle", "a workload that is kept", Anna, needed, "/workloads/w-train-resnet", nil},
		{"demand", "nothing is missing", Dora, Busy, "/usage/demand", nil},
		{"demand", "what was not to be had", Dora, unmet, "/usage/demand", nil},
		{"reconciliation", "nothing was counted", Dora, Busy, "/usage/reconciliation", nil},
		{"reconciliation", "three weeks", Dora, counted, "/usage/reconciliation", nil},
		{"reconciliation", "three weeks of one model", Eli, counted,
			"/usage/reconciliation?cluster=west&model=NVIDIA-H100-80GB-HBM3", nil},
		{"prices", "what the catalog says counts", Dora, Busy, "/admin/prices", nil},
		{"prices", "in force, to come and over", Dora, priced, "/admin/prices", nil},
		{"prices", "an auditor's look", Eli, priced, "/admin/prices", nil},
		{"prices", "with problems", Dora, priced, "/admin/prices", url.Values{"subject": {"cpu:"}, "amount": {"much"},
			"from": {"2020-01-01"}}},
		{"licenses", "a developer's look", Anna, Busy, "/licenses", nil},
		{"licenses", "an administrator's look", Dora, Busy, "/licenses", nil},
		{"licenses", "paused", Dora, Busy, "/licenses?pause=1", nil},
		{"licenses", "import, to be kept", Dora, Busy, "/licenses/import",
			url.Values{"csv": {"feature;quantity;until;reference;colour\nnvidia-vws;7;2027-11-30;PO-2026-0117;red\n"}}},
		{"licenses", "import, refused", Dora, Busy, "/licenses/import",
			url.Values{
				"csv": {
					"feature,quantity,until,reference\nnvidia-vws,7,2027-11-30,PO-2026-0117\nnvidia-vws,-4,,PO-2026-0118\nunknown " +
						"product,2,,PO-2026-0119\n"}}},
		{"team", "mine", Ben, Busy, "/team", nil},
		{"team", "none", Nemo, Busy, "/team", nil},
		{"team", "one, an owner's look", Ben, budgeted, "/team/vision", nil},
		{"team", "one, a member's look", Anna, Busy, "/team/vision", nil},
		{"team", "images, an owner's look", Ben, imaged, "/team/vision/images", nil},
		{"team", "images, one is edited", Ben, imaged, "/team/vision/images?edit=train", nil},
		{"team", "images, none", Ben, Busy, "/team/vision/images", nil},
		{"team", "images, came back", Ben, imaged, "/team/vision/images",
			url.Values{"title": {"Our own"}, "reference": {"quay.io/somebody/train:latest"}, "like": {"pytorch"}}},
		{"team", "images, a member's look", Anna, imaged, "/team/vision/images", nil},
		{"team", "shared storage, an owner's look", Ben, sharing, "/team/vision/volumes", nil},
		{"team", "shared storage, came back", Ben, sharing, "/team/vision/volumes", url.Values{"name": {"Data Sets"},
			"class": {"local/nfs"}, "gib": {"9000"}}},
		{"team", "shared storage, a member's look", Anna, sharing, "/team/vision/volumes", nil},
		{"team", "shared storage, none", Ben, Busy, "/team/vision/volumes", nil},
		{"team", "shared storage, every state", Ben, states, "/team/vision/volumes", nil},
		{"team", "shared storage, make larger", Ben, states, "/team/vision/volumes/data/grow", nil},
		{"team", "shared storage, make larger, came back", Ben, states, "/team/vision/volumes/growing/grow",
			url.Values{"from": {"100"}, "gib": {"9000"}}},
		{"team", "shared storage, delete", Ben, sharing, "/team/vision/volumes/scratch/delete", nil},
		{"team", "shared storage, delete what is in use", Ben, sharing, "/team/vision/volumes/data/delete",
			url.Values{"confirm": {"data"}}},
		{"start", "with shared storage", Anna, sharing, "/start?size=mig-1g.10gb&mounts=data", nil},
		{"storage", "with the team's", Ben, sharing, "/storage?scope=team", nil},
		{"team", "more quota", Anna, Busy, "/team/vision/quota?size=h100", nil},
		{"team", "more quota, came back", Anna, Busy, "/team/vision/quota", url.Values{"size": {"h100"}, "amount": {"0"}}},
		{"tenants", "every team", Dora, Busy, "/admin/tenants", nil},
		{"tenants", "an auditor's look", Eli, Busy, "/admin/tenants", nil},
		{"tenants", "a new one", Dora, Busy, "/admin/tenants/edit", nil},
		{"tenants", "a new one, came back", Dora, Busy, "/admin/tenants/edit", url.Values{"name": {"Kube System"},
			"groups.owner": {"*"}, "quota": {"h100: many"}}},
		{"tenants", "one", Dora, Busy, "/admin/tenants/edit?name=vision", nil},
		{"tenants", "one, another quota tried", Dora, Busy, "/admin/tenants/check",
			url.Values{"name": {"vision"}, "base": {"0"}, "quota": {"h100: 0"}}},
		{"tenants", "people", Dora, Busy, "/admin/people", nil},
		{"tenants", "people, nobody found", Dora, Busy, "/admin/people?q=zz", nil},
		{"account", "a person, for administrators", Dora, Busy, "/admin/people/" + string(Anna.ID), nil},
		{"account", "a person, an auditor's look", Eli, Busy, "/admin/people/" + string(Anna.ID), nil},
		{"account", "a person who is disabled", Dora, left, "/admin/people/" + string(Anna.ID), nil},
		{"account", "the only owner of a team", Dora, Busy, "/admin/people/" + string(Ben.ID), nil},
		{"account", "a person who has nothing", Dora, Busy, "/admin/people/" + string(Nemo.ID), nil},
		{"account", "oneself cannot be disabled", Dora, Busy, "/admin/people/" + string(Dora.ID) + "/disable",
			url.Values{"note": {"a try"}}},
		{"account", "with a token", Anna, Busy, "/account", nil},
		{"account", "without", Carla, Busy, "/account", nil},
		{"account", "token just made", Anna, Busy, "/account/tokens", url.Values{"name": {"evening batch"},
			"lasts": {"30d"}}},
		{"account", "token without a name", Anna, Busy, "/account/tokens", url.Values{"lasts": {"30d"}}},
		{"metrics", "with troubles", Dora, Troubled, "/admin/metrics", nil},
		{"metrics", "away", Eli, unanswered, "/admin/metrics", nil},
		{"metrics", "none set up", Dora, Busy, "/admin/metrics", nil},
		{"sizes", "as configured", Dora, Busy, "/admin/sizes", nil},
		{"sizes", "edited", Dora, edited, "/admin/sizes", nil},
		{"sizes", "an auditor's look", Eli, edited, "/admin/sizes", nil},
		{"sizes", "nothing known of the cluster", Dora, vanished, "/admin/sizes", nil},
		{"sizes", "the newest cannot be used", Dora, unreadable, "/admin/sizes", nil},
		{"sizes", "images", Dora, edited, "/admin/images", nil},
		{"sizes", "editor", Dora, edited, "/admin/sizes/edit", nil},
		{"sizes", "editor, checked", Dora, Busy, "/admin/sizes/edit", dearer},
		{"sizes", "editor, came back with problems", Dora, edited, "/admin/sizes/edit", broken},
		{"sizes", "editor, somebody was faster", Dora, edited, "/admin/sizes/edit", stale},
		{"sizes", "mark as going", Dora, edited, "/admin/sizes/deprecate?list=sizes&name=h100", nil},
		{"sizes", "one version", Dora, edited, "/admin/sizes/versions/1", nil},
		{"sizes", "the first version", Eli, edited, "/admin/sizes/versions/0", nil},
		{"start", "a size that goes", Anna, edited, "/start?size=vgpu-12q", nil},
		{"start", "a size that is hidden", Anna, edited, "/start?size=gpu-shared", nil},
		{"account", "notifications", Anna, Busy, "/account/notifications", nil},
		{"account", "notifications of an owner", Dora, noticed, "/account/notifications", nil},
		{"account", "messages", Dora, noticed, "/admin/notifications", nil},
		{"account", "messages, none failed", Dora, Busy, "/admin/notifications?state=failed", nil},
		{"differences", "none", Dora, Busy, "/admin/differences", nil},
		{"differences", "after a restore", Dora, drifted, "/admin/differences", nil},
		{"differences", "an auditor's look", Eli, drifted, "/admin/differences", nil},
		{"differences", "adopt", Dora, drifted, "/admin/differences/d-1/adopt", nil},
		{"differences", "apply", Dora, drifted, "/admin/differences/d-1/apply", nil},
		{"differences", "all", Dora, drifted, "/admin/differences/all/resume?cluster=local", nil},
		{"differences", "a held cluster, for everybody", Anna, drifted, "/", nil},
		{"audit", "all", Eli, Busy, "/audit", nil},
		{"audit", "nothing found", Eli, Busy, "/audit?kind=token.revoked", nil},
	}
}

// Render gives the page as the portal would send it.
func (s Scene) Render(lang, theme string) (*httptest.ResponseRecorder, error) {
	r := httptest.NewRequest(http.MethodGet, s.Path, nil)
	if s.Form != nil {
		r = httptest.NewRequest(http.MethodPost, s.Path, strings.NewReader(s.Form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if theme != "" {
		r.AddCookie(&http.Cookie{Name: edge.Theme, Value: theme})
	}
	answer := s.World().Do(s.Person, lang, r)
	if kind := answer.Header().Get("Content-Type"); !strings.HasPrefix(kind, "text/html") {
		return answer, fmt.Errorf("%s %s: %d %s", s.Area, s.Name, answer.Code, answer.Body)
	}
	return answer, nil
}

func init() {
	for _, s := range Scenes() {
		story.AddPage(s.Area, s.Name, func(setting story.Setting) templ.Component {
			return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
				answer, err := s.Render(setting.Localizer.Lang(), setting.Theme)
				if err != nil {
					return err
				}
				_, err = w.Write(answer.Body.Bytes())
				return err
			})
		})
	}
}

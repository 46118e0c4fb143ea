package webtest

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Busy is a world on a working day: everything that a page can show is there once.
func Busy(s Scope) *World {
	w := newWorld(s, busyImage())
	w.works()
	for _, item := range w.Works() {
		w.read(item)
	}
	return w
}

// workingDay fills the database of Busy.
func (w *World) workingDay() {
	check(w.CreateToken(bg, identity.Token{ID: "kq3vT0x8Yw1mZ4nB", Name: "nightly training", Person: Anna.ID,
		CreatedAt: Now.Add(-20 * 24 * time.Hour), ExpiresAt: Now.Add(70 * 24 * time.Hour),
		LastUsedAt: Now.Add(-9 * time.Hour)}, audit.By(w.Actor(Anna), audit.TokenCreated, Now.Add(-20*24*time.Hour))))
	w.embed(embeds[:1]) // days ago
	w.cluster()
	// in the order in which they were asked for, as the audit has them
	w.Add(w.Workload("llm-chat", Anna, "mig-3g.40gb").Endpoint().Running("gpu-02", 23*time.Hour+22*time.Minute,
		38*time.Minute).Shared().Ending())
	w.Add(w.Workload("train-resnet", Anna, "mig-1g.10gb").Running("gpu-01", 3*time.Hour, 5*time.Hour).Volume(50))
	w.Add(w.Workload("old-notes", Anna, "cpu").Stopped(workload.Lease{From: Now.Add(-2 * time.Hour),
		Until: Now.Add(6 * time.Hour)}).Volume(10))
	w.embed(embeds[1:])
	w.Add(w.Workload("asr-train", Olaf, "h100").Running("gpu-03", time.Hour, 3*time.Hour))
	w.Add(w.Workload("render-farm", Ben, "vgpu-12q").Running("gpu-04", 30*time.Minute, 7*time.Hour+30*time.Minute))
	w.Add(w.Workload("vlm-test", Anna, "gpu-shared").Failed(i18n.T("explain.crash_code", "Code", 1)))
	w.Add(w.Workload("sweep-lr", Anna, "h100").Queued("", 12*time.Minute).Because(i18n.T("explain.nodes_full")))
	w.Usual("h100", 20*time.Second, 25*time.Second, 25*time.Second, 40*time.Second, 95*time.Second)
	w.Usual("mig-1g.10gb", 9*time.Second, 11*time.Second, 12*time.Second, 12*time.Second, 12*time.Second,
		14*time.Second, 40*time.Second)
	w.Ask("r-anna1", Anna, "vision", "h100", "4h",
		"Fine-tuning the detector on the new street scenes before the review on Monday.", 12*time.Minute)
	w.Ask("r-olaf1", Olaf, "speech", "h100", "2h", "Comparing two decoders for the demo on Friday.", 50*time.Minute)
	w.Decided("r-anna0", Anna, "h100", request.Rejected, "Try the 40 GB slice first, please: it was free all week.",
		20*time.Minute)
	w.Decided("r-anna2", Anna, "h100", request.Approved, "For the deadline.", 20*time.Minute)
	w.PutVolume(workload.Volume{Name: "datasets-kept", Tenant: "vision", Owner: Anna.ID,
		OwnerName: Anna.Name, Cluster: "local", Namespace: "gpu-vision", GiB: 200, CreatedAt: Now.Add(-40 * 24 * time.Hour),
		UnusedFrom: Now.Add(-24 * 24 * time.Hour), WarnedAt: Now.Add(-24 * time.Hour), WarnedFor: 7 * 24 * time.Hour})
	w.signedIn()
}

// Work is a workload being made.
type Work struct {
	workload.Workload
	world  *World
	meters []usage.Interval
}

// Workload begins a workload of a person's first team.
func (w *World) Workload(name string, owner identity.Person, size string) *Work {
	s, ok := w.Site.Catalog.Size(size)
	if !ok {
		panic("no size " + size)
	}
	image, _ := w.Site.Catalog.Image("jupyterlab")
	team := w.Actor(owner).TenantNames()[0]
	return &Work{world: w, Workload: workload.Workload{
		ID: workload.ID("w-" + name), Name: name, Kind: catalog.Notebook, Tenant: team, Owner: owner.ID,
		OwnerName: owner.Name, Size: s, Image: image, Cluster: "local", Namespace: "gpu-" + team,
		Desired: workload.WantRunning, Generation: 1, State: workload.Queued, Request: "r-" + name,
		CreatedAt: Now.Add(-time.Hour), Lease: workload.Lease{From: Now, Until: Now.Add(8 * time.Hour)}, Version: 1}}
}

// Endpoint makes it one.
func (b *Work) Endpoint() *Work {
	b.Kind = catalog.Endpoint
	for _, i := range b.world.Site.Catalog.Images {
		if i.Kind == catalog.Endpoint {
			b.Image = i
			if i.Runtime != nil {
				b.Model = i.Runtime.Default
			}
			break
		}
	}
	return b
}

// Between lets it have several replicas, of which so many are wanted and ready.
func (b *Work) Between(least, most, wanted, ready int) *Work {
	b.Replicas = workload.Replicas{Range: workload.Range{Min: least, Max: most}, Wanted: wanted, Held: wanted}
	for i := range wanted {
		r := workload.Replica{Pod: fmt.Sprintf("%s-5c8644c5cd-7wvw%d", b.Name, i), Node: "gpu-02", Ready: i < ready}
		if !r.Ready && ready > 0 {
			r.Reason = i18n.T("explain.loading")
		}
		b.Observed.Pods = append(b.Observed.Pods, r)
	}
	if wanted > 0 {
		b.Observed.Pod = b.Observed.Pods[0].Pod
	}
	return b
}

// Job makes it one, with a program that trains.
func (b *Work) Job() *Work {
	image, ok := b.world.Site.Catalog.Image("pytorch-job")
	if !ok {
		panic("no image for jobs")
	}
	b.Kind, b.Image = catalog.Job, image
	b.Workload.Job = &workload.Job{Command: []string{"python", "train.py", "--epochs", "3"},
		Env: map[string]string{"EPOCHS": "3", "WANDB_MODE": "offline"}, Retries: 2,
		TimeLimit: catalog.Duration(4 * time.Hour)}
	return b
}

// Ran is how its last attempt ended, after so long.
func (b *Work) Ran(code int32, took time.Duration, attempts int) *Work {
	b.Running("gpu-02", took, 8*time.Hour-took)
	b.Desired, b.State = workload.Finished, workload.Failed
	if code == 0 {
		b.State = workload.Succeeded
	} else {
		b.Reason = i18n.T("explain.job_code", "Code", int(code))
		b.Observed.Detail = "Error (exit code 1)\nBackoffLimitExceeded: Job has reached the specified backoff limit"
	}
	b.Observed.PodPresent, b.Observed.Ready, b.Observed.Node, b.Observed.Activity = false, false, "", nil
	b.Result = &workload.Result{Succeeded: code == 0, ExitCode: &code, Attempts: attempts,
		StartedAt: Now.Add(-took), At: Now}
	b.meters[0].Until = Now
	return b
}

// Running puts it on a node, for so long, with so much lease left, and has its meter run.
func (b *Work) Running(node string, since, left time.Duration) *Work {
	b.State, b.CreatedAt, b.PlacedAt = workload.Running, Now.Add(-since-time.Minute), Now.Add(-since)
	b.Lease = workload.Lease{From: Now.Add(-since), Until: Now.Add(left)}
	b.Observed = workload.Observation{At: Now.Add(-3 * time.Second), Generation: 1, PodPresent: true, Pod: b.Name + "-0",
		PodIP: "10.64.0.9", Node: node, Ready: true,
		Activity: &workload.Activity{At: Now, LastActivity: Now.Add(-2 * time.Minute),
			Kernels: []workload.Kernel{{Name: "python3", State: "busy", LastActivity: Now.Add(-time.Minute), Connections: 1},
				{Name: "python3", State: "idle", LastActivity: Now.Add(-40 * time.Minute)}}}}
	if b.Kind != catalog.Notebook {
		b.Observed.Activity = nil
	}
	b.meters = []usage.Interval{{Workload: string(b.ID), Tenant: b.Tenant, Size: b.Size.Name,
		PerHour: b.Size.PricePerHour, From: Now.Add(-since), Seats: b.Seats()}}
	return b
}

// read has metrics tell of the device of a workload that runs.
func (w *World) read(item workload.Workload) {
	if item.State != workload.Running || item.Size.Devices() == 0 {
		return
	}
	w.Readings[item.Observed.Pod] = reading(item.Observed.Pod, item.Observed.Node, item.Size)
	for i, p := range item.Observed.Pods {
		r := reading(p.Pod, p.Node, item.Size)
		r.Live.Devices[0].OwnEngine.Value -= float64(7 * i)
		if !p.Ready { // it loads its model
			r.Live.Devices[0].OwnEngine.Value, r.Live.Devices[0].OwnMemory.Value = 0, 2150
		}
		w.Readings[p.Pod] = r
	}
}

func known(v float64, unit gpumetrics.Unit) gpumetrics.Reading {
	return gpumetrics.Reading{Value: v, Unit: unit, At: Now.Add(-4 * time.Second), Source: gpumetrics.Measured}
}

// reading is a device that trains; the hour has a gap in it.
func reading(pod, node string, size catalog.Size) Reading {
	engine, memory, power := known(63, gpumetrics.Percent), known(size.Accelerator.MemoryGiB*1024*0.71, gpumetrics.MiB),
		known(312, gpumetrics.Watt)
	d := gpumetrics.Device{UUID: uuidOf(pod), Model: "NVIDIA " + size.Accelerator.Model,
		Profile: size.Accelerator.Profile, Node: node,
		Engine: engine, MemoryUsed: memory, MemoryTotal: known(size.Accelerator.MemoryGiB*1024, gpumetrics.MiB), Power: power,
		Temperature: known(58, gpumetrics.Celsius),
		OwnEngine:   engine, OwnMemory: memory, OwnPower: power, CardShared: size.Accelerator.Share < 1, Pods: 1}
	if d.CardShared {
		d.OwnPower.Value, d.OwnPower.Source = power.Value*size.Accelerator.Share, gpumetrics.Apportioned
	}
	r := Reading{Live: gpumetrics.Live{At: Now.Add(-2 * time.Second), Devices: []gpumetrics.Device{d}}}
	run := 0 // that of Past
	if pod != "train-resnet-0" {
		run = int(sha256.Sum256([]byte(pod))[0])
	}
	for i := range 61 { // a reading each minute
		r.History = append(r.History, gpumetrics.Point{At: Now.Add(time.Duration(i-60) * time.Minute),
			Value: wave(2*i, run), Known: !missed(2 * i)})
	}
	return r
}

// uuidOf is the UUID of the card of a pod.
func uuidOf(pod string) string {
	sum := sha256.Sum256([]byte(pod))
	return fmt.Sprintf("GPU-%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// Queued waits, for so long, for a reason in the cluster's words put plainly.
func (b *Work) Queued(reason string, since time.Duration) *Work {
	b.State, b.CreatedAt, b.Reason = workload.Queued, Now.Add(-since), i18n.Literal(reason)
	b.Lease = workload.Lease{From: Now.Add(-since), Until: Now.Add(-since + 8*time.Hour)}
	b.Observed = workload.Observation{At: Now.Add(-2 * time.Second), Generation: 1, PodPresent: true, Pod: b.Name + "-0",
		Reason: b.Reason, Detail: "0/7 nodes are available: 1 Insufficient cpu, 1 Insufficient nvidia.com/gpu, 5 node(s) " +
			"didn't match Pod's node affinity/selector.",
		Steps: []workload.Step{{Name: workload.StepDecided, At: Now.Add(-since)},
			{Name: workload.StepCreated, At: Now.Add(-since + 2*time.Second)}, {Name: workload.StepPlaced},
			{Name: workload.StepImage}, {Name: workload.StepReady}}}
	return b
}

// Because gives a reason that the portal has found itself.
func (b *Work) Because(reason i18n.Text) *Work {
	b.Reason, b.Observed.Reason = reason, reason
	return b
}

// ChangedByOthers has fields that others set: one that was taken back, one that could not be, and one that may stay.
func (b *Work) ChangedByOthers(refused bool) *Work {
	object := "StatefulSet " + b.Name
	b.Observed.Edits = []workload.ForeignEdit{
		{Object: object, Path: "spec.template.spec.containers[sidecar]", By: "kubectl-edit", Outcome: workload.EditRemoved,
			At: Now.Add(-20 * time.Minute)},
		{Object: object, Path: "metadata.labels[cost-center]", By: "kustomize-controller", Outcome: workload.EditShown}}
	if refused {
		b.Observed.Edits[0].Outcome = workload.EditRefused
	}
	return b
}

// Failed cannot go on by itself.
func (b *Work) Failed(reason i18n.Text) *Work {
	b.Queued("", 25*time.Minute).Because(reason)
	b.State, b.Observed.Failed, b.Observed.Node = workload.Failed, true, "gpu-05"
	b.PlacedAt = Now.Add(-12 * time.Minute)
	b.Observed.Detail = "Back-off restarting failed container notebook in pod " + b.Name + "-0"
	b.Observed.Steps[2].At, b.Observed.Steps[3].At = Now.Add(-12*time.Minute), Now.Add(-9*time.Minute)
	return b
}

// Stopped gave its GPU back.
func (b *Work) Stopped(lease workload.Lease) *Work {
	b.State, b.Desired, b.Lease, b.PlacedAt, b.CreatedAt = workload.Stopped, workload.WantStopped, lease, lease.From,
		lease.From
	b.Reason = i18n.T("workload.stopped_by", "Name", b.OwnerName)
	b.meters = []usage.Interval{{Workload: string(b.ID), Tenant: b.Tenant, Size: b.Size.Name,
		PerHour: b.Size.PricePerHour, From: lease.From, Until: lease.From.Add(time.Hour), Seats: b.Seats()}}
	return b
}

// Held began so long ago, had its GPU for so long, and has ended.
func (b *Work) Held(ago, took time.Duration) *Work {
	from := Now.Add(-ago)
	b.State, b.Desired, b.Lease = workload.Ended, workload.WantDeleted, workload.Lease{From: from, Until: from.Add(took)}
	b.CreatedAt, b.PlacedAt = from.Add(-time.Minute), from
	b.meters = []usage.Interval{{Workload: string(b.ID), Tenant: b.Tenant, Size: b.Size.Name,
		PerHour: b.Size.PricePerHour, From: from, Until: from.Add(took)}}
	return b
}

// Ending has been warned.
func (b *Work) Ending() *Work { b.WarnedAt = Now.Add(-time.Minute); return b }

// Shared is open to the team.
func (b *Work) Shared() *Work {
	b.Grants = append(b.Grants, workload.Grant{ID: "g-team", To: workload.ToTeam, Permission: workload.MayUse, At: Now})
	return b
}

// Volume gives it storage.
func (b *Work) Volume(gib int) *Work {
	b.StorageGiB, b.Workload.Volume = gib, b.Name+"-home"
	b.world.PutVolume(workload.Volume{Name: b.Workload.Volume, Tenant: b.Tenant, Owner: b.Owner,
		OwnerName: b.OwnerName, Cluster: b.Cluster, Namespace: b.Namespace, GiB: gib, Workload: b.ID, CreatedAt: b.CreatedAt})
	return b
}

// Add puts a workload into the world, with the events that made it.
func (w *World) Add(b *Work) {
	w.PutWork(b.Workload)
	w.Meter(b.ID, b.meters...)
	w.read(b.Workload)
	owner := identity.Person{ID: b.Owner, Name: b.OwnerName}
	asked := audit.Event{At: b.CreatedAt, Kind: audit.RequestSubmitted, Actor: b.Owner, ActorName: b.OwnerName,
		Address: "192.0.2.7", Via: identity.ViaToken, Credential: "gpp_q7", CredentialName: "nightly training"}
	created := audit.By(identity.System(), audit.WorkloadCreated, b.CreatedAt).For(owner)
	created.Rule = "shares-and-slices"
	approved := audit.ByRule(created.Rule, owner, audit.RequestAutoApproved, b.CreatedAt)
	if b.Size.Name == "h100" {
		created.Rule = "whole-gpus"
		approved = audit.By(w.Actor(Carla), audit.RequestApproved, b.CreatedAt)
	}
	for _, e := range []audit.Event{asked, approved, created} {
		e.Tenant, e.Request, e.Workload = b.Tenant, b.Request, string(b.ID)
		check(w.Append(bg, e))
	}
	if b.State == workload.Stopped && len(b.meters) > 0 {
		stopped := audit.By(w.Actor(owner), audit.WorkloadStopped, b.meters[len(b.meters)-1].Until)
		stopped.Tenant, stopped.Workload = b.Tenant, string(b.ID)
		check(w.Append(bg, stopped))
	}
}

func (w *World) embed(list []embed.Embed) {
	for _, e := range list {
		created := audit.By(w.Actor(Anna), audit.EmbedCreated, e.CreatedAt)
		created.Detail = i18n.T("embed.audit", "Panel", string(e.Panel), "Subject", e.Title, "ID", e.ID)
		switch e.Panel {
		case embed.Workload:
			created.Workload, created.Tenant = e.Subject, w.Work(workload.ID(e.Subject)).Tenant
		case embed.Team:
			created.Tenant = e.Subject
		}
		check(w.CreateEmbed(bg, e, len(embeds), created))
	}
}

// Ask is a request that waits for an approver.
func (w *World) Ask(id request.ID, p identity.Person, team, size, lease, reason string, since time.Duration) {
	s, _ := w.Site.Catalog.Size(size)
	image, _ := w.Site.Catalog.Image("jupyterlab")
	d, err := catalog.ParseDuration(lease)
	if err != nil {
		panic(err)
	}
	spec := request.Spec{Kind: catalog.Notebook, Tenant: team, Name: "nb-" + p.Short() + "-" + string(id[2:]), Size: s,
		Image: image, Cluster: "local", Lease: d, StorageGiB: 20, Reason: reason}
	facts := request.PolicyFacts(request.StartKind, spec, w.Actor(p), request.Facts{Now: Now.Add(-since)}, d.Std())
	w.PutRequest(request.Request{ID: id, Kind: request.StartKind, Asker: p.ID, AskerName: p.Name, State: request.Pending,
		CreatedAt: Now.Add(-since), ExpiresAt: Now.Add(request.TTL - since), Estimate: s.PricePerHour.For(d.Std()),
		Spec: spec,
		Decision: request.Decision{Rule: "whole-gpus", Steps: policy.OneOf(identity.Approver), Facts: &facts,
			Sentence: i18n.T("policy.approve", "By", i18n.T("role.approver"))}})
}

// Decided is one of last week that Carla decided after so long.
func (w *World) Decided(id request.ID, p identity.Person, size string, state request.State, note string,
	took time.Duration) {
	w.Ask(id, p, w.Actor(p).TenantNames()[0], size, "4h", "Last week's experiment.", 6*24*time.Hour)
	r := w.Request(id)
	sentence := map[request.State]string{request.Approved: "request.approved_by",
		request.Rejected: "request.rejected_by"}[state]
	r.State, r.DecidedAt = state, Now.Add(-6*24*time.Hour+took)
	r.Decision.By, r.Decision.ByName, r.Decision.Note, r.Decision.Sentence = Carla.ID, Carla.Name, note,
		i18n.T(sentence, "Name", Carla.Name)
	if state == request.Approved {
		r.Decision.Consents = []policy.Consent{{By: Carla.ID, ByName: Carla.Name, Note: note, At: r.DecidedAt,
			Approvers: []identity.Approvers{{Role: identity.Approver}}}}
	}
	w.PutRequest(r)
}

// cluster is the inventory of a cluster of seven nodes.
func (w *World) cluster() {
	h100 := map[string]string{"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
	with := func(labels map[string]string, name, value string) map[string]string {
		out := map[string]string{name: value}
		for k, v := range labels {
			out[k] = v
		}
		return out
	}
	node := func(name, model string, labels map[string]string, resources ...inventory.Resource) inventory.Node {
		return inventory.Node{Name: name, Ready: true, Model: model, Labels: labels, Resources: resources,
			CPU: inventory.Amount{Allocatable: 128000}, Memory: inventory.Amount{Allocatable: 1 << 40}}
	}
	held := func(namespace, pod, id string) inventory.Holder {
		return inventory.Holder{Namespace: namespace, Pod: pod, Workload: id, Count: 1}
	}
	closed := node("gpu-06", "NVIDIA-H100-80GB-HBM3", with(h100, "nvidia.com/mig.config", "all-disabled"),
		inventory.Resource{Name: "nvidia.com/gpu", Capacity: 4, Allocatable: 3})
	closed.Cordoned, closed.Warnings = true, []i18n.Text{i18n.T("inventory.cordoned"),
		i18n.T("inventory.gpus_unhealthy", "Count", 1)}
	s := inventory.Snapshot{Cluster: "local", TakenAt: Now.Add(-2 * time.Second), Nodes: []inventory.Node{
		node("cpu-01", "", nil),
		node("gpu-01", "NVIDIA-H100-80GB-HBM3", h100, inventory.Resource{Name: "nvidia.com/mig-1g.10gb", Capacity: 14,
			Allocatable: 14, Holders: []inventory.Holder{held("gpu-vision", "train-resnet-0", "w-train-resnet"),
				held("batch", "job-7", "")}}),
		node("gpu-02", "NVIDIA-H100-80GB-HBM3", h100, inventory.Resource{Name: "nvidia.com/mig-3g.40gb", Capacity: 4,
			Allocatable: 4, Holders: []inventory.Holder{held("gpu-vision", "llm-chat-0", "w-llm-chat")}}),
		node("gpu-03", "NVIDIA-H100-80GB-HBM3", with(h100, "nvidia.com/mig.config", "all-disabled"),
			inventory.Resource{Name: "nvidia.com/gpu", Capacity: 2, Allocatable: 2,
				Holders: []inventory.Holder{held("gpu-speech", "asr-train-0", "w-asr-train")}}),
		node("gpu-04", "NVIDIA-A40-12Q", map[string]string{"nvidia.com/gpu.product": "NVIDIA-A40-12Q",
			"nvidia.com/vgpu.present": "true", "nvidia.com/gpu.sharing-strategy": "none",
			"nvidia.com/gpu.replicas": "1"}, inventory.Resource{Name: "nvidia.com/gpu", Capacity: 4, Allocatable: 4,
			Holders: []inventory.Holder{held("gpu-vision", "render-farm-0", "w-render-farm")}}),
		node("gpu-05", "NVIDIA-L40S", map[string]string{"nvidia.com/gpu.product": "NVIDIA-L40S",
			"nvidia.com/gpu.sharing-strategy": "time-slicing"}, inventory.Resource{Name: "nvidia.com/gpu.shared", Capacity: 8,
			Allocatable: 8, Holders: []inventory.Holder{held("gpu-vision", "vlm-test-0", "w-vlm-test")}}),
		closed,
	}}
	layouts(s.Nodes)
	w.PutInventory(s)
}

// layouts are what the node agents tell of two nodes.
func layouts(nodes []inventory.Node) {
	for i, n := range nodes {
		switch n.Name {
		case "gpu-01":
			nodes[i].Cards.Each = []inventory.PhysicalCard{{UUID: "GPU-0", Model: "NVIDIA H100 80GB HBM3",
				Axis: 8,
				Slices: []inventory.Placement{{UUID: "MIG-0", Profile: "1g.10gb", Start: 0, Size: 1},
					{UUID: "MIG-1", Profile: "3g.40gb", Start: 4, Size: 4}},
				Fits: []inventory.Fitting{{Profile: "1g.10gb", Size: 1, Starts: []int{1, 2, 3}},
					{Profile: "2g.20gb", Size: 2, Starts: []int{2}}}},
				{Index: 1, UUID: "GPU-1", Model: "NVIDIA H100 80GB HBM3", Axis: 8}, {Index: 2, Lost: true}}
		case "gpu-03":
			nodes[i].Cards.Each = []inventory.PhysicalCard{{UUID: "GPU-2", Model: "NVIDIA H100 80GB HBM3"}}
		}
	}
}

// people are all of this world.
func people() []identity.Person {
	return []identity.Person{Anna, Ben, Carla, Dora, Eli, Nemo, Olaf}
}

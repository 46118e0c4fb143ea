package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// dataset is one that nobody has made before.
func (w *world) dataset(team string) string {
	w.t.Helper()
	name := fmt.Sprintf("set-%d", w.next())
	w.offerDataset(workload.DatasetDraft{Team: team, Name: name, Claim: "archive-nfs", Cluster: "main"})
	return name
}

func (w *world) offerDataset(d workload.DatasetDraft) {
	w.t.Helper()
	if _, err := w.workloads.OfferDataset(w.t.Context(), w.actorOf(admin), d); err != nil {
		w.t.Fatal(err)
	}
}

// reading is a start of the developer with data sets.
func (w *world) reading(kind catalog.WorkloadKind, image string, sets ...string) (request.Request, error) {
	w.t.Helper()
	d := request.Draft{Kind: kind, Tenant: "vision", Size: "cpu", Image: image, Lease: "1h", Reason: "a test",
		Datasets: sets}
	if kind == catalog.Endpoint {
		d.Model = &catalog.Model{Name: "s3://models/owner/model"}
	}
	if kind == catalog.Job {
		d.CommandLine = "ls /datasets"
	}
	return w.requests.Requests.Submit(w.t.Context(), w.actorOf(developer), d)
}

// TestDataset goes the whole way: an owner offers a directory of shared storage, a member's workload reads it, neither
// the data set nor its storage goes while somebody needs it, and the record tells of it.
func TestDataset(t *testing.T) {
	w := newWorld(t)
	w.share("vision", "data")
	olga, dora := w.signedIn(owner), w.signedIn(developer)
	offer := url.Values{"name": {"imagenet"}, "title": {"ImageNet 2012"}, "source": {"volume/data"},
		"claim": {"typed before"}, "subPath": {"images/2012/"}, "note": {"For research alone."}}
	if a := olga.post("/team/vision/datasets", offer); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := olga.post("/team/vision/datasets", offer); a.status != http.StatusUnprocessableEntity ||
		!strings.Contains(a.body, "already") {
		t.Errorf("the name is had twice: %d", a.status)
	}
	for _, at := range []string{"/team/vision/datasets", "/storage", "/start?tenant=vision"} {
		if a := dora.get(at); !strings.Contains(a.body, "/datasets/imagenet") || !strings.Contains(a.body, "ImageNet 2012") {
			t.Errorf("%s does not show it to a member", at)
		}
	}
	spec := url.Values{"tenant": {"vision"}, "kind": {"notebook"}, "size": {"cpu"}, "image": {"jupyterlab"},
		"lease": {"1h"}, "datasets": {"imagenet"}, "manifest": {"1"}}
	if a := dora.post("/start/summary", spec); !strings.Contains(a.body, "claimName: vision.data") ||
		!strings.Contains(a.body, "subPath: images/2012") || !strings.Contains(a.body, "mountPath: /datasets/imagenet") {
		t.Error("the summary's objects do not have it")
	}
	started := dora.post("/start", spec)
	if started.status != http.StatusSeeOther {
		t.Fatalf("%d %s", started.status, started.body)
	}
	id := workload.ID(strings.TrimPrefix(started.header.Get("Location"), "/workloads/"))
	item, err := w.store.Workload(t.Context(), id)
	if err != nil || len(item.Mounts) != 1 || item.Mounts[0].Dataset != "imagenet" || !item.Mounts[0].ReadOnly ||
		item.Mounts[0].Claim != "vision.data" || item.Mounts[0].SubPath != "images/2012" {
		t.Fatal(item.Mounts, err)
	}
	if a := dora.get("/workloads/" + string(id)); !strings.Contains(a.body, "/datasets/imagenet") {
		t.Error("the workload's page does not say that it has it")
	}

	for _, act := range []func() error{
		func() error { return w.workloads.WithdrawDataset(t.Context(), w.actorOf(owner), "vision", "imagenet") },
		func() error { return w.workloads.EndVolume(t.Context(), w.actorOf(owner), "vision", "data", "data") },
	} {
		if err := act(); !fault.Is(err, fault.Conflict) || !strings.Contains(fmt.Sprint(fault.As(err).Sentence), item.Name) {
			t.Errorf("it goes while a workload has it, or who has it is not told: %v", err)
		}
	}
	if a := olga.post("/team/vision/datasets/imagenet/delete", nil); a.status != http.StatusConflict ||
		!strings.Contains(a.body, item.Name) {
		t.Errorf("the page does not say who has it: %d", a.status)
	}
	w.end(id)
	if err := w.workloads.EndVolume(t.Context(), w.actorOf(owner), "vision", "data", "data"); !fault.Is(err,
		fault.Conflict) || fault.As(err).Sentence.ID != "volume.has_datasets" {
		t.Errorf("storage goes from under a data set: %v", err)
	}
	offer.Set("title", "ImageNet")
	if a := olga.post("/team/vision/datasets/imagenet", offer); a.status != http.StatusSeeOther {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := olga.post("/team/vision/datasets/imagenet/delete", nil); a.status != http.StatusSeeOther {
		t.Errorf("%d %s", a.status, a.body)
	}
	if err := w.workloads.EndVolume(t.Context(), w.actorOf(owner), "vision", "data", "data"); err != nil {
		t.Error(err)
	}
	for _, kind := range []audit.Kind{audit.DatasetOffered, audit.DatasetChanged, audit.DatasetWithdrawn} {
		if events := w.events(kind); len(events) != 1 || events[0].Tenant != "vision" || events[0].Volume != "vision.data" {
			t.Errorf("%s on record: %+v", kind, events)
		}
	}
}

// TestEveryKindReadsDatasets: notebook, endpoint and job have them, also on a claim that the portal has not made.
func TestEveryKindReadsDatasets(t *testing.T) {
	w := newWorld(t)
	w.offerDataset(workload.DatasetDraft{Team: "vision", Name: "archive", Claim: "archive-nfs"})
	for kind, image := range map[catalog.WorkloadKind]string{catalog.Notebook: "jupyterlab", catalog.Endpoint: "triton",
		catalog.Job: "jupyterlab"} {
		r, err := w.reading(kind, image, "archive", " archive ")
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if m := r.Spec.Mounts; len(m) != 1 || m[0].Claim != "archive-nfs" || !m[0].ReadOnly || m[0].Name != "" ||
			m[0].Path() != "/datasets/archive" {
			t.Errorf("%s: %+v", kind, m)
		}
	}
}

// TestDatasetsAreTheTeams: what is not the team's to offer is refused with the reason, and what is elsewhere or gone is
// told before a start.
func TestDatasetsAreTheTeams(t *testing.T) {
	w := newWorld(t)
	home := w.running(developer, "vision").Volume
	own, err := w.own(developer, "vision", "corpus", "", 10)
	if err != nil {
		t.Fatal(err)
	}
	w.share("speech", "theirs")
	for name, c := range map[string]struct {
		draft workload.DatasetDraft
		field string
		wrong string
	}{
		"somebody's home":       {workload.DatasetDraft{Claim: home}, "claim", "dataset.claim_wrong"},
		"a personal volume":     {workload.DatasetDraft{Claim: own.Name}, "claim", "dataset.claim_wrong"},
		"another team's volume": {workload.DatasetDraft{Volume: "theirs"}, "volume", "dataset.volume_unknown"},
		"nothing":               {workload.DatasetDraft{}, "source", "dataset.source_wrong"},
		"both":                  {workload.DatasetDraft{Volume: "a", Claim: "b"}, "source", "dataset.source_wrong"},
		"a path that climbs":    {workload.DatasetDraft{Claim: "x", SubPath: "a/../.."}, "subPath", "dataset.sub_path_wrong"},
		"a path from the root":  {workload.DatasetDraft{Claim: "x", SubPath: "/etc"}, "subPath", "dataset.sub_path_wrong"},
		"a long title": {workload.DatasetDraft{Claim: "x", Title: strings.Repeat("é", 81)}, "title",
			"tenant.text_too_long"},
		"a cluster of nobody": {workload.DatasetDraft{Claim: "x", Cluster: "moon"}, "cluster", "volume.cluster_unknown"},
	} {
		c.draft.Team, c.draft.Name = "vision", "set"
		if _, err := w.workloads.OfferDataset(t.Context(), w.actorOf(owner), c.draft); wrongField(err, c.field) != c.wrong {
			t.Errorf("%s: want %s, got %v", name, c.wrong, err)
		}
	}
	w.offerDataset(workload.DatasetDraft{Team: "speech", Name: "voices", Claim: "voices-nfs"})
	w.offerDataset(workload.DatasetDraft{Team: "vision", Name: "taken", Claim: "soon-a-home"})
	err = w.store.ChangeExclusively(t.Context(), func(tx workload.Tx) error {
		if err := tx.SaveVolume(t.Context(), workload.Volume{Name: "soon-a-home", Tenant: "vision", Owner: own.Owner,
			Cluster: "main", GiB: 1, CreatedAt: w.clock.now(), UpdatedAt: w.clock.now()}); err != nil {
			return err
		}
		return tx.SaveDataset(t.Context(), workload.Dataset{Team: "vision", Name: "far",
			CreatedAt: w.clock.now(), UpdatedAt: w.clock.now(),
			Source: workload.DatasetSource{Claim: "far-nfs", Cluster: "moon"}})
	})
	if err != nil {
		t.Fatal(err)
	}
	for set, wrong := range map[string]string{"voices": "request.dataset_unknown", "taken": "request.dataset_gone",
		"far": "request.dataset_elsewhere"} {
		d := request.Draft{Kind: catalog.Notebook, Tenant: "vision", Size: "cpu", Image: "jupyterlab", Lease: "1h",
			Reason: "a test", Cluster: "main", Datasets: []string{set}}
		if _, err := w.requests.Requests.Submit(t.Context(), w.actorOf(developer), d); wrongField(err, "datasets") != wrong {
			t.Errorf("%s: want %s, got %v", set, wrong, err)
		}
	}
}

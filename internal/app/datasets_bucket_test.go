package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

const rclone = "registry.example.org/rclone@sha256:0000000000000000000000000000000000000000000000000000000000000000"

func copies(c *config.Config) { c.WorkloadSecrets.RcloneImage = rclone }

// opens makes a secret of the team vision that opens buckets.
func (w *world) opens(name string) secret.Secret {
	w.t.Helper()
	w.signedIn(owner)
	s, err := w.secretService.Create(w.t.Context(), w.actorOf(owner), secret.Owner{Tenant: "vision"}, secret.Draft{
		Name: name, Kind: secret.S3, Values: map[string]string{"accessKey": "corpus-reader",
			"secretKey": "canary-of-the-bucket", "endpoint": "https://s3.example.org"}})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// TestDatasetOfABucket goes the whole way: an owner offers a bucket, a member starts with it, the copy has the team's
// key and the member's program does not, and a start without that key is refused.
func TestDatasetOfABucket(t *testing.T) {
	w := newWorld(t, copies)
	olga, dora := w.signedIn(owner), w.signedIn(developer)
	keys := w.opens("corpus-keys")
	if a := olga.get("/team/vision/datasets"); !strings.Contains(a.body, "an object storage bucket") ||
		!strings.Contains(a.body, "corpus-keys") {
		t.Errorf("the form has no buckets: %d", a.status)
	}
	offer := url.Values{"name": {"corpus"}, "source": {"bucket"}, "claim": {"typed before"}, "secret": {"corpus-keys"},
		"bucket": {"s3://corpus/2026/"}, "gib": {"50"}}
	if a := olga.post("/team/vision/datasets", offer); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := dora.get("/team/vision/datasets"); !strings.Contains(a.body, "s3://corpus/2026") ||
		!strings.Contains(a.body, "50 GiB") {
		t.Error("a member does not see where it is, or how large")
	}
	spec := url.Values{"tenant": {"vision"}, "kind": {"notebook"}, "size": {"cpu"}, "image": {"jupyterlab"},
		"lease": {"1h"}, "datasets": {"corpus"}, "manifest": {"1"}}
	if a := dora.post("/start/summary", spec); !strings.Contains(a.body, "mountPath: /datasets/corpus") ||
		!strings.Contains(a.body, "value: corpus/2026") || !strings.Contains(a.body, rclone) ||
		!strings.Contains(a.body, "sizeLimit: 50Gi") {
		t.Error("the summary's objects do not copy it")
	}
	started := dora.post("/start", spec)
	if started.status != http.StatusSeeOther {
		t.Fatalf("%d %s", started.status, started.body)
	}
	id := workload.ID(strings.TrimPrefix(started.header.Get("Location"), "/workloads/"))
	item, err := w.store.Workload(t.Context(), id)
	if err != nil || len(item.Mounts) != 1 || item.Mounts[0].Bucket != (workload.Bucket{URL: "s3://corpus/2026",
		Secret: keys.ID, Image: rclone}) || !item.Mounts[0].ReadOnly {
		t.Fatalf("%+v %v", item.Mounts, err)
	}
	if len(item.Secrets) != 1 || !item.Secrets[0].Hidden() || item.Secrets[0].ID != keys.ID {
		t.Errorf("want the team's secret for the copy alone, got %+v", item.Secrets)
	}
	same(t, "what the copy signs in with", []string{"canary-of-the-bucket", "corpus-reader", "https://s3.example.org"},
		w.values(id))
	ticked, err := w.requests.Requests.Submit(t.Context(), w.actorOf(developer), request.Draft{Kind: "notebook",
		Tenant: "vision", Size: "cpu", Image: "jupyterlab", Lease: "1h", Reason: "a test", Datasets: []string{"corpus"},
		Secrets: []string{"corpus-keys"}})
	if err != nil || len(ticked.Spec.Secrets) != 1 || ticked.Spec.Secrets[0].Hidden() {
		t.Errorf("want the secret once, and for the program too: %+v %v", ticked.Spec.Secrets, err)
	}
	if err := w.secretService.Delete(t.Context(), w.actorOf(owner), keys.ID); err != nil {
		t.Fatal(err)
	}
	_, err = w.reading(catalog.Notebook, "jupyterlab", "corpus")
	if wrongField(err, "datasets") != "request.dataset_secret_gone" {
		t.Errorf("a start without the key: %v", err)
	}
	if a := olga.get("/team/vision/datasets/corpus"); a.status != http.StatusOK || !strings.Contains(a.body,
		"s3://corpus/2026") {
		t.Errorf("an owner cannot mend it: %d", a.status)
	}
}

// TestBucketsThatCannotBeOffered: each thing that is wrong beside its field.
func TestBucketsThatCannotBeOffered(t *testing.T) {
	w := newWorld(t, copies)
	w.opens("corpus-keys")
	w.keep(owner, secret.Owner{Tenant: "vision"}, "hub", "a-token")
	right := workload.DatasetDraft{Team: "vision", Name: "set", Bucket: "s3://corpus", Secret: "corpus-keys", GiB: 1}
	for name, c := range map[string]struct {
		change       func(*workload.DatasetDraft)
		field, wrong string
	}{
		"no scheme": {func(d *workload.DatasetDraft) { d.Bucket = "corpus" }, "bucket", "dataset.bucket_wrong"},
		"nothing":   {func(d *workload.DatasetDraft) { d.Bucket = "s3://" }, "bucket", "dataset.bucket_wrong"},
		"options of rclone": {func(d *workload.DatasetDraft) { d.Bucket = "s3://a,env_auth=true:b" }, "bucket",
			"dataset.bucket_wrong"},
		"a path that climbs": {func(d *workload.DatasetDraft) { d.Bucket = "s3://corpus/a/../b" }, "bucket",
			"dataset.bucket_wrong"},
		"a line break": {func(d *workload.DatasetDraft) { d.Bucket = "s3://corpus/a\nb" }, "bucket", "dataset.bucket_wrong"},
		"a directory apart": {func(d *workload.DatasetDraft) { d.SubPath = "a" }, "subPath",
			"dataset.bucket_sub_path"},
		"a secret of another kind": {func(d *workload.DatasetDraft) { d.Secret = "hub" }, "secret", "dataset.bucket_secret"},
		"no secret":                {func(d *workload.DatasetDraft) { d.Secret = "" }, "secret", "dataset.bucket_secret"},
		"no size":                  {func(d *workload.DatasetDraft) { d.GiB = 0 }, "gib", "volume.size_wrong"},
		"too large":                {func(d *workload.DatasetDraft) { d.GiB = 1 << 30 }, "gib", "volume.size_wrong"},
		"and a claim":              {func(d *workload.DatasetDraft) { d.Claim = "x" }, "source", "dataset.source_wrong"},
	} {
		d := right
		c.change(&d)
		if _, err := w.workloads.OfferDataset(t.Context(), w.actorOf(owner), d); wrongField(err, c.field) != c.wrong {
			t.Errorf("%s: want %s, got %v", name, c.wrong, err)
		}
	}
	w.offerDataset(right)
}

// TestSiteThatCopiesNothing: without an image no bucket is offered, and one from before cannot be started with.
func TestSiteThatCopiesNothing(t *testing.T) {
	w := newWorld(t)
	w.opens("corpus-keys")
	if a := w.signedIn(owner).get("/team/vision/datasets"); strings.Contains(a.body, "an object storage bucket") {
		t.Error("the form has buckets")
	}
	d := workload.DatasetDraft{Team: "vision", Name: "set", Bucket: "s3://corpus", Secret: "corpus-keys", GiB: 1}
	if _, err := w.workloads.OfferDataset(t.Context(), w.actorOf(owner), d); wrongField(err, "bucket") !=
		"dataset.bucket_off" {
		t.Errorf("offered: %v", err)
	}
	err := w.store.ChangeExclusively(t.Context(), func(tx workload.Tx) error {
		return tx.SaveDataset(t.Context(), workload.Dataset{Team: "vision", Name: "before", CreatedAt: w.clock.now(),
			UpdatedAt: w.clock.now(), Source: workload.DatasetSource{Bucket: "s3://corpus", Secret: "corpus-keys", GiB: 1}})
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.reading(catalog.Notebook, "jupyterlab", "before"); wrongField(err, "datasets") != "dataset.bucket_off" {
		t.Errorf("started: %v", err)
	}
}

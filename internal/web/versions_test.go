package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestVersionsOnThePage: what is on its way, what failed and why, and what can come back; a form that cannot be comes
// back with what is wrong beside the field, and a version that was sent is on its way.
func TestVersionsOnThePage(t *testing.T) {
	t.Parallel()
	w := webtest.Versioned(t)
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-search"), http.StatusOK)
	if got := textOf(part(doc, "version-rolling")); !strings.Contains(got, "Version 3 is starting") ||
		!strings.Contains(got, "Version 2 serves until then") {
		t.Errorf("what is on its way: %q", got)
	}
	if part(doc, "version").Length() != 3 || part(doc, "version-back").Length() != 0 ||
		part(doc, "version-new").Length() != 0 {
		t.Error("want three versions, and nothing to start while one is on its way")
	}
	wantRedirect(t, w.Post(webtest.Anna, "/workloads/w-search/rollback", url.Values{}))
	if now := w.Work("w-search"); now.Revisions.Rollout != nil || now.Model.Name != "Qwen/Qwen2.5-14B-Instruct" {
		t.Errorf("want version 2 to go on, got %+v", now.Revisions)
	}

	doc = read(t, w.Get(webtest.Anna, "/workloads/w-summary"), http.StatusOK)
	if got := textOf(part(doc, "version-rolling")); !strings.Contains(got, "Version 2 gets 10 % of the calls") {
		t.Errorf("a canary: %q", got)
	}
	wantRedirect(t, w.Post(webtest.Anna, "/workloads/w-summary/promote", url.Values{}))
	if now := w.Work("w-summary"); now.Revisions.Rollout.Canary != nil {
		t.Error("want it to take over")
	}

	const path = "/workloads/w-rerank"
	doc = read(t, w.Get(webtest.Anna, path), http.StatusOK)
	if got := textOf(part(doc, "version-failed")); !strings.Contains(got, "Version 3 did not become ready") ||
		!strings.Contains(got, "Version 2 continues") {
		t.Errorf("what has failed: %q", got)
	}
	if part(doc, "version-back").Length() != 1 || part(doc, "version-new").AttrOr("href", "") != path+"/versions" {
		t.Error("want one version to go back to, and a way to another one")
	}
	if got := textOf(part(read(t, w.Get(webtest.Anna, path+"/versions"), http.StatusOK), "version-plan")); got == "" {
		t.Error("want it said how a version comes up")
	}
	same := url.Values{"image": {w.Work("w-rerank").Image.Name}, "model.name": {"x y"}, "readyWithin": {"9d"}}
	bad := read(t, w.Post(webtest.Anna, path+"/versions", same), http.StatusUnprocessableEntity)
	if part(bad, "form-errors").Length() != 1 || part(bad, "version-model").AttrOr("value", "") != "x y" {
		t.Error("want what is wrong beside what was typed")
	}
	wantRedirect(t, w.Post(webtest.Anna, path+"/rollback", url.Values{"version": {"1"}}))
	if now := w.Work("w-rerank"); now.Revision() != 4 || now.Model.Name != "BAAI/bge-reranker-base" {
		t.Errorf("want version 1 again, got %d with %s", now.Revision(), now.Model.Name)
	}
	if got := w.Get(webtest.Ben, path+"/versions"); got.Code == http.StatusOK {
		t.Error("want a colleague kept out of the form")
	}
	if part(read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK), "workload-versions").Length() != 0 {
		t.Error("want no such card on a notebook")
	}
}

// TestAVersionThatStopsTheOtherFirstIsAgreedTo: the page says so before anything is sent, and nothing happens without
// the tick.
func TestAVersionThatStopsTheOtherFirstIsAgreedTo(t *testing.T) {
	t.Parallel()
	w := webtest.Versioned(t)
	const path = "/workloads/w-rerank/versions"
	full := w.Work("w-rerank")
	full.Volume, full.StorageGiB, full.Image.Home = "rerank-home", 10, "/models"
	full.Replicas = workload.NewReplicas(workload.Range{}, autoscale.Policy{})
	w.PutWork(full)
	doc := read(t, w.Get(webtest.Anna, path), http.StatusOK)
	if got := textOf(part(doc, "version-plan")); !strings.Contains(got, "version 2 stops first") ||
		!strings.Contains(got, "storage") {
		t.Errorf("want why it stops first, got %q", got)
	}
	form := url.Values{"image": {full.Image.Name}, "model.name": {"Qwen/Qwen3-Reranker-4B"}, "readyWithin": {"10m"}}
	read(t, w.Post(webtest.Anna, path, form), http.StatusConflict)
	if w.Work("w-rerank").Revisions.Rollout != nil {
		t.Fatal("want nothing done without the tick")
	}
	form.Set("stopFirst", "on")
	wantRedirect(t, w.Post(webtest.Anna, path, form))
	if now := w.Work("w-rerank"); now.Revision() != 4 || !now.Revisions.Rollout.StopFirst || now.State != workload.Queued {
		t.Errorf("want it to start after the other, got %+v", now.Revisions.Rollout)
	}
}

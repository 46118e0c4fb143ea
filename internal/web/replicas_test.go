package web_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestReplicasOnThePage: how many answer, what all of them cost, and another number within the range; what is no number
// or too many is said beside the field, and who may only look is not offered to change it.
func TestReplicasOnThePage(t *testing.T) {
	t.Parallel()
	w := webtest.Scaled(t)
	const path = "/workloads/w-ranker"
	doc := read(t, w.Get(webtest.Anna, path), http.StatusOK)
	for hook, want := range map[string]string{"replicas-ready": "1 of 2", "replicas-range": "1 to 3",
		"replicas-price": "€1.10/h", "price": "€1.10/h"} {
		if got := textOf(part(doc, hook)); got != want {
			t.Errorf("%s: want %q, got %q", hook, want, got)
		}
	}
	if got := part(doc, "replicas-change").AttrOr("href", ""); got != path+"/replicas" {
		t.Fatalf("want a way to change it, got %q", got)
	}
	if got := part(read(t, w.Get(webtest.Eli, path), http.StatusOK), "replicas-change").Length(); got != 0 {
		t.Error("want no button for somebody who may only look")
	}
	ask := read(t, w.Get(webtest.Anna, path+"/replicas"), http.StatusOK)
	if got := part(ask, "replicas-wanted").AttrOr("value", ""); got != "2" {
		t.Errorf("want the number of now filled in, got %q", got)
	}
	for _, typed := range []string{"two", "0", "4"} {
		answer := w.Post(webtest.Anna, path+"/replicas", url.Values{"wanted": {typed}})
		bad := read(t, answer, http.StatusUnprocessableEntity)
		if part(bad, "form-errors").Length() != 1 || part(bad, "replicas-wanted").AttrOr("value", "") != typed {
			t.Errorf("%q: want what is wrong beside what was typed", typed)
		}
	}
	if got := w.Work("w-ranker").Replicas.Want(); got != 2 {
		t.Fatalf("want nothing changed so far, got %d", got)
	}
	wantRedirect(t, w.Post(webtest.Anna, path+"/replicas", url.Values{"wanted": {"3"}}))
	if got := w.Work("w-ranker").Replicas.Want(); got != 3 {
		t.Errorf("want three, got %d", got)
	}
	if got := part(read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK), "workload-replicas").Length(); got != 0 {
		t.Error("want no such card on a notebook")
	}
}

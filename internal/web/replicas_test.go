package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestNodesOnThePage: the pods of a group are its nodes, whose number stays.
func TestNodesOnThePage(t *testing.T) {
	t.Parallel()
	doc := read(t, sceneWorld(t, "workload", "endpoint, runs on four nodes").Get(webtest.Anna, "/workloads/w-llm-large"),
		http.StatusOK)
	card := part(doc, "workload-replicas")
	if title, ready := textOf(card.Find("h2, h3").First()), textOf(part(doc, "replicas-ready")); title != "Nodes" ||
		ready != "4 of 4" {
		t.Errorf("want 4 of 4 nodes, got %q %q", ready, title)
	}
	if card.Find("a").Length()+part(doc, "replicas-range").Length() != 0 {
		t.Errorf("another number is offered: %q", textOf(card))
	}
}

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
	wantText(t, doc, "reason", "1 of 2 replicas are ready",
		"ranker-5c8644c5cd-7wvw1: The model server is starting and loads its model.")
	wantText(t, doc, "state", "Running, 1 of 2")
	if got := part(doc, "to-events").AttrOr("href", ""); got != path+"/events" {
		t.Errorf("want a way to the events, got %q", got)
	}
	if got := part(doc, "scaling-change"); got.Length() != 1 || got.AttrOr("href", "") != path+"/scaling" ||
		In(part(doc, "workload-replicas"), "scaling-change").Length() != 0 {
		t.Errorf("want how it scales in the menu of the page, beside no other button, got %d", got.Length())
	}
	wantText(t, doc, "workload-gpu", "GPU use of ranker-5c8644c5cd-7wvw0, last hour")
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
	if got := part(read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK),
		"workload-replicas").Length(); got != 0 {
		t.Error("want no such card on a notebook")
	}
}

// TestTheGPUOfEachReplica: where there are several, the page shows what the GPU of each does.
func TestTheGPUOfEachReplica(t *testing.T) {
	t.Parallel()
	w := webtest.Scaling(t)
	rows := read(t, w.Get(webtest.Anna, "/workloads/w-assistant"), http.StatusOK).Find("[data-test=replica-gpu]")
	if rows.Length() != 3 {
		t.Fatalf("want a row for each of three, got %d", rows.Length())
	}
	if got := textOf(rows.Last()); !strings.Contains(got, "assistant-5c8644c5cd-7wvw2") ||
		!strings.Contains(got, "gpu-02") ||
		!strings.Contains(got, "ready") || !strings.Contains(got, "49\u202f%") && !strings.Contains(got, "49 %") ||
		!strings.Contains(got, "GiB") {
		t.Errorf("the last: %q", got)
	}
	one := read(t, w.Get(webtest.Anna, "/workloads/w-summaries"), http.StatusOK)
	if one.Find("[data-test=replica-gpu]").Length() != 0 {
		t.Error("a table for an endpoint without several replicas")
	}
}

// TestScalingOnThePage: how it scales, why it has fewer than it needs, and another way to scale; a form that cannot be
// comes back with what is wrong beside the field.
func TestScalingOnThePage(t *testing.T) {
	t.Parallel()
	w := webtest.Scaling(t)
	const path = "/workloads/w-assistant"
	doc := read(t, w.Get(webtest.Anna, path), http.StatusOK)
	for hook, want := range map[string]string{"replicas-ready": "3 of 3",
		"scaling-metric": "Concurrent requests, 16 per " +
			"replica", "scaling-down": "5 min"} {
		if got := textOf(part(doc, hook)); got != want {
			t.Errorf("%s: want %q, got %q", hook, want, got)
		}
	}
	if got := textOf(part(doc, "replicas-short")); !strings.Contains(got, "at most 3 replicas are possible now") {
		t.Errorf("want why there are no more, got %q", got)
	}
	if part(doc, "replicas-change").Length() != 0 || part(doc, "scaling-change").AttrOr("href", "") != path+"/scaling" {
		t.Error("want a way to change how it scales, and none to set the number")
	}
	good := url.Values{"min": {"2"}, "metric": {"requests"}, "target": {"7.5"}, "scaleDownAfter": {"2m"}}
	for field, typed := range map[string]string{"min": "5", "metric": "gpus", "target": "0", "scaleDownAfter": "1s"} {
		bad := url.Values{field: {typed}}
		for name, value := range good {
			if name != field {
				bad[name] = value
			}
		}
		answer := read(t, w.Post(webtest.Anna, path+"/scaling", bad), http.StatusUnprocessableEntity)
		if part(answer, "form-errors").Length() != 1 {
			t.Errorf("%s %q: want what is wrong", field, typed)
		}
	}
	wantRedirect(t, w.Post(webtest.Anna, path+"/scaling", good))
	r := w.Work("w-assistant").Replicas
	want := autoscale.Policy{Metric: autoscale.Requests, Target: 7.5, ScaleDownAfter: catalog.Duration(2 * time.Minute)}
	if r.Lowest() != 2 || r.Most() != 4 || r.Scaling != want {
		t.Errorf("want what was typed, got %+v", r)
	}
	asleep := read(t, w.Get(webtest.Anna, "/workloads/w-summaries"), http.StatusOK)
	if got := textOf(part(asleep, "replicas-ready")); !strings.Contains(got, "the first request wakes it") {
		t.Errorf("want it to say that it sleeps, got %q", got)
	}
	if got := textOf(part(asleep, "state")); !strings.Contains(got, "Asleep") {
		t.Errorf("want its state, got %q", got)
	}
}

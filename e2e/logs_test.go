package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// writes has a container write: more behind what it has written.
func writes(t *testing.T, w map[string]any, text string) {
	t.Helper()
	writesTo(t, http.MethodPost, w, "", text)
}

func writesTo(t *testing.T, method string, w map[string]any, query, text string) {
	t.Helper()
	path := fmt.Sprintf("/log?pod=%s/%s%s", w["namespace"], w["pod"], query)
	controlWith(t, method, path, strings.NewReader(text))
}

// tokenOf is the secret that the portal mounted.
func tokenOf(t *testing.T, w map[string]any) string {
	t.Helper()
	s, err := kube(t).CoreV1().Secrets(str(w["namespace"])).Get(context.Background(), str(w["name"]), metav1.GetOptions{})
	if err != nil || len(s.Data["token"]) == 0 {
		t.Fatalf("no secret of %s: %v", w["name"], err)
	}
	return string(s.Data["token"])
}

// crash has the container of a workload end again and again, as its kubelet would say it.
func crash(t *testing.T, w map[string]any) {
	t.Helper()
	now := time.Now().UTC().Format(time.RFC3339)
	kubeletSays(t, w, `{"conditions":[{"type":"Ready","status":"False","lastTransitionTime":"`+now+`"}],`+
		`"containerStatuses":[{"name":"main","ready":false,"restartCount":4,"image":"x","imageID":"x",`+
		`"state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 40s restarting failed container"}},`+
		`"lastState":{"terminated":{"exitCode":1,"reason":"Error"}}}]}`)
}

// kubeletSays sets a part of the status of a workload's pod.
func kubeletSays(t *testing.T, w map[string]any, status string) {
	t.Helper()
	if _, err := kube(t).CoreV1().Pods(str(w["namespace"])).Patch(context.Background(), str(w["pod"]),
		types.StrategicMergePatchType, []byte(`{"status":`+status+`}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

// TestLogsOverREST: the protocol of the kubelet behind a real API server: lines, bounds, what is hidden, what is
// refused, and who may read.
func TestLogsOverREST(t *testing.T) {
	dana := as(t, "dana")
	w := dana.running("cpu", map[string]any{"name": "chatty"})
	logs := "/workloads/" + str(w["id"]) + "/logs"
	read := func(query string) string {
		t.Helper()
		a := dana.call(http.MethodGet, logs+query, nil)
		if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Fatalf("%s: %d %s %s", query, a.Status, a.Header.Get("Content-Type"), a.Raw)
		}
		return string(a.Raw)
	}
	token := tokenOf(t, w)
	writesTo(t, http.MethodPut, w, "", "first\nopen http://localhost:8888/?token="+token+
		"\n\x1b[32mgreen\x1b[0m \xff\x00\nlast\n")
	if got := read(""); got != "first\nopen http://localhost:8888/?token=********\ngreen \ufffd\ufffd\nlast\n" {
		t.Errorf("%q", got)
	}
	if got := read("?tail=1"); got != "last\n" {
		t.Errorf("tail: %q", got)
	}
	if got := read("?tail=1&timestamps=true&since=1h&container=main"); !strings.HasSuffix(got, "Z last\n") {
		t.Errorf("timestamps: %q", got)
	}
	writes(t, w, strings.Repeat("x", 1<<20)+"\nafter\n")
	if got := read("?tail=2"); len(got) > 17<<10 || !strings.HasSuffix(got, " bytes omitted]\nafter\n") {
		t.Errorf("%d bytes: …%q", len(got), got[max(0, len(got)-60):])
	}
	for query, want := range map[string]int{"?previous=true": http.StatusConflict,
		"?container=nope": http.StatusUnprocessableEntity, "?since=soon": http.StatusUnprocessableEntity,
		"?tail=0": http.StatusUnprocessableEntity, "?lines=3": http.StatusUnprocessableEntity} {
		if a := dana.call(http.MethodGet, logs+query, nil); a.Status != want {
			t.Errorf("%s: want %d, got %d %s", query, want, a.Status, a.Raw)
		}
	}
	for who, want := range map[string]int{"nora": http.StatusNotFound, "devi": http.StatusForbidden,
		"audrey": http.StatusForbidden} {
		if a := as(t, who).call(http.MethodGet, logs, nil); a.Status != want {
			t.Errorf("%s: want %d, got %d", who, want, a.Status)
		}
	}
	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+str(w["id"])+"/share", map[string]any{"shared": true})
	if a := as(t, "devi").call(http.MethodGet, logs+"?tail=1", nil); a.Status != http.StatusOK {
		t.Errorf("shared with devi: %d", a.Status)
	}
	followed(t, w)
	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+str(w["id"])+"/stop", nil)
	dana.reaches(str(w["id"]), "stopped")
	if a := dana.call(http.MethodGet, logs, nil); a.Status != http.StatusConflict {
		t.Errorf("without a pod: %d %s", a.Status, a.Raw)
	}
}

// followed reads on while the container writes.
func followed(t *testing.T, w map[string]any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		portal.URL+"/api/v1/workloads/"+str(w["id"])+"/logs?follow=true&tail=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+portal.Tokens["dana"])
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for _, want := range []string{"after", "step 1", "step 2"} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("want %q, got %q, %v", want, lines.Text(), lines.Err())
		}
		writes(t, w, map[string]string{"after": "step 1", "step 1": "step 2", "step 2": "unread"}[want])
	}
}

// TestWhyAStartFailedIsOnThePage: the log is seen and followed, and of what fails the last lines stand beside the
// reason and the events are in plain words: nobody needs kubectl.
func TestWhyAStartFailedIsOnThePage(t *testing.T) {
	dana := as(t, "dana")
	w := dana.running("cpu", map[string]any{"name": "verbose"})
	writesTo(t, http.MethodPut, w, "", "loading the data\nepoch 1 done\n")
	p := signIn(t, "dana", look{})
	p.open("/workloads/" + str(w["id"]))
	p.click("[data-test=tab-logs]")
	p.reads("[data-test=log]", "epoch 1 done")
	p.accessible()
	p.click("[data-test=follow]")
	p.sees("[data-test=follow][aria-pressed=true]")
	writes(t, w, "epoch 2 done")
	p.reads("[data-test=log] [data-test=line]:last-child", "epoch 2 done")
	p.click("[data-test=follow]")
	p.sees("[data-test=follow][aria-pressed=false]")
	p.fill("#log-q", "EPOCH")
	p.do(p.at("#log-q").Press("Enter"))
	p.reads("[data-test=log-words]", "2 of 3 lines")
	p.shot("logs")

	writesTo(t, http.MethodPut, w, "", "loading the model\nCUDA error: out of memory in step 17\n")
	events := kube(t).CoreV1().Events(str(w["namespace"]))
	now := metav1.Now()
	pod := podOf(t, w)
	if _, err := events.Create(context.Background(), &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: pod.Name + ".", Namespace: pod.Namespace},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID},
		Reason:         "BackOff", Message: "Back-off restarting failed container main", Type: corev1.EventTypeWarning,
		Count: 4, FirstTimestamp: now, LastTimestamp: now, Source: corev1.EventSource{Component: "kubelet"}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	crash(t, w)
	dana.reaches(str(w["id"]), "failed")
	p.open("/workloads/" + str(w["id"]))
	p.reads("[data-test=log-tail]", "CUDA error: out of memory in step 17")
	p.accessible()
	p.shot("failed-with-log")
	p.click("[data-test=log-all]")
	p.reads("[data-test=log]", "loading the model")
	p.click("[data-test=tab-events]")
	p.reads("[data-test=workload-cluster-events]", "The program keeps exiting and restarting")
	p.reads("[data-test=workload-cluster-events]", "Scheduled to a node.")
	p.accessible()
	p.shot("events")

	nora := signIn(t, "nora", look{})
	nora.expecting("404")
	for _, tab := range []string{"/logs", "/events"} {
		nora.open("/workloads/" + str(w["id"]) + tab)
		if text := nora.text("body"); strings.Contains(text, "verbose") || strings.Contains(text, "CUDA") {
			t.Errorf("another team sees %s: %s", tab, text)
		}
	}
}

package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runs asks for a job in the smallest slice; change alters the body. In the devstack a command "sleep 3; exit 1" says
// for how long and with which end.
func (c client) runs(command string, change map[string]any) map[string]any {
	c.t.Helper()
	body := map[string]any{"kind": "job", "image": "pytorch-job", "command": []string{"sh", "-c", command}}
	for k, v := range change {
		body[k] = v
	}
	r := c.start("mig-1g.10gb", body)
	if r["state"] != "approved" {
		c.t.Fatalf("want it to start at once, got %v", r)
	}
	id := r["workload"].(string)
	c.t.Cleanup(func() { c.remove(id) })
	return c.ok(http.StatusOK, http.MethodGet, "/workloads/"+id, nil)
}

// held is how many of the smallest slice the team holds.
func (c client) held() float64 {
	c.t.Helper()
	p := c.ok(http.StatusOK, http.MethodPost, "/requests/preview", map[string]any{"kind": "job", "tenant": "vision",
		"size": "mig-1g.10gb", "image": "pytorch-job", "reason": "count"})
	return p["quota"].(map[string]any)["used"].(float64)
}

// TestJobsOverREST: a job runs, ends by itself with its exit code, and gives everything back that it held; others fail
// after their retries, at their time limit, or are stopped.
func TestJobsOverREST(t *testing.T) {
	dana := as(t, "dana")
	before := dana.held()
	w := dana.runs("sleep 4; exit 0", map[string]any{"name": "train", "storage": "10Gi", "timeLimit": "1h",
		"env": map[string]string{"EPOCHS": "3"}})
	id := str(w["id"])
	if now := dana.held(); now != before+1 {
		t.Errorf("want it to count, got %v after %v", now, before)
	}
	if a := dana.call(http.MethodDelete, "/volumes/train-home", nil); a.Status != http.StatusConflict {
		t.Errorf("storage in use: want a conflict, got %d %s", a.Status, a.Raw)
	}
	dana.reaches(id, "running")
	w = dana.reaches(id, "succeeded")
	if w["exitCode"] != 0. || w["desired"] != "finished" || w["node"] != nil || w["url"] != "" || w["reason"] != "" {
		t.Errorf("want success with exit code 0 and nothing held, got %v", w)
	}
	job := w["job"].(map[string]any)
	if job["attempts"] != 1. || job["finishedAt"] == nil || job["timeLimit"] != "1h" ||
		str(job["variables"]) != "[EPOCHS]" {
		t.Errorf("unexpected job %v", job)
	}
	if now := dana.held(); now != before {
		t.Errorf("want nothing of the quota held, got %v after %v", now, before)
	}
	if a := dana.call(http.MethodGet, "/workloads/"+id+"/logs", nil); a.Status != http.StatusOK ||
		!strings.Contains(string(a.Raw), "saved checkpoint model.pt") {
		t.Errorf("log after the end: %d %s", a.Status, a.Raw)
	}
	for _, change := range []string{"start", "stop"} {
		if a := dana.call(http.MethodPost, "/workloads/"+id+"/"+change, nil); a.Status != http.StatusConflict {
			t.Errorf("%s: want a conflict, got %d %s", change, a.Status, a.Raw)
		}
	}
	cost := str(w["cost"].(map[string]any)["amount"])

	again := dana.runs("sleep 1; exit 3", map[string]any{"volume": "train-home", "storage": "", "retries": 1})
	failed := dana.reaches(str(again["id"]), "failed")
	dana.until("/workloads/"+str(again["id"]), "failed for good", 5*time.Minute, func(w map[string]any) bool {
		failed = w
		return w["desired"] == "finished"
	})
	if failed["exitCode"] != 3. || failed["job"].(map[string]any)["attempts"] != 2. ||
		!strings.Contains(str(failed["reason"]), "exited with code 3") {
		t.Errorf("want exit code 3 after two attempts, got %v", failed)
	}
	over := dana.ok(http.StatusOK, http.MethodGet, "/workloads/"+id, nil)
	if now := str(over["cost"].(map[string]any)["amount"]); now != cost {
		t.Errorf("want the meter of the first to stand still, got %s after %s", now, cost)
	}

	limited := dana.runs("sleep 3600", map[string]any{"storage": "", "timeLimit": "12s"})
	late := dana.reaches(str(limited["id"]), "failed")
	if late["desired"] != "finished" || late["exitCode"] != nil || !strings.Contains(str(late["reason"]), "12s") {
		t.Errorf("want the time limit as reason, got %v", late)
	}
	stopsAndGoes(t, dana)
	if now := dana.held(); now != before {
		t.Errorf("want nothing of the quota held in the end, got %v after %v", now, before)
	}
}

// stopsAndGoes stops one that runs, and deletes another.
func stopsAndGoes(t *testing.T, dana client) {
	t.Helper()
	w := dana.runs("sleep 3600", map[string]any{"storage": "", "name": "stops"})
	id := str(w["id"])
	w = dana.reaches(id, "running")
	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+id+"/stop", nil)
	dana.reaches(id, "stopped")
	jobs := kube(t).BatchV1().Jobs(str(w["namespace"]))
	job, err := jobs.Get(context.Background(), "stops", metav1.GetOptions{})
	if err != nil || !*job.Spec.Suspend || job.Status.Active != 0 {
		t.Fatalf("want it suspended, got %v %v", job, err)
	}
	if a := dana.call(http.MethodPost, "/workloads/"+id+"/start", nil); a.Status != http.StatusConflict {
		t.Errorf("resume: want a conflict, got %d %s", a.Status, a.Raw)
	}

	gone := dana.runs("sleep 3600", map[string]any{"storage": "", "name": "goes"})
	dana.reaches(str(gone["id"]), "running")
	dana.ok(http.StatusOK, http.MethodDelete, "/workloads/"+str(gone["id"]), nil)
	dana.reaches(str(gone["id"]), "ended")
	if _, err := jobs.Get(context.Background(), "goes", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("want the job gone, got %v", err)
	}
}

// TestBadJobsOverREST: what cannot run is refused with the field that is wrong.
func TestBadJobsOverREST(t *testing.T) {
	dana := as(t, "dana")
	body := func(change map[string]any) map[string]any {
		b := map[string]any{"kind": "job", "tenant": "vision", "size": "mig-1g.10gb", "image": "pytorch-job",
			"lease": "2h", "reason": "end-to-end test"}
		for k, v := range change {
			b[k] = v
		}
		return b
	}
	if p := dana.ok(http.StatusOK, http.MethodPost, "/requests/preview", body(nil)); len(p["problems"].([]any)) != 0 ||
		!strings.Contains(str(p["manifest"]), "kind: Job") {
		t.Errorf("want the image's own command to do, got %v", p)
	}
	for name, bad := range map[string]struct {
		field  string
		change map[string]any
	}{
		"no command in a notebook's image": {"command", map[string]any{"image": "jupyterlab"}},
		"an empty program":                 {"command", map[string]any{"command": []string{""}}},
		"a NUL in an argument": {"command",
			map[string]any{"command": []string{"sh"}, "args": []string{"a\x00b"}}},
		"a command of 40 KiB": {"command", map[string]any{"command": []string{strings.Repeat("x", 40<<10)}}},
		"a name that is none": {"env", map[string]any{"env": map[string]string{"2BAD": "x"}}},
		"what chooses the GPU": {"env",
			map[string]any{"env": map[string]string{"NVIDIA_VISIBLE_DEVICES": "all"}}},
		"variables of 40 KiB": {"env",
			map[string]any{"env": map[string]string{"BIG": strings.Repeat("x", 40<<10)}}},
		"a million retries":           {"retries", map[string]any{"retries": 1000000}},
		"a limit beyond the lease":    {"timeLimit", map[string]any{"timeLimit": "3h"}},
		"a limit of nothing":          {"timeLimit", map[string]any{"timeLimit": "0s"}},
		"a limit that is no time":     {"timeLimit", map[string]any{"timeLimit": "soon"}},
		"a notebook with retries":     {"kind", map[string]any{"kind": "notebook", "image": "jupyterlab", "retries": 2}},
		"a job's image as a notebook": {"image", map[string]any{"kind": "notebook"}},
		"a kind that is none":         {"kind", map[string]any{"kind": "cronjob"}},
	} {
		a := dana.call(http.MethodPost, "/requests", body(bad.change))
		if a.Status != http.StatusUnprocessableEntity || !strings.Contains(string(a.Raw), bad.field) {
			t.Errorf("%s: want 422 that names %s, got %d %.300s", name, bad.field, a.Status, a.Raw)
		}
	}
	huge := map[string]any{"env": map[string]string{"BIG": strings.Repeat("x", 1<<20)}}
	if a := dana.call(http.MethodPost, "/requests", body(huge)); a.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("variables of 1 MiB: want 413, got %d %.300s", a.Status, a.Raw)
	}
}

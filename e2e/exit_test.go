package e2e

import (
	"net/http"
	"testing"
	"time"
)

// TestANotebookThatEndedGivesItsGPUBack: somebody shuts the server down from within (Shut Down in JupyterLab's menu).
// Kubernetes starts it again; the portal stops it, says why, counts it no more, and starts it when asked to.
func TestANotebookThatEndedGivesItsGPUBack(t *testing.T) {
	dana := as(t, "dana")
	w := dana.running("mig-1g.10gb", map[string]any{"name": "shut-down"})
	id := str(w["id"])
	held := dana.held()
	ended := time.Now().UTC()
	kubeletSays(t, w, `{"containerStatuses":[{"name":"main","ready":true,"started":true,"restartCount":1,"image":"x",`+
		`"imageID":"x","state":{"running":{"startedAt":"`+ended.Format(time.RFC3339)+`"}},"lastState":{"terminated":{`+
		`"exitCode":0,"reason":"Completed","startedAt":"`+ended.Add(-time.Hour).Format(time.RFC3339)+`","finishedAt":"`+
		ended.Format(time.RFC3339)+`"}}}]}`)
	w = dana.reaches(id, "stopped")
	if w["desired"] != "stopped" || w["node"] != nil {
		t.Errorf("want it stopped and on no node, got %v", w)
	}
	if now := dana.held(); now >= held { // what other stories held may go as well
		t.Errorf("want fewer held than %v, got %v", held, now)
	}
	p := signIn(t, "dana", look{})
	p.open("/workloads/" + id)
	p.reads("[data-test=reason]", "its program exited")
	p.shot("ended-by-itself")
	p.open("/workloads/" + id + "/history")
	p.reads("main", "because its program had exited")

	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+id+"/start", nil)
	dana.reaches(id, "running")
}

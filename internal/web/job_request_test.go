package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestAJobOfSeveralPods: the form asks for the number of pods where an image can have several, and only there; who
// decides sees the number and the price of all.
func TestAJobOfSeveralPods(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	if form := read(t, w.Get(webtest.Anna, "/start?kind=job"), http.StatusOK); form.Find("#nodes").Length() != 0 {
		t.Error("the number of pods is asked for where no image has several")
	}
	image := webtest.OnJobSet(w)
	if form := read(t, w.Get(webtest.Anna, "/start?kind=job"), http.StatusOK); form.Find("#nodes").Length() != 1 {
		t.Error("the number of pods is not asked for")
	}
	form := url.Values{"tenant": {"vision"}, "kind": {"job"}, "size": {"cpu"}, "image": {image}, "lease": {"4h"},
		"reason": {"the sweep"}, "name": {"sweep"}, "command": {"torchrun train.py"}, "nodes": {"99"}}
	back := textOf(read(t, w.Post(webtest.Anna, "/start", form), http.StatusUnprocessableEntity).Find("main"))
	if !strings.Contains(back, "Enter 1 to") {
		t.Errorf("99 pods: %s", back)
	}
	form.Set("nodes", "2")
	answer := w.Post(webtest.Anna, "/start", form)
	if answer.Code != http.StatusSeeOther {
		t.Fatalf("2 pods: %s", textOf(read(t, answer, http.StatusUnprocessableEntity).Find("main")))
	}
	to := answer.Header().Get("Location")
	own := read(t, w.Get(webtest.Anna, to), http.StatusOK)
	if got := textOf(own.Find("[data-test=nodes]")); !strings.Contains(got, "2") {
		t.Errorf("the request has %q pods", got)
	}
}

// TestWhoDecidesAJobSeesWhatItRuns: the approver and the asker read the command, and the names of the variables; their
// values may be secrets.
func TestWhoDecidesAJobSeesWhatItRuns(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	to := wantRedirect(t, w.Post(webtest.Anna, "/start", url.Values{"tenant": {"vision"}, "kind": {"job"},
		"size":  {"h100"},
		"image": {"pytorch-job"}, "lease": {"8h"}, "reason": {"the sweep"}, "name": {"sweep"}, "retries": {"2"},
		"command": {"python 'my train.py' --epochs 3"}, "env": {"HUB_TOKEN=hf_geheim"}, "timeLimit": {"2h"}}))
	if !strings.HasPrefix(to, "/requests/") {
		t.Fatalf("want it to wait for an approver, got %s", to)
	}
	own := read(t, w.Get(webtest.Anna, to), http.StatusOK)
	decides := read(t, w.Get(webtest.Carla, strings.Replace(to, "/requests/", "/approvals/", 1)), http.StatusOK)
	for name, doc := range map[string]string{"asker": textOf(own.Find("main")), "approver": textOf(decides.Find("main"))} {
		for _, want := range []string{"python 'my train.py' --epochs 3", "HUB_TOKEN", "2 h"} {
			if !strings.Contains(doc, want) {
				t.Errorf("%s: want %q on the page", name, want)
			}
		}
		if strings.Contains(doc, "hf_geheim") {
			t.Errorf("%s: the value of a variable is on the page", name)
		}
	}
}

// TestAJobSaysHowFarItIs: as its log counts, and the page reads on while one looks.
func TestAJobSaysHowFarItIs(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Add(w.Workload("finetune", webtest.Anna, "mig-1g.10gb").Job().Running("gpu-02", 47*time.Minute, 7*time.Hour))
	w.Logs.Written["w-finetune"] = webtest.LinesUntil(webtest.Now, "epoch 2/3\nepoch 3/3  step 118/780  loss 0.573")
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-finetune"), http.StatusOK)
	wantText(t, doc, "job-progress", "Epoch 3 of 3 · Step 118 of 780", "72 %", "About 19 min left")
	w.Logs.Written["w-finetune"] = webtest.LinesUntil(webtest.Now, "loading 12,480 samples")
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/workloads/w-finetune"), http.StatusOK), "job-progress")
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK), "job-progress") // a notebook
}

// TestAFinishedJobOffersWhatStillWorks: nobody connects to a pod that is gone; its files are kept.
func TestAFinishedJobOffersWhatStillWorks(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Add(w.Workload("done", webtest.Anna, "mig-1g.10gb").Job().Ran(0, time.Hour, 1).Volume(20))
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-done"), http.StatusOK)
	for tab, want := range map[string]int{"tab-connect": 0, "tab-terminal": 0, "tab-files": 0, "tab-logs": 1,
		"tab-history": 1} {
		if got := part(doc, tab).Length(); got != want {
			t.Errorf("%s: want %d, got %d", tab, want, got)
		}
	}
	wantText(t, doc, "kept-files", "20 GiB")
	wantText(t, doc, "ran", "1 h")
	wantText(t, doc, "exit-code", "0")
	wantText(t, doc, "cost", "€0.55")
	wantAbsent(t, doc, "workload-lease") // the cost is said once
	if part(read(t, w.Get(webtest.Anna, "/workloads/w-done/connect"), http.StatusOK), "tab-connect").Length() != 1 {
		t.Error("want the tab of a page that is open")
	}
}

package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/podlogs"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestTheLogIsShown: with times, with what is looked for marked, and with what the reader has chosen.
func TestTheLogIsShown(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/logs"), http.StatusOK)
	lines := part(doc, "line")
	if lines.Length() != 7 {
		t.Fatalf("%d lines", lines.Length())
	}
	if at, _ := lines.First().Find("time").Attr("datetime"); at != "2026-11-21T11:59:28Z" {
		t.Errorf("the first line is of %q", at)
	}
	if follow, _ := part(doc, "log").Attr("data-log"); follow != "/workloads/w-train-resnet/logs/follow" {
		t.Errorf("followed at %q", follow)
	}
	wantAbsent(t, doc, "log-container") // there is only one
	if got := doc.Find(".gp-log__line--warning"); got.Length() != 1 || !strings.Contains(textOf(got), "[W ServerApp]") {
		t.Errorf("want the line marked that the program calls a warning, got %q", textOf(got))
	}

	doc = read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/logs?q=EPOCH&tail=2000&since=15m&previous=true"),
		http.StatusOK)
	if got := part(doc, "line"); got.Length() != 3 || got.Find("mark").Length() != 4 ||
		textOf(got.Find("mark").First()) != "epoch" {
		t.Errorf("%d lines, %d marks", got.Length(), got.Find("mark").Length())
	}
	wantText(t, doc, "log-words", "3 of 7 lines")
	want := podlogs.Query{Tail: 2000, Since: 15 * time.Minute, Previous: true}
	if w.Logs.Asked != want {
		t.Errorf("asked for %+v", w.Logs.Asked)
	}
	if link, _ := part(doc, "log-download").Attr("href"); link !=
		"/workloads/w-train-resnet/logs/download?previous=true&since=15m&tail=5000" {
		t.Errorf("downloaded from %s", link)
	}
	if _, ok := part(doc, "log").Attr("data-log"); ok {
		t.Error("a log that has ended can be followed")
	}
	doc = read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/logs?q=<b>nothing"), http.StatusOK)
	wantText(t, doc, "log-words", "No matches")

	doc = read(t, w.Get(webtest.Anna, "/workloads/w-vlm-test/logs?container=clone"), http.StatusOK)
	if got, _ := part(doc, "log-container").Find("option[selected]").Attr("value"); got != "clone" {
		t.Errorf("the choice is %q", got)
	}
}

// TestWhyThereIsNoLog: said in the page, with the frame around it.
func TestWhyThereIsNoLog(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	wantText(t, read(t, w.Get(webtest.Anna, "/workloads/w-old-notes/logs"), http.StatusOK), "log-why", "There is no pod")
	w.Logs.Refusal = fault.New(fault.Unavailable, i18n.T("podlogs.no_right", "Resource", "pods/log", "Namespace",
		"gpu-vision", "Cluster", "local"))
	for _, tab := range []string{"logs", "events"} {
		doc := read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/"+tab), http.StatusOK)
		wantText(t, doc, "log-why", "lacks permission to read pods/log in the namespace gpu-vision")
		wantAbsent(t, doc, "line", "cluster-event")
	}
}

// TestALogOfALogStore says where its lines come from, and cannot be followed.
func TestALogOfALogStore(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Logs.Kept = true
	w.Logs.Written["w-old-notes"] = append([]podlogs.Line{{Note: i18n.T("podlogs.kept", "Store", "Loki")},
		{Note: i18n.T("podlogs.kept_partial", "Store", "Loki")}}, webtest.Lines("one\ntwo")...)
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-old-notes/logs"), http.StatusOK)
	wantText(t, doc, "log-source", "From Loki: the pod is gone.", "Loki searched only in part: lines may be missing.")
	if strings.Contains(textOf(doc.Find("main")), "nothing is stored") {
		t.Error("the page says that nothing is kept, above what was kept")
	}
	if got := part(doc, "line"); got.Length() != 2 {
		t.Errorf("%d lines", got.Length())
	}
	wantAbsent(t, doc, "follow", "log-why")
	wantText(t, read(t, w.Get(webtest.Anna, "/workloads/w-old-notes/logs?q=two"), http.StatusOK), "log-words",
		"1 of 2 lines")
	w.Logs.Written["w-old-notes"] = []podlogs.Line{{Note: i18n.T("podlogs.kept_none", "Store", "Loki")}}
	doc = read(t, w.Get(webtest.Anna, "/workloads/w-old-notes/logs"), http.StatusOK)
	wantText(t, doc, "log-source", "The pod is gone, and Loki has no matching lines.")
	wantAbsent(t, doc, "line")
	w.Logs.Refusal = fault.New(fault.Unavailable, i18n.T("logstore.busy", "Store", "Loki"))
	wantText(t, read(t, w.Get(webtest.Anna, "/workloads/w-old-notes/logs"), http.StatusOK), "log-why",
		"Loki has too many queries right now")
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/logs"), http.StatusOK), "log-source")
}

// TestLogsAreForWhoMayReadThem: a colleague sees the workload and its events, its log only when it is shared.
func TestLogsAreForWhoMayReadThem(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	wantAbsent(t, read(t, w.Get(webtest.Eli, "/workloads/w-train-resnet"), http.StatusOK), "tab-logs")
	read(t, w.Get(webtest.Eli, "/workloads/w-train-resnet/events"), http.StatusOK)
	for _, path := range []string{"/logs", "/logs/follow", "/logs/download"} {
		if got := w.Get(webtest.Eli, "/workloads/w-train-resnet"+path); got.Code != http.StatusForbidden {
			t.Errorf("an auditor gets %d from %s", got.Code, path)
		}
		if got := w.Get(webtest.Olaf, "/workloads/w-train-resnet"+path); got.Code != http.StatusNotFound {
			t.Errorf("another team gets %d from %s", got.Code, path)
		}
	}
	if got := w.Get(webtest.Olaf, "/workloads/w-train-resnet/events"); got.Code != http.StatusNotFound {
		t.Errorf("another team gets %d from the events", got.Code)
	}
}

// TestTheLastLinesStandBesideTheReason of what failed, for those who may read them; what runs has none.
func TestTheLastLinesStandBesideTheReason(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-vlm-test"), http.StatusOK)
	wantText(t, doc, "log-tail", "The NVIDIA driver on your system is too old")
	wantText(t, doc, "cause", "The NVIDIA driver of the node is too old", "ask an administrator to update the driver")
	wantText(t, read(t, w.Get(webtest.Eli, "/workloads/w-vlm-test"), http.StatusOK), "cause", "exited with error 1")
	w.Get(webtest.Anna, "/workloads/w-vlm-test")
	if w.Logs.Asked.Tail != 8 || part(doc, "log-all").Length() != 1 {
		t.Errorf("asked for %+v", w.Logs.Asked)
	}
	wantAbsent(t, read(t, w.Get(webtest.Eli, "/workloads/w-vlm-test"), http.StatusOK), "log-tail")
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK), "log-tail")
	w.Logs.Refusal = fault.New(fault.Unavailable, i18n.T("podlogs.away", "Cluster", "local"))
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/workloads/w-vlm-test"), http.StatusOK), "log-tail")
}

// TestAJobThatRunsShowsWhatItWroteLast, to those who may read its log; a notebook that runs has none of it.
func TestAJobThatRunsShowsWhatItWroteLast(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Add(w.Workload("finetune", webtest.Anna, "mig-1g.10gb").Job().Running("gpu-02", 47*time.Minute, 7*time.Hour))
	w.Logs.Written["w-finetune"] = webtest.Lines("epoch 1/3\nepoch 2/3")
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-finetune"), http.StatusOK)
	wantText(t, doc, "workload-start", "Output", "epoch 2/3")
	wantAbsent(t, doc, "steps")
	wantAbsent(t, read(t, w.Get(webtest.Eli, "/workloads/w-finetune"), http.StatusOK), "workload-start")
}

// TestTheEventsOfWhatFailedNameTheCause that the log names, above them.
func TestTheEventsOfWhatFailedNameTheCause(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	wantText(t, read(t, w.Get(webtest.Anna, "/workloads/w-vlm-test/events"), http.StatusOK), "reason",
		"The NVIDIA driver of the node is too old", "ask an administrator")
	wantText(t, read(t, w.Get(webtest.Eli, "/workloads/w-vlm-test/events"), http.StatusOK), "reason",
		"exited with error 1")
}

// TestAFailedJobSaysWhatItsLogNames in its head, where its exit code says nothing.
func TestAFailedJobSaysWhatItsLogNames(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Add(w.Workload("pretrain", webtest.Anna, "mig-1g.10gb").Job().Ran(1, 12*time.Minute, 3))
	at := "/workloads/w-pretrain"
	wantText(t, read(t, w.Get(webtest.Anna, at), http.StatusOK), "reason", "exited with code 1")
	w.Logs.Written["w-pretrain"] = webtest.LinesUntil(webtest.Now,
		"epoch 1/3 loss 0.934\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
	wantText(t, read(t, w.Get(webtest.Anna, at), http.StatusOK), "reason", "The GPU ran out of memory.")
}

// TestEventsAreInPlainWords with the cluster's own behind; a reason that nobody knows stands as it is.
func TestEventsAreInPlainWords(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Get(webtest.Anna, "/workloads/w-vlm-test/events"), http.StatusOK)
	rows := part(doc, "cluster-event")
	if rows.Length() != 6 {
		t.Fatalf("%d events", rows.Length())
	}
	first := rows.First()
	for _, want := range []string{"The program keeps exiting and restarting", "BackOff", "Back-off restarting failed",
		"Pod vlm-test-0", "14"} {
		if !strings.Contains(textOf(first), want) {
			t.Errorf("%q is missing: %s", want, textOf(first))
		}
	}
	if !strings.Contains(textOf(first), "8 min ago") || !first.HasClass("gp-row--warning") {
		t.Errorf("want both times told alike, and a warning as one: %s", textOf(first))
	}
	if last := rows.Last(); !strings.Contains(textOf(last), "RevisionKept") ||
		textOf(part(doc, "event-words").Last()) != "Kept 2 revisions." {
		t.Errorf("%s", textOf(last))
	}
	wantText(t, read(t, webtest.Busy(t).Get(webtest.Anna, "/workloads/w-train-resnet/events"), http.StatusOK),
		"workload-cluster-events", "No events")
}

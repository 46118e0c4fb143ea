package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestAWorkloadSaysHowToReachIt: its address and the lines of kubectl while it has a pod, the calls of REST, each to be
// copied; an auditor, who may not open it, gets no address.
func TestAWorkloadSaysHowToReachIt(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/connect"), http.StatusOK)
	wantText(t, doc, "address", "http://train-resnet.localhost:8080/lab")
	wantText(t, doc, "access-list", "Anna Albers")
	wantText(t, doc, "share", "Share")
	wantText(t, doc, "connect-kubectl", "kubectl --namespace gpu-vision logs --follow train-resnet-0",
		"exec --stdin --tty train-resnet-0 -- sh", "port-forward pod/train-resnet-0 8888")
	wantText(t, doc, "connect-rest", "http://localhost:8080/api/v1/workloads/w-train-resnet")
	if n := part(doc, "connect-kubectl").Find("[data-copy-from]").Length(); n != 3 {
		t.Errorf("want three lines to copy, got %d", n)
	}
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK), "workload-access")
	wantAbsent(t, read(t, w.Get(webtest.Eli, "/workloads/w-train-resnet/connect"), http.StatusOK), "address", "share")
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/workloads/w-old-notes/connect"), http.StatusOK), "connect-kubectl")
}

// TestSSHGoesThroughThePortal: lines to copy and a link for who may open a workload that runs in an image with an SSH
// server; nothing for others.
func TestSSHGoesThroughThePortal(t *testing.T) {
	t.Parallel()
	w := sceneWorld(t, "workload", "connect, SSH")
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/connect"), http.StatusOK)
	wantText(t, doc, "connect-ssh", "accepts jovyan", "gpuctl ssh train-resnet", "gpuctl ssh-config >> ~/.ssh/config",
		"ssh train-resnet.gpu")
	if n := part(doc, "connect-ssh").Find("[data-copy-from]").Length(); n != 3 {
		t.Errorf("want three lines to copy, got %d", n)
	}
	link, _ := part(doc, "connect-vscode").Attr("href")
	if want := "vscode://vscode-remote/ssh-remote+train-resnet.gpu/home/jovyan"; link != want {
		t.Errorf("want %s, got %s", want, link)
	}
	link, _ = part(doc, "connect-jetbrains").Attr("href")
	if want := "jetbrains-gateway://connect#deploy=false&host=train-resnet.gpu&port=22&projectPath=%2Fhome%2Fjovyan&" +
		"type=ssh&user=jovyan"; link != want {
		t.Errorf("want %s, got %s", want, link)
	}
	wantAbsent(t, read(t, w.Get(webtest.Eli, "/workloads/w-train-resnet/connect"), http.StatusOK), "connect-ssh")
	item := w.Work("w-train-resnet")
	item.State = workload.Stopped
	w.PutWork(item)
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/connect"), http.StatusOK), "connect-ssh")
	busy := read(t, webtest.Busy(t).Get(webtest.Anna, "/workloads/w-train-resnet/connect"), http.StatusOK)
	wantAbsent(t, busy, "connect-ssh")
	wantText(t, busy, "connect-no-ssh", "This workload's image has none", "The catalog has no image with one")
	wantAbsent(t, doc, "connect-no-ssh")
}

// TestPortsGoThroughThePortal: a line to copy for each TCP port of the image. A workload without pages has no address;
// its next action is to connect.
func TestPortsGoThroughThePortal(t *testing.T) {
	t.Parallel()
	const at = "/workloads/w-train-resnet"
	w := sceneWorld(t, "workload", "connect, SSH")
	doc := read(t, w.Get(webtest.Anna, at+"/connect"), http.StatusOK)
	wantText(t, doc, "connect-ports", "gpuctl forward train-resnet grpc", "gpuctl forward train-resnet tensorboard",
		"tensorboard, port 6006")
	wantAbsent(t, read(t, w.Get(webtest.Eli, at+"/connect"), http.StatusOK), "connect-ports")
	wantAbsent(t, read(t, w.Get(webtest.Anna, at), http.StatusOK), "connect")

	w = sceneWorld(t, "workload", "connect, no pages")
	doc = read(t, w.Get(webtest.Anna, at+"/connect"), http.StatusOK)
	wantText(t, doc, "connect-ports", "gpuctl forward train-resnet dask")
	wantAbsent(t, doc, "address", "open", "connect-ssh")
	head := read(t, w.Get(webtest.Anna, at), http.StatusOK)
	if href, _ := part(head, "connect").Attr("href"); href != at+"/connect" {
		t.Errorf("want the next action to lead to the ways, got %q", href)
	}
	wantAbsent(t, read(t, w.Get(webtest.Eli, at), http.StatusOK), "connect")
	item := w.Work("w-train-resnet")
	item.State = workload.Stopped
	w.PutWork(item)
	wantAbsent(t, read(t, w.Get(webtest.Anna, at+"/connect"), http.StatusOK), "connect-ports", "connect")
}

// TestWhoCarriesTheCalls: the page of an endpoint gives the address at the gateway of the site, says that the portal's
// keys do not hold there, and has programs call it; until the gateway takes the route it says why, and they call the
// portal.
func TestWhoCarriesTheCalls(t *testing.T) {
	t.Parallel()
	const page, own, theirs = "/workloads/w-llm-chat", "http://llm-chat.localhost:8080/v1",
		"https://models.example.org/gpu-vision/llm-chat/v1"
	w := sceneWorld(t, "workload", "connect, gateway of the site")
	doc := read(t, w.Get(webtest.Ben, page+"/connect"), http.StatusOK)
	wantText(t, doc, "route-carries", "The site's gateway serves the calls",
		"the portal's keys, limits and counts apply only at the portal's own address")
	wantText(t, doc, "access-base", theirs)
	if programs := part(doc, "workload-access").Text(); !strings.Contains(programs, theirs) ||
		strings.Contains(programs, own) {
		t.Errorf("programs call elsewhere: %s", programs)
	}
	if tried := read(t, w.Get(webtest.Anna, page+"/try"), http.StatusOK); !strings.Contains(part(tried,
		"try-programs").Text(), theirs) {
		t.Error("the programs of the page Try it call elsewhere")
	}
	item := w.Work("w-llm-chat")
	item.Observed.Route.AsksForKeys = true
	w.PutWork(item)
	wantText(t, read(t, w.Get(webtest.Ben, page+"/connect"), http.StatusOK), "route-carries", "one of its keys")
	w = sceneWorld(t, "workload", "connect, route refused")
	doc = read(t, w.Get(webtest.Ben, page+"/connect"), http.StatusOK)
	wantText(t, doc, "route-waits", "has not accepted the route", "NotAllowedByListeners")
	wantAbsent(t, doc, "route-carries")
	wantText(t, doc, "access-base", own)
	if programs := part(doc, "workload-access").Text(); !strings.Contains(programs, own) ||
		strings.Contains(programs, theirs) {
		t.Errorf("programs call elsewhere: %s", programs)
	}
	busy := read(t, webtest.Busy(t).Get(webtest.Ben, page+"/connect"), http.StatusOK)
	wantAbsent(t, busy, "route-carries", "route-waits")
	wantText(t, busy, "access-base", own)
}

// TestAJobIsRunAgainOverREST: the line asks for the same program with the names of the API.
func TestAJobIsRunAgainOverREST(t *testing.T) {
	t.Parallel()
	w := sceneWorld(t, "workload", "connect, job")
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-pretrain/connect"), http.StatusOK)
	line := doc.Find("#connect-run_again").Text()
	_, rest, _ := strings.Cut(line, "--json '")
	text, _, whole := strings.Cut(rest, "' \\\n  http://localhost:8080/api/v1/requests")
	var body map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(text, `'\''`, "'")), &body); err != nil || !whole {
		t.Fatalf("want a body and its address, got %v: %s", err, line)
	}
	for name, want := range map[string]any{"kind": "job", "tenant": "vision"} {
		if body[name] != want {
			t.Errorf("%s: want %v, got %v", name, want, body[name])
		}
	}
	for _, name := range []string{"size", "image", "command", "reason"} {
		if body[name] == nil {
			t.Errorf("want %s in %s", name, text)
		}
	}
	wantAbsent(t, doc, "address")
}

package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestWhoUsesAnImage: owners see it beside the team's images, and those that members have named, before they retire one
// or forbid the others. A scanner's page is a click away where the site has one.
func TestWhoUsesAnImage(t *testing.T) {
	t.Parallel()
	w := webtest.Images(t)
	doc := read(t, w.Get(webtest.Ben, "/team/vision/images"), http.StatusOK)
	row := doc.Find("#image-train")
	if got := textOf(row.Find("[data-test=image-user]")); got != "train-resnet" {
		t.Errorf("want the workload that has it, got %q", got)
	}
	if got, _ := row.Find("[data-test=image-scan]").Attr("href"); !strings.HasPrefix(got,
		"https://scans.example.org/vision/train@sha256:") {
		t.Errorf("want its scan, got %q", got)
	}
	if got := textOf(doc.Find("#image-serve [data-test=image-users]")); got != "no one" {
		t.Errorf("want nobody, got %q", got)
	}
	named := doc.Find("[data-test=custom-used-row]")
	if named.Length() != 1 || !strings.Contains(textOf(named), "chat:0.3") ||
		!strings.Contains(textOf(named), "llm-chat") {
		t.Errorf("want the image that a member named, got %q", textOf(named))
	}
	chat := read(t, w.Get(webtest.Anna, "/workloads/w-llm-chat"), http.StatusOK)
	if got, _ := part(chat, "image-scan").Attr("href"); !strings.HasPrefix(got,
		"https://scans.example.org/vision/chat@sha256:") {
		t.Errorf("want its scan on the workload's page, got %q", got)
	}

	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		w.Add(w.Workload("copy-"+name, webtest.Anna, "cpu").Running("gpu-01", time.Hour, time.Hour))
		w.RunsImage(workload.ID("w-copy-"+name), w.Work("w-train-resnet").Image)
	}
	doc = read(t, w.Get(webtest.Ben, "/team/vision/images"), http.StatusOK)
	if got := textOf(doc.Find("#image-train [data-test=image-users]")); !strings.Contains(got, "and 2 more") ||
		strings.Count(got, "copy-") != 5 {
		t.Errorf("want five and how many others, got %q", got)
	}
	if first := doc.Find("[data-test=image-row]").First(); !strings.Contains(textOf(first), "not allowed") {
		t.Errorf("want the image first that somebody has to change, got %q", textOf(first))
	}
	w.Site.Scans = ""
	wantAbsent(t, read(t, w.Get(webtest.Ben, "/team/vision/images"), http.StatusOK), "image-scan")
}

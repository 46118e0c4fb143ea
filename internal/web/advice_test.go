package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// sized is a world in which one workload has much more than it uses.
func sized(t *testing.T) *webtest.World {
	t.Helper()
	w := webtest.Busy(t)
	w.Add(w.Workload("digits", webtest.Anna, "h100").Running("gpu-03", 20*24*time.Hour, 72*time.Hour).Volume(50))
	w.DidDaily("digits", 14, 6*1024, 3.4, 11, 0)
	return w
}

// TestAdviceIsDismissedAndShownAgain: what a page says of a size can be put away and comes back, by whoever may change
// the workload and by nobody else.
func TestAdviceIsDismissedAndShownAgain(t *testing.T) {
	t.Parallel()
	w := sized(t)
	const page = "/workloads/w-digits"
	doc := read(t, w.Get(webtest.Anna, page), http.StatusOK)
	wantText(t, doc, "advice", "Save €2,445.50 a month: use MIG slice 10 GB.",
		"Peak GPU memory", "6 GiB of 80 GiB", "3 %", "€0.55")
	take, _ := part(doc, "advice-take").Attr("href")
	form := read(t, w.Get(webtest.Anna, take), http.StatusOK)
	wantText(t, form, "start-replaces", "Replaces digits", "digits-home")
	if v, _ := form.Find("input[name=replaces]").Attr("value"); v != "w-digits" {
		t.Errorf("want the form to carry what is to be replaced, got %q", v)
	}
	if v, _ := form.Find("input[name=size][checked]").Attr("value"); v != "mig-1g.10gb" {
		t.Errorf("want the smaller size chosen, got %q", v)
	}
	if v := form.Find("input[name=reason]").AttrOr("value", ""); !strings.Contains(v,
		"Replaces digits: Save €2,445.50 a month: use MIG slice 10 GB. Peak GPU memory: 6 GiB of 80 GiB in 14 d.") {
		t.Errorf("want the reason filled in, in case somebody has to approve, got %q", v)
	}

	all := read(t, w.Get(webtest.Eli, "/usage/advice"), http.StatusOK)
	wantText(t, all, "advice", "Oversized", "Whole H100", "MIG slice 10 GB", "−€2,445.50")
	wantAbsent(t, read(t, w.Get(webtest.Eli, page), http.StatusOK), "advice-take", "advice-dismiss")
	back := url.Values{"back": {page}}
	read(t, w.Post(webtest.Eli, "/usage/advice/w-digits/dismiss", back), http.StatusForbidden)
	read(t, w.Post(webtest.Olaf, "/usage/advice/w-digits/dismiss", back), http.StatusNotFound)

	if to := wantRedirect(t, w.Post(webtest.Anna, "/usage/advice/w-digits/dismiss", back)); to != page {
		t.Errorf("want to be back on %s, got %s", page, to)
	}
	doc = read(t, w.Get(webtest.Anna, page), http.StatusOK)
	wantAbsent(t, doc, "advice")
	wantText(t, doc, "advice-line", "Dismissed by Anna")
	list := read(t, w.Get(webtest.Anna, "/usage/advice"), http.StatusOK)
	wantText(t, list, "advice-put", "digits")
	wantRedirect(t, w.Post(webtest.Anna, "/usage/advice/w-digits/restore", back))
	wantText(t, read(t, w.Get(webtest.Anna, page), http.StatusOK), "advice", "Save €")

	read(t, w.Post(webtest.Anna, "/usage/advice/w-train-resnet/dismiss", back), http.StatusConflict)
	if to := wantRedirect(t, w.Post(webtest.Anna, "/usage/advice/w-digits/dismiss",
		url.Values{"back": {"https://example.org/"}})); strings.Contains(to, "example.org") {
		t.Errorf("want no way to another site, got %s", to)
	}
}

// TestTheOldOneIsStoppedOnceTheNewOneIsReady: a start in another's place says so on its page, and offers to stop the
// other when it is ready; by then not before.
func TestTheOldOneIsStoppedOnceTheNewOneIsReady(t *testing.T) {
	t.Parallel()
	w := sized(t)
	b := w.Workload("digits-2", webtest.Anna, "mig-1g.10gb").Queued("", time.Minute)
	w.Add(b)
	w.PutRequest(request.Request{ID: request.ID(b.Request), Kind: request.StartKind,
		State: request.Approved, Asker: webtest.Anna.ID, Spec: request.Spec{Tenant: "vision", Replaces: "w-digits"}})
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-digits-2"), http.StatusOK)
	wantText(t, doc, "replaces", "Replaces digits")
	wantAbsent(t, doc, "stop-old")
	running := w.Work("w-digits-2")
	running.State = workload.Running
	w.PutWork(running)
	doc = read(t, w.Get(webtest.Anna, "/workloads/w-digits-2"), http.StatusOK)
	wantText(t, doc, "replaces", "Ready. Stop digits now?", "€3.90")
	wantRedirect(t, w.Post(webtest.Anna, "/workloads/w-digits/stop", nil))
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/workloads/w-digits-2"), http.StatusOK), "replaces")
}

// TestOnlyOnesOwnIsReplaced: a start names a workload of the same team that its asker may stop, or is refused.
func TestOnlyOnesOwnIsReplaced(t *testing.T) {
	t.Parallel()
	w := sized(t)
	ask := func(replaces workload.ID) error {
		_, err := w.RequestService.Requests.Submit(t.Context(), w.Actor(webtest.Anna),
			request.Draft{Kind: "notebook", Tenant: "vision", Size: "mig-1g.10gb", Image: "jupyterlab", Lease: "2h",
				Reason: "smaller", Replaces: replaces})
		return err
	}
	if err := ask("w-digits"); err != nil {
		t.Errorf("want her own to be replaced, got %v", err)
	}
	for _, id := range []workload.ID{"w-asr-train", "w-none"} {
		if err := ask(id); err == nil {
			t.Errorf("want %s refused", id)
		}
	}
}

// TestALargerSizeSaysWhatItCosts: in its row, and beside the savings, which count the smaller sizes alone. A memory
// that is nearly full looks so.
func TestALargerSizeSaysWhatItCosts(t *testing.T) {
	t.Parallel()
	w := sized(t)
	w.Add(w.Workload("tokens", webtest.Anna, "mig-1g.10gb").Running("gpu-01", 9*24*time.Hour, 72*time.Hour))
	w.DidDaily("tokens", 9, 9900, 42, 77, 5*time.Hour)
	doc := read(t, w.Get(webtest.Eli, "/usage/advice"), http.StatusOK)
	wantText(t, doc, "advice-saves", "€2,445.50")
	change := textOf(part(doc, "advice-change").Last())
	if !strings.HasPrefix(change, "+€") {
		t.Fatalf("want what the larger size costs more, got %q", change)
	}
	wantText(t, doc, "advice-larger", "adds "+strings.TrimPrefix(change, "+"))
	if n := part(doc, "advice-peak").Find(".gp-meter__bar .gp-fill--warning").Length(); n != 1 {
		t.Errorf("want one memory marked as nearly full, got %d", n)
	}
}

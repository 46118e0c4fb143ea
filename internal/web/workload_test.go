package web_test

import (
	"go/parser"
	"go/token"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func TestAWorkloadAnswersItsQuestions(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK)
	for name, want := range map[string]string{
		"state": "Running", "engine": "63 %", "memory": "7.1 GiB", "power": "312 W", "temperature": "58 °C", "lease": "5 h",
		"lease-ends": "21 Nov 2026, 17:00", "cost": "€1.65",
		"price": "€0.55/h", "node": "gpu-01", "workload-id": "w-train-resnet", "kernel": "busy",
	} {
		wantText(t, doc, name, want)
	}
	for _, name := range []string{"open", "stop", "extend", "tab-connect", "delete"} {
		if part(doc, name).Length() == 0 {
			t.Errorf("the owner misses %s", name)
		}
	}
	wantAbsent(t, doc, "resume", "steps")
}

// TestTheMirrorIsShown beside the image that was approved, where one is set.
func TestTheMirrorIsShown(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK), "image-mirrored")
	w.Site.Mirror = catalog.Mirror{Registry: "mirror.example.org/copies"}
	wantText(t, read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK), "image-mirrored",
		"mirror.example.org/copies")
}

// The story: a missing series was drawn as 0 °C and a card that had fallen off the bus looked idle. What nobody
// measured is unknown.
func TestWhatNobodyMeasuredIsUnknown(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	live := gpumetrics.Live{At: webtest.Now, Devices: []gpumetrics.Device{{Model: "NVIDIA H100 80GB HBM3"}}}
	w.Readings["train-resnet-0"] = webtest.Reading{Live: live, History: []gpumetrics.Point{{At: webtest.Now}}}
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK)
	for _, name := range []string{"engine", "memory", "power", "temperature"} {
		wantText(t, doc, name, "unknown")
		if strings.ContainsAny(textOf(part(doc, name)), "0123456789") {
			t.Errorf("%s shows a number that nobody measured: %s", name, textOf(part(doc, name)))
		}
		if part(doc, name).Find("svg").Length() > 0 {
			t.Errorf("%s draws a bar of nothing", name)
		}
	}
	w.Readings = webtest.Readings{}
	wantText(t, read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK), "gpu-unknown",
		"Prometheus does not respond")
}

func TestOldReadingsSaySo(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	r := w.Readings["train-resnet-0"]
	r.Live.At = webtest.Now.Add(-5 * time.Minute)
	r.Live.Devices[0].Engine.At = webtest.Now.Add(-5 * time.Minute)
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK)
	if got := textOf(part(doc, "workload-gpu").Find(".gp-age--old")); !strings.Contains(got, "5 min ago") {
		t.Errorf("want the age with a warning, got %q", got)
	}
}

// TestEveryValueSaysWhatItRestsOn: measured, apportioned, or unknown and since when; and a value that is one for all on
// a card is nobody's own.
func TestEveryValueSaysWhatItRestsOn(t *testing.T) {
	t.Parallel()
	at := webtest.Now.Add(-40 * time.Second)
	value := func(v float64, unit gpumetrics.Unit, source gpumetrics.Source) gpumetrics.Reading {
		return gpumetrics.Reading{Value: v, Unit: unit, Source: source, At: at}
	}
	engine, memory := value(80, gpumetrics.Percent, gpumetrics.Measured), value(4096, gpumetrics.MiB, gpumetrics.Measured)
	device := gpumetrics.Device{Model: "NVIDIA L40S", Engine: engine, MemoryUsed: memory,
		MemoryTotal: value(46068, gpumetrics.MiB, gpumetrics.Measured), Pods: 2, CardShared: true,
		OwnEngine: value(40, gpumetrics.Percent, gpumetrics.Apportioned), OwnMemory: memory,
		Power: gpumetrics.Reading{Unit: gpumetrics.Watt, Why: gpumetrics.TooOld, At: webtest.Now.Add(-6 * time.Minute)}}
	w := webtest.Busy(t)
	w.Readings["train-resnet-0"] = webtest.Reading{Live: gpumetrics.Live{At: at, Devices: []gpumetrics.Device{device}}}
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK)
	wantText(t, doc, "engine", "40 %", "80 % for everyone on it", "apportioned", "40 s ago")
	wantText(t, doc, "memory", "4 GiB", "of 45 GiB", "measured")
	wantText(t, doc, "power", "unknown", "no new value", "for 6 min")
	wantText(t, doc, "temperature", "unknown", "no metrics here")

	item := w.Work("w-train-resnet")
	item.Size.Technology = catalog.TimeSlicing
	w.PutWork(item)
	device.Pods, device.OwnEngine = 1, engine // the exporter names one of the pods and gives it the card's value
	w.Readings["train-resnet-0"] = webtest.Reading{Live: gpumetrics.Live{At: at, Devices: []gpumetrics.Device{device}}}
	doc = read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK)
	wantText(t, doc, "engine", "unknown", "one value for everyone on the card", "80 % for everyone")
	if part(doc, "engine").Find("svg").Length() > 0 {
		t.Error("a bar is drawn for a part that nobody knows")
	}
}

func TestAStartShowsWhatHangs(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Get(webtest.Anna, "/workloads/w-sweep-lr"), http.StatusOK)
	wantText(t, doc, "reason", "All nodes are full: no CPU or memory is left")
	if got := textOf(part(doc, "steps").Find("[aria-current=step]")); !strings.Contains(got, "Assign a node") ||
		!strings.Contains(got, "12 min") {
		t.Errorf("want the step that hangs with how long, got %q", got)
	}
	wantAbsent(t, doc, "extend") // its lease begins when it runs
	if got := doc.Find("details pre").Text(); !strings.Contains(got, "Insufficient nvidia.com/gpu") {
		t.Error("the cluster's own words are in a fold")
	}
}

func TestAnEndpointSaysHowToCallIt(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Get(webtest.Ben, "/workloads/w-llm-chat/connect"), http.StatusOK)
	wantAbsent(t, doc, "base-url")
	wantText(t, read(t, webtest.Busy(t).Get(webtest.Ben, "/workloads/w-llm-chat"), http.StatusOK), "base-url",
		"http://llm-chat.localhost:8080/v1")
	wantAbsent(t, read(t, webtest.Busy(t).Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK), "base-url")
	wantText(t, doc, "workload-access", "curl -H", "http://llm-chat.localhost:8080/v1/models", "everyone in Vision",
		`OpenAI(base_url="http://llm-chat.localhost:8080/v1", api_key=`)
	wantText(t, doc, "access-base", "http://llm-chat.localhost:8080/v1")
	wantText(t, doc, "workload-access", "API documentation", "http://llm-chat.localhost:8080/docs")
	if href := part(doc, "access-to-keys").AttrOr("href", ""); href != "/workloads/w-llm-chat#workload-keys" {
		t.Errorf("want the way to its keys, got %q", href)
	}
	program := doc.Find("#workload-access-go").Text()
	if _, err := parser.ParseFile(token.NewFileSet(), "main.go", program, 0); err != nil ||
		!strings.Contains(program, `"http://llm-chat.localhost:8080/v1/models"`) {
		t.Errorf("want a Go program with the address, got %v: %s", err, program)
	}
	// not shared
	wantAbsent(t, read(t, webtest.Busy(t).Get(webtest.Ben, "/workloads/w-train-resnet/connect"), http.StatusOK), "address",
		"open")
}

func TestAColleagueLooksAndTouchesNothing(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-render-farm"), http.StatusOK)
	wantAbsent(t, doc, "stop", "extend", "share", "delete", "open", "address")
	for _, verb := range []string{"stop", "start", "share", "extend", "delete"} {
		if got := w.Post(webtest.Anna, "/workloads/w-render-farm/"+verb,
			url.Values{"lease": {"1h"}}).Code; got != http.StatusForbidden {
			t.Errorf("%s: want 403, got %d", verb, got)
		}
	}
	for _, page := range []string{"extend", "delete", "stop"} {
		if got := w.Get(webtest.Anna, "/workloads/w-render-farm/"+page).Code; got != http.StatusForbidden {
			t.Errorf("%s: want 403, got %d", page, got)
		}
	}
	auditor := read(t, w.Get(webtest.Eli, "/workloads/w-train-resnet"), http.StatusOK)
	wantAbsent(t, auditor, "stop", "delete", "open", "address")
}

// The story: one click beside Open ended a training, without a question.
func TestAStopSaysWhatItEnds(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	path := "/workloads/w-train-resnet"
	doc := read(t, w.Get(webtest.Anna, path), http.StatusOK)
	if to, _ := part(doc, "stop").Attr("href"); to != path+"/stop" || part(doc, "stop").Closest("form").Length() > 0 {
		t.Errorf("the button stops without asking; it leads to %q", to)
	}
	wantText(t, doc, "stop-now", "One kernel is busy right now")
	ask := read(t, w.Get(webtest.Anna, path+"/stop"), http.StatusOK)
	wantText(t, ask, "stop-form", "Stop")
	for _, want := range []string{"One kernel is busy right now", "Everything running and in memory", "It is released",
		"All files on"} {
		if !strings.Contains(ask.Text(), want) {
			t.Errorf("the question does not say %q", want)
		}
	}
	if w.Work("w-train-resnet").Desired != workload.WantRunning {
		t.Error("the question alone stopped it")
	}
	item := w.Work("w-train-resnet")
	old := *item.Observed.Activity
	old.At = webtest.Now.Add(-time.Hour)
	item.Observed.Activity = &old
	w.PutWork(item)
	wantText(t, read(t, w.Get(webtest.Anna, path), http.StatusOK), "stop-now", "Its activity is unknown")
	item.Observed.Activity = &workload.Activity{At: webtest.Now}
	w.PutWork(item)
	if part(read(t, w.Get(webtest.Anna, path), http.StatusOK), "stop").Closest("form").Length() == 0 {
		t.Error("a notebook without a kernel has nothing to lose, and is asked for")
	}
}

func TestStopResumeShareDelete(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	id, path := workload.ID("w-train-resnet"), "/workloads/w-train-resnet"
	if to := wantRedirect(t, w.Post(webtest.Anna, path+"/stop", nil)); to != path {
		t.Errorf("want back to the page, got %s", to)
	}
	if w.Work(id).Desired != workload.WantStopped {
		t.Error("it was to stop")
	}
	wantRedirect(t, w.Post(webtest.Anna, path+"/start", nil))
	if w.Work(id).Desired != workload.WantRunning {
		t.Error("it was to run again")
	}
	wantRedirect(t, w.Post(webtest.Anna, path+"/share", url.Values{"shared": {"on"}}))
	if !w.Work(id).Granted(webtest.Now) {
		t.Error("it was to be shared")
	}
	wantRedirect(t, w.Post(webtest.Anna, path+"/share", url.Values{"shared": {""}}))
	if w.Work(id).Granted(webtest.Now) {
		t.Error("it was not to be shared any more")
	}
	ask := read(t, w.Get(webtest.Anna, path+"/delete"), http.StatusOK)
	wantText(t, ask, "ask", "train-resnet-home (50 GiB), unless you select the box", "The name train-resnet")
	if _, ticked := part(ask, "delete-storage").Attr("checked"); ticked {
		t.Error("nobody loses their files by not looking")
	}
	wantRedirect(t, w.Post(webtest.Anna, path+"/delete", nil))
	if w.Work(id).Desired != workload.WantDeleted || w.Volume("train-resnet-home").Deleted {
		t.Error("it was to go, and its storage to stay")
	}
}

func TestDeletingWithStorageTakesATick(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	wantRedirect(t, w.Post(webtest.Anna, "/workloads/w-train-resnet/delete", url.Values{"storage": {"on"}}))
	if !w.Volume("train-resnet-home").Deleted {
		t.Error("the box was ticked")
	}
}

func TestExtend(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	before := w.Work("w-train-resnet").Lease.Until
	answer := w.Post(webtest.Anna, "/workloads/w-train-resnet/extend", url.Values{"lease": {"4h"}, "key": {"k-1"}})
	if to := wantRedirect(t, answer); to != "/workloads/w-train-resnet" {
		t.Errorf("a short one is added at once, got %s", to)
	}
	wantRedirect(t, w.Post(webtest.Anna, "/workloads/w-train-resnet/extend", url.Values{"lease": {"4h"}, "key": {"k-1"}}))
	if got := w.Work("w-train-resnet").Lease.Until.Sub(before); got != 4*time.Hour {
		t.Errorf("a double click adds four hours once, got %s", got)
	}
	again := read(t, w.Post(webtest.Anna, "/workloads/w-train-resnet/extend", url.Values{"lease": {"5h"}, "key": {"k-1"}}),
		http.StatusConflict)
	if part(again, "see-earlier").Length() != 1 || part(again, "send-another").Length() != 1 {
		t.Error("the same form with another length was not sent, and says so")
	}
	long := wantRedirect(t, w.Post(webtest.Anna, "/workloads/w-train-resnet/extend",
		url.Values{"lease": {"80h"}, "reason": {"the sweep"}, "key": {"k-2"}}))
	if !strings.HasPrefix(long, "/requests/") {
		t.Errorf("a long one waits for an approval, got %s", long)
	}
	asked := read(t, w.Get(webtest.Anna, long), http.StatusOK)
	if got := textOf(asked.Find("h1")); !strings.Contains(got, "Extension of train-resnet: ") ||
		!strings.Contains(got, " → ") || !strings.Contains(got, "(+€") {
		t.Errorf("want an extension to speak as one, with both leases and the price, got %q", got)
	}
	wantText(t, asked, "request-verdict", "The workload runs until 21 Nov 2026",
		"The lease is extended automatically")
	title := textOf(asked.Find("h1"))
	wantText(t, read(t, w.Get(webtest.Anna, "/requests"), http.StatusOK), "request-row",
		title[:strings.Index(title, ")")+1])
	wantText(t, read(t, w.Get(webtest.Carla, strings.Replace(long, "/requests/", "/approvals/", 1)), http.StatusOK),
		"approval", "Anna Albers: Extension of train-resnet", "Added price")
	wantText(t, read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK), "extension-waits",
		"An extension waits for approval (approver)", " → ")
	doc := read(t, w.Post(webtest.Anna, "/workloads/w-train-resnet/extend",
		url.Values{"lease": {"90d"}, "reason": {"why not"}}), http.StatusUnprocessableEntity)
	if got := textOf(doc.Find("#extend-lease-error")); !strings.Contains(got, "exceeds 7 d") {
		t.Errorf("want the most beside the field, got %q", got)
	}
	if got := doc.Find("textarea[name=reason]").Text(); got != "why not" {
		t.Errorf("what was typed stays, got %q", got)
	}
}

func TestObjectsAndHistory(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	wantText(t, read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/objects"), http.StatusOK), "workload-objects",
		"kind: StatefulSet", "nvidia.com/mig-1g.10gb", "gpu-vision")
	w.Post(webtest.Anna, "/workloads/w-train-resnet/extend", url.Values{"lease": {"1h"}})
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/history"), http.StatusOK)
	first := textOf(part(doc, "event").First())
	if !strings.Contains(first, "Anna Albers") || !strings.Contains(first, "extended the lease") ||
		!strings.Contains(first, "21 Nov 2026, 18:00 UTC") {
		t.Errorf("the newest comes first, in words, got %q", first)
	}
}

// TestAFinishedJobHasNoAccess: there is nothing to open or to share any more.
func TestAFinishedJobHasNoAccess(t *testing.T) {
	t.Parallel()
	for _, s := range webtest.Scenes() {
		if s.Area != "workload" || !strings.HasPrefix(s.Name, "job, ") {
			continue
		}
		path, _, _ := strings.Cut(s.Path, "?")
		if s.Path = path + "/connect"; strings.Count(path, "/") > 2 {
			continue // another tab
		}
		answer, err := s.Render("en", "")
		if err != nil {
			t.Fatal(err)
		}
		shown := part(read(t, answer, http.StatusOK), "workload-access").Length()
		if runs := strings.HasPrefix(s.Name, "job, runs"); (shown == 1) != runs {
			t.Errorf("%s: the card is there: %d", s.Name, shown)
		}
	}
}

func TestWhatFailedCanBeStartedAgainWithChanges(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-vlm-test"), http.StatusOK)
	if In(part(doc, "more"), "stop").Length() != 1 || part(doc, "stop").Length() != 1 {
		t.Error("want its stop in the menu alone: it only tidies up")
	}
	href, _ := part(doc, "start-again").Attr("href")
	for _, want := range []string{"kind=notebook", "image=jupyterlab", "size=gpu-shared", "replaces=w-vlm-test"} {
		if !strings.Contains(href, want) {
			t.Errorf("the form begins as this one was: want %s in %q", want, href)
		}
	}
	wantAbsent(t, doc, "extend")
	wantText(t, read(t, w.Get(webtest.Anna, href), http.StatusOK), "start-replaces", "vlm-test")
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK), "start-again")
	wantAbsent(t, read(t, w.Get(webtest.Eli, "/workloads/w-vlm-test"), http.StatusOK), "start-again")
}

// TestWhatIsStoppedSaysSinceWhen, and offers no more lease in its card; what is charged meanwhile stands at its price.
func TestWhatIsStoppedSaysSinceWhen(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Get(webtest.Anna, "/workloads/w-old-notes"), http.StatusOK)
	wantText(t, doc, "reason", "Stopped by Anna Albers, 21 Nov 2026, 11:00")
	wantText(t, doc, "price", "nothing while it is stopped")
	wantAbsent(t, doc, "extensions", "volume") // the storage is what the stop left
	wantText(t, doc, "kept-storage", "old-notes-home")
	running := read(t, webtest.Busy(t).Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK)
	if part(running, "extensions").Length() != 1 || part(running, "volume").Length() != 1 {
		t.Error("want both of what runs")
	}
}

// TestAnEndedLeaseIsExtendedFirst: what is stopped because its lease ended cannot start, and offers more time instead.
func TestAnEndedLeaseIsExtendedFirst(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	item := w.Work("w-old-notes")
	item.Lease.Until = w.Clock.Add(-time.Minute)
	w.PutWork(item)
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-old-notes"), http.StatusOK)
	wantAbsent(t, doc, "resume")
	if part(doc, "extensions").Find("[data-test^=extend-]").Length() == 0 || part(doc, "extend").Length() != 1 {
		t.Error("want it to offer a longer lease")
	}
}

// TestWhatDoesNotRunSaysNothingOfASchedule: "it runs until it is stopped" stood on what had failed. The menu keeps the
// way to one.
func TestWhatDoesNotRunSaysNothingOfASchedule(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for _, at := range []string{"/workloads/w-vlm-test", "/workloads/w-old-notes"} {
		doc := read(t, w.Get(webtest.Anna, at), http.StatusOK)
		wantAbsent(t, doc, "workload-schedule")
		if got := part(doc, "schedule-change").AttrOr("href", ""); got != at+"/schedule" {
			t.Errorf("%s: want the way to a schedule in the menu, got %q", at, got)
		}
	}
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK)
	wantText(t, doc, "workload-schedule", "No schedule")
}

// TestWhatFailedLeadsToItsLog: the notice says that the log tells why, on every tab but that of the log.
func TestWhatFailedLeadsToItsLog(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	const at = "/workloads/w-vlm-test"
	doc := read(t, w.Get(webtest.Anna, at+"/events"), http.StatusOK)
	if got := part(doc, "to-logs").AttrOr("href", ""); got != at+"/logs" {
		t.Errorf("want the log, got %q", got)
	}
	if part(doc, "stop").HasClass("pf-m-secondary") {
		t.Error("want a stop that is quieter than that of what runs")
	}
	wantAbsent(t, read(t, w.Get(webtest.Anna, at+"/logs"), http.StatusOK), "to-logs")
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/events"), http.StatusOK), "to-logs")
}

// TestAnExtensionIsOfferedOnce: the notice of a lease that ends offers it, so the head need not.
func TestAnExtensionIsOfferedOnce(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/workloads/w-llm-chat/events"), http.StatusOK), "extend")
	if part(read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/events"), http.StatusOK), "extend").Length() != 1 {
		t.Error("want it in the head of what does not end soon")
	}
}

// TestManyTabsStandInAMenu: an endpoint has more sides than fit beside each other; the button names the current one.
func TestManyTabsStandInAMenu(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-llm-chat"), http.StatusOK)
	wantText(t, doc, "tabs-more", "More", "Terminal", "Files", "YAML", "Activity")
	if n := doc.Find(".gp-tabs__item, .gp-tabs .pf-v6-c-tabs__item").Length(); n != 7 {
		t.Errorf("want seven beside each other, got %d", n)
	}
	doc = read(t, w.Get(webtest.Anna, "/workloads/w-llm-chat/history"), http.StatusOK)
	more := part(doc, "tabs-more")
	if got := textOf(more.Find("summary")); got != "Activity" || more.Find("[aria-current]").Length() != 1 {
		t.Errorf("want the current one on the button and marked in the menu, got %q", got)
	}
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK), "tabs-more")
}

// TestTheCardOfTheLeaseExtendsIt: the head offers it on the tabs without that card.
func TestTheCardOfTheLeaseExtendsIt(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for at, inCard := range map[string]int{"/workloads/w-train-resnet": 1, "/workloads/w-train-resnet/metrics": 0,
		"/workloads/w-old-notes": 1} {
		doc := read(t, w.Get(webtest.Anna, at), http.StatusOK)
		if got := In(part(doc, "workload-lease"), "extend").Length(); got != inCard || part(doc, "extend").Length() != 1 {
			t.Errorf("%s: want it once, %d times in the card, got %d", at, inCard, got)
		}
	}
}

// TestTheActivityByWhatItTells: how it fares, or who got to it; unknown words show all.
func TestTheActivityByWhatItTells(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	const at = "/workloads/w-train-resnet/history"
	for show, want := range map[string]struct{ has, lacks string }{"": {"created an embed address", "nothing of the kind"},
		"?show=state":  {"created the workload", "created an embed address"},
		"?show=access": {"created an embed address", "created the workload"},
		"?show=other":  {"created the workload", "nothing of the kind"}} {
		text := textOf(part(read(t, w.Get(webtest.Anna, at+show), http.StatusOK), "workload-history"))
		if !strings.Contains(text, want.has) || strings.Contains(text, want.lacks) {
			t.Errorf("%q: want %q and not %q, got %q", show, want.has, want.lacks, text)
		}
	}
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/workloads/w-llm-chat/history"), http.StatusOK), "history-access")
}

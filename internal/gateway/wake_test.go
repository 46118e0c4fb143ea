package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// alarm wakes the endpoint of a world. Until it is told to, the endpoint only starts.
type alarm struct {
	*world
	asked atomic.Int64
	wakes atomic.Int64
	full  atomic.Bool // no room
}

func (a *alarm) Wake(_ context.Context, id workload.ID) (wl workload.Workload, err error) {
	a.asked.Add(1)
	a.change("ep-anna", func(w *workload.Workload) {
		switch {
		case w.ID != id || !w.Asleep():
		case a.full.Load():
			w.Replicas.Short = i18n.Literal("Your team uses 3 of 3.")
			err = fault.New(fault.Conflict, w.Replicas.Short)
		default:
			a.wakes.Add(1)
			w.Replicas.Asleep, w.State = false, workload.Queued
		}
		wl = *w
	})
	return wl, err
}

// sleeping is a world whose endpoint sleeps, and a key of it.
func sleeping(t *testing.T, change ...func(*Options, *PodsOptions)) (*world, *alarm, []string) {
	a := &alarm{}
	w := newWorld(t, append(change, func(o *Options, _ *PodsOptions) { o.Waker = a })...)
	a.world = w
	w.change("ep-anna", asleep)
	return w, a, w.key("a", "ep-anna", endpointkey.Limits{})
}

func asleep(wl *workload.Workload) {
	wl.Replicas = workload.Replicas{Range: workload.Range{Min: 0, Max: 2}, Wanted: 1, Asleep: true}
	wl.State = workload.Asleep
	wl.Observed = workload.Observation{}
}

func awake(wl *workload.Workload) {
	wl.State = workload.Running
	wl.Observed = workload.Observation{Ready: true, Pod: "p", PodIP: "10.64.0.5",
		Pods: []workload.Replica{{Pod: "p", IP: "10.64.0.5", Ready: true}}}
}

func TestTheFirstRequestWakes(t *testing.T) {
	w, a, key := sleeping(t)
	answers := make(chan int, 20)
	for range cap(answers) {
		go func() {
			res := w.chat("ep-anna", `{"model":"m"}`, key...)
			answers <- res.StatusCode
		}()
	}
	waitFor(t, "all of them wait", func() bool { return w.gw.Held() == cap(answers) && a.wakes.Load() == 1 })
	w.change("ep-anna", awake)
	for range cap(answers) {
		if status := <-answers; status != http.StatusOK {
			t.Errorf("want what waited to be served, got %d", status)
		}
	}
	if n := a.wakes.Load(); n != 1 {
		t.Errorf("want one wake for all of them, got %d", n)
	}
	waitFor(t, "nothing waits any more", func() bool { return w.gw.Held() == 0 })
}

func TestACallWaitsForALimitedTime(t *testing.T) {
	w, _, key := sleeping(t, func(o *Options, _ *PodsOptions) { o.WakeWithin = 50 * time.Millisecond })
	res := w.chat("ep-anna", `{}`, key...)
	if e := errorOf(t, res); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") != "5" ||
		e.Error.Code != "endpoint_asleep" || !strings.Contains(e.Error.Message, "waking") {
		t.Errorf("want 503 with Retry-After, got %d %v %+v", res.StatusCode, res.Header, e)
	}
}

func TestOnlySoManyWait(t *testing.T) {
	w, _, key := sleeping(t, func(o *Options, _ *PodsOptions) { o.MaxHeld = 1 })
	first := make(chan int, 1)
	go func() { first <- w.chat("ep-anna", `{}`, key...).StatusCode }()
	waitFor(t, "the first waits", func() bool { return w.gw.Held() == 1 })
	res := w.chat("ep-anna", `{}`, key...)
	if errorOf(t, res); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("want the second refused, got %d", res.StatusCode)
	}
	w.change("ep-anna", awake)
	if status := <-first; status != http.StatusOK {
		t.Errorf("want the first served, got %d", status)
	}
}

func TestNoRoomToWake(t *testing.T) {
	w, a, key := sleeping(t)
	a.full.Store(true)
	res := w.chat("ep-anna", `{}`, key...)
	if e := errorOf(t, res); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" ||
		!strings.Contains(e.Error.Message, "Your team uses 3 of 3.") {
		t.Errorf("want 503 that says why, got %d %+v", res.StatusCode, e)
	}
	page := w.get("ep-anna", "/", with(navigation, "Cookie", w.signIn(annaPortal, "ep-anna"))...)
	if text := bodyOf(t, page); page.StatusCode != http.StatusServiceUnavailable ||
		!strings.Contains(text, "Your team uses 3 of 3.") {
		t.Errorf("want the page to say why, got %d %s", page.StatusCode, text)
	}
}

func TestWhatWasStoppedDoesNotWake(t *testing.T) {
	w, a, key := sleeping(t)
	w.change("ep-anna", func(wl *workload.Workload) { wl.Desired, wl.State = workload.WantStopped, workload.Stopped })
	if res := w.chat("ep-anna", `{}`, key...); res.StatusCode != http.StatusServiceUnavailable || a.asked.Load() > 0 {
		t.Errorf("want 503 and nobody woken, got %d, %d", res.StatusCode, a.asked.Load())
	}
}

func TestTheWakingPageLooksAgain(t *testing.T) {
	w, a, _ := sleeping(t)
	cookie := w.signIn(annaPortal, "ep-anna")
	page := w.get("ep-anna", "/docs", with(navigation, "Cookie", cookie)...)
	if text := bodyOf(t, page); page.StatusCode != http.StatusServiceUnavailable || a.wakes.Load() != 1 ||
		!strings.Contains(text, `http-equiv="refresh"`) || page.Header.Get("Retry-After") == "" {
		t.Errorf("want a page that looks again, got %d %s", page.StatusCode, text)
	}
	w.change("ep-anna", awake)
	waitFor(t, "it opens", func() bool {
		return w.get("ep-anna", "/docs", with(navigation, "Cookie", cookie)...).StatusCode == http.StatusOK
	})
}

func bodyOf(t *testing.T, res *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// Calls went to replicas in turn, and a call under way was taken for one to a pod that is not the workload's any more
// as soon as it was another's turn: streams of endpoints with several replicas broke off within seconds. The same must
// not happen while a replica goes, or while the endpoint falls asleep.
func TestStreamsOutliveTurnsAndScaling(t *testing.T) {
	w := newWorld(t)
	key := w.key("a", "ep-anna", endpointkey.Limits{})
	two := []workload.Replica{{Pod: "p", IP: "10.64.0.5", Ready: true}, {Pod: "q", IP: "10.64.0.6", Ready: true}}
	w.change("ep-anna", func(wl *workload.Workload) {
		wl.Replicas = workload.Replicas{Range: workload.Range{Min: 0, Max: 2}, Wanted: 2}
		wl.Observed.Pods = two
	})
	res := w.get("ep-anna", "/stream", key...)
	read := func(n int) error {
		buf := make([]byte, 1)
		for range n {
			if _, err := io.ReadFull(res.Body, buf); err != nil {
				return err
			}
		}
		return nil
	}
	for what, change := range map[string]func(*workload.Workload){
		"several turns": func(*workload.Workload) {},
		"a replica goes": func(wl *workload.Workload) {
			wl.Replicas.Wanted = 1
			wl.Observed.Pods[0].Ready, wl.Observed.Pods[1].Ready = true, false
		},
		"it falls asleep": func(wl *workload.Workload) {
			wl.Replicas.Asleep, wl.State = true, workload.Asleep
			wl.Observed.Pods[0].Ready = false
		},
	} {
		w.change("ep-anna", change)
		for range 4 {
			w.gw.Wake(t.Context())
		}
		if err := read(40); err != nil {
			t.Fatalf("%s: want the stream to go on, got %v", what, err)
		}
	}
	w.change("ep-anna", func(wl *workload.Workload) { wl.Observed.Pods = nil; wl.Observed.PodIP = "" })
	w.gw.Wake(t.Context())
	if err := read(40); err != nil {
		t.Fatalf("want it to come to its end, got %v", err)
	}
	w.pass(lastWords)
	w.gw.Wake(t.Context())
	if _, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Error("want it closed once the pod is gone")
	}
}

func TestLoads(t *testing.T) {
	var l loads
	at := time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC)
	step := func() autoscale.EndpointLoad {
		at = at.Add(autoscale.ReportEvery)
		list := l.report(at)
		if len(list) == 0 {
			return autoscale.EndpointLoad{}
		}
		return list[0]
	}
	l.begin("w", at)
	l.begin("w", at)
	if got := step(); got.UnderWay != 2 || got.Concurrency != 2 || got.PerSecond != 0.4 {
		t.Errorf("two under way for all of 5 s: got %+v", got)
	}
	l.end("w", at)
	if got := step(); got.UnderWay != 1 || got.Concurrency != 1.5 || got.PerSecond != 0.2 {
		t.Errorf("one for the other half of the time: got %+v", got)
	}
	l.end("w", at)
	ended := at
	for range 2 {
		step()
	}
	if got := step(); got.UnderWay != 0 || got.Concurrency != 0 || !got.LastRequest.Equal(ended) {
		t.Errorf("a window later: got %+v", got)
	}
	for range 3 {
		step()
	}
	if len(l.byID) != 0 {
		t.Errorf("want it forgotten, got %v", l.byID)
	}
}

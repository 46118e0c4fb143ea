package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/traffic"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// tally counts as the database would.
type tally struct {
	mu   sync.Mutex
	sums map[traffic.Source]traffic.Counts
}

func (t *tally) Record(s traffic.Source, o *traffic.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := t.sums[s]
	sum.Count(o)
	t.sums[s] = sum
}

func (t *tally) of(s traffic.Source) traffic.Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sums[s]
}

func tallied(t *testing.T, change ...func(*Options, *PodsOptions)) (*world, *tally) {
	counts := &tally{sums: map[traffic.Source]traffic.Counts{}}
	return newWorld(t, append(change, func(o *Options, _ *PodsOptions) { o.Traffic = counts })...), counts
}

var (
	withKey = traffic.Source{Workload: "w-ep-anna", Key: "aaaaaaaa", Revision: 1}
	byAnna  = traffic.Source{Workload: "w-ep-anna", Person: "anna", Revision: 1}
)

// counts waits until a source has so many calls, and gives them without the times of the histograms: only how many.
func (t *tally) counts(w *world, s traffic.Source, calls int64) (traffic.Counts, int64, int64) {
	w.t.Helper()
	waitFor(w.t, "calls to be counted", func() bool { return t.of(s).Requests >= calls })
	c := t.of(s)
	first, took := c.First.Count(), c.Took.Count()
	c.First, c.Took = traffic.Histogram{}, traffic.Histogram{}
	return c, first, took
}

// podOf has another server answer for every pod.
func (w *world) podOf(h http.HandlerFunc) *httptest.Server {
	w.pod = httptest.NewServer(h)
	return w.pod
}

func TestCallsOfAKeyAreCounted(t *testing.T) {
	w, counts := tallied(t)
	key := w.key("a", "ep-anna", endpointkey.Limits{})
	read := func(res *http.Response) {
		t.Helper()
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	read(w.chat("ep-anna", `{}`, key...))
	read(w.chat("ep-anna", `{"stream":true,"stream_options":{"include_usage":true}}`, key...))
	read(w.chat("ep-anna", `{"stream":true}`, key...))
	read(w.get("ep-anna", "/v1/models?api_key="+strings.Fields(key[1])[1])) // refused before anybody knows whose it is
	if res := w.call(http.MethodTrace, "ep-anna", "/", nil, key...); res.StatusCode != http.StatusMethodNotAllowed {
		t.Fatalf("got %d", res.StatusCode)
	}
	got, first, took := counts.counts(w, withKey, 3)
	if diff := cmp.Diff(traffic.Counts{Requests: 3, Prompt: 20, Completion: 10, WithoutUsage: 1}, got); diff != "" ||
		first != 3 || took != 3 {
		t.Errorf("got %d first bytes and %d ends, want -, got +\n%s", first, took, diff)
	}
	res := w.get("ep-anna", "/break", key...)
	if read(res); res.StatusCode != http.StatusBadGateway {
		t.Fatalf("got %d", res.StatusCode)
	}
	w.changeKey("a", func(k *endpointkey.Key) { k.Limits.RequestsPerMinute = 1 })
	waitFor(t, "the limit to be reached", func() bool {
		res := w.chat("ep-anna", `{}`, key...)
		read(res)
		return res.StatusCode == http.StatusTooManyRequests
	})
	waitFor(t, "the refusal to be counted", func() bool { return counts.of(withKey).Refused == 1 })
	if got := counts.of(withKey); got.ServerErrors != 1 || got.ClientErrors != 0 {
		t.Errorf("want one error of the server, got %+v", got)
	}
	if other := counts.of(byAnna); other.Requests != 0 {
		t.Errorf("want nothing counted for a person, got %+v", other)
	}
}

// TestAServerThatDiesInMidStream: the call is an error of the server, though its status was 200; a caller who leaves is
// none.
func TestAServerThatDiesInMidStream(t *testing.T) {
	w, counts := tallied(t)
	key := w.key("a", "ep-anna", endpointkey.Limits{})
	pod := w.podOf(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(rw, "data: {}\n\n")
		_ = http.NewResponseController(rw).Flush()
		if strings.HasPrefix(r.URL.Path, "/v1/dies") {
			panic(http.ErrAbortHandler)
		}
		<-r.Context().Done()
	})
	defer pod.Close()
	res := w.call(http.MethodPost, "ep-anna", "/v1/dies", strings.NewReader("{}"), key...)
	_, _ = io.Copy(io.Discard, res.Body)
	got, first, took := counts.counts(w, withKey, 1)
	if got.ServerErrors != 1 || first != 0 || took != 0 {
		t.Errorf("want an error of the server, got %+v, %d, %d", got, first, took)
	}
	res = w.call(http.MethodPost, "ep-anna", "/v1/waits", strings.NewReader("{}"), key...)
	_, _ = res.Body.Read(make([]byte, 4))
	_ = res.Body.Close()
	got, first, took = counts.counts(w, withKey, 2)
	if got.Errors() != 1 || first != 1 || took != 0 {
		t.Errorf("want no further error, the first byte and no end, got %+v, %d, %d", got, first, took)
	}
}

// TestTrialsAreCountedForThePerson: those of the portal's page, and those of a browser at the endpoint's own address.
func TestTrialsAreCountedForThePerson(t *testing.T) {
	w, counts := tallied(t)
	if answer, err := w.try("anna", annaPortal, "/v1/chat/completions"); err != nil || answer.Code != http.StatusOK {
		t.Fatalf("got %d %v", answer.Code, err)
	}
	got, first, _ := counts.counts(w, byAnna, 1)
	if diff := cmp.Diff(traffic.Counts{Requests: 1, Prompt: 10, Completion: 5}, got); diff != "" || first != 1 {
		t.Errorf("got %d first bytes; want -, got +\n%s", first, diff)
	}
	res := w.get("ep-anna", "/headers", "Cookie", w.signIn(annaPortal, "ep-anna"))
	_ = res.Body.Close()
	counts.counts(w, byAnna, 2)
	if len(counts.sums) != 1 {
		t.Errorf("want one consumer, got %v", counts.sums)
	}
}

// TestNotebooksAreNotCounted, and a websocket of an endpoint is a call without an end that anybody waits for.
func TestNotebooksAreNotCounted(t *testing.T) {
	w, counts := tallied(t)
	res := w.get("nb-anna", "/headers", "Cookie", w.signIn(annaPortal, "nb-anna"))
	_ = res.Body.Close()
	w.change("ep-anna", func(wl *workload.Workload) { wl.Image.Auth = "bearer" })
	cookie := w.signIn(annaPortal, "ep-anna")
	conn, _, err := websocket.Dial(t.Context(), "ws://ep-anna.apps.test/ws", &websocket.DialOptions{HTTPClient: w.client,
		HTTPHeader: http.Header{"Cookie": {cookie}, "Origin": {"http://ep-anna.apps.test"}}})
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.CloseNow()
	got, first, took := counts.counts(w, byAnna, 1)
	if got.Requests != 1 || got.Errors() != 0 || first+took != 0 || len(counts.sums) != 1 {
		t.Errorf("want one call without times, got %+v, %d, %d of %v", got, first, took, counts.sums)
	}
}

// TestTheFirstByteIsMeasured: from the call on, however long the rest takes.
func TestTheFirstByteIsMeasured(t *testing.T) {
	w, counts := tallied(t)
	key := w.key("a", "ep-anna", endpointkey.Limits{})
	const thinks, writes = 70 * time.Millisecond, 450 * time.Millisecond
	pod := w.podOf(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		rw.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(rw).Flush() // headers are no token
		time.Sleep(thinks)
		_, _ = io.WriteString(rw, "data: {}\n\n")
		_ = http.NewResponseController(rw).Flush()
		time.Sleep(writes)
		_, _ = io.WriteString(rw, "data: [DONE]\n\n")
	})
	defer pod.Close()
	res := w.call(http.MethodPost, "ep-anna", "/v1/chat/completions", strings.NewReader("{}"), key...)
	_, _ = io.Copy(io.Discard, res.Body)
	counts.counts(w, withKey, 1)
	c := counts.of(withKey)
	first, _ := c.First.Quantile(1)
	took, _ := c.Took.Quantile(1)
	if first < thinks || took < thinks+writes || first >= took {
		t.Errorf("want it to begin after %v and to end after %v, got %v and %v", thinks, thinks+writes, first, took)
	}
}

package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/logging"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// answerChat is a model server that tells what it took.
func answerChat(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	const usage = `"usage":{"prompt_tokens":10,"completion_tokens":5}`
	if !bytes.Contains(body, []byte(`"stream":true`)) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Ratelimit-Limit-Requests", "9999") // its own limits are nobody's business
		_, _ = fmt.Fprintf(w, `{"choices":[],%s}`, usage)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for range 3 {
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
	}
	if bytes.Contains(body, []byte("include_usage")) {
		_, _ = fmt.Fprintf(w, "data: {\"choices\":[],%s}\n\n", usage)
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// key makes a key of an endpoint and gives its Authorization header.
func (w *world) key(id, name string, l endpointkey.Limits) []string {
	c := identity.Credential{ID: strings.Repeat(id, 8), Secret: identity.NewCredential().Secret}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keys[c.ID] = endpointkey.Key{ID: c.ID, Workload: workload.ID("w-" + name), SecretHash: c.Hash(), Limits: l,
		ExpiresAt: time.Now().Add(24 * time.Hour)}
	return []string{"Authorization", "bearer  " + endpointkey.Prefix + c.String()}
}

func (w *world) changeKey(id string, f func(*endpointkey.Key)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.keys[strings.Repeat(id, 8)]
	f(&k)
	w.keys[k.ID] = k
}

func (w *world) chat(name, body string, headers ...string) *http.Response {
	w.t.Helper()
	return w.call(http.MethodPost, name, "/v1/chat/completions", strings.NewReader(body), headers...)
}

type openAIError struct {
	Error struct{ Message, Type, Code string }
}

func errorOf(t testing.TB, res *http.Response) openAIError {
	t.Helper()
	var e openAIError
	if err := json.NewDecoder(res.Body).Decode(&e); err != nil || e.Error.Message == "" {
		t.Fatalf("want an error of the OpenAI API, got %v %+v", err, e)
	}
	return e
}

func TestKeysOpenTheirEndpoint(t *testing.T) {
	w := newWorld(t)
	key := w.key("a", "ep-anna", endpointkey.Limits{})
	saw := sawOf(t, w.call(http.MethodPost, "ep-anna", "/v1/embeddings", strings.NewReader("{}"),
		with(key, "Origin", "http://elsewhere.test", "X-Api-Key", strings.TrimPrefix(key[1], "bearer  "))...))
	if got := saw.Header["Authorization"]; len(got) != 1 || got[0] != "Bearer pod-secret-of-ep-anna" {
		t.Errorf("want the endpoint's own secret and nothing else, got %v", got)
	}
	if all := fmt.Sprint(saw); strings.Contains(all, endpointkey.Prefix) {
		t.Errorf("the key must not reach the model server: %s", all)
	}

	other := w.key("b", "nb-anna", endpointkey.Limits{})
	expired, revoked := w.key("c", "ep-anna", endpointkey.Limits{}), w.key("d", "ep-anna", endpointkey.Limits{})
	w.changeKey("c", func(k *endpointkey.Key) { k.ExpiresAt = time.Now() })
	w.changeKey("d", func(k *endpointkey.Key) { k.RevokedAt = time.Now() })
	for name, c := range map[string]struct {
		host   string
		header []string
		code   string
	}{
		"another endpoint":        {"nb-nobody", key, "invalid_api_key"},
		"a notebook":              {"nb-anna", key, "invalid_api_key"},
		"a key of a notebook":     {"nb-anna", other, "invalid_api_key"},
		"a key of something else": {"ep-anna", other, "invalid_api_key"},
		"a wrong secret":          {"ep-anna", []string{"Authorization", key[1] + "x"}, "invalid_api_key"},
		"expired":                 {"ep-anna", expired, "expired_api_key"},
		"revoked":                 {"ep-anna", revoked, "invalid_api_key"},
		"a person's token":        {"ep-anna", []string{"Authorization", "Bearer gpup_anna.secret"}, "invalid_api_key"},
		"a person's token and no workload": {"ep-nobody", []string{"Authorization", "Bearer gpup_anna.secret"},
			"invalid_api_key"},
	} {
		res := w.chat(c.host, "{}", c.header...)
		if e := errorOf(t, res); res.StatusCode != http.StatusUnauthorized || e.Error.Code != c.code ||
			e.Error.Type != "invalid_request_error" {
			t.Errorf("%s: want 401 %s, got %d %+v", name, c.code, res.StatusCode, e)
		}
	}
	if res := w.get("ep-anna", "/", with([]string{"Authorization", "Bearer gpup_anna.secret"}, "Cookie",
		w.signIn(annaPortal, "ep-anna"))...); res.StatusCode != http.StatusUnauthorized ||
		!strings.Contains(text(t, res), "Create a key") {
		t.Errorf("want somebody told what to use instead of a token, got %d", res.StatusCode)
	}
	if res := w.get("ep-anna", "/", "Cookie", w.signIn(annaPortal, "ep-anna")); res.StatusCode != http.StatusOK {
		t.Errorf("want the owner's browser let in, got %d", res.StatusCode)
	}
}

func TestARevokedKeyOpensNothing(t *testing.T) {
	w := newWorld(t)
	key := w.key("a", "ep-anna", endpointkey.Limits{})
	socket := w.mustDial("ep-anna", "", key...)
	w.changeKey("a", func(k *endpointkey.Key) { k.RevokedAt = time.Now() })
	if _, _, err := socket.Read(t.Context()); err == nil {
		t.Error("want the websocket of a revoked key closed")
	}
	if res := w.chat("ep-anna", "{}", key...); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("want the key refused, got %d", res.StatusCode)
	}
}

func TestKeysAreNoPartOfAnAddress(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t, func(o *Options, _ *PodsOptions) { o.Logger = logging.New(&log, logging.JSON, slog.LevelInfo) })
	key := strings.TrimPrefix(w.key("a", "ep-anna", endpointkey.Limits{})[1], "bearer  ")
	for _, query := range []string{"key=" + key, "a=b&api_key=" + strings.ReplaceAll(key, "_", "%5F"),
		"token=gpup_anna.secret"} {
		res := w.get("ep-anna", "/v1/models?"+query)
		if e := errorOf(t, res); res.StatusCode != http.StatusBadRequest || e.Error.Code != "key_in_query" {
			t.Errorf("%s: want 400, got %d %+v", query, res.StatusCode, e)
		}
	}
	_ = w.chat("ep-anna", "{}", "Authorization", "Bearer "+key)
	w.server.Close() // every access line is written
	if _, secret, _ := strings.Cut(key, "."); strings.Contains(log.String(), secret) {
		t.Error("want no secret in the log")
	}
	if !strings.Contains(log.String(), "gpk_aaaaaaaa") {
		t.Errorf("want the key named in the log, got %s", log.String())
	}
	if len(w.dials()) != 1 {
		t.Errorf("want one call to reach the pod, got %v", w.dials())
	}
}

func TestLimitsOfAKey(t *testing.T) {
	w := newWorld(t)
	w.pass(0) // the clock stands
	key := w.key("a", "ep-anna", endpointkey.Limits{RequestsPerMinute: 2})
	if h := w.chat("ep-anna", "{}", key...).Header; h.Get("RateLimit") != `"requests";r=1;t=60` ||
		h.Get("RateLimit-Policy") != `"requests";q=2;w=60` || h.Get("X-RateLimit-Remaining-Requests") != "1" ||
		len(h.Values("X-RateLimit-Limit-Requests")) != 1 {
		t.Errorf("want to be told what is left, got %v", h)
	}
	_ = w.chat("ep-anna", "{}", key...)
	w.pass(15 * time.Second)
	res := w.chat("ep-anna", "{}", key...)
	if e := errorOf(t, res); res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") != "45" ||
		e.Error.Type != "requests" || e.Error.Code != "rate_limit_exceeded" ||
		res.Header.Get("RateLimit") != `"requests";r=0;t=45` {
		t.Errorf("want 429 for 45 s, got %d %v %+v", res.StatusCode, res.Header, e)
	}
	w.pass(45 * time.Second)
	if res := w.chat("ep-anna", "{}", key...); res.StatusCode != http.StatusOK {
		t.Errorf("want another minute, got %d", res.StatusCode)
	}

	tokens := w.key("b", "ep-anna", endpointkey.Limits{TokensPerMinute: 20})
	_ = text(t, w.chat("ep-anna", "{}", tokens...))
	if h := w.chat("ep-anna", "{}", tokens...).Header; h.Get("X-RateLimit-Remaining-Tokens") != "5" {
		t.Errorf("want 15 tokens counted, got %v", h)
	}
	waitFor(t, "the tokens of the second answer", func() bool {
		res := w.chat("ep-anna", "{}", tokens...)
		return res.StatusCode == http.StatusTooManyRequests && errorOf(t, res).Error.Type == "tokens"
	})

	one := w.key("e", "ep-anna", endpointkey.Limits{Concurrency: 1})
	socket := w.mustDial("ep-anna", "", one...)
	if res := w.chat("ep-anna", "{}", one...); res.StatusCode != http.StatusTooManyRequests ||
		res.Header.Get("Retry-After") != "1" || errorOf(t, res).Error.Type != "concurrency" {
		t.Errorf("want one call at once, got %d", res.StatusCode)
	}
	_ = socket.CloseNow()
	waitFor(t, "room again", func() bool { return w.chat("ep-anna", "{}", one...).StatusCode == http.StatusOK })
}

func TestTokensAreCounted(t *testing.T) {
	w := newWorld(t)
	key := w.key("a", "ep-anna", endpointkey.Limits{TokensPerMinute: 1000, RequestsPerMinute: 4})
	for _, body := range []string{`{}`, `{"stream":true,"stream_options":{"include_usage":true}}`, `{"stream":true}`} {
		got := text(t, w.chat("ep-anna", body, key...))
		if !strings.Contains(got, "choices") {
			t.Errorf("want the whole answer, got %q", got)
		}
	}
	_ = text(t, w.get("ep-anna", "/v1/models", key...))
	_ = text(t, w.get("ep-anna", "/v1/models", key...)) // over the limit
	w.fail(errors.New("the database is away"))
	w.gw.Flush(t.Context())
	w.fail(nil)
	waitFor(t, "the counts to be written", func() bool {
		w.gw.Flush(t.Context())
		w.mu.Lock()
		defer w.mu.Unlock()
		var sum endpointkey.Traffic
		for _, n := range w.taken {
			sum.Requests, sum.Refused, sum.WithoutUsage = sum.Requests+n.Requests, sum.Refused+n.Refused, sum.WithoutUsage+
				n.WithoutUsage
			sum.Usage.Prompt, sum.Usage.Completion = sum.Usage.Prompt+n.Usage.Prompt, sum.Usage.Completion+n.Usage.Completion
			if n.Key != "aaaaaaaa" || n.Workload != "w-ep-anna" || n.LastAt.IsZero() {
				t.Fatalf("got %+v", n)
			}
		}
		return sum.Requests == 4 && sum.Refused == 1 && sum.WithoutUsage == 1 && sum.Usage == endpointkey.Usage{Prompt: 20,
			Completion: 10}
	})
}

// What was counted is written when nobody calls any more, and the watch ends.
func TestCountsAreWrittenAtTheEnd(t *testing.T) {
	w := newWorld(t)
	_ = text(t, w.chat("ep-anna", "{}", w.key("a", "ep-anna", endpointkey.Limits{})...))
	waitFor(t, "the counts", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.taken) > 0
	})
	waitFor(t, "the watch to end", func() bool {
		w.gw.watcher.Lock()
		defer w.gw.watcher.Unlock()
		return !w.gw.watched
	})
}

// slowKeys writes when it is told to.
type slowKeys struct {
	*world
	began, write chan struct{}
}

func (s slowKeys) AddKeyTraffic(ctx context.Context, list []endpointkey.Traffic) error {
	s.began <- struct{}{}
	<-s.write
	return s.world.AddKeyTraffic(ctx, list)
}

// A gateway that closes while the watch writes waits for that write: the process ends after it.
func TestCloseWaitsForAWriteUnderWay(t *testing.T) {
	slow := slowKeys{began: make(chan struct{}), write: make(chan struct{})}
	w := newWorld(t, func(o *Options, _ *PodsOptions) {
		slow.world = o.Keys.(*world)
		o.Keys = slow
	})
	_ = text(t, w.chat("ep-anna", "{}", w.key("a", "ep-anna", endpointkey.Limits{})...))
	<-slow.began // the watch writes the only call there was
	written := make(chan int)
	go func() {
		w.gw.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		written <- len(w.taken)
	}()
	time.Sleep(50 * time.Millisecond) // for Close to come too far
	close(slow.write)
	if n := <-written; n != 1 {
		t.Errorf("want the call written when Close returns, got %d", n)
	}
}

// TestTenThousandKeys: each opens its endpoint, one that is revoked among them does not, and none is remembered once it
// is not used any more.
func TestTenThousandKeys(t *testing.T) {
	w := newWorld(t)
	const all = 10_000
	keys := make([]string, all)
	for i := range keys {
		keys[i] = w.numberedKey(i, endpointkey.Limits{RequestsPerMinute: 2})
	}
	var each errgroup.Group
	each.SetLimit(32)
	for _, key := range keys {
		each.Go(func() error {
			res := w.chat("ep-anna", "{}", "Authorization", key)
			if left := res.Header.Get("X-RateLimit-Remaining-Requests"); res.StatusCode != http.StatusOK || left != "1" {
				return fmt.Errorf("got %d with %q left", res.StatusCode, left)
			}
			_, err := io.Copy(io.Discard, res.Body)
			return errors.Join(err, res.Body.Close())
		})
	}
	if err := each.Wait(); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	revoked, _ := endpointkey.Parse(strings.TrimPrefix(keys[7000], "bearer  "))
	k := w.keys[revoked.ID]
	k.RevokedAt = time.Now()
	w.keys[k.ID] = k
	w.mu.Unlock()
	w.pass(2 * time.Minute) // over every window and every answer that was remembered
	if res := w.chat("ep-anna", "{}", "Authorization", keys[7000]); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("want the revoked key refused, got %d", res.StatusCode)
	}
	waitFor(t, "the keys to be forgotten", func() bool {
		w.gw.Flush(t.Context())
		w.gw.traffic.mu.Lock()
		defer w.gw.traffic.mu.Unlock()
		return len(w.gw.traffic.byKey) == 0
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	requests, counted := 0, map[string]bool{}
	for _, n := range w.taken {
		requests, counted[n.Key] = requests+n.Requests, true
	}
	if requests != all || len(counted) != all {
		t.Errorf("want each call written under its key, got %d of %d keys", requests, len(counted))
	}
}

// TestAKeyFromAThousandConnections: as many calls as its limit get through, the others are told so in the format of the
// API, and another key of the endpoint notices nothing.
func TestAKeyFromAThousandConnections(t *testing.T) {
	w := newWorld(t)
	const atOnce = 10
	key := w.key("a", "ep-anna", endpointkey.Limits{Concurrency: atOnce})
	other := w.key("b", "ep-anna", endpointkey.Limits{})
	var held, refused atomic.Int64
	var all sync.WaitGroup
	stop := make(chan struct{})
	for range 1000 {
		all.Go(func() {
			res := w.call(http.MethodPost, "ep-anna", "/v1/stream", strings.NewReader("{}"), key...)
			switch res.StatusCode {
			case http.StatusOK:
				held.Add(1)
				<-stop
			case http.StatusTooManyRequests:
				if e := errorOf(t, res); e.Error.Type == "concurrency" && res.Header.Get("Retry-After") == "1" {
					refused.Add(1)
				}
			}
			_ = res.Body.Close()
		})
	}
	waitFor(t, "all to be let in or told", func() bool { return held.Load()+refused.Load() == 1000 })
	if held.Load() != atOnce {
		t.Errorf("want %d at once, got %d", atOnce, held.Load())
	}
	if res := w.chat("ep-anna", "{}", other...); res.StatusCode != http.StatusOK {
		t.Errorf("want another key let in meanwhile, got %d", res.StatusCode)
	}
	close(stop)
	all.Wait()
}

// sharedWindows are those of a database that two replicas have.
type sharedWindows struct {
	mu      sync.Mutex
	byKey   map[string]endpointkey.Window
	failing error
	asked   int
}

func (s *sharedWindows) EndpointKeyWindow(_ context.Context, key string, change func(*endpointkey.Window)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.failing != nil {
		return s.failing
	}
	w := s.byKey[key]
	change(&w)
	s.byKey[key] = w
	return nil
}

// TestLimitsHoldAcrossReplicas: two of them let in what one would, within 2 %; each counts by itself while the database
// is away.
func TestLimitsHoldAcrossReplicas(t *testing.T) {
	windows := &sharedWindows{byKey: map[string]endpointkey.Window{}}
	replicas := make([]*world, 2)
	for i := range replicas {
		replicas[i] = newWorld(t, func(o *Options, _ *PodsOptions) { o.Windows = windows })
		replicas[i].pass(0) // the clock stands
	}
	const limit = 400
	for kind, c := range map[string]struct {
		limits endpointkey.Limits
		most   int64 // what 16 calls at once may take before they are counted is not the replicas' doing
	}{
		"requests": {endpointkey.Limits{RequestsPerMinute: limit}, limit},
		"tokens":   {endpointkey.Limits{TokensPerMinute: 15 * limit}, limit*102/100 + 16},
	} {
		key := replicas[0].key(kind[:1], "ep-anna", c.limits)
		k := replicas[0].keys[strings.Repeat(kind[:1], 8)]
		replicas[1].keys[k.ID] = k
		var passed, refused atomic.Int64
		var each errgroup.Group
		each.SetLimit(16)
		before := windows.asked
		for i := range 3 * limit {
			each.Go(func() error {
				res := replicas[i%2].chat("ep-anna", "{}", key...)
				switch res.StatusCode {
				case http.StatusOK:
					passed.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
				}
				_, err := io.Copy(io.Discard, res.Body)
				return errors.Join(err, res.Body.Close())
			})
		}
		if err := each.Wait(); err != nil {
			t.Fatal(err)
		}
		if n := passed.Load(); n < limit*98/100 || n > c.most || n+refused.Load() != 3*limit {
			t.Errorf("%s: want %d of %d let in within 2 %%, got %d, %d refused", kind, limit, 3*limit, n, refused.Load())
		}
		if asked := windows.asked - before; asked > 2*limit {
			t.Errorf("%s: want what is refused to cost nothing, got %d questions", kind, asked)
		}
	}
	windows.failing = errors.New("the database is away")
	key := replicas[0].key("a", "ep-anna", endpointkey.Limits{RequestsPerMinute: 1})
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		if res := replicas[0].chat("ep-anna", "{}", key...); res.StatusCode != want {
			t.Errorf("want the replica to count alone and answer %d, got %d", want, res.StatusCode)
		}
	}
}

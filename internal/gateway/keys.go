package gateway

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Keys checks the API keys of endpoints.
type Keys interface {
	// EndpointKey gives a key by its id, also a revoked one. Fault: NotFound.
	EndpointKey(ctx context.Context, id string) (endpointkey.Key, error)
	// AddKeyTraffic adds what was taken with keys to their hours.
	AddKeyTraffic(ctx context.Context, list []endpointkey.Traffic) error
}

// Windows keeps the running minute of each key with limits, for all replicas of the gateway.
type Windows interface {
	// EndpointKeyWindow changes it while nobody else does; change may be called again when that failed.
	EndpointKeyWindow(ctx context.Context, key string, change func(*endpointkey.Window)) error
}

// maxKeyConnections bounds the calls under way with one key that has no limit of its own.
const maxKeyConnections = 2000

// Answers to a claim by key; each is a no.
var (
	errKey         = errors.New("gateway: the key opens nothing here")
	errKeyExpired  = errors.New("gateway: the key has expired")
	errPersonToken = errors.New("gateway: a person's token opens no workload")
)

// bearerOf reads the bearer credential of a call: a key, or "" with errPersonToken for an API token of the portal.
// Any other text is none of ours, and the call is treated as if it had sent nothing.
func bearerOf(r *http.Request) (text string, key identity.Credential, err error) {
	kind, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") {
		return "", key, nil
	}
	text = strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(text, identity.TokenPrefix):
		return "", key, errPersonToken
	case strings.HasPrefix(text, endpointkey.Prefix):
		key, ok := endpointkey.Parse(text)
		if !ok {
			return "", key, errKey
		}
		return text, key, nil
	}
	return "", key, nil
}

// keyInQuery reports whether a key or an API token stands in the address, where servers and proxies write it down.
func keyInQuery(query string) bool {
	if !strings.Contains(query, "gp") && !strings.Contains(query, "%") {
		return false
	}
	if plain, err := url.QueryUnescape(query); err == nil {
		query = plain
	}
	return endpointkey.In(query) || strings.Contains(query, "="+identity.TokenPrefix)
}

// goodKey gives the key that a credential opens now. Errors: errKey, errKeyExpired, or trouble in asking.
func (g *Gateway) goodKey(ctx context.Context, c identity.Credential) (endpointkey.Key, error) {
	k, err := g.opts.Keys.EndpointKey(ctx, c.ID)
	if fault.Is(err, fault.NotFound) {
		return k, errKey
	}
	if err != nil {
		return k, err
	}
	switch err := k.Check(c, g.opts.Now()); {
	case errors.Is(err, endpointkey.ErrExpired):
		return k, errKeyExpired
	case err != nil:
		return k, errKey
	}
	return k, nil
}

// checkKey asks everything anew about a claim by key. What does not exist and what is not the key's looks alike.
func (g *Gateway) checkKey(ctx context.Context, c claim) (grant, error) {
	k, err := g.goodKey(ctx, c.key)
	if err != nil {
		return grant{}, err
	}
	w, err := g.opts.Workloads.WorkloadByName(ctx, c.name)
	switch {
	case fault.Is(err, fault.NotFound):
		return grant{}, errKey
	case err != nil:
		return grant{}, err
	case !k.Opens(w.ID) || w.Kind != catalog.Endpoint || !w.Answers(),
		c.outside && !w.ReachedFromOutside(g.opts.Now()):
		return grant{}, errKey
	}
	return g.granted(grant{workload: g.shared.one(&w), key: &k}), nil
}

// connections is how many calls may be under way at once.
func (g *Gateway) connections(gr grant) int {
	switch {
	case gr.key == nil:
		return g.opts.MaxConnections
	case gr.key.Limits.Concurrency > 0:
		return gr.key.Limits.Concurrency
	}
	return maxKeyConnections
}

// keyCounts counts what is taken with each key: for the limits of a minute, which the replicas agree on (agree), and
// for the hours in the database, which are written in batches. Calls under way at once are those of this process.
type keyCounts struct {
	mu      sync.Mutex
	byKey   map[string]*counted
	written time.Time
}

// counted is what is known of one key.
type counted struct {
	limits endpointkey.Limits // of the newest call
	share  endpointkey.Share
	hours  map[keyHour]*endpointkey.Traffic // not written yet
	open   int                              // calls under way, also those that are about to be let in

	agreeing sync.Mutex // held while the replicas agree; taken before keyCounts.mu
	alone    time.Time  // until when this replica counts by itself, as the database did not answer
}

// keyHour is an hour of one of the endpoints that a key opens.
type keyHour struct {
	workload workload.ID
	at       time.Time
}

const (
	writeEvery    = 10 * time.Second
	mostUnwritten = 480 // hours of a key and its endpoints, while the database does not answer
)

func (t *keyCounts) of(k *endpointkey.Key) *counted {
	if t.byKey == nil {
		t.byKey = map[string]*counted{}
	}
	c := t.byKey[k.ID]
	if c == nil {
		c = &counted{hours: map[keyHour]*endpointkey.Traffic{}}
		t.byKey[k.ID] = c
	}
	c.limits = k.Limits
	return c
}

func (c *counted) hour(key string, to workload.ID, now time.Time) *endpointkey.Traffic {
	at := keyHour{to, now.Truncate(time.Hour)}
	h := c.hours[at]
	if h == nil {
		if len(c.hours) >= mostUnwritten {
			clear(c.hours)
		}
		h = &endpointkey.Traffic{Key: key, Workload: to, Hour: at.at}
		c.hours[at] = h
	}
	h.LastAt = now
	return h
}

// begin counts a call, unless a limit is reached. It asks agree first where that is due.
func (t *keyCounts) begin(gr grant, now time.Time, agree func(*counted)) (over endpointkey.Over, retry time.Duration) {
	k, to := gr.key, gr.workload.ID
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.of(k)
	c.open++
	for c.share.Due(k.Limits, now) { // until this call finds something reserved that no other has taken meanwhile
		t.mu.Unlock()
		agree(c)
		t.mu.Lock()
	}
	if over, retry = c.share.Take(k.Limits, now); over != endpointkey.OverNothing {
		c.open--
		c.hour(k.ID, to, now).Refused++
		return over, retry
	}
	c.hour(k.ID, to, now).Requests++
	return over, 0
}

// agreeWithin is how long replicas wait for the database that they agree in, and aloneFor how long each counts by
// itself after it did not answer.
const (
	agreeWithin = time.Second
	aloneFor    = 5 * time.Second
)

// agree has the replicas agree on the running minute of a key, where that is still due.
func (g *Gateway) agree(ctx context.Context, k *endpointkey.Key, c *counted, now time.Time) {
	c.agreeing.Lock()
	defer c.agreeing.Unlock()
	mu := &g.traffic.mu
	mu.Lock()
	defer mu.Unlock()
	switch {
	case !c.share.Due(k.Limits, now):
		return
	case g.opts.Windows == nil || now.Before(c.alone):
		c.share.Alone(k.Limits, now)
		return
	}
	ask := c.share.Ask(k.Limits)
	mu.Unlock()
	var common endpointkey.Window
	var requests int
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), agreeWithin) // also for the calls that wait for this one
	defer stop()
	err := g.opts.Windows.EndpointKeyWindow(ctx, k.ID, func(w *endpointkey.Window) {
		requests = w.Count(ask, k.Limits, now)
		common = *w
	})
	mu.Lock()
	if err != nil {
		g.opts.Logger.WarnContext(ctx, "replicas cannot agree on the limits of a key; each counts by itself for a while",
			"key", k.ID, "error", err.Error())
		c.alone = now.Add(aloneFor)
		c.share.Alone(k.Limits, now)
		return
	}
	c.share.Agreed(common, ask, requests, now)
}

// refused counts a call that was one too many at once.
func (t *keyCounts) refused(gr grant, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(gr.key).hour(gr.key.ID, gr.workload.ID, now).Refused++
}

// end counts what the answer of a call told, and asks agree where other replicas should hear of it. Where a stream told
// nothing, its events count for the limit.
func (t *keyCounts) end(gr grant, answer *endpointkey.Counter, now time.Time, agree func(*counted)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := gr.key
	c := t.of(k)
	defer func() { c.open-- }()
	if answer == nil {
		return
	}
	defer func() {
		if c.share.Owes(k.Limits) {
			t.mu.Unlock()
			agree(c)
			t.mu.Lock()
		}
	}()
	h := c.hour(k.ID, gr.workload.ID, now)
	taken, told := answer.Usage()
	if !told {
		h.WithoutUsage++
		c.share.Charge(answer.Events(), k.Limits)
		return
	}
	h.Usage.Prompt += taken.Prompt
	h.Usage.Completion += taken.Completion
	c.share.Charge(taken.Prompt+taken.Completion, k.Limits)
}

// take gives what is to be written now, and forgets keys of which nothing is left to know.
func (t *keyCounts) take(now time.Time) (list []endpointkey.Traffic) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.written = now
	for id, c := range t.byKey {
		for _, h := range c.hours {
			list = append(list, *h)
		}
		clear(c.hours)
		if c.open == 0 && c.share.Over(c.limits, now) {
			delete(t.byKey, id)
		}
	}
	return list
}

// giveBack keeps what could not be written for the next time.
func (t *keyCounts) giveBack(list []endpointkey.Traffic) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range list {
		k := &endpointkey.Key{ID: n.Key, Limits: t.limitsOf(n.Key)}
		h := t.of(k).hour(n.Key, n.Workload, n.Hour)
		last := n.LastAt
		if h.LastAt.After(last) {
			last = h.LastAt
		}
		*h = endpointkey.Traffic{Key: h.Key, Workload: h.Workload, Hour: h.Hour, LastAt: last,
			Requests: h.Requests + n.Requests, Refused: h.Refused + n.Refused, WithoutUsage: h.WithoutUsage + n.WithoutUsage,
			Usage: endpointkey.Usage{Prompt: h.Usage.Prompt + n.Usage.Prompt,
				Completion: h.Usage.Completion + n.Usage.Completion}}
	}
}

func (t *keyCounts) limitsOf(id string) endpointkey.Limits {
	if c := t.byKey[id]; c != nil {
		return c.limits
	}
	return endpointkey.Limits{}
}

func (t *keyCounts) due(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return now.Sub(t.written) >= writeEvery || now.Before(t.written)
}

// unwritten reports whether something waits to be written.
func (t *keyCounts) unwritten() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.byKey {
		if len(c.hours) > 0 {
			return true
		}
	}
	return false
}

// Flush writes down what was taken with keys since it was written last. It returns when a write that another Flush
// began has ended too, so that a process that stops after its own Flush loses nothing.
func (g *Gateway) Flush(ctx context.Context) {
	g.writing.Lock()
	defer g.writing.Unlock()
	list := g.traffic.take(g.opts.Now())
	if len(list) == 0 {
		return
	}
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	if err := g.opts.Keys.AddKeyTraffic(ctx, list); err != nil {
		g.traffic.giveBack(list)
		g.opts.Logger.WarnContext(ctx, "cannot write down what was taken with keys of endpoints; kept for the next time",
			"keys", len(list), "error", err.Error())
	}
}

// admitKey counts a call by key; false when a limit was reached and the caller was told.
func (g *Gateway) admitKey(w http.ResponseWriter, r *http.Request, e *exchange) bool {
	k := e.grant.key
	now := g.opts.Now()
	over, retry := g.traffic.begin(e.grant, now, func(c *counted) { g.agree(r.Context(), k, c, now) })
	if over == endpointkey.OverNothing {
		return true
	}
	g.setLimits(w.Header(), k)
	text := i18n.T("gateway.over_requests", "Limit", k.Limits.RequestsPerMinute)
	if over == endpointkey.OverTokens {
		text = i18n.T("gateway.over_tokens", "Limit", k.Limits.TokensPerMinute)
	}
	g.tooMuch(w, r, string(over), retry, text)
	return false
}

func (g *Gateway) tooMuch(w http.ResponseWriter, r *http.Request, kind string, retry time.Duration, text i18n.Text) {
	w.Header().Set("Retry-After", wholeSeconds(retry))
	g.say(w, r, answer{status: http.StatusTooManyRequests, title: i18n.T("gateway.refused"), text: text, link: "/",
		linked: i18n.T("gateway.try_again"), kind: kind, code: "rate_limit_exceeded"})
}

func wholeSeconds(d time.Duration) string { return strconv.Itoa(max(1, int(math.Ceil(d.Seconds())))) }

// setLimits says what is left of the minute, as draft-ietf-httpapi-ratelimit-headers and as clients of OpenAI read it.
func (g *Gateway) setLimits(h http.Header, k *endpointkey.Key) {
	for name := range h {
		if strings.HasPrefix(name, "X-Ratelimit-") || strings.HasPrefix(name, "Ratelimit") {
			delete(h, name)
		}
	}
	l := k.Limits
	if l.RequestsPerMinute == 0 && l.TokensPerMinute == 0 {
		return
	}
	g.traffic.mu.Lock()
	requests, tokens, reset := g.traffic.of(k).share.Left(l, g.opts.Now())
	g.traffic.mu.Unlock()
	var policies, left []string
	for _, one := range []struct {
		name        string
		limit, left int
	}{{"requests", l.RequestsPerMinute, requests}, {"tokens", l.TokensPerMinute, tokens}} {
		if one.limit == 0 {
			continue
		}
		policies = append(policies, fmt.Sprintf("%q;q=%d;w=%d", one.name, one.limit, int(endpointkey.Period.Seconds())))
		left = append(left, fmt.Sprintf("%q;r=%d;t=%s", one.name, one.left, wholeSeconds(reset)))
		h.Set("X-Ratelimit-Limit-"+one.name, strconv.Itoa(one.limit))
		h.Set("X-Ratelimit-Remaining-"+one.name, strconv.Itoa(one.left))
		h.Set("X-Ratelimit-Reset-"+one.name, wholeSeconds(reset)+"s")
	}
	h.Set("Ratelimit-Policy", strings.Join(policies, ", "))
	h.Set("Ratelimit", strings.Join(left, ", "))
}

// counterOf counts the tokens of an answer; nil for one that tells none.
func counterOf(res *http.Response) *endpointkey.Counter {
	if res.StatusCode < 200 || res.StatusCode > 299 || res.Request.Method != http.MethodPost ||
		res.Header.Get("Content-Encoding") != "" {
		return nil
	}
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "text/event-stream":
		return endpointkey.NewCounter(true)
	case "application/json":
		return endpointkey.NewCounter(false)
	}
	return nil
}

// withoutKeys takes off every header that has a key in it, whatever its name: models have no use for one.
func withoutKeys(h http.Header) {
	for name, values := range h {
		for _, v := range values {
			if endpointkey.In(v) {
				delete(h, name)
			}
		}
	}
}

package gpumetrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Config is what a Poller needs. Zero values are replaced by the defaults named beside them.
type Config struct {
	URL       string // base URL of the query API, "https://prometheus.example.org"; with or without /api/v1
	TokenFile string // a bearer token, read anew for each call; "" for none
	// sent with each call: "namespace" for the tenancy port of OpenShift's querier, "extra_label" for VictoriaMetrics,
	// "dedup" for Thanos
	Params     url.Values
	Header     http.Header  // likewise: "X-Scope-OrgID" for Mimir
	Labels     Labels       // DefaultLabels
	HTTPClient *http.Client // http.DefaultClient
	Logger     *slog.Logger
	Now        func() time.Time

	Namespaces func() []string // whose history is kept; nil: every namespace's
	OnFresh    func()          // called after each poll, also after one that failed
	// what the cluster knows of its nodes now; nil, or an empty one: the names in the series are believed
	Nodes func() NodeIndex

	Every       time.Duration // 5 s, and never more than a tenth of the time: a poll that takes 3 s is made every 30 s
	HealthEvery time.Duration // 30 s, as often as the exporter looks
	Recent      time.Duration // 24 h: for how long the last error of a card is news
	Timeout     time.Duration // 10 s, for each call
	Stale       time.Duration // 2 min: older samples are unknown. The exporter itself looks every 30 s only
	KeepFor     time.Duration // 15 min: how long last values are shown, with their age, while Prometheus does not answer
	MaxBytes    int64         // 64 MiB, of one answer
	MaxRows     int           // 400,000, of one answer
}

// Poller reads the GPUs of one cluster.
type Poller struct {
	cfg             Config
	base            string
	queries         queries
	history         history
	firstSeenWindow time.Duration // in which samples are looked for that tell since when an error is there
	ranges          *queryCache[rangeKey, Ranges]
	past            *queryCache[int64, PastUse] // by the end of the hour
	hours           *queryCache[hoursKey, HourlyUse]

	mu             sync.Mutex
	samples        *sampleSet // nil before the first answer
	health         *healthSampleSet
	firstSeen      firstSeenIndex
	status         Status
	pollStarted    time.Time     // when the last poll began
	healthPolledAt time.Time     // when the health query was last made
	took           time.Duration // by the last poll
	rows           int
	bytes          int64
}

// Status says whether Prometheus answers.
type Status struct {
	OK    bool
	Since time.Time // when it last answered; zero for never
	Err   error     // of the last poll, nil when OK
}

var errNever = errors.New("not asked yet")

// New makes a Poller; Run starts it. An error names what is wrong with the address.
func New(cfg Config) (*Poller, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("gpumetrics: %q is no address of a Prometheus", cfg.URL)
	}
	u.RawQuery, u.Fragment = "", ""
	base := strings.TrimSuffix(strings.TrimSuffix(u.String(), "/"), "/api/v1")
	orDuration := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	orDuration(&cfg.Every, 5*time.Second)
	orDuration(&cfg.Timeout, 10*time.Second)
	orDuration(&cfg.Stale, 2*time.Minute)
	orDuration(&cfg.KeepFor, 15*time.Minute)
	orDuration(&cfg.HealthEvery, 30*time.Second)
	orDuration(&cfg.Recent, UsualRecent)
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 64 << 20
	}
	if cfg.MaxRows == 0 {
		cfg.MaxRows = 400_000
	}
	if name := cfg.Labels.Problem(); name != "" {
		return nil, fmt.Errorf("gpumetrics: %q is no name of a label", name)
	}
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = http.DefaultClient
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Nodes == nil {
		cfg.Nodes = func() NodeIndex { return NodeIndex{} }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Poller{firstSeenWindow: sinceWindow(cfg.Recent), ranges: newQueryCache[rangeKey, Ranges](rangeEvery,
		mostRanges,
		rangesAtOne, cfg.OnFresh), past: newQueryCache[int64, PastUse](pastEvery, mostPast, pastAtOnce, nil),
		hours: newQueryCache[hoursKey, HourlyUse](pastEvery, mostHours, pastAtOnce, nil), cfg: cfg,
		base:    base,
		queries: newQueries(cfg.Labels.orDefaults()), status: Status{Err: errNever}}, nil
}

// Run polls until the context ends.
func (p *Poller) Run(ctx context.Context) error {
	ticker := time.NewTicker(p.cfg.Every)
	defer ticker.Stop()
	for {
		if p.due() {
			_ = p.Poll(ctx) // kept in Status and logged there
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// A poll, answered or not, may take one part in ten of the time, until that would make readings older than the exporter
// does.
const (
	busyShare   = 10
	longestWait = 30 * time.Second
)

// due reports whether the last poll is long enough ago: a slow Prometheus is polled less often.
func (p *Poller) due() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cfg.Now().Sub(p.pollStarted) >= max(p.cfg.Every/2, min(busyShare*p.took, longestWait))
}

// Poll asks once: two queries, and now and then a third and a fourth, however many GPUs and pages there are.
func (p *Poller) Poll(ctx context.Context) error {
	p.mu.Lock()
	began := p.cfg.Now()
	p.pollStarted = began
	healthDue := p.healthPolledAt.IsZero() || began.Sub(p.healthPolledAt) >= p.cfg.HealthEvery
	p.mu.Unlock()
	start := time.Now() // what a poll costs is real time, whatever clock readings are dated by
	next, cost, err := p.ask(ctx, began)
	cost.took = time.Since(start)
	if err == nil && healthDue {
		p.pollHealth(ctx, began)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.recordPoll(ctx, next, cost, err)
	if p.cfg.OnFresh != nil {
		p.cfg.OnFresh()
	}
	return err
}

// cost is what a poll took.
type cost struct {
	took  time.Duration
	rows  int
	bytes int64
}

func (c *cost) add(a answer) { c.rows, c.bytes = c.rows+a.rows, c.bytes+a.bytes }

func (p *Poller) ask(ctx context.Context, began time.Time) (*sampleSet, cost, error) {
	s, pool, c := newSampleSet(p.queries.labels, began, p.cfg.Stale), newTexts(), cost{}
	for _, q := range []struct {
		query string
		take  func(series)
	}{{p.queries.devices, s.describe}, {p.queries.values, s.put}} {
		a, err := p.query(ctx, "query", url.Values{"query": {q.query}}, pool, q.take)
		if err != nil {
			return nil, c, err
		}
		c.add(a)
		s.tally.warn(a.warnings)
	}
	if len(s.devices) == 0 {
		a, err := p.query(ctx, "query", url.Values{"query": {p.queries.names}}, pool, s.tally.addName)
		if err != nil {
			return nil, c, err
		}
		c.add(a)
	}
	return s.close(p.cfg.Now(), p.cfg.Nodes()), c, nil
}

// pollHealth asks what is the matter with cards. What it has brought stays until it brings something else; without it
// nothing but that is unknown.
func (p *Poller) pollHealth(ctx context.Context, now time.Time) {
	h := newHealthSampleSet(p.queries.labels, p.cfg.Recent)
	_, err := p.query(ctx, "query", url.Values{"query": {p.queries.health}}, newTexts(), h.put)
	p.mu.Lock()
	since := p.firstSeen
	p.mu.Unlock()
	if keys := h.lastErrors(); err == nil && !since.fresh(keys, now) {
		since = p.pollFirstSeen(ctx, keys, now)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.healthPolledAt = now
	switch {
	case err == nil:
		h.at, h.since = p.cfg.Now(), since.byError
		p.health, p.firstSeen = h, since
	case ctx.Err() == nil:
		p.cfg.Logger.WarnContext(ctx, "no health of cards from Prometheus", "error", err.Error())
		if p.health != nil && now.Sub(p.health.at) > p.cfg.KeepFor {
			p.health = nil
		}
	}
}

// recordPoll keeps the outcome of a poll. After a failure the last values stay.
func (p *Poller) recordPoll(ctx context.Context, next *sampleSet, c cost, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil && !p.status.OK:
		p.cfg.Logger.InfoContext(ctx, "Prometheus answers", "url", p.base)
	case err != nil && (p.status.OK || errors.Is(p.status.Err, errNever)):
		p.cfg.Logger.WarnContext(ctx, "Prometheus does not answer; last readings stay, with their age", "url", p.base,
			"error", err.Error())
	}
	p.took = c.took
	if err != nil {
		p.status.OK, p.status.Err = false, err
		return
	}
	p.samples, p.status = next, Status{OK: true, Since: next.at}
	p.rows, p.bytes = c.rows, c.bytes
}

// Status says whether Prometheus answers now, and when it last did.
func (p *Poller) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// Live is what is known of a pod's devices. It never waits. A pod that no row names has no devices: that says nothing
// about what it uses.
func (p *Poller) Live(namespace, pod string) Live {
	p.mu.Lock()
	s, h := p.samples, p.health
	p.mu.Unlock()
	if s == nil {
		return Live{}
	}
	key := podKey{namespace, pod}
	live := s.live(key)
	gone := p.cfg.Now().Sub(s.at) > p.cfg.KeepFor
	for i, d := range s.pods[key] {
		out := &live.Devices[i]
		if out.License = h.licenseOf(d); out.License.Known() {
			out.License.At = d.at
		}
		for _, r := range out.readings() {
			if gone && r.Known() {
				*r = r.without(NoAnswer)
			}
		}
	}
	return live
}

// query makes one call of the query API. It is a POST, as queries may be longer than a URL may be; it changes nothing
// there.
func (p *Poller) query(ctx context.Context, what string, form url.Values, pool *texts,
	keep func(series)) (answer, error) {
	return p.queryFor(ctx, p.cfg.Timeout, what, form, pool, keep)
}

// queryFor is query with another patience.
func (p *Poller) queryFor(ctx context.Context, patience time.Duration, what string, form url.Values, pool *texts,
	keep func(series)) (answer, error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	// VictoriaMetrics hides the newest half minute (-search.latencyOffset), and sees a gap after about two scrapes, unless
	// it is told otherwise; others do not know the parameters. Five minutes is how far Prometheus looks back.
	form.Set("latency_offset", "1ms") // the least that it takes
	form.Set("max_lookback", "5m")
	for name, values := range p.cfg.Params {
		form[name] = append(form[name], values...)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/api/v1/"+what, strings.NewReader(form.Encode()))
	if err != nil {
		return answer{}, err
	}
	for name, values := range p.cfg.Header {
		r.Header[name] = slices.Clone(values)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	if err := p.authorize(r); err != nil {
		return answer{}, err
	}
	res, err := p.cfg.HTTPClient.Do(r)
	if err != nil {
		return answer{}, fmt.Errorf("ask Prometheus: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 200))
		return answer{}, fmt.Errorf("%w: status %d: %q", errAnswer, res.StatusCode, text)
	}
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media != "application/json" {
		return answer{}, fmt.Errorf("%w is %.60q, not JSON", errAnswer, media)
	}
	a, err := decode(res.Body, limits{p.cfg.MaxBytes, p.cfg.MaxRows}, pool, keep)
	if want := resultType[what]; err == nil && a.kind != "" && a.kind != want {
		err = fmt.Errorf("%w is a %.20q, not a %s", errAnswer, a.kind, want)
	}
	return a, err
}

// resultType is what each call answers with.
var resultType = map[string]string{"query": "vector", "query_range": "matrix"}

func (p *Poller) authorize(r *http.Request) error {
	if p.cfg.TokenFile == "" {
		return nil
	}
	token, err := os.ReadFile(p.cfg.TokenFile)
	if err != nil {
		return fmt.Errorf("read the token for Prometheus: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	return nil
}

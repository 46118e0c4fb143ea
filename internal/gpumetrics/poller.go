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
	URL        string       // base URL of the query API, "https://prometheus.example.org"; with or without /api/v1
	TokenFile  string       // a bearer token, read anew for each call; "" for none
	HTTPClient *http.Client // http.DefaultClient
	Logger     *slog.Logger
	Now        func() time.Time

	Namespaces func() []string // whose history is kept; nil: every namespace's
	OnFresh    func()          // called after each poll, also after one that failed

	Always   bool          // poll also while nobody watches
	Every    time.Duration // 5 s
	Timeout  time.Duration // 4 s, for each call
	Stale    time.Duration // 2 min: older samples are unknown. The exporter itself looks every 30 s only
	KeepFor  time.Duration // 15 min: how long last values are shown, with their age, while Prometheus does not answer
	MaxBytes int64         // 16 MiB, of one answer
}

// Poller reads the GPUs of one cluster.
type Poller struct {
	cfg     Config
	base    string
	history history
	wake    chan struct{}

	mu       sync.Mutex
	watchers int
	shot     shot
	status   Status
	asked    time.Time // when the last poll began
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
	orDuration(&cfg.Timeout, 4*time.Second)
	orDuration(&cfg.Stale, 2*time.Minute)
	orDuration(&cfg.KeepFor, 15*time.Minute)
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 16 << 20
	}
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = http.DefaultClient
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Poller{cfg: cfg, base: base, wake: make(chan struct{}, 1), status: Status{Err: errNever}}, nil
}

// Watch says that somebody looks; Unwatch must follow. The first one makes the Poller ask at once.
func (p *Poller) Watch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watchers++; p.watchers == 1 {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

// Unwatch says that one of those has gone.
func (p *Poller) Unwatch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watchers = max(0, p.watchers-1)
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
		case <-p.wake:
		}
	}
}

// due reports whether somebody wants values and the last ones are not from just now: watchers that come and go must not make calls more frequent.
func (p *Poller) due() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted := p.watchers > 0 || p.cfg.Always
	return wanted && p.cfg.Now().Sub(p.asked) >= p.cfg.Every/2
}

// Poll asks once: two queries, however many GPUs and pages there are.
func (p *Poller) Poll(ctx context.Context) error {
	p.mu.Lock()
	p.asked = p.cfg.Now()
	p.mu.Unlock()
	next, err := p.ask(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.note(ctx, next, err)
	if p.cfg.OnFresh != nil {
		p.cfg.OnFresh()
	}
	return err
}

func (p *Poller) ask(ctx context.Context) (shot, error) {
	values, err := p.query(ctx, "query", url.Values{"query": {valuesQuery}})
	if err != nil {
		return shot{}, err
	}
	devices, err := p.query(ctx, "query", url.Values{"query": {devicesQuery}})
	if err != nil {
		return shot{}, err
	}
	return arrange(values, devices, p.cfg.Now(), p.cfg.Stale), nil
}

// note keeps what came. After a failure the last values stay.
func (p *Poller) note(ctx context.Context, next shot, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil && !p.status.OK:
		p.cfg.Logger.InfoContext(ctx, "Prometheus answers", "url", p.base)
	case err != nil && (p.status.OK || errors.Is(p.status.Err, errNever)):
		p.cfg.Logger.WarnContext(ctx, "Prometheus does not answer; last readings stay, with their age", "url", p.base, "error", err.Error())
	}
	if err != nil {
		p.status.OK, p.status.Err = false, err
		return
	}
	p.shot, p.status = next, Status{OK: true, Since: next.at}
}

// Status says whether Prometheus answers now, and when it last did.
func (p *Poller) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// Live is what is known of a pod's devices. It never waits. A pod that no row names has no devices: that says nothing about what it uses.
func (p *Poller) Live(namespace, pod string) Live {
	p.mu.Lock()
	devices, at := p.shot.pods[podKey{namespace, pod}], p.shot.at
	p.mu.Unlock()
	live := Live{At: at, Devices: slices.Clone(devices)}
	if !at.IsZero() && p.cfg.Now().Sub(at) > p.cfg.KeepFor {
		for i := range live.Devices {
			forget(&live.Devices[i])
		}
	}
	return live
}

// forget makes every value unknown; its time stays.
func forget(d *Device) {
	for _, r := range d.readings() {
		r.Known, r.Value = false, 0
	}
}

func (d *Device) readings() []*Reading {
	return []*Reading{&d.Engine, &d.MemoryUsed, &d.MemoryTotal, &d.Power, &d.Temperature, &d.OwnEngine, &d.OwnMemory}
}

// query makes one call of the query API. It is a POST, as queries may be longer than a URL may be; it changes nothing there.
func (p *Poller) query(ctx context.Context, what string, form url.Values) ([]series, error) {
	ctx, stop := context.WithTimeout(ctx, p.cfg.Timeout)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/api/v1/"+what, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	if err := p.authorize(r); err != nil {
		return nil, err
	}
	res, err := p.cfg.HTTPClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("ask Prometheus: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 200))
		return nil, fmt.Errorf("%w: status %d: %q", errAnswer, res.StatusCode, text)
	}
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media != "application/json" {
		return nil, fmt.Errorf("%w is %.60q, not JSON", errAnswer, media)
	}
	var rows []series
	err = decode(res.Body, p.cfg.MaxBytes, func(s series) { rows = append(rows, s) })
	return rows, err
}

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

package logstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Kinds of stores.
const (
	Loki          = "loki"
	Elasticsearch = "elasticsearch" // OpenSearch has the same search API
)

// Kinds lists every kind.
func Kinds() []string { return []string{Loki, Elasticsearch} }

// Config says where a store is and how it is asked.
type Config struct {
	Kind          string
	URL           string // before /loki/api/v1/query_range, or before /INDEX/_search
	Index         string // of Elasticsearch: names or patterns, separated by commas
	Query         string // template; "" for the usual one of the kind
	Tenant        string // X-Scope-OrgID of Loki; "" for none
	TokenFile     string // with a bearer token; read anew for each query
	BasicAuthFile string // with user:password; read anew for each query
	PodField      string // label of Loki or field of Elasticsearch with the pod's name
	TimeField     string // of Elasticsearch
	TextField     string // of Elasticsearch
	Window        time.Duration
	Timeout       time.Duration
	Client        *http.Client // nil: the usual one
}

// Bounds of a query.
const (
	DefaultWindow  = 30 * 24 * time.Hour // Loki's max_query_length is 30d1h unless it is set otherwise
	DefaultTimeout = 10 * time.Second
	mostBytes      = 16 << 20 // of an answer
	mostAtOnce     = 4        // queries that run beside one another in one process
)

// Usual templates and fields: labels as Grafana Alloy and Promtail set them, fields of the Elastic Common Schema.
const (
	lokiQuery          = `{namespace="{namespace}", pod=~"{pod}", container="{container}"}`
	lokiPod            = "pod"
	elasticsearchQuery = `{"bool": {"filter": [{"term": {"kubernetes.namespace": "{namespace}"}}, ` +
		`{"regexp": {"kubernetes.pod.name": "{pod}"}}, {"term": {"kubernetes.container.name": "{container}"}}]}}`
	elasticsearchPod  = "kubernetes.pod.name"
	elasticsearchTime = "@timestamp"
	elasticsearchText = "message"
)

// Question is which lines are wanted.
type Question struct {
	Cluster, Namespace string
	Pod                string // regular expression of the whole name
	Container          string
	Workload           string    // ID
	From, Until        time.Time // Until itself is not asked for
	Lines              int       // the newest ones
}

// Line is one line of a container.
type Line struct {
	At   time.Time
	Pod  string // "" where the store does not say
	Text string
}

// Answer is what a store has, oldest first.
type Answer struct {
	Lines   []Line
	Partial bool // the store says that it did not look everywhere
}

// Store is a log store. Faults: Unavailable, with a sentence that names the cause.
type Store struct {
	c       Config
	query   template
	request func(ctx context.Context, q Question) (*http.Request, error)
	read    func(body io.Reader) (Answer, error)
	running chan struct{}
}

// New makes a store. It does not wait for it to answer.
func New(c Config) (*Store, error) {
	s := &Store{c: c, running: make(chan struct{}, mostAtOnce)}
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("url: %q is not an address such as https://loki.example.org", c.URL)
	}
	s.c.URL = strings.TrimRight(c.URL, "/")
	s.c.Window, s.c.Timeout = cmp.Or(c.Window, DefaultWindow), cmp.Or(c.Timeout, DefaultTimeout)
	s.c.Client = cmp.Or(c.Client, http.DefaultClient)
	if c.TokenFile != "" && c.BasicAuthFile != "" {
		return nil, errors.New("tokenFile and basicAuthFile: only one of them can be meant")
	}
	switch c.Kind {
	case Loki:
		s.c.PodField = cmp.Or(c.PodField, lokiPod)
		s.query, err = newLogQL(cmp.Or(c.Query, lokiQuery))
		s.request, s.read = s.lokiRequest, s.lokiAnswer
	case Elasticsearch:
		s.c.PodField, s.c.TimeField = cmp.Or(c.PodField, elasticsearchPod), cmp.Or(c.TimeField, elasticsearchTime)
		s.c.TextField = cmp.Or(c.TextField, elasticsearchText)
		if c.Index == "" || strings.ContainsAny(c.Index, "/?# ") {
			return nil, fmt.Errorf("index: %q names no indices such as logs-*", c.Index)
		}
		s.query, err = newQueryDSL(cmp.Or(c.Query, elasticsearchQuery))
		s.request, s.read = s.elasticsearchRequest, s.elasticsearchAnswer
	default:
		return nil, fmt.Errorf("kind: %q is none of %s", c.Kind, strings.Join(Kinds(), ", "))
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Name is what people call it.
func (s *Store) Name() string {
	if s.c.Kind == Loki {
		return "Loki"
	}
	return "Elasticsearch"
}

// Exact reports whether the query goes by the workload's ID, which no other workload ever has, and not by the names of
// its pods.
func (s *Store) Exact() bool { return s.query.has(workloadPlace) }

// Ask gives the newest lines of a span, at most of the store's window before its end.
func (s *Store) Ask(ctx context.Context, q Question) (Answer, error) {
	if earliest := q.Until.Add(-s.c.Window); q.From.Before(earliest) {
		q.From = earliest
	}
	if !q.From.Before(q.Until) {
		return Answer{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.c.Timeout)
	defer cancel()
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	case <-ctx.Done():
		return Answer{}, s.failed(context.Cause(ctx), "logstore.busy")
	}
	request, err := s.request(ctx, q)
	if err == nil {
		err = s.sign(request)
	}
	if err != nil {
		return Answer{}, s.failed(err, "logstore.credentials")
	}
	answer, err := s.c.Client.Do(request)
	if err != nil {
		return Answer{}, s.failed(err, "logstore.away")
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return Answer{}, s.refused(answer)
	}
	body := &bounded{from: answer.Body, left: mostBytes}
	lines, err := s.read(body)
	switch {
	case body.over:
		return Answer{}, s.failed(fmt.Errorf("more than %d bytes", mostBytes), "logstore.too_much")
	case err != nil && ctx.Err() != nil:
		return Answer{}, s.failed(err, "logstore.away")
	case err != nil:
		return Answer{}, s.failed(err, "logstore.unreadable")
	}
	lines.Lines = lines.Lines[max(0, len(lines.Lines)-q.Lines):]
	return lines, nil
}

// Check asks for what nothing is found of, to see that address, credentials and query are right.
func (s *Store) Check(ctx context.Context, now time.Time) error {
	const nothing = "gpu-portal-check"
	_, err := s.Ask(ctx, Question{Cluster: nothing, Namespace: nothing, Pod: nothing, Container: nothing,
		Workload: nothing, From: now.Add(-time.Hour), Until: now, Lines: 1})
	return err
}

// sign adds the credentials.
func (s *Store) sign(r *http.Request) error {
	r.Header.Set("Accept", "application/json")
	switch {
	case s.c.TokenFile != "":
		token, err := os.ReadFile(s.c.TokenFile)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	case s.c.BasicAuthFile != "":
		text, err := os.ReadFile(s.c.BasicAuthFile)
		if err != nil {
			return err
		}
		user, password, found := strings.Cut(strings.TrimSpace(string(text)), ":")
		if !found {
			return fmt.Errorf("%s does not hold user:password", s.c.BasicAuthFile)
		}
		r.SetBasicAuth(user, password)
	}
	return nil
}

// mostSaid is how much of an error's text is kept for the log, in bytes.
const mostSaid = 500

// refused says what a status means. What the store says of it is for the portal's own log.
func (s *Store) refused(answer *http.Response) error {
	said, _ := io.ReadAll(io.LimitReader(answer.Body, mostSaid))
	err := fmt.Errorf("%s: %s", answer.Status, strings.Join(strings.Fields(strings.ToValidUTF8(string(said), "")), " "))
	switch code := answer.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return s.failed(err, "logstore.denied", "Code", code)
	case code == http.StatusTooManyRequests:
		return s.failed(err, "logstore.busy")
	case code == http.StatusBadRequest:
		return s.failed(err, "logstore.query", "Code", code)
	case code >= 500:
		return s.failed(err, "logstore.broken", "Code", code)
	}
	return s.failed(err, "logstore.unreadable")
}

// again is when another try may do better.
const again = 30 * time.Second

func (s *Store) failed(err error, id string, args ...any) error {
	f := fault.Wrap(fault.Unavailable, fmt.Errorf("ask %s: %w", s.c.URL, err),
		i18n.T(id, append([]any{"Store", s.Name()}, args...)...))
	var e *fault.Error
	if id == "logstore.busy" && errors.As(f, &e) {
		e.RetryAfter = again
	}
	return f
}

// bounded reads no more than there may be.
type bounded struct {
	from io.Reader
	left int64
	over bool
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		var one [1]byte
		n, err := b.from.Read(one[:])
		if n > 0 {
			b.over = true
			return 0, io.ErrUnexpectedEOF
		}
		return 0, err
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

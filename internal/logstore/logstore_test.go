package logstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/logstore"
)

var seven = time.Date(2026, 11, 23, 7, 0, 0, 0, time.UTC)

// question is for the lines of a job's pods within a minute.
func question() logstore.Question {
	return logstore.Question{Cluster: "main", Namespace: "gpu-vision", Pod: "train-[0-9a-z]{5}", Container: "main",
		Workload: "w-1", From: seven, Until: seven.Add(time.Minute), Lines: 500}
}

// server stands in for a store: it answers with a text, and keeps what it was asked.
type server struct {
	*httptest.Server
	status int
	text   string
	asked  *http.Request
	body   string
}

func newServer(t *testing.T, text string) *server {
	t.Helper()
	s := &server{status: http.StatusOK, text: text}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.asked, s.body = r, string(body)
		w.WriteHeader(s.status)
		_, _ = io.WriteString(w, s.text)
	}))
	t.Cleanup(s.Close)
	return s
}

func recorded(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func store(t *testing.T, c logstore.Config) *logstore.Store {
	t.Helper()
	s, err := logstore.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// told is lines as "+seconds text", without their pods.
func told(lines []logstore.Line) string {
	var all []string
	for _, l := range lines {
		all = append(all, l.At.Sub(seven).String()+" "+l.Text)
	}
	return strings.Join(all, "|")
}

func file(t *testing.T, text string) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return at
}

// TestLoki: streams are merged by nanoseconds, oldest first, and the question is in the documented parameters.
func TestLoki(t *testing.T) {
	t.Parallel()
	srv := newServer(t, recorded(t, "loki.json"))
	s := store(t, logstore.Config{Kind: logstore.Loki, URL: srv.URL + "/prefix/", Tenant: "gpu",
		TokenFile: file(t, "the-token\n")})
	a, err := s.Ask(t.Context(), question())
	if err != nil {
		t.Fatal(err)
	}
	want := "123.456788ms warning: no tensor cores|123.456789ms epoch 1  loss 2.314|1s epoch 2  loss 1.871|" +
		"3.000000001s Traceback (most recent call last):\n  File \"train.py\", line 12|3.000000002s epoch 3  loss 1.402"
	if got := told(a.Lines); got != want || a.Partial || a.Lines[0].Pod != "train-5wq8z" {
		t.Errorf("want %s\n got %s", want, got)
	}
	if got := srv.asked.URL.Path; got != "/prefix/loki/api/v1/query_range" {
		t.Errorf("asked at %s", got)
	}
	q := srv.asked.URL.Query()
	for name, want := range map[string]string{"direction": "backward", "limit": "500", "start": "1795417200000000000",
		"end":   "1795417260000000000",
		"query": `{namespace="gpu-vision", pod=~"train-[0-9a-z]{5}", container="main"}`} {
		if q.Get(name) != want {
			t.Errorf("%s: want %s, got %s", name, want, q.Get(name))
		}
	}
	if h := srv.asked.Header; h.Get("X-Scope-OrgID") != "gpu" || h.Get("Authorization") != "Bearer the-token" {
		t.Errorf("%v", h)
	}
	newest := question()
	newest.Lines = 2
	if a, err = s.Ask(t.Context(), newest); err != nil || len(a.Lines) != 2 || a.Lines[1].Text != "epoch 3  loss 1.402" {
		t.Errorf("of more than were asked for the newest are kept: %s, %v", told(a.Lines), err)
	}
}

// TestElasticsearch: hits of one millisecond keep the order in which they were indexed, what has no message is no
// line, and the range is beside the query of the settings.
func TestElasticsearch(t *testing.T) {
	t.Parallel()
	srv := newServer(t, recorded(t, "elasticsearch.json"))
	s := store(t, logstore.Config{Kind: logstore.Elasticsearch, URL: srv.URL, Index: "logs-kubernetes.*,old",
		BasicAuthFile: file(t, "portal:pass:word\n")})
	a, err := s.Ask(t.Context(), question())
	if err != nil {
		t.Fatal(err)
	}
	if got := told(a.Lines); got != "1s epoch 1  loss 2.314|1s epoch 2  loss 1.871|3s epoch 3  loss 1.402" || a.Partial ||
		a.Lines[0].Pod != "train-5wq8z" {
		t.Error(got)
	}
	if srv.asked.Method != http.MethodPost || srv.asked.URL.Path != "/logs-kubernetes.*,old/_search" {
		t.Errorf("%s %s", srv.asked.Method, srv.asked.URL)
	}
	if user, password, _ := srv.asked.BasicAuth(); user != "portal" || password != "pass:word" {
		t.Errorf("as %s, %s", user, password)
	}
	want := `{"_source":["@timestamp","message","kubernetes.pod.name"],"query":{"bool":{"filter":[` +
		`{"bool":{"filter":[{"term":{"kubernetes.namespace":"gpu-vision"}},` +
		`{"regexp":{"kubernetes.pod.name":"train-[0-9a-z]{5}"}},{"term":{"kubernetes.container.name":"main"}}]}},` +
		`{"range":{"@timestamp":{"gte":"2026-11-23T07:00:00Z","lt":"2026-11-23T07:01:00Z"}}}]}},"size":500,` +
		`"sort":[{"@timestamp":{"order":"desc","unmapped_type":"date"}}],"track_total_hits":false}`
	if srv.body != want {
		t.Errorf("want %s\n got %s", want, srv.body)
	}
}

// TestOpenSearch: other fields, names with dots, dates in milliseconds, and a shard that did not answer.
func TestOpenSearch(t *testing.T) {
	t.Parallel()
	srv := newServer(t, recorded(t, "opensearch.json"))
	s := store(t, logstore.Config{Kind: logstore.Elasticsearch, URL: srv.URL, Index: "logs-*", TextField: "log",
		PodField: "kubernetes.pod_name",
		Query:    `{"term": {"kubernetes.labels.gpu-portal_github_io/workload": "{workload}"}}`})
	a, err := s.Ask(t.Context(), question())
	if err != nil {
		t.Fatal(err)
	}
	if got := told(a.Lines); got != "0s one\n|1.123456789s two\n" || !a.Partial || a.Lines[0].Pod != "train-5wq8z" ||
		a.Lines[1].Pod != "train-5wq8z" {
		t.Errorf("%q, partial %t", got, a.Partial)
	}
	if !s.Exact() || !strings.Contains(srv.body, `"kubernetes.labels.gpu-portal_github_io/workload":"w-1"`) {
		t.Error(srv.body)
	}
}

// TestNothingBreaksOut: whatever a value holds, it stays within the string that it stands in.
func TestNothingBreaksOut(t *testing.T) {
	t.Parallel()
	evil := question()
	evil.Namespace, evil.Container = `x"} or {namespace=~".+`, "a\\\", \"b\": {\"match_all\": {}}, \"`{pod}\n"
	loki := newServer(t, recorded(t, "loki.json"))
	s := store(t, logstore.Config{Kind: logstore.Loki, URL: loki.URL, Query: "{namespace=\"{namespace}\", " +
		"pod=~\"{pod}\", container=\"{container}\"} | line_format \"{{.message}}\" != `a\"b`"})
	if _, err := s.Ask(t.Context(), evil); err != nil {
		t.Fatal(err)
	}
	want := `{namespace="x\"} or {namespace=~\".+", pod=~"train-[0-9a-z]{5}", ` +
		`container="a\\\", \"b\": {\"match_all\": {}}, \"` + "`{pod}" + `\n"} | line_format "{{.message}}" != ` + "`a\"b`"
	if got := loki.asked.URL.Query().Get("query"); got != want {
		t.Errorf("want %s\n got %s", want, got)
	}
	elastic := newServer(t, recorded(t, "elasticsearch.json"))
	s = store(t, logstore.Config{Kind: logstore.Elasticsearch, URL: elastic.URL, Index: "logs"})
	if _, err := s.Ask(t.Context(), evil); err != nil {
		t.Fatal(err)
	}
	var body struct {
		Query struct {
			Bool struct{ Filter []json.RawMessage }
		}
	}
	if err := json.Unmarshal([]byte(elastic.body), &body); err != nil || len(body.Query.Bool.Filter) != 2 {
		t.Fatalf("%v: %s", err, elastic.body)
	}
	var inner struct {
		Bool struct {
			Filter []map[string]map[string]string
		}
	}
	if err := json.Unmarshal(body.Query.Bool.Filter[0], &inner); err != nil {
		t.Fatal(err)
	}
	if f := inner.Bool.Filter; len(f) != 3 || f[0]["term"]["kubernetes.namespace"] != evil.Namespace ||
		f[2]["term"]["kubernetes.container.name"] != evil.Container {
		t.Errorf("%v", f)
	}
}

// TestTemplatesThatAreRefused: with none of them a query could be anything else than was meant.
func TestTemplatesThatAreRefused(t *testing.T) {
	t.Parallel()
	const all = `{namespace="{namespace}", pod=~"{pod}"}`
	for what, c := range map[string]struct {
		config logstore.Config
		says   string
	}{
		"no kind":          {logstore.Config{URL: "https://x"}, "kind: "},
		"no address":       {logstore.Config{Kind: logstore.Loki, URL: "loki:3100"}, "url: "},
		"a password in it": {logstore.Config{Kind: logstore.Loki, URL: "https://a:b@loki"}, "url: "},
		"two credentials": {logstore.Config{Kind: logstore.Loki, URL: "https://x", TokenFile: "a", BasicAuthFile: "b"},
			"tokenFile"},
		"no namespace": {logstore.Config{Kind: logstore.Loki, URL: "https://x", Query: `{pod=~"{pod}"}`},
			"query: it must"},
		"no pod": {logstore.Config{Kind: logstore.Loki, URL: "https://x", Query: `{ns="{namespace}"}`},
			"query: it must"},
		"outside of a quote": {logstore.Config{Kind: logstore.Loki, URL: "https://x", Query: all + " |= {container}"},
			"query: {container}"},
		"in raw quotes": {logstore.Config{Kind: logstore.Loki, URL: "https://x", Query: all + " |= `{container}`"},
			"query: {container}"},
		"no end of a string": {logstore.Config{Kind: logstore.Loki, URL: "https://x", Query: `{pod="{pod}\"}`},
			"query: a string"},
		"no index": {logstore.Config{Kind: logstore.Elasticsearch, URL: "https://x"}, "index: "},
		"an index elsewhere": {logstore.Config{Kind: logstore.Elasticsearch, URL: "https://x", Index: "../_all"},
			"index: "},
		"no JSON": {logstore.Config{Kind: logstore.Elasticsearch, URL: "https://x", Index: "l", Query: "{pod}"},
			"query: it must"},
		"a field of a choice": {logstore.Config{Kind: logstore.Elasticsearch, URL: "https://x", Index: "l",
			Query: `{"term": {"{pod}": 1}}`},
			"query: the name"},
		"an empty query": {logstore.Config{Kind: logstore.Elasticsearch, URL: "https://x", Index: "l", Query: `{}`},
			"query: it must"},
	} {
		if _, err := logstore.New(c.config); err == nil || !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("%s: want an error with %q, got %v", what, c.says, err)
		}
	}
}

// TestWhyThereIsNoAnswer: each cause is a sentence of its own, and none is an empty log.
func TestWhyThereIsNoAnswer(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		change func(*server, *logstore.Config)
		id     string
	}{
		"away":              {func(s *server, _ *logstore.Config) { s.Close() }, "logstore.away"},
		"wrong credentials": {func(s *server, _ *logstore.Config) { s.status = 401 }, "logstore.denied"},
		"no right":          {func(s *server, _ *logstore.Config) { s.status = 403 }, "logstore.denied"},
		"too many queries":  {func(s *server, _ *logstore.Config) { s.status = 429 }, "logstore.busy"},
		"query refused": {func(s *server, _ *logstore.Config) {
			s.status, s.text = 400, "parse error at line 1, col 3: syntax error"
		}, "logstore.query"},
		"breaks":         {func(s *server, _ *logstore.Config) { s.status = 502 }, "logstore.broken"},
		"a sign-in page": {func(s *server, _ *logstore.Config) { s.text = "<html>" }, "logstore.unreadable"},
		"another page":   {func(s *server, _ *logstore.Config) { s.status = 404 }, "logstore.unreadable"},
		"a metric": {func(s *server, _ *logstore.Config) { s.text = strings.Replace(s.text, "streams", "matrix", 1) },
			"logstore.unreadable"},
		"half an answer": {func(s *server, _ *logstore.Config) { s.text = s.text[:len(s.text)/2] }, "logstore.unreadable"},
		"a time in words": {func(s *server, _ *logstore.Config) { s.text = strings.Replace(s.text, "1795417201", "now", 1) },
			"logstore.unreadable"},
		"too large": {func(s *server, _ *logstore.Config) {
			s.text = strings.Replace(s.text, "epoch 1", strings.Repeat("x", 17<<20), 1)
		}, "logstore.too_much"},
		"a token that is not there": {func(_ *server, c *logstore.Config) { c.TokenFile = "nowhere" },
			"logstore.credentials"},
		"no password": {func(_ *server, c *logstore.Config) { c.BasicAuthFile = file(t, "portal") },
			"logstore.credentials"},
	} {
		srv := newServer(t, recorded(t, "loki.json"))
		config := logstore.Config{Kind: logstore.Loki, URL: srv.URL}
		c.change(srv, &config)
		s := store(t, config)
		_, err := s.Ask(t.Context(), question())
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Unavailable || f.Sentence.ID != c.id {
			t.Errorf("%s: want %s, got %v", what, c.id, err)
		}
		if err := s.Check(t.Context(), seven); err == nil {
			t.Errorf("%s: a check finds nothing", what)
		}
	}
	s := store(t, logstore.Config{Kind: logstore.Loki, URL: newServer(t, recorded(t, "loki.json")).URL})
	if err := s.Check(t.Context(), seven); err != nil {
		t.Errorf("a store that is well: %v", err)
	}
}

// TestAHangingStore disturbs nobody: a question ends with its time, and more than a few wait for one another.
func TestAHangingStore(t *testing.T) {
	t.Parallel()
	hanging := func(began chan<- struct{}) string {
		srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			began <- struct{}{}
			<-r.Context().Done()
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	s := store(t, logstore.Config{Kind: logstore.Loki, URL: hanging(make(chan struct{}, 1)),
		Timeout: 20 * time.Millisecond})
	_, err := s.Ask(t.Context(), question())
	var f *fault.Error
	if !errors.As(err, &f) || f.Sentence.ID != "logstore.away" {
		t.Errorf("want a store that is away, got %v", err)
	}
	began := make(chan struct{}, 4)
	s = store(t, logstore.Config{Kind: logstore.Loki, URL: hanging(began), Timeout: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 4)
	for range 4 {
		go func() {
			_, err := s.Ask(ctx, question())
			ended <- err
		}()
		<-began
	}
	brief, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	_, err = s.Ask(brief, question())
	if !errors.As(err, &f) || f.Sentence.ID != "logstore.busy" || f.RetryAfter <= 0 {
		t.Errorf("want a store that is busy, got %v", err)
	}
	cancel()
	for range 4 {
		if err := <-ended; err == nil {
			t.Error("no error of a question whose caller has gone")
		}
	}
}

// TestTheWindow: one query reaches no further back than the store lets it, and nothing is asked of an empty span.
func TestTheWindow(t *testing.T) {
	t.Parallel()
	srv := newServer(t, recorded(t, "loki.json"))
	s := store(t, logstore.Config{Kind: logstore.Loki, URL: srv.URL, Window: time.Hour})
	q := question()
	q.From = seven.AddDate(-1, 0, 0)
	if _, err := s.Ask(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if got := srv.asked.URL.Query().Get("start"); got != "1795413660000000000" {
		t.Errorf("from %s", got)
	}
	srv.asked, q.From = nil, q.Until
	if a, err := s.Ask(t.Context(), q); err != nil || len(a.Lines) != 0 || srv.asked != nil {
		t.Errorf("%v, %v", a, err)
	}
}

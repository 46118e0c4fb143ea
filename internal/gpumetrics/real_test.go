package gpumetrics

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics/promtest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// TestRealPrometheus asks the same as TestRecordedExpositions of a Prometheus that has scraped the expositions: only it
// can say that the queries are PromQL.
func TestRealPrometheus(t *testing.T) {
	program := realProgram(t)
	files := map[string]string{}
	for _, c := range recordedCases {
		files[c.file] = recorded(t, c.file)
	}
	for _, honour := range []bool{true, false} {
		t.Run(fmt.Sprintf("honor_labels %t", honour), func(t *testing.T) {
			for file, text := range files {
				if honour && file != "dcgm-timeslicing.prom" {
					continue // the fake tells the difference for the others
				}
				t.Run(file, func(t *testing.T) {
					t.Parallel()
					askReal(t, startPrometheus(t, program, text, honour), file)
				})
			}
		})
	}
}

// realProgram is the devstack's Prometheus; without it the test is skipped.
func realProgram(t *testing.T) string { return promtest.Program(t, promtest.Prometheus) }

func askReal(t *testing.T, url, file string) {
	p, err := New(Config{URL: url, Namespaces: func() []string {
		return []string{"tenant-red", "tenant-blue",
			"tenant-green", `odd"} name\`}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range recordedCases {
		if c.file != file {
			continue
		}
		waittest.Until(t, c.name, func() error {
			err := p.Poll(t.Context())
			diff := cmp.Diff(c.want, briefs(p.Live(c.namespace, c.pod)))
			if err == nil && diff == "" {
				return nil
			}
			return fmt.Errorf("error %w, devices (-want +got):\n%s", err, diff)
		})
		for _, span := range Spans() {
			if _, err := p.askRanges(podKey{c.namespace, c.pod}, span); err != nil {
				t.Errorf("the history over %s: %v", span.Name, err)
			}
		}
		for _, d := range p.Live(c.namespace, c.pod).Devices {
			if age := time.Since(d.Engine.At); age < 0 || age > 10*time.Second {
				t.Errorf("%s: want a fresh reading, got one of %s", c.name, age)
			}
			h, err := p.History(t.Context(), c.namespace, c.pod, MetricEngine, time.Now().Add(-time.Hour), time.Now())
			if err != nil || len(h) == 0 {
				t.Errorf("%s: want a history, got %v, %v", c.name, h, err)
			}
		}
	}
}

// startPrometheus runs one that scrapes the exposition every second, as the exporter's pod, and gives its address.
func startPrometheus(t *testing.T, program, exposition string, honour bool) string {
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, exposition)
	}))
	t.Cleanup(exporter.Close)
	return scrapedBy(t, program, exporter.URL, honour)
}

// scrapedBy runs a Prometheus that scrapes an exporter every second, and gives its address.
func scrapedBy(t *testing.T, program, exporter string, honour bool) string {
	dir := t.TempDir()
	labels := "\n    labels: {namespace: nvidia-gpu-operator, pod: nvidia-dcgm-exporter-x7k2p, container: " +
		"nvidia-dcgm-exporter}"
	if honour {
		labels = ""
	}
	config := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: dcgm\n  honor_labels: %t\n  "+
		"static_configs:\n  - targets: ['%s']%s\n",
		honour, strings.TrimPrefix(exporter, "http://"), labels)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	cmd := exec.Command(program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+
		filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--log.level=error")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return "http://" + address
}

// TestRealPrometheusOfOtherMakers: Gaudi's memory in bytes comes through the queries of now and of the last hour,
// beside labels that are not honoured.
func TestRealPrometheusOfOtherMakers(t *testing.T) {
	program := realProgram(t)
	text, err := os.ReadFile(filepath.Join("testdata", "gaudi.prom"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(Config{URL: startPrometheus(t, program, string(text), false)})
	if err != nil {
		t.Fatal(err)
	}
	memory := func() (now, past float64) {
		if err := p.Poll(t.Context()); err != nil {
			return 0, 0
		}
		for _, d := range p.Live("tenant-red", "llm-0").Devices {
			now = d.MemoryUsed.Value
		}
		r, err := p.askRanges(podKey{"tenant-red", "llm-0"}, Spans()[0])
		if err != nil {
			return now, 0
		}
		for _, l := range r.Lines {
			for _, point := range l.Points {
				if l.Name == "memory" && point.Known {
					past = point.Value
				}
			}
		}
		return now, past
	}
	waittest.Until(t, "65536 MiB now and in the history", func() error {
		if now, past := memory(); now != 65536 || past != 65536 {
			return fmt.Errorf("got %g and %g", now, past)
		}
		return nil
	})
}

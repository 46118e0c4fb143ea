// Package promtest runs metrics servers for tests: the Prometheus and the VictoriaMetrics that the devstack builds, and
// samples for them.
package promtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// The servers.
const (
	Prometheus = "prometheus"
	Victoria   = "victoria-metrics"
)

// Program is the path of a server; without it the test fails, and is skipped with -short.
func Program(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.Getwd() // that of the package under test
	program := filepath.Join(dir, ".cache", "devstack", "bin", name)
	for err == nil {
		if _, err = os.Stat(program); err == nil || filepath.Dir(dir) == dir {
			break
		}
		dir, err = filepath.Dir(dir), nil
		program = filepath.Join(dir, ".cache", "devstack", "bin", name)
	}
	if testing.Short() {
		t.Skip("not run with -short: it starts " + name)
	}
	if err != nil {
		t.Fatalf("no %s in .cache/devstack/bin: make build", name)
	}
	return program
}

// Start runs a server that takes samples by remote write, and gives its address.
func Start(t *testing.T, name string) string {
	t.Helper()
	program := Program(t, name)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, dir := l.Addr().String(), t.TempDir()
	_ = l.Close()
	args, health := []string{"-storageDataPath=" + dir, "-httpListenAddr=" + address, "-loggerLevel=ERROR"}, "/health"
	if name == Prometheus {
		config := filepath.Join(dir, "prometheus.yml")
		if err := os.WriteFile(config, []byte("global: {scrape_interval: 15s}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		health = "/-/ready"
		args = []string{"--config.file=" + config, "--storage.tsdb.path=" + filepath.Join(dir, "data"),
			"--web.listen-address=" + address, "--web.enable-remote-write-receiver", "--log.level=error"}
	}
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	waittest.Until(t, name, func() error {
		res, err := http.Get("http://" + address + health)
		if err != nil {
			return err
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("it answers %s", res.Status)
		}
		return nil
	})
	return "http://" + address
}

// Row is one series with its value at a moment.
type Row struct {
	Labels map[string]string // the name under "__name__"
	Value  float64
}

// Write sends samples of one moment; those of a series must be sent oldest first.
func Write(t *testing.T, server string, rows []Row, at time.Time) {
	t.Helper()
	var request []byte
	for _, r := range rows {
		request = field(request, 1, timeSeries(r.Labels, r.Value, at))
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server+"/api/v1/write",
		bytes.NewReader(literals(request)))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf",
		"X-Prometheus-Remote-Write-Version": "0.1.0"} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode/100 != 2 {
		t.Fatalf("write to %s: %s", server, res.Status)
	}
}

// timeSeries is prometheus.TimeSeries of the remote write protocol 1.0: labels (1) of name (1) and value (2), in the
// order of their names, and samples (2) of value (1) and milliseconds (2).
func timeSeries(labels map[string]string, v float64, at time.Time) (out []byte) {
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		out = field(out, 1, field(field(nil, 1, []byte(name)), 2, []byte(labels[name])))
	}
	sample := binary.LittleEndian.AppendUint64([]byte{1<<3 | 1}, math.Float64bits(v))
	return field(out, 2, binary.AppendUvarint(append(sample, 2<<3), uint64(at.UnixMilli())))
}

// field appends a field of protobuf that has a length.
func field(to []byte, number int, of []byte) []byte {
	return append(binary.AppendUvarint(append(to, byte(number<<3|2)), uint64(len(of))), of...)
}

// literals is a snappy block that compresses nothing: pieces of up to 64 KiB as they are.
func literals(of []byte) []byte {
	out := binary.AppendUvarint(nil, uint64(len(of)))
	for piece := range slices.Chunk(of, 1<<16) {
		out = append(binary.LittleEndian.AppendUint16(append(out, 61<<2), uint16(len(piece)-1)), piece...)
	}
	return out
}

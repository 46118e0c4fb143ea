package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/gogc"
	"github.com/gpu-portal/gpu-portal/internal/traffic"
)

// peerOf names the variable that makes the test binary a model server and its callers, in a process of their own, so
// that what the process of the gateway uses is the gateway's.
const peerOf = "GATEWAY_BENCHMARK_PEER"

func TestMain(m *testing.M) {
	if os.Getenv(peerOf) != "" {
		servePeer()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// streamRun asks the peer for streams.
type streamRun struct {
	Address string        // of the gateway, or of the model server
	Keys    []string      // Authorization headers, in turn
	Streams int           // in all
	AtOnce  int           // callers beside each other, or streams that stay open
	Pace    time.Duration // between the beginnings of two streams; 0 as fast as it goes
	Stay    bool          // after the first event, until the next run
	Sockets bool          // websockets in place of event streams
}

// streamResult is what the callers saw.
type streamResult struct {
	Failed   int
	Error    string // of one that failed
	Took     time.Duration
	P50, P99 time.Duration // from the sending of the first event to its arrival
	Own      string        // the address of the model server
}

// BenchmarkStreams opens streams of a model server through the gateway, with a key, its limits, and tokens counted.
//
//	open: so many stay open, each with its own key of 10,000, and each sends an event every two seconds; MB/replica is
//	      the resident memory of the process with the gateway, idle-MB the same before. Each takes two files of the
//	      gateway's process: where its limit is 20,000, 10,000 do not fit
//	first byte: how much later than without a gateway (99 of 100) the first event arrives at half of the rate that the
//	      gateway can bear; the same rate goes to the model server directly for comparison
func BenchmarkStreams(b *testing.B) {
	defer gogc.AtLeast(gogc.Serving)() // as a portal that serves
	w, p := newStreamWorld(b)
	keys := make([]string, 10_000)
	for i := range keys {
		keys[i] = w.numberedKey(i, endpointkey.Limits{RequestsPerMinute: 1e9, TokensPerMinute: 1e9, Concurrency: 1000})
	}
	gateway := w.server.Listener.Addr().String()
	for _, of := range []streamRun{{Streams: 5000}, {Streams: 9500}, {Streams: 9500, Sockets: true}} {
		name := map[bool]string{false: "open", true: "sockets"}[of.Sockets]
		b.Run(fmt.Sprintf("%s=%d", name, of.Streams), func(b *testing.B) {
			for b.Loop() {
				debug.FreeOSMemory() // of the run before
				idle := residentMB(b)
				of.Address, of.Keys, of.AtOnce, of.Stay = gateway, keys, of.Streams, true
				got := p.run(b, of)
				if got.Failed > 0 {
					b.Fatalf("%d of %d streams failed, one with %s", got.Failed, of.Streams, got.Error)
				}
				time.Sleep(4 * time.Second) // every stream sends two events
				b.ReportMetric(residentMB(b), "MB/replica")
				b.ReportMetric(idle, "idle-MB")
				p.run(b, streamRun{Address: gateway, Keys: keys})
			}
		})
	}
	b.Run("first-byte", func(b *testing.B) {
		for b.Loop() {
			most := p.run(b, streamRun{Address: gateway, Keys: keys[:100], Streams: 4000, AtOnce: 16})
			half := streamRun{Address: gateway, Keys: keys[:100], Streams: 12_000, AtOnce: 64, Pace: 2 * most.Took / 4000}
			through := p.run(b, half)
			half.Address = p.own
			direct := p.run(b, half)
			if failed := most.Failed + through.Failed + direct.Failed; failed > 0 {
				b.Fatalf("%d streams failed, one with %s", failed, through.Error)
			}
			b.ReportMetric(4000/most.Took.Seconds(), "streams/s")
			b.ReportMetric(float64(through.P50-direct.P50)/1e6, "p50-delay-ms")
			b.ReportMetric(float64(through.P99-direct.P99)/1e6, "p99-delay-ms")
			b.ReportMetric(float64(direct.P99)/1e6, "p99-direct-ms")
		}
	})
}

// numberedKey makes one of many keys of ep-anna and gives its Authorization header.
func (w *world) numberedKey(i int, l endpointkey.Limits) string {
	id := []byte("aaaaaaaa")
	for at := range id {
		id[at], i = byte('a'+i%26), i/26
	}
	header := w.key("x", "ep-anna", l)[1]
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.keys["xxxxxxxx"]
	delete(w.keys, k.ID)
	header = strings.Replace(header, k.ID, string(id), 1)
	k.ID = string(id)
	w.keys[k.ID] = k
	return header
}

func residentMB(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		b.Fatal(err)
	}
	return float64(kib) / 1024
}

// streamPeer is the other process.
type streamPeer struct {
	own string
	in  io.Writer
	out *json.Decoder
}

func newStreamWorld(b *testing.B) (*world, *streamPeer) {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), peerOf+"=1"), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close() // and the peer ends
		_ = cmd.Wait()
	})
	p := &streamPeer{in: in, out: json.NewDecoder(out)}
	var first streamResult
	if err := p.out.Decode(&first); err != nil {
		b.Fatal(err)
	}
	p.own = first.Own
	w := newWorld(b, func(o *Options, _ *PodsOptions) {
		o.Recheck, o.Traffic = 2*time.Second, traffic.NewRecorder(traffic.RecorderOptions{})
	})
	w.pod.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0") // only its address counts: world dials what pod listens on
	if err != nil {
		b.Fatal(err)
	}
	_ = l.Close()
	w.pod = &httptest.Server{Listener: elsewhere{l, p.own}}
	return w, p
}

// elsewhere is a listener that says that it listens at another address.
type elsewhere struct {
	net.Listener
	address string
}

func (e elsewhere) Addr() net.Addr { a, _ := net.ResolveTCPAddr("tcp", e.address); return a }

func (p *streamPeer) run(b *testing.B, r streamRun) (got streamResult) {
	b.Helper()
	if err := json.NewEncoder(p.in).Encode(r); err != nil {
		b.Fatal(err)
	}
	if err := p.out.Decode(&got); err != nil {
		b.Fatal(err)
	}
	return got
}

// servePeer is what the other process does until its standard input ends.
func servePeer() {
	defer gogc.AtLeast(512 << 20)() // collections of callers and server are no delay of the gateway
	pod := httptest.NewServer(http.HandlerFunc(streamSlowly))
	defer pod.Close()
	out := json.NewEncoder(os.Stdout)
	_ = out.Encode(streamResult{Own: pod.Listener.Addr().String()})
	var open []net.Conn
	for in := json.NewDecoder(os.Stdin); ; {
		var r streamRun
		if in.Decode(&r) != nil {
			return
		}
		for _, c := range open {
			_ = c.Close()
		}
		var result streamResult
		result, open = r.do()
		_ = out.Encode(result)
	}
}

// streamSlowly sends an event at once, with the time, and one every two seconds; over a websocket too, as bytes, which
// nobody between here and the caller looks into.
func streamSlowly(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	if r.Header.Get("Upgrade") != "" {
		conn, _, err := control.Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		if err == nil {
			sendSlowly(r.Context(), conn, func() error { return nil })
		}
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	sendSlowly(r.Context(), w, control.Flush)
}

func sendSlowly(ctx context.Context, w io.Writer, flush func() error) {
	every := time.NewTicker(2 * time.Second)
	defer every.Stop()
	for {
		_, err := fmt.Fprintf(w, "data: {\"sent\":%d,\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
			time.Now().UnixNano())
		if err != nil || flush() != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// do opens the streams of a run, by as many callers as it says, or by 64 where they stay.
func (r streamRun) do() (result streamResult, open []net.Conn) {
	began, callers := time.Now(), r.AtOnce
	if r.Stay {
		callers = 64
	}
	var next atomic.Int64
	var mu sync.Mutex
	var delays []time.Duration
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= r.Streams {
					return
				}
				time.Sleep(time.Until(began.Add(time.Duration(i) * r.Pace)))
				conn, delay, err := r.one(i)
				mu.Lock()
				switch {
				case err != nil:
					result.Failed, result.Error = result.Failed+1, err.Error()
				case r.Stay:
					open = append(open, conn)
					go func() { _, _ = io.Copy(io.Discard, conn) }()
				default:
					_ = conn.Close()
				}
				delays = append(delays, delay)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	result.Took = time.Since(began)
	if slices.Sort(delays); len(delays) > 0 {
		result.P50, result.P99 = delays[len(delays)/2], delays[len(delays)*99/100]
	}
	return result, open
}

// one opens a stream and waits for its first event.
func (r streamRun) one(i int) (net.Conn, time.Duration, error) {
	conn, err := net.Dial("tcp", r.Address)
	if err != nil {
		return nil, 0, err
	}
	const body = `{"stream":true}`
	ask, want := fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n", len(body)), http.StatusOK
	end := "\r\n" + body
	if r.Sockets {
		ask, want, end = "GET /v1/realtime HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n", http.StatusSwitchingProtocols, "\r\n"
	}
	_, err = fmt.Fprintf(conn, "%sHost: ep-anna.apps.test\r\nAuthorization: %s\r\n%s", ask, r.Keys[i%len(r.Keys)], end)
	if err != nil {
		return conn, 0, err
	}
	buffered := bufio.NewReaderSize(conn, 1024)
	res, err := http.ReadResponse(buffered, nil)
	if err != nil {
		return conn, 0, err
	}
	if res.StatusCode != want {
		return conn, 0, errors.New(res.Status)
	}
	event, from := make([]byte, 512), io.Reader(res.Body)
	if r.Sockets {
		from = buffered
	}
	n, err := from.Read(event)
	if err != nil {
		return conn, 0, err
	}
	var told struct{ Sent int64 }
	first, _, _ := bytes.Cut(event[:n], []byte("\n")) // on a busy machine the next one may be there as well
	err = json.Unmarshal(bytes.TrimPrefix(first, []byte("data: ")), &told)
	return conn, time.Since(time.Unix(0, told.Sent)), err
}

// Agent reads the GPUs of one node through NVML and serves what it found: GET /v1/report (JSON), /metrics (Prometheus),
// /healthz. It changes nothing.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/agent"
)

// version is set by the linker.
var version = "dev"

// Exit codes: 1 for a failure, 2 for wrong usage, 3 when a new process is needed to load the library of a replaced
// driver.
const (
	exitFailure = 1
	exitUsage   = 2
	exitRestart = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// settings of the agent; each flag has an environment variable, which the flag overrides.
type settings struct {
	listen, node, library, proc, tokenFile, cert, key string
	interval                                          time.Duration
	once, version                                     bool
}

func parse(args []string, env func(string) string, errs io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("agent", flag.ContinueOnError)
	f.SetOutput(errs)
	or := func(name, other string) string {
		if v := env(name); v != "" {
			return v
		}
		return other
	}
	f.StringVar(&s.listen, "listen", or("AGENT_LISTEN", "127.0.0.1:9410"), "address to serve on (AGENT_LISTEN)")
	f.StringVar(&s.node, "node", or("NODE_NAME", hostname()), "name of the node in the report (NODE_NAME)")
	f.StringVar(&s.library, "nvml", env("AGENT_NVML"),
		"path of libnvidia-ml.so.1; empty: as the dynamic linker finds it (AGENT_NVML)")
	f.StringVar(&s.proc, "proc", or("AGENT_PROC", "/proc"), "where the host's processes are seen (AGENT_PROC)")
	f.StringVar(&s.tokenFile, "token-file", env("AGENT_TOKEN_FILE"),
		"file with the bearer token that report and metrics ask for; empty: none (AGENT_TOKEN_FILE)")
	f.StringVar(&s.cert, "tls-cert", env("AGENT_TLS_CERT"), "certificate file; with -tls-key: serve TLS (AGENT_TLS_CERT)")
	f.StringVar(&s.key, "tls-key", env("AGENT_TLS_KEY"), "key file (AGENT_TLS_KEY)")
	f.DurationVar(&s.interval, "interval", 10*time.Second, "time between two rounds")
	f.BoolVar(&s.once, "once", false, "print one report and end")
	f.BoolVar(&s.version, "version", false, "print the version and end")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	return s, s.check(f.Args())
}

func (s settings) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unknown argument %q", rest[0])
	case s.interval < time.Second:
		return errors.New("-interval: one second is the least")
	case (s.cert == "") != (s.key == ""):
		return errors.New("-tls-cert and -tls-key belong together")
	}
	return nil
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

func run(ctx context.Context, args []string, env func(string) string, out, errs io.Writer) int {
	s, err := parse(args, env, errs)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(errs, "agent:", err)
		return exitUsage
	case s.version:
		fmt.Fprintln(out, version)
		return 0
	}
	log := slog.New(slog.NewJSONHandler(errs, nil))
	loop := agent.NewLoop(agent.Options{Source: agent.NewSource(s.library, s.proc), Interval: s.interval, Node: s.node,
		Version: version, Log: log})
	if s.once {
		return once(loop, out, errs)
	}
	return serve(ctx, s, loop, log)
}

func once(loop *agent.Loop, out, errs io.Writer) int {
	report, err := loop.Once()
	if err == nil {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		err = e.Encode(report)
	}
	if err != nil {
		fmt.Fprintln(errs, "agent:", err)
		return exitFailure
	}
	return 0
}

// serve runs loop and server until one of them ends. A loop that hangs in the driver does not keep the process from
// ending.
func serve(ctx context.Context, s settings, loop *agent.Loop, log *slog.Logger) int {
	listener, err := listen(s)
	if err != nil {
		log.Error("cannot listen", "error", err.Error())
		return exitFailure
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := agent.Server(agent.Handler(loop, s.tokenFile))
	server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	looped, served := make(chan error, 1), make(chan error, 1)
	go func() { looped <- loop.Run(ctx) }()
	go func() { served <- server.Serve(listener) }()
	log.Info("serving", "address", listener.Addr().String(), "version", version, "token", s.tokenFile != "", "tls",
		s.cert != "")

	code := 0
	select {
	case <-ctx.Done():
	case err = <-looped:
	case err = <-served:
	}
	if err != nil { // the loop ends without one when it is told to
		code = exitFailure
		log.Error("ending", "error", err.Error())
	}
	if errors.Is(err, agent.ErrRestart) {
		code = exitRestart
	}
	cancel()
	end, done := context.WithTimeout(context.Background(), 5*time.Second)
	defer done()
	if err := server.Shutdown(end); err != nil && !errors.Is(err, http.ErrServerClosed) {
		_ = server.Close()
	}
	return code
}

func listen(s settings) (net.Listener, error) {
	l, err := net.Listen("tcp", s.listen)
	if err != nil || s.cert == "" {
		return l, err
	}
	// anew for each connection: certificates are rotated under a running agent
	load := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(s.cert, s.key)
		return &c, err
	}
	if _, err := load(nil); err != nil {
		l.Close()
		return nil, err
	}
	return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: load}), nil
}

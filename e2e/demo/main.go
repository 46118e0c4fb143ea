// Demo starts the whole world and the portal on this machine, says where it is, and stops everything on Ctrl-C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gpu-portal/gpu-portal/e2e/stack"
	"github.com/gpu-portal/gpu-portal/internal/app/example"
	"github.com/gpu-portal/gpu-portal/internal/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	port := flag.Int("port", 0, "port of the portal (default 8080, then the one of the last start)")
	nodes := flag.Int("nodes", 29, "how many fake GPU nodes")
	flag.Parse()
	root, err := stack.Root()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, ".demo")
	if *port == 0 && !exists(filepath.Join(dir, "portal", "port")) {
		*port = 8080
	}
	say("starting Kubernetes, Prometheus, %d fake GPU nodes and the sign-in provider", *nodes)
	starting, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	world, err := stack.Up(starting, stack.Options{Root: root, Data: filepath.Join(dir, "devstack"), Nodes: *nodes,
		Out: os.Stderr})
	if err != nil {
		return err
	}
	defer world.Stop()
	log, err := os.Create(filepath.Join(dir, "portal.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	say("starting the portal")
	sizes, err := offer(filepath.Join(dir, "portal"))
	if err != nil {
		return err
	}
	fresh := false // so that a colleague's workload that somebody deleted does not come back
	portal, err := stack.NewPortal(starting, stack.PortalOptions{Root: root, Dir: filepath.Join(dir, "portal"),
		Ready: world.Ready, Port: *port, Out: log, Change: sizes,
		Prepare: func(ctx context.Context, file string) (err error) { fresh, err = history(ctx, file); return err }})
	if err != nil {
		return err
	}
	if err := portal.Start(starting); err != nil {
		return fmt.Errorf("%w\n%s", err, tail(log.Name()))
	}
	defer portal.Stop()
	if err := os.WriteFile(filepath.Join(dir, "env"), []byte(environment(portal, world.Ready)), 0o600); err != nil {
		return err
	}
	if fresh {
		if err := arrive(starting, portal, world.Ready); err != nil {
			say("not every workload of colleagues could be started: %v", err)
		}
	}
	welcome(os.Stdout, portal, world.Ready)
	return wait(ctx, world, portal, log.Name())
}

// history fills a new database with a month of history; one that is in use stays as it is.
func history(ctx context.Context, file string) (fresh bool, err error) {
	c, err := config.Load(file, func(string) string { return "" }, func(*config.Config) {})
	if err != nil {
		return false, err
	}
	if err = example.Seed(ctx, c, slog.New(slog.DiscardHandler), time.Now()); errors.Is(err, example.ErrNotEmpty) {
		return false, nil
	}
	if err == nil {
		say("the teams and a month of example data are in the database; make demo-reset forgets them")
	}
	return err == nil, err
}

func wait(ctx context.Context, w *stack.World, p *stack.Portal, log string) error {
	select {
	case <-ctx.Done():
		fmt.Println("\nstopping; the data stays in .demo (make demo-reset forgets it)")
		return nil
	case err := <-w.Done():
		return fmt.Errorf("devstack ended: %w", err)
	case err := <-p.Done():
		return fmt.Errorf("the portal ended: %w\n%s", err, tail(log))
	}
}

// environment is .demo/env, in shell form.
func environment(p *stack.Portal, r stack.Ready) string {
	var b strings.Builder
	for _, kv := range [][2]string{
		{"PORTAL_URL", p.URL}, {"KUBECONFIG", r.Kubeconfig}, {"PROMETHEUS_URL", r.Prometheus}, {"OIDC_ISSUER", r.OIDCIssuer},
		{"PORTAL_TOKEN_DEVELOPER", p.Tokens["dana"]}, {"PORTAL_TOKEN_OWNER", p.Tokens["otto"]},
		{"PORTAL_TOKEN_APPROVER", p.Tokens["ada"]},
		{"PORTAL_TOKEN_ADMIN", p.Tokens["pat"]}, {"PORTAL_TOKEN_AUDITOR", p.Tokens["audrey"]},
		{"PORTAL_TOKEN_OTHER", p.Tokens["nora"]}, {"PORTAL_TOKEN_LAB", p.Tokens["lena"]},
		{"DEVSTACK_CONTROL", r.Control}, {"DEVSTACK_SOCKS5", r.SOCKS5},
	} {
		fmt.Fprintf(&b, "export %s='%s'\n", kv[0], kv[1])
	}
	return b.String()
}

func welcome(out io.Writer, p *stack.Portal, r stack.Ready) {
	fmt.Fprintf(out, "\n  The GPU portal is ready:  %s\n\n  Sign in as\n", p.URL)
	for _, u := range r.Users {
		fmt.Fprintf(out, "    %-14s %s\n", u.Name, u.What)
	}
	fmt.Fprintf(out,
		"\n  API tokens, kubeconfig and addresses:  . .demo/env\n  API documentation:  %s/api/docs\n  Ctrl-C "+
			"stops everything.\n\n", p.URL)
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "demo: "+format+"\n", args...) }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// tail is the end of a log, for an error message.
func tail(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

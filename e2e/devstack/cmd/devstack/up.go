package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/stack"
)

func runUp(args []string) error {
	options, err := upOptions(args)
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	unlock, err := lock(options.Data)
	if err != nil {
		return err
	}
	defer unlock()
	w, err := newWorld(options)
	if err != nil {
		return err
	}
	err = w.run(ctx)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return err
}

type options struct {
	stack.Settings
	nodes     int
	readyFile string
	newPorts  bool
}

func upOptions(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("devstack up", flag.ExitOnError)
	flags.StringVar(&o.Bin, "bin", "", "folder with the programs that `devstack build` made")
	flags.StringVar(&o.Data, "data", "", "folder for this world's data; kept from one start to the next")
	flags.StringVar(&o.SignIn, "signin", "", "program of the OIDC provider; without it nobody can sign in")
	flags.IntVar(&o.nodes, "nodes", 12, "how many fake nodes; 29 has one of every kind")
	flags.StringVar(&o.readyFile, "ready-file", "", "file to write (JSON) when everything is ready")
	flags.BoolVar(&o.Victoria, "victoria-metrics", false, "VictoriaMetrics beside Prometheus, with the same samples")
	flags.BoolVar(&o.newPorts, "new-ports", false, "forget the ports of the last start and choose free ones")
	flags.DurationVar(&o.ScrapeInterval, "scrape-interval", 0, "of Prometheus (default: 5s, and longer with many nodes)")
	_ = flags.Parse(args)
	if o.Bin == "" || o.Data == "" {
		return o, errors.New("--bin and --data are needed")
	}
	for _, path := range []*string{&o.Bin, &o.Data, &o.SignIn, &o.readyFile} {
		if *path == "" {
			continue
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return o, err
		}
		*path = abs
	}
	programs := []string{"controlplane", "kwok", "prometheus"}
	if o.Victoria {
		programs = append(programs, "victoria-metrics")
	}
	for _, name := range programs {
		if _, err := os.Stat(filepath.Join(o.Bin, name)); err != nil {
			return o, fmt.Errorf("%s is not in %s: run `devstack build --out %s` first", name, o.Bin, o.Bin)
		}
	}
	if o.ScrapeInterval == 0 {
		o.ScrapeInterval = scrapeInterval(o.nodes)
	}
	return o, os.MkdirAll(o.Data, 0o755)
}

// scrapeInterval keeps Prometheus cheap in a world of hundreds of nodes.
func scrapeInterval(nodes int) time.Duration {
	switch {
	case nodes <= 40:
		return 5 * time.Second
	case nodes <= 200:
		return 15 * time.Second
	default:
		return time.Minute
	}
}

// lock makes sure that only one devstack uses a data folder.
func lock(data string) (func(), error) {
	f, err := os.OpenFile(filepath.Join(data, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("another devstack runs on %s: stop it first, or use another --data", data)
	}
	return func() { _ = f.Close() }, nil
}

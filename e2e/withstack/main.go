// Withstack runs a command beside a running devstack: it starts one, puts the path of its ready file into
// DEVSTACK_READY, runs the command, and stops it.
//
//	withstack [--data DIR] [--nodes N] -- go test ./e2e/...
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gpu-portal/gpu-portal/e2e/stack"
)

func main() {
	code, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "withstack:", err)
		code = 1
	}
	os.Exit(code)
}

func run() (int, error) {
	data := flag.String("data", "", "folder for the world's data (default: a fresh one that is removed afterwards)")
	nodes := flag.Int("nodes", 0, "how many fake nodes")
	flag.Parse()
	if flag.NArg() == 0 {
		return 0, errors.New("say which command to run, after --")
	}
	root, err := stack.Root()
	if err != nil {
		return 0, err
	}
	if *data == "" {
		if *data, err = os.MkdirTemp("", "devstack-"); err != nil {
			return 0, err
		}
		defer os.RemoveAll(*data)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	starting, cancel := context.WithTimeout(ctx, 6*time.Minute)
	defer cancel()
	world, err := stack.Up(starting, stack.Options{Root: root, Data: *data, Nodes: *nodes, Out: os.Stderr})
	if err != nil {
		return 0, err
	}
	defer world.Stop()
	file, err := filepath.Abs(world.File)
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, flag.Arg(0), flag.Args()[1:]...)
	cmd.Env = append(os.Environ(), stack.ReadyVariable+"="+file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(1, exit.ExitCode()), nil
	}
	return 0, err
}

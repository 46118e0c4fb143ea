package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/build"
)

func runBuild(args []string) error {
	flags := flag.NewFlagSet("devstack build", flag.ExitOnError)
	out := flags.String("out", "", "folder for the programs")
	source := flags.String("source", "", "folder of the devstack module (default: found from the working directory)")
	only := flags.String("only", "", "the one program to build (default: all)")
	_ = flags.Parse(args)
	if *out == "" {
		return fmt.Errorf("--out is missing: say where the programs shall go")
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	return build.All(ctx, build.Options{Out: *out, Source: *source, Only: *only, Progress: os.Stderr})
}

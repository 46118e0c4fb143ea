// Package build compiles the programs of the devstack and leaves alone those for which nothing changed. What it prints
// tells a person who waits for the first build of Kubernetes that it goes on.
package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Options of a build.
type Options struct {
	Out      string // folder for the programs
	Source   string // folder of this module; found from the working directory when empty
	Only     string // name of the one program to compile; all when empty
	Progress io.Writer
}

// program is one thing to compile.
type program struct {
	name, pkg, ldflags, tags string
	module                   string // folder of the module that it is built in; "" is the devstack's own
	first                    string // how long it takes the first time, on two cores
	sources                  []string
}

// Kubernetes is the version of the control plane; the programs tell it to their clients.
const Kubernetes = "v1.36.3"

func programs() []program {
	version := "k8s.io/component-base/version."
	return []program{
		{name: "controlplane", pkg: "./cmd/controlplane", tags: "controlplane", first: "5 minutes",
			sources: []string{"cmd/controlplane"},
			ldflags: fmt.Sprintf("-s -w -X %[1]sgitVersion=%[2]s -X %[1]sgitMajor=1 -X %[1]sgitMinor=36 -X "+
				"%[1]sgitTreeState=clean",
				version, Kubernetes)},
		{name: "kwok", pkg: "sigs.k8s.io/kwok/cmd/kwok", first: "a minute", ldflags: "-s -w"},
		{name: "prometheus", pkg: "github.com/prometheus/prometheus/cmd/prometheus", first: "2 minutes", ldflags: "-s -w",
			tags: "remove_all_sd,enable_kubernetes_sd,netgo"},
		{name: "victoria-metrics", pkg: "github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics",
			module: "victoria-metrics", first: "a minute", ldflags: "-s -w"},
		{name: "devstack", pkg: "./cmd/devstack", first: "a minute", sources: []string{"cmd/devstack", "internal"},
			ldflags: "-s -w"},
	}
}

// chosen is the program of that name, or all of them.
func chosen(only string) ([]program, error) {
	all := programs()
	if only == "" {
		return all, nil
	}
	for _, p := range all {
		if p.name == only {
			return []program{p}, nil
		}
	}
	return nil, fmt.Errorf("there is no program %q to build", only)
}

// All compiles every program, or the one that is wanted, whose stamp differs.
func All(ctx context.Context, o Options) error {
	source, err := findSource(o.Source)
	if err != nil {
		return err
	}
	out, err := filepath.Abs(o.Out)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	wanted, err := chosen(o.Only)
	if err != nil {
		return err
	}
	stale, err := staleOnes(ctx, source, out, wanted)
	if err != nil || len(stale) == 0 {
		return err
	}
	if err := checkDisk(ctx, out); err != nil {
		return err
	}
	for _, s := range stale {
		if err := compile(ctx, o.Progress, source, out, s.program); err != nil {
			return err
		}
		if err := os.WriteFile(stampPath(out, s.program), []byte(s.stamp), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// module is the first line of this module's go.mod.
const module = "module github.com/gpu-portal/gpu-portal/e2e/devstack"

// findSource looks for the module in the folder given, or upwards from the working directory and in e2e/devstack of it.
func findSource(given string) (string, error) {
	if given != "" {
		if !isModule(given) {
			return "", fmt.Errorf("%s is not the folder of the devstack module", given)
		}
		return filepath.Abs(given)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		for _, candidate := range []string{dir, filepath.Join(dir, "e2e", "devstack")} {
			if isModule(candidate) {
				return candidate, nil
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("the devstack module is not here: run inside the repository or name it with --source")
		}
		dir = up
	}
}

func isModule(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && strings.HasPrefix(string(text), module+"\n")
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/part"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/pki"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/ports"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/seed"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/stack"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

// devstack is one running world.
type devstack struct {
	options
	group *part.Group
}

func newWorld(o options) (*devstack, error) {
	var err error
	if o.Ports, err = ports.Open(filepath.Join(o.Data, "ports.json"), o.newPorts, stack.PortNames...); err != nil {
		return nil, err
	}
	if o.Secrets, err = stack.LoadSecrets(filepath.Join(o.Data, "secrets.json")); err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	if o.Keys, err = pki.Ensure(filepath.Join(o.Data, "pki")); err != nil {
		return nil, err
	}
	o.Users = stack.People()
	if err := o.WriteFiles(); err != nil {
		return nil, fmt.Errorf("write the settings of the programs: %w", err)
	}
	w := &devstack{options: o, group: part.NewGroup(filepath.Join(o.Data, "logs"))}
	return w, o.Programs(w.group)
}

// run starts everything, tells that it is ready, and stays until ctx ends or a part dies.
func (w *devstack) run(ctx context.Context) error {
	begin := time.Now()
	inner, stopSimulators := context.WithCancel(ctx)
	defer w.stop(stopSimulators)
	if w.readyFile != "" {
		_ = os.Remove(w.readyFile) // of an earlier start
	}
	if err := w.group.Start(ctx); err != nil {
		return err
	}
	client, custom, err := w.clients()
	if err != nil {
		return err
	}
	if err := w.prepare(ctx, client); err != nil {
		return err
	}
	if err := w.simulate(inner, client, custom); err != nil {
		return err
	}
	if err := w.writeReady(); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "devstack: ready after %.1f s, %d nodes; kubeconfig %s\n", time.Since(begin).Seconds(), w.nodes,
		w.Kubeconfig())
	return w.watch(ctx)
}

func (w *devstack) stop(stopSimulators func()) {
	stopSimulators()
	if err := w.group.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "devstack:", err)
	}
	if w.readyFile != "" {
		_ = os.Remove(w.readyFile)
	}
}

// clients are of the kinds of Kubernetes itself, and of custom resources.
func (w *devstack) clients() (kubernetes.Interface, dynamic.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", w.SimulatorKubeconfig())
	if err != nil {
		return nil, nil, err
	}
	config.QPS, config.Burst = 200, 400
	config.UserAgent = "devstack"
	config.Dial = world.Dial
	custom, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	return client, custom, err
}

func (w *devstack) prepare(ctx context.Context, client kubernetes.Interface) error {
	if err := seed.Site(ctx, client); err != nil {
		return err
	}
	if err := seed.Nodes(ctx, client, w.nodes); err != nil {
		return err
	}
	if err := seed.Kubelets(ctx, client, w.Ports["kubelet"]); err != nil {
		return err
	}
	patience, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	return seed.WaitReady(patience, client)
}

// watch stays until ctx ends or a part dies. When somebody stopped or froze a part on purpose, the death of another is
// told but is not the end: the tests of failures start it again.
func (w *devstack) watch(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case d := <-w.group.Deaths():
			told := fmt.Sprintf("%s ended unexpectedly (%s)", d.Name, d.Why)
			if d.LastLines != "" {
				told += "; its last lines:\n" + d.LastLines
			}
			if !w.disturbedBeside(d.Name) {
				return fmt.Errorf("%s", told)
			}
			fmt.Fprintln(os.Stderr, "devstack:", told)
		}
	}
}

// disturbedBeside says whether a part other than this one is not running.
func (w *devstack) disturbedBeside(name string) bool {
	for _, p := range w.group.Parts() {
		if state, _, _ := p.State(); p.Name != name && state != part.Running {
			return true
		}
	}
	return false
}

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/cadvisor"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/control"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/dra"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/faces"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/gpus"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/kubelet"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/migmanager"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/socks"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/stub"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/volumes"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

// simulate starts everything that we play ourselves; it ends with ctx.
func (w *devstack) simulate(ctx context.Context, client kubernetes.Interface, custom dynamic.Interface) error {
	cluster, err := world.New(client)
	if err != nil {
		return err
	}
	disks := volumes.New(cluster)
	if err := cluster.Start(ctx); err != nil {
		return err
	}
	if err := dra.Publish(ctx, cluster); err != nil {
		return err
	}
	if err := migmanager.WriteConfigs(ctx, cluster); err != nil {
		return err
	}
	hardware := gpus.New(cluster, filepath.Join(w.Data, "devices.json"))
	memory := stub.NewMemory()
	cluster.OnPodGone(memory.Forget)
	logs := kubelet.NewLogs()
	cluster.OnPodGone(logs.Forget)
	shells := kubelet.NewShells(filepath.Join(w.Data, "containers"))
	cluster.OnPodGone(shells.Forget)
	if err := kubelet.Serve(ctx, w.Ports.Addr("kubelet"), w.Keys.ServerCert, w.Keys.ServerKey,
		kubelet.Handler(cluster, logs, shells)); err != nil {
		return fmt.Errorf("kubelet: %w", err)
	}
	network := stub.NewNetwork(ctx, cluster, memory)
	network.Agent = faces.Agent(cluster)
	manager := &migmanager.Manager{Cluster: cluster, Hardware: hardware, Takes: 4 * time.Second}
	snapshots := volumes.Snapshots{Driver: disks, Client: custom}
	if err := snapshots.Define(ctx); err != nil {
		return err
	}
	go disks.Run(ctx)
	go snapshots.Run(ctx)
	go manager.Run(ctx)

	port := &socks.Port{Addr: w.Ports.Addr("socks"), Network: network}
	if err := port.Start(ctx); err != nil {
		return fmt.Errorf("SOCKS: %w", err)
	}
	context.AfterFunc(ctx, port.Stop)
	containers := cadvisor.New(cluster)
	api := &control.Control{Group: w.group, Cluster: cluster, Hardware: hardware, Containers: containers,
		Network: network, SOCKS: port, Logs: logs, Context: ctx}
	if err := serve(ctx, w.Ports.Addr("control"), api.Handler(w.Secrets.ControlPath)); err != nil {
		return fmt.Errorf("control API: %w", err)
	}
	if err := serve(ctx, w.Ports.Addr("faces"), faces.Handler(cluster, hardware, containers,
		w.Ports.Addr("faces"))); err != nil {
		return fmt.Errorf("exporters: %w", err)
	}
	return nil
}

// serve answers at addr until ctx ends.
func serve(ctx context.Context, addr string, handler http.Handler) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }()
	return nil
}

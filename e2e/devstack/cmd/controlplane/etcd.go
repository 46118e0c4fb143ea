//go:build controlplane

package main

import (
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
)

// etcdCommand is a single-member etcd. Writes are not synced to disk before they are acknowledged (UnsafeNoFsync): a
// process that dies loses nothing, a machine that loses power may, and a test world can be made again.
func etcdCommand() *cobra.Command {
	var data, client, peer string
	cmd := &cobra.Command{
		Use:           "etcd",
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(*cobra.Command, []string) error { return runEtcd(data, client, peer) },
	}
	cmd.Flags().StringVar(&data, "data-dir", "", "where the data stands")
	cmd.Flags().StringVar(&client, "listen-client-url", "", "address for the API server")
	cmd.Flags().StringVar(&peer, "listen-peer-url", "", "address for other members (there are none)")
	return cmd
}

func runEtcd(data, client, peer string) error {
	clientURL, err := url.Parse(client)
	if err != nil {
		return fmt.Errorf("client address: %w", err)
	}
	peerURL, err := url.Parse(peer)
	if err != nil {
		return fmt.Errorf("peer address: %w", err)
	}
	cfg := embed.NewConfig()
	cfg.Name = "devstack"
	cfg.Dir = data
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*clientURL}, []url.URL{*clientURL}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peerURL}, []url.URL{*peerURL}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.UnsafeNoFsync = true
	cfg.LogLevel = "warn"
	cfg.LogOutputs = []string{"stderr"}
	cfg.AutoCompactionMode, cfg.AutoCompactionRetention = "periodic", "1h"

	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	defer server.Close()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	select {
	case <-server.Server.ReadyNotify():
	case <-time.After(time.Minute):
		return fmt.Errorf("etcd did not get ready within a minute")
	}
	select {
	case <-stop:
		return nil
	case err := <-server.Err():
		return err
	}
}

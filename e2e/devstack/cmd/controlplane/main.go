//go:build controlplane

// Command controlplane is kube-apiserver, kube-controller-manager, kube-scheduler and etcd in one program: the first
// argument says which one it is. One program instead of four, because the four share nearly all of their code and
// linking it once saves minutes and 300 MB.
//
// It needs the build tag controlplane, so that go vet ./... and go test ./... leave it and all of Kubernetes alone.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	parts := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllermanager.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"etcd":                    etcdCommand,
	}
	if len(os.Args) < 2 || parts[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: controlplane {kube-apiserver|kube-controller-manager|kube-scheduler|etcd} [flags]")
		os.Exit(2)
	}
	name := os.Args[1]
	os.Args = append([]string{name}, os.Args[2:]...)
	os.Exit(cli.Run(parts[name]()))
}

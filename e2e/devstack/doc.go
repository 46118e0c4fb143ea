// Package devstack is a whole GPU site on one machine without a GPU, for the demo and for tests that need the real
// thing.
//
// Real programs, compiled from their modules: kube-apiserver, kube-controller-manager, kube-scheduler and etcd (one
// program, cmd/controlplane), KWOK 0.8, Prometheus (v0.315 of its module), and VictoriaMetrics 1.136 as a second
// metrics server with the same samples, in a module of its own (victoria-metrics). Ours, in cmd/devstack: what a GPU
// operator, a kubelet, a storage driver and a container would do.
//
//	devstack build --out DIR
//	devstack up --bin DIR --data DIR --signin PATH [--nodes N] [--victoria-metrics] [--ready-file FILE]
//
// The path of data through it:
//
//	internal/build     compiles the programs, says how long it takes, does nothing twice
//	internal/ports     remembered loopback ports;  internal/pki  keys and certificates
//	internal/stack     the programs: flags, files, how one sees that each is ready
//	internal/part      starts, watches, freezes and stops them
//	internal/seed      what a site has before the first user comes
//	internal/nodes     the table of fake nodes: hardware in, labels and resources out
//	internal/stages    what KWOK plays for nodes and pods
//	internal/world     caches of the cluster, for the simulators:
//	internal/devices, gpus, dcgm           who holds which device, how busy each is, the exporter's page
//	internal/cadvisor                      how much CPU and network pods use, the kubelet's page
//	internal/faces                         where these pages are served, Prometheus' targets
//	internal/migmanager, dra, volumes      the MIG manager, the DRA driver, the storage driver
//	internal/socks, stub                   the only road to the pods, and who answers there
//	internal/control                       the API with which tests make things go wrong
//
// Everything listens on loopback only. This is a module of its own, because Kubernetes as a library brings several
// hundred others; nothing in it imports the portal, and cmd/devstack imports only the client side of Kubernetes.
package devstack

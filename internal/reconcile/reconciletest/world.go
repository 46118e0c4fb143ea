package reconciletest

import (
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Cluster is the name of the one cluster.
const Cluster = "local"

// Slice is a size of one MIG slice; CPU one without a GPU, which fits on any node; Claim claims a whole card.
var (
	Slice = catalog.Size{
		Name: "mig-10", Title: "MIG slice 10 GB", Technology: catalog.MIG, Isolation: catalog.IsolationHard, CPU: "1",
		Memory: "1Gi",
		Accelerator: catalog.Accelerator{Vendor: "nvidia", Model: "H100", Profile: "1g.10gb",
			Resource: "nvidia.com/mig-1g.10gb", Count: 1, MemoryGiB: 10, Share: 1. / 7},
		Placement:    catalog.Placement{Tolerations: []catalog.Toleration{{Key: "nvidia.com/gpu"}}},
		PricePerHour: usage.Money{Minor: 55, Currency: "EUR"}, DefaultLease: catalog.Duration(8 * time.Hour),
		MaxLease: catalog.Duration(72 * time.Hour),
	}
	CPU = catalog.Size{
		Name: "cpu", Title: "CPU only", Technology: catalog.CPUOnly, Isolation: catalog.IsolationNone, CPU: "100m",
		Memory:       "128Mi",
		PricePerHour: usage.Money{Minor: 6, Currency: "EUR"}, DefaultLease: catalog.Duration(8 * time.Hour),
		MaxLease: catalog.Duration(72 * time.Hour),
	}
	Claim = catalog.Size{
		Name: "dra-gpu", Title: "Whole GPU (claim)", Technology: catalog.DRA, Isolation: catalog.IsolationHard, CPU: "1",
		Memory: "1Gi",
		Accelerator: catalog.Accelerator{Vendor: "nvidia", Model: "H100", MemoryGiB: 80, Share: 1,
			Claim: &catalog.Claim{Requests: []catalog.DeviceRequest{{Name: "gpu", DeviceClass: "gpu.nvidia.com"}}}},
		PricePerHour: usage.Money{Minor: 390, Currency: "EUR"}, DefaultLease: catalog.Duration(8 * time.Hour),
		MaxLease: catalog.Duration(72 * time.Hour),
	}
	notebook = catalog.Image{
		Name: "jupyter", Title: "Jupyter", Kind: catalog.Notebook, Reference: "quay.example/jupyter:1@sha256:0000",
		TokenEnv: "JUPYTER_TOKEN", Auth: "token",
		Port: 8888, HealthPath: "/api/status", OpenPath: "/lab", Home: "/home/jovyan",
	}
	server = catalog.Image{
		Name: "vllm", Title: "vLLM", Kind: catalog.Endpoint, Reference: "quay.example/vllm:1@sha256:0000",
		TokenEnv: "VLLM_API_KEY", Auth: "bearer", Port: 8000, HealthPath: "/health",
	}
)

// Site has one tenant "vision" whose namespace is the given one, and all sizes.
func Site(namespace string) reconcile.Site {
	return reconcile.Site{
		Catalog: catalog.Catalog{Sizes: []catalog.Size{Slice, CPU, Claim}, Images: []catalog.Image{notebook, server}},
		Directory: tenant.Directory{Tenants: []tenant.Tenant{{Name: "vision", Title: "Vision", Namespace: namespace,
			Quota: map[string]int{Slice.Name: 4, CPU.Name: 5000, Claim.Name: 2}}}},
	}
}

// Notebook is a notebook of the tenant "vision" that was approved at that moment, without storage.
func Notebook(name, namespace string, size catalog.Size, now time.Time) workload.Workload {
	return workload.Workload{
		ID: workload.ID("w-" + name), Name: name, Kind: catalog.Notebook, Tenant: "vision", Owner: "dana", OwnerName: "Dana",
		Size: size, Image: notebook,
		Cluster: Cluster, Namespace: namespace, Desired: workload.WantRunning, Generation: 1, State: workload.Queued,
		Reason: i18n.T("workload.being_created"), Lease: workload.Lease{From: now, Until: now.Add(8 * time.Hour)},
		Observed: workload.Observation{Steps: []workload.Step{{Name: workload.StepDecided, At: now}}}, CreatedAt: now,
		UpdatedAt: now,
	}
}

// WithStorage gives a workload storage of its own.
func WithStorage(w workload.Workload) workload.Workload {
	w.StorageGiB, w.Volume = 10, w.Name+"-home"
	return w
}

// Endpoint makes an endpoint of a notebook.
func Endpoint(w workload.Workload) workload.Workload {
	w.Kind, w.Image = catalog.Endpoint, server
	return w
}

// Job makes a job of a notebook, which runs a command.
func Job(w workload.Workload, command ...string) workload.Workload {
	w.Kind, w.Image = catalog.Job, w.Image.ForJob()
	w.Job = &workload.Job{Command: command, Retries: 1, TimeLimit: catalog.Duration(2 * time.Hour)}
	return w
}

// instance is a portal of its own for each namespace of a real cluster: a portal watches all namespaces that are its
// own, and tests run beside each other.
func instance(namespace string) string {
	if strings.HasPrefix(namespace, "gpu-test-") {
		return namespace
	}
	return "test"
}

// Options is a controller on that store, site and cluster, with fast rhythms.
func Options(s *Store, namespace string, cluster reconcile.Cluster) reconcile.Options {
	cluster.Name = Cluster
	return reconcile.Options{
		Store: s, Clusters: []reconcile.Cluster{cluster}, Site: func() reconcile.Site { return Site(namespace) },
		KubeSite: func(cluster string) kube.Site {
			return kube.Site{Cluster: cluster, Instance: instance(namespace),
				KEDA: kube.KEDA{Address: "https://gpu.example.org"}}
		},
		LoadToken: func(w workload.Workload) string { return "load-of-" + string(w.ID) },
		Token:     func(w workload.Workload) string { return "token-of-" + string(w.ID) }, Changes: s.Follow(), Workers: 4,
		Every: reconcile.Intervals{Compare: 2 * time.Second, Confirm: time.Minute, Probe: 300 * time.Millisecond,
			Activity:  300 * time.Millisecond,
			Inventory: time.Minute, Debounce: 100 * time.Millisecond, Volumes: time.Second, Checkpoint: time.Hour},
	}
}

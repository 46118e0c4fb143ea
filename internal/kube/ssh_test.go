package kube

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// TestTheGatewayReachesSSH: the SSH server of an image is a port of the pod, open to the portal alone.
func TestTheGatewayReachesSSH(t *testing.T) {
	in := input("mig-1g.10gb", "jupyterlab")
	in.Workload.Image.SSH = &catalog.SSH{Port: 2222, User: "jovyan"}
	objects, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	main := podOf(t, objects).Spec.Containers[0]
	if !slices.ContainsFunc(main.Ports, func(p corev1.ContainerPort) bool {
		return p.Name == "ssh" && p.ContainerPort == 2222
	}) {
		t.Errorf("the pod has no port for ssh: %v", main.Ports)
	}
	site := catalog.Default()
	before := gatewayPorts(t, site)
	site.Images = slices.Clone(site.Images)
	site.Images[0].SSH = in.Workload.Image.SSH
	if after := gatewayPorts(t, site); slices.Contains(before, 2222) || !slices.Contains(after, 2222) ||
		len(after) != len(before)+1 {
		t.Errorf("open to the gateway are %v, and %v with an SSH server", before, after)
	}
}

// TestTheGatewayReachesTheImagesPorts by name, and nothing else of the pod.
func TestTheGatewayReachesTheImagesPorts(t *testing.T) {
	ports := map[string]int32{"tensorboard": 6006, "grpc": 8001}
	in := input("mig-1g.10gb", "jupyterlab")
	in.Workload.Image.Ports = ports
	objects, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	for name, number := range ports {
		if !slices.ContainsFunc(podOf(t, objects).Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool {
			return p.Name == name && p.ContainerPort == number
		}) {
			t.Errorf("the pod has no port %s", name)
		}
	}
	site := catalog.Default()
	before := gatewayPorts(t, site)
	site.Images = slices.Clone(site.Images)
	site.Images[0].Ports = ports
	after := gatewayPorts(t, site)
	if !slices.Contains(after, 6006) || !slices.Contains(after, 8001) && !slices.Contains(before, 8001) ||
		slices.Contains(before, 6006) {
		t.Errorf("open to the gateway are %v, and %v with further ports", before, after)
	}
}

// TestANotebookWithoutPages has the Service and the probe of a port of its own, as the API server takes them.
func TestANotebookWithoutPages(t *testing.T) {
	in := input("mig-1g.10gb", "jupyterlab")
	i := &in.Workload.Image
	i.Port, i.HealthPath, i.OpenPath, i.Auth, i.TokenEnv, i.Ports = 0, "", "", "", "", map[string]int32{"dask": 8786}
	objects, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	main := podOf(t, objects).Spec.Containers[0]
	if len(main.Ports) != 1 || main.Ports[0].Name != "dask" || main.StartupProbe == nil ||
		main.StartupProbe.TCPSocket == nil || main.StartupProbe.TCPSocket.Port.StrVal != "dask" ||
		main.ReadinessProbe != nil || main.LivenessProbe != nil {
		t.Errorf("want one port, and its connections as the probe, got %+v", main)
	}
	for _, o := range objects {
		if s, is := o.(*corev1.Service); is && (len(s.Spec.Ports) != 1 || s.Spec.Ports[0].Name != "dask" ||
			s.Spec.Ports[0].Port != 8786) {
			t.Errorf("want the port in the Service, got %v", s.Spec.Ports)
		}
	}
	i.Ports = nil
	if _, err := Objects(in); err == nil {
		t.Error("want a notebook that nobody gets to refused")
	}
}

// gatewayPorts are those of the only rule that lets somebody in; it must name who.
func gatewayPorts(t *testing.T, c catalog.Catalog) (ports []int32) {
	t.Helper()
	objects, err := TenantObjects(tenant.Tenant{Name: "vision", Namespace: "gpu-vision"}, c, Site{Instance: "default"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		policy, is := o.(*networkingv1.NetworkPolicy)
		if !is {
			continue
		}
		for _, rule := range policy.Spec.Ingress {
			if policy.Name != "portal-allow-gateway" || len(rule.From) == 0 {
				t.Errorf("%s lets in %v", policy.Name, rule.From)
			}
			for _, p := range rule.Ports {
				ports = append(ports, p.Port.IntVal)
			}
		}
	}
	return ports
}

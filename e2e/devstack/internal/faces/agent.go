package faces

import (
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/gpus"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

// Agent answers as the portal's agent on a node, from the same facts as the exporter. It says what the devstack knows;
// the rest is missing from its report, which is unknown to whoever reads it.
func Agent(cluster *world.Cluster) func(node string) http.Handler {
	return func(name string) http.Handler {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /v1/report", func(w http.ResponseWriter, _ *http.Request) {
			node := cluster.Node(name)
			if node == nil {
				http.Error(w, "the node is gone", http.StatusServiceUnavailable)
				return
			}
			kind, layout, err := nodes.Read(node)
			if err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			sendJSON(w, agentReport(node, kind, layout, time.Now()))
		})
		return mux
	}
}

// object is a JSON object; known is a reading of the agent.
type object = map[string]any

func known(value any) object { return object{"value": value} }

func agentReport(node *corev1.Node, kind nodes.Kind, layout nodes.Layout, now time.Time) object {
	cards := []object{}
	for gpu := range kind.GPUs {
		c := object{"index": gpu, "uuid": known(nodes.GPUUUID(node.Name, gpu)), "name": known(kind.Model.Name),
			"virtualization": known("none")}
		switch {
		case kind.VGPU:
			c["virtualization"] = known("vgpu_guest")
			c["license"] = object{"supported": known(true), "features": known([]object{feature(gpus.Licensed(node), now)})}
		case gpu < len(layout) && layout[gpu] != nil:
			c["mig"] = cut(node.Name, gpu, kind.Model, layout[gpu])
		}
		cards = append(cards, c)
	}
	return object{"schema": "gpu-portal.agent/v1", "node": node.Name, "agent_version": "devstack", "taken_at": now.UTC(),
		"interval_seconds": 10,
		"driver":           object{"state": "ready", "version": known(nodes.Driver)}, "gpus": known(cards)}
}

// feature is a lease for a day, or none.
func feature(licensed bool, now time.Time) object {
	f := object{"feature": "rtx", "product": "NVIDIA RTX Virtual Workstation", "enabled": true, "licensed": licensed,
		"expiry_status": "not_available"}
	if licensed {
		f["expiry"], f["expiry_status"] = known(now.UTC().Truncate(24*time.Hour).Add(48*time.Hour)), "valid"
	}
	return f
}

func cut(node string, gpu int, model *nodes.Model, instances []nodes.Instance) object {
	gis, devices, profiles := []object{}, []object{}, []object{}
	counts := map[string]int{}
	for _, in := range instances {
		p, _ := model.Profile(in.Profile)
		id := nodes.InstanceID(p.Size, in.Start)
		counts[in.Profile]++
		gis = append(gis, object{"id": id, "profile_id": p.ID, "profile": known(in.Profile),
			"placement": placement(p, in.Start)})
		devices = append(devices, object{"uuid": known(nodes.MIGUUID(node, gpu, in)), "gpu_instance_id": known(id)})
	}
	for _, p := range model.Profiles {
		all, free := []object{}, []object{}
		for _, start := range p.Starts {
			all = append(all, placement(p, start))
			if counts[p.Name] < p.Max && beside(model, instances, p, start) {
				free = append(free, placement(p, start))
			}
		}
		profiles = append(profiles, object{"id": p.ID, "name": known(p.Name), "slices": p.Slices, "max_instances": p.Max,
			"placements": known(all), "free": known(free)})
	}
	return object{"enabled": known(true), "profiles": known(profiles), "instances": known(gis), "devices": known(devices)}
}

func placement(p nodes.Profile, start int) object { return object{"start": start, "size": p.Size} }

// beside says whether an instance would lie on no other.
func beside(model *nodes.Model, instances []nodes.Instance, p nodes.Profile, start int) bool {
	for _, in := range instances {
		if there, _ := model.Profile(in.Profile); start < in.Start+there.Size && in.Start < start+p.Size {
			return false
		}
	}
	return true
}

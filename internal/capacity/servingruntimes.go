package capacity

import (
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// unserved finds images whose ServingRuntime no cluster has as they need it. A cluster whose runtimes cannot be listed
// says nothing; of several that can, one that serves is enough.
func unserved(c catalog.Catalog, snapshots []inventory.Snapshot) []Finding {
	var findings []Finding
	for _, image := range c.Images {
		if image.Hidden || !image.OnServingRuntime() {
			continue
		}
		nearest, seen, serves := Finding{}, 0, false
		for _, s := range snapshots {
			if s.ServingRuntimes == nil {
				continue
			}
			seen++
			reason := runtimeReason(*s.ServingRuntimes, *image.Runtime)
			if reason.IsZero() {
				serves = true
				break
			}
			nearest = Finding{Kind: Unserved, Cluster: s.Cluster, Image: image.Name, Resource: image.Runtime.ServingRuntime,
				Reason: reason}
		}
		if seen == 0 || serves {
			continue
		}
		if seen > 1 {
			nearest.Cluster = ""
		}
		findings = append(findings, nearest)
	}
	return findings
}

// runtimeReason is why an image cannot be served by the runtime that it names, or not as its size says; zero where it
// can.
func runtimeReason(list []inventory.ServingRuntime, want catalog.Runtime) i18n.Text {
	i := slices.IndexFunc(list, func(r inventory.ServingRuntime) bool { return r.Name == want.ServingRuntime })
	switch {
	case i < 0:
		return i18n.T("capacity.runtime_absent", "Runtime", want.ServingRuntime)
	case list[i].Disabled:
		return i18n.T("capacity.runtime_disabled", "Runtime", want.ServingRuntime)
	case !slices.Contains(list[i].Formats, want.ModelFormat):
		return i18n.T("capacity.runtime_format", "Runtime", want.ServingRuntime, "Format", want.ModelFormat, "Formats",
			strings.Join(list[i].Formats, ", "))
	case len(list[i].Resources) > 0:
		return i18n.T("capacity.runtime_devices", "Runtime", want.ServingRuntime, "Resources",
			strings.Join(list[i].Resources, ", "))
	}
	return i18n.Text{}
}

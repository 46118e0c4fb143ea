package migmanager

import (
	"fmt"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
)

// configFile is the file of NVIDIA/mig-parted, version v1.
type configFile struct {
	Version string             `json:"version"`
	Configs map[string][]entry `json:"mig-configs"`
}

type entry struct {
	Devices any            `json:"devices"` // "all" or a list of indexes
	Filter  any            `json:"device-filter,omitempty"`
	Enabled bool           `json:"mig-enabled"`
	Cut     map[string]int `json:"mig-devices,omitempty"`
}

// Generated is the file that the GPU operator makes for a node: nothing, MIG on without instances, one layout for each
// profile, and the balanced one. A site's own layout of the node table is added.
func Generated(kind nodes.Kind) ([]byte, error) {
	m := kind.Model
	file := configFile{Version: "v1", Configs: map[string][]entry{
		"all-disabled": {{Devices: "all"}}, "all-enabled": {{Devices: "all", Enabled: true}},
	}}
	for _, p := range m.Profiles {
		name := "all-" + strings.ReplaceAll(p.Name, "+", ".")
		file.Configs[name] = []entry{{Devices: "all", Enabled: true, Cut: map[string]int{p.Name: p.Max}}}
	}
	if m.Profiles != nil {
		file.Configs["all-balanced"] = []entry{{Devices: "all", Enabled: true, Cut: count(nodes.Balanced(m))}}
	}
	if _, there := file.Configs[kind.MIGConfig]; !there && kind.MIGConfig != "" {
		for gpu, profiles := range kind.Cut {
			file.Configs[kind.MIGConfig] = append(file.Configs[kind.MIGConfig],
				entry{Devices: []int{gpu}, Enabled: profiles != nil, Cut: count(profiles)})
		}
	}
	return yaml.Marshal(file)
}

func count(profiles []string) map[string]int {
	counts := map[string]int{}
	for _, p := range profiles {
		counts[p]++
	}
	return counts
}

// layoutOf reads the layout that a config has under a name; device filters are taken as met.
func layoutOf(text []byte, name string, kind nodes.Kind) (nodes.Layout, error) {
	var file configFile
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("read the config: %w", err)
	}
	entries, ok := file.Configs[name]
	if !ok {
		return nil, fmt.Errorf("selected mig-config not present: %s", name)
	}
	layout := make(nodes.Layout, kind.GPUs)
	for _, e := range entries {
		for gpu := range kind.GPUs {
			if !e.names(gpu) {
				continue
			}
			layout[gpu] = nil
			if !e.Enabled {
				continue
			}
			placed, err := nodes.Place(kind.Model, e.profiles())
			if err != nil {
				return nil, fmt.Errorf("GPU %d: %w", gpu, err)
			}
			layout[gpu] = placed
		}
	}
	return layout, nil
}

func (e entry) names(gpu int) bool {
	list, ok := e.Devices.([]any)
	if !ok {
		return e.Devices == "all"
	}
	for _, index := range list {
		if fmt.Sprint(index) == fmt.Sprint(gpu) {
			return true
		}
	}
	return false
}

func (e entry) profiles() []string {
	var names []string
	for name, n := range e.Cut {
		for range n {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// offer writes the demo's catalog and lets the configuration name it: a size for each way of sharing a GPU. Sizes
// that need a scheduler which does not run here are hidden; an administrator sees them.
func offer(dir string) (func(config map[string]any), error) {
	c := catalog.EveryRow()
	c.Images = catalog.Default().Images
	for i, s := range c.Sizes {
		c.Sizes[i].Hidden, c.Sizes[i].Tenants = s.Placement.SchedulerName != "", []string{"lab"}
		for team, quota := range quotas {
			if quota[s.Name] > 0 {
				c.Sizes[i].Tenants = append(c.Sizes[i].Tenants, team)
			}
		}
		slices.Sort(c.Sizes[i].Tenants)
	}
	text, err := yaml.Marshal(c)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "catalog.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	var pools []any
	for _, p := range catalog.EveryPools() {
		pools = append(pools, map[string]any{"name": p.Name, "title": p.Title, "feature": p.Feature, "seats": 4})
	}
	return func(config map[string]any) {
		config["catalogFile"], config["licensePools"] = file, pools
		teams := config["tenants"].([]any)
		for _, t := range teams {
			team := t.(map[string]any)
			team["quota"] = quotas[team["name"].(string)]
		}
		namespace := strings.Replace(teams[0].(map[string]any)["namespace"].(string), "vision", "lab", 1)
		config["tenants"] = append(teams, map[string]any{"name": "lab", "title": "Lab", "namespace": namespace,
			"quota":  map[string]int{tenant.EverySize: 4},
			"groups": map[string]any{"developer": []string{"gpu-lab-developers"}}})
	}, nil
}

// quotas are what teams of this kind would have. The team lab has every size, for a look at all the technologies.
var quotas = map[string]map[string]int{
	"vision": {"cpu": 10, "mig-1g.10gb": 7, "mig-3g.40gb": 3, "l40s-shared": 4, "vgpu-12q": 3, "dra-40gb": 2, "h100": 2,
		"h100-4": 1},
	"speech": {"cpu": 4, "mig-1g.10gb": 2, "l40s-shared": 2, "l40s-mps": 2, "vgpu-10c": 2, "l4-spot": 2, "h100": 1},
}

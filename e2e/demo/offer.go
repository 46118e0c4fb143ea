package main

import (
	"os"
	"path/filepath"

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
		c.Sizes[i].Hidden = s.Placement.SchedulerName != ""
	}
	quota := map[string]int{"cpu": 10, "mig-1g.10gb": 7, "mig-3g.40gb": 3, "h100": 2, "vgpu-12q": 3, tenant.EverySize: 4}
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
		for _, t := range config["tenants"].([]any) {
			team := t.(map[string]any)
			if team["quota"] = quota; team["name"] != "vision" {
				team["quota"] = map[string]int{"cpu": 4, "mig-1g.10gb": 2, "l40s-shared": 2}
			}
		}
	}, nil
}

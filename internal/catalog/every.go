package catalog

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/license"
)

//go:embed every.yaml
var everyYAML []byte

// EveryPools are the license pools that EveryRow names.
func EveryPools() []license.Pool {
	return append(DefaultPools(), license.Pool{Name: "nvidia-ai-enterprise", Title: "NVIDIA AI Enterprise",
		Feature: "NVIDIA Virtual Compute Server"})
}

// EveryRow has a size for every technology that the portal renders. It is what tests and demonstrations walk over, and
// no offer of a site.
func EveryRow() Catalog {
	c, problems := Parse(everyYAML, EveryPools()...)
	if len(problems) > 0 {
		lines := make([]string, len(problems))
		for i, p := range problems {
			lines[i] = p.Error()
		}
		panic("catalog: every.yaml: " + strings.Join(lines, "; "))
	}
	return c
}

// EveryRowYAML is EveryRow as YAML.
func EveryRowYAML() []byte { return slices.Clone(everyYAML) }

package app

import (
	"errors"
	"fmt"
	"os"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// newSite puts together what the services decide by. All problems are in one error.
func newSite(c config.Config) (request.Site, error) {
	cat, err := loadCatalog(c)
	if err != nil {
		return request.Site{}, err
	}
	var problems []error
	for _, t := range c.Tenants {
		for size := range t.Quota {
			if _, ok := cat.Size(size); !ok {
				problems = append(problems, fmt.Errorf("tenants %s: quota names the size %q, which the catalogue does not have", t.Name, size))
			}
		}
	}
	rules, bad := policy.Compile(c.Rules)
	problems = append(problems, bad...)
	clusters := make([]string, len(c.Clusters))
	for i, k := range c.Clusters {
		clusters[i] = k.Name
	}
	return request.Site{
		Catalog: cat, Directory: tenant.Directory{Tenants: c.Tenants, Platform: c.Platform}, Policy: rules, Pools: c.LicencePools,
		Clusters: clusters, Limits: c.Limits,
	}, errors.Join(problems...)
}

func loadCatalog(c config.Config) (catalog.Catalog, error) {
	if c.CatalogFile == "" {
		return catalog.Default(), nil
	}
	data, err := os.ReadFile(c.CatalogFile)
	if err != nil {
		return catalog.Catalog{}, fmt.Errorf("catalogFile: %w", err)
	}
	cat, found := catalog.Parse(data, c.LicencePools...)
	var problems []error
	for _, p := range found {
		problems = append(problems, fmt.Errorf("%s: %s", c.CatalogFile, p))
	}
	return cat, errors.Join(problems...)
}

// limits lets workload.Service ask what a team may hold.
type limits struct{ site func() request.Site }

func (l limits) QuotaLimit(name, size string) int {
	t, _ := l.site().Directory.ByName(name)
	return t.Quota[size]
}

func (l limits) Pools() []license.Pool { return l.site().Pools }

func (l limits) TenantDisabled(name string) bool {
	t, ok := l.site().Directory.ByName(name)
	return !ok || t.Disabled
}

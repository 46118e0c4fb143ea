package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// TenantAccess is, as YAML, what gives the portal its rights in a tenant's namespace on a cluster: the namespace with
// the labels by which the portal knows it, and the RoleBindings. cluster may be "" where there is one.
func TenantAccess(ctx context.Context, c config.Config, name, cluster string) (string, error) {
	k, err := clusterNamed(c, cluster)
	if err != nil {
		return "", err
	}
	if err := k.Access.Check(); err != nil {
		return "", fmt.Errorf("clusters %s: access.%w", k.Name, err)
	}
	if k.Access.Role == "" {
		return "", fmt.Errorf("clusters %s: access.role is not set, so there is nothing to bind", k.Name)
	}
	t, err := tenantNamed(ctx, c, name)
	if err != nil {
		return "", err
	}
	if problem := c.NamespaceRule().Problem(t.NamespaceName()); !problem.IsZero() {
		return "", fmt.Errorf("tenant %s: its namespace %s cannot be a tenant's: it is reserved, the portal's own, or none "+
			"of tenantNamespaces", name, t.NamespaceName())
	}
	objects, err := kube.TenantAccess(t, kubeSite(c, k))
	if err != nil {
		return "", err
	}
	return kube.Manifest(objects)
}

func clusterNamed(c config.Config, name string) (config.Cluster, error) {
	if name == "" && len(c.Clusters) == 1 {
		return c.Clusters[0], nil
	}
	var names []string
	for _, k := range c.Clusters {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	if name == "" {
		return config.Cluster{}, fmt.Errorf("--cluster is needed: one of %s", strings.Join(names, ", "))
	}
	return config.Cluster{}, fmt.Errorf("there is no cluster %q, only: %s", name, strings.Join(names, ", "))
}

// tenantNamed looks into the configuration first: an administrator need not reach the database for what stands there.
func tenantNamed(ctx context.Context, c config.Config, name string) (tenant.Tenant, error) {
	first := tenant.Directory{Tenants: c.Tenants, Namespaces: c.NamespaceRule()}
	if t, ok := first.ByName(name); ok {
		return t, nil
	}
	st, err := OpenStore(ctx, c)
	if err != nil {
		return tenant.Tenant{}, fmt.Errorf("tenant %s is not in the configuration, and the database: %w", name, err)
	}
	saved, err := savedTenants(ctx, st, first)
	if err := errors.Join(err, st.Close()); err != nil {
		return tenant.Tenant{}, err
	}
	if t, ok := saved.ByName(name); ok {
		return t, nil
	}
	var names []string
	for _, t := range saved.Tenants {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return tenant.Tenant{}, fmt.Errorf("there is no tenant %q, only: %s", name, strings.Join(names, ", "))
}

func savedTenants(ctx context.Context, st tenant.Store, first tenant.Directory) (tenant.Directory, error) {
	s := tenant.NewService(tenant.Options{Store: st, Initial: first})
	err := s.Refresh(ctx)
	return s.Directory(), err
}

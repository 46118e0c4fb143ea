package app

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// rightsConfig is a site whose administrator binds.
func rightsConfig(t *testing.T) config.Config {
	return config.Config{Instance: "default", Database: "sqlite:" + filepath.Join(t.TempDir(), "portal.db"),
		TenantNamespaces: []string{"gpu-*"},
		Tenants:          []tenant.Tenant{{Name: "vision", Title: "Vision"}},
		Clusters: []config.Cluster{{Name: "main", GatewayNamespace: "gpu-portal",
			Access: kube.Access{Bindings: kube.BindAdmin,
				Role: "gpu-portal-tenant", Account: "system:serviceaccount:gpu-portal:gpu-portal-controller"}}}}
}

// TestTenantAccess: the namespace as the portal knows it, and one RoleBinding of the named role to the portal's
// account.
func TestTenantAccess(t *testing.T) {
	got, err := TenantAccess(t.Context(), rightsConfig(t), "vision", "")
	if err != nil {
		t.Fatal(err)
	}
	want := `apiVersion: v1
kind: Namespace
metadata:
  annotations:
    gpu-portal.github.io/instance: default
    gpu-portal.github.io/tenant: vision
  labels:
    app.kubernetes.io/component: tenant
    app.kubernetes.io/managed-by: gpu-portal
    app.kubernetes.io/part-of: gpu-portal
    gpu-portal.github.io/instance: default
    gpu-portal.github.io/tenant: vision
    pod-security.kubernetes.io/audit: restricted
    pod-security.kubernetes.io/audit-version: latest
    pod-security.kubernetes.io/enforce: restricted
    pod-security.kubernetes.io/enforce-version: latest
    pod-security.kubernetes.io/warn: restricted
    pod-security.kubernetes.io/warn-version: latest
  name: gpu-vision
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  annotations:
    gpu-portal.github.io/instance: default
    gpu-portal.github.io/tenant: vision
  labels:
    app.kubernetes.io/component: tenant
    app.kubernetes.io/managed-by: gpu-portal
    app.kubernetes.io/part-of: gpu-portal
    gpu-portal.github.io/instance: default
    gpu-portal.github.io/tenant: vision
  name: gpu-portal
  namespace: gpu-vision
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: gpu-portal-tenant
subjects:
- kind: ServiceAccount
  name: gpu-portal-controller
  namespace: gpu-portal
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTenantAccessFromTheDatabase: a tenant that an administrator made on a page.
func TestTenantAccessFromTheDatabase(t *testing.T) {
	c := rightsConfig(t)
	st, err := OpenStore(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	err = st.SaveTenant(t.Context(), tenant.Revision{Tenant: "speech", Version: 1, At: time.Now(),
		Saved: tenant.Saved{Namespace: "gpu-talk"}}, audit.By(identity.System(), audit.TenantSaved, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := TenantAccess(t.Context(), c, "speech", "main")
	if err != nil || !strings.Contains(got, "\n  namespace: gpu-talk\n") {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestTenantAccessIsRefused with what is missing.
func TestTenantAccessIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		tenant, cluster string
		change          func(*config.Config)
		want            string
	}{
		"no such tenant":  {"nobody", "", nil, "vision"},
		"no such cluster": {"vision", "far", nil, "main"},
		"which cluster": {"vision", "", func(c *config.Config) {
			c.Clusters = append(c.Clusters, config.Cluster{Name: "far"})
		}, "--cluster"},
		"nothing to bind": {"vision", "", func(c *config.Config) { c.Clusters[0].Access = kube.Access{} }, "access.role"},
		"no account":      {"vision", "", func(c *config.Config) { c.Clusters[0].Access.Account = "" }, "account"},
		"the portal's own": {"portal", "", func(c *config.Config) {
			c.Tenants = append(c.Tenants, tenant.Tenant{Name: "portal"})
		}, "gpu-portal"},
	} {
		t.Run(name, func(t *testing.T) {
			config := rightsConfig(t)
			if c.change != nil {
				c.change(&config)
			}
			if _, err := TenantAccess(t.Context(), config, c.tenant, c.cluster); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("want a problem with %s, got %v", c.want, err)
			}
		})
	}
}

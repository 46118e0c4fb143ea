package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gpu-portal/gpu-portal/internal/app"
)

// rbac is for sites where the portal may not bind its own rights (clusters[].access.bindings: admin).
func rbac(s *settings) *cobra.Command {
	var tenant, cluster string
	cmd := &cobra.Command{Use: "rbac", Args: cobra.NoArgs,
		Short: "Print the namespace of a tenant and the RoleBindings of the portal's rights in it, for kubectl apply",
		Long: "Print what an administrator applies for a tenant where the portal makes neither namespaces nor RoleBindings " +
			"(clusters[].access.bindings: admin): the namespace with the labels by which the portal knows it, and the " +
			"RoleBindings of the portal's ClusterRoles. Tenants come from the configuration, else from the database.",
		Example: "  portal rbac --config portal.yaml --tenant vision | kubectl apply -f -",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if tenant == "" {
				return errors.New("--tenant is needed: the name of the tenant")
			}
			c, err := s.loadDatabase()
			if err != nil {
				return err
			}
			text, err := app.TenantAccess(cmd.Context(), c, tenant, cluster)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		}}
	cmd.Flags().StringVar(&tenant, "tenant", "", "name of the tenant")
	cmd.Flags().StringVar(&cluster, "cluster", "", "name of the cluster (needed where there are several)")
	return cmd
}

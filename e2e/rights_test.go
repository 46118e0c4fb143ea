package e2e

import (
	"fmt"
	"slices"
	"strings"

	objects "github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
)

// accounts are the service accounts of the portals of this run. Each has the rights that the chart renders.
var accounts []string

// onlyOwnRights reads in the API server's audit log what the portals were refused: nothing may be. It gives the exit
// code. What is granted and was not used is told; the tests of the controller use each verb.
func onlyOwnRights() int {
	calls, err := reconciletest.Calls(world.AuditLog, accounts...)
	if err != nil || len(calls) == 0 {
		fmt.Printf("e2e: %d calls of %v in the audit log, %v\n", len(calls), accounts, err)
		return 1
	}
	rights := reconcile.RightsFor(objects.Access{Bindings: objects.BindSelf, Role: "tenant"})
	unused := reconciletest.Unused(slices.Concat(rights.Cluster, rights.Tenant), calls)
	fmt.Printf("%d calls of the portals; granted and not used by these stories: %s\n", len(calls),
		strings.Join(unused, ", "))
	refused := reconciletest.Refused(calls)
	for _, call := range refused {
		fmt.Println("refused:", call)
	}
	return min(1, len(refused))
}

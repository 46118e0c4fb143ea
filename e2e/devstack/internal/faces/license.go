package faces

import (
	"net/http"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

// LicenseSeats is how many the site has bought.
const LicenseSeats = 6

// license answers as the public part of NVIDIA's cloud licence service: GET /v1/org/{org}/virtual-groups and the licence
// servers of a group, with a key in X-API-KEY. A lease is taken by every vGPU of a node that runs, for it is the
// virtual machine that takes it, not the pod.
func license(cluster *world.Cluster) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/org/{org}/virtual-groups", func(w http.ResponseWriter, r *http.Request) {
		used := leases(cluster)
		feature := map[string]any{
			"featureName": "NVIDIA Virtual Compute Server", "featureVersion": "10.0", "productFamily": "NVIDIA AI Enterprise",
			"productName": "NVIDIA AI Enterprise", "licenseType": "CONCURRENT_COUNTED_SINGLE", "startDate": "2026-01-01T00:00:00Z",
			"endDate": "2027-12-31T00:00:00Z", "totalQuantity": LicenseSeats, "inUseQuantity": used,
			"unassignedQuantity": max(0, LicenseSeats-used), "overagePercent": 0,
		}
		sendJSON(w, map[string]any{
			"virtualGroups": []any{map[string]any{
				"id": 1, "name": "devstack", "orgName": r.PathValue("org"),
				"entitlements": []any{map[string]any{"entitlementProductKeys": []any{map[string]any{"entitlementFeatures": []any{feature}}}}},
			}},
			"paginationInfo": map[string]int{"totalPages": 1, "totalElements": 1, "pageNumber": 0, "pageSize": 10},
		})
	})
	mux.HandleFunc("GET /v1/org/{org}/virtual-groups/{group}/license-servers", func(w http.ResponseWriter, _ *http.Request) {
		sendJSON(w, map[string]any{"licenseServers": []any{map[string]any{
			"id": "devstack-dls", "name": "devstack", "status": "ENABLED", "virtualGroupId": 1, "virtualGroupName": "devstack",
			"deployedOn": "DLS", "leasingMode": "STANDARD_NETWORKED_LICENSING", "serviceInstanceId": "devstack",
			"licenseServerFeatures": []any{map[string]any{"id": "vcs", "featureName": "NVIDIA Virtual Compute Server",
				"productName": "NVIDIA AI Enterprise", "licenseType": "CONCURRENT_COUNTED_SINGLE", "totalQuantity": LicenseSeats}},
		}}})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-API-KEY") == "" {
			http.Error(w, `{"message":"Unauthorized"}`, http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func leases(cluster *world.Cluster) int {
	used := 0
	for _, node := range cluster.Nodes() {
		kind, _, err := nodes.Read(node)
		if err == nil && kind.VGPU && node.Annotations[nodes.FailedAnnotation] == "" {
			used += kind.GPUs
		}
	}
	return used
}

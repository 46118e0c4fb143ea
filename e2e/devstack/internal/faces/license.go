package faces

import (
	"net/http"
	"strconv"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/gpus"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

// LicenseSeats is how many the site has bought.
const LicenseSeats = 6

// How the stub behaves is chosen by the organization that is asked for; any other name gets sound answers.
const (
	expiredOrg  = "lic-expired"  // everything that was bought has ended
	brokenOrg   = "lic-broken"   // 503
	nonsenseOrg = "lic-nonsense" // a sign-in page with status 200
	deniedOrg   = "lic-denied"   // 401 whatever the key
	smallOrg    = "lic-small"    // bought two seats of each only
)

// license answers as the public part of NVIDIA's cloud license service: GET /v1/org/{org}/virtual-groups in pages, and
// the license servers of a group, with a key in X-API-KEY. A lease is taken by every vGPU of a node that runs, for it
// is the virtual machine that takes it, not the pod; the nodes' vGPUs are of the Q series, which NVIDIA licenses as
// workstations.
func license(cluster *world.Cluster) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/org/{org}/virtual-groups", func(w http.ResponseWriter, r *http.Request) {
		org := r.PathValue("org")
		switch org {
		case brokenOrg:
			http.Error(w, "out of order", http.StatusServiceUnavailable)
			return
		case nonsenseOrg:
			_, _ = w.Write([]byte("<html>Sign in</html>"))
			return
		case deniedOrg:
			http.Error(w, `{"message":"Unauthorized"}`, http.StatusUnauthorized)
			return
		}
		end := "2027-12-31T00:00:00Z"
		if org == expiredOrg {
			end = "2026-02-01T00:00:00Z"
		}
		seats := LicenseSeats
		if org == smallOrg {
			seats = 2
		}
		groups := []any{virtualGroup(1, org, "NVIDIA Virtual Compute Server", end, seats, 0),
			virtualGroup(2, org, "NVIDIA RTX Virtual Workstation", end, seats, min(seats, leases(cluster)))}
		number, _ := strconv.Atoi(r.URL.Query().Get("page-number"))
		const size = 1 // one group a page, whatever is asked for: whoever asks has to turn it
		from, until := min(max(number, 0)*size, len(groups)), min((max(number, 0)+1)*size, len(groups))
		sendJSON(w, map[string]any{"virtualGroups": groups[from:until],
			"paginationInfo": map[string]int{"totalPages": len(groups), "totalElements": len(groups), "pageNumber": number,
				"pageSize": size}})
	})
	mux.HandleFunc("GET /v1/org/{org}/virtual-groups/{group}/license-servers",
		func(w http.ResponseWriter, _ *http.Request) {
			sendJSON(w, map[string]any{"licenseServers": []any{map[string]any{
				"id": "devstack-dls", "name": "devstack", "status": "ENABLED", "virtualGroupId": 1, "virtualGroupName": "devstack",
				"deployedOn": "DLS", "leasingMode": "STANDARD_NETWORKED_LICENSING", "serviceInstanceId": "devstack",
				"licenseServerFeatures": []any{map[string]any{"id": "vcs", "featureName": "NVIDIA Virtual Compute Server",
					"productName": "NVIDIA AI Enterprise", "licenseType": "CONCURRENT_COUNTED_SINGLE", "totalQuantity": LicenseSeats}},
			}}})
		})
	mux.HandleFunc("GET /v1/org/{org}/virtual-groups/{group}/leases", func(w http.ResponseWriter, r *http.Request) {
		clients := []any{}
		if r.PathValue("group") == "2" {
			clients = holders(cluster)
		}
		sendJSON(w, map[string]any{"clients": clients})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-API-KEY") == "" {
			http.Error(w, `{"message":"Unauthorized"}`, http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// virtualGroup is one with one entitlement.
func virtualGroup(id int, org, feature, end string, total, used int) map[string]any {
	return map[string]any{"id": id, "name": "devstack-" + strconv.Itoa(id), "orgName": org,
		"entitlements": []any{map[string]any{"entitlementProductKeys": []any{
			map[string]any{"entitlementFeatures": []any{map[string]any{
				"featureName": feature, "featureVersion": "10.0", "productFamily": "vGPU", "productName": feature,
				"licenseType": "CONCURRENT_COUNTED_SINGLE",
				"startDate":   "2026-01-01T00:00:00Z", "endDate": end, "totalQuantity": total, "inUseQuantity": used,
				"unassignedQuantity": max(0, total-used), "overagePercent": 0}}}}}}}
}

// holders are the machines with leases, as a public exporter of the cloud license service reads them; where the host
// name stands is a guess.
func holders(cluster *world.Cluster) []any {
	list := []any{}
	for _, node := range cluster.Nodes() {
		kind, _, err := nodes.Read(node)
		if err != nil || !kind.VGPU || node.Annotations[nodes.FailedAnnotation] != "" || !gpus.Licensed(node) {
			continue
		}
		var held []any
		for gpu := range kind.GPUs {
			held = append(held, map[string]any{"leaseId": node.Name + "-" + strconv.Itoa(gpu),
				"featureName": "NVIDIA RTX Virtual Workstation", "leaseCount": 1})
		}
		list = append(list, map[string]any{"hostname": node.Name, "leases": held})
	}
	return list
}

func leases(cluster *world.Cluster) int {
	used := 0
	for _, node := range cluster.Nodes() {
		kind, _, err := nodes.Read(node)
		if err == nil && kind.VGPU && node.Annotations[nodes.FailedAnnotation] == "" && gpus.Licensed(node) {
			used += kind.GPUs
		}
	}
	return used
}

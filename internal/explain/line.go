package explain

import "github.com/gpu-portal/gpu-portal/internal/i18n"

// inLine are the causes that end when others release what they hold, or when the cluster has grown: nobody has to act.
var inLine = map[string]bool{
	"explain.searching": true, "explain.queued": true, "explain.in_use": true, "explain.in_use_unknown": true,
	"explain.other_in_use": true, "explain.node_full": true, "explain.nodes_full": true, "explain.making_room": true,
	"explain.node_coming": true, "explain.card_memory": true, "explain.card_compute": true, "explain.claim_in_use": true,
}

// InLine reports whether a workload that waits for this reason starts by itself, so that its wait is no fault.
func InLine(reason i18n.Text) bool { return inLine[reason.ID] }

// Package agentreport reads what the node agents of a cluster say, and believes them only as far as they can know.
//
// The way of the data: the API server lists the agents' pods (Pods), each with the node that it is bound to -> every
// round asks each pod for /v1/report, bounded in number, size and time -> take checks that the report is of this node
// and of now -> Cards for the inventory, Devices for the licenses.
//
// An agent may be old, stuck, taken over, or somebody else's pod under the right label. So a report counts for the node
// on which the API server says that the pod runs and for no other; one that names another node is thrown away; what is
// older than Stale is unknown again; and nothing here changes what the API server says of capacity. What an agent can
// do at worst is to draw its own cards wrongly and to say that its own vGPUs lack their license.
package agentreport

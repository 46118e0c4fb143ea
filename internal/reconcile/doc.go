// Package reconcile keeps the clusters as the database wants them, and tells the database what they are. It is the only
// package that writes to a cluster.
//
// The path of data, for one workload (loop.go):
//
//	Store.Workload         the spec, read afresh each time
//	tenants.go             the tenant's namespace and rules, before anything is put into it
//	wanted.go              kube.Objects, with a hash on each object (object.go)
//	diff.go                Diff(spec, what the caches hold) -> steps; owned.go finds what others have changed
//	apply.go               server-side apply, deletion by UID and version; nothing foreign is touched
//	observe.go, explain.go from the caches to one Observation
//	workload.Advance, EndLease, usage.Meter, Store.SaveObserved
//
// Before anything of that, a cluster is compared with the database (gate.go, differences.go): one that carries more
// than the database knows is held until an administrator has decided; checkpoint.go leaves in the cluster what tells.
//
// Each cluster has a loop of its own with caches (cluster.go, slim.go), a queue of workload ids and workers;
// controller.go holds them together. What is ours is watched namespace by namespace (namespaced.go, source.go), since
// the portal's rights on it end there (rights.go); access.go makes the namespace and binds the rights, or says what an
// administrator has to. A namespace without rights costs its tenant and nobody else. A workload is due when its row
// changed (outbox), when something of it changed in the cluster (seen.go), at a time of its own (a lease that ends),
// and in the periodic comparison. Nothing depends on having seen an event: each pass starts from the row and the
// caches, so it can be killed anywhere.
//
// The fields that carry security are what was rendered (drift_fields.go): drift.go compares the live object with the
// rendered one, repair.go takes additions back by path, which server-side apply leaves alone, and edits.go tells it,
// with the field manager that made them. What the API server's answer shows again is the platform's own and is kept.
// spoof.go looks for objects that carry the portal's labels and are not the portal's.
//
// Beside the workloads: inventory.go saves snapshots, activity.go asks notebooks what they do, volumes.go removes
// deleted storage, quota.go wakes what the quota had refused, status.go says whether a cluster answers. While it does
// not, nothing is concluded from the caches: observations keep their time, meters stay as they are, and specs wait.
//
// Claims for devices take an API that not every cluster serves (kinds.go, cluster.go): where it is absent everything
// else goes on, and a workload that needs it says so. A changed claim is an object of another name, for Kubernetes does
// not let one be changed; the old one goes after the pod has.
//
// So does an InferenceService, and where the settings do not say that there is KServe nobody asks for it. KServe makes
// a Deployment of it, which carries our labels and our record: kserve.go finds it, so that its pods count, and keeps it
// from being taken for one of ours or for a spoofed one.
//
// Where a gateway of the site carries the calls of programs, an endpoint has an HTTPRoute and an InferencePool besides
// (route.go), which go when the setting does; its pods are made without a token then, and keep what they were made
// with.
//
// Who leads is decided outside: Run is called by the one controller that does. Two at once, one of which was asleep or
// has caches that lag behind, would be harmless though untidy: rows carry a version, an update replaces only what was
// seen (apply.go), change and deletion read the row again, what was seen to hold a GPU is asked of the API server
// before it is taken back (confirm.go), the meter asks the database before it moves, and what is made after the end is
// removed.
package reconcile

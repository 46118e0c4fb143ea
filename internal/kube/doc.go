// Package kube turns what was approved into Kubernetes objects: (workload, tenant, site) in, typed objects out. It
// holds no client and no clock, and the same input always gives the same objects, byte for byte.
//
// The path of data: Objects renders a workload (objects.go: Secret, storage, StatefulSet or Deployment, Service;
// kserve.go: an InferenceService in place of a Deployment; jobset.go: a JobSet in place of a Job;
// leaderworkerset.go: a group of pods in place of one;
// modelgateway.go: the routes by which a gateway of the site carries an endpoint's calls (ModelGateway); kuadrant.go:
// the policies of Kuadrant that guard them;
// pod.go: the pod inside; claim.go: what it claims of devices), TenantObjects the namespace that it runs in (tenant.go:
// Pod Security, quota, network policies, an account without token). owner.go writes on every object whose it is, and
// reads it back; spec.go what a row of the database can be rebuilt from after a restore. manifest.go writes objects as
// YAML for people, with secrets masked.
//
// Nothing here is built from text that a person typed: names come from the workload's checked name, everything else
// from the catalog. Reading the cluster, comparing and applying belong to package reconcile.
package kube

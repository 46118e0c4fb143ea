// Package autoscale decides how many replicas an endpoint has: the policy that its owner sets, and Decide, which makes
// a number of what was measured. It is pure: values in, values out.
//
// The rules are those of Kubernetes' HorizontalPodAutoscaler: enough replicas that each has the target or less, nothing
// within a tolerance of a tenth, up at once, down only to the most that was needed in all of the stabilization window.
// What was not measured never takes a replica away. Nobody sleeps (0 replicas) but after a time without any request.
//
// Who measures and who carries out: package scaler.
package autoscale

// Package stages holds what KWOK plays for nodes and pods: ready nodes, pods that run after a second, jobs that end,
// images that cannot be pulled and programs that crash.
package stages

import _ "embed"

// YAML is the list of KWOK stages (kwok.x-k8s.io/v1alpha1).
//
//go:embed stages.yaml
var YAML []byte

// Package nodes is the table of fake nodes: which hardware each kind of node has, and how it looks in Kubernetes.
//
// The path of data: Kinds (what is bought and configured) -> Devices (what the device plugin advertises: physical GPUs,
// MIG instances, replicas) -> Labels and Resources (what GPU feature discovery, node feature discovery, the GPU
// operator and the device plugin would write) -> Build (the Node object). Read goes back from a Node object to its Kind
// and layout, so that the simulators need nothing but the API.
//
// Sources: labels as written by NVIDIA/k8s-device-plugin v0.20.0 (internal/lm, internal/rm), NVIDIA/mig-parted v0.15.0
// and NVIDIA/gpu-operator v26.7.0; MIG geometry from the MIG User Guide's table of supported profiles. Numbers that are
// guesses say so.
package nodes

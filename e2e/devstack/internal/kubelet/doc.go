// Package kubelet answers the API server as the kubelets of the fake nodes would: the logs of containers that KWOK does
// not run, and commands in them. The API server reaches it by the address and the port that each node names in its
// status, over TLS.
//
// Source of paths, parameters and refusals: pkg/kubelet/server and kubelet_pods.go (validateContainerLogStatus) of
// Kubernetes 1.36. The streams of a command are those of k8s.io/cri-streaming, by which container runtimes serve them;
// the shell in the container is a fake.
package kubelet

// Package secret keeps what programs in workloads need to prove who they are elsewhere: keys of object storage, git
// credentials, tokens of model hubs, and variables and files of one's own.
//
// kinds.go knows the kinds: the fields that each takes, and the variables and files that a workload has of it. seal.go
// encrypts what was typed; only sealed texts are stored, and nothing gives a value back to a person. service.go is the
// shell: people make, replace and delete, the controller asks for the values of one workload (Values), the reader of
// logs for what it has to mask (Hidden).
//
// A secret is of one person or of one team. One's own is used in one's own workloads alone, and stays behind when a
// workload is handed over.
package secret

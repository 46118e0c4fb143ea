// Package sizing proposes sizes to people who do not know which one to take. Propose is a pure function: what the work
// is, how much GPU memory it needs, who else is on the card and for how long, together with what is on offer and free
// now, give a ranked list in which every proposal says why it is there.
//
// The path of data: Answers -> Estimate (memory.go: how much GPU memory, by a formula that is shown with its numbers)
// -> rules (rules.go: which sizes will not do, which will do better) -> Advice.
//
// The rules are those that the field agrees on: large training takes whole cards and never a share, hard isolation
// between tenants is MIG or a whole card, virtual machines take vGPUs, trusted small jobs may share by MPS, and
// time-slicing is for trying things out. What a person may have is not decided here (request does); a size that cannot
// be had now stays in the list behind the others, with its reason.
package sizing

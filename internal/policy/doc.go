// Package policy decides requests by the administrator's rules: an ordered list, each Rule a CEL expression over typed
// Facts with an Outcome (allow, approve, refuse) and, for approve, the Steps of approvers. The first rule whose
// expression is true decides, and its name is shown to the person. A rule that fails to evaluate needs an approval: it
// never allows.
//
// The path of data: YAML -> Parse (parse.go) -> Compile type-checks the CEL -> Policy.Decide(Facts) -> Verdict
// (policy.go) -> steps.go says whose consent is still missing. condition.go and write.go turn a form into a rule and
// back. All of that is pure. Service (service.go) keeps the revisions: save, revert, and reload when another replica
// has saved.
package policy

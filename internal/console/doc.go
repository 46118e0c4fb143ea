// Package console lets the OpenShift console (4.22 and newer) show pages of the portal. It answers on a listener of its
// own, which only the console's proxy calls:
//
//	/console-plugin/…  files of the plugin: manifest, script, styles, texts (plugin.go)
//	anything else      the page of the portal under that path, as a fragment (console.go)
//
// The path of a page: the console's proxy adds the reader's token of the cluster (authorization: UserToken) -> Reviewer
// asks the API server whose it is (review.go) -> package clusteruser says which person of the sign-in provider that is
// -> the portal's own handler draws the page for them, without masthead and navigation (layout.Fragment). No cookie is
// read or set: what was just done, and redirects, travel in headers (answer.go).
//
// A form that another site sends never gets here with a token: the console asks for its own CSRF header first. The
// console passes Impersonate-User and its kin on as the page wrote them, so calls with one are refused.
package console

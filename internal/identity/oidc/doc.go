// Package oidc speaks with the sign-in provider: code flow with PKCE, state and nonce, over go-oidc and x/oauth2.
//
// The path of a sign-in: Begin gives the provider's address and a Flow (flow.go) -> Seal keeps the Flow in one
// short-lived cookie of the same browser (seal.go) -> the provider sends the browser back -> Open -> Finish (finish.go)
// checks state and issuer, trades the code, verifies the ID token, and person.go reads from its claims (claims.go) who
// that is and in which groups.
//
// Later Renew (renew.go) trades the refresh token of a sign-in for the person's groups as they are then;
// identity/renewal says when.
//
// The provider need not be up when the portal starts: its document is fetched when it is first needed (discover.go).
// While it is away sign-in fails closed with a plain sentence, Since says since when, and running sessions go on.
//
// Everything that the provider sends is bounded, and nothing but it is asked: no redirect is followed (calls.go), keys
// are fetched at most once in an interval (keys.go). What this package leaves to others: cookies and sessions (serve),
// and what a group means (tenant).
package oidc

// Package oidctest is a working OpenID Connect provider over HTTP, for tests and for one machine. It signs people in by
// asking them who they are, so it must never stand where strangers reach it: redirects go to loopback hosts only.
//
// The path of a sign-in: authorize.go shows the people and makes a code; token.go turns code and PKCE verifier into
// tokens; sign.go writes the ID token; userinfo.go answers for the access token; logout.go ends it. Keys live in
// keys.go and can be kept in a file, so that a restart makes no token worthless, refresh tokens (offline.go) among
// them.
//
// LogoutToken and SendLogout tell a client that a session has ended (backchannel.go).
//
// Tests inject one fault at a time: Tamper changes the next ID tokens (tamper.go has the usual attacks), Metadata the
// discovery document, UserInfo the second source of claims, Fail the provider as a whole, RotateKeys the keys. Requests
// counts what was asked.
//
// It stands for a system that is not ours, so its pages are in English only and its words are not in internal/i18n.
package oidctest

// Package certified tries the portal's sign-in with the certified OpenID Connect provider of npm (oidc-provider), which
// provider.mjs starts with little beyond its defaults. Other providers are tried by their recorded metadata, see
// internal/identity/oidc/testdata/providers.
package certified

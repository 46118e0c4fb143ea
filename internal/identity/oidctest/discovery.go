package oidctest

import (
	"encoding/json"
	"net/http"
)

// discovery answers as OpenID Connect Discovery 1.0 section 4 asks.
func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	document := map[string]any{
		"issuer":                                         p.options.Issuer,
		"authorization_endpoint":                         p.endpoint(AuthorizePath),
		"token_endpoint":                                 p.endpoint(TokenPath),
		"userinfo_endpoint":                              p.endpoint(UserInfoPath),
		"jwks_uri":                                       p.endpoint(KeysPath),
		"end_session_endpoint":                           p.endpoint(LogoutPath),
		"response_types_supported":                       []string{"code"},
		"grant_types_supported":                          []string{"authorization_code", "refresh_token"},
		"subject_types_supported":                        []string{"public"},
		"id_token_signing_alg_values_supported":          []string{"RS256"},
		"token_endpoint_auth_methods_supported":          []string{"client_secret_basic", "client_secret_post"},
		"code_challenge_methods_supported":               []string{"S256"},
		"scopes_supported":                               []string{"openid", "profile", "email", "groups", "offline_access"},
		"claims_supported":                               []string{"sub", "name", "email", "email_verified", "groups", "sid"},
		"authorization_response_iss_parameter_supported": true, // RFC 9207
		"backchannel_logout_supported":                   true,
		"backchannel_logout_session_supported":           true,
	}
	p.mu.Lock()
	change := p.hooks.metadata
	p.mu.Unlock()
	if change != nil {
		change(document)
	}
	writeJSON(w, http.StatusOK, document)
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the reader has gone: nothing to be done
}

package oidc

import (
	"context"
	"net/url"
	"time"
)

const (
	logoutPatience = 2 * time.Second // leaving must not wait for a provider that is away
	maxHint        = 6000            // an address of more than 8 KB is refused by many servers
)

// LogoutURL is where the browser ends the provider's own session and comes back to (OpenID Connect RP-Initiated Logout
// 1.0); "" when the provider offers none or is away. The ID token says whose session it is; a very long one is left out
// and the provider may ask.
func (c *Client) LogoutURL(ctx context.Context, idToken, back string) string {
	ctx, cancel := context.WithTimeout(ctx, logoutPatience)
	defer cancel()
	f, err := c.discover(ctx)
	if err != nil || f.endURL == "" {
		return ""
	}
	u, err := url.Parse(f.endURL)
	if err != nil {
		return ""
	}
	q := u.Query()
	q.Set("post_logout_redirect_uri", back)
	q.Set("client_id", c.config.ClientID)
	if idToken != "" && len(idToken) <= maxHint {
		q.Set("id_token_hint", idToken)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

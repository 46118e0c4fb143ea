package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"

	"golang.org/x/oauth2"
)

// personal gives what is known of a person: the ID token's claims, and those that the provider tells at the userinfo
// endpoint only, which is the default for profile and e-mail with the code flow (OpenID Connect Core section 5.4), and
// where groups are that were too many for a token ("groups overage"). With groupsOnly nothing else is worth asking for.
// Unavailable when groups are needed and the provider does not answer.
func (c *Client) personal(ctx context.Context, f *found, known claims, subject string, token *oauth2.Token,
	groupsOnly bool) (claims, error) {
	_, groups := known[c.config.GroupsClaim]
	complete := groupsOnly || known.text("name") != "" && known.text("email") != ""
	if f.infoURL == "" || groups && complete {
		return known, nil
	}
	told, err := c.userInfo(ctx, f.infoURL, token)
	switch {
	case err != nil && groups: // name and address are for display, and come with the next sign-in
		return known, nil
	case err != nil:
		return nil, err
	case told.text("sub") != subject: // must not be used (section 5.3.2)
		return nil, errors.New("the userinfo endpoint told of another person")
	}
	return c.join(known, told), nil
}

// join adds to an ID token's claims what it does not have. An address is taken from one source with what that source
// says of it.
func (c *Client) join(known, told claims) claims {
	all := maps.Clone(known)
	if all == nil {
		all = claims{}
	}
	take := []string{"name", "preferred_username", c.config.GroupsClaim}
	if known.text("email") == "" {
		delete(all, "email_verified")
		take = append(take, "email", "email_verified")
	}
	for _, name := range take {
		if _, here := all[name]; !here && told[name] != nil {
			all[name] = told[name]
		}
	}
	return all
}

// userInfo reads the claims at the userinfo endpoint (OpenID Connect Core section 5.3), as JSON.
func (c *Client) userInfo(ctx context.Context, address string, token *oauth2.Token) (claims, error) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	ask, err := http.NewRequestWithContext(call, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("ask the userinfo endpoint: %w", err)
	}
	token.SetAuthHeader(ask)
	answer, err := c.http.Do(ask)
	if err != nil {
		if !lookedAway(ctx) {
			c.health.note(false)
		}
		return nil, unavailable(fmt.Errorf("ask the userinfo endpoint: %w", err), firstBackoff)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	switch {
	case answer.StatusCode >= http.StatusInternalServerError:
		c.health.note(false)
		return nil, unavailable(fmt.Errorf("ask the userinfo endpoint: the provider answers %s", answer.Status), firstBackoff)
	case err != nil:
		return nil, unavailable(fmt.Errorf("ask the userinfo endpoint: %w", err), firstBackoff)
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("ask the userinfo endpoint: the provider answers %s", answer.Status)
	}
	var all claims
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, fmt.Errorf("ask the userinfo endpoint: %w", short(err))
	}
	return all, nil
}

package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"golang.org/x/oauth2"
)

// groupsFromUserInfo asks where a provider keeps groups that are not in the token, by habit or because they were too
// many ("groups overage"). Unavailable when the provider does not answer; other errors mean that there are no groups to
// be read.
func (c *Client) groupsFromUserInfo(ctx context.Context, f *found, subject string,
	token *oauth2.Token) ([]string, error) {
	if f.infoURL == "" {
		return nil, errors.New("the token has no groups, and the provider has no other place for them")
	}
	all, err := c.userInfo(ctx, f.infoURL, token)
	if err != nil {
		return nil, err
	}
	if all.text("sub") != subject {
		return nil, errors.New("the provider told of another person's groups")
	}
	return groupsOf(all[c.config.GroupsClaim])
}

// userInfo reads the claims at the userinfo endpoint (OpenID Connect Core section 5.3), as JSON.
func (c *Client) userInfo(ctx context.Context, address string, token *oauth2.Token) (claims, error) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	ask, err := http.NewRequestWithContext(call, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("ask for the groups: %w", err)
	}
	token.SetAuthHeader(ask)
	answer, err := c.http.Do(ask)
	if err != nil {
		if !lookedAway(ctx) {
			c.health.note(false)
		}
		return nil, unavailable(fmt.Errorf("ask for the groups: %w", err), firstBackoff)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	switch {
	case answer.StatusCode >= http.StatusInternalServerError:
		c.health.note(false)
		return nil, unavailable(fmt.Errorf("ask for the groups: the provider answers %s", answer.Status), firstBackoff)
	case err != nil:
		return nil, unavailable(fmt.Errorf("ask for the groups: %w", err), firstBackoff)
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("ask for the groups: the provider answers %s", answer.Status)
	}
	var all claims
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, fmt.Errorf("ask for the groups: %w", short(err))
	}
	return all, nil
}

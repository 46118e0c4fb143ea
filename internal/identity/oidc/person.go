package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/oauth2"

	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// person reads who signed in: by issuer and subject; name and e-mail address are shown and identify nobody. Groups that
// cannot be read refuse the sign-in, for "no groups" would mean default rights.
func (c *Client) person(ctx context.Context, f *found, known claims, token *oauth2.Token) (identity.Person, error) {
	subject := known.text("sub")
	known, err := c.personal(ctx, f, known, subject, token, false)
	if err != nil {
		return identity.Person{}, asFault(err, "oidc.no_groups")
	}
	groups, err := groupsOf(known[c.config.GroupsClaim])
	if err != nil {
		return identity.Person{}, asFault(err, "oidc.no_groups")
	}
	p := identity.Person{ID: identity.NewPersonID(c.config.Issuer, subject), Issuer: c.config.Issuer, Subject: subject,
		Email: c.email(known), Groups: groups}
	for _, name := range []string{known.text("name"), known.text("preferred_username"), p.Email, subject} {
		if p.Name = display(name); p.Name != "" {
			break
		}
	}
	return p, nil
}

// display is a name fit to be shown: no control characters, none that turn the direction of the text around it, not
// endless.
func display(name string) string {
	const most = 200
	clean := strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, name))
	if runes := []rune(clean); len(runes) > most {
		return string(runes[:most])
	}
	return clean
}

// email is the address if the provider says that it is this person's, and if it is one address.
func (c *Client) email(known claims) string {
	address := known.text("email")
	at := strings.IndexByte(address, '@')
	if at < 1 || at == len(address)-1 || strings.Count(address, "@") != 1 || len(address) > 254 ||
		strings.ContainsFunc(address, func(r rune) bool {
			return r <= ' ' || unicode.IsControl(r) ||
				strings.ContainsRune(`<>",;:\`, r)
		}) {
		return ""
	}
	switch verified := string(known["email_verified"]); {
	case verified == "true":
		return address
	case verified == "false" || verified == `"false"`:
		return ""
	case c.config.AcceptUnverifiedEmail:
		return address
	}
	return ""
}

// maxGroups bounds what one person may bring.
const maxGroups = 2000

// groupsOf reads a string or a list of strings, exactly as written. Groups are only names here: what they mean is the
// site's to say.
func groupsOf(raw json.RawMessage) ([]string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, errors.New("the groups claim is missing")
	}
	groups := []string{}
	var many []*string
	var one string
	switch {
	case json.Unmarshal(raw, &one) == nil:
		groups = append(groups, one)
	case json.Unmarshal(raw, &many) == nil:
		for _, g := range many {
			if g == nil {
				return nil, errors.New("a group in the groups claim is null")
			}
			groups = append(groups, *g)
		}
	default:
		return nil, errors.New("the groups claim is neither text nor a list of texts")
	}
	if len(groups) > maxGroups {
		return nil, fmt.Errorf("%d groups are more than %d", len(groups), maxGroups)
	}
	for _, g := range groups {
		if g == "" || len(g) > 512 || strings.ContainsFunc(g, unicode.IsControl) {
			return nil, fmt.Errorf("the group %.40q has no usable name", g)
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups), nil
}

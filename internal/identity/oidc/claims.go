package oidc

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// claims is a token's content by exact name. Structs would not do: encoding/json also fills a field from "SUB" or
// "Groups".
type claims map[string]json.RawMessage

// text is a claim that is a string, "" for anything else.
func (c claims) text(name string) string {
	var s string
	if json.Unmarshal(c[name], &s) != nil {
		return ""
	}
	return s
}

// audience is aud: a string, or several.
func (c claims) audience() []string {
	var many []string
	if json.Unmarshal(c["aud"], &many) == nil {
		return many
	}
	if one := c.text("aud"); one != "" {
		return []string{one}
	}
	return nil
}

// when is a claim that is a time in seconds; ok is false when it is missing or no sensible number.
func (c claims) when(name string) (t time.Time, ok bool) {
	var seconds float64
	if len(c[name]) == 0 || string(c[name]) == "null" || json.Unmarshal(c[name], &seconds) != nil ||
		math.Abs(seconds) > 1e11 {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0), true
}

// bound says whether the token is of this sign-in: it carries its nonce.
func (c claims) bound(flow Flow) error {
	if flow.Nonce == "" || subtle.ConstantTimeCompare([]byte(c.text("nonce")), []byte(flow.Nonce)) != 1 {
		return errors.New("the nonce is another sign-in's, or missing")
	}
	return nil
}

// subject says whether the token names a person usably: 255 is the bound of the specification.
func (c claims) subject() error {
	if subject := c.text("sub"); subject == "" || len(subject) > 255 {
		return errors.New("no usable subject")
	}
	return nil
}

// check looks at what go-oidc leaves to its caller or is generous with: exact issuer and audience, whom the token was
// made for, and times, which may be off by leeway.
func (c claims) check(config Config, now time.Time) error {
	party, named := c.text("azp"), c["azp"] != nil
	switch {
	case c.text("iss") != config.Issuer:
		return fmt.Errorf("issued by %q", c.text("iss"))
	case !slices.Contains(c.audience(), config.ClientID):
		return errors.New("made for another audience")
	case (named || len(c.audience()) > 1) && party != config.ClientID:
		return fmt.Errorf("made for the client %q", party)
	}
	if expires, ok := c.when("exp"); !ok || expires.Before(now.Add(-leeway)) {
		return anotherTime{"expired"}
	}
	if issued, ok := c.when("iat"); !ok || issued.After(now.Add(leeway)) {
		return anotherTime{"issued in the future, or no time of issue"}
	}
	if begins, ok := c.when("nbf"); c["nbf"] != nil && (!ok || begins.After(now.Add(leeway))) {
		return anotherTime{"not valid yet"}
	}
	return nil
}

// anotherTime is the error of a token that does not count now. Of one that has just been issued it says that a clock is
// wrong.
type anotherTime struct{ what string }

func (e anotherTime) Error() string { return e.what }

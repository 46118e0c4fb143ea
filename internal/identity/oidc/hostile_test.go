package oidc

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/gpu-portal/gpu-portal/internal/untrusted/untrustedtest"
)

// TestAnyClaimsAreReadInTime walks claims as long as an answer of the provider may be.
func TestAnyClaimsAreReadInTime(t *testing.T) {
	t.Parallel()
	fill := func(head, piece, tail string) string {
		return head + strings.Repeat(piece, (maxAnswer-len(head)-len(tail))/len(piece)) + tail
	}
	for name, text := range map[string]string{
		"deep groups":    fill(`{"groups":`, "[", ""),
		"deep beside":    fill(`{"groups":["a"],"x":`, `{"a":`, ""),
		"many groups":    fill(`{"groups":[`, `"a",`, `"b"]}`),
		"a long name":    fill(`{"groups":["a"],"name":"`, "x", `"}`),
		"bidi":           fill(`{"groups":["a"],"name":"`, "\u202e", `"}`),
		"many audiences": fill(`{"aud":[`, `"a",`, `"b"]}`),
	} {
		untrustedtest.Within(t, name, func() {
			var c claims
			if json.Unmarshal([]byte(text), &c) != nil {
				return
			}
			if groups, err := groupsOf(c["groups"]); err == nil && len(groups) > maxGroups {
				t.Errorf("%s: %d groups", name, len(groups))
			}
			if n := len([]rune(display(c.text("name")))); n > 200 {
				t.Errorf("%s: a name of %d characters", name, n)
			}
			c.audience()
		})
	}
}

// FuzzClaims: whatever a provider says, a person that comes of it has a fit name, one address and bounded groups, and a
// token is never taken for another client's or beyond its time.
func FuzzClaims(f *testing.F) {
	f.Add(
		[]byte(`{"iss":"https://idp.test","aud":"portal","sub":"1","exp":1900000000,"iat":1763715600,"groups":["a","b"]}`))
	f.Add([]byte(`{"iss":"https://idp.test","aud":["portal","x"],"azp":"portal","sub":"1","exp":1e10,"groups":"a"}`))
	f.Add([]byte(`{"email":"a@b@c","email_verified":"true","name":"a\u202eb","groups":[null]}`))
	f.Add([]byte(`{"exp":-1e308,"iat":"1","nbf":null,"groups":{}}`))
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	client := &Client{config: Config{Issuer: "https://idp.test", ClientID: "portal", AcceptUnverifiedEmail: true}}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c claims
		if json.Unmarshal(data, &c) != nil {
			return
		}
		if c.check(client.config, now) == nil && (c.text("iss") != client.config.Issuer ||
			!slices.Contains(c.audience(), "portal") || c.text("sub") == "") {
			t.Errorf("taken: %s", data)
		}
		if groups, err := groupsOf(c["groups"]); err == nil && (len(groups) > maxGroups || slices.Contains(groups, "") ||
			!slices.IsSorted(groups)) {
			t.Errorf("groups %q", groups)
		}
		if name := display(c.text("name")); len([]rune(name)) > 200 || strings.ContainsFunc(name, unicode.IsControl) {
			t.Errorf("name %q", name)
		}
		if mail := client.email(c); mail != "" && (strings.Count(mail, "@") != 1 || strings.ContainsAny(mail, "\r\n,; ")) {
			t.Errorf("address %q", mail)
		}
	})
}

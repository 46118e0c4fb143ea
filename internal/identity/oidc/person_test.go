package oidc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidctest"
)

// T-OIDC-2: the account follows issuer and subject, whatever the e-mail address says.
func TestAccountIsIssuerAndSubject(t *testing.T) {
	w := newWorld(t)
	first, err := w.signIn(t)
	if err != nil {
		t.Fatal(err)
	}
	w.Tamper(oidctest.Set("sub", "another"))
	other, err := w.signIn(t)
	if err != nil {
		t.Fatal(err)
	}
	if first.ID == other.ID || first.Email != other.Email {
		t.Errorf("the same address with another subject: %s and %s", first.ID, other.ID)
	}
	w.Tamper(oidctest.Set("email", "new@example.test"))
	moved, err := w.signIn(t)
	if err != nil {
		t.Fatal(err)
	}
	if moved.ID != first.ID || moved.Email != "new@example.test" {
		t.Errorf("a new address must not make a new person: %s and %s", first.ID, moved.ID)
	}
	elsewhere := newWorld(t)
	same, err := elsewhere.signIn(t)
	if err != nil {
		t.Fatal(err)
	}
	if same.ID == first.ID {
		t.Error("the same subject at another issuer is the same person")
	}
}

// T-OIDC-2: an address that is not known to be this person's is not taken.
func TestEmailIsTakenOnlyWhenVerified(t *testing.T) {
	cases := map[string]struct {
		email, verified  string
		strict, accepted string
	}{
		"verified":               {"a@corp.test", `true`, "a@corp.test", "a@corp.test"},
		"not verified":           {"a@corp.test", `false`, "", ""},
		"not verified, as text":  {"a@corp.test", `"false"`, "", ""},
		"verified, as text":      {"a@corp.test", `"true"`, "", "a@corp.test"},
		"nothing is said":        {"a@corp.test", ``, "", "a@corp.test"},
		"null":                   {"a@corp.test", `null`, "", "a@corp.test"},
		"two signs":              {"a@evil.test@corp.test", `true`, "", ""},
		"no sign":                {"corp.test", `true`, "", ""},
		"nothing before":         {"@corp.test", `true`, "", ""},
		"nothing after":          {"a@", `true`, "", ""},
		"a line break":           {"a@corp.test\nBcc: b@evil.test", `true`, "", ""},
		"two addresses":          {"a@corp.test,b@evil.test", `true`, "", ""},
		"a name around":          {"<a@corp.test>", `true`, "", ""},
		"longer than an address": {strings.Repeat("a", 250) + "@corp.test", `true`, "", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			text, _ := json.Marshal(c.email)
			known := claims{"email": text}
			if c.verified != "" {
				known["email_verified"] = json.RawMessage(c.verified)
			}
			got := [2]string{(&Client{}).email(known), (&Client{config: Config{AcceptUnverifiedEmail: true}}).email(known)}
			if want := [2]string{c.strict, c.accepted}; want != got {
				t.Errorf("want %q, got %q", want, got)
			}
		})
	}
}

func TestNameIsFitToBeShown(t *testing.T) {
	cases := map[string]struct{ claims, want string }{
		"name":               {`{"name":"Mara Vogel","preferred_username":"mvo","sub":"1"}`, "Mara Vogel"},
		"no name":            {`{"preferred_username":"mvo","sub":"1"}`, "mvo"},
		"an empty name":      {`{"name":" \u0000","sub":"1"}`, "1"},
		"a name in capitals": {`{"NAME":"Admin","sub":"1"}`, "1"},
		"turned around":      {`{"name":"Mara\u202e nimda","sub":"1"}`, "Mara nimda"},
		"line breaks":        {`{"name":"Mara\r\nVogel","sub":"1"}`, "MaraVogel"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var known claims
			if err := json.Unmarshal([]byte(c.claims), &known); err != nil {
				t.Fatal(err)
			}
			known["groups"] = json.RawMessage(`[]`)
			p, err := (&Client{config: Config{GroupsClaim: "groups"}}).person(t.Context(), &found{}, known, nil)
			if err != nil || p.Name != c.want {
				t.Errorf("want %q, got %q, %v", c.want, p.Name, err)
			}
		})
	}
}

// T-OIDC-3: groups as the provider tells them, or no sign-in.
func TestGroups(t *testing.T) {
	many := make([]string, maxGroups)
	for i := range many {
		many[i] = fmt.Sprintf("group-%04d", i)
	}
	noInfo := func(claims map[string]any) { delete(claims, "groups") }
	cases := map[string]struct {
		tamper oidctest.Tamper
		info   func(map[string]any)
		want   []string // nil: refused
	}{
		"none":                    {oidctest.Set("groups", []string{}), nil, []string{}},
		"one":                     {oidctest.Set("groups", []string{"a"}), nil, []string{"a"}},
		"one as text":             {oidctest.Set("groups", "a,b"), nil, []string{"a,b"}},
		"two thousand":            {oidctest.Set("groups", many), nil, many},
		"one twice":               {oidctest.Set("groups", []string{"b", "a", "b"}), nil, []string{"a", "b"}},
		"named as a role of ours": {oidctest.Set("groups", []string{"admin", "owner"}), nil, []string{"admin", "owner"}},
		"more than two thousand":  {oidctest.Set("groups", append(slices.Clone(many), "x")), nil, nil},
		"null":                    {oidctest.Set("groups", nil), nil, nil},
		"a number":                {oidctest.Set("groups", 1), nil, nil},
		"an object":               {oidctest.Set("groups", map[string]bool{"admin": true}), nil, nil},
		"a number among names":    {oidctest.Set("groups", []any{"a", 1}), nil, nil},
		"null among names":        {oidctest.Set("groups", []any{"a", nil}), nil, nil},
		"an empty name":           {oidctest.Set("groups", []string{""}), nil, nil},
		"an empty text":           {oidctest.Set("groups", ""), nil, nil},
		"a line break in a name":  {oidctest.Set("groups", []string{"a\nb"}), nil, nil},
		"missing everywhere":      {oidctest.Drop("groups"), noInfo, nil},
		"in capitals only": {func(t *oidctest.Token) {
			t.Claims["Groups"] = []string{"admin"}
			delete(t.Claims, "groups")
		}, noInfo, nil},
		"at userinfo":                  {oidctest.Drop("groups"), nil, []string{"all-staff", "vision-developers"}},
		"too many, and at userinfo":    {oidctest.GroupsOverage, nil, []string{"all-staff", "vision-developers"}},
		"too many, and nowhere to ask": {oidctest.GroupsOverage, noInfo, nil},
		"of another person":            {oidctest.Drop("groups"), func(c map[string]any) { c["sub"] = "another" }, nil},
		"of nobody":                    {oidctest.Drop("groups"), func(c map[string]any) { delete(c, "sub") }, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Tamper(c.tamper)
			w.UserInfo(c.info)
			p, err := w.signIn(t)
			if c.want == nil {
				wantRefusal(t, err, fault.Forbidden, "oidc.no_groups")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, p.Groups); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGroupsFollowTheNextSignIn(t *testing.T) {
	w := newWorld(t)
	w.SetGroups("somebody", "only-this")
	p, err := w.signIn(t)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"only-this"}, p.Groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func TestAnotherGroupsClaim(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.GroupsClaim = "https://corp.example/roles" })
	w.Tamper(oidctest.Set("https://corp.example/roles", []string{"r"}))
	p, err := w.signIn(t)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"r"}, p.Groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

// "Cannot be read" and "is away" are different things: the second one passes.
func TestGroupsWhileUserInfoIsAway(t *testing.T) {
	w := newWorld(t)
	w.Tamper(oidctest.Drop("groups"))
	w.Fail(oidctest.Breaks, oidctest.UserInfoPath)
	_, err := w.signIn(t)
	wantRefusal(t, err, fault.Unavailable, "oidc.unavailable")
}

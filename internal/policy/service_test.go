package policy_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/store"
)

var pat = identity.Actor{Person: identity.Person{ID: "p-pat", Name: "Pat"}, Global: []identity.Role{identity.Admin},
	Via: identity.ViaSession}

// saved is a database with these texts as revisions 1 and up, as programs of another version may have written them.
func saved(t *testing.T, texts ...string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), "sqlite::memory:", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	add(t, s, texts...)
	return s
}

func add(t *testing.T, s *store.Store, texts ...string) {
	t.Helper()
	newest, err := s.LatestRules(t.Context())
	if err != nil && !fault.Is(err, fault.NotFound) {
		t.Fatal(err)
	}
	for i, text := range texts {
		if err := s.SaveRules(t.Context(), policy.Revision{Version: newest.Version + int64(i) + 1, Text: text,
			Author: "p-pat", AuthorName: "Pat", Note: i18n.Literal("n"), At: time.Unix(1_800_000_000, 0)}); err != nil {
			t.Fatal(err)
		}
	}
}

func serve(t *testing.T, s *store.Store) *policy.Service {
	t.Helper()
	first, problems := policy.Compile(policy.Defaults())
	if problems != nil {
		t.Fatal(problems)
	}
	service := policy.NewService(policy.Options{Store: s, Initial: first, Now: time.Now})
	if err := service.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return service
}

const (
	refuseAll = "- {name: closed, when: 'true', outcome: refuse}\n"
	allowAll  = "- {name: opened, when: 'true', outcome: allow}\n"
	tomorrow  = "- {name: later, when: 'request.carbon < 3.0', outcome: allow}\n" // of a program that knows more facts
)

// TestUnreadableRulesNeverOpenTheDoor: what was saved last and cannot be read leaves the decision to the newest saved
// revision that can, and without any to people; never to the configuration's rules, which by default allow slices.
func TestUnreadableRulesNeverOpenTheDoor(t *testing.T) {
	for name, c := range map[string]struct {
		texts   []string
		rule    string
		outcome policy.Outcome
		running int64
		none    bool
	}{
		"nothing saved":          {nil, "shares-and-slices", policy.Allow, 0, false},
		"the newest can be read": {[]string{tomorrow, refuseAll}, "closed", policy.Refuse, 2, false},
		"the one before decides": {[]string{allowAll, refuseAll, tomorrow}, "closed", policy.Refuse, 2, false},
		"one further back":       {[]string{refuseAll, tomorrow, tomorrow}, "closed", policy.Refuse, 1, false},
		"none":                   {[]string{tomorrow, tomorrow}, policy.UnreadableRule, policy.Approve, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			service := serve(t, saved(t, c.texts...))
			v := service.Policy().Decide(policy.Facts{Kind: "start", Share: 0.1, Hours: 1})
			now, err := service.Status(pat)
			if err != nil || v.Rule != c.rule || v.Outcome != c.outcome || now.Active.Version != c.running ||
				now.Unreadable != c.none {
				t.Errorf("want %s by %s of version %d, got %+v of %d, %v", c.outcome, c.rule, c.running, v,
					now.Active.Version, err)
			}
			if c.none && v.Sentence.ID != "policy.unreadable" {
				t.Errorf("want the reason said, got %v", v.Sentence)
			}
		})
	}
}

// TestRulesThatDecidedGoOn: a running program keeps what it has when another one saves what it cannot read, and takes
// up the next that it can.
func TestRulesThatDecidedGoOn(t *testing.T) {
	s := saved(t, refuseAll)
	service := serve(t, s)
	rule := func() string {
		if err := service.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		return service.Policy().Decide(policy.Facts{Kind: "start"}).Rule
	}
	add(t, s, tomorrow)
	if got := rule(); got != "closed" {
		t.Errorf("want the one before to go on, got %s", got)
	}
	add(t, s, allowAll)
	if got := rule(); got != "opened" {
		t.Errorf("want the next that can be read, got %s", got)
	}
}

func TestSavingRules(t *testing.T) {
	service := serve(t, saved(t, tomorrow))
	ctx := context.Background()
	if _, err := service.Save(ctx, pat, policy.Draft{Text: refuseAll, Base: 0}); !fault.Is(err, fault.Conflict) {
		t.Errorf("an older base: want a conflict, got %v", err)
	}
	if _, err := service.Save(ctx, pat, policy.Draft{Text: "- {}", Base: 1}); !fault.Is(err, fault.Invalid) {
		t.Errorf("no rules: want the problems, got %v", err)
	}
	dana := identity.Actor{Person: identity.Person{ID: "p-dana"}}
	if _, err := service.Save(ctx, dana, policy.Draft{Text: refuseAll, Base: 1}); !fault.Is(err, fault.NotFound) {
		t.Errorf("who may not read them: want not found, got %v", err)
	}
	r, err := service.Save(ctx, pat, policy.Draft{Text: refuseAll, Base: 1, Note: "for the night"})
	if err != nil || r.Version != 2 || service.Policy().Decide(policy.Facts{}).Rule != "closed" {
		t.Fatalf("want it saved and in force, got %+v %v", r, err)
	}
	if _, err := service.Save(ctx, pat, policy.Draft{Text: refuseAll, Base: 2}); !fault.Is(err, fault.Invalid) {
		t.Errorf("the same again: want it refused, got %v", err)
	}
	if _, err := service.Revert(ctx, pat, 1, 2); !fault.Is(err, fault.Invalid) {
		t.Errorf("back to what cannot be read: want the problems, got %v", err)
	}
	back, err := service.Revert(ctx, pat, 0, 2)
	if err != nil || back.Version != 3 || !strings.Contains(service.Policy().Rules()[0].Name, "several") {
		t.Errorf("want the configuration's as version 3, got %+v %v", back, err)
	}
}

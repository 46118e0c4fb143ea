package tenant

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/identity"
)

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, group string
		want           bool
	}{{"gpu", "gpu", true}, {"gpu", "GPU", false}, {"gpu", "gpus", false}, {"gpu-*", "gpu-", true},
		{"gpu-*", "agpu-x", false}, {"gpu-*-dev", "gpu-vision-dev", true}, {"gpu-*-dev", "gpu-dev", false},
		{"*-dev", "x-dev", true}, {"*-dev", "x-devs", false}, {"a*b*c", "a-b-b-c", true}, {"a*b*c", "acb", false},
		{"a*a", "a", false}, {"a.c", "abc", false}, {"ab*ba", "aba", false}} {
		if got := Matches(c.pattern, c.group); got != c.want {
			t.Errorf("%s, %s: want %v, got %v", c.pattern, c.group, c.want, got)
		}
	}
}

func TestRolesOfGroupsAndByHand(t *testing.T) {
	title := "Robots"
	d := compose(
		Directory{Tenants: []Tenant{{Name: "vision", Namespace: "seen",
			Groups: map[identity.Role][]string{identity.Developer: {"v-*"}}}}, Platform: Roles{identity.Admin: {"admins"}}},
		[]Revision{{Tenant: "robots", Saved: Saved{Title: &title}},
			{Tenant: "vision", Saved: Saved{Namespace: "stolen", Groups: map[identity.Role][]string{identity.Owner: {"own"}}}}},
		[]Member{{Tenant: "robots", Person: "p-1", Role: identity.Approver},
			{Tenant: "vision", Person: "p-1", Role: identity.Owner}, {Tenant: "vision", Person: "p-1",
				Role: identity.Developer}})
	many := []string{"own", "v-devs"}
	for i := range 2000 {
		many = append(many, fmt.Sprintf("group-%d", i))
	}
	for name, c := range map[string]struct {
		person identity.Person
		want   map[string][]identity.Role
	}{
		"nobody's groups": {identity.Person{ID: "p-2", Groups: []string{"vision", "own-x"}},
			map[string][]identity.Role{}},
		"2,000 groups": {identity.Person{ID: "p-2", Groups: many},
			map[string][]identity.Role{"vision": {identity.Developer, identity.Owner}}},
		"by hand": {identity.Person{ID: "p-1"},
			map[string][]identity.Role{"vision": {identity.Developer, identity.Owner}, "robots": {identity.Approver}}},
		"by hand and by group, each once": {identity.Person{ID: "p-1", Groups: []string{"v-x"}},
			map[string][]identity.Role{"vision": {identity.Developer, identity.Owner}, "robots": {identity.Approver}}},
	} {
		if diff := cmp.Diff(c.want, d.Actor(c.person, identity.ViaSession).Tenants); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if v, _ := d.ByName("vision"); v.NamespaceName() != "seen" {
		t.Errorf("the namespace of a team of the configuration moved to %s", v.NamespaceName())
	}
}

// TestManyActorsAreThoseOfEach: by a name, a pattern, a rule for all teams and by hand.
func TestManyActorsAreThoseOfEach(t *testing.T) {
	d := Directory{Named: Roles{identity.Owner: {"gpu-{team}-own"}}, Platform: Roles{identity.Auditor: {"audit"}},
		Tenants: []Tenant{{Name: "a", Groups: Roles{identity.Developer: {"a-dev", "all"}, identity.Owner: {"a-*"}}},
			{Name: "b", Groups: Roles{identity.Approver: {"all", "a-*-b"}}}, {Name: "c"}},
		Manual: map[identity.PersonID]map[string][]identity.Role{"p-3": {"c": {identity.Owner}, "gone": {identity.Owner}}},
		Granted: map[identity.PersonID]map[string][]identity.PersonID{
			"p-3": {identity.RolePrincipal(identity.Owner, "c"): {"p-1"}}}}
	people := []identity.Person{{ID: "p-1"}, {ID: "p-2", Groups: []string{"all", "a-x-b", "gpu-c-own", "gpu-gone-own"}},
		{ID: "p-3", Groups: []string{"a-dev", "audit"}}}
	var want []identity.Actor
	for _, p := range people {
		want = append(want, d.Actor(p, identity.ViaToken))
	}
	if diff := cmp.Diff(want, d.Actors(people, identity.ViaToken)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(want[1].Tenants) != 3 || len(want[2].Granted) != 1 {
		t.Errorf("want each way of getting a role, got %v", want)
	}
}

// TestWhatDiffersIsSaved: putting the difference over the configuration gives what was wanted.
func TestWhatDiffersIsSaved(t *testing.T) {
	first := Tenant{Name: "a", Title: "A", Groups: map[identity.Role][]string{identity.Owner: {"x"}},
		Quota: map[string]int{"cpu": 1, "gpu": 2}}
	for name, wanted := range map[string]Tenant{
		"nothing": first,
		"everything": {Name: "a", Title: "B", Groups: map[identity.Role][]string{identity.Owner: {},
			identity.Developer: {"y"}}, Quota: map[string]int{"cpu": 0, "gpu": 3, EverySize: 1}, Disabled: true,
			Defaults: Defaults{Size: "cpu"}},
		"title emptied": {Name: "a", Groups: first.Groups, Quota: first.Quota},
	} {
		if diff := cmp.Diff(wanted, differing(first, wanted).over(first)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDraftsThatAreRefused(t *testing.T) {
	d := Directory{Tenants: []Tenant{{Name: "vision", Quota: map[string]int{"gone": 1}}}}
	known := func(size string) bool { return size == "cpu" }
	for want, draft := range map[string]Draft{
		"": {Name: "robots", New: true, Quota: map[string]int{"cpu": 1, EverySize: 0},
			Groups: map[identity.Role][]string{identity.Owner: {"gpu-*"}}},
		"name":                 {Name: "Robots", New: true},
		"name taken":           {Name: "vision", New: true},
		"namespace":            {Name: "robots", Namespace: "kube-system", New: true},
		"namespace taken":      {Name: "robots", Namespace: "gpu-vision", New: true},
		"namespace spaced":     {Name: "robots", Namespace: "a b", New: true},
		"title":                {Name: "vision", Title: "a\nb"},
		"groups.owner":         {Name: "vision", Groups: map[identity.Role][]string{identity.Owner: {"**"}}},
		"groups.admin":         {Name: "vision", Groups: map[identity.Role][]string{identity.Admin: {"abc"}}},
		"quota.none":           {Name: "vision", Quota: map[string]int{"none": 1}},
		"quota.none@main":      {Name: "vision", Quota: map[string]int{"none@main": 1}},
		"quota.cpu@west":       {Name: "vision", Quota: map[string]int{"cpu@west": 1}},
		"quota.cpu@":           {Name: "vision", Quota: map[string]int{"cpu@": 1}},
		"quota.cpu@main below": {Name: "vision", Quota: map[string]int{"cpu@main": -1, "*@main": 0}},
		"quota.cpu below zero": {Name: "vision", Quota: map[string]int{"cpu": -1}},
	} {
		got := draft.check(d, known, []string{"main"})
		if (want == "") != (len(got) == 0) || want != "" && got[0].Name != firstWord(want) {
			t.Errorf("%s: got %v", want, got)
		}
	}
	if got := (Draft{Name: "vision", Quota: map[string]int{"gone": 0}}).check(d, known, []string{"main"}); len(got) > 0 {
		t.Errorf("a size that the team has, and the catalog has no more, cannot be kept: %v", got)
	}
}

func firstWord(text string) string {
	for i, r := range text {
		if r == ' ' {
			return text[:i]
		}
	}
	return text
}

func TestParseQuota(t *testing.T) {
	got, problem := ParseQuota("cpu: 3\r\n\n * : 0\nmig-1g.10gb:7")
	if diff := cmp.Diff(map[string]int{"cpu": 3, "*": 0, "mig-1g.10gb": 7}, got); diff != "" || problem != nil {
		t.Errorf("%v %s", problem, diff)
	}
	for _, text := range []string{"cpu", "cpu: x", ": 3", "a: 1\na: 2", "cpu: 1.5"} {
		if _, problem := ParseQuota(text); problem == nil {
			t.Errorf("%q was read", text)
		}
	}
}

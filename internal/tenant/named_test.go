package tenant

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/identity"
)

func TestGroupsThatNameATeam(t *testing.T) {
	d := Directory{Tenants: []Tenant{{Name: "vision", Groups: map[identity.Role][]string{identity.Developer: {"staff"}}},
		{Name: "owners"}, {Name: "a-b"}, {Name: strings.Repeat("x", maxName)}, {Name: "vision2"}},
		Named: Roles{identity.Owner: {"gpu-{team}-owners"}, identity.Developer: {"gpu-{team}-dev", "CN={team},OU=gpu"}}}
	var many []string
	for i := range 2000 {
		many = append(many, fmt.Sprintf("gpu-team-%d-owners", i))
	}
	owner, developer := []identity.Role{identity.Owner}, []identity.Role{identity.Developer}
	cases := map[string]struct {
		groups []string
		want   map[string][]identity.Role
	}{
		"an owner":               {[]string{"gpu-vision-owners"}, map[string][]identity.Role{"vision": owner}},
		"a directory's spelling": {[]string{"CN=a-b,OU=gpu"}, map[string][]identity.Role{"a-b": developer}},
		"beside the team's own groups, each once": {[]string{"staff", "gpu-vision-dev", "gpu-vision-owners"},
			map[string][]identity.Role{"vision": {identity.Developer, identity.Owner}}},
		"the longest name": {[]string{"gpu-" + strings.Repeat("x", maxName) + "-owners"},
			map[string][]identity.Role{strings.Repeat("x", maxName): owner}},
		"a team that there is not":            {[]string{"gpu-robots-owners"}, nil},
		"a team called as a part of the rule": {[]string{"gpu-owners-owners"}, map[string][]identity.Role{"owners": owner}},
		"nothing between":                     {[]string{"gpu--owners", "gpu-owners"}, nil},
		"a name that begins alike":            {[]string{"gpu-vision2-owners"}, map[string][]identity.Role{"vision2": owner}},
		"more around it": {[]string{"xgpu-vision-owners", "gpu-vision-owners ", "gpu-vision-owners-old"},
			nil},
		"another case": {[]string{"GPU-vision-owners", "gpu-Vision-owners", "gpu-VISION-owners"}, nil},
		"what is no name of a team": {[]string{"gpu-vis ion-owners", "gpu-*-owners", "gpu-{team}-owners",
			"gpu-../vision-owners", "gpu-vision\n-owners", "gpu-vísion-owners", "gpu--vision-owners", "gpu-vision--owners"},
			nil},
		"a name too long": {[]string{"gpu-" + strings.Repeat("x", maxName+1) + "-owners",
			"gpu-" + strings.Repeat("vision", 10_000) + "-owners"}, nil},
		"2,000 groups of other teams": {many, nil},
		"2,000 groups and one that counts": {append(many[:1999:1999], "gpu-a-b-owners"),
			map[string][]identity.Role{"a-b": owner}},
		"none": {nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := d.Actor(identity.Person{ID: "p-1", Groups: c.groups}, identity.ViaSession)
			if len(c.want)+len(got.Tenants) > 0 {
				if diff := cmp.Diff(c.want, got.Tenants); diff != "" {
					t.Error(diff)
				}
			}
			if len(got.Global) > 0 {
				t.Errorf("want no role of the platform, got %v", got.Global)
			}
			for team, roles := range got.Tenants {
				at, _ := d.ByName(team)
				for _, role := range roles {
					if group, ok := d.GroupFor(at, role, c.groups); !ok || group == "" {
						t.Errorf("want to know why somebody is %s of %s", role, team)
					}
				}
			}
		})
	}
	kept := compose(d, []Revision{{Tenant: "robots"}}, nil)
	if got := kept.Actor(identity.Person{ID: "p-1", Groups: []string{"gpu-robots-owners"}},
		identity.ViaSession); len(got.Tenants["robots"]) != 1 {
		t.Errorf("want the rules to count for a team that was made by hand, too: %v", got.Tenants)
	}
}

func TestRulesForAllTeamsNameOne(t *testing.T) {
	cases := map[string]bool{"gpu-{team}-owners": true, "CN={team},OU=gpu": true, "{team}-gpu": true, "gpu-owners": false,
		"{team}": false, "{team}-a": false, "gpu-{team}-{team}": false, "gpu-*-{team}": false, "": false,
		"gpu-{team}\x00\x01\x02": false, "gpu-{Team}-owners": false, strings.Repeat("x", maxGroup+1) + "{team}": false}
	for rule, fine := range cases {
		if err := NamedProblem(rule); (err == nil) != fine {
			t.Errorf("%q: got %v", rule, err)
		}
	}
}

func BenchmarkActorOf2000GroupsAnd200Teams(b *testing.B) {
	d := Directory{Named: Roles{identity.Owner: {"gpu-{team}-owners"}, identity.Developer: {"gpu-{team}-dev"}}}
	p := identity.Person{ID: "p-1"}
	for i := range 200 {
		d.Tenants = append(d.Tenants, Tenant{Name: fmt.Sprintf("team-%d", i)})
	}
	for i := range 2000 {
		p.Groups = append(p.Groups, fmt.Sprintf("gpu-team-%d-dev", i))
	}
	for b.Loop() {
		d.Actor(p, identity.ViaSession)
	}
}

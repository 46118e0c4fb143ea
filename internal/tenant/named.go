package tenant

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// TeamHole is where a rule for all teams has the name of one: "gpu-{team}-owners" gives gpu-vision-owners its role in
// the team vision.
const TeamHole = "{team}"

// NamedProblem says what is wrong with a rule for all teams; nil for nothing. It names exactly one team for a group, so
// there is one hole and no "*"; and it says more than the name, or whoever names groups would name teams.
func NamedProblem(rule string) error {
	around := strings.Replace(rule, TeamHole, "", 1)
	switch {
	case around == rule:
		return fmt.Errorf("%q has no %s, and would give its role in every team", rule, TeamHole)
	case strings.Contains(around, TeamHole) || strings.Contains(around, "*"):
		return fmt.Errorf("%q must name one team: with one %s, and without *", rule, TeamHole)
	case utf8.RuneCountInString(around) < fewLetters || !readable(around, maxGroup):
		return fmt.Errorf("%q must have at least %d characters, and none that cannot be seen, beside %s", rule, fewLetters,
			TeamHole)
	}
	return nil
}

// teamOf is the name that a group has in a rule's hole. What is no name that a team can have is none.
func teamOf(rule, group string) (team string, ok bool) {
	before, after, _ := strings.Cut(rule, TeamHole)
	team, ok = strings.CutPrefix(group, before)
	if !ok {
		return "", false
	}
	team, ok = strings.CutSuffix(team, after)
	return team, ok && Label(team, maxName)
}

// Rules are those by which groups give a role in a team, its own and those for all teams; "*" is any text.
func (d Directory) Rules(t Tenant) (rules []string) {
	for _, role := range MemberRoles {
		rules = append(rules, t.Groups[role]...)
		for _, rule := range d.Named[role] {
			rules = append(rules, strings.Replace(rule, TeamHole, t.Name, 1))
		}
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// named are the roles that groups give by the rules for all teams, by the name of the team, whether or not there is
// one.
func (d Directory) named(groups []string) map[string][]identity.Role {
	found := map[string][]identity.Role{}
	for _, role := range MemberRoles {
		for _, rule := range d.Named[role] {
			for _, group := range groups {
				if team, ok := teamOf(rule, group); ok && !slices.Contains(found[team], role) {
					found[team] = append(found[team], role)
				}
			}
		}
	}
	return found
}

// GroupFor is the first group of a person that gives them a role in the team, by its own rules or by those for all
// teams; ok is false where none does.
func (d Directory) GroupFor(t Tenant, role identity.Role, groups []string) (group string, ok bool) {
	if group, ok = t.GroupFor(role, groups); ok {
		return group, true
	}
	i := slices.IndexFunc(groups, func(g string) bool {
		return slices.ContainsFunc(d.Named[role], func(rule string) bool {
			team, ok := teamOf(rule, g)
			return ok && team == t.Name
		})
	})
	if i < 0 {
		return "", false
	}
	return groups[i], true
}

package tenant

import (
	"maps"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// changes are what a revision makes of a team, for the record: of what counts in the end, not only of what is saved
// over the configuration.
func changes(now Entry, saved Saved) []audit.Change {
	first := Tenant{}
	if now.Configured != nil {
		first = *now.Configured
	}
	then := saved.over(first)
	if now.Configured != nil {
		then.Namespace = first.Namespace
	}
	return audit.Diff(recorded(now.Tenant), recorded(then))
}

// recorded is a team as the record compares it. The groups of a role are one value: by their places, one that is put
// first would change all.
func recorded(t Tenant) map[string]any {
	groups := map[identity.Role]string{}
	for role, names := range t.Groups {
		if len(names) > 0 {
			groups[role] = strings.Join(slices.Sorted(slices.Values(names)), ", ")
		}
	}
	images := map[string]Image{}
	for _, i := range t.Images {
		images[i.Name] = i
	}
	return map[string]any{"images": images, "title": orNil(t.Title), "namespace": orNil(t.Namespace), "groups": groups,
		"quota": maps.Clone(t.Quota), "disabled": t.Disabled, "defaults": t.Defaults,
		"schedule": t.Schedule.Flat(), "customImages": t.CustomImages}
}

// orNil makes no value of an empty one.
func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// memberChanges are who has a role now, or has it no more.
func memberChanges(kind audit.Kind, p identity.Person, role identity.Role) []audit.Change {
	c := audit.Change{Field: "member." + string(role), New: string(p.ID)}
	if kind == audit.MemberRemoved {
		c.Old, c.New = c.New, ""
	}
	return []audit.Change{c}
}

package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Step is one round of an approval: by any one of its Approvers, or by each of them with a person of its own (All).
// Steps follow one another.
type Step struct {
	From []identity.Approvers `json:"from"`          // who may approve
	All  bool                 `json:"all,omitempty"` // one of each in from is needed; without it one of any
	// so long without the approvals that it needs, and those in then may approve as well
	After catalog.Duration     `json:"after,omitempty"`
	Then  []identity.Approvers `json:"then,omitempty"` // who may approve in anybody's place, once after has passed
}

// Consent is one person's yes in one step. Approvers are those of the step that the person belonged to at that time: it
// counts also when roles change later.
type Consent struct {
	Step      int                  `json:"step"`
	By        identity.PersonID    `json:"by"`
	ByName    string               `json:"byName"`
	For       identity.PersonID    `json:"for,omitempty"` // whom the person stood in for
	ForName   string               `json:"forName,omitempty"`
	Approvers []identity.Approvers `json:"approvers"`
	Note      string               `json:"note,omitempty"`
	Change    *Change              `json:"change,omitempty"` // "yes, but"
	At        time.Time            `json:"at"`
}

// Change is what was asked, where an approver granted less.
type Change struct {
	Size  string           `json:"size,omitempty"`  // name of the size that was asked for; "" where it stayed
	Lease catalog.Duration `json:"lease,omitempty"` // that was asked for; 0 where it stayed
}

// Open is the first step that still needs approvals, and the approvers that are missing. Without any left the step is
// len(steps).
func Open(steps []Step, consents []Consent) (step int, missing []identity.Approvers) {
	for i, s := range steps {
		if missing := s.missing(in(i, consents)); len(missing) > 0 {
			return i, missing
		}
	}
	return len(steps), nil
}

func in(step int, consents []Consent) []Consent {
	var here []Consent
	for _, c := range consents {
		if c.Step == step {
			here = append(here, c)
		}
	}
	return here
}

// missing are the approvers of whom one more person brings the step further.
func (s Step) missing(consents []Consent) []identity.Approvers {
	if !s.All {
		if len(consents) > 0 {
			return nil
		}
		return s.From
	}
	given := make([][]identity.Approvers, len(consents))
	for i, c := range consents {
		given[i] = c.Approvers
	}
	have := s.covered(given)
	var missing []identity.Approvers
	for _, p := range s.From {
		if s.covered(append(slices.Clone(given), []identity.Approvers{p})) > have {
			missing = append(missing, p)
		}
	}
	return missing
}

// covered is how many parties of the step can be given a person of their own. Somebody who belongs to two parties
// counts for the one that leaves the fewest open, in whatever order people spoke: else a word given early could make a
// step impossible to finish. This is the largest matching between people and parties, by augmenting paths.
func (s Step) covered(people [][]identity.Approvers) int {
	heldBy := make([]int, len(s.From)) // person and one, by party
	var seat func(person int, tried []bool) bool
	seat = func(person int, tried []bool) bool {
		for i, p := range s.From {
			if tried[i] || !slices.Contains(people[person], p) {
				continue
			}
			tried[i] = true
			if heldBy[i] == 0 || seat(heldBy[i]-1, tried) {
				heldBy[i] = person + 1
				return true
			}
		}
		return false
	}
	n := 0
	for person := range people {
		if seat(person, make([]bool, len(s.From))) {
			n++
		}
	}
	return n
}

// check says what is wrong with a step.
func (s Step) check() error {
	if len(s.From) == 0 {
		return fmt.Errorf("a step needs somebody in \"from\": a role (approver, owner, admin) or a group")
	}
	if (s.After > 0) != (len(s.Then) > 0) {
		return fmt.Errorf("\"after\" and \"then\" belong together: after how long, and who may speak then")
	}
	for _, p := range slices.Concat(s.From, s.Then) {
		switch {
		case (p.Role == "") == (p.Group == ""):
			return fmt.Errorf("each of \"from\" and \"then\" is either a role or a group")
		case p.Role != "" && p.Role != identity.Approver && p.Role != identity.Owner && p.Role != identity.Admin:
			return fmt.Errorf("the role %q approves nothing: approver, owner or admin", p.Role)
		case p.Scope != "" && (p.Scope != identity.PlatformScope || p.Role != identity.Approver):
			return fmt.Errorf("the only scope is \"platform\", and it is for the role approver")
		}
	}
	for i, p := range s.From {
		if slices.Contains(s.From[:i], p) {
			return fmt.Errorf("\"from\" names the same twice")
		}
	}
	return nil
}

// Who names the approvers of the steps in order: "team owner, then approver or group X".
func Who(steps []Step) i18n.Text {
	var who i18n.Text
	for _, s := range steps {
		who = join("policy.who_then", who, WhoOf(s.From, s.All))
	}
	return who
}

// WhoOf names the approvers of a step.
func WhoOf(parties []identity.Approvers, all bool) i18n.Text {
	id := "policy.who_or"
	if all {
		id = "policy.who_and"
	}
	var who i18n.Text
	for _, p := range parties {
		who = join(id, who, p.Label())
	}
	return who
}

func join(id string, a, b i18n.Text) i18n.Text {
	if a.IsZero() {
		return b
	}
	return i18n.Text{ID: id, Args: map[string]any{"A": a, "B": b}}
}

// AnyApprover reports whether the steps are the usual one: any approver of the team or the platform.
func AnyApprover(steps []Step) bool {
	return len(steps) == 1 && len(steps[0].From) == 1 && steps[0].From[0] == identity.Approvers{Role: identity.Approver}
}

// FirstRole is the first role that the steps name, approver where there is none: for readers who know roles only.
func FirstRole(steps []Step) identity.Role {
	for _, s := range steps {
		for _, p := range s.From {
			if p.Role != "" {
				return p.Role
			}
		}
	}
	return identity.Approver
}

// OneOf is a single step that anybody of a role can take.
func OneOf(r identity.Role) []Step {
	return []Step{{From: []identity.Approvers{{Role: r}}}}
}

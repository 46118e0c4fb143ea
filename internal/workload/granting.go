package workload

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Colleagues lists the members of a team who have signed in before.
type Colleagues interface {
	// Colleagues whose name or address contains the text, at most that many.
	Colleagues(ctx context.Context, team, search string, most int) ([]identity.Person, error)
}

// GrantDraft is a grant as typed or posted.
type GrantDraft struct {
	To         Grantee
	Person     string // ID or address
	Group      string
	Permission Permission
	Until      time.Time // zero: as long as the workload is there
}

// Bounds of grants.
const (
	maxGroup      = 200                  // characters
	longestGrant  = 366 * 24 * time.Hour // but for one without an end
	mostOfAddress = 20
	mostVisitors  = 20
	mostOffered   = 200 // colleagues to choose from
)

// Share lets the whole team open the workload, or not any more.
func (s *Service) Share(ctx context.Context, a identity.Actor, id ID, shared bool) (Workload, error) {
	if shared {
		w, _, _, err := s.Grant(ctx, a, id, GrantDraft{To: ToTeam, Permission: MayUse})
		return w, err
	}
	return s.change(ctx, a, id, endTeamGrants)
}

// Grant lets somebody in besides the owner, in place of what they were granted before. Of a link it gives the secret,
// which is shown once. Faults: Invalid for a draft that names nobody of the team, Conflict for a workload that is gone.
func (s *Service) Grant(ctx context.Context, a identity.Actor, id ID, d GrantDraft) (Workload, Grant, string, error) {
	none := func(err error) (Workload, Grant, string, error) { return Workload{}, Grant{}, "", err }
	w, err := s.Store.Workload(ctx, id)
	if err != nil {
		return none(err)
	}
	if err := Permit(a, identity.ChangeWorkload, w); err != nil {
		return none(err)
	}
	now, credential := s.Now(), identity.NewCredential()
	g := Grant{ID: credential.ID, To: d.To, Permission: d.Permission, Until: d.Until, At: now}
	fields := termsOf(d, now)
	secret := ""
	switch d.To {
	case ToTeam:
	case ToPerson:
		p, problem, err := s.colleague(ctx, w, d.Person)
		if err != nil {
			return none(err)
		}
		if !problem.IsZero() {
			fields = append(fields, fault.Field{Name: "person", Reason: problem})
		}
		g.Person, g.Name = p.ID, p.Name
	case ToGroup:
		if g.Group = strings.TrimSpace(d.Group); g.Group == "" || !utf8.ValidString(g.Group) ||
			utf8.RuneCountInString(g.Group) > maxGroup || strings.ContainsFunc(g.Group, unicode.IsControl) {
			fields = append(fields, fault.Field{Name: "group", Reason: i18n.T("grants.group_wrong", "Most", maxGroup)})
		}
	case ToLink:
		secret, g.SecretHash = credential.Secret, credential.Hash()
	default:
		fields = append(fields, fault.Field{Name: "to", Reason: i18n.T("grants.to_wrong")})
	}
	if err := fault.InvalidFields(fields); err != nil {
		return none(err)
	}
	w, err = s.change(ctx, a, id, granting(g))
	return w, g, secret, err
}

func termsOf(d GrantDraft, now time.Time) (fields []fault.Field) {
	if d.Permission != MayRead && d.Permission != MayUse {
		fields = append(fields, fault.Field{Name: "permission", Reason: i18n.T("grants.permission_wrong")})
	}
	if !d.Until.IsZero() && (!d.Until.After(now) || d.Until.Sub(now) > longestGrant) {
		fields = append(fields, fault.Field{Name: "until", Reason: i18n.T("grants.until_wrong")})
	}
	return fields
}

// colleague is the one member of the workload's team with this ID or address.
func (s *Service) colleague(ctx context.Context, w Workload, who string) (identity.Person, i18n.Text, error) {
	who = strings.TrimSpace(who)
	if who == "" {
		return identity.Person{}, i18n.T("grants.person_missing"), nil
	}
	if s.Colleagues == nil {
		return identity.Person{}, i18n.T("grants.person_unknown"), nil
	}
	found, err := s.Colleagues.Colleagues(ctx, w.Tenant, who, mostOfAddress)
	if err != nil {
		return identity.Person{}, i18n.Text{}, err
	}
	found = slices.DeleteFunc(found, func(p identity.Person) bool {
		return string(p.ID) != who && !strings.EqualFold(p.Email, who)
	})
	switch {
	case len(found) == 0:
		return identity.Person{}, i18n.T("grants.person_unknown"), nil
	case len(found) > 1:
		return identity.Person{}, i18n.T("grants.person_several"), nil
	case found[0].ID == w.Owner:
		return identity.Person{}, i18n.T("grants.person_owner"), nil
	}
	return found[0], i18n.Text{}, nil
}

// Revoke takes a grant away. Whoever is inside by it is out within seconds.
func (s *Service) Revoke(ctx context.Context, a identity.Actor, id ID, grant string) (Workload, error) {
	return s.change(ctx, a, id, revoking(grant))
}

// Grants lists who may open a workload or read its logs besides the owner, for those who may change that.
func (s *Service) Grants(ctx context.Context, a identity.Actor, id ID) ([]Grant, error) {
	w, err := s.Store.Workload(ctx, id)
	if err != nil {
		return nil, err
	}
	return w.holding(s.Now()), Permit(a, identity.ChangeWorkload, w)
}

// ColleaguesOf are the people whom a workload can be shared with, for those who may do that.
func (s *Service) ColleaguesOf(ctx context.Context, a identity.Actor, id ID) ([]identity.Person, error) {
	w, err := s.Store.Workload(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := Permit(a, identity.ChangeWorkload, w); err != nil || s.Colleagues == nil {
		return nil, err
	}
	people, err := s.Colleagues.Colleagues(ctx, w.Tenant, "", mostOffered)
	return slices.DeleteFunc(people, func(p identity.Person) bool { return p.ID == w.Owner }), err
}

// Visitors lists who was inside a workload of late, newest first, for those who may change who gets in.
func (s *Service) Visitors(ctx context.Context, a identity.Actor, id ID) ([]Visit, error) {
	w, err := s.Store.Workload(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := Permit(a, identity.ChangeWorkload, w); err != nil {
		return nil, err
	}
	return s.Store.Visits(ctx, id, mostVisitors)
}

// holding is the grants that have not ended.
func (w Workload) holding(now time.Time) []Grant {
	return slices.DeleteFunc(slices.Clone(w.Grants), func(g Grant) bool { return !g.Holds(now) })
}

// Follow gives a member of the team who follows a link a grant of their own, on the link's terms. Faults: NotFound for
// a link that is wrong, has ended or was revoked, in the same words as for a workload that is not there.
func (s *Service) Follow(ctx context.Context, a identity.Actor, id ID, secret string) (Workload, error) {
	var out Workload
	err := s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		w, err := tx.Workload(ctx, id)
		if err != nil {
			return err
		}
		if err := Permit(a, identity.ReadWorkload, w); err != nil {
			return err
		}
		if out = w; w.Owner == a.Person.ID {
			return nil
		}
		link, ok := w.link(secret, s.Now())
		if !ok || !a.Member(w.Tenant) || a.Impersonator != nil {
			return fault.New(fault.NotFound, i18n.T("grants.link_over"))
		}
		if slices.ContainsFunc(w.Grants, func(g Grant) bool {
			return g.Person == a.Person.ID && g.Holds(s.Now()) && (g.Permission == MayUse || g.Permission == link.Permission)
		}) {
			return nil // has as much by now
		}
		out, err = s.apply(ctx, tx, a, w, granting(Grant{ID: identity.NewCredential().ID, To: ToPerson,
			Person: a.Person.ID, Name: a.Person.Name, Link: link.ID, Permission: link.Permission, Until: link.Until,
			At: s.Now()}))
		return err
	})
	return out, err
}

// link is the grant whose link has this secret.
func (w Workload) link(secret string, now time.Time) (Grant, bool) {
	at := slices.IndexFunc(w.Grants, func(g Grant) bool {
		return g.To == ToLink && g.Holds(now) && (identity.Credential{Secret: secret}).Matches(g.SecretHash)
	})
	if at < 0 {
		return Grant{}, false
	}
	return w.Grants[at], true
}

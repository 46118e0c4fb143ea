package workload

import (
	"context"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Expansion is a larger size for a volume of a team, as it was typed or posted. From is the size that was seen: when
// somebody else was faster, that is a Conflict.
type Expansion struct {
	Team, Name string
	From, GiB  int
}

// Room is how many GiB of a storage class a team has and may have.
type Room struct {
	Taken, Most int // Most 0: as much as it likes
}

// Full reports whether that much more is too much.
func (r Room) Full(more int) bool { return r.Most > 0 && r.Taken+more > r.Most }

// Left is how much more there can be; only where there is a Most.
func (r Room) Left() int { return max(0, r.Most-r.Taken) }

// Class gives a storage class by name, where the site offers it on that cluster for shared volumes.
func (s Sharing) Class(cluster, name string) (Class, bool) {
	i := slices.IndexFunc(s.Offered, func(o Offered) bool { return o.Cluster == cluster && o.Name == name })
	if i < 0 {
		return Class{}, false
	}
	return s.Offered[i].Class, true
}

// Most is how many GiB one volume of a class can have.
func (s Sharing) Most(c Class) int {
	if c.VolumeGiB > 0 {
		return min(c.VolumeGiB, s.MostGiB)
	}
	return s.MostGiB
}

// RoomIn adds up a team's volumes of a storage class. Deleted ones count until they are gone, for they can be restored.
func RoomIn(volumes []Volume, cluster string, c Class) Room {
	room := Room{Most: c.TeamGiB}
	for _, v := range volumes {
		if v.OfTeam() && v.Cluster == cluster && v.Share.Class == c.Name {
			room.Taken += v.GiB
		}
	}
	return room
}

// roomFor refuses what is more than the team may have. It is asked in the line in which all volumes are made and grow,
// so of two who want the last of it one gets it.
func roomFor(ctx context.Context, tx Tx, team, cluster string, c Class, more int) error {
	if c.TeamGiB == 0 {
		return nil
	}
	volumes, err := tx.Volumes(ctx, VolumeFilter{Tenants: []string{team}, Cluster: cluster, Shared: true})
	if err != nil {
		return err
	}
	if room := RoomIn(volumes, cluster, c); room.Full(more) {
		return fault.InvalidFields([]fault.Field{{Name: "gib", Reason: i18n.T("volume.team_full", "Class", c.Name, "Taken",
			room.Taken, "Most", room.Most, "Left", room.Left())}})
	}
	return nil
}

// affordStorage puts aside what storage takes of its team's budget until the month ends. There is nobody to agree to
// more than is left, whatever the budget says of starts.
func (s *Service) affordStorage(ctx context.Context, tx Tx, v Volume) error {
	if s.Budgets == nil {
		return nil
	}
	c, err := tx.BudgetClaim(ctx, budget.VolumeID(v.Tenant, v.Name))
	if err != nil {
		return err
	}
	ask, err := s.Budgets.Ask(ctx, tx, c)
	if err != nil {
		return err
	}
	if !ask.Fits() {
		return fault.InvalidFields([]fault.Field{{Name: "gib", Reason: ask.Sentence("budget.over_storage")}})
	}
	return s.Budgets.Hold(ctx, tx, c, true)
}

// ExpandVolume makes a volume of a team larger; it never becomes smaller again. The controller has the cluster do it;
// see NotExpanded for one that will not.
func (s *Service) ExpandVolume(ctx context.Context, a identity.Actor, g Expansion) (TeamVolume, error) {
	if err := s.permitTeam(a, g.Team, identity.ChangeAssets); err != nil {
		return TeamVolume{}, err
	}
	sharing := s.Sharing()
	if _, ok := sharing.Namespace(g.Team); !ok {
		return TeamVolume{}, fault.New(fault.Conflict, i18n.T("request.tenant_disabled", "Tenant", g.Team))
	}
	var out TeamVolume
	err := s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		v, err := teamVolume(ctx, tx, g.Team, g.Name)
		if err != nil {
			return err
		}
		class, offered := sharing.Class(v.Cluster, v.Share.Class)
		if err := sharing.mayExpand(v, g, class, offered); err != nil {
			return err
		}
		if err := roomFor(ctx, tx, g.Team, v.Cluster, class, g.GiB-v.GiB); err != nil {
			return err
		}
		if out.Volume, err = s.expand(ctx, tx, a, v, g.GiB); err != nil {
			return err
		}
		out.Users, err = tx.Mounting(ctx, v)
		return err
	})
	return out, err
}

// expand writes a larger size that the team's budget has to have room for.
func (s *Service) expand(ctx context.Context, tx Tx, a identity.Actor, v Volume, gib int) (Volume, error) {
	e := audit.By(a, audit.VolumeExpanded, s.Now())
	e.Tenant, e.Volume, e.Changes = v.Tenant, v.Name, audit.Changed("gib", v.GiB, gib)
	v.GiB, v.Refused, v.UpdatedAt = gib, Refusal{}, s.Now()
	if err := tx.SaveVolume(ctx, v); err != nil {
		return v, err
	}
	if err := s.affordStorage(ctx, tx, v); err != nil {
		return v, err
	}
	v.Version++
	return v, tx.Append(ctx, e)
}

func (s Sharing) mayExpand(v Volume, g Expansion, c Class, offered bool) error {
	most := s.Most(c)
	switch {
	case !v.DeleteAfter.IsZero():
		return fault.New(fault.Conflict, i18n.T("volume.goes", "Name", g.Name))
	case g.From != v.GiB:
		return fault.New(fault.Conflict, i18n.T("volume.grown_meanwhile", "Name", g.Name, "Now", v.GiB))
	case !offered:
		return fault.New(fault.Conflict, i18n.T("volume.class_gone", "Class", v.Share.Class))
	case g.GiB <= v.GiB:
		return fault.InvalidFields([]fault.Field{{Name: "gib", Reason: i18n.T("volume.only_larger", "Now", v.GiB)}})
	case g.GiB > most:
		return fault.InvalidFields([]fault.Field{{Name: "gib", Reason: i18n.T("volume.too_large", "Most", most)}})
	}
	return nil
}

// teamVolume gives a volume of a team; one that is of another team, or gone, does not exist.
func teamVolume(ctx context.Context, tx Tx, team, name string) (Volume, error) {
	v, err := tx.Volume(ctx, ClaimOf(team, name))
	if err == nil && (!v.OfTeam() || v.Tenant != team || v.Deleted) {
		err = fault.New(fault.NotFound, i18n.T("volume.not_found"))
	}
	return v, err
}

// NotExpanded takes back that a volume grows, which its cluster has refused permanently: it stays as large as the claim
// is, and is metered so. Cause is the id of a sentence, words are the API server's. Where somebody has wanted another
// size meanwhile, nothing changes.
func (s *Service) NotExpanded(ctx context.Context, seen Volume, claimGiB int, cause, words string) error {
	return s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		v, err := tx.Volume(ctx, seen.Name)
		if fault.Is(err, fault.NotFound) || err == nil && (v.Deleted || v.GiB != seen.GiB || claimGiB >= v.GiB ||
			claimGiB < 1) {
			return nil
		}
		if err != nil {
			return err
		}
		v.Refused = Refusal{GiB: v.GiB, Cause: cause, Words: words, At: s.Now()}
		e := audit.By(identity.System(), audit.VolumeNotExpanded, s.Now())
		e.Tenant, e.Volume, e.Changes, e.Detail = v.Tenant, v.Name, audit.Changed("gib", v.GiB, claimGiB), v.RefusedBecause()
		v.GiB, v.UpdatedAt = claimGiB, s.Now()
		if err := tx.SaveVolume(ctx, v); err != nil {
			return err
		}
		return tx.Append(ctx, e)
	})
}

package workload

import (
	"context"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// PendingDeletion reports whether its owners have deleted a volume of a team that is still there: no new workload gets
// it, and it can be taken back.
func (v Volume) PendingDeletion() bool { return !v.DeleteAfter.IsZero() && !v.Deleted }

// EndVolume deletes a volume of a team with everything in it, after a time of grace in which RestoreVolume takes that
// back. While a workload has it, running or stopped, that is a Conflict that names them. Typed is its name once more,
// as somebody typed it to confirm. One that goes already goes when it was said to.
func (s *Service) EndVolume(ctx context.Context, a identity.Actor, team, name, typed string) error {
	if err := s.permitTeam(a, team, identity.ChangeAssets); err != nil {
		return err
	}
	return s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		v, err := teamVolume(ctx, tx, team, name)
		switch {
		case err != nil:
			return err
		case strings.TrimSpace(typed) != name:
			return fault.InvalidFields([]fault.Field{{Name: "confirm", Reason: i18n.T("volume.confirm", "Name", name)}})
		case v.PendingDeletion():
			return nil
		}
		users, err := tx.Mounting(ctx, v)
		if err != nil {
			return err
		}
		if len(users) > 0 {
			return fault.New(fault.Conflict, i18n.T("volume.mounted", "Name", name, "By", named(users)))
		}
		switch sets, err := lieOn(ctx, tx, v); {
		case err != nil:
			return err
		case sets != "":
			return fault.New(fault.Conflict, i18n.T("volume.has_datasets", "Name", name, "Datasets", sets))
		}
		if s.Grace <= 0 {
			return s.releaseVolume(ctx, tx, a, v, true)
		}
		v.DeleteAfter, v.UpdatedAt = s.Now().Add(s.Grace), s.Now()
		if err := tx.SaveVolume(ctx, v); err != nil {
			return err
		}
		e := audit.By(a, audit.VolumeEnding, s.Now())
		e.Tenant, e.Volume, e.Detail = v.Tenant, v.Name, i18n.T("volume.ending", "Until", stamp(v.DeleteAfter))
		return tx.Append(ctx, e)
	})
}

// RestoreVolume takes back that a volume of a team was deleted, until it is gone. One that stays anyway stays.
func (s *Service) RestoreVolume(ctx context.Context, a identity.Actor, team, name string) (TeamVolume, error) {
	if err := s.permitTeam(a, team, identity.ChangeAssets); err != nil {
		return TeamVolume{}, err
	}
	var out TeamVolume
	err := s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		v, err := tx.Volume(ctx, ClaimOf(team, name))
		switch {
		case err == nil && v.OfTeam() && v.Tenant == team && v.Deleted:
			return fault.New(fault.Conflict, i18n.T("volume.too_late", "Name", name))
		case err == nil:
			v, err = teamVolume(ctx, tx, team, name)
		}
		if err != nil {
			return err
		}
		out.Volume = v
		if !v.PendingDeletion() {
			return nil
		}
		v.DeleteAfter, v.UpdatedAt = Volume{}.DeleteAfter, s.Now()
		if err := tx.SaveVolume(ctx, v); err != nil {
			return err
		}
		out.Volume = v
		out.Version++
		e := audit.By(a, audit.VolumeRestored, s.Now())
		e.Tenant, e.Volume = v.Tenant, v.Name
		return tx.Append(ctx, e)
	})
	return out, err
}

// deleteDue ends a volume of a team whose time of grace is over. It looks without a lock, and once more with one: it
// may have been taken back meanwhile.
func (s *Service) deleteDue(ctx context.Context, v Volume) error {
	if !s.over(v) {
		return nil
	}
	return s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		v, err := tx.Volume(ctx, v.Name)
		if err != nil || !s.over(v) {
			return err
		}
		users, err := tx.Mounting(ctx, v)
		// nothing gets it while it goes; if something has it all the same, its files are worth more than the rule
		if err != nil || len(users) > 0 {
			return err
		}
		return s.releaseVolume(ctx, tx, identity.System(), v, true)
	})
}

func (s *Service) over(v Volume) bool { return v.PendingDeletion() && !s.Now().Before(v.DeleteAfter) }

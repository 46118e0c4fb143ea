package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Retention says how long unused storage is kept, and when its owner is warned.
type Retention struct {
	Period   time.Duration // 0: forever
	Warnings Warnings      // before it is reclaimed; StorageWarnings where empty
}

// Until is when unused storage will be reclaimed; zero where it is used, kept forever, or not seen unused yet.
func (k Retention) Until(v Volume) time.Time {
	if k.Period <= 0 || v.UnusedFrom.IsZero() || v.Deleted {
		return time.Time{}
	}
	until := v.UnusedFrom.Add(k.Period)
	if announced := v.WarnedAt.Add(v.WarnedFor); !v.WarnedAt.IsZero() && announced.After(until) {
		return announced // somebody shortened the time since
	}
	return until
}

// unannounced forgets what was announced.
func (v Volume) unannounced() Volume {
	v.WarnedAt, v.WarnedFor = time.Time{}, 0
	return v
}

func (k Retention) warnings() Warnings {
	if len(k.Warnings) == 0 {
		k.Warnings = StorageWarnings()
	}
	return k.Warnings.Of(k.Period)
}

// Use is whether a workload needs a volume, and when it was last used.
type Use struct {
	Wanted  bool      // by a workload that does not stand still
	Touched time.Time // when somebody last did something to the storage or to the workload that has it
}

// Next is what is due for storage now: that its use began or ended is noted, its end is announced, and it is over when
// every announcement was made in time. An announcement that comes late, because nobody looked or somebody shortened the
// time, moves the end away, so that everybody has as long as it says. The event is nil where nothing is announced.
func (k Retention) Next(v Volume, use Use, now time.Time) (next Volume, announced *audit.Event, over bool) {
	switch {
	case v.Deleted:
		return v, nil, false
	case use.Wanted || k.Period <= 0:
		v.UnusedFrom = time.Time{}
		return v.unannounced(), nil, false
	case v.UnusedFrom.IsZero(), use.Touched.After(v.UnusedFrom) && use.Touched.After(v.WarnedAt):
		v.UnusedFrom = now
		return v.unannounced(), nil, false
	}
	until := k.Until(v)
	if until.After(v.WarnedAt.Add(v.WarnedFor)) {
		v = v.unannounced() // somebody lengthened the time since
	}
	ahead := k.warnings()
	if !v.WarnedAt.IsZero() {
		ahead = slices.DeleteFunc(slices.Clone(ahead), func(left time.Duration) bool { return left >= v.WarnedFor })
	}
	if len(ahead) == 0 {
		return v, nil, !now.Before(until)
	}
	left := ahead[0]
	if until.Sub(now) > left {
		return v, nil, false
	}
	v.UnusedFrom, v.WarnedAt, v.WarnedFor = now.Add(left-k.Period), now, left
	e := audit.By(identity.System(), audit.VolumeWarned, now)
	e.Tenant, e.Volume = v.Tenant, v.Name
	e.Detail = i18n.T("volume.warned", "Left", catalog.Duration(left).String(), "Until", stamp(now.Add(left)))
	return v, &e, false
}

// EnforceRetention looks at all storage and announces or ends what is due. What is known of a cluster that does not
// answer is old, so nothing of it is touched. It can be interrupted and called again.
func (s *Service) EnforceRetention(ctx context.Context, answers func(cluster string) bool) error {
	volumes, err := s.Store.Volumes(ctx, VolumeFilter{})
	if err != nil {
		return err
	}
	var faults []error
	for _, v := range volumes {
		if !answers(v.Cluster) {
			continue
		}
		due := s.enforceRetention
		if v.OfTeam() { // it is its owners' to end
			due = s.deleteDue
		}
		if err := due(ctx, v); err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.NotFound) {
			faults = append(faults, fmt.Errorf("storage %s: %w", v.Name, err))
		}
	}
	return errors.Join(faults...)
}

// enforceRetention looks without a lock, and once more with one where something is due.
func (s *Service) enforceRetention(ctx context.Context, v Volume) error {
	_, use, err := usersOf(ctx, s.Store, v)
	if err != nil {
		return err
	}
	if next, _, over := s.Retention.Next(v, use, s.Now()); next == v && !over {
		return nil
	}
	return s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		v, err := tx.Volume(ctx, v.Name)
		if err != nil {
			return err
		}
		w, use, err := usersOf(ctx, tx, v)
		if err != nil {
			return err
		}
		next, announced, over := s.Retention.Next(v, use, s.Now())
		switch {
		case over:
			return s.reclaim(ctx, tx, v, w)
		case next == v:
			return nil
		}
		if err := tx.SaveVolume(ctx, next); err != nil || announced == nil {
			return err
		}
		return tx.Append(ctx, *announced)
	})
}

// usersOf is the use of a volume: of a home that of its workload, of a personal volume that of all that mount it,
// running or stopped.
func usersOf(ctx context.Context, in interface {
	Workload(ctx context.Context, id ID) (Workload, error)
	Mounting(ctx context.Context, v Volume) ([]Workload, error)
}, v Volume) (*Workload, Use, error) {
	if !v.IsPersonal() {
		return user(ctx, in.Workload, v)
	}
	users, err := in.Mounting(ctx, v)
	return nil, Use{Touched: v.UpdatedAt, Wanted: len(users) > 0}, err
}

// user is the workload that has the storage, nil for none, and what it makes of it.
func user(ctx context.Context, get func(context.Context, ID) (Workload, error), v Volume) (*Workload, Use, error) {
	use := Use{Touched: v.UpdatedAt}
	if v.Workload == "" {
		return nil, use, nil
	}
	w, err := get(ctx, v.Workload)
	if fault.Is(err, fault.NotFound) {
		return nil, use, nil
	}
	if err != nil {
		return nil, use, err
	}
	if w.UpdatedAt.After(use.Touched) {
		use.Touched = w.UpdatedAt
	}
	use.Wanted = w.State != Ended && (w.Desired != WantStopped || w.State != Stopped)
	return &w, use, nil
}

// reclaim ends storage, and with it the workload that stands still on it.
func (s *Service) reclaim(ctx context.Context, tx Tx, v Volume, w *Workload) error {
	if w != nil {
		if _, err := s.apply(ctx, tx, identity.System(), *w, Delete); err != nil {
			return err
		}
	}
	v.Workload, v.UpdatedAt, v.Deleted = "", s.Now(), true
	if err := tx.SaveVolume(ctx, v); err != nil {
		return err
	}
	if err := dropSnapshots(ctx, tx, v); err != nil {
		return err
	}
	e := audit.By(identity.System(), audit.VolumeReclaimed, s.Now())
	e.Tenant, e.Volume = v.Tenant, v.Name
	return tx.Append(ctx, e)
}

// ExtendRetention begins the time anew for which unused storage is kept. Storage that is in use, or kept forever,
// needs no such thing: nothing changes.
func (s *Service) ExtendRetention(ctx context.Context, a identity.Actor, name string) (Volume, error) {
	var out Volume
	err := s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		v, err := tx.Volume(ctx, name)
		if err != nil {
			return err
		}
		out = v
		switch {
		case !identity.Can(a, identity.ReadVolume, v.Resource()):
			return fault.New(fault.NotFound, i18n.T("volume.not_found"))
		case !identity.Can(a, identity.KeepVolume, v.Resource()):
			return fault.New(fault.Forbidden, i18n.T("volume.not_yours_to_keep", "Owner", v.OwnerName))
		case v.Deleted:
			return fault.New(fault.Conflict, i18n.T("volume.gone"))
		}
		was := s.Retention.Until(v)
		if was.IsZero() {
			return nil
		}
		v = v.unannounced()
		v.UnusedFrom = s.Now()
		if err := tx.SaveVolume(ctx, v); err != nil {
			return err
		}
		out = v
		out.Version++
		e := audit.By(a, audit.VolumeKept, s.Now())
		e.Tenant, e.Volume, e.Detail = v.Tenant, v.Name, i18n.T("volume.kept_until", "Until", stamp(s.Retention.Until(v)))
		e.Changes = audit.Changed("keep.until", stamp(was), stamp(s.Retention.Until(v)))
		return tx.Append(ctx, e)
	})
	return out, err
}

package workload

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/schedule"
)

// SetSchedule says whose hours a workload follows: its team's, its own or none. Invalid with what is wrong with them.
func (s *Service) SetSchedule(ctx context.Context, a identity.Actor, id ID, mode ScheduleMode,
	hours *schedule.Hours) (Workload, error) {
	if fields := CheckSchedule(mode, hours); len(fields) > 0 {
		if _, err := s.Get(ctx, a, id); err != nil {
			return Workload{}, err
		}
		return Workload{}, fault.InvalidFields(fields)
	}
	return s.change(ctx, a, id, SetSchedule(mode, hours))
}

// CheckSchedule lists what is wrong with a schedule.
func CheckSchedule(mode ScheduleMode, hours *schedule.Hours) []fault.Field {
	switch mode {
	case TeamHours, NoHours:
		return nil
	case OwnHours:
		if hours == nil {
			return []fault.Field{{Name: "schedule.hours", Reason: i18n.T("schedule.windows")}}
		}
		return hours.Problems("schedule.")
	}
	return []fault.Field{{Name: "schedule.mode", Reason: i18n.T("schedule.mode")}}
}

// KeepOn leaves out the next stop by the clock, or takes that back.
func (s *Service) KeepOn(ctx context.Context, a identity.Actor, id ID, keep bool) (Workload, error) {
	return s.change(ctx, a, id, func(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
		if keep {
			return SkipStop(s.PlanOf(w))(w, a, now)
		}
		return StopAsPlanned(w, a, now)
	})
}

// PlanOf is what the schedule of a workload says, with its team's.
func (s *Service) PlanOf(w Workload) Plan {
	return w.Plan(s.TeamSchedule(w.Tenant))
}

// TeamSchedule are the hours of a team, with the holidays that count for it.
func (s *Service) TeamSchedule(tenant string) schedule.Team {
	if s.Schedules == nil {
		return schedule.Team{}
	}
	return s.Schedules(tenant)
}

// FollowSchedules stops and starts what is to stop and to start by the clock, as its owner would: what keeps them from
// a start keeps the clock from it, and is tried again for a while.
func (s *Service) FollowSchedules(ctx context.Context) error {
	all, err := s.Store.Living(ctx)
	if err != nil {
		return err
	}
	var faults []error
	for _, w := range all {
		next, do := w.follow(s.PlanOf(w), s.Now())
		if do == stay && reflect.DeepEqual(next, w.Schedule) {
			continue
		}
		if err := s.followOne(ctx, w, do); err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.NotFound) {
			faults = append(faults, fmt.Errorf("workload %s: %w", w.ID, err))
		}
	}
	return errors.Join(faults...)
}

// followOne does what is due for one workload. Where a start fails nothing of it stays but why.
func (s *Service) followOne(ctx context.Context, seen Workload, due step) error {
	id := seen.ID
	if due == startNow && s.MayStart != nil {
		if err := s.MayStart(ctx, seen); fault.Is(err, fault.Conflict) {
			return s.notStarted(ctx, id, fault.As(err).Sentence)
		} else if err != nil {
			return err
		}
	}
	var why *fault.Error
	err := s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		w, err := tx.Workload(ctx, id)
		if err != nil {
			return err
		}
		next, do := w.follow(s.PlanOf(w), s.Now())
		switch do {
		case startNow:
			err = s.startScheduled(ctx, tx, w, next)
			if fault.Is(err, fault.Conflict) {
				why = fault.As(err)
			}
			return err
		case stopNow:
			return s.stopScheduled(ctx, tx, w, next)
		case leaveNow:
			if err := s.SeatQueue.Leave(ctx, tx, w.ID); err != nil {
				return err
			}
		}
		if do == stay && reflect.DeepEqual(next, w.Schedule) {
			return nil
		}
		w.Schedule = next
		if err := tx.SaveWorkload(ctx, w); err != nil || do != warnNow {
			return err
		}
		return tx.Append(ctx, changed(w, identity.System(), audit.ScheduleWarned, s.Now(), i18n.T("schedule.warned", "At",
			stamp(next.Followed.Warned)), nil))
	})
	if why == nil {
		return err
	}
	return s.notStarted(ctx, id, why.Sentence)
}

// stopScheduled stops a workload as its owner would.
func (s *Service) stopScheduled(ctx context.Context, tx Tx, w Workload, next Schedule) error {
	_, err := s.apply(ctx, tx, identity.System(), w, func(w Workload, a identity.Actor,
		now time.Time) (Workload, []audit.Event, error) {
		w, events, err := Stop(w, a, now)
		w.Schedule, w.Reason = next, i18n.T("schedule.stopped")
		w.Schedule.Followed.Generation = w.Generation
		return w, of(events, audit.ScheduleStopped), err
	})
	return err
}

func (s *Service) startScheduled(ctx context.Context, tx Tx, w Workload, next Schedule) error {
	now := s.Now()
	next.KeptUntil = time.Time{}
	next.Followed.RetryAt, next.Followed.Problem = time.Time{}, i18n.Text{}
	started, err := s.resume(ctx, tx, identity.System(), w, func(w Workload, a identity.Actor,
		now time.Time) (Workload, []audit.Event, error) {
		w, events, err := Start(w, a, now)
		w.Schedule = next
		w.Schedule.Followed.Generation = w.Generation
		return w, of(events, audit.ScheduleStarted), err
	})
	if err != nil || started.Desired == WantRunning {
		return err
	}
	w.Schedule, w.UpdatedAt = next, now // it waits for a license seat
	return tx.SaveWorkload(ctx, w)
}

// notStarted keeps why a start by the clock could not be; its owner is told of the first time.
func (s *Service) notStarted(ctx context.Context, id ID, why i18n.Text) error {
	return s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		w, err := tx.Workload(ctx, id)
		if err != nil {
			return err
		}
		next, do := w.follow(s.PlanOf(w), s.Now())
		if do != startNow {
			return nil
		}
		w.Schedule = next
		w.Schedule.Followed = next.Followed.failed(why, s.Now())
		if err := tx.SaveWorkload(ctx, w); err != nil || w.Schedule.Followed.Tries > 1 {
			return err
		}
		return tx.Append(ctx, changed(w, identity.System(), audit.ScheduleMissed, s.Now(), why, nil))
	})
}

// of gives events another kind: nobody has to be told each evening what they asked for.
func of(events []audit.Event, kind audit.Kind) []audit.Event {
	for i := range events {
		events[i].Kind = kind
	}
	return events
}

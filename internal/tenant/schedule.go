package tenant

import (
	"context"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/schedule"
)

// Schedule is when a team's workloads run that say nothing else, with the site's holidays; for its members and those
// who see all.
func (s *Service) Schedule(a identity.Actor, team string) (schedule.Team, error) {
	if _, err := s.permit(a, team, identity.ReadTenant, identity.ReadTenant); err != nil {
		return schedule.Team{}, err
	}
	return s.ScheduleOf(team), nil
}

// ScheduleOf is what a team's owners said, with the site's holidays; those of the site come first.
func (s *Service) ScheduleOf(team string) schedule.Team {
	t, _ := s.Directory().ByName(team)
	own := schedule.Team{}
	if t.Schedule != nil {
		own = *t.Schedule
	}
	own.Holidays = schedule.Sorted(s.o.Holidays, own.Holidays)
	return own
}

// SaveSchedule says when the team's workloads run that say nothing else, nil for always, and which days are holidays of
// the team beside those of the site. Nothing is stopped or started at once: it counts from the next change on.
func (s *Service) SaveSchedule(ctx context.Context, a identity.Actor, team string, hours *schedule.Hours,
	holidays []schedule.Holiday) (schedule.Team, error) {
	now, err := s.permit(a, team, identity.ReadTenant, identity.ChangeMembers)
	if err != nil {
		return schedule.Team{}, err
	}
	problems := schedule.HolidayProblems(holidays)
	if hours != nil {
		problems = append(hours.Problems(""), problems...)
	}
	if len(problems) > 0 {
		return schedule.Team{}, fault.InvalidFields(problems)
	}
	var saved Saved
	if now.Newest != nil {
		saved = now.Newest.Saved
	}
	own := schedule.Sorted(holidays)
	if saved.Schedule != nil && slices.Equal(saved.Schedule.Holidays, own) && same(saved.Schedule.Hours, hours) ||
		saved.Schedule == nil && hours == nil && len(own) == 0 {
		return s.ScheduleOf(team), nil
	}
	saved.Schedule = &schedule.Team{Hours: hours, Holidays: own, Since: s.o.Now().UTC()}
	if _, err := s.write(ctx, a, now, team, now.Version(), saved, i18n.T("tenant.schedule_saved")); err != nil {
		return schedule.Team{}, err
	}
	return s.ScheduleOf(team), nil
}

func same(a, b *schedule.Hours) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Equal(*b))
}

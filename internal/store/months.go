package store

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

var _ usage.MonthlyStore = (*Store)(nil)

// monthTold is the name of what is written down, once, for a month that was told.
func monthTold(m usage.Month) string { return "statement/" + m.String() }

// MonthTold reports whether the statements of a month were sent.
func (v view) MonthTold(ctx context.Context, m usage.Month) (bool, error) {
	_, err := v.Setting(ctx, monthTold(m))
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// TellMonth writes the events, and that the month is told; nothing where it is. Of several that try at once the others
// wait for the first one's commit, and then find it told.
func (s *Store) TellMonth(ctx context.Context, m usage.Month, events ...audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		first, err := t.putSetting(ctx, monthTold(m), "sent")
		if err != nil || !first {
			return err
		}
		return t.Append(ctx, events...)
	})
}

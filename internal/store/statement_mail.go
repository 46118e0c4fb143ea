package store

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

var _ usage.StatementMailStore = (*Store)(nil)

// statementMailSent is the name of what is written down, once, for a month whose statements were sent.
func statementMailSent(m usage.Month) string { return "statement/" + m.String() }

// StatementMailSent reports whether the statements of a month were sent.
func (v view) StatementMailSent(ctx context.Context, m usage.Month) (bool, error) {
	_, err := v.Setting(ctx, statementMailSent(m))
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// SendStatementMail writes the events, and that the month's statements were sent; nothing where they are already. Of
// several that try at once the others wait for the first one's commit, and then find it sent.
func (s *Store) SendStatementMail(ctx context.Context, m usage.Month, events ...audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		first, err := t.putSetting(ctx, statementMailSent(m), "sent")
		if err != nil || !first {
			return err
		}
		return t.Append(ctx, events...)
	})
}

package store

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

var _ usage.UnmetStore = (*Store)(nil)

type refusalRow struct {
	At      timestamp
	Actor   string
	Tenant  string
	Detail  document[i18n.Text]
	Changes list[audit.Change]
}

type lapseRow struct {
	Asker     string
	Tenant    string
	SizeName  string
	State     string
	CreatedAt timestamp
	DecidedAt timestamp
}

// lapsed are the states of requests that nobody fulfilled.
var lapsed = map[string]usage.UnmetReason{string(request.Withdrawn): usage.UnmetWithdrawn,
	string(request.Expired): usage.UnmetExpired}

// givenUp is the condition of the index requests_given_up, word for word.
const givenUp = "kind = 'start' AND state IN ('withdrawn', 'expired')"

// UnmetRequests is who did not get what they asked for in a span: starts that were refused, by the audit, and those
// that lapsed while they waited.
func (v view) UnmetRequests(ctx context.Context, s usage.Span) ([]usage.UnmetRequest, error) {
	from, until := timestampOf(s.From), timestampOf(s.Until)
	var refused []refusalRow
	if err := v.at(ctx).Raw("SELECT at, actor, tenant, detail, changes FROM audit_events "+
		"WHERE kind = ? AND at >= ? AND at < ? ORDER BY seq", string(audit.RequestRefused), from, until).
		Scan(&refused).Error; err != nil {
		return nil, failure(err)
	}
	var unmet []usage.UnmetRequest
	for _, r := range refused {
		reason, ok := usage.UnmetReasonOf(r.Detail.is)
		for _, c := range r.Changes {
			if ok && c.Field == audit.AskedSize {
				unmet = append(unmet, usage.UnmetRequest{At: r.At.time(), Person: r.Actor, Tenant: r.Tenant, Size: c.New,
					Reason: reason})
			}
		}
	}
	var gone []lapseRow
	err := v.at(ctx).Raw(`SELECT asker, tenant, size_name, state, created_at, decided_at FROM requests
		WHERE `+givenUp+` AND decided_at >= ? AND decided_at < ? ORDER BY decided_at, id`, from, until).Scan(&gone).Error
	for _, r := range gone {
		at := r.DecidedAt.time()
		unmet = append(unmet, usage.UnmetRequest{At: at, Person: r.Asker, Tenant: r.Tenant, Size: r.SizeName,
			Reason: lapsed[r.State], Waited: at.Sub(r.CreatedAt.time())})
	}
	return unmet, failure(err)
}

package storetest

import (
	"context"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

var demandCases = cases{
	"what was refused or lapsed is told with its size": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		refused := func(at int, sentence string) audit.Event {
			e := Event(at)
			e.Kind, e.Detail, e.Changes = audit.RequestRefused, i18n.T(sentence),
				[]audit.Change{{Field: audit.AskedSize, New: "h100"}}
			return e
		}
		other := refused(15, "request.quota_full")
		other.Kind = audit.WorkloadStopped
		bare := refused(15, "request.quota_full")
		bare.Changes = nil
		must(t, s.Append(ctx, refused(5, "request.quota_full"), refused(10, "request.quota_full"),
			refused(11, "request.name_taken"), other, bare, refused(40, "request.quota_full")))
		lapsed := func(id string, state request.State) request.Request {
			r := Request(id)
			r.State = state
			return r
		}
		longer := lapsed("r-4", request.Withdrawn)
		longer.Kind = request.ExtendKind
		saveRequest(t, s, lapsed("r-1", request.Withdrawn), lapsed("r-2", request.Expired), lapsed("r-3", request.Approved),
			longer)
		span := usage.Span{From: later(10), Until: later(40)}
		equal(t, []usage.UnmetRequest{
			{At: later(10), Person: "p-ada", Tenant: "vision", Size: "h100", Reason: usage.UnmetQuota},
			{At: later(30), Person: "p-ada", Tenant: "vision", Size: "mig-10gb", Reason: usage.UnmetWithdrawn,
				Waited: later(30).Sub(later(0))},
			{At: later(30), Person: "p-ada", Tenant: "vision", Size: "mig-10gb", Reason: usage.UnmetExpired,
				Waited: later(30).Sub(later(0))},
		}, got(s.UnmetRequests(ctx, span))(t))
	},
}

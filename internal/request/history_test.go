package request

import (
	"context"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
)

// pastOf answers whose history is asked for, and nothing else.
type pastOf struct {
	approvalStore
	asked identity.PersonID
}

func (p *pastOf) AskerHistory(_ context.Context, asker identity.PersonID, _ time.Time) (AskerHistory, error) {
	p.asked = asker
	return AskerHistory{Requests: 3}, nil
}

// TestHistoryIsForThoseWhoMayReadTheRequest: rights are asked of the request that a page has read before.
func TestHistoryIsForThoseWhoMayReadTheRequest(t *testing.T) {
	r := waiting(policy.OneOf(identity.Approver))
	for name, c := range map[string]struct {
		by   identity.Actor
		want fault.Kind // "" for yes
	}{
		"an approver":     {who("ada", identity.Approver), ""},
		"a stranger":      {who("otto"), fault.NotFound},
		"nobody":          {identity.Actor{}, fault.KindOf(identity.Known(identity.Actor{}))},
		"the asker alone": {who(string(r.Asker)), ""},
	} {
		past := &pastOf{}
		s := &Approvals{core: &core{now: func() time.Time { return now }}, store: past}
		got, err := s.HistoryOf(t.Context(), c.by, r)
		if (err == nil) != (c.want == "") || err != nil && fault.KindOf(err) != c.want {
			t.Errorf("%s: want %q, got %v", name, c.want, err)
		}
		if allowed := c.want == ""; allowed != (past.asked == r.Asker) || allowed != (got.Requests == 3) {
			t.Errorf("%s: want the asker's history %v, got %q and %v", name, allowed, past.asked, got)
		}
	}
}

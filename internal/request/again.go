package request

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// sent is an idempotency key with a fingerprint of what came with it. Without a key nothing is ever the same as before.
type sent struct{ key, print string }

func sentDraft(d Draft) sent {
	key := d.Key
	d.Key = ""
	return sent{key, fingerprint(StartKind, d)}
}

func sentExtension(id workload.ID, more, reason, key string) sent {
	return sent{key, fingerprint(ExtendKind, []string{string(id), more, reason})}
}

func sentQuota(d QuotaDraft) sent {
	key := d.Key
	d.Key = ""
	return sent{key, fingerprint(QuotaKind, d)}
}

// fingerprint is of what was typed and not of what was made of it: what a name, a price or a default stands for may
// change between two times of sending.
func fingerprint(kind Kind, typed any) string {
	text, _ := json.Marshal(typed) // texts, numbers and a flag: never fails
	sum := sha256.Sum256(append([]byte(string(kind)+"\n"), text...))
	return hex.EncodeToString(sum[:])
}

// mark notes on a new request what it was sent with.
func (s sent) mark(r *Request) {
	if s.key != "" {
		r.Key, r.Fingerprint = s.key, s.print
	}
}

// asked finds the request that an idempotency key has made before. A Conflict that leads there says that something else
// was sent with the key this time.
func asked(ctx context.Context, in interface {
	RequestByKey(ctx context.Context, asker identity.PersonID, key string) (Request, error)
}, a identity.Actor, s sent) (Request, bool, error) {
	if s.key == "" {
		return Request{}, false, nil
	}
	r, err := in.RequestByKey(ctx, a.Person.ID, s.key)
	switch {
	case fault.Is(err, fault.NotFound):
		return Request{}, false, nil
	case err != nil:
		return Request{}, false, err
	case r.Fingerprint != "" && r.Fingerprint != s.print:
		f := fault.New(fault.Conflict, i18n.T("request.sent_already", "Name", r.Spec.Name))
		f.See = "requests/" + string(r.ID)
		return Request{}, false, f
	}
	return r, true, nil
}

func keyTooLong() error {
	return fault.InvalidFields([]fault.Field{{Name: "key", Reason: i18n.T("request.key_too_long", "Most", maxKey)}})
}

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

// idempotencyKey is what the caller sent, with a fingerprint of the body. Without a key nothing is ever a repetition.
type idempotencyKey struct{ key, fingerprint string }

func draftKey(d Draft) idempotencyKey {
	key := d.Key
	d.Key = ""
	return idempotencyKey{key, fingerprint(StartKind, d)}
}

func extensionKey(id workload.ID, more, reason, key string) idempotencyKey {
	return idempotencyKey{key, fingerprint(ExtendKind, []string{string(id), more, reason})}
}

func quotaKey(d QuotaDraft) idempotencyKey {
	key := d.Key
	d.Key = ""
	return idempotencyKey{key, fingerprint(QuotaKind, d)}
}

func reachKey(id workload.ID, d ReachDraft) idempotencyKey {
	key := d.Key
	d.Key = ""
	return idempotencyKey{key, fingerprint(ReachKind, []any{id, d})}
}

// fingerprint is of what was typed and not of what was made of it: what a name, a price or a default stands for may
// change between two times of sending.
func fingerprint(kind Kind, typed any) string {
	text, _ := json.Marshal(typed) // texts, numbers and a flag: never fails
	sum := sha256.Sum256(append([]byte(string(kind)+"\n"), text...))
	return hex.EncodeToString(sum[:])
}

// mark notes on a new request what it was sent with.
func (s idempotencyKey) mark(r *Request) {
	if s.key != "" {
		r.Key, r.Fingerprint = s.key, s.fingerprint
	}
}

// keyed finds requests by their idempotency key.
type keyed interface {
	RequestByKey(ctx context.Context, asker identity.PersonID, key string) (Request, error)
}

// once runs fn unless the key has made a request before, which is then the outcome and stays as it is. It is asked in
// the transaction: the same call may have come in beside this one.
func (s idempotencyKey) once(ctx context.Context, in keyed, a identity.Actor, fn func() (Outcome, error)) (
	Outcome, error) {
	r, found, err := s.find(ctx, in, a)
	if found || err != nil {
		return Outcome{Request: r}, err
	}
	out, err := fn()
	s.mark(&out.Request)
	return out, err
}

// find gives the request that the key has made before. A Conflict that leads there says that something else was sent
// with the key this time.
func (s idempotencyKey) find(ctx context.Context, in keyed, a identity.Actor) (Request, bool, error) {
	if s.key == "" {
		return Request{}, false, nil
	}
	r, err := in.RequestByKey(ctx, a.Person.ID, s.key)
	switch {
	case fault.Is(err, fault.NotFound):
		return Request{}, false, nil
	case err != nil:
		return Request{}, false, err
	case r.Fingerprint != s.fingerprint:
		f := fault.New(fault.Conflict, i18n.T("request.sent_already", "Name", r.Spec.Name))
		f.See = "requests/" + string(r.ID)
		return Request{}, false, f
	}
	return r, true, nil
}

// earlier is find before anything else is looked at, so that who sends twice need not wait for a transaction.
func (c *core) earlier(ctx context.Context, a identity.Actor, tenant string, s idempotencyKey) (Request, bool, error) {
	if err := identity.Known(a); err != nil {
		return Request{}, false, err
	}
	if len(s.key) > maxKey {
		return Request{}, false, fault.InvalidFields([]fault.Field{{Name: "key", Reason: i18n.T("request.key_too_long",
			"Most", maxKey)}})
	}
	r, found, err := s.find(ctx, c.db, a)
	return r, found, c.recordRefusal(ctx, a, tenant, "", err)
}

package request

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
)

// Refusal is why a submission was refused. It wraps the fault that the caller answers with.
type Refusal struct {
	Cause   error
	Refused *Refused // what is kept of it; nil where it never came before the rules
}

// Error is the message of the cause.
func (r *Refusal) Error() string { return r.Cause.Error() }

// Unwrap gives the fault.
func (r *Refusal) Unwrap() error { return r.Cause }

// Refused is what was refused when it was sent, for want of quota, seats or budget or by a rule. It never became a
// request; it is kept for a month, so that other rules and quotas can be tried on it.
type Refused struct {
	ID        ID
	Kind      Kind
	Asker     identity.PersonID
	AskerName string
	Spec      Spec
	Rule      string // that refused it; "" where quota, seats or budget did
	Sentence  i18n.Text
	Facts     policy.Facts // what the rules saw, or would have
	At        time.Time
}

// refuse ends a new request.
func refuse(r Request, seen policy.Facts, cause error) error {
	return &Refusal{Cause: cause, Refused: &Refused{ID: r.ID, Kind: r.Kind, Asker: r.Asker, AskerName: r.AskerName,
		Spec: r.Spec, Rule: r.Decision.Rule, Facts: seen, At: r.CreatedAt}}
}

// refusedOf is what an error keeps of what was refused; nil for none.
func refusedOf(err error) *Refused {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Refused
	}
	return nil
}

// causeOf is the fault inside a refusal, and any other error as it is.
func causeOf(err error) error {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Cause
	}
	return err
}

// isRefusal tells an error that says no to somebody from trouble.
func isRefusal(err error) bool {
	switch fault.KindOf(err) {
	case fault.Invalid, fault.Forbidden, fault.Conflict:
		return err != nil
	}
	var r *Refusal
	return errors.As(err, &r)
}

// recordRefusal puts on record that something was not granted, and gives its cause; a failure to record is what the
// caller then hears. The size is the one that was asked for, "" for none.
func (c *core) recordRefusal(ctx context.Context, a identity.Actor, tenant, size string, err error) error {
	kind := fault.KindOf(err)
	if err == nil || kind != fault.Invalid && kind != fault.Forbidden && kind != fault.Conflict {
		return causeOf(err)
	}
	e := c.refusalEvent(a, tenant, size, fault.As(err))
	audit.MarkRefusalRecorded(ctx)
	// somebody who sends the same again within a minute is counted, and is one unmet demand
	if !c.refusals.First("person "+string(e.Actor), strings.Join([]string{e.Tenant, size, e.Detail.ID}, " "), e) {
		return causeOf(err)
	}
	save := func() error { return c.db.Append(ctx, e) }
	if r := refusedOf(err); r != nil {
		kept := *r
		kept.Sentence = e.Detail
		save = func() error { return c.db.SaveRefusal(ctx, kept, e) }
	}
	if failed := save(); failed != nil {
		return failed
	}
	return causeOf(err)
}

func (c *core) refusalEvent(a identity.Actor, tenant, size string, f *fault.Error) audit.Event {
	e := audit.By(a, audit.RequestRefused, c.now())
	e.Detail = f.Sentence
	if len(f.Fields) > 0 {
		e.Detail = f.Fields[0].Reason
	}
	if a.Member(tenant) {
		e.Tenant = tenant
	}
	if _, known := c.site().Catalog.Size(size); known { // for what is counted of unmet demand
		e.Changes = []audit.Change{{Field: audit.AskedSize, New: size}}
	}
	return e
}

func fieldsOf(err error) []fault.Field {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Fields
	}
	return nil
}

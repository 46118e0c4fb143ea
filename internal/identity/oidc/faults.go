package oidc

import (
	"errors"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// unavailable is for a provider that does not answer.
func unavailable(cause error, after time.Duration) error {
	f := fault.Wrap(fault.Unavailable, short(cause), i18n.T("oidc.unavailable"))
	f.RetryAfter = max(after, time.Second)
	return f
}

// misfit is for a provider that answers, but not as our settings say; only an administrator can mend it.
func misfit(cause error, after time.Duration) error {
	f := fault.Wrap(fault.Unavailable, short(cause), i18n.T("oidc.misfit"))
	f.RetryAfter = max(after, time.Second)
	return f
}

// refused is for a sign-in that must not succeed. The cause is for the log and carries no secret.
func refused(id string, cause error) error {
	return fault.Wrap(fault.Forbidden, cause, i18n.T(id))
}

// asFault keeps a fault as it is, and makes a refusal with this sentence of anything else.
func asFault(err error, id string) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return f
	}
	return refused(id, err)
}

package license

import (
	"context"
	"errors"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// WhyOf is the sentence for people of a source's error.
func WhyOf(err error) i18n.Text {
	var f *Failure
	switch {
	case errors.As(err, &f):
		return f.Why
	case errors.Is(err, context.DeadlineExceeded):
		return i18n.T("licenses.why_slow")
	default:
		return i18n.T("licenses.why_away")
	}
}

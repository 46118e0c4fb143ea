// Package problem maps an error to what a caller may know of it: Of gives Details (status, title, sentence, fields) by
// the fault's kind, and Write answers them as application/problem+json (RFC 9457). It is the only such map. The id of
// the request is the instance, by which the log line with the cause is found.
package problem

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/logging"
)

// Details is application/problem+json (RFC 9457) with the fields that need a change.
type Details struct {
	Type     string         `json:"type"`
	Title    string         `json:"title"`
	Status   int            `json:"status"`
	Detail   string         `json:"detail,omitempty"`
	Instance string         `json:"instance,omitempty"`
	Fields   []FieldProblem `json:"fields,omitempty"`
	See      string         `json:"see,omitempty" doc:"Where in the API what is in the way can be read"`

	Trace      string        `json:"trace,omitempty" doc:"Id of the trace of this call, where the site keeps traces"`
	RetryAfter time.Duration `json:"-"`
}

// FieldProblem is one problem with one input field.
type FieldProblem struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// look is what a kind of fault looks like from outside.
type look struct {
	status int
	title  string // message id
}

// looks is the only map from kind to status and title; a test walks fault.Kinds().
var looks = map[fault.Kind]look{
	fault.Invalid:         {http.StatusUnprocessableEntity, "problem.invalid"},
	fault.Unauthenticated: {http.StatusUnauthorized, "problem.unauthenticated"},
	fault.Forbidden:       {http.StatusForbidden, "problem.forbidden"},
	fault.NotFound:        {http.StatusNotFound, "problem.not-found"},
	fault.Conflict:        {http.StatusConflict, "problem.conflict"},
	fault.TooMany:         {http.StatusTooManyRequests, "problem.too-many"},
	fault.TooLarge:        {http.StatusRequestEntityTooLarge, "problem.too-large"},
	fault.Unavailable:     {http.StatusServiceUnavailable, "problem.unavailable"},
	fault.Internal:        {http.StatusInternalServerError, "problem.internal"},
}

// Of turns an error into what the caller may know of it, in the reader's language.
func Of(err error, l *i18n.Localizer, requestID string) Details {
	f := Fault(err)
	lk, ok := looks[f.Kind]
	if !ok {
		lk = looks[fault.Internal]
	}
	d := Details{
		Type: "urn:gpu-portal:problem:" + string(f.Kind), Title: l.S(lk.title), Status: lk.status, Detail: l.Say(f.Sentence),
		RetryAfter: f.RetryAfter,
	}
	if f.See != "" {
		d.See = "/api/v1/" + f.See
	}
	if requestID != "" {
		d.Instance = Instance(requestID)
	}
	for _, field := range f.Fields {
		d.Fields = append(d.Fields, FieldProblem{Name: field.Name, Reason: l.Say(field.Reason)})
	}
	return d
}

// Fault reads echo's own errors (no such route, body too large) as faults too.
func Fault(err error) *fault.Error {
	var f *fault.Error
	var he *echo.HTTPError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, new(*http.MaxBytesError)):
		return fault.Wrap(fault.TooLarge, err, i18n.T("problem.too_large"))
	case errors.As(err, &he):
		return fault.Wrap(kindOfStatus(he.Code), err, sentenceOfStatus(he.Code))
	}
	return fault.As(err)
}

func kindOfStatus(code int) fault.Kind {
	for kind, lk := range looks {
		if lk.status == code {
			return kind
		}
	}
	if code == http.StatusMethodNotAllowed {
		return fault.NotFound
	}
	if code >= 400 && code < 500 {
		return fault.Invalid
	}
	return fault.Internal
}

func sentenceOfStatus(code int) i18n.Text {
	switch code {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return i18n.T("problem.no_page")
	case http.StatusRequestEntityTooLarge:
		return i18n.T("problem.too_large")
	case http.StatusForbidden:
		return i18n.T("problem.cross_origin")
	}
	if code >= 400 && code < 500 {
		return i18n.T("problem.unreadable")
	}
	return i18n.T("fault.internal")
}

type requestIDKey struct{}

// NewRequestID draws the id of a call.
func NewRequestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return hex.EncodeToString(b[:])
}

// Instance names a call in a problem (RFC 9457): a URN, because there is nothing to fetch there.
func Instance(requestID string) string { return "urn:gpu-portal:request:" + requestID }

// WithRequestID keeps the id of the call in its context, so that every reply about trouble can name it.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(logging.With(ctx, logging.Request, id), requestIDKey{}, id)
}

// RequestID is the id of the call, "" outside of one.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// Write answers with problem+json.
func Write(w http.ResponseWriter, d Details) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	d.SetRetryAfter(h)
	w.WriteHeader(d.Status)
	_ = json.NewEncoder(w).Encode(d)
}

// SetRetryAfter sets the header when the fault says when to come back.
func (d Details) SetRetryAfter(h http.Header) {
	if d.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((d.RetryAfter+time.Second-1)/time.Second)))
	}
}

// Status is the HTTP status of a kind of fault.
func Status(kind fault.Kind) int { return looks[kind].status }

// Package fault is the portal's error type: an Error has a Kind, which the edge maps to an HTTP status, a sentence for
// a person, the Fields of a form that are wrong, and a cause for the log that is never shown. New, InvalidFields and
// Wrap make one; Is, As and KindOf read it. What is no Error counts as Internal.
package fault

import (
	"errors"
	"fmt"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Kind says what sort of trouble it is. The edge maps each to one status; see serve.Problem.
type Kind string

// The kinds. Anything that is not a fault counts as Internal.
const (
	Invalid         Kind = "invalid"
	Unauthenticated Kind = "unauthenticated"
	Forbidden       Kind = "forbidden"
	NotFound        Kind = "not-found"
	Conflict        Kind = "conflict"
	TooMany         Kind = "too-many"
	TooLarge        Kind = "too-large"
	Unavailable     Kind = "unavailable"
	Internal        Kind = "internal"
)

// Kinds lists every kind, for tests that walk them.
func Kinds() []Kind {
	return []Kind{Invalid, Unauthenticated, Forbidden, NotFound, Conflict, TooMany, TooLarge, Unavailable, Internal}
}

// Field is one problem with one input field: its name as in the API body ("lease", "storage") and why.
type Field struct {
	Name   string
	Reason i18n.Text
	See    string // as in Error
}

// Error is a fault. Sentence is for a person; Cause is for the log.
type Error struct {
	Kind       Kind
	Sentence   i18n.Text
	Fields     []Field
	RetryAfter time.Duration
	// where what is in the way can be read or asked for, below the root of the pages and of the API alike: "requests/r-1";
	// "" for nowhere
	See   string
	Cause error
}

// New makes a fault of a kind with a sentence.
func New(kind Kind, sentence i18n.Text) *Error { return &Error{Kind: kind, Sentence: sentence} }

// InvalidFields makes an Invalid fault from field problems; it returns nil when there are none.
func InvalidFields(fields []Field) error {
	if len(fields) == 0 {
		return nil
	}
	return &Error{Kind: Invalid, Sentence: i18n.T("fault.fields", "Count", len(fields)), Fields: fields}
}

// Wrap makes a fault around a cause that only the log shall see.
func Wrap(kind Kind, cause error, sentence i18n.Text) *Error {
	return &Error{Kind: kind, Sentence: sentence, Cause: cause}
}

// Error is for the log, not for a person.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s", e.Kind, e.Sentence.ID)
	for _, f := range e.Fields {
		text += fmt.Sprintf(" [%s: %s]", f.Name, f.Reason.ID)
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// KindOf is the kind of an error: Internal for anything that is not a fault.
func KindOf(err error) Kind {
	var f *Error
	if errors.As(err, &f) {
		return f.Kind
	}
	return Internal
}

// Is reports whether err is a fault of this kind.
func Is(err error, kind Kind) bool { return err != nil && KindOf(err) == kind }

// As gives the fault inside err; an error that is none becomes an Internal fault around it.
func As(err error) *Error {
	var f *Error
	if errors.As(err, &f) {
		return f
	}
	return Wrap(Internal, err, i18n.T("fault.internal"))
}

package notify

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"strings"
	"syscall"

	gomail "github.com/wneessen/go-mail"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// deliveryError is an error with the sentence that people read for it. Own says that its words are the portal's, so
// that there is nobody to quote.
type deliveryError struct {
	error
	reason   i18n.Text
	internal bool
}

func (t deliveryError) Unwrap() error { return t.error }

// newDeliveryError is what the portal itself finds; the words are for the log.
func newDeliveryError(words, id string, pairs ...any) error {
	return deliveryError{errors.New(words), i18n.T(id, pairs...), true}
}

// kinds of trouble on the way to a receiver, the first that fits counts. Libraries wrap what the system says, so an
// error is looked at for what it holds; where they only leave words, for these.
var failures = []struct {
	is func(error) bool
	id string
}{
	{func(err error) bool { return errors.Is(err, errNotAllowed) }, "notify.failed.not_allowed"},
	{timedOut, "notify.failed.timeout"},
	{nameless, "notify.failed.not_allowed"},
	{func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }, "notify.failed.refused"},
	{insecure, "notify.failed.tls"},
	{notLetIn, "notify.failed.auth"},
	{func(err error) bool { return smtp(err, 500) && isReason(err, gomail.ErrSMTPRcptTo) }, "notify.failed.mailbox"},
	{func(err error) bool { return smtp(err, 500) }, "notify.failed.mail_refused"},
	{func(err error) bool { return smtp(err, 400) }, "notify.failed.mail_later"},
	{brokenOff, "notify.failed.unreachable"},
}

// Reason is the sentence for an attempt that failed.
func Reason(err error) i18n.Text {
	var t deliveryError
	if errors.As(err, &t) {
		return t.reason
	}
	for _, trouble := range failures {
		if trouble.is(err) {
			return i18n.T(trouble.id)
		}
	}
	return i18n.T("notify.failed.other")
}

// quoted is what the other side or the system said; "" where the portal itself found it.
func quoted(err error) string {
	var t deliveryError
	if errors.As(err, &t) && t.internal || errors.Is(err, errNotAllowed) {
		return ""
	}
	words, _, _ := strings.Cut(err.Error(), ", affected recipient(s):") // of go-mail, after the server's words
	return words
}

func nameless(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns)
}

func brokenOff(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// insecure: certificate and handshake. That a mail server offers no TLS the library says in words only.
func insecure(err error) bool {
	var (
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		host        x509.HostnameError
		invalid     x509.CertificateInvalidError
		alert       tls.AlertError
		record      tls.RecordHeaderError
	)
	return errors.As(err, &certificate) || errors.As(err, &authority) || errors.As(err, &host) ||
		errors.As(err, &invalid) || errors.As(err, &alert) || errors.As(err, &record) ||
		strings.Contains(err.Error(), "STARTTLS") || strings.Contains(err.Error(), "tls: ")
}

// notLetIn: the mail server refuses the portal's own account (RFC 4954, 4.7.1 and 6: 530, 534, 535, 538).
func notLetIn(err error) bool {
	var answer *textproto.Error
	if errors.As(err, &answer) && (answer.Code == 530 || answer.Code == 534 || answer.Code == 535 || answer.Code == 538) {
		return true
	}
	return strings.Contains(err.Error(), "SMTP AUTH")
}

// smtp reports whether a mail server answered with a code of a hundred.
func smtp(err error, hundred int) bool {
	var answer *gomail.SendError
	var line *textproto.Error
	switch {
	case errors.As(err, &answer):
		return answer.ErrorCode()/100*100 == hundred
	case errors.As(err, &line):
		return line.Code/100*100 == hundred
	}
	return false
}

func isReason(err error, reason gomail.SendErrReason) bool {
	var answer *gomail.SendError
	return errors.As(err, &answer) && answer.Reason == reason
}

// judge makes an error of an answer that is none of success. It quotes nothing of it: that may be anything.
func judge(status int) error {
	id := "notify.failed.status"
	switch {
	case status >= 200 && status < 300:
		return nil
	case status >= 300 && status < 400:
		id = "notify.failed.status_elsewhere"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		id = "notify.failed.status_not_let_in"
	case status == http.StatusNotFound || status == http.StatusGone:
		id = "notify.failed.status_gone"
	case status == http.StatusTooManyRequests:
		id = "notify.failed.status_busy"
	case status >= 500:
		id = "notify.failed.status_ill"
	}
	err := newDeliveryError(http.StatusText(status), id, "Code", status)
	if status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500 {
		return err
	}
	return refusal{err}
}

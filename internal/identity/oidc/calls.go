package oidc

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"

	"golang.org/x/oauth2"
)

// maxAnswer bounds one answer of the provider. Two thousand groups or a thousand keys stay well below.
const maxAnswer = 1 << 20

// bounded is the client for all calls to the provider. It follows no redirect, since one could carry code and secret
// elsewhere; it gives up after a while; and it reads no endless answer.
func bounded(given *http.Client) *http.Client {
	client := http.Client{}
	if given != nil {
		client = *given
	}
	if client.Timeout == 0 {
		client.Timeout = callTimeout
	}
	if client.Transport == nil {
		client.Transport = transport()
	}
	client.Transport = limited{client.Transport}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

// transport is the usual one, except that names below localhost are this machine (RFC 6761 section 6.3), which not
// every resolver knows.
func transport() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, port, err := net.SplitHostPort(address); err == nil &&
			strings.HasSuffix(strings.ToLower(host), ".localhost") {
			address = net.JoinHostPort("localhost", port)
		}
		return dial(ctx, network, address)
	}
	return t
}

// limited cuts answers off at maxAnswer; reading on is an error.
type limited struct{ next http.RoundTripper }

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	return answer, nil
}

// lookedAway reports whether a call failed because our own caller went away, which says nothing of the provider.
func lookedAway(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

// rejected reports whether the token endpoint did answer, with a refusal (status 4xx), and its error code.
func rejected(err error) (code string, ok bool) {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) || answer.Response == nil {
		return "", false
	}
	status := answer.Response.StatusCode
	return answer.ErrorCode, status >= 400 && status < 500 && status != http.StatusTooManyRequests &&
		status != http.StatusRequestTimeout
}

// short keeps an error's text to a length that suits a log line: go-oidc puts whole answers into some.
func short(err error) error {
	const most = 300
	text := strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, err.Error())
	if len(text) > most {
		text = text[:most] + "…"
	}
	return errors.New(text)
}

package reconcile

import (
	"context"
	"io"
	"net/http"
	"time"
)

// callTimeout bounds a call to an API server, from the request to the last byte of the answer: its own bound is 60 s
// too (--request-timeout). Without one a worker waits forever for a server that took the connection and says nothing.
const callTimeout = time.Minute

// timed ends every call but watches after callTimeout.
type timed struct{ next http.RoundTripper }

func (b timed) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("watch") != "" {
		return b.next.RoundTrip(r)
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	answer, err := b.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	answer.Body = timedBody{answer.Body, cancel}
	return answer, nil
}

type timedBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b timedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

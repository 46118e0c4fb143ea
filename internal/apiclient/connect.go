package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// Options say where a portal is and who calls it.
type Options struct {
	URL      string
	Token    string
	Agent    string        // User-Agent
	Language string        // Accept-Language; "" leaves the choice to the portal
	Timeout  time.Duration // for a whole call; 0 for a log that is followed
}

// Connect makes a client. It calls nothing.
func Connect(o Options) (*Client, error) {
	portal, err := Address(o.URL)
	if err != nil {
		return nil, err
	}
	sign := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+o.Token)
		r.Header.Set("User-Agent", o.Agent)
		r.Header.Set("Accept", "application/json, text/plain;q=0.9")
		if o.Language != "" {
			r.Header.Set("Accept-Language", o.Language)
		}
		return nil
	}
	// a redirect would take the token to another address, or make a GET of a POST
	doer := &http.Client{Timeout: o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return NewClient(portal, WithHTTPClient(doer), WithRequestEditorFn(sign))
}

// Address is the URL of a portal without what follows its host. Plain HTTP, which shows the token to the network, is
// for this machine only.
func Address(text string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "", fmt.Errorf("%q is no address of a portal: https://gpu.example.org is one", text)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return "", fmt.Errorf("%q is more than the address of a portal: give scheme and host alone", text)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return "", fmt.Errorf("%s would show your token to the network: use https", text)
	}
	return u.Scheme + "://" + u.Host, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Answer is what an operation answered: its JSON as it came, and read.
type Answer[T any] struct {
	Value T
	JSON  json.RawMessage
}

// ProblemError is a refusal of the portal, as problem details (RFC 9457) where it sent those.
type ProblemError struct {
	Problem
	RetryAfter time.Duration // 0 where the portal did not say
}

func (e *ProblemError) Error() string {
	if e.Detail != nil && *e.Detail != "" {
		return *e.Detail
	}
	return e.Title
}

// maxAnswer bounds what is read of an answer; a list of 500 workloads is below 1 MiB.
const maxAnswer = 32 << 20

// Read reads what an operation answered, and closes it.
func Read[T any](resp *http.Response, err error) (Answer[T], error) {
	var a Answer[T]
	if err != nil {
		return a, err
	}
	defer func() { _ = resp.Body.Close() }()
	if err := Refused(resp); err != nil {
		return a, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return a, fmt.Errorf("read the answer: %w", err)
	case len(body) > maxAnswer:
		return a, errors.New("the answer is longer than 32 MiB")
	}
	a.JSON = bytes.TrimSpace(body)
	if err := json.Unmarshal(a.JSON, &a.Value); err != nil {
		return a, fmt.Errorf("%s does not answer as a portal does: is the address right? (%w)", resp.Request.URL.Host, err)
	}
	return a, nil
}

// Refused is the error that an answer stands for, nil for a success. It leaves a success unread.
func Refused(resp *http.Response) error {
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return nil
	}
	e := &ProblemError{Problem: Problem{Status: int64(resp.StatusCode), Title: resp.Status}}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	var p Problem
	if err == nil && strings.HasPrefix(resp.Header.Get("Content-Type"), "application/problem+json") &&
		json.Unmarshal(body, &p) == nil {
		p.Status = e.Status
		e.Problem = p
	} else if to := resp.Header.Get("Location"); to != "" {
		e.Title = fmt.Sprintf("%s leads elsewhere: is the address of the portal right?", resp.Request.URL.Host)
	}
	return e
}

// Tunnel opens the WebSocket of the operation open-workload-tunnel, to a port by its name or number ("": that of SSH).
// The client's timeout is that of the handshake.
func Tunnel(ctx context.Context, c *Client, id, port string) (*websocket.Conn, error) {
	params := &OpenWorkloadTunnelParams{}
	if port != "" {
		params.Port = &port
	}
	r, err := NewOpenWorkloadTunnelRequest(c.Server, id, params)
	if err != nil {
		return nil, err
	}
	if err := c.applyEditors(ctx, r, nil); err != nil {
		return nil, err
	}
	doer, _ := c.Client.(*http.Client)
	conn, resp, err := websocket.Dial(ctx, r.URL.String(), &websocket.DialOptions{HTTPClient: doer, HTTPHeader: r.Header})
	if err == nil {
		return conn, nil
	}
	if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Request = r
		if refused := Refused(resp); refused != nil {
			return nil, refused
		}
	}
	return nil, fmt.Errorf("open the tunnel: %w", err)
}

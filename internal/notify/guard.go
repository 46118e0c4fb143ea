package notify

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Guard decides which addresses of people the portal calls. The zero value allows every public address over https.
type Guard struct {
	Hosts    []string       // names, or *.suffix; none: every host
	Networks []netip.Prefix // not public, and allowed nevertheless, then also without TLS
}

// errNotAllowed never says what the name resolved to: an answer that does would let people map the inside.
var errNotAllowed = errors.New("the address is not public, or the configuration does not allow it")

// CheckURL looks at an address before anything is called: its form, and its host by name.
func (g Guard) CheckURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || u.User != nil:
		return nil, errNotAllowed
	case u.Scheme != "https" && (u.Scheme != "http" || len(g.Networks) == 0):
		return nil, errNotAllowed
	case !g.named(u.Hostname()):
		return nil, errNotAllowed
	}
	return u, nil
}

func (g Guard) named(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	for _, h := range g.Hosts {
		suffix, wild := strings.CutPrefix(strings.ToLower(h), "*")
		if host == h || wild && strings.HasPrefix(suffix, ".") && strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return len(g.Hosts) == 0
}

// special are networks that net/netip does not call private and that are not public either: this host, carrier NAT,
// protocol assignments, benchmarks, documentation, translation to IPv4 and relays, reserved.
// https://www.iana.org/assignments/iana-ipv4-special-registry and -ipv6-.
var special = prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16",
	"fec0::/10")

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// allows reports whether an address may be dialled, and whether it is one that the configuration names.
func (g Guard) allows(ip netip.Addr) (ok, named bool) {
	ip = ip.Unmap().WithZone("")
	for _, p := range g.Networks {
		if p.Contains(ip) {
			return true, true
		}
	}
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false, false
	}
	for _, p := range special {
		if p.Contains(ip) {
			return false, false
		}
	}
	return true, false
}

// control looks at the address that is about to be dialled, after the name was resolved: a name that resolves to
// something else the next time gains nothing.
func (g Guard) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return errNotAllowed
	}
	if ok, _ := g.allows(at.Addr()); !ok {
		return errNotAllowed
	}
	return nil
}

const (
	sendFor   = 15 * time.Second
	mostReply = 64 << 10
)

// Client calls what the guard allows. It takes no proxy from the environment, for that would dial in its place, follows
// no redirect and keeps no connection.
func (g Guard) Client() *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second, Control: g.control}
	plain := &net.Dialer{Timeout: 5 * time.Second, Control: func(network, address string, c syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return errNotAllowed
		}
		if _, named := g.allows(at.Addr()); !named {
			return errNotAllowed
		}
		return nil
	}}
	through := guarded{guard: g, tls: transport(dialer), plainText: transport(plain)}
	return &http.Client{Timeout: sendFor, Transport: through, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

func transport(d *net.Dialer) *http.Transport {
	return &http.Transport{Proxy: nil, DialContext: d.DialContext, DisableKeepAlives: true,
		TLSHandshakeTimeout: 5 * time.Second, ResponseHeaderTimeout: sendFor, MaxResponseHeaderBytes: 32 << 10}
}

// guarded looks at each request again, for a library builds some of them, and bounds what is read of the answer.
type guarded struct {
	guard          Guard
	tls, plainText *http.Transport
}

// RoundTrip refuses what the guard does not allow.
func (t guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	u, err := t.guard.CheckURL(r.URL.String())
	if err != nil {
		return nil, err
	}
	through := t.tls
	if u.Scheme == "http" {
		through = t.plainText
	}
	answer, err := through.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, mostReply), answer.Body}
	}
	return answer, err
}

// refusal is an answer that another attempt will not change.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// Permanent reports whether another attempt is useless.
func Permanent(err error) bool {
	var r refusal
	return errors.As(err, &r) || errors.Is(err, errNotAllowed)
}

// plainly takes addresses out of an error, for they hold secrets: what is left is what went wrong, and the sentence for
// it.
func plainly(err error, secrets ...string) error {
	if err == nil {
		return nil
	}
	var known deliveryError
	switch {
	case errors.Is(err, errNotAllowed):
		return errNotAllowed
	case errors.As(err, &known) && known.internal:
		return err
	case nameless(err): // a name that is not there is told as one that is not public: else names could be tried out
		return newDeliveryError("the name is not known", "notify.failed.not_allowed")
	case timedOut(err):
		return newDeliveryError("no answer in time", "notify.failed.timeout")
	}
	plain := deliveryError{reason: Reason(err)}
	lasting := Permanent(err)
	var address *url.Error
	if errors.As(err, &address) {
		err = address.Err
	}
	text := oneLine(quoted(err), 200)
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "…")
		}
	}
	plain.error = errors.New(text)
	if lasting {
		return refusal{plain}
	}
	return plain
}

func timedOut(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

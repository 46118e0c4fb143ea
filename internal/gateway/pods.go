package gateway

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/proxy"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Dialer opens TCP connections to pods. *net.Dialer is one.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Cluster is how the pods of one cluster are reached. Transport goes before Dialer, Dialer before Dial.
type Cluster struct {
	Dial   string // the setting: "direct" (default), "socks5://[user:password@]host:port", "apiserver"
	Dialer Dialer // of the caller's own making, for tests
	// of the caller's own making; needed for "apiserver". WorkloadOf(request) says which pod is meant
	Transport http.RoundTripper
}

// PodsOptions is what Pods needs.
type PodsOptions struct {
	Clusters      map[string]Cluster // by the name that workloads carry
	Secrets       Secrets
	Now           func() time.Time
	HeaderTimeout time.Duration // 10 min: how long a pod may think before it begins to answer; models may take long
	ProbeTimeout  time.Duration // 2 s
}

// Pods reaches the pods of workloads, at the address the controller observed and at no other.
type Pods struct {
	opts       PodsOptions
	transports map[string]http.RoundTripper
	dialers    map[string]Dialer // of the clusters whose pods take more than HTTP
	turn       atomic.Uint64     // whose of several replicas it is
}

// NewPods reads the dial settings. All that cannot be read are named in one error.
func NewPods(opts PodsOptions) (*Pods, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.HeaderTimeout == 0 {
		opts.HeaderTimeout = 10 * time.Minute
	}
	if opts.ProbeTimeout == 0 {
		opts.ProbeTimeout = 2 * time.Second
	}
	p := &Pods{opts: opts, transports: map[string]http.RoundTripper{}, dialers: map[string]Dialer{}}
	var problems []error
	for name, c := range opts.Clusters {
		d, err := c.dialer()
		if err != nil {
			problems = append(problems, fmt.Errorf("gateway: cluster %s: %w", name, err))
		}
		p.transports[name] = c.Transport
		if c.Transport == nil && err == nil {
			p.dialers[name], p.transports[name] = d, newTransport(d, opts.HeaderTimeout)
		}
	}
	return p, errors.Join(problems...)
}

// dialer is nil for a cluster with a Transport.
func (c Cluster) dialer() (Dialer, error) {
	if c.Transport != nil || c.Dialer != nil {
		return c.Dialer, nil
	}
	return NewDialer(c.Dial)
}

func newTransport(dialer Dialer, headers time.Duration) http.RoundTripper {
	return &http.Transport{
		Proxy:                  nil, // a proxy from the environment is for the portal's own calls, not for pods
		DialContext:            dialing(dialer),
		DisableCompression:     true, // what the pod sends is what the browser gets
		MaxIdleConns:           4096,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        90 * time.Second,
		ResponseHeaderTimeout:  headers,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		ReadBufferSize:         headerBuffer,
		WriteBufferSize:        headerBuffer,
	}
}

// Dials reports whether the pods of a cluster take more than HTTP: through the API server they do not.
func (p *Pods) Dials(cluster string) bool { return p.dialers[cluster] != nil }

// Dial opens a connection to a port of the workload's pod, at the address that the controller observed. Through the API
// server pods take HTTP only.
func (p *Pods) Dial(ctx context.Context, w workload.Workload, port int32) (net.Conn, error) {
	w.Image.Port = port
	to, err := p.at(w, w.Revision())
	if err != nil {
		return nil, err
	}
	d := p.dialers[w.Cluster]
	if d == nil {
		return nil, fmt.Errorf("gateway: the pods of cluster %q are reached through its API server, which passes HTTP only",
			w.Cluster)
	}
	return dialing(d)(ctx, "tcp", to.host)
}

// NewDialer reads a dial setting.
func NewDialer(setting string) (Dialer, error) {
	direct := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	if setting == "" || setting == "direct" {
		return direct, nil
	}
	if setting == "apiserver" {
		return nil, errors.New(`dial "apiserver" needs a transport of the cluster's client`)
	}
	u, err := url.Parse(setting)
	if err != nil || u.Scheme != "socks5" || u.Port() == "" || u.Path != "" {
		return nil, fmt.Errorf("dial %q is none of direct, socks5://host:port, apiserver", redacted(u))
	}
	var auth *proxy.Auth
	if u.User != nil {
		password, _ := u.User.Password()
		auth = &proxy.Auth{User: u.User.Username(), Password: password}
	}
	socks, err := proxy.SOCKS5("tcp", u.Host, auth, direct)
	if err != nil {
		return nil, err
	}
	return socks.(proxy.ContextDialer), nil
}

func redacted(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.Redacted()
}

// dialError tells "nobody answers there yet" from trouble later on.
type dialError struct{ cause error }

func (e dialError) Error() string { return "dial the pod: " + e.cause.Error() }
func (e dialError) Unwrap() error { return e.cause }

func dialing(d Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, stop := context.WithTimeout(ctx, 5*time.Second)
		defer stop()
		pod, err := addressOf(address)
		if err != nil {
			return nil, dialError{err}
		}
		conn, err := d.DialContext(ctx, network, pod)
		if err != nil {
			return nil, dialError{err}
		}
		return conn, nil
	}
}

// target is one port of one pod. Host names it for the transport, which keeps connections by that name: an address
// alone would lend the connection of a pod that is gone, kept open by something on the way, to the next pod with its
// address.
type target struct {
	cluster, pod, address, host string
	revision                    int // which version of the endpoint the pod runs
}

// hostOf names a pod's port so that no other pod, before or after, has the same name; addressOf reads the address back.
func hostOf(w workload.Workload, ip netip.Addr, port string) string {
	return net.JoinHostPort(fmt.Sprintf("%x.%d.%x.pod", ip.AsSlice(), w.Observed.Generation, string(w.ID)), port)
}

func addressOf(host string) (string, error) {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		return "", err
	}
	label, _, _ := strings.Cut(name, ".")
	bytes, err := hex.DecodeString(label)
	if err != nil {
		return "", errTarget
	}
	ip, ok := netip.AddrFromSlice(bytes)
	if !ok {
		return "", errTarget
	}
	return net.JoinHostPort(ip.String(), port), nil
}

var errTarget = errors.New("gateway: the workload has no address that may be reached")

// metadata services of clouds that are not link-local.
var metadata = []netip.Addr{netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("fd00:ec2::254")}

// target gives where the workload answers: an address that the cluster reported for its own pod. The address of a
// host's own services is never one.
func (p *Pods) target(w workload.Workload) (target, error) {
	return p.targetOf(w, 0)
}

// targetOf is target, at a pod of one version where that is ready; 0 for whichever it is the turn of.
func (p *Pods) targetOf(w workload.Workload, wanted int) (target, error) {
	var revision int
	w.Observed, revision = p.oneOf(w.Observed, p.version(w, wanted))
	revision = max(1, revision)
	return p.at(w.AsRevision(revision), revision)
}

// at is the port of the image on the pod that the observation names.
func (p *Pods) at(w workload.Workload, revision int) (target, error) {
	ip, err := netip.ParseAddr(w.Observed.PodIP)
	if err != nil || w.Image.Port < 1 || w.Image.Port > 65535 {
		return target{}, errTarget
	}
	if ip.Zone() != "" || !isPodAddress(ip.Unmap()) {
		return target{}, errTarget
	}
	if p.transports[w.Cluster] == nil {
		return target{}, fmt.Errorf("gateway: no way to cluster %q", w.Cluster)
	}
	port := strconv.Itoa(int(w.Image.Port))
	return target{w.Cluster, w.Observed.Pod, net.JoinHostPort(ip.Unmap().String(), port), hostOf(w, ip.Unmap(), port),
		revision}, nil
}

// version is whose turn a call is while a canary takes a part of them; 0 for any.
func (p *Pods) version(w workload.Workload, wanted int) int {
	r := w.Revisions.Rollout
	switch {
	case wanted > 0 || r == nil || r.Canary == nil:
		return wanted
	case rand.IntN(100) < r.Canary.Percent:
		return r.To
	}
	return r.From
}

// oneOf names as the pod of an observation one of those that are ready, each in turn, and says which version it runs; 0
// for the first.
func (p *Pods) oneOf(o workload.Observation, wanted int) (workload.Observation, int) {
	if slices.ContainsFunc(o.Pods, isWorker) {
		o = ofLeaders(o)
	}
	if len(o.Pods) == 0 {
		return o, 0
	}
	if len(o.Pods) == 1 {
		return o, o.Pods[0].Revision
	}
	ready := slices.DeleteFunc(slices.Clone(o.Pods), func(r workload.Replica) bool { return !r.Ready || r.IP == "" })
	if of := slices.DeleteFunc(slices.Clone(ready), func(r workload.Replica) bool {
		return wanted > 0 && max(1, r.Revision) != wanted
	}); len(of) > 0 {
		ready = of
	}
	if len(ready) > 0 {
		one := ready[p.turn.Add(1)%uint64(len(ready))]
		o.Pod, o.PodIP = one.Pod, one.IP
		return o, one.Revision
	}
	return o, o.Pods[0].Revision
}

func isWorker(r workload.Replica) bool { return r.Worker }

// ofLeaders leaves out pods that answer nobody. The one that an observation names may be such a pod: the one that keeps
// the others from being ready.
func ofLeaders(o workload.Observation) workload.Observation {
	o.Pods = slices.DeleteFunc(slices.Clone(o.Pods), isWorker)
	o.Pod, o.PodIP = "", ""
	if len(o.Pods) > 0 {
		o.Pod, o.PodIP = o.Pods[0].Pod, o.Pods[0].IP
	}
	return o
}

func isPodAddress(ip netip.Addr) bool {
	for _, m := range metadata {
		if ip == m {
			return false
		}
	}
	return !ip.IsUnspecified() && !ip.IsLoopback() && !ip.IsMulticast() && !ip.IsLinkLocalUnicast() &&
		ip != netip.AddrFrom4([4]byte{255, 255, 255, 255})
}

// authorize shows the workload's own secret to its server.
func (p *Pods) authorize(h http.Header, w workload.Workload) {
	word := ""
	switch w.Image.Auth {
	case "token": // as Jupyter wants it
		word = "token "
	case "bearer":
		word = "Bearer "
	}
	if word == "" || p.opts.Secrets == nil {
		return
	}
	if token := p.opts.Secrets.Token(w); token != "" {
		h.Set("Authorization", word+token)
	}
}

type workloadKey struct{}

// WorkloadOf says which workload a call is for; a Transport of the caller's own making finds namespace and pod there.
func WorkloadOf(r *http.Request) (workload.Workload, bool) {
	if e := exchangeOf(r.Context()); e != nil {
		return *e.grant.workload, true
	}
	w, ok := r.Context().Value(workloadKey{}).(workload.Workload)
	return w, ok
}

package agentreport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/agent"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
)

// Bounds of one round. A report of eight cards in seven slices is a hundred kilobytes.
const (
	mostPods = 5000
	atOnce   = 8
	patience = 5 * time.Second // for one agent
)

// Stale is how old a report may be and still count: an agent takes one every ten seconds.
const Stale = 2 * time.Minute

// ahead is how far a node's clock may be before ours.
const ahead = time.Minute

// Pod is an agent's pod as the API server has it.
type Pod struct {
	Name string
	Node string // that it is bound to
	IP   string
}

// Options holds the dependencies and settings of a Reader.
type Options struct {
	Cluster string
	// Pods lists the agents' pods that run.
	Pods func(ctx context.Context) ([]Pod, error)
	// URL is where a pod's report is; Transport gets there.
	URL       func(Pod) (string, error)
	Transport http.RoundTripper
	TokenFile string // of the bearer token that the agents ask for; "": none
	Changed   func() // told when layouts or licenses are not what they were
	Now       func() time.Time
	Logger    *slog.Logger
}

// Reader keeps the last believable report of each node. It is safe for concurrent use.
type Reader struct {
	o      Options
	client *http.Client

	mu    sync.Mutex
	nodes map[string]node
}

// node is what is kept of one node's report.
type node struct {
	at      time.Time
	cards   []inventory.PhysicalCard
	devices []license.Device
}

// New makes a reader that knows nothing yet.
func New(o Options) *Reader {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	return &Reader{o: o, nodes: map[string]node{}, client: &http.Client{Transport: o.Transport, Timeout: patience,
		// The token must not follow to another place.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Forget drops what it knew, when another replica goes on.
func (r *Reader) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes = map[string]node{}
}

// Round asks every agent once. An agent that does not answer keeps its last word until that is stale; one whose pod is
// gone has none.
func (r *Reader) Round(ctx context.Context) error {
	pods, err := r.o.Pods(ctx)
	if err != nil {
		return err
	}
	pods = oneEach(pods)
	token, err := r.token()
	if err != nil {
		return err
	}
	heard := r.askAll(ctx, pods, token)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if r.keep(pods, heard) {
		r.o.Changed()
	}
	return nil
}

// oneEach leaves one pod a node, the first by name: while a DaemonSet rolls there may be two.
func oneEach(pods []Pod) []Pod {
	pods = slices.DeleteFunc(slices.Clone(pods), func(p Pod) bool { return p.Node == "" || p.IP == "" })
	slices.SortFunc(pods, func(a, b Pod) int {
		return strings.Compare(a.Node+"\x00"+a.Name, b.Node+"\x00"+b.Name)
	})
	pods = slices.CompactFunc(pods, func(a, b Pod) bool { return a.Node == b.Node })
	return pods[:min(len(pods), mostPods)]
}

// token is read for each round, so that it may change in place.
func (r *Reader) token() (string, error) {
	if r.o.TokenFile == "" {
		return "", nil
	}
	text, err := os.ReadFile(r.o.TokenFile)
	if err != nil {
		return "", fmt.Errorf("read the agents' token: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

func (r *Reader) askAll(ctx context.Context, pods []Pod, token string) map[string]node {
	var mu sync.Mutex
	var group sync.WaitGroup
	heard, slots := map[string]node{}, make(chan struct{}, atOnce)
	for _, p := range pods {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			report, err := r.ask(ctx, p, token)
			if err != nil {
				r.o.Logger.DebugContext(ctx, "ask a node agent", "cluster", r.o.Cluster, "node", p.Node, "error", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			heard[p.Node] = report
		})
	}
	group.Wait()
	return heard
}

var errStatus = errors.New("the agent answers with another status")

func (r *Reader) ask(ctx context.Context, p Pod, token string) (node, error) {
	address, err := r.o.URL(p)
	if err != nil {
		return node{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return node{}, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := r.client.Do(request)
	if err != nil {
		return node{}, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		_, _ = io.CopyN(io.Discard, answer.Body, 4<<10)
		return node{}, fmt.Errorf("%w: %d", errStatus, answer.StatusCode)
	}
	report, err := agent.Parse(answer.Body)
	if err != nil {
		return node{}, err
	}
	return take(r.o.Cluster, p, report, r.o.Now())
}

// keep stores a report and says whether anything but the time is new.
func (r *Reader) keep(pods []Pod, heard map[string]node) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, now := r.nodes, r.o.Now()
	after := map[string]node{}
	for _, p := range pods {
		n, ok := heard[p.Node]
		if old, was := before[p.Node]; was && (!ok || n.at.Before(old.at)) {
			n, ok = old, true
		}
		if ok && now.Sub(n.at) <= Stale {
			after[p.Node] = n
		}
	}
	r.nodes = after
	return !maps.EqualFunc(before, after, node.says)
}

// says reports whether two reports say the same, whenever they do.
func (n node) says(o node) bool {
	return reflect.DeepEqual(n.cards, o.cards) &&
		slices.EqualFunc(n.devices, o.devices, func(a, b license.Device) bool {
			return a.UUID == b.UUID &&
				a.State == b.State
		})
}

// Cards are the physical cards by node.
func (r *Reader) Cards() map[string][]inventory.PhysicalCard {
	all := map[string][]inventory.PhysicalCard{}
	r.each(func(name string, n node) { all[name] = n.cards })
	return all
}

// Devices are the vGPUs whose license the agents know, by node and then as NVML counts them.
func (r *Reader) Devices() []license.Device {
	var all []license.Device
	r.each(func(_ string, n node) { all = append(all, n.devices...) })
	return all
}

func (r *Reader) each(f func(name string, n node)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.o.Now()
	for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
		if n := r.nodes[name]; now.Sub(n.at) <= Stale {
			f(name, n)
		}
	}
}

package stub

import (
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"
)

// kernel is a kernel as GET /api/kernels shows it.
type kernel struct {
	ID             string    `json:"id"`
	Name           string    `json:"name"`
	LastActivity   time.Time `json:"last_activity"`
	ExecutionState string    `json:"execution_state"`
	Connections    int       `json:"connections"`
}

// notebook is what a Jupyter server remembers.
type notebook struct {
	mu           sync.Mutex
	started      time.Time
	lastActivity time.Time
	kernels      []*kernel
}

func (n *notebook) begin(at time.Time) { n.started, n.lastActivity = at, at }

// status is the answer of GET /api/status.
type status struct {
	Connections  int       `json:"connections"`
	Kernels      int       `json:"kernels"`
	LastActivity time.Time `json:"last_activity"`
	Started      time.Time `json:"started"`
}

func (n *notebook) status() status {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := status{Kernels: len(n.kernels), LastActivity: n.lastActivity.UTC(), Started: n.started.UTC()}
	for _, k := range n.kernels {
		s.Connections += k.Connections
	}
	return s
}

func (n *notebook) list() []kernel {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := []kernel{}
	for _, k := range n.kernels {
		all = append(all, *k)
	}
	return all
}

func (n *notebook) touch() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lastActivity = time.Now()
}

func (n *notebook) add(name string) kernel {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now().UTC()
	k := &kernel{ID: newID(), Name: name, LastActivity: now, ExecutionState: "idle"}
	n.kernels = append(n.kernels, k)
	n.lastActivity = now
	return *k
}

func (n *notebook) remove(id string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := len(n.kernels)
	n.kernels = slices.DeleteFunc(n.kernels, func(k *kernel) bool { return k.ID == id })
	return len(n.kernels) < before
}

// connect counts connections to a kernel up or down and marks activity.
func (n *notebook) connect(id string, by int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, k := range n.kernels {
		if k.ID == id {
			k.Connections += by
			k.LastActivity = time.Now().UTC()
			n.lastActivity = k.LastActivity
			return true
		}
	}
	return false
}

// Pretend makes the server remember that it was last used at a time, with so many kernels in a state: for tests of
// idleness that cannot wait for hours.
func (w *Workload) Pretend(last time.Time, kernels int, state string) {
	n := &w.jupyter
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lastActivity = last
	if n.started.After(last) {
		n.started = last
	}
	n.kernels = nil
	for range kernels {
		n.kernels = append(n.kernels, &kernel{ID: newID(), Name: "python3", LastActivity: last.UTC(), ExecutionState: state})
	}
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

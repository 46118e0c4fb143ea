package health

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Store keeps quarantines, and knows what runs. Faults: Unavailable when the database is away.
type Store interface {
	Quarantines(ctx context.Context) ([]Quarantine, error)
	// SaveQuarantine keeps a quarantine, in place of one with another note, and writes the events; where there is one
	// with the same note it does nothing.
	SaveQuarantine(ctx context.Context, m Quarantine, events ...audit.Event) error
	// DeleteQuarantine takes a quarantine away and writes the events; where there is none it does nothing.
	DeleteQuarantine(ctx context.Context, p Target, events ...audit.Event) error
	Living(ctx context.Context) ([]workload.Workload, error)
	Snapshot(ctx context.Context, cluster string) (s inventory.Snapshot, ok bool)
}

// Source is what DCGM says in one cluster; neither call waits.
type Source interface {
	Report() gpumetrics.Report
	Fleet() *gpumetrics.Fleet
}

// Options are the dependencies of a Service.
type Options struct {
	Store   Store
	Sources map[string]Source // by cluster
	Changed func()            // called when the quarantines are others than before; nil: nobody asks
	Recent  time.Duration     // for how long an error that an agent has heard of is news; 0: as for DCGM's
	Now     func() time.Time
	Logger  *slog.Logger // nil: nothing is logged
}

// Service quarantines nodes and cards, and says how they are. It is safe for use by many goroutines.
type Service struct {
	o       Options
	refresh sync.Mutex
	known   atomic.Pointer[[]Quarantine]
	joined  reports
}

// New begins without any quarantine; Refresh loads those that there are.
func New(o Options) *Service {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Recent == 0 {
		o.Recent = gpumetrics.UsualRecent
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	s := &Service{o: o}
	s.known.Store(&[]Quarantine{})
	return s
}

// Refresh reads all quarantines; there are few.
func (s *Service) Refresh(ctx context.Context) error {
	s.refresh.Lock()
	defer s.refresh.Unlock()
	list, err := s.o.Store.Quarantines(ctx)
	if err != nil {
		return err
	}
	if before := s.known.Swap(&list); !slices.Equal(*before, list) {
		s.o.Changed()
	}
	return nil
}

// Follow loads what other replicas change, until the context ends. changed tells that there may be something new;
// every so often it is looked at anyway.
func (s *Service) Follow(ctx context.Context, changed <-chan struct{}, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if err := s.Refresh(ctx); err != nil && ctx.Err() == nil {
			s.o.Logger.WarnContext(ctx, "the quarantines of bad cards could not be read, the last known ones go on",
				"error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-ticker.C:
		}
	}
}

// Quarantined is what is quarantined in a cluster, for the inventory and for new pods.
func (s *Service) Quarantined(cluster string) inventory.Quarantine {
	m := inventory.Quarantine{Nodes: map[string]bool{}, Cards: map[string]string{}}
	for _, quarantine := range *s.known.Load() {
		switch {
		case quarantine.Cluster != cluster:
		case quarantine.Kind == Node:
			m.Nodes[quarantine.Name] = true
		default:
			m.Cards[quarantine.Name] = quarantine.Node
		}
	}
	return m
}

// List gives all quarantines, also of what is gone; for those who may know how the cards are.
func (s *Service) List(ctx context.Context, a identity.Actor) ([]Quarantine, error) {
	if err := identity.Known(a); err != nil {
		return nil, err
	}
	if !identity.Can(a, identity.ReadMetrics, identity.Resource{}) {
		return nil, fault.New(fault.NotFound, i18n.T("problem.no_page"))
	}
	return s.o.Store.Quarantines(ctx)
}

// Quarantine quarantines a node or a card, and notifies those who hold something there. The same once more changes
// nothing; another note is told again. Invalid with the field, NotFound for what nobody has ever seen.
func (s *Service) Quarantine(ctx context.Context, a identity.Actor, p Target, note string) (Quarantine, error) {
	if err := permit(a); err != nil {
		return Quarantine{}, err
	}
	note, err := check(p, note)
	if err != nil {
		return Quarantine{}, err
	}
	old, was, err := s.current(ctx, p)
	if err != nil || was && old.Note == note {
		return old, err
	}
	node, seen := s.locate(ctx, p)
	if !seen {
		if node = old.Node; !was {
			return Quarantine{}, fault.New(fault.NotFound, i18n.T("health.no_place"))
		}
	}
	m := Quarantine{Target: p, Node: node, Note: note, By: a.Person.ID, ByName: a.Person.Name, At: s.o.Now()}
	holders, err := s.holders(ctx, m)
	if err != nil {
		return Quarantine{}, err
	}
	if err := s.o.Store.SaveQuarantine(ctx, m, audited(event(a, audit.HardwareQuarantined, m, old.Note, note, m.At), m,
		holders)...); err != nil {
		return Quarantine{}, err
	}
	return m, s.Refresh(ctx)
}

// Release takes a quarantine back; where there is none there is nothing to do.
func (s *Service) Release(ctx context.Context, a identity.Actor, p Target) error {
	if err := permit(a); err != nil {
		return err
	}
	old, was, err := s.current(ctx, p)
	if err != nil || !was {
		return err
	}
	if err := s.o.Store.DeleteQuarantine(ctx, p, event(a, audit.QuarantineEnded, old, old.Note, "",
		s.o.Now())); err != nil {
		return err
	}
	return s.Refresh(ctx)
}

func permit(a identity.Actor) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	if !identity.Can(a, identity.QuarantineHardware, identity.Resource{}) {
		return fault.New(fault.Forbidden, i18n.T("health.admins_only"))
	}
	return nil
}

// current is the quarantine that the database has now.
func (s *Service) current(ctx context.Context, p Target) (m Quarantine, was bool, err error) {
	list, err := s.o.Store.Quarantines(ctx)
	if err != nil {
		return Quarantine{}, false, err
	}
	i := slices.IndexFunc(list, func(m Quarantine) bool { return m.Target == p })
	if i < 0 {
		return Quarantine{Target: p}, false, nil
	}
	return list[i], true, nil
}

// locate says on which node a place is now, by the API server, the node's agent or DCGM.
func (s *Service) locate(ctx context.Context, p Target) (node string, seen bool) {
	snapshot, _ := s.o.Store.Snapshot(ctx, p.Cluster)
	for _, n := range snapshot.Nodes {
		if p.Kind == Node && n.Name == p.Name || p.Kind == Card && has(n, p.Name) {
			return n.Name, true
		}
	}
	if source := s.o.Sources[p.Cluster]; source != nil && p.Kind == Card {
		for _, c := range source.Report().Health {
			if c.UUID == p.Name && c.Node != "" {
				return c.Node, true
			}
		}
	}
	return "", false
}

// has reports whether a node's agent or a DRA driver names a card.
func has(n inventory.Node, uuid string) bool {
	if _, ok := n.Card(uuid); ok {
		return true
	}
	return slices.ContainsFunc(n.Devices, func(d inventory.Device) bool { return d.CardOf() == uuid })
}

// Holders are the workloads whose people would be told if a place were quarantined; NotFound for what nobody has ever
// seen.
func (s *Service) Holders(ctx context.Context, a identity.Actor, p Target) ([]Holder, error) {
	if err := permit(a); err != nil {
		return nil, err
	}
	node, seen := s.locate(ctx, p)
	if !seen {
		old, was, err := s.current(ctx, p)
		switch {
		case err != nil:
			return nil, err
		case !was:
			return nil, fault.New(fault.NotFound, i18n.T("health.no_place"))
		}
		node = old.Node
	}
	return s.holders(ctx, Quarantine{Target: p, Node: node})
}

// holders are the workloads that hold something of a place. Of a card those are told that are known to be on it; where
// nobody says who is, all on its node: one of them is.
func (s *Service) holders(ctx context.Context, m Quarantine) ([]Holder, error) {
	living, err := s.o.Store.Living(ctx)
	if err != nil {
		return nil, err
	}
	var on []Holder
	for i := range living {
		if w := &living[i]; w.Cluster == m.Cluster && w.Observed.PodPresent && w.Observed.Node == m.Node &&
			(m.Kind == Node || !w.Size.CPUOnly()) {
			on = append(on, Holder{Workload: w, Sure: m.Kind == Node})
		}
	}
	if m.Kind == Card && len(on) > 0 {
		snapshot, _ := s.o.Store.Snapshot(ctx, m.Cluster)
		var fleet *gpumetrics.Fleet
		if source := s.o.Sources[m.Cluster]; source != nil {
			fleet = source.Fleet()
		}
		on = onCard(on, usersOf(snapshot, fleet, m.Node), m.Name)
	}
	slices.SortFunc(on, func(a, b Holder) int { return cmp.Compare(a.Name, b.Name) })
	return on, nil
}

// users are who is known to be on the cards of a node: by pod, which cards.
type users map[gpumetrics.Pod]map[string]bool

func (u users) add(namespace, pod, card string) {
	key := gpumetrics.Pod{Namespace: namespace, Name: pod}
	if u[key] == nil {
		u[key] = map[string]bool{}
	}
	u[key][card] = true
}

// usersOf asks the DRA driver's allocations and DCGM about one node.
func usersOf(snapshot inventory.Snapshot, fleet *gpumetrics.Fleet, node string) users {
	u := users{}
	for n := range snapshot.Nodes {
		if snapshot.Nodes[n].Name == node {
			u.allocated(&snapshot.Nodes[n])
		}
	}
	if fleet == nil {
		return u
	}
	for n := range fleet.Nodes {
		if fleet.Nodes[n].Name == node {
			u.measured(&fleet.Nodes[n])
		}
	}
	return u
}

// usersByNode is usersOf for some nodes at once: a large fleet is gone through once, not once for each of them.
func usersByNode(snapshot inventory.Snapshot, fleet *gpumetrics.Fleet,
	wanted map[string][]*workload.Workload) map[string]users {
	all := make(map[string]users, len(wanted))
	for node := range wanted {
		all[node] = users{}
	}
	for n := range snapshot.Nodes {
		if u, ok := all[snapshot.Nodes[n].Name]; ok {
			u.allocated(&snapshot.Nodes[n])
		}
	}
	if fleet == nil {
		return all
	}
	for n := range fleet.Nodes {
		if u, ok := all[fleet.Nodes[n].Name]; ok {
			u.measured(&fleet.Nodes[n])
		}
	}
	return all
}

func (u users) allocated(n *inventory.Node) {
	for i := range n.Devices {
		d := &n.Devices[i]
		for _, h := range d.Holders {
			u.add(h.Namespace, h.Pod, d.CardOf())
		}
	}
}

func (u users) measured(n *gpumetrics.Node) {
	for _, c := range n.Cards {
		for _, cell := range c.Cells {
			for _, pod := range cell.Pods {
				u.add(pod.Namespace, pod.Name, c.UUID)
			}
		}
	}
}

// onCard leaves out those that are known to be on other cards.
func onCard(list []Holder, u users, card string) []Holder {
	var out []Holder
	for _, h := range list {
		cards, known := u[gpumetrics.Pod{Namespace: h.Namespace, Name: h.Observed.Pod}]
		if h.Sure = cards[card]; h.Sure || !known {
			out = append(out, h)
		}
	}
	return out
}

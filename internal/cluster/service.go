package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// Bounds.
const (
	Most        = 50       // clusters that are added
	MaxName     = 40       // characters, as in the configuration
	MaxSettings = 16 << 10 // bytes
	seenFor     = 3 * time.Minute
)

// Cluster is the record of one that was added.
type Cluster struct {
	Name       string
	Server     string // address of the API server
	Sealed     string // credentials and settings, encrypted
	AddedBy    identity.PersonID
	AdderName  string
	AddedAt    time.Time
	ReplacedAt time.Time // when its credentials were last replaced; zero for never
	Version    int64     // optimistic lock
}

// Store keeps clusters. Faults: NotFound for what does not exist, Conflict for a name that is taken, a lost race, and
// for the removal of one where something is left, Unavailable when the database is away.
type Store interface {
	// Clusters lists them by name.
	Clusters(ctx context.Context) ([]Cluster, error)
	CreateCluster(ctx context.Context, c Cluster, most int, event audit.Event) error
	ReplaceCluster(ctx context.Context, c Cluster, event audit.Event) error
	// ResealCluster writes the sealed text alone; Conflict where the cluster was changed since.
	ResealCluster(ctx context.Context, c Cluster) error
	// RemoveCluster is a Conflict while workloads that have not ended, or volumes, are there.
	RemoveCluster(ctx context.Context, name string, event audit.Event) error
	// Reports are what the portal's processes found of what they stand on.
	Reports(ctx context.Context, since time.Time) ([]doctor.Report, error)
}

// Draft is a cluster as somebody wants it.
type Draft struct {
	Name       string
	Kubeconfig string
	Settings   string // YAML: what else the configuration would say of the cluster, such as prometheus and podAccess
}

// Options are all needed but Logger.
type Options struct {
	Store      Store
	Keys       secret.Keyring
	Configured []string // clusters of the configuration
	// Settings says what is wrong with the settings of a draft.
	Settings func(text string) error
	// Test asks a cluster what the portal needs to know of it.
	Test func(ctx context.Context, name string, a Access, settings string) doctor.Facts
	// InUse are the clusters that this process works with.
	InUse  func() []string
	Now    func() time.Time
	Logger *slog.Logger
}

// Service is safe for use by many goroutines.
type Service struct{ o Options }

// New makes the service.
func New(o Options) *Service {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{o}
}

// Listed is a cluster with how it is.
type Listed struct {
	Cluster        // only Name for one of the configuration
	Added     bool // in the portal
	InUse     bool // this process works with it
	Hidden    bool // the configuration has one of the same name, which counts
	Asked     bool // some process has looked at it
	Err       string
	CheckedAt time.Time
	Kube      string // its version
	Nodes     int
	WithGPU   int
	GPUs      int64 // devices of all kinds that nodes offer
}

// State is how a cluster is.
type State string

// The states.
const (
	Hidden      State = "hidden"  // the configuration has one of the same name, which counts
	Pending     State = "pending" // this process does not work with it yet
	Unknown     State = "unknown" // nobody has looked
	Reachable   State = "reachable"
	Unreachable State = "unreachable"
)

// State is the one word for how it is.
func (l Listed) State() State {
	switch {
	case l.Hidden:
		return Hidden
	case !l.InUse:
		return Pending
	case !l.Asked:
		return Unknown
	case l.Err != "":
		return Unreachable
	}
	return Reachable
}

// List gives all clusters, those of the configuration first. NotFound for who may not read it.
func (s *Service) List(ctx context.Context, a identity.Actor) ([]Listed, error) {
	if err := permit(a, identity.ReadClusters); err != nil {
		return nil, err
	}
	stored, err := s.o.Store.Clusters(ctx)
	if err != nil {
		return nil, err
	}
	reports, err := s.o.Store.Reports(ctx, s.o.Now().Add(-seenFor))
	if err != nil {
		return nil, err
	}
	var list []Listed
	for _, name := range s.o.Configured {
		list = append(list, Listed{Cluster: Cluster{Name: name}})
	}
	for _, c := range stored {
		c.Sealed = ""
		list = append(list, Listed{Cluster: c, Added: true, Hidden: slices.Contains(s.o.Configured, c.Name)})
	}
	used := s.o.InUse()
	for i := range list {
		list[i].InUse = slices.Contains(used, list[i].Name) && !list[i].Hidden
		for _, r := range reports {
			list[i].take(r)
		}
	}
	return list, nil
}

// take adds what a process found; the newest look counts, and one that counted nodes wins over one that did not.
func (l *Listed) take(r doctor.Report) {
	for _, c := range r.Facts.Clusters {
		if c.Name != l.Name || r.CheckedAt.IsZero() || l.Hidden {
			continue
		}
		if r.CheckedAt.After(l.CheckedAt) {
			l.Asked, l.CheckedAt, l.Err = true, r.CheckedAt, c.Err
			if c.Version != "" {
				l.Kube = c.Version
			}
		}
		if c.Nodes.Asked && c.Nodes.Err == "" && c.Err == "" {
			l.Nodes, l.WithGPU, l.GPUs = c.Nodes.All, c.Nodes.WithGPU, 0
			for _, n := range c.Nodes.Resources {
				l.GPUs += n
			}
		}
	}
}

// MayManage reports whether the actor adds and removes clusters.
func (s *Service) MayManage(a identity.Actor) bool {
	return identity.Can(a, identity.ManageClusters, identity.Resource{})
}

func permit(a identity.Actor, action identity.Action) error {
	switch {
	case !identity.Can(a, identity.ReadClusters, identity.Resource{}):
		return fault.New(fault.NotFound, i18n.T("problem.no_page"))
	case !identity.Can(a, action, identity.Resource{}):
		return fault.New(fault.Forbidden, i18n.T("clusters.admins_only"))
	}
	return nil
}

// check says what is wrong with a draft by itself.
func (s *Service) check(d Draft, fresh bool) (contents, error) {
	access, problems := read(d.Kubeconfig)
	if fresh && !tenant.Label(d.Name, MaxName) {
		problems = append(problems, fault.Field{Name: "name", Reason: i18n.T("clusters.name_wrong", "Most", MaxName)})
	}
	if fresh && slices.Contains(s.o.Configured, d.Name) {
		problems = append(problems, fault.Field{Name: "name", Reason: i18n.T("clusters.name_taken", "Name", d.Name)})
	}
	if len(d.Settings) > MaxSettings {
		problems = append(problems, fault.Field{Name: "settings", Reason: i18n.T("clusters.settings_long", "KiB",
			MaxSettings>>10)})
	} else if err := s.o.Settings(d.Settings); err != nil {
		problems = append(problems, fault.Field{Name: "settings", Reason: i18n.T("clusters.settings_wrong", "Problem",
			err.Error())})
	}
	if len(problems) > 0 {
		return contents{}, fault.InvalidFields(problems)
	}
	return contents{access, d.Settings}, nil
}

// ask tests a cluster, and is Invalid where it does not answer: one that nobody can reach is not kept.
func (s *Service) ask(ctx context.Context, name string, c contents) ([]doctor.Finding, error) {
	facts := s.o.Test(ctx, name, c.Access, c.Settings)
	var found []doctor.Finding
	for _, f := range doctor.Judge(facts) {
		if f.Subject == name && f.State != doctor.NotApplicable {
			found = append(found, f)
		}
	}
	for _, k := range facts.Clusters {
		if k.Err != "" {
			return found, fault.InvalidFields([]fault.Field{{Name: "kubeconfig", Reason: i18n.T("clusters.no_answer",
				"Error", k.Err)}})
		}
	}
	return found, nil
}

// Test asks a cluster as Add would, and keeps nothing: what is missing is among the findings, with how to mend it.
func (s *Service) Test(ctx context.Context, a identity.Actor, d Draft) ([]doctor.Finding, error) {
	if err := permit(a, identity.ManageClusters); err != nil {
		return nil, err
	}
	d = d.trimmed()
	c, err := s.check(d, true)
	if err != nil {
		return nil, err
	}
	return s.ask(ctx, d.Name, c)
}

func (d Draft) trimmed() Draft {
	return Draft{strings.TrimSpace(d.Name), strings.TrimSpace(d.Kubeconfig), strings.TrimSpace(d.Settings)}
}

// Add tests a cluster and keeps it. Conflict for a name that is taken.
func (s *Service) Add(ctx context.Context, a identity.Actor, d Draft) ([]doctor.Finding, error) {
	if err := permit(a, identity.ManageClusters); err != nil {
		return nil, err
	}
	d = d.trimmed()
	c, err := s.check(d, true)
	if err != nil {
		return nil, err
	}
	found, err := s.ask(ctx, d.Name, c)
	if err != nil {
		return found, err
	}
	sealed, err := seal(s.o.Keys, d.Name, c)
	if err != nil {
		return found, fmt.Errorf("seal the access to a cluster: %w", err)
	}
	is := Cluster{Name: d.Name, Server: c.Access.Server, Sealed: sealed, AddedBy: a.Person.ID, AdderName: a.Person.Name,
		AddedAt: s.o.Now()}
	return found, s.o.Store.CreateCluster(ctx, is, Most, s.event(a, audit.ClusterAdded, is))
}

// Replace tests a cluster with other credentials and settings, and keeps those from now on.
func (s *Service) Replace(ctx context.Context, a identity.Actor, d Draft) ([]doctor.Finding, error) {
	if err := permit(a, identity.ManageClusters); err != nil {
		return nil, err
	}
	d = d.trimmed()
	is, err := s.added(ctx, d.Name)
	if err != nil {
		return nil, err
	}
	c, err := s.check(d, false)
	if err != nil {
		return nil, err
	}
	found, err := s.ask(ctx, d.Name, c)
	if err != nil {
		return found, err
	}
	if is.Sealed, err = seal(s.o.Keys, d.Name, c); err != nil {
		return found, fmt.Errorf("seal the access to a cluster: %w", err)
	}
	is.Server, is.ReplacedAt = c.Access.Server, s.o.Now()
	return found, s.o.Store.ReplaceCluster(ctx, is, s.event(a, audit.ClusterReplaced, is))
}

// Remove takes a cluster out of the portal; nothing in it is changed. Conflict while workloads or volumes are there.
func (s *Service) Remove(ctx context.Context, a identity.Actor, name string) error {
	if err := permit(a, identity.ManageClusters); err != nil {
		return err
	}
	is, err := s.added(ctx, name)
	if err != nil {
		return err
	}
	return s.o.Store.RemoveCluster(ctx, name, s.event(a, audit.ClusterRemoved, is))
}

func (s *Service) added(ctx context.Context, name string) (Cluster, error) {
	list, err := s.o.Store.Clusters(ctx)
	if err != nil {
		return Cluster{}, err
	}
	for _, c := range list {
		if c.Name == name {
			return c, nil
		}
	}
	return Cluster{}, fault.New(fault.NotFound, i18n.T("clusters.not_found"))
}

func (s *Service) event(a identity.Actor, kind audit.Kind, c Cluster) audit.Event {
	e := audit.By(a, kind, s.o.Now())
	e.Detail = i18n.T("clusters.audit", "Name", c.Name, "Server", c.Server)
	return e
}

// Loaded is an added cluster as the portal works with it.
type Loaded struct {
	Cluster
	Access   Access
	Settings string
}

// Load gives those that the portal is to work with. One that cannot be opened is told in the log and left out: it must
// not keep the portal from starting. What a former key sealed is sealed anew.
func (s *Service) Load(ctx context.Context) ([]Loaded, error) {
	list, err := s.o.Store.Clusters(ctx)
	if err != nil {
		return nil, err
	}
	var all []Loaded
	for _, c := range list {
		log := s.o.Logger.With("cluster", c.Name)
		if slices.Contains(s.o.Configured, c.Name) {
			log.WarnContext(ctx, "the configuration has a cluster of the same name, the one that was added is not used")
			continue
		}
		is, err := open(s.o.Keys, c)
		if err != nil {
			log.ErrorContext(ctx, "an added cluster cannot be opened and is not used", "error", err)
			continue
		}
		if !s.o.Keys.Current(c.Sealed) {
			again := c
			if again.Sealed, err = seal(s.o.Keys, c.Name, is); err == nil {
				err = s.o.Store.ResealCluster(ctx, again)
			}
			if err != nil && !fault.Is(err, fault.Conflict) { // another process was first
				log.WarnContext(ctx, "seal the access to a cluster anew", "error", err)
			}
		}
		all = append(all, Loaded{c, is.Access, is.Settings})
	}
	return all, nil
}

// Mark is another one whenever a process has to take up clusters anew.
func (s *Service) Mark(ctx context.Context) (string, error) {
	list, err := s.o.Store.Clusters(ctx)
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintln(&b, c.Name, c.AddedAt.UnixMicro(), c.ReplacedAt.UnixMicro())
	}
	return b.String(), err
}

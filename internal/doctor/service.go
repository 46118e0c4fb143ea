package doctor

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/logging"
)

// Report is what one process found, and when it was last seen.
type Report struct {
	ID     string // of the process
	SeenAt time.Time
	Heartbeat
	WantedAt  time.Time // when somebody asked for checks; zero: nobody did
	CheckedAt time.Time // zero: it has not looked yet
	Facts     Facts
}

// Heartbeat is what a process says of itself every half minute.
type Heartbeat struct {
	Leads     bool
	Reconcile map[string]int // length of the leader's work queue of each cluster
	Hung      []string       // loops that give no sign of life, by the names of /healthz?verbose
}

// QueueName says what waits in a queue.
type QueueName string

// The queues.
const (
	Approvals      QueueName = "approvals"      // requests that wait for an approver
	LicenseSeats   QueueName = "license-seats"  // requests that wait for a seat of a license
	GPUs           QueueName = "gpus"           // granted workloads that wait for a place in a cluster
	Reconciliation QueueName = "reconciliation" // workloads that wait for a pass of the controller
	Events         QueueName = "events"         // audit events that nobody has looked at yet for messages
	Messages       QueueName = "messages"       // messages that are due or on their way
)

// Queue is how much waits somewhere.
type Queue struct {
	Name    QueueName
	Cluster string // of Reconciliation
	Length  int
	Oldest  time.Time // since when the first one waits; zero: not known, or nothing waits
}

// Checking reports whether checks were asked for that are not done.
func (r Report) Checking() bool { return r.WantedAt.After(r.CheckedAt) }

// Store keeps reports, so that every process can show what all of them found. Fault: Unavailable.
type Store interface {
	Reports(ctx context.Context, since time.Time) ([]Report, error)
	SaveReport(ctx context.Context, r Report, forget time.Time) error
	SeeProcess(ctx context.Context, id string, at time.Time, h Heartbeat) error
	WantChecks(ctx context.Context, at time.Time) error
	JobRuns(ctx context.Context) ([]jobs.Run, error)
	// Queues lists what waits in the database, over all tenants.
	Queues(ctx context.Context) ([]Queue, error)
}

// How often a process looks, and for how long one that is not seen is still listed.
const (
	checkEvery = 10 * time.Minute
	seeEvery   = 30 * time.Second
	gone       = 3 * time.Minute
	firstAfter = 20 * time.Second // a process that starts has caches to fill
)

// ServiceOptions is what a Service stands on.
type ServiceOptions struct {
	Store   Store
	Process Process
	ID      string
	Gather  func(ctx context.Context) Facts
	// Heartbeat is asked twice a minute.
	Heartbeat func() Heartbeat
	Levels    *logging.Levels
	Now       func() time.Time
	Logger    *slog.Logger
	// Settings are those of this process as YAML, without secrets.
	Settings func() (string, error)
	Secrets  func() []string
}

// Service looks now and then, and when somebody asks for it.
type Service struct{ o ServiceOptions }

// NewService makes a service; Run starts it.
func NewService(o ServiceOptions) *Service { return &Service{o} }

// Run looks until the context ends; changed fires when somebody asked for checks, or a process has saved some.
func (s *Service) Run(ctx context.Context, changed <-chan struct{}) error {
	if err := s.save(ctx, Facts{Process: s.o.Process}, time.Time{}); err != nil && ctx.Err() == nil {
		s.o.Logger.WarnContext(ctx, "note that this process lives", "error", err)
	}
	next, see := time.NewTimer(firstAfter+rand.N(firstAfter)), time.NewTicker(seeEvery)
	defer next.Stop()
	defer see.Stop()
	checked := time.Time{}
	for {
		look := false
		select {
		case <-ctx.Done():
			return nil
		case <-next.C:
			look = true
		case <-see.C:
			if err := s.o.Store.SeeProcess(ctx, s.o.ID, s.o.Now(), s.o.Heartbeat()); err != nil && ctx.Err() == nil {
				s.o.Logger.DebugContext(ctx, "note that this process lives", "error", err)
			}
		case <-changed:
			look = s.wanted(ctx, checked)
		}
		if look {
			checked = s.look(ctx)
			next.Reset(checkEvery + rand.N(checkEvery/10))
		}
	}
}

func (s *Service) wanted(ctx context.Context, checked time.Time) bool {
	list, err := s.o.Store.Reports(ctx, s.o.Now().Add(-gone))
	return err == nil && slices.ContainsFunc(list, func(r Report) bool {
		return r.ID == s.o.ID && r.WantedAt.After(checked)
	})
}

// look keeps what was found with the time at which it began: what was asked for meanwhile is looked at again.
func (s *Service) look(ctx context.Context) time.Time {
	began := s.o.Now()
	facts := s.o.Gather(ctx)
	if ctx.Err() != nil {
		return began
	}
	if err := s.save(ctx, facts, began); err != nil && ctx.Err() == nil {
		s.o.Logger.WarnContext(ctx, "keep what the checks found", "error", err)
	}
	return began
}

func (s *Service) save(ctx context.Context, f Facts, checked time.Time) error {
	now := s.o.Now()
	return s.o.Store.SaveReport(ctx, Report{ID: s.o.ID, SeenAt: now, Heartbeat: s.o.Heartbeat(), CheckedAt: checked,
		Facts: f}, now.Add(-gone))
}

// Status is the whole of the page System.
type Status struct {
	Version   string
	Now       time.Time
	CheckedAt time.Time // the oldest look of those that there are; zero: nobody has looked
	Checking  bool
	Findings  []Finding
	Processes []Report
	Jobs      []jobs.Run
	Queues    []Queue
	Log       logging.Status
	MayCheck  bool
}

// Status says what all processes found. Who may not read it finds nothing.
func (s *Service) Status(ctx context.Context, a identity.Actor) (Status, error) {
	if !identity.Can(a, identity.ReadSystem, identity.Resource{}) {
		return Status{}, fault.New(fault.NotFound, i18n.T("problem.no_page"))
	}
	out := Status{Version: s.o.Process.Version, Now: s.o.Now(),
		MayCheck: identity.Can(a, identity.CheckSystem, identity.Resource{})}
	var err error
	if out.Processes, err = s.o.Store.Reports(ctx, out.Now.Add(-gone)); err != nil {
		return out, err
	}
	if out.Jobs, err = s.o.Store.JobRuns(ctx); err != nil {
		return out, err
	}
	if out.Queues, err = s.queues(ctx, out.Processes); err != nil {
		return out, err
	}
	redact := Redactor(s.o.Secrets())
	for i, run := range out.Jobs {
		out.Jobs[i].Error = redact.Replace(run.Error)
	}
	if out.Log, err = s.o.Levels.Status(a); err != nil {
		return out, err
	}
	var facts []Facts
	for _, r := range out.Processes {
		out.Checking = out.Checking || r.Checking()
		if r.CheckedAt.IsZero() {
			continue
		}
		facts = append(facts, r.Facts)
		if out.CheckedAt.IsZero() || r.CheckedAt.Before(out.CheckedAt) {
			out.CheckedAt = r.CheckedAt
		}
	}
	out.Findings = Merge(facts)
	return out, nil
}

// queues are those of the database, and the leader's of each cluster.
func (s *Service) queues(ctx context.Context, processes []Report) ([]Queue, error) {
	list, err := s.o.Store.Queues(ctx)
	if err != nil {
		return nil, err
	}
	for i, q := range list {
		if q.Oldest.After(s.o.Now()) { // it is to be tried again later
			list[i].Oldest = time.Time{}
		}
	}
	for _, p := range processes {
		for _, cluster := range slices.Sorted(maps.Keys(p.Reconcile)) {
			list = append(list, Queue{Name: Reconciliation, Cluster: cluster, Length: p.Reconcile[cluster]})
		}
	}
	return list, nil
}

// Check asks every process to look again; what they find follows within seconds.
func (s *Service) Check(ctx context.Context, a identity.Actor) error {
	if !identity.Can(a, identity.ReadSystem, identity.Resource{}) {
		return fault.New(fault.NotFound, i18n.T("problem.no_page"))
	}
	if !identity.Can(a, identity.CheckSystem, identity.Resource{}) {
		return fault.New(fault.Forbidden, i18n.T("doctor.admins_only"))
	}
	return s.o.Store.WantChecks(ctx, s.o.Now())
}

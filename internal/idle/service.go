package idle

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Source asks one cluster's metrics. Any error means that the use is unknown.
type Source interface {
	// PodUtilization is how hard the pods of some namespaces worked, and how their GPU memory changed, slot by slot, with
	// one call.
	PodUtilization(ctx context.Context, namespaces []string, from, until time.Time, slot,
		step time.Duration) ([]gpumetrics.PodUtilization, error)
	// PodUsage is how much CPU and network they used, likewise.
	PodUsage(ctx context.Context, namespaces []string, from, until time.Time, slot,
		step time.Duration) ([]gpumetrics.PodUsage, error)
	// Clock is what time it is there.
	Clock(ctx context.Context) (time.Time, error)
}

// Store keeps settings and records, and knows what runs. Faults: NotFound for a workload that is not there, Conflict
// for a lost race, Unavailable when the database is away.
type Store interface {
	// IdleSettings are those that count; version 0 while none were saved.
	IdleSettings(ctx context.Context) (Revision, error)
	// SaveIdleSettings keeps a revision and its events. Conflict when the version below it is not the newest.
	SaveIdleSettings(ctx context.Context, r Revision, events ...audit.Event) error
	Workload(ctx context.Context, id workload.ID) (workload.Workload, error)
	Workloads(ctx context.Context, f workload.Filter) ([]workload.Workload, string, error)
	Intervals(ctx context.Context, ids []workload.ID) (map[workload.ID][]usage.Interval, error)
	// ChangeIdle runs fn in one transaction that no grant and no other change runs beside.
	ChangeIdle(ctx context.Context, fn func(Tx) error) error
	reader
}

// Tx is one transaction.
type Tx interface {
	workload.Tx
	IdleSettings(ctx context.Context) (Revision, error)
	// SaveIdleRecord keeps a record in place of the last one. With an event, pages that show the workload hear of it.
	SaveIdleRecord(ctx context.Context, m Record, events ...audit.Event) error
	DeleteIdleRecords(ctx context.Context, ids ...workload.ID) error
	SaveIdleObserved(ctx context.Context, cluster string, until time.Time) error
	reader
}

// Options holds the dependencies and settings of a Service.
type Options struct {
	Store      Store
	Sources    map[string]Source // by cluster
	Namespaces func() []string   // of the teams
	Size, Team func(name string) bool
	Statements Statements // what was recorded of the months that a preview looks back to; nil: nothing
	// Quiet is when a stop that falls due at a moment may be done: then, or at the end of the quiet hours that it lies
	// in; nil: there are none.
	Quiet  func(time.Time) time.Time
	Zone   *time.Location // months begin and end by its clocks; nil: UTC
	Every  time.Duration  // how often is looked, and how long a slot is; default DefaultEvery
	Now    func() time.Time
	Logger *slog.Logger
}

// DefaultEvery is how often is looked where nobody says otherwise: ten samples of an exporter that looks every 30 s.
const DefaultEvery = 5 * time.Minute

// Service keeps settings and records, and evaluates them.
type Service struct{ o Options }

// New makes a Service; nothing runs by itself.
func New(o Options) *Service {
	if o.Every <= 0 {
		o.Every = DefaultEvery
	}
	if o.Quiet == nil {
		o.Quiet = func(at time.Time) time.Time { return at }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{o: o}
}

// Every is how often Evaluate is to be called.
func (s *Service) Every() time.Duration { return s.o.Every }

// Shortest is the least time after which something can follow: four looks, in whole minutes, as it is said to people.
func (s *Service) Shortest() time.Duration { return ceilMinute(4 * s.o.Every) }

func ceilMinute(d time.Duration) time.Duration {
	return (d + time.Minute - 1).Truncate(time.Minute)
}

// permit: what somebody may not read does not exist for them.
func permit(a identity.Actor, action identity.Action) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	switch {
	case !identity.Can(a, identity.ReadRules, identity.Resource{}):
		return fault.New(fault.NotFound, i18n.T("problem.no_page"))
	case !identity.Can(a, action, identity.Resource{}):
		return fault.New(fault.Forbidden, i18n.T("idle.admins_only"))
	}
	return nil
}

// Settings are those that count.
func (s *Service) Settings(ctx context.Context, a identity.Actor) (Revision, error) {
	if err := permit(a, identity.ReadRules); err != nil {
		return Revision{}, err
	}
	return s.o.Store.IdleSettings(ctx)
}

// Ahead is what the settings that count lead to now.
type Ahead struct {
	Warned int       // workloads whose owners were warned
	Next   time.Time // when the first of those with an announced end stops; zero where none has one
	// Workloads are those that were warned, the next to stop first.
	Workloads []workload.ID
}

// Ahead counts who was warned, as the last look at the clusters has it.
func (s *Service) Ahead(ctx context.Context, a identity.Actor) (n Ahead, err error) {
	if err := permit(a, identity.ReadRules); err != nil {
		return n, err
	}
	records, err := s.o.Store.IdleRecords(ctx)
	now, stops := s.o.Now(), map[workload.ID]time.Time{}
	for id, m := range records {
		over := !m.StopsAt.IsZero() && now.Sub(m.StopsAt) > s.fresh() // stopped, and not looked at since
		if m.WarnedAt.IsZero() || over || now.Before(m.KeepAliveUntil) {
			continue
		}
		n.Warned++
		n.Workloads, stops[id] = append(n.Workloads, id), m.StopsAt
		if m.StopsAt.IsZero() {
			continue
		}
		if n.Next.IsZero() || m.StopsAt.Before(n.Next) {
			n.Next = m.StopsAt
		}
	}
	slices.SortFunc(n.Workloads, func(a, b workload.ID) int {
		if x, y := stops[a], stops[b]; x.IsZero() != y.IsZero() { // those that only were warned come last
			return cmp.Compare(y.Unix(), x.Unix())
		}
		return cmp.Or(stops[a].Compare(stops[b]), cmp.Compare(a, b))
	})
	return n, err
}

// Check says what is wrong with settings that somebody wants; Invalid with every problem.
func (s *Service) Check(a identity.Actor, settings Settings) error {
	if err := permit(a, identity.ChangeRules); err != nil {
		return err
	}
	problems := settings.problems(s.Shortest(), func(field string) bool {
		kind, name, _ := strings.Cut(field, ".")
		return kind == "sizes" && s.o.Size(name) || kind == "teams" && s.o.Team(name)
	})
	if len(problems) > 0 {
		return fault.InvalidFields(problems)
	}
	return nil
}

// Save keeps settings that were written from the version base. Invalid with every problem; Conflict, saying who was
// faster. Nothing that was idle before is held against anybody under another threshold: the time begins anew.
func (s *Service) Save(ctx context.Context, a identity.Actor, settings Settings, base int64) (Revision, error) {
	if err := s.Check(a, settings); err != nil {
		return Revision{}, err
	}
	newest, err := s.o.Store.IdleSettings(ctx)
	if err != nil {
		return Revision{}, err
	}
	if newest.Version != base {
		return Revision{}, fault.New(fault.Conflict, i18n.T("idle.conflict", "Name", newest.AuthorName, "At",
			stamp(newest.At)))
	}
	changes := audit.Diff(newest.Settings.flat(), settings.flat())
	if len(changes) == 0 {
		return newest, nil
	}
	r := Revision{Version: base + 1, Settings: settings, Author: a.Person.ID, AuthorName: a.Person.Name, At: s.o.Now()}
	e := audit.By(a, audit.IdleSaved, r.At)
	e.Changes = changes
	return r, s.o.Store.SaveIdleSettings(ctx, r, e)
}

// State is the idle state of one workload, for people.
type State struct {
	Setting        Setting
	Never          Reason        // why it is never judged; "" where it is
	ByPods         bool          // judged by CPU and network of its pods, not by its devices
	Idle           time.Duration // as far as is known; 0 where it is at work, or nothing is known
	Since          time.Time
	High           float64      // per cent, the highest use in that time
	PodHigh        PodUse       // the same of a pod's CPU and network
	MemoryHigh     MemoryChange // likewise, of its GPU memory
	AsOf           time.Time    // up to when that is known; zero for never
	Stale          bool         // AsOf is too long ago to follow anything from
	Warned         time.Time    // zero for not
	WarnsAt        time.Time    // zero where nothing is idle, or the warning was given
	StopsAt        time.Time    // zero where no end was announced
	KeepAliveUntil time.Time    // zero where nobody keeps it, or that is over
	KeepAliveBy    string
}

// SignalName is what a workload is judged by.
type SignalName string

// The signals.
const (
	GPUSignal     SignalName = "gpu"        // per cent of the engine of the busiest device
	CPUSignal     SignalName = "cpu"        // cores of the busiest pod
	NetworkSignal SignalName = "network"    // bytes per second of the busiest pod
	MemorySignal  SignalName = "gpu_memory" // MiB by which the used memory of a device changed
)

// Signal is one of the values that a workload is judged by: its threshold, and the highest in the idle time.
type Signal struct {
	Name        SignalName
	Below, High float64
}

// Signals are what a workload is judged by, none where it never is. GPU memory is among them where it is known of all
// of the idle time.
func (is State) Signals() (list []Signal) {
	switch {
	case is.Never != "" || !is.Setting.On():
		return nil
	case is.ByPods:
		list = []Signal{{CPUSignal, is.Setting.CPU, is.PodHigh.CPU},
			{NetworkSignal, float64(is.Setting.Network), is.PodHigh.Network}}
	default:
		list = []Signal{{GPUSignal, float64(is.Setting.Below), is.High}}
	}
	if is.MemoryHigh.Known {
		list = append(list, Signal{MemorySignal, MemoryUsed, is.MemoryHigh.MiB})
	}
	return list
}

// Of is what is known of one workload. What the actor may not read does not exist.
func (s *Service) Of(ctx context.Context, a identity.Actor, id workload.ID) (State, error) {
	w, err := s.o.Store.Workload(ctx, id)
	if err != nil {
		return State{}, err
	}
	if err := workload.Permit(a, identity.ReadWorkload, w); err != nil {
		return State{}, err
	}
	is, err := s.States(ctx, w)
	if err != nil {
		return State{}, err
	}
	if is == nil {
		return State{Setting: Setting{Action: Off}, Never: Unmeasurable(w, Setting{}), ByPods: byPods(w)}, nil
	}
	return is[w.ID], nil
}

// States are what is known of workloads that the caller was shown before; all of it is read at once.
func (s *Service) States(ctx context.Context, items ...workload.Workload) (map[workload.ID]State, error) {
	settings, err := s.o.Store.IdleSettings(ctx)
	if err != nil || !settings.Settings.Any() || len(items) == 0 {
		return nil, err
	}
	ids := make([]workload.ID, len(items))
	for i, w := range items {
		ids[i] = w.ID
	}
	records, err := s.o.Store.IdleRecords(ctx, ids...)
	if err != nil {
		return nil, err
	}
	looks, err := s.o.Store.IdleObserved(ctx)
	states := make(map[workload.ID]State, len(items))
	for _, w := range items {
		m := records[w.ID]
		m.Until = looks[w.Cluster]
		states[w.ID] = s.state(w, m, settings.Settings.Of(w.Tenant, w.Size.Name))
	}
	return states, err
}

func (s *Service) state(w workload.Workload, m Record, of Setting) State {
	now := s.o.Now()
	is := State{Setting: of, Never: Unmeasurable(w, of), ByPods: byPods(w), AsOf: m.Until,
		Stale: now.Sub(m.Until) > s.fresh() || now.Before(m.Until)}
	if !of.On() || w.State != workload.Running || w.Generation != m.Generation {
		return is
	}
	if now.Before(m.KeepAliveUntil) {
		is.KeepAliveUntil, is.KeepAliveBy = m.KeepAliveUntil, m.KeepAliveBy
	}
	if !m.under(of) || m.Since.IsZero() {
		return is
	}
	is.Idle, is.Since, is.Warned, is.StopsAt = m.Idle(), m.from(), m.WarnedAt, m.StopsAt
	is.High, is.PodHigh, is.MemoryHigh = m.High, m.PodHigh, m.MemoryHigh
	if m.WarnedAt.IsZero() {
		is.WarnsAt = m.from().Add(of.WarnAfter())
	}
	return is
}

// KeepAlive says that somebody still needs a workload, idle or not: for the time of its setting nothing follows. A
// Conflict where nothing would follow anyway.
func (s *Service) KeepAlive(ctx context.Context, a identity.Actor, id workload.ID) (State, error) {
	var out State
	err := s.o.Store.ChangeIdle(ctx, func(tx Tx) error {
		w, err := tx.Workload(ctx, id)
		if err != nil {
			return err
		}
		if err := workload.Permit(a, identity.ChangeWorkload, w); err != nil {
			return err
		}
		settings, err := tx.IdleSettings(ctx)
		if err != nil {
			return err
		}
		of := settings.Settings.Of(w.Tenant, w.Size.Name)
		if !of.On() || w.Desired != workload.WantRunning || w.State != workload.Running {
			return fault.New(fault.Conflict, i18n.T("idle.nothing_to_keep"))
		}
		m, err := s.record(ctx, tx, w)
		if err != nil {
			return err
		}
		now := s.o.Now()
		was := m.KeepAliveUntil
		m.Generation = w.Generation
		m = m.judgedBy(w, of).KeepAlive(now.Add(of.KeepAlive.Std()), a.Person.Name)
		e := audit.By(a, audit.WorkloadKeptAlive, now)
		e.Tenant, e.Workload, e.Detail = w.Tenant, string(w.ID), i18n.T("idle.kept_until", "Until", stamp(m.KeepAliveUntil))
		e.Changes = audit.Changed("keep.until", when(was), stamp(m.KeepAliveUntil))
		out = s.state(w, m, of)
		return tx.SaveIdleRecord(ctx, m, e)
	})
	return out, err
}

func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return stamp(t)
}

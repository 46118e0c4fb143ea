package drift

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Store keeps holds and differences. Faults: NotFound, Conflict for a lost race, Unavailable when the database is away.
type Store interface {
	Holds(ctx context.Context) ([]Hold, error)
	Differences(ctx context.Context) ([]Difference, error)
	Person(ctx context.Context, id identity.PersonID) (identity.Person, error)
	// DecideDifferences runs fn in one transaction that no grant runs beside, and that no hold binds.
	DecideDifferences(ctx context.Context, fn func(Tx) error) error
}

// Tx is one transaction; saves insert at Version 0, else update that version or answer Conflict.
type Tx interface {
	Difference(ctx context.Context, id string) (Difference, error)
	Differences(ctx context.Context) ([]Difference, error)
	Workload(ctx context.Context, id workload.ID) (workload.Workload, error)
	Volume(ctx context.Context, name string) (workload.Volume, error)
	SaveWorkload(ctx context.Context, w workload.Workload) error
	SaveVolume(ctx context.Context, v workload.Volume) error
	ForgetVolume(ctx context.Context, name string) error
	CloseMeter(ctx context.Context, id workload.ID, at usage.Interval) error
	SaveDecision(ctx context.Context, d Difference) error
	EndHold(ctx context.Context, cluster string) (bool, error)
	Append(ctx context.Context, events ...audit.Event) error
}

// Options holds the dependencies and settings of a Service.
type Options struct {
	Store   Store
	Changed func() // called when the holds are others than before; nil: nobody asks
	Now     func() time.Time
	Logger  *slog.Logger // nil: nothing is logged
}

// Service shows differences and takes decisions. It is safe for use by many goroutines.
type Service struct {
	o     Options
	known atomic.Pointer[[]Hold]
	lost  atomic.Pointer[[]Difference]
}

// New begins without holds; Refresh reads them.
func New(o Options) *Service {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	s := &Service{o: o}
	s.known.Store(&[]Hold{})
	s.lost.Store(&[]Difference{})
	return s
}

// Refresh reads holds and differences, for Holds and Counts.
func (s *Service) Refresh(ctx context.Context) error {
	holds, err := s.o.Store.Holds(ctx)
	if err != nil {
		return err
	}
	list, err := s.o.Store.Differences(ctx)
	if err != nil {
		return err
	}
	s.lost.Store(&list)
	before := s.known.Swap(&holds)
	same := slices.EqualFunc(*before, holds, func(a, b Hold) bool { return a.Cluster == b.Cluster })
	if !same {
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
			s.o.Logger.WarnContext(ctx, "it could not be read which clusters are held, what was known goes on",
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

// Holds are the clusters in which nothing is done, as of the last Refresh.
func (s *Service) Holds() []Hold { return slices.Clone(*s.known.Load()) }

// Counts says how many differences of each kind are open in a cluster, as of the last Refresh.
func (s *Service) Counts(cluster string) map[Kind]int {
	counts := map[Kind]int{}
	for _, d := range *s.lost.Load() {
		if d.Cluster == cluster && d.Open() {
			counts[d.Kind]++
		}
	}
	return counts
}

// Report is everything that is shown of differences.
type Report struct {
	Holds       []Hold
	Differences []Difference
}

// Of are the differences of one cluster.
func (r Report) Of(cluster string) []Difference {
	var list []Difference
	for _, d := range r.Differences {
		if d.Cluster == cluster {
			list = append(list, d)
		}
	}
	return list
}

// Report lists holds and differences; for admins and auditors.
func (s *Service) Report(ctx context.Context, a identity.Actor) (Report, error) {
	if !identity.Can(a, identity.ReadDifferences, identity.Resource{}) {
		return Report{}, fault.New(fault.NotFound, i18n.T("store.not_found"))
	}
	var r Report
	var err error
	if r.Holds, err = s.o.Store.Holds(ctx); err != nil {
		return Report{}, err
	}
	if r.Differences, err = s.o.Store.Differences(ctx); err != nil {
		return Report{}, err
	}
	for i := range r.Differences {
		if err := s.name(ctx, &r.Differences[i]); err != nil {
			return Report{}, err
		}
	}
	return r, nil
}

// name fills in who owns what only the cluster knows.
func (s *Service) name(ctx context.Context, d *Difference) error {
	if d.Live == nil || d.Live.Spec == nil || d.Row != nil {
		return nil
	}
	p, err := s.o.Store.Person(ctx, d.Live.Spec.Owner)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	d.Live.OwnerName = p.Name
	return err
}

func permit(a identity.Actor) error {
	if identity.Can(a, identity.DecideDifferences, identity.Resource{}) {
		return nil
	}
	return fault.New(fault.Forbidden, i18n.T("drift.admins_only"))
}

// Decide takes a decision about one difference. ClusterState is its version as it was shown; when it has changed since,
// or somebody has decided, that is a Conflict.
func (s *Service) Decide(ctx context.Context, a identity.Actor, id string, decision Decision, seen string) (Difference,
	error) {
	if err := permit(a); err != nil {
		return Difference{}, err
	}
	var out Difference
	err := s.o.Store.DecideDifferences(ctx, func(tx Tx) error {
		d, err := tx.Difference(ctx, id)
		if err != nil {
			return err
		}
		if d.Version != seen {
			return changed()
		}
		out, err = s.decide(ctx, tx, a, d, decision)
		return err
	})
	return out, err
}

// DecideAll takes one decision about every open difference of a cluster. ClusterState is the Fingerprint of what was
// shown. What cannot be decided in this way stays open. It gives how many were decided.
func (s *Service) DecideAll(ctx context.Context, a identity.Actor, cluster string, decision Decision,
	seen string) (count int, err error) {
	if err := permit(a); err != nil {
		return 0, err
	}
	err = s.o.Store.DecideDifferences(ctx, func(tx Tx) error {
		count = 0
		list, err := s.shown(ctx, tx, cluster, seen)
		if err != nil {
			return err
		}
		for _, d := range list {
			if !d.Open() || !d.Can(decision) {
				continue
			}
			if _, err := s.decide(ctx, tx, a, d, decision); err != nil {
				return err
			}
			count++
		}
		return nil
	})
	return count, err
}

// Resume lets work in a cluster go on although differences are left: rows are carried out as they are, and objects that
// the database does not know stay as they are.
func (s *Service) Resume(ctx context.Context, a identity.Actor, cluster, seen string) error {
	if err := permit(a); err != nil {
		return err
	}
	return s.o.Store.DecideDifferences(ctx, func(tx Tx) error {
		list, err := s.shown(ctx, tx, cluster, seen)
		if err != nil {
			return err
		}
		ended, err := tx.EndHold(ctx, cluster)
		if err != nil {
			return err
		}
		if !ended {
			return fault.New(fault.Conflict, i18n.T("drift.not_held", "Cluster", cluster))
		}
		open := 0
		for _, d := range list {
			if d.Open() {
				open++
			}
		}
		e := audit.By(a, audit.ClusterResumed, s.o.Now())
		e.Detail = i18n.T("drift.resumed", "Cluster", cluster, "Count", open)
		return tx.Append(ctx, e)
	})
}

func (s *Service) shown(ctx context.Context, tx Tx, cluster, seen string) ([]Difference, error) {
	all, err := tx.Differences(ctx)
	if err != nil {
		return nil, err
	}
	list := Report{Differences: all}.Of(cluster)
	if Fingerprint(list) != seen {
		return nil, changed()
	}
	return list, nil
}

func changed() error { return fault.New(fault.Conflict, i18n.T("drift.changed")) }

func (s *Service) decide(ctx context.Context, tx Tx, a identity.Actor, d Difference, decision Decision) (Difference,
	error) {
	if !d.Open() && d.Decision != Release {
		return d, changed()
	}
	w, v, err := rowsOf(ctx, tx, d)
	if err != nil {
		return d, err
	}
	if err := s.name(ctx, &d); err != nil {
		return d, err
	}
	now := s.o.Now()
	out, err := Decide(d, decision, w, v, now)
	if err != nil {
		return d, err
	}
	if err := out.save(ctx, tx, now); err != nil {
		return d, err
	}
	d.Decision, d.By, d.ByName, d.DecidedAt = decision, a.Person.ID, a.Person.Name, now
	if err := tx.SaveDecision(ctx, d); err != nil {
		return d, err
	}
	return d, tx.Append(ctx, decided(d, a, now))
}

// rowsOf reads the row that a difference is about. One that has changed since the difference was found is a Conflict.
func rowsOf(ctx context.Context, tx Tx, d Difference) (w *workload.Workload, v *workload.Volume, err error) {
	var version int64
	if d.ResourceKind == Workload {
		found, err := tx.Workload(ctx, workload.ID(d.Key))
		if err != nil && !fault.Is(err, fault.NotFound) {
			return nil, nil, err
		}
		if err == nil {
			w, version = &found, found.Version
		}
	} else {
		found, err := tx.Volume(ctx, d.Key)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return nil, nil, err
		}
		if err == nil {
			v, version = &found, found.Version
		}
	}
	if (d.Row == nil) != (version == 0) || d.Row != nil && d.Row.Version != version {
		return nil, nil, changed()
	}
	return w, v, nil
}

func (o Outcome) save(ctx context.Context, tx Tx, now time.Time) error {
	if o.Workload != nil {
		if err := tx.SaveWorkload(ctx, *o.Workload); err != nil {
			return err
		}
	}
	if o.Close != nil {
		if err := tx.CloseMeter(ctx, o.Workload.ID, *o.Close); err != nil {
			return err
		}
	}
	if o.Forget != "" {
		return tx.ForgetVolume(ctx, o.Forget)
	}
	if o.Detach != "" {
		return detach(ctx, tx, o, now)
	}
	if o.Volume != nil {
		return attach(ctx, tx, *o.Volume)
	}
	return nil
}

func detach(ctx context.Context, tx Tx, o Outcome, now time.Time) error {
	v, err := tx.Volume(ctx, o.Detach)
	if fault.Is(err, fault.NotFound) || err == nil && v.Workload != o.Workload.ID {
		return nil
	}
	if err != nil {
		return err
	}
	v.Workload, v.UpdatedAt = "", now
	return tx.SaveVolume(ctx, v)
}

// attach writes the row of storage; one that is there already only learns who uses it.
func attach(ctx context.Context, tx Tx, v workload.Volume) error {
	old, err := tx.Volume(ctx, v.Name)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if err == nil && v.Version == 0 {
		old.Workload, old.UpdatedAt, old.Deleted = v.Workload, v.UpdatedAt, false
		v = old
	}
	return tx.SaveVolume(ctx, v)
}

var kinds = map[Decision]audit.Kind{Adopt: audit.DifferenceAdopted, Release: audit.DifferenceReleased,
	Apply: audit.DifferenceApplied}

func decided(d Difference, a identity.Actor, now time.Time) audit.Event {
	e, p := audit.By(a, kinds[d.Decision], now), d.Owner()
	e.Tenant = p.Tenant
	if d.ResourceKind == Workload {
		e.Workload = d.Key
	} else {
		e.Volume = d.Key
	}
	e.Detail = i18n.T("drift.of", "Name", p.Name, "Cluster", d.Cluster, "Kind", i18n.T("drift.kind."+string(d.Kind)))
	for _, f := range d.Fields {
		e.Changes = append(e.Changes, audit.Changed(f.Name, f.Database, f.Cluster)...)
	}
	return e
}

package idle

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

const (
	// most slots are asked for at once after a time in which nobody looked; what lies further back counts as a gap.
	most = 12
	// lag is how long after its end a slot is asked for: a scrape, and a write to another store, take their time. A part
	// of the slot's length.
	lag = 4
	// maxSkew is how far Prometheus's clock may be from ours: beyond that a sample of now is one of another time.
	maxSkew = time.Minute
)

// fresh is how old the last look may be: one that failed does not matter yet.
func (s *Service) fresh() time.Duration { return 3 * s.o.Every }

// step is how finely a slot is cut: each step must have a sample of its own. The exporter looks every 30 s.
func step(slot time.Duration) time.Duration {
	if slot >= 2*time.Minute && slot%(2*time.Second) == 0 {
		return slot / 2
	}
	return slot
}

// Evaluate looks at what the pods of each cluster that answers did since the last time, and does what is due. It can be
// interrupted and called again. What cannot be known now is asked for the next time.
func (s *Service) Evaluate(ctx context.Context, answers func(cluster string) bool) error {
	settings, err := s.o.Store.IdleSettings(ctx)
	if err != nil || !settings.Settings.Any() {
		return err
	}
	running, err := s.running(ctx)
	if err != nil {
		return err
	}
	var faults []error
	for cluster, source := range s.o.Sources {
		if !answers(cluster) {
			continue
		}
		due, err := s.observe(ctx, cluster, source, settings.Settings, running)
		if err != nil {
			faults = append(faults, fmt.Errorf("look at %s: %w", cluster, err))
			continue
		}
		for _, id := range due {
			if err := s.act(ctx, id); err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.NotFound) {
				faults = append(faults, err)
			}
		}
	}
	return errors.Join(faults...)
}

// running are the workloads that answer.
func (s *Service) running(ctx context.Context) ([]workload.Workload, error) {
	var list []workload.Workload
	for cursor := ""; ; {
		page, next, err := s.o.Store.Workloads(ctx, workload.Filter{States: []workload.State{workload.Running},
			Cursor: cursor, Limit: 500})
		if err != nil {
			return nil, err
		}
		for _, w := range page {
			if w.Desired == workload.WantRunning {
				list = append(list, w)
			}
		}
		if cursor = next; cursor == "" {
			return list, nil
		}
	}
}

// slots are the whole slots that are over and were not looked at yet, from the last look on.
func slots(last, now time.Time, slot time.Duration) (from, until time.Time, ok bool) {
	until = time.UnixMilli(now.Add(-slot/lag).UnixMilli() / slot.Milliseconds() * slot.Milliseconds()).UTC()
	if last.After(until) || until.Sub(last) > most*slot || last.UnixMilli()%slot.Milliseconds() != 0 {
		return until.Add(-slot), until, !last.Equal(until) && !last.After(now)
	}
	return last, until, until.After(last)
}

// observe adds what a cluster's pods did since the last look to the records, and gives those for whom something is due.
func (s *Service) observe(ctx context.Context, cluster string, source Source, settings Settings,
	running []workload.Workload) (due []workload.ID, err error) {
	looks, err := s.o.Store.IdleObserved(ctx)
	if err != nil {
		return nil, err
	}
	from, until, ok := slots(looks[cluster], s.o.Now(), s.o.Every)
	if !ok {
		return nil, nil
	}
	theirs, err := source.Clock(ctx)
	if err != nil {
		return nil, err
	}
	if d := s.o.Now().Sub(theirs); d.Abs() > maxSkew {
		return nil, fmt.Errorf("the clocks of portal and Prometheus are %s apart: nothing is judged", d.Round(time.Second))
	}
	pods := judgedByPods(running, settings, cluster)
	measured, err := s.ask(ctx, source, pods, from, until, s.o.Every, step(s.o.Every))
	if err != nil {
		return nil, err
	}
	o := observed{cluster: cluster, settings: settings, running: running, pods: pods, measured: measured, from: from,
		until: until}
	err = s.o.Store.ChangeIdle(ctx, func(tx Tx) (err error) {
		due, err = s.saveObserved(ctx, tx, o)
		return err
	})
	return due, err
}

// observed is what a cluster's workloads did in a span.
type observed struct {
	cluster     string
	settings    Settings
	running     []workload.Workload
	pods        bool                // some are judged by their pods: whether somebody is inside counts
	measured    map[string]Measured // by namespace
	from, until time.Time
}

// saveObserved writes down what was observed, unless somebody else was faster, and gives those for whom something is
// due.
func (s *Service) saveObserved(ctx context.Context, tx Tx, o observed) (due []workload.ID, err error) {
	looks, err := tx.IdleObserved(ctx)
	if err != nil || looks[o.cluster].After(o.from) {
		return nil, err
	}
	records, err := tx.IdleRecords(ctx)
	if err != nil {
		return nil, err
	}
	var visits map[workload.ID]time.Time
	if o.pods {
		if visits, err = tx.LastVisits(ctx); err != nil {
			return nil, err
		}
	}
	seen := map[workload.ID]bool{}
	now := s.o.Now()
	for _, w := range o.running {
		of := o.settings.Of(w.Tenant, w.Size.Name)
		if w.Cluster != o.cluster || !of.On() {
			continue
		}
		seen[w.ID] = true
		was := records[w.ID]
		m := was
		m.Workload, m.Until = w.ID, looks[o.cluster]
		for _, l := range Observe(w, of, o.measured[w.Namespace], o.from, o.until, s.o.Every) {
			m = Accumulate(m, w, of, l)
		}
		m = ApplyVisit(ApplyActivity(m, w, now), w, visits[w.ID])
		if m.Verdict(of, now, s.fresh()) != Off {
			due = append(due, w.ID)
		}
		if worth(was, m) {
			if err := tx.SaveIdleRecord(ctx, m); err != nil {
				return nil, err
			}
		}
	}
	if err := forget(ctx, tx, records, seen, elsewhere(o.running, o.cluster), now); err != nil {
		return nil, err
	}
	return due, tx.SaveIdleObserved(ctx, o.cluster, o.until)
}

// elsewhere are the workloads that run on other clusters.
func elsewhere(running []workload.Workload, cluster string) map[workload.ID]bool {
	all := map[workload.ID]bool{}
	for _, w := range running {
		all[w.ID] = w.Cluster != cluster
	}
	return all
}

// forget drops the records of what does not run any more, or is not judged any more: what nobody looked at is not idle.
// That somebody still needs it stays for as long as they said.
func forget(ctx context.Context, tx Tx, records map[workload.ID]Record, seen, elsewhere map[workload.ID]bool,
	now time.Time) error {
	var gone []workload.ID
	for id, m := range records {
		switch {
		case seen[id] || elsewhere[id]:
		case !now.Before(m.KeepAliveUntil):
			gone = append(gone, id)
		case !m.Since.IsZero():
			if err := tx.SaveIdleRecord(ctx, m.busy(m.Until)); err != nil {
				return err
			}
		}
	}
	return tx.DeleteIdleRecords(ctx, gone...)
}

// worth reports whether a record says something else than before; up to when it is known is the cluster's.
func worth(was, is Record) bool {
	was.Until, is.Until = time.Time{}, time.Time{}
	if was.Workload == "" && is.Since.IsZero() {
		return false // at work, as most are: nothing to keep
	}
	return was != is
}

// judgedByPods reports whether anything that runs on a cluster is judged by its pods.
func judgedByPods(running []workload.Workload, settings Settings, cluster string) bool {
	return slices.ContainsFunc(running, func(w workload.Workload) bool {
		of := settings.Of(w.Tenant, w.Size.Name)
		return w.Cluster == cluster && of.On() && byPods(w) && Unmeasurable(w, of) == ""
	})
}

// ask asks a cluster's metrics of a stretch of time, of pods only where something is judged by them, and gives the
// answer by namespace. Of two questions of which one has no answer nothing is known.
func (s *Service) ask(ctx context.Context, source Source, pods bool, from, until time.Time,
	slot, step time.Duration) (map[string]Measured, error) {
	devices, err := source.PodUtilization(ctx, s.o.Namespaces(), from, until, slot, step)
	if err != nil {
		return nil, err
	}
	all := map[string]Measured{}
	for _, d := range devices {
		m := all[d.Namespace]
		m.Devices = append(m.Devices, d)
		all[d.Namespace] = m
	}
	if !pods {
		return all, nil
	}
	usage, err := source.PodUsage(ctx, s.o.Namespaces(), from, until, slot, step)
	if err != nil {
		return nil, err
	}
	for _, u := range usage {
		m := all[u.Namespace]
		m.Pods = append(m.Pods, u)
		all[u.Namespace] = m
	}
	return all, nil
}

// act looks once more, in a transaction that nothing else changes the workload beside, and does what is due.
func (s *Service) act(ctx context.Context, id workload.ID) error {
	return s.o.Store.ChangeIdle(ctx, func(tx Tx) error {
		settings, err := tx.IdleSettings(ctx)
		if err != nil {
			return err
		}
		w, err := tx.Workload(ctx, id)
		if err != nil {
			return err
		}
		m, err := s.record(ctx, tx, w)
		if err != nil || w.State != workload.Running || w.Desired != workload.WantRunning || w.Generation != m.Generation {
			return err
		}
		visits, err := tx.LastVisits(ctx, id)
		if err != nil {
			return err
		}
		now, of := s.o.Now(), settings.Settings.Of(w.Tenant, w.Size.Name)
		switch ApplyVisit(ApplyActivity(m, w, now), w, visits[id]).Verdict(of, now, s.fresh()) {
		case Warn:
			if m = m.Warned(of, now); !m.StopsAt.IsZero() {
				m.StopsAt = s.o.Quiet(m.StopsAt)
			}
			return tx.SaveIdleRecord(ctx, m, s.warning(w, m, now))
		case Stop:
			if s.o.Quiet(now).After(now) { // it was due before them, and nobody looked
				return nil
			}
			next, event := workload.StopIdle(w, stopReason(m), facts(m), now)
			if err := tx.SaveWorkload(ctx, next); err != nil {
				return err
			}
			if err := tx.DeleteIdleRecords(ctx, id); err != nil {
				return err
			}
			return tx.Append(ctx, event)
		}
		return nil
	})
}

// reader is what both the store and a transaction tell.
type reader interface {
	IdleRecords(ctx context.Context, ids ...workload.ID) (map[workload.ID]Record, error)
	IdleObserved(ctx context.Context) (map[string]time.Time, error)
	// LastVisits is when somebody was inside the given workloads last, inside all where none is given.
	LastVisits(ctx context.Context, ids ...workload.ID) (map[workload.ID]time.Time, error)
}

// record is a workload's, known up to when its cluster was looked at.
func (s *Service) record(ctx context.Context, from reader, w workload.Workload) (Record, error) {
	records, err := from.IdleRecords(ctx, w.ID)
	if err != nil {
		return Record{}, err
	}
	looks, err := from.IdleObserved(ctx)
	m := records[w.ID]
	m.Workload, m.Until = w.ID, looks[w.Cluster]
	return m, err
}

func (s *Service) warning(w workload.Workload, m Record, now time.Time) audit.Event {
	e := audit.By(identity.System(), audit.WorkloadIdle, now)
	e.Tenant, e.Workload, e.Detail = w.Tenant, string(w.ID), facts(m)
	if !m.StopsAt.IsZero() {
		e.Detail.ID, e.Detail.Args["At"] = "idle.facts_end", stamp(m.StopsAt)
		if m.PodBelow != (PodUse{}) {
			e.Detail.ID = "idle.pod_facts_end"
		}
	}
	return e
}

// facts are what was measured, as the audit keeps it.
func facts(m Record) i18n.Text {
	if m.PodBelow != (PodUse{}) {
		return i18n.T("idle.pod_facts", "For", span(m.Idle()), "Since", stamp(m.from()),
			"CPU", cores(math.Ceil(m.PodHigh.CPU*1000)/1000), "BelowCPU", cores(m.PodBelow.CPU),
			"Network", kilobytes(m.PodHigh.Network), "BelowNetwork", kilobytes(m.PodBelow.Network))
	}
	return i18n.T("idle.facts", "For", span(m.Idle()), "Since", stamp(m.from()), "High", fmt.Sprintf("%.1f", m.High),
		"Below", m.Below)
}

// stopReason is what is said of a workload that is stopped for being idle.
func stopReason(m Record) i18n.Text {
	if m.PodBelow != (PodUse{}) {
		return i18n.T("workload.stopped_unused", "For", span(m.Idle()))
	}
	return i18n.T("workload.stopped_idle", "For", span(m.Idle()))
}

// kilobytes are thousands of bytes, rounded up to a tenth.
func kilobytes(bytes float64) string {
	return strconv.FormatFloat(math.Ceil(bytes/100)/10, 'f', -1, 64)
}

// span is a length of time without more of it than tells something.
func span(d time.Duration) string {
	if d >= time.Hour {
		return catalog.Duration(d.Round(time.Minute)).String()
	}
	return catalog.Duration(d.Round(time.Second)).String()
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

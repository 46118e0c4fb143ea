package store

import (
	"context"
	"slices"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

const workloadList = "w"

type workloadRow struct {
	ID          string `gorm:"primaryKey"`
	Name        string
	Kind        string
	Tenant      string
	Owner       string
	OwnerName   string
	SizeName    string // of Size, for counting quota
	LicensePool string // of Size, for counting seats
	Size        shared[catalog.Size]
	Image       shared[catalog.Image]
	Cluster     string
	Namespace   string
	Volume      string
	StorageGiB  int `gorm:"column:storage_gib"`
	Desired     string
	Generation  int64
	State       string
	Reason      document[i18n.Text]
	LeaseFrom   timestamp
	LeaseUntil  timestamp
	PlacedAt    timestamp
	WarnedAt    timestamp
	Grants      list[workload.Grant]
	Request     string
	OnNode      bool // of Observed: a pod is on a node
	Observed    document[workload.Observation]
	CreatedAt   timestamp `gorm:"autoCreateTime:false"`
	UpdatedAt   timestamp `gorm:"autoUpdateTime:false"`
	Version     int64

	LicenseSeats   int
	Replicas       document[workload.Replicas]
	Revisions      document[workload.Revisions]
	HeldReplicas   int // of Replicas, for counting quota and seats
	PlacedReplicas int // of Observed: pods on a node
	AvoidNodes     document[[]string]
	Trace          string
	Mounts         list[workload.Mount]
	Secrets        list[workload.SecretUse]
	Git            document[*workload.Git]
	Job            document[*workload.Job]
	Model          document[*catalog.Model]
	Result         document[*workload.Result]
	Schedule       document[workload.Schedule]
	Reach          document[workload.Reach]
}

func (workloadRow) TableName() string { return "workloads" }

func fromWorkload(w workload.Workload) workloadRow {
	return workloadRow{
		ID: string(w.ID), Name: w.Name, Kind: string(w.Kind), Tenant: w.Tenant, Owner: string(w.Owner),
		OwnerName: w.OwnerName,
		SizeName:  w.Size.Name, LicensePool: w.Size.LicensePool, Size: share(w.Size), Image: share(w.Image),
		Cluster: w.Cluster, Namespace: w.Namespace,
		Volume: w.Volume, StorageGiB: w.StorageGiB, Desired: string(w.Desired), Generation: w.Generation,
		State: string(w.State), Reason: doc(w.Reason),
		LeaseFrom: timestampOf(w.Lease.From), LeaseUntil: timestampOf(w.Lease.Until), PlacedAt: timestampOf(w.PlacedAt),
		WarnedAt: timestampOf(w.WarnedAt),
		Grants:   grantsInUTC(w.Grants), Request: w.Request, OnNode: w.Observed.PodPresent && w.Observed.Node != "",
		Observed:  doc(inUTC(w.Observed)),
		CreatedAt: timestampOf(w.CreatedAt), UpdatedAt: timestampOf(w.UpdatedAt), Version: w.Version,
		LicenseSeats: w.LicenseSeats, AvoidNodes: doc(w.AvoidNodes), Trace: w.Trace, Mounts: w.Mounts,
		Secrets: w.Secrets, Git: doc(w.Git),
		Job: doc(w.Job), Model: doc(w.Model), Result: doc(resultInUTC(w.Result)), Replicas: doc(w.Replicas),
		Revisions:      doc(w.Revisions),
		HeldReplicas:   w.Replicas.Hold(),
		PlacedReplicas: w.Observed.Placed(), Schedule: doc(w.Schedule), Reach: doc(w.Reach),
	}
}

func toWorkload(row workloadRow) workload.Workload {
	return workload.Workload{
		ID: workload.ID(row.ID), Name: row.Name, Kind: catalog.WorkloadKind(row.Kind), Tenant: row.Tenant,
		Owner:     identity.PersonID(row.Owner),
		OwnerName: row.OwnerName, Size: row.Size.is, Image: row.Image.is, Cluster: row.Cluster, Namespace: row.Namespace,
		Volume:     row.Volume,
		StorageGiB: row.StorageGiB, Desired: workload.Desired(row.Desired), Generation: row.Generation,
		State:  workload.State(row.State),
		Reason: row.Reason.is, Lease: workload.Lease{From: row.LeaseFrom.time(), Until: row.LeaseUntil.time()},
		PlacedAt: row.PlacedAt.time(),
		WarnedAt: row.WarnedAt.time(), Grants: row.Grants, Request: row.Request, Observed: row.Observed.is,
		CreatedAt: row.CreatedAt.time(),
		UpdatedAt: row.UpdatedAt.time(), Version: row.Version, LicenseSeats: row.LicenseSeats, AvoidNodes: row.AvoidNodes.is,
		Trace: row.Trace, Mounts: row.Mounts, Job: row.Job.is, Model: row.Model.is, Result: row.Result.is,
		Replicas: row.Replicas.is, Revisions: row.Revisions.is, Schedule: row.Schedule.is,
		Secrets: row.Secrets, Git: row.Git.is, Reach: row.Reach.is,
	}
}

func grantsInUTC(grants []workload.Grant) list[workload.Grant] {
	return each(grants, func(g workload.Grant) workload.Grant { g.Until, g.At = exact(g.Until), exact(g.At); return g })
}

// inUTC gives the times inside an observation the form that times in columns have. It writes to nothing that the caller
// holds.
func inUTC(o workload.Observation) workload.Observation {
	o.At, o.Result = exact(o.At), resultInUTC(o.Result)
	if o.Steps != nil {
		o.Steps = each(o.Steps, func(s workload.Step) workload.Step { s.At = exact(s.At); return s })
	}
	if o.Activity != nil {
		activity := *o.Activity
		activity.At, activity.LastActivity = exact(activity.At), exact(activity.LastActivity)
		if activity.Kernels != nil {
			activity.Kernels = each(activity.Kernels, func(k workload.Kernel) workload.Kernel {
				k.LastActivity = exact(k.LastActivity)
				return k
			})
		}
		o.Activity = &activity
	}
	return o
}

func resultInUTC(r *workload.Result) *workload.Result {
	if r == nil {
		return nil
	}
	copied := *r
	copied.StartedAt, copied.At = exact(r.StartedAt), exact(r.At)
	return &copied
}

// Workload gives one workload, also one that has ended.
func (v view) Workload(ctx context.Context, id workload.ID) (workload.Workload, error) {
	row, err := workloadByID.one(ctx, v, i18n.T("workload.not_found"), string(id))
	return toWorkload(row), err
}

var workloadByID = asked[workloadRow](func(db *gorm.DB) *gorm.DB { return db.Where("id = ?", "").Limit(1) })

// WorkloadByName gives the living workload of that name.
func (v view) WorkloadByName(ctx context.Context, name string) (workload.Workload, error) {
	row, err := one[workloadRow](v.at(ctx).Where("name = ? AND state <> 'ended'", name), i18n.T("workload.not_found"))
	return toWorkload(row), err
}

// Workloads gives a page, newest first. Ended ones are in it when the filter asks for them, by Ended or among States.
func (v view) Workloads(ctx context.Context, f workload.Filter) ([]workload.Workload, string, error) {
	rows, next, err := v.workloadPage(v.at(ctx), f)
	return each(rows, toWorkload), next, err
}

// workloadPage is the rows of a page, and where the next one begins.
func (v view) workloadPage(query *gorm.DB, f workload.Filter) ([]workloadRow, string, error) {
	limit := pageSize(f.Limit)
	query, err := newestFirst(query, workloadList, f.Cursor, limit)
	if err != nil || none(f.Tenants) {
		return nil, "", err
	}
	rows, err := all[workloadRow](workloadsIn(query, f))
	if err != nil {
		return nil, "", err
	}
	rows, next := paged(rows, limit, func(r workloadRow) cursorAt {
		return cursorAt{workloadList, r.CreatedAt.Int64, r.ID}
	})
	return rows, next, nil
}

// workloadsIn narrows a query to what a filter chooses.
func workloadsIn(query *gorm.DB, f workload.Filter) *gorm.DB {
	if f.Owner != "" {
		query = query.Where("owner = ?", string(f.Owner))
	}
	if !f.Ended && len(f.States) == 0 {
		query = query.Where("state <> 'ended'")
	}
	return among(among(withText(query, f.Text, "name", "owner_name"), "tenant", f.Tenants), "state", f.States)
}

// stateRank and leaseRank are the expressions of the index workloads_by_state, word for word: SQLite uses it for
// nothing else.
const stateRank = "CASE state WHEN 'failed' THEN 0 WHEN 'running' THEN 1 WHEN 'asleep' THEN 1 " +
	"WHEN 'starting' THEN 2 WHEN 'queued' THEN 2 ELSE 3 END"

const leaseRank = "COALESCE(CASE state WHEN 'running' THEN lease_until WHEN 'asleep' THEN lease_until END, 0)"

// workloadOrder is the order of a list in SQL.
func workloadOrder(f workload.Filter) string {
	way := ""
	if f.Down {
		way = " DESC"
	}
	order := stateRank + way + ", " + leaseRank + way
	switch f.Sort {
	case workload.ByName:
		order = "name" + way
	case workload.BySize:
		order = "size_name" + way
	case workload.ByLease:
		order = "desired <> 'running', CASE WHEN desired = 'running' THEN lease_until END" + way
	}
	return order + ", created_at DESC, id DESC"
}

// WorkloadIDs gives the ids of a list in the order of its filter: Limit of them from Offset on, all where it is 0.
func (v view) WorkloadIDs(ctx context.Context, f workload.Filter) ([]workload.ID, error) {
	if none(f.Tenants) {
		return nil, nil
	}
	query := workloadsIn(v.at(ctx).Model(&workloadRow{}), f).Order(workloadOrder(f))
	if f.Limit > 0 {
		query = query.Limit(f.Limit).Offset(f.Offset)
	}
	var ids []workload.ID
	return ids, failure(query.Pluck("id", &ids).Error)
}

// WorkloadsByID gives workloads in the order of the ids, without those that are not there.
func (v view) WorkloadsByID(ctx context.Context, ids []workload.ID) ([]workload.Workload, error) {
	found := make(map[workload.ID]workload.Workload, len(ids))
	for some := range slices.Chunk(ids, intervalsAtOnce) {
		rows, err := all[workloadRow](v.at(ctx).Where("id IN ?", some))
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			found[workload.ID(row.ID)] = toWorkload(row)
		}
	}
	list := make([]workload.Workload, 0, len(found))
	for _, id := range ids {
		if w, ok := found[id]; ok {
			list = append(list, w)
		}
	}
	return list, nil
}

// CountWorkloads counts a list by state.
func (v view) CountWorkloads(ctx context.Context, f workload.Filter) (map[workload.State]int, error) {
	count := map[workload.State]int{}
	if none(f.Tenants) {
		return count, nil
	}
	var rows []struct {
		State string
		Count int
	}
	err := workloadsIn(v.at(ctx).Model(&workloadRow{}), f).Select("state, count(*) AS count").Group("state").
		Scan(&rows).Error
	for _, row := range rows {
		count[workload.State(row.State)] = row.Count
	}
	return count, failure(err)
}

// Living gives every workload that has not ended, oldest first.
func (v view) Living(ctx context.Context) ([]workload.Workload, error) {
	rows, err := all[workloadRow](v.at(ctx).Where("state <> 'ended'").Order("created_at, id"))
	return each(rows, toWorkload), err
}

// ScalingEndpoints are the endpoints that shall run and scale by themselves.
func (v view) ScalingEndpoints(ctx context.Context) ([]workload.Workload, error) {
	rows, err := all[workloadRow](v.at(ctx).Where(`state <> 'ended' AND kind = 'endpoint' AND desired = 'running'
		AND replicas LIKE '%"scaling"%'`).Order("created_at, id"))
	return each(rows, toWorkload), err
}

// holdings names the conditions of the indexes workloads_holding and workloads_seats word for word: only so do both
// databases answer from them.
const holdings = `SELECT tenant, size_name, cluster, license_pool, sum(held_replicas),
		sum(license_seats * held_replicas)
	FROM workloads
	WHERE tenant = ?
	AND (desired = 'running' OR state = 'stopping')
	GROUP BY tenant, size_name, cluster, license_pool
	UNION ALL SELECT '', '', '', license_pool, sum(held_replicas), sum(license_seats * held_replicas) FROM workloads
		WHERE license_pool <> ''
		AND (desired = 'running' OR state = 'stopping') AND tenant <> ?
	GROUP BY license_pool`

// Holdings counts the replicas that a tenant holds, and the seats that all others hold. Each grant reads it, so it
// comes from indexes and past gorm's reflection; outside a grant, from the workloads that are kept.
func (v view) Holdings(ctx context.Context, tenant string) ([]workload.Holding, error) {
	if v.kept != nil {
		l, err := v.livingNow(ctx)
		if err != nil {
			return nil, err
		}
		return l.holdings(tenant), nil
	}
	rows, err := v.at(ctx).Raw(holdings, tenant, tenant).Rows()
	if err != nil {
		return nil, failure(err)
	}
	defer rows.Close()
	var list []workload.Holding
	for rows.Next() {
		var h workload.Holding
		if err := rows.Scan(&h.Tenant, &h.Size, &h.Cluster, &h.LicensePool, &h.Count, &h.Seats); err != nil {
			return nil, failure(err)
		}
		list = append(list, h)
	}
	return list, failure(rows.Err())
}

// NameTaken says whether a name is in use: by a living workload, by the storage "<name>-home" that a workload of this
// name left behind (also while it is being removed from the cluster: a new one would mount what is about to vanish), or
// by a pending request to start one.
func (v view) NameTaken(ctx context.Context, name string) (bool, error) {
	if !clean(name) {
		return false, notText(nil)
	}
	var taken bool
	err := nameTaken.into(ctx, v, []any{&taken}, name, name+"-home", name)
	return taken, err
}

var nameTaken = asked[workloadRow](func(db *gorm.DB) *gorm.DB {
	return db.Raw(`SELECT EXISTS (SELECT 1 FROM workloads WHERE name = ? AND state <> 'ended')
		OR EXISTS (SELECT 1 FROM volumes WHERE name = ?)
		OR EXISTS (SELECT 1 FROM requests WHERE name = ? AND kind = 'start' AND state = 'pending')`, "", "", "")
})

// Namesakes are the workloads of a namespace, also ended ones, that have one of some names.
func (v view) Namesakes(ctx context.Context, cluster, namespace string, names []string) ([]workload.Namesake, error) {
	var rows []struct {
		ID, Kind, Name string
		CreatedAt      timestamp
	}
	err := v.at(ctx).Raw("SELECT id, kind, name, created_at FROM workloads WHERE cluster = ? AND namespace = ? AND "+
		"name IN ? ORDER BY created_at, id", cluster, namespace, names).Scan(&rows).Error
	list := make([]workload.Namesake, len(rows))
	for i, row := range rows {
		list[i] = workload.Namesake{ID: workload.ID(row.ID), Kind: catalog.WorkloadKind(row.Kind), Name: row.Name,
			CreatedAt: row.CreatedAt.time()}
	}
	return list, failure(err)
}

// SaveWorkload inserts at Version 0 and else updates that version; the row's version is one higher afterwards. A living
// workload of the same name is a Conflict about the field "name".
func (t *tx) SaveWorkload(ctx context.Context, w workload.Workload) error {
	if err := t.unheld(w.Cluster); err != nil {
		return err
	}
	row := fromWorkload(w)
	row.Version++
	if t.trace != "" {
		row.Trace = t.trace
	}
	t.changed(live.Change{Topic: live.TopicWorkload, ID: row.ID, Tenant: row.Tenant, Person: row.Owner})
	var err error
	if w.Version > 0 {
		err = update(t.at(ctx), &row, "id", row.ID, w.Version)
	} else if err = insert(t.at(ctx), &row); err == nil {
		err = t.useSecrets(ctx, w)
	}
	if clash(err) == uniqueClash {
		taken := i18n.T("store.name_taken", "Name", w.Name)
		return &fault.Error{Kind: fault.Conflict, Sentence: taken, Fields: []fault.Field{{Name: "name", Reason: taken}},
			Cause: err}
	}
	return err
}

// SaveObserved writes what the controller made of an observation: the workload, its events, its meter and the record of
// its start, in one transaction. See reconcile.Store.
func (s *Store) SaveObserved(ctx context.Context, w workload.Workload, events []audit.Event, meter *usage.Interval,
	starts ...forecast.Start) error {
	return s.write(ctx, func(t *tx) error {
		if err := t.SaveWorkload(ctx, w); err != nil {
			return err
		}
		if w.Over() && w.Volume != "" {
			if err := t.release(ctx, w); err != nil {
				return err
			}
		}
		if meter != nil {
			if err := t.saveInterval(ctx, w.ID, *meter); err != nil {
				return err
			}
		}
		for _, start := range starts {
			if err := t.saveStart(ctx, start); err != nil {
				return err
			}
		}
		return t.Append(ctx, events...)
	})
}

// release lets others use the storage of a job that is over.
func (t *tx) release(ctx context.Context, w workload.Workload) error {
	v, err := t.Volume(ctx, w.Volume)
	if fault.Is(err, fault.NotFound) || err == nil && v.Workload != w.ID {
		return nil
	}
	if err != nil {
		return err
	}
	v.Workload, v.UpdatedAt = "", w.Observed.At
	return t.SaveVolume(ctx, v)
}

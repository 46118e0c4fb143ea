package store

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var _ license.Store = (*Store)(nil)

type entitlementRow struct {
	ID         string `gorm:"primaryKey"`
	Pool       string
	Reference  string
	Seats      int
	FromAt     timestamp
	UntilAt    timestamp
	Origin     string
	Author     string
	AuthorName string
	CreatedAt  timestamp `gorm:"autoCreateTime:false"`
}

func (entitlementRow) TableName() string { return "license_entitlements" }

func fromEntitlement(e license.Entitlement) entitlementRow {
	return entitlementRow{ID: e.ID, Pool: e.Pool, Reference: e.Reference, Seats: e.Seats, FromAt: timestampOf(e.From),
		UntilAt: timestampOf(e.Until), Origin: string(e.Origin),
		Author: e.Author, AuthorName: e.AuthorName, CreatedAt: timestampOf(e.At)}
}

func toEntitlement(row entitlementRow) license.Entitlement {
	return license.Entitlement{ID: row.ID, Pool: row.Pool, Reference: row.Reference, Seats: row.Seats,
		From: row.FromAt.time(), Until: row.UntilAt.time(),
		Origin: license.Origin(row.Origin), Author: row.Author, AuthorName: row.AuthorName, At: row.CreatedAt.time()}
}

var licenseChange = live.Change{Topic: live.TopicLicense}

// Entitlements are all licenses that were entered, by pool.
func (v view) Entitlements(ctx context.Context) ([]license.Entitlement, error) {
	rows, err := all[entitlementRow](v.at(ctx).Order("pool, created_at, id"))
	return each(rows, toEntitlement), err
}

// SaveEntitlements keeps all of them or none. It stands in the line of those who grant, so that two who enter the same
// purchase do not miss each other.
func (s *Store) SaveEntitlements(ctx context.Context, list []license.Entitlement,
	check func([]license.Entitlement) error, events ...audit.Event) error {
	return s.exclusively(ctx, "enter licenses", func(t *tx) error {
		there, err := t.Entitlements(ctx)
		if err != nil {
			return err
		}
		if err := check(there); err != nil {
			return err
		}
		for _, e := range list {
			row := fromEntitlement(e)
			if slices.ContainsFunc(there, func(o license.Entitlement) bool { return o.ID == e.ID }) {
				if err := failure(t.at(ctx).Where("id = ?", row.ID).Delete(&entitlementRow{}).Error); err != nil {
					return err
				}
			}
			if err := insert(t.at(ctx), &row); err != nil {
				return err
			}
		}
		t.changed(licenseChange)
		return t.Append(ctx, events...)
	})
}

// DeleteEntitlement forgets one; the audit still knows it.
func (s *Store) DeleteEntitlement(ctx context.Context, id string, events ...audit.Event) error {
	if !clean(id) {
		return fault.New(fault.NotFound, i18n.T("licenses.not_found"))
	}
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Exec("DELETE FROM license_entitlements WHERE id = ?", id)
		if done.Error == nil && done.RowsAffected == 0 {
			return fault.New(fault.NotFound, i18n.T("licenses.not_found"))
		}
		if done.Error != nil {
			return done.Error
		}
		t.changed(licenseChange)
		return t.Append(ctx, events...)
	})
}

type licensePoolRow struct {
	Name         string `gorm:"primaryKey"`
	OnExhaustion string
	Author       string
	AuthorName   string
	ChangedAt    timestamp
}

func (licensePoolRow) TableName() string { return "license_pools" }

// LicensePoolSettings are what administrators decided about pools.
func (v view) LicensePoolSettings(ctx context.Context) ([]license.PoolSetting, error) {
	rows, err := all[licensePoolRow](v.at(ctx).Order("name"))
	return each(rows, func(r licensePoolRow) license.PoolSetting {
		return license.PoolSetting{Pool: r.Name, OnExhaustion: license.ExhaustionPolicy(r.OnExhaustion), Author: r.Author,
			AuthorName: r.AuthorName,
			At:         r.ChangedAt.time()}
	}), err
}

// SaveLicensePoolSetting puts one in the place of the one before.
func (s *Store) SaveLicensePoolSetting(ctx context.Context, c license.PoolSetting, events ...audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		row := licensePoolRow{Name: c.Pool, OnExhaustion: string(c.OnExhaustion), Author: c.Author, AuthorName: c.AuthorName,
			ChangedAt: timestampOf(c.At)}
		if err := writable(&row); err != nil {
			return err
		}
		done := t.at(ctx).Exec(
			`INSERT INTO license_pools (name, on_exhaustion, author, author_name, changed_at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET on_exhaustion = excluded.on_exhaustion, author = excluded.author,
				author_name = excluded.author_name, changed_at = excluded.changed_at`,
			row.Name, row.OnExhaustion, row.Author, row.AuthorName, row.ChangedAt)
		if done.Error != nil {
			return done.Error
		}
		t.changed(licenseChange)
		return t.Append(ctx, events...)
	})
}

type answerRow struct {
	Source  string `gorm:"primaryKey"`
	Answer  document[license.Answer]
	TriedAt timestamp
}

func (answerRow) TableName() string { return "license_answers" }

// LicenseAnswers is what each license server said last.
func (v view) LicenseAnswers(ctx context.Context) ([]license.Answer, error) {
	rows, err := all[answerRow](v.at(ctx).Order("source"))
	return each(rows, func(r answerRow) license.Answer { return r.Answer.is }), err
}

// SaveLicenseAnswer keeps what a server said, unless a later try is kept already.
func (s *Store) SaveLicenseAnswer(ctx context.Context, a license.Answer) error {
	return s.write(ctx, func(t *tx) error {
		row := answerRow{Source: a.Source, Answer: doc(answerInUTC(a)), TriedAt: timestampOf(a.TriedAt)}
		if err := writable(&row); err != nil {
			return err
		}
		done := t.at(ctx).Exec(`INSERT INTO license_answers (source, answer, tried_at) VALUES (?, ?, ?)
			ON CONFLICT (source) DO UPDATE SET answer = excluded.answer, tried_at = excluded.tried_at
				WHERE license_answers.tried_at <= excluded.tried_at`,
			row.Source, row.Answer, row.TriedAt)
		if done.RowsAffected > 0 {
			t.changed(licenseChange)
		}
		return done.Error
	})
}

// answerInUTC gives times inside the document the form that times in columns have.
func answerInUTC(a license.Answer) license.Answer {
	a.At, a.TriedAt, a.Since = exact(a.At), exact(a.TriedAt), exact(a.Since)
	if a.Features != nil {
		a.Features = each(a.Features, func(f license.Feature) license.Feature {
			f.From, f.Until = exact(f.From), exact(f.Until)
			return f
		})
	}
	if a.Leases != nil {
		a.Leases = each(a.Leases, func(l license.Lease) license.Lease { l.Until = exact(l.Until); return l })
	}
	return a
}

type licenseDeviceRow struct {
	Cluster   string `gorm:"primaryKey"`
	Node      string `gorm:"primaryKey"`
	UUID      string `gorm:"primaryKey;column:uuid"`
	GPUIndex  string `gorm:"column:gpu_index"`
	Model     string
	State     string
	Since     timestamp
	SeenAt    timestamp
	ExpiresAt timestamp
}

func (licenseDeviceRow) TableName() string { return "license_devices" }

// LicenseDevices is what each vGPU was last known to say.
func (v view) LicenseDevices(ctx context.Context) ([]license.Device, error) {
	rows, err := all[licenseDeviceRow](v.at(ctx))
	list := each(rows, func(r licenseDeviceRow) license.Device {
		return license.Device{Cluster: r.Cluster, Node: r.Node, UUID: r.UUID, Index: r.GPUIndex, Model: r.Model,
			State: license.State(r.State), Since: r.Since.time(),
			SeenAt: r.SeenAt.time(), Expires: r.ExpiresAt.time()}
	})
	slices.SortFunc(list, func(a, b license.Device) int { // as license.MergeDevices does, whatever the collation
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Node, b.Node),
			strings.Compare(a.Index, b.Index), strings.Compare(a.UUID, b.UUID))
	})
	return list, err
}

// SaveLicenseDevices replaces what is known; what was not seen since the time is forgotten. Open pages hear of it when
// a state changed.
func (s *Store) SaveLicenseDevices(ctx context.Context, list []license.Device, forget time.Time, changed bool,
	events ...audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		for _, d := range list {
			row := licenseDeviceRow{Cluster: d.Cluster, Node: d.Node, UUID: d.UUID, GPUIndex: d.Index, Model: d.Model,
				State: string(d.State), Since: timestampOf(d.Since),
				SeenAt: timestampOf(d.SeenAt), ExpiresAt: timestampOf(d.Expires)}
			if err := writable(&row); err != nil {
				return err
			}
			err := t.at(ctx).Exec(
				`INSERT INTO license_devices (cluster, node, uuid, gpu_index, model, state, since, seen_at, expires_at) VALUES (?,
					?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (cluster, node, uuid) DO UPDATE SET gpu_index = excluded.gpu_index, model = excluded.model,
					state = excluded.state, since = excluded.since,
				seen_at = excluded.seen_at, expires_at = excluded.expires_at WHERE license_devices.seen_at <= excluded.seen_at`,
				row.Cluster, row.Node, row.UUID, row.GPUIndex, row.Model, row.State, row.Since, row.SeenAt, row.ExpiresAt).Error
			if err != nil {
				return err
			}
		}
		if changed {
			t.changed(licenseChange)
		}
		if err := t.at(ctx).Exec("DELETE FROM license_devices WHERE seen_at < ?", timestampOf(forget)).Error; err != nil {
			return err
		}
		return t.Append(ctx, events...)
	})
}

type checkoutRow struct {
	ID           string
	Name         string
	Tenant       string
	Owner        string
	Cluster      string
	LicensePool  string
	LicenseSeats int
	OnNode       bool
	HeldReplicas int
	Size         shared[catalog.Size]
	Observed     document[struct {
		Node string             `json:"node"`
		Pods []workload.Replica `json:"pods"`
	}]
	CreatedAt timestamp
}

// readCheckouts reads the checkouts of now. The condition is the one of Holdings, word for word.
func (v view) readCheckouts(ctx context.Context) ([]license.Checkout, error) {
	var rows []checkoutRow
	err := v.at(ctx).Raw(
		`SELECT id, name, tenant, owner, cluster, license_pool, license_seats, on_node, size, observed, created_at,
			held_replicas FROM workloads
		WHERE license_pool <> '' AND (desired = 'running' OR state = 'stopping') ORDER BY created_at, id`).Scan(&rows).Error
	var list []license.Checkout
	for _, r := range rows {
		list = append(list, r.checkouts()...)
	}
	return list, failure(err)
}

// checkoutsOf are the checkouts of living workloads, as readCheckouts reads them.
func checkoutsOf(living []workload.Workload) (list []license.Checkout) {
	for i := range living {
		w := &living[i]
		if w.Size.LicensePool == "" || !w.Holds() {
			continue
		}
		r := checkoutRow{ID: string(w.ID), Name: w.Name, Tenant: w.Tenant, Owner: string(w.Owner), Cluster: w.Cluster,
			LicensePool: w.Size.LicensePool, LicenseSeats: w.LicenseSeats, Size: share(w.Size),
			OnNode: w.Observed.PodPresent && w.Observed.Node != "", HeldReplicas: w.Replicas.Hold(),
			CreatedAt: timestampOf(w.CreatedAt)}
		r.Observed.is.Node, r.Observed.is.Pods = w.Observed.Node, w.Observed.Pods
		list = append(list, r.checkouts()...)
	}
	return list
}

// checkouts are one for each replica.
func (r checkoutRow) checkouts() []license.Checkout {
	t := r.Size.is.Checkout(license.Pool{}, r.Owner)
	t.Pool, t.Workload, t.Name, t.Tenant, t.Cluster = r.LicensePool, r.ID, r.Name, r.Tenant, r.Cluster
	t.Seats, t.Since = max(1, r.LicenseSeats), r.CreatedAt.time()
	list := make([]license.Checkout, r.HeldReplicas)
	for n := range list {
		t.Node = ""
		switch pods := r.Observed.is.Pods; {
		case n < len(pods):
			t.Node = pods[n].Node
		case n == 0 && r.OnNode:
			t.Node = r.Observed.is.Node
		}
		list[n] = t
	}
	return list
}

type spanRow struct {
	Workload     string
	Name         string
	Tenant       string
	LicensePool  string
	LicenseSeats int
	SeatGroup    string
	SeatMost     int
	Replicas     int
	FromAt       timestamp
	UntilAt      timestamp
}

// Spans are the metered stretches since a time of workloads with seats, by pool. A stretch that began before is cut off
// there.
func (v view) Spans(ctx context.Context, since time.Time) (map[string][]license.Span, error) {
	var rows []spanRow
	err := v.at(ctx).Raw(
		`SELECT w.id AS workload, w.name, m.tenant, w.license_pool, w.license_seats, m.seat_group, m.seat_most, m.from_at,
			m.until_at, m.replicas
		FROM meter_intervals AS m JOIN workloads AS w ON w.id = m.workload
		WHERE w.license_pool <> '' AND (m.until_at IS NULL OR m.until_at > ?) ORDER BY m.from_at, m.workload`,
		timestampOf(since)).Scan(&rows).Error
	spans := map[string][]license.Span{}
	for _, r := range rows {
		s := license.Span{Workload: r.Workload, Name: r.Name, Tenant: r.Tenant, Seats: max(1, r.LicenseSeats),
			Group: r.SeatGroup, Most: r.SeatMost, From: r.FromAt.time(), Until: r.UntilAt.time()}
		if r.SeatGroup == "" {
			s.Seats *= r.Replicas
		}
		if s.From.Before(since) {
			s.From = since
		}
		spans[r.LicensePool] = append(spans[r.LicensePool], s)
	}
	return spans, failure(err)
}

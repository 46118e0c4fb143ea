package workload

import (
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/memo"
	"github.com/gpu-portal/gpu-portal/internal/schedule"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Store is what the service needs. Faults: NotFound, Conflict for a lost race, Unavailable when the database is away.
type Store interface {
	// ChangeExclusively runs fn in one transaction that no grant and no other change runs beside.
	ChangeExclusively(ctx context.Context, fn func(Tx) error) error
	Workload(ctx context.Context, id ID) (Workload, error)
	WorkloadByName(ctx context.Context, name string) (Workload, error)
	// Visits lists who was inside a workload, newest first, at most that many.
	Visits(ctx context.Context, id ID, most int) ([]Visit, error)
	Workloads(ctx context.Context, f Filter) ([]Workload, string, error)
	// WorkloadIDs gives the ids of a list in the order of its filter: Limit of them from Offset on, all where it is 0.
	WorkloadIDs(ctx context.Context, f Filter) ([]ID, error)
	// WorkloadsByID gives workloads in the order of the ids, without those that are not there.
	WorkloadsByID(ctx context.Context, ids []ID) ([]Workload, error)
	// Living gives every workload that has not ended, oldest first; the list belongs to all who ask.
	Living(ctx context.Context) ([]Workload, error)
	// CountWorkloads counts a list by state.
	CountWorkloads(ctx context.Context, f Filter) (map[State]int, error)
	Intervals(ctx context.Context, ids []ID) (map[ID][]usage.Interval, error)
	// SeatSharers gives the whole meter of groups that share license seats.
	SeatSharers(ctx context.Context, groups []string) (usage.Sharers, error)
	Volumes(ctx context.Context, f VolumeFilter) ([]Volume, error)
	// Mounting lists the workloads that mount a volume by name and have not ended.
	Mounting(ctx context.Context, v Volume) ([]Workload, error)
	// Claims are what clusters last said of the claims of volumes, by the volume's name.
	Claims(ctx context.Context, volumes ...string) (map[string]ClaimState, error)
	// Datasets lists those of some teams, nil for all, by team and name.
	Datasets(ctx context.Context, teams []string) ([]Dataset, error)
	// VolumeSnapshots lists those of some volumes, oldest first, also those that are being deleted.
	VolumeSnapshots(ctx context.Context, volumes ...string) ([]VolumeSnapshot, error)
	// WithDataset lists the workloads that have a data set of a team and have not ended.
	WithDataset(ctx context.Context, team, name string) ([]Workload, error)
	History(ctx context.Context, id ID, limit int) ([]audit.Event, error)
}

// Tx is one transaction; saves insert at Version 0, else update that version or answer Conflict.
type Tx interface {
	Workload(ctx context.Context, id ID) (Workload, error)
	Volume(ctx context.Context, name string) (Volume, error)
	Volumes(ctx context.Context, f VolumeFilter) ([]Volume, error)
	Mounting(ctx context.Context, v Volume) ([]Workload, error)
	Holdings(ctx context.Context, tenant string) ([]Holding, error) // see request.Store
	Checkouts(ctx context.Context) ([]license.Checkout, error)
	// Claims are what clusters last said of the claims of volumes, by the volume's name.
	Claims(ctx context.Context, volumes ...string) (map[string]ClaimState, error)
	VolumeSnapshot(ctx context.Context, id string) (VolumeSnapshot, error) // also one that is being deleted
	// VolumeSnapshots lists those of some volumes, oldest first, also those that are being deleted.
	VolumeSnapshots(ctx context.Context, volumes ...string) ([]VolumeSnapshot, error)
	AddVolumeSnapshot(ctx context.Context, s VolumeSnapshot) error
	// DropVolumeSnapshots says that snapshots of a volume shall go.
	DropVolumeSnapshots(ctx context.Context, v Volume, ids ...string) error
	Dataset(ctx context.Context, team, name string) (Dataset, error)
	Datasets(ctx context.Context, teams []string) ([]Dataset, error)
	WithDataset(ctx context.Context, team, name string) ([]Workload, error)
	SaveDataset(ctx context.Context, d Dataset) error
	// DeleteDataset is a Conflict for a lost race.
	DeleteDataset(ctx context.Context, d Dataset) error
	SaveWorkload(ctx context.Context, w Workload) error
	SaveVolume(ctx context.Context, v Volume) error
	budget.Tx
}

// Filter chooses workloads. Lists are newest first; Cursor is what the last page gave as next.
type Filter struct {
	Owner   identity.PersonID
	Tenants []string // nil for all; an empty list for none
	States  []State  // empty for all
	Ended   bool     // also those that were deleted
	Text    []string // words in lower case: each is in the name or in the owner's, or is the id
	Cursor  string
	Limit   int // at most 500; 100 where 0

	// Sort, Down and Offset are for Service.Page: a list in one of several orders, and from which row on.
	Sort   Sort
	Down   bool
	Offset int
}

// Sort is the order of a list; those that are alike in it are newest first.
type Sort string

// The orders. ByState is what failed, what runs (whose lease ends next comes first), what is on its way, what rests.
// ByLease is what ends next; what holds no GPU comes last, whichever way it is sorted.
const (
	ByState Sort = "state"
	ByName  Sort = "name"
	BySize  Sort = "size"
	ByLease Sort = "lease"
)

// VolumeFilter chooses volumes.
type VolumeFilter struct {
	Owner   identity.PersonID
	Tenants []string // nil for all
	Cluster string
	Shared  bool // only volumes of teams
}

// Limits says what a tenant may hold and how many seats there are; the service asks it when a stopped workload is
// resumed.
type Limits interface {
	QuotaLimits(tenant, size, cluster string) []tenant.Limit // never empty
	Pools() []license.Pool
	TenantDisabled(tenant string) bool
	// ImageGone is why an image cannot be started again; zero where it can.
	ImageGone(tenant string, i catalog.Image) i18n.Text
}

// Service changes the specs of workloads for people, with their rights checked.
type Service struct {
	Store     Store
	Limits    Limits
	Budgets   *budget.Service        // nil: no team has one
	Prices    func() usage.PriceList // of license seats; nil: they cost nothing
	Now       func() time.Time
	Retention Retention
	Grace     time.Duration // in which a volume of a team that was deleted can be taken back; 0: none
	// Sizes gives a size as the catalog has it now; nil: no lease becomes longer by itself.
	Sizes func(name string) (catalog.Size, bool)
	// Avoid lists the nodes of a cluster that lack a license, for vGPUs that start again; nil: none.
	Avoid func(cluster string) []string
	// SeatQueue is where a resume waits that finds a full license pool with a line; nil: it is refused.
	SeatQueue SeatQueue
	// Sharing is what volumes of teams are decided by.
	Sharing func() Sharing
	// TeamSecrets lists the secrets of a team; nil: it has none.
	TeamSecrets func(ctx context.Context, team string) ([]SecretUse, error)
	// Colleagues finds whom a workload can be shared with; nil: nobody by name.
	Colleagues Colleagues
	// Schedules are the hours of a team, with the holidays that count for it; nil: it has none.
	Schedules func(tenant string) schedule.Team
	// MayStart is a Conflict, with the reason, where the owner of a workload could not start it by hand: the clock does
	// not do it for them; nil: they can.
	MayStart func(ctx context.Context, w Workload) error
	// Changes tell whether amounts to compare are still so; nil: they are read each time.
	Changes usage.Changes

	compared memo.Memo[int64, *comparedCosts]
}

// SeatQueue is the queue for license seats, which resumes join and leave.
type SeatQueue interface {
	// Depth counts who waits for seats of a pool, besides a workload's own resume.
	Depth(ctx context.Context, tx Tx, pool string, but ID) (int, error)
	// Join puts a resume at the end; one that stands there keeps its place.
	Join(ctx context.Context, tx Tx, a identity.Actor, w Workload, pool license.Pool) error
	// Leave gives up the place of a resume, if it has one.
	Leave(ctx context.Context, tx Tx, id ID) error
}

// Permit answers NotFound when the actor may not see the workload, and Forbidden when they may see it but not do the
// action.
func Permit(a identity.Actor, action identity.Action, w Workload) error {
	return permit(a, action, w, w.Resource())
}

// PermitAt is Permit that counts Grants as well.
func PermitAt(a identity.Actor, action identity.Action, w Workload, now time.Time) error {
	return permit(a, action, w, w.ResourceAt(now))
}

func permit(a identity.Actor, action identity.Action, w Workload, r identity.Resource) error {
	if identity.Can(a, action, r) {
		return nil
	}
	if identity.Can(a, identity.ReadWorkload, w.Resource()) {
		return fault.New(fault.Forbidden, i18n.T("workload.not_yours", "Owner", w.OwnerName))
	}
	return fault.New(fault.NotFound, i18n.T("workload.not_found"))
}

// Get gives one workload; what the actor may not read does not exist.
func (s *Service) Get(ctx context.Context, a identity.Actor, id ID) (Workload, error) {
	w, err := s.Store.Workload(ctx, id)
	if err != nil {
		return Workload{}, err
	}
	return w, Permit(a, identity.ReadWorkload, w)
}

// List gives a page of the workloads that the actor may read: one's own (mine) or all visible.
func (s *Service) List(ctx context.Context, a identity.Actor, mine bool, f Filter) ([]Workload, string, error) {
	if err := identity.Known(a); err != nil {
		return nil, "", err
	}
	return s.Store.Workloads(ctx, f.readable(a, mine))
}

// readable narrows a filter to what the actor may read: one's own (mine) or all visible.
func (f Filter) readable(a identity.Actor, mine bool) Filter {
	if mine {
		f.Owner = a.Person.ID
	}
	if !a.SeesAll() && !mine {
		f.Tenants = visible(f.Tenants, a)
	}
	return f
}

// Living gives those of the workloads that have not ended that the actor may read and that keep takes, newest first:
// for pages that look at each of them. They belong to all who ask and must not be changed.
func (s *Service) Living(ctx context.Context, a identity.Actor, keep func(*Workload) bool) ([]*Workload, error) {
	if err := identity.Known(a); err != nil {
		return nil, err
	}
	living, err := s.Store.Living(ctx)
	teams := Filter{}.readable(a, false).Tenants
	var kept []*Workload
	for i := range slices.Backward(living) {
		if w := &living[i]; (teams == nil || slices.Contains(teams, w.Tenant)) && keep(w) {
			kept = append(kept, w)
		}
	}
	return kept, err
}

// Page gives Limit workloads of a list from Offset on, in the order of the filter.
func (s *Service) Page(ctx context.Context, a identity.Actor, mine bool, f Filter) ([]Workload, error) {
	ids, err := s.IDs(ctx, a, mine, f)
	if err != nil {
		return nil, err
	}
	return s.Some(ctx, a, ids)
}

// Count is how many of a list are in each state.
func (s *Service) Count(ctx context.Context, a identity.Actor, mine bool, f Filter) (map[State]int, error) {
	if err := identity.Known(a); err != nil {
		return nil, err
	}
	return s.Store.CountWorkloads(ctx, f.readable(a, mine))
}

// IDs are those of a list, for who sorts it by what the database does not hold.
func (s *Service) IDs(ctx context.Context, a identity.Actor, mine bool, f Filter) ([]ID, error) {
	if err := identity.Known(a); err != nil {
		return nil, err
	}
	return s.Store.WorkloadIDs(ctx, f.readable(a, mine))
}

// Running are those of some workloads that run; what the actor may not read is not among them. They belong to all who
// ask and must not be changed.
func (s *Service) Running(ctx context.Context, a identity.Actor, ids []ID) ([]*Workload, error) {
	if err := identity.Known(a); err != nil {
		return nil, err
	}
	wanted := make(map[ID]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	living, err := s.Store.Living(ctx)
	var list []*Workload
	for i := range living {
		if w := &living[i]; w.State == Running && wanted[w.ID] &&
			identity.Can(a, identity.ReadWorkload, identity.Resource{Tenant: w.Tenant, Owner: w.Owner}) {
			list = append(list, w)
		}
	}
	return list, err
}

// Some gives workloads in the order of their ids; what the actor may not read is not among them.
func (s *Service) Some(ctx context.Context, a identity.Actor, ids []ID) ([]Workload, error) {
	if err := identity.Known(a); err != nil {
		return nil, err
	}
	items, err := s.Store.WorkloadsByID(ctx, ids)
	return slices.DeleteFunc(items, func(w Workload) bool { return Permit(a, identity.ReadWorkload, w) != nil }), err
}

func visible(wanted []string, a identity.Actor) []string {
	names := []string{}
	for _, t := range a.TenantNames() {
		if wanted == nil {
			names = append(names, t)
			continue
		}
		for _, w := range wanted {
			if w == t {
				names = append(names, t)
			}
		}
	}
	return names
}

// Costs prices the given workloads up to now.
func (s *Service) Costs(ctx context.Context, items ...Workload) (map[ID]usage.Money, error) {
	upTo, err := s.Meters(ctx, items...)
	if err != nil {
		return nil, err
	}
	return upTo(s.Now()), nil
}

// Meters reads what the given workloads have used, and prices it up to any moment without reading again: a meter
// changes only with its workload, or with one that shares its license seats.
func (s *Service) Meters(ctx context.Context,
	items ...Workload) (costs func(now time.Time) map[ID]usage.Money, err error) {
	ids := make([]ID, len(items))
	for i, w := range items {
		ids[i] = w.ID
	}
	cost, err := s.costing(ctx, ids)
	if err != nil {
		return nil, err
	}
	return func(now time.Time) map[ID]usage.Money {
		costs := make(map[ID]usage.Money, len(items))
		for _, w := range items {
			m := cost(w.ID, now)
			m.Currency = w.Size.PricePerHour.Currency
			costs[w.ID] = m
		}
		return costs
	}, nil
}

// costing reads the meters of workloads, for what each has cost up to a moment.
func (s *Service) costing(ctx context.Context, ids []ID) (cost func(ID, time.Time) usage.Money, err error) {
	intervals, err := s.Store.Intervals(ctx, ids)
	if err != nil {
		return nil, err
	}
	var shared []usage.Interval
	for _, meter := range intervals {
		for i := range meter {
			if meter[i].Seats.Group != "" {
				shared = append(shared, meter[i])
			}
		}
	}
	sharers, err := s.Store.SeatSharers(ctx, usage.SeatGroups(shared))
	if err != nil {
		return nil, err
	}
	var prices usage.PriceList
	if s.Prices != nil {
		prices = s.Prices()
	}
	return func(id ID, now time.Time) usage.Money { return Cost(intervals[id], sharers, prices, now) }, nil
}

// History is who did what to a workload, newest first.
func (s *Service) History(ctx context.Context, a identity.Actor, id ID) ([]audit.Event, error) {
	if _, err := s.Get(ctx, a, id); err != nil {
		return nil, err
	}
	return s.Store.History(ctx, id, 200)
}

// Stop frees the GPU, license seats and budget of a workload, and keeps its storage.
func (s *Service) Stop(ctx context.Context, a identity.Actor, id ID) (Workload, error) {
	return s.change(ctx, a, id, Stop)
}

// Promote lets the canary of an endpoint take over.
func (s *Service) Promote(ctx context.Context, a identity.Actor, id ID) (Workload, error) {
	return s.change(ctx, a, id, Promote)
}

// Split sets which part of the calls of an endpoint its canary takes.
func (s *Service) Split(ctx context.Context, a identity.Actor, id ID, percent int) (Workload, error) {
	return s.change(ctx, a, id, Split(percent))
}

// Start resumes a stopped workload within its lease, if quota and seats still allow it. Where it gets a place in the
// line of a full license pool, it comes back as it was: stopped.
func (s *Service) Start(ctx context.Context, a identity.Actor, id ID) (Workload, error) {
	var out Workload
	err := s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		w, err := s.permitted(ctx, tx, a, id)
		if err != nil {
			return err
		}
		out, err = s.resume(ctx, tx, a, w, Start)
		return err
	})
	return out, err
}

// resume is Start within a transaction; start is what it makes of the workload.
func (s *Service) resume(ctx context.Context, tx Tx, a identity.Actor, w Workload, start Change) (Workload, error) {
	if why := s.Limits.ImageGone(w.Tenant, w.Image); w.CanStart() && !why.IsZero() {
		return w, fault.New(fault.Conflict, why)
	}
	if !w.Holds() {
		w.Replicas.Asleep = false
		full, err := s.room(ctx, tx, w)
		if err != nil {
			return w, err
		}
		if full != nil {
			if _, _, err := start(w, a, s.Now()); err != nil { // what cannot run at all does not wait either
				return w, err
			}
			return w, s.SeatQueue.Join(ctx, tx, a, w, *full)
		}
		w.AvoidNodes = nil
		if s.Avoid != nil && w.Size.Technology == catalog.VGPU {
			w.AvoidNodes = s.Avoid(w.Cluster)
		}
	}
	out, err := s.apply(ctx, tx, a, w, start)
	if err != nil {
		return out, err
	}
	return out, s.afford(ctx, tx, out)
}

// afford puts aside what the rest of a resumed lease takes of the team's budget. Where an approver has to agree to more
// than is left, the Conflict leads to where that is asked.
func (s *Service) afford(ctx context.Context, tx Tx, w Workload) error {
	if s.Budgets == nil || w.Desired != WantRunning {
		return nil
	}
	c, err := tx.BudgetClaim(ctx, string(w.ID))
	if err != nil {
		return err
	}
	ask, err := s.Budgets.Ask(ctx, tx, c)
	if err != nil {
		return err
	}
	if !ask.Fits() {
		return short(ask, w)
	}
	return s.Budgets.Hold(ctx, tx, c, true)
}

func short(ask budget.Ask, w Workload) error {
	if !ask.NeedsApproval() {
		return fault.New(fault.Conflict, ask.Sentence("budget.over"))
	}
	f := fault.New(fault.Conflict, ask.Sentence("budget.needs_approval"))
	f.See = w.ResumePath()
	return f
}

// ResumePath is where an approver is asked to agree to a resume, as fault.Error's See.
func (w Workload) ResumePath() string { return "workloads/" + string(w.ID) + "/resume" }

// room checks quota and seats for a workload that holds nothing now. It gives the license pool in whose line it has to
// wait; nil where it can go on.
func (s *Service) room(ctx context.Context, tx Tx, w Workload) (full *license.Pool, err error) {
	if s.Limits.TenantDisabled(w.Tenant) {
		return nil, fault.New(fault.Conflict, i18n.T("request.tenant_disabled", "Tenant", w.Tenant))
	}
	holdings, err := tx.Holdings(ctx, w.Tenant)
	if err != nil {
		return nil, err
	}
	quota := QuotaOf(w.Tenant, w.Size.Name, s.Limits.QuotaLimits(w.Tenant, w.Size.Name, w.Cluster), holdings)
	if quota.Lacks(w.Replicas.Want()) {
		return nil, fault.New(fault.Conflict, i18n.T("request.quota_full", "Size", quota.Names(w.Size), "Used", quota.Used,
			"Limit", quota.Limit))
	}
	seats, ahead, err := s.seats(ctx, tx, w)
	if err != nil || seats == nil {
		return nil, err
	}
	turn := seats.Admit(seats.Additional(checkouts(w, seats.Pool, w.Replicas.Want())...), ahead)
	switch {
	case turn == license.Admitted:
		return nil, nil
	case turn == license.Queued && s.SeatQueue != nil:
		return &seats.Pool, nil
	}
	return nil, fault.New(fault.Conflict, i18n.T("request.no_seat", "Pool", seats.Pool.Title, "Seats", seats.Pool.Seats))
}

// Delete ends a workload permanently. Its storage is kept unless withStorage is true.
func (s *Service) Delete(ctx context.Context, a identity.Actor, id ID, withStorage bool) (Workload, error) {
	var out Workload
	err := s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		w, err := s.permitted(ctx, tx, a, id)
		if err != nil {
			return err
		}
		if out, err = s.apply(ctx, tx, a, w, Delete); err != nil || w.Volume == "" || out.Version == w.Version {
			return err
		}
		v, err := tx.Volume(ctx, w.Volume)
		if fault.Is(err, fault.NotFound) || err == nil && v.Workload != w.ID && (v.Workload != "" || !withStorage) {
			return nil // a job that is over has given it back, and another may have it now
		}
		if err != nil {
			return err
		}
		return s.releaseVolume(ctx, tx, a, v, withStorage)
	})
	return out, err
}

// releaseVolume detaches a volume from its workload; the controller deletes the PVC of a deleted one when no pod uses
// it.
func (s *Service) releaseVolume(ctx context.Context, tx Tx, a identity.Actor, v Volume, remove bool) error {
	v.Workload, v.UpdatedAt, v.Deleted = "", s.Now(), remove
	if err := tx.SaveVolume(ctx, v); err != nil || !remove {
		return err
	}
	if err := dropSnapshots(ctx, tx, v); err != nil {
		return err
	}
	return tx.Append(ctx, volumeEvent(v, a, s.Now()))
}

func volumeEvent(v Volume, a identity.Actor, now time.Time) audit.Event {
	e := audit.By(a, audit.VolumeDeleted, now)
	e.Tenant, e.Volume = v.Tenant, v.Name
	return e
}

// Volumes lists the storage that the actor may see.
func (s *Service) Volumes(ctx context.Context, a identity.Actor, mine bool) ([]Volume, error) {
	if err := identity.Known(a); err != nil {
		return nil, err
	}
	f := VolumeFilter{}
	if mine {
		f.Owner = a.Person.ID
	} else if !a.SeesAll() {
		f.Tenants = a.TenantNames()
	}
	return s.Store.Volumes(ctx, f)
}

// DeleteVolume deletes kept storage permanently. Storage in use is a Conflict.
func (s *Service) DeleteVolume(ctx context.Context, a identity.Actor, name string) error {
	return s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		v, err := tx.Volume(ctx, name)
		if err != nil {
			return err
		}
		switch {
		case !identity.Can(a, identity.ReadVolume, v.Resource()):
			return fault.New(fault.NotFound, i18n.T("volume.not_found"))
		case !identity.Can(a, identity.DeleteVolume, v.Resource()):
			return fault.New(fault.Forbidden, i18n.T("volume.not_yours", "Owner", v.OwnerName))
		case v.Deleted:
			return nil
		}
		own := OwnVolume{Volume: v}
		if v.IsPersonal() {
			if own.Users, err = tx.Mounting(ctx, v); err != nil {
				return err
			}
		}
		if held := own.Held(); !held.IsZero() {
			return fault.New(fault.Conflict, held)
		}
		if err := uncloned(ctx, tx, v, v.isSourceOf); err != nil {
			return err
		}
		return s.releaseVolume(ctx, tx, a, v, true)
	})
}

func (s *Service) change(ctx context.Context, a identity.Actor, id ID, change Change) (Workload, error) {
	var out Workload
	err := s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		w, err := s.permitted(ctx, tx, a, id)
		if err != nil {
			return err
		}
		out, err = s.apply(ctx, tx, a, w, change)
		return err
	})
	return out, err
}

func (s *Service) permitted(ctx context.Context, tx Tx, a identity.Actor, id ID) (Workload, error) {
	w, err := tx.Workload(ctx, id)
	if err != nil {
		return Workload{}, err
	}
	return w, Permit(a, identity.ChangeWorkload, w)
}

// apply makes the change, and saves it when there was something to change.
func (s *Service) apply(ctx context.Context, tx Tx, a identity.Actor, w Workload, change Change) (Workload, error) {
	next, events, err := change(w, a, s.Now())
	if err != nil || len(events) == 0 {
		return next, err
	}
	if err := tx.SaveWorkload(ctx, next); err != nil {
		return Workload{}, err
	}
	next.Version++
	return next, tx.Append(ctx, events...)
}

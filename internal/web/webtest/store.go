package webtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/budget/budgettest"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/delegation"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Store keeps everything in maps. It has no transactions: what fails half way stays half done.
type Store struct {
	mu        sync.Mutex
	Reqs      map[request.ID]request.Request
	Refused   []request.Refused
	Works     map[workload.ID]workload.Workload
	Vols      map[string]workload.Volume
	VolClaims map[string]workload.ClaimState // of teams' volumes
	Held      map[workload.ID][]usage.Interval
	Engine    map[workload.ID]usage.EngineUse // how busy GPUs were this month; empty: nobody knows
	Record    []audit.Event
	TokenList []identity.Token
	Sessions  []identity.Session
	Off       map[identity.PersonID]identity.Person // who was disabled, with by whom
	RuleTexts []policy.Revision                     // oldest first
	Snaps     map[string]inventory.Snapshot
	Periods   []delegation.Delegation // who decides in whose place
	*budgettest.Books
	publish func(live.Change) // tells the hub, as the outbox of the real store does
}

func newStore() *Store {
	s := &Store{Reqs: map[request.ID]request.Request{}, Works: map[workload.ID]workload.Workload{},
		Vols: map[string]workload.Volume{}, Off: map[identity.PersonID]identity.Person{},
		Held: map[workload.ID][]usage.Interval{}, Snaps: map[string]inventory.Snapshot{}}
	s.Books = budgettest.NewBooks(s.claims)
	return s
}

// requestStore and workloadStore give the two packages their own face of the same maps.
type (
	requestStore  struct{ *Store }
	workloadStore struct{ *Store }
)

func (s requestStore) DecideExclusively(_ context.Context, fn func(request.Tx) error) error {
	return fn(s)
}

// ReadOnly runs fn.
func (s requestStore) ReadOnly(_ context.Context, fn func(request.Reader) error) error { return fn(s) }

func (s workloadStore) ChangeExclusively(_ context.Context, fn func(workload.Tx) error) error {
	return fn(s)
}

// claims are those of all workloads, and of all storage.
func (s *Store) claims() []budget.Claim {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []budget.Claim
	for id, w := range s.Works {
		list = append(list, w.Claim(s.Held[id]))
	}
	for _, v := range s.Vols {
		list = append(list, budget.Claim{Workload: budget.VolumeID(v.Tenant, v.Name), Tenant: v.Tenant, Holds: true,
			Wanted: !v.Deleted, StorageIntervals: []usage.StorageInterval{kept(v)}})
	}
	return list
}

// BudgetExclusively runs fn; see DecideExclusively.
func (s *Store) BudgetExclusively(_ context.Context, fn func(budget.Tx) error) error {
	return fn(requestStore{s})
}

func notFound() error { return fault.New(fault.NotFound, i18n.T("request.not_found")) }

// Request finds one by id.
func (s *Store) Request(_ context.Context, id request.ID) (request.Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.Reqs[id]
	if !ok {
		return r, notFound()
	}
	return r, nil
}

// RequestByKey finds one by its idempotency key.
func (s *Store) RequestByKey(_ context.Context, asker identity.PersonID, key string) (request.Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.Reqs {
		if r.Asker == asker && r.Key == key {
			return r, nil
		}
	}
	return request.Request{}, notFound()
}

// Requests lists, newest first.
func (s *Store) Requests(_ context.Context, f request.Filter) ([]request.Request, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []request.Request
	for _, r := range s.Reqs {
		if (f.Asker == "" || r.Asker == f.Asker) && (f.About == "" || r.Workload == f.About) &&
			(f.Tenants == nil || slices.Contains(f.Tenants, r.Spec.Tenant)) &&
			(len(f.States) == 0 || slices.Contains(f.States, r.State)) &&
			(f.Inbox == nil || f.Inbox.Holds(r)) && (f.Size == "" || f.Size == r.Spec.Size.Name) &&
			!r.CreatedAt.Before(f.Since) && has(f.Text, string(r.ID), r.Spec.Name, r.AskerName, r.Spec.Tenant,
			r.Spec.Size.Name) && (!f.Holding || s.holds(r)) && (!f.Seat || r.WaitsForSeat()) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b request.Request) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	if f.Oldest {
		slices.Reverse(list)
	}
	if f.Limit > 0 && len(list) > f.Limit {
		return list[:f.Limit], string(list[f.Limit-1].ID), nil
	}
	return list, "", nil
}

// has reports whether each word is in one of the values.
func has(words []string, values ...string) bool {
	for _, word := range words {
		if !slices.ContainsFunc(values, func(v string) bool { return strings.Contains(strings.ToLower(v), word) }) {
			return false
		}
	}
	return true
}

// Workload finds one by id.
func (s *Store) Workload(_ context.Context, id workload.ID) (workload.Workload, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.Works[id]
	if !ok {
		return w, fault.New(fault.NotFound, i18n.T("workload.not_found"))
	}
	return w, nil
}

// WorkloadByName finds one by name.
func (s *Store) WorkloadByName(_ context.Context, name string) (workload.Workload, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.Works {
		if w.Name == name {
			return w, nil
		}
	}
	return workload.Workload{}, fault.New(fault.NotFound, i18n.T("workload.not_found"))
}

// Workloads lists, newest first.
func (s *Store) Workloads(_ context.Context, f workload.Filter) ([]workload.Workload, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []workload.Workload
	for _, w := range s.Works {
		if (f.Owner == "" || w.Owner == f.Owner) && (f.Tenants == nil || slices.Contains(f.Tenants, w.Tenant)) &&
			(len(f.States) == 0 || slices.Contains(f.States, w.State)) &&
			(f.Ended || w.State != workload.Ended) && has(f.Text, string(w.ID), w.Name, w.OwnerName) {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b workload.Workload) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list, "", nil
}

// Intervals gives what was metered.
func (s *Store) Intervals(_ context.Context, ids []workload.ID) (map[workload.ID][]usage.Interval, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[workload.ID][]usage.Interval{}
	for _, id := range ids {
		found[id] = s.Held[id]
	}
	return found, nil
}

// Statement cuts what was metered to a span.
func (s *Store) Statement(_ context.Context, f usage.Filter) (usage.Statement, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := usage.Statement{Span: f.Span}
	var all []usage.Interval
	for id, held := range s.Held {
		if w := s.Works[id]; (f.Owner == "" || string(w.Owner) == f.Owner) &&
			(f.Tenants == nil || slices.Contains(f.Tenants, w.Tenant)) {
			all = append(all, held...)
		}
	}
	for _, u := range usage.Uses(all, f.Span) {
		w := s.Works[workload.ID(u.Workload)]
		a := w.Size.Accelerator
		st.Lines = append(st.Lines, usage.Line{Use: u, Name: w.Name, Owner: string(w.Owner), OwnerName: w.OwnerName,
			SizeTitle: w.Size.Title, Devices: w.Size.Devices(),
			Cards: a.Share * float64(w.Size.Devices()), Engine: s.Engine[w.ID].Within(u.Held),
			Kind: usage.Kind{Technology: string(w.Size.Technology), Model: a.Model, Profile: a.Profile, Known: true}})
	}
	return st, nil
}

// StorageIntervals is the storage that is there, since the week before.
func (s *Store) StorageIntervals(_ context.Context, f usage.Filter) (list []usage.StorageInterval, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.Vols)) {
		if v := s.Vols[name]; (f.Owner == "" || string(v.Owner) == f.Owner) &&
			(f.Tenants == nil || slices.Contains(f.Tenants, v.Tenant)) {
			list = append(list, kept(v))
		}
	}
	return list, nil
}

func kept(v workload.Volume) usage.StorageInterval {
	return usage.StorageInterval{Volume: v.Name, Tenant: v.Tenant, Owner: string(v.Owner), OwnerName: v.OwnerName,
		GiB:  int64(v.GiB),
		From: Now.Add(-7 * 24 * time.Hour)}
}

// SeatSharers implements workload.Store: nothing here shares its seats.
func (s *Store) SeatSharers(context.Context, []string) (usage.Sharers, error) { return nil, nil }

// SeatIntervals are the license seats of what has a meter.
func (s *Store) SeatIntervals(_ context.Context, f usage.Filter, since time.Time) (list []usage.SeatInterval, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, held := range s.Held {
		w := s.Works[id]
		if (f.Owner != "" && string(w.Owner) != f.Owner) || (f.Tenants != nil && !slices.Contains(f.Tenants, w.Tenant)) ||
			w.Seats().Pool == "" {
			continue
		}
		for _, i := range held {
			if i.Until.IsZero() || i.Until.After(since) {
				list = append(list, usage.SeatInterval{Workload: string(id), Name: w.Name, Tenant: w.Tenant, Owner: string(w.Owner),
					OwnerName: w.OwnerName, Seats: w.Seats(), From: i.From, Until: i.Until})
			}
		}
	}
	return list, nil
}

// Volumes lists storage by name.
func (s *Store) Volumes(_ context.Context, f workload.VolumeFilter) ([]workload.Volume, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []workload.Volume
	for _, name := range slices.Sorted(maps.Keys(s.Vols)) {
		v := s.Vols[name]
		if (f.Owner == "" || v.Owner == f.Owner) && (f.Tenants == nil || slices.Contains(f.Tenants, v.Tenant)) &&
			(!f.Shared || v.OfTeam()) && (f.Cluster == "" || v.Cluster == f.Cluster) {
			list = append(list, v)
		}
	}
	return list, nil
}

// History is the events of a workload, newest first.
func (s *Store) History(_ context.Context, id workload.ID, _ int) ([]audit.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []audit.Event
	for _, e := range slices.Backward(s.Record) {
		if e.Workload == string(id) {
			list = append(list, e)
		}
	}
	return list, nil
}

// Queued is who waits for a place.
func (s *Store) Queued(_ context.Context, _ time.Time) ([]request.Line, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []request.Line
	for _, w := range s.Works {
		if w.State == workload.Queued && w.Desired == workload.WantRunning {
			list = append(list, request.Line{Cluster: w.Cluster, Size: w.Size.Name, Count: 1})
		}
	}
	return list, nil
}

// SeatLine is who waits for license seats.
func (s *Store) SeatLine(context.Context) ([]request.Waiting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var waiting []request.Request
	for _, r := range s.Reqs {
		if r.WaitsForSeat() {
			waiting = append(waiting, r)
		}
	}
	slices.SortFunc(waiting, func(a, b request.Request) int {
		return cmp.Or(a.Decision.Seat.Since.Compare(b.Decision.Seat.Since), cmp.Compare(a.ID, b.ID))
	})
	var list []request.Waiting
	for _, r := range waiting {
		list = append(list, request.Waiting{ID: r.ID, Pool: r.Decision.Seat.Pool})
	}
	return list, nil
}

// Holdings is what counts against quota and seats.
func (s *Store) Holdings(context.Context, string) ([]workload.Holding, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []workload.Holding
	for _, w := range s.Works {
		if w.Holds() {
			list = append(list, workload.Holding{Tenant: w.Tenant, Size: w.Size.Name, LicensePool: w.Size.LicensePool, Count: 1,
				Seats: max(1, w.LicenseSeats)})
		}
	}
	return list, nil
}

// Checkouts are the workloads that hold license seats.
func (s *Store) Checkouts(context.Context) ([]license.Checkout, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []license.Checkout
	for _, w := range s.Works {
		if w.Size.LicensePool != "" && w.Holds() {
			t := w.Size.Checkout(license.Pool{}, string(w.Owner))
			t.Workload, t.Name, t.Tenant, t.Cluster, t.Node = string(w.ID), w.Name, w.Tenant, w.Cluster, w.Observed.Node
			t.Seats, t.Since = max(1, w.LicenseSeats), w.CreatedAt
			list = append(list, t)
		}
	}
	return list, nil
}

func (s *Store) holds(r request.Request) bool {
	for _, w := range s.Works {
		if w.Request == string(r.ID) && w.Holds() {
			return true
		}
	}
	return false
}

// Waiting counts what an inbox holds.
func (s *Store) Waiting(_ context.Context, in request.Inbox) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.Reqs {
		if in.Holds(r) {
			n++
		}
	}
	return n, nil
}

// Escalated says whether the record holds it.
func (s *Store) Escalated(_ context.Context, id request.ID, since time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.Record, func(e audit.Event) bool {
		return e.Kind == audit.RequestEscalated && e.Request == string(id) && !e.At.Before(since)
	}), nil
}

// AskerHistory is what somebody asked for since a moment.
func (s *Store) AskerHistory(_ context.Context, asker identity.PersonID,
	since time.Time) (request.AskerHistory, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var p request.AskerHistory
	for _, r := range s.Reqs {
		if r.Asker == asker && r.State == request.Approved && !r.CreatedAt.Before(since) {
			p.Requests, p.Minor = p.Requests+1, p.Minor+r.Estimate.Minor
		}
	}
	return p, nil
}

// NameTaken looks at everything that lives.
func (s *Store) NameTaken(_ context.Context, name string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.Works {
		if w.Name == name && w.State != workload.Ended {
			return true, nil
		}
	}
	for _, r := range s.Reqs {
		if r.Spec.Name == name && r.State == request.Pending {
			return true, nil
		}
	}
	return false, nil
}

// SaveRequest writes one.
func (s *Store) SaveRequest(_ context.Context, r request.Request) (request.Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Version++
	s.Reqs[r.ID] = r
	s.publish(live.Change{Topic: live.TopicRequest, ID: string(r.ID), Tenant: r.Spec.Tenant, Person: string(r.Asker)})
	return r, nil
}

// SaveWorkload writes one.
func (s *Store) SaveWorkload(_ context.Context, w workload.Workload) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Version++
	s.Works[w.ID] = w
	s.publish(live.Change{Topic: live.TopicWorkload, ID: string(w.ID), Tenant: w.Tenant, Person: string(w.Owner)})
	return nil
}

// Volume finds one by name.
func (s *Store) Volume(_ context.Context, name string) (workload.Volume, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.Vols[name]
	if !ok {
		return v, fault.New(fault.NotFound, i18n.T("volume.not_found"))
	}
	return v, nil
}

// Claims are what clusters said of teams' volumes.
func (s *Store) Claims(_ context.Context, volumes ...string) (map[string]workload.ClaimState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	claims := map[string]workload.ClaimState{}
	for _, name := range volumes {
		if c, ok := s.VolClaims[name]; ok {
			claims[name] = c
		}
	}
	return claims, nil
}

// Mounting lists the workloads that have a volume of a team.
func (s *Store) Mounting(_ context.Context, v workload.Volume) ([]workload.Workload, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []workload.Workload
	for _, id := range slices.Sorted(maps.Keys(s.Works)) {
		w := s.Works[id]
		if w.State != workload.Ended && slices.ContainsFunc(w.Mounts,
			func(m workload.Mount) bool { return m.Claim == v.Name }) {
			list = append(list, w)
		}
	}
	return list, nil
}

// RaiseQuota keeps nothing: tests of the pages raise no quota.
func (s *Store) RaiseQuota(context.Context, request.Raise) error { return nil }

// SaveVolume writes one.
func (s *Store) SaveVolume(_ context.Context, v workload.Volume) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Vols[v.Name] = v
	s.publish(live.Change{Topic: live.TopicVolume, ID: v.Name, Tenant: v.Tenant, Person: string(v.Owner)})
	return nil
}

// Append writes events down.
func (s *Store) Append(_ context.Context, events ...audit.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		e.Seq = int64(len(s.Record) + 1)
		s.Record = append(s.Record, e)
	}
	return nil
}

// Events reads the record, newest first.
func (s *Store) Events(_ context.Context, f audit.Filter) ([]audit.Event, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []audit.Event
	for _, e := range slices.Backward(s.Record) {
		if (f.Tenant == "" || e.Tenant == f.Tenant) && (f.Person == "" || string(e.Actor) == f.Person ||
			strings.Contains(e.Name, f.Person)) && (f.Text == "" || strings.Contains(fmt.Sprint(e), f.Text)) &&
			(f.Workload == "" || e.Workload == f.Workload) && (f.From.IsZero() || !e.At.Before(f.From)) &&
			(f.Until.IsZero() || e.At.Before(f.Until)) && (len(f.Kinds) == 0 || slices.Contains(f.Kinds, e.Kind)) {
			list = append(list, e)
		}
	}
	return list, "", nil
}

// Records gives the record as it would be stored, oldest first.
func (s *Store) Records(_ context.Context, after int64, limit int) ([]audit.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []audit.Record
	head := ""
	for _, e := range s.Record {
		r := audit.Record{Seq: e.Seq, At: e.At.UnixMicro(), Kind: string(e.Kind), Actor: string(e.Actor), Name: e.Name,
			Address: e.Address, Tenant: e.Tenant, Request: e.Request,
			Workload: e.Workload, Volume: e.Volume, Rule: e.Rule, Detail: e.Detail.ID}
		r.Link = r.Next(head)
		head = r.Link
		if r.Seq > after && len(list) < limit {
			list = append(list, r)
		}
	}
	return list, nil
}

// TokensOf lists a person's tokens.
func (s *Store) TokensOf(_ context.Context, person identity.PersonID) ([]identity.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []identity.Token
	for _, t := range s.TokenList {
		if t.Person == person {
			list = append(list, t)
		}
	}
	return list, nil
}

// CreateToken keeps one.
func (s *Store) CreateToken(ctx context.Context, t identity.Token, event audit.Event) error {
	s.mu.Lock()
	s.TokenList = append(s.TokenList, t)
	s.mu.Unlock()
	return s.Append(ctx, event)
}

// RevokeToken forgets one of this person.
func (s *Store) RevokeToken(ctx context.Context, person identity.PersonID, id string, event audit.Event) error {
	s.mu.Lock()
	before := len(s.TokenList)
	s.TokenList = slices.DeleteFunc(s.TokenList, func(t identity.Token) bool { return t.Person == person && t.ID == id })
	gone := len(s.TokenList) < before
	s.mu.Unlock()
	if !gone {
		return fault.New(fault.NotFound, i18n.T("web.no_page"))
	}
	return s.Append(ctx, event)
}

// Snapshot is the inventory of a cluster.
func (s *Store) Snapshot(_ context.Context, cluster string) (inventory.Snapshot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap, ok := s.Snaps[cluster]
	return snap, ok
}

// limits is the configuration's side of the workload service.
type limits struct{ site func() request.Site }

func (l limits) QuotaLimit(tenant, size string) int {
	t, _ := l.site().Directory.ByName(tenant)
	return t.QuotaOf(size)
}

func (l limits) TenantDisabled(tenant string) bool {
	t, _ := l.site().Directory.ByName(tenant)
	return t.Disabled
}

// LatestRules is the newest revision.
func (s *Store) LatestRules(ctx context.Context) (policy.Revision, error) {
	return s.RulesAt(ctx, int64(len(s.RuleTexts)))
}

// RulesAt finds one.
func (s *Store) RulesAt(_ context.Context, version int64) (policy.Revision, error) {
	if version < 1 || version > int64(len(s.RuleTexts)) {
		return policy.Revision{}, fault.New(fault.NotFound, i18n.T("store.no_rules"))
	}
	return s.RuleTexts[version-1], nil
}

// RulesRevisions lists, newest first.
func (s *Store) RulesRevisions(_ context.Context, before int64, limit int) ([]policy.Revision, error) {
	var list []policy.Revision
	for _, r := range slices.Backward(s.RuleTexts) {
		if (before == 0 || r.Version < before) && len(list) < limit {
			r.Text = ""
			list = append(list, r)
		}
	}
	return list, nil
}

// SaveRules writes one.
func (s *Store) SaveRules(_ context.Context, r policy.Revision, events ...audit.Event) error {
	s.RuleTexts = append(s.RuleTexts, r)
	s.Record = append(s.Record, events...)
	return nil
}

// ClusterHeld says that no cluster is.
func (s *Store) ClusterHeld(context.Context, string) (bool, error) { return false, nil }

// SaveRefusal keeps what was refused at once.
func (s *Store) SaveRefusal(_ context.Context, r request.Refused, events ...audit.Event) error {
	s.mu.Lock()
	s.Refused = append(s.Refused, r)
	s.mu.Unlock()
	return s.Append(context.Background(), events...)
}

// Refusals lists it all at once.
func (s *Store) Refusals(_ context.Context, since time.Time, _ string, _ int) ([]request.Refused, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []request.Refused
	for _, r := range s.Refused {
		if !r.At.Before(since) {
			list = append(list, r)
		}
	}
	return list, "", nil
}
